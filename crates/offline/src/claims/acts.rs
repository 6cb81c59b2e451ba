//! What each kind of verb, or a sentence without a verb, says about an office.

use std::ops::Range;

use graphloom_core::ClaimStatus;

use super::draft::Draft;
use super::names::Reader;
use super::parts::Part;
use super::read::Memory;
use super::time::TimeRelation;
use super::verbs::Act;
use super::words::Item;

/// Maximum number of items between a verb such as `was` and its office.
const MAX_BEFORE_OFFICE: usize = 4;

impl Reader<'_, '_> {
    /// Returns what a part says about an office.
    pub(super) fn draft(&self, part: &Part, memory: &Memory) -> Option<Draft> {
        let (left, right) = (part.range.start..part.verb.start, part.verb.end..part.range.end);
        let verb = &part.verb;
        let phrase: Vec<&str> = self.items[verb.start..verb.end].iter().map(Item::lower).collect();
        let mut draft = Draft {
            act: verb.act,
            holder: None,
            former: None,
            organisation: None,
            offices: Vec::new(),
            times: self.times(part.range.clone()),
            status: match (verb.denied, verb.doubted) {
                (true, _) => ClaimStatus::False,
                (false, true) => ClaimStatus::Suspected,
                (false, false) => ClaimStatus::True,
            },
            may_inherit: false,
        };
        let of_left = || self.place_before(left.clone(), memory);
        let names_post = self.holds(
            part.range.clone(),
            &[
                "post", "position", "role", "job", "office", "helm", "reins", "posten", "amt", "leitung",
                "spitze",
            ],
        );
        match verb.act {
            Act::Begin | Act::Be | Act::Hold => {
                let mut act = verb.act;
                let (mut offices, mut place) = self.office(right.clone(), memory, None);
                let passive = self.german && phrase.last() == Some(&"wurde");
                if passive && self.holds(right.clone(), &["abgelöst", "ersetzt"]) {
                    draft.former =
                        self.person(left.clone(), memory).or_else(|| self.person(right.clone(), memory));
                    // `als Vorstand von O von P abgelöst`: the last `von` introduces the successor.
                    let by =
                        right.clone().rev().find(|at| matches!(self.items[*at].lower(), "von" | "durch"))?;
                    draft.holder = self.person(by + 1..right.end, memory);
                    (offices, place) = self.office(right.start..by, memory, None);
                    draft.act = Act::SucceededBy;
                    draft.may_inherit = true;
                    let other = of_left();
                    (draft.offices, draft.organisation) = (offices, place.or(other));
                    return Some(draft);
                }
                if self.german
                    && phrase.first() == Some(&"trat")
                    && self.holds(right.clone(), &["zurück", "ab"])
                {
                    act = Act::End;
                }
                // `The CEO of O from 2006 to 2012 was P`
                let inverse = act == Act::Be && offices.is_empty() && {
                    let (of_left, left_place) = self.office(left.clone(), memory, None);
                    (offices, place) = (of_left, left_place);
                    !offices.is_empty()
                };
                if inverse {
                    draft.holder = self.person(right.clone(), memory);
                } else {
                    draft.holder = self.person(left.clone(), memory);
                    if draft.holder.is_none() && (self.german || left.is_empty()) {
                        draft.holder = self.name(right.start, right.end).map(|(name, _)| name);
                    }
                    if draft.holder.is_none() && self.goes_on(left.clone()) {
                        draft.holder = memory.person.clone();
                    }
                    draft.former = self.predecessor(right.clone(), memory);
                }
                if draft.former == draft.holder {
                    draft.former = None;
                }
                let near_office = right
                    .clone()
                    .take(MAX_BEFORE_OFFICE + usize::from(self.german) * 6)
                    .any(|at| matches!(self.items[at], Item::Offices(..)));
                let strong = [
                    "appointed",
                    "over",
                    "office",
                    "charge",
                    "helm",
                    "hired",
                    "selected",
                    "designated",
                    "installed",
                    "confirmed",
                    "übernahm",
                    "übernimmt",
                ];
                let is_strong = phrase.iter().any(|word| strong.contains(word)) || names_post;
                match act {
                    Act::Be if !(near_office || inverse) => return None,
                    Act::Begin if offices.is_empty() && !is_strong => return None,
                    Act::Hold
                        if offices.is_empty()
                            && !names_post
                            && right
                                .clone()
                                .any(|at| self.items[at].word().is_some_and(|word| word.is_name_like())) =>
                    {
                        return None;
                    }
                    _ => {}
                }
                draft.act = act;
                draft.may_inherit = matches!(act, Act::Begin | Act::Hold | Act::End);
                if place.is_none() && phrase.contains(&"joined") {
                    place = self.name(right.start, right.end).map(|(name, _)| name);
                }
                let other = of_left();
                (draft.offices, draft.organisation) = (offices, place.or(other));
            }
            Act::Lead => {
                draft.holder = self
                    .person(left.clone(), memory)
                    .or_else(|| self.goes_on(left.clone()).then(|| memory.person.clone()).flatten());
                let (offices, _) = self.office(right.clone(), memory, None);
                draft.offices = offices;
                let first = right.clone().find(|at| {
                    !matches!(self.items[*at], Item::Time(_)) && self.items[*at].lower() != "the"
                })?;
                draft.organisation = if self.is_company(first) || self.items[first].lower() == "it" {
                    memory.organisation.clone()
                } else {
                    Some(self.name(first, right.end)?.0)
                };
                draft.holder.as_ref()?;
            }
            Act::LedBy => {
                draft.organisation = self.organisation(left.clone(), memory);
                draft.holder = self.person(right.clone(), memory);
                (draft.offices, _) = self.office(right.clone(), memory, None);
            }
            Act::Appoint => {
                let own = self.organisation(left.clone(), memory);
                // `named Ada Kern chief executive`: the office is not held at Ada Kern.
                let first = self.behind_dates(right.start);
                let behind = self.name(first, right.end).map_or(right.start, |(_, end)| end);
                let (offices, place) = self.office(behind..right.end, memory, own.as_deref());
                let (offices, place) = if offices.is_empty() {
                    self.office(right.clone(), memory, own.as_deref())
                } else {
                    (offices, place)
                };
                if offices.is_empty() {
                    return None;
                }
                draft.holder = self.person(right.clone(), memory).or_else(|| memory.person.clone());
                draft.former = self
                    .predecessor(right.clone(), memory)
                    .filter(|former| Some(former) != draft.holder.as_ref());
                (draft.offices, draft.organisation) = (offices, place.or(own));
            }
            Act::Succeed => {
                draft.holder = self
                    .person(left.clone(), memory)
                    .or_else(|| self.goes_on(left.clone()).then(|| memory.person.clone()).flatten());
                let mut from = self.behind_dates(right.start);
                if self.german && self.items.get(from).is_some_and(|item| item.lower() == "auf") {
                    from += 1;
                }
                let inverted = self.german && draft.holder.is_none();
                if inverted {
                    let (name, after) = self.name(from, right.end)?;
                    draft.holder = Some(name);
                    from = self.behind_dates(after);
                    from += usize::from(self.items.get(from).is_some_and(|item| item.lower() == "auf"));
                }
                draft.former = self
                    .person(from..right.end, memory)
                    .filter(|former| Some(former) != draft.holder.as_ref());
                draft.former.as_ref()?;
                draft.holder.as_ref()?;
                let (offices, place) = self.office(right.clone(), memory, None);
                let (offices, place) = if offices.is_empty() {
                    self.office_before(left.clone(), memory)
                } else {
                    (offices, place)
                };
                draft.may_inherit = true;
                (draft.offices, draft.organisation) =
                    (offices, place.or_else(|| self.place_after(right.clone())).or_else(of_left));
            }
            Act::SucceededBy => {
                let hands = phrase
                    .iter()
                    .any(|word| word.starts_with("hand") || *word == "turned" || word.starts_with("überg"));
                let by = if hands {
                    let is_to = |at: &usize| matches!(self.items[*at].lower(), "to" | "an");
                    right.clone().find(is_to)? + 1
                } else if !matches!(phrase.last(), Some(&"by" | &"to" | &"way")) {
                    right.clone().find(|at| self.items[*at].lower() == "by")? + 1
                } else {
                    right.start
                };
                draft.former = self
                    .person(left.clone(), memory)
                    .or_else(|| self.goes_on(left.clone()).then(|| memory.person.clone()).flatten());
                draft.holder =
                    self.person(by..right.end, memory).filter(|holder| Some(holder) != draft.former.as_ref());
                draft.holder.as_ref()?;
                let (offices, place) = self.office(right.clone(), memory, None);
                let (offices, place) = if offices.is_empty() {
                    self.office_before(left.clone(), memory)
                } else {
                    (offices, place)
                };
                draft.may_inherit = true;
                (draft.offices, draft.organisation) =
                    (offices, place.or_else(|| self.place_after(right.clone())).or_else(of_left));
            }
            Act::End => {
                draft.holder = self
                    .person(left.clone(), memory)
                    .or_else(|| self.goes_on(left.clone()).then(|| memory.person.clone()).flatten());
                draft.holder.as_ref()?;
                let (offices, mut place) = self.office(right.clone(), memory, None);
                let weak = [
                    "left",
                    "leaves",
                    "leaving",
                    "had",
                    "quit",
                    "quits",
                    "finished",
                    "concluded",
                    "exited",
                    "departed",
                ];
                if offices.is_empty() && phrase.iter().any(|word| weak.contains(word)) {
                    place = self.name(right.start, right.end).map(|(name, _)| name);
                    if place.is_some() && place != memory.organisation {
                        draft.may_inherit = false;
                    } else {
                        draft.may_inherit = memory.person == draft.holder;
                    }
                } else {
                    draft.may_inherit = true;
                }
                let (offices, place) = if offices.is_empty() && place.is_none() {
                    self.office_before(left.clone(), memory)
                } else {
                    (offices, place)
                };
                (draft.offices, draft.organisation) = (offices, place.or_else(of_left));
            }
            Act::Pass => {
                let to = right.clone().find(|at| self.items[*at].lower() == "to")?;
                draft.former = self.person(right.start..to, memory);
                draft.holder = self.person(to + 1..right.end, memory);
                (draft.offices, draft.organisation) = self.office(left.clone(), memory, None);
                draft.may_inherit = true;
                let other = of_left();
                draft.organisation = draft.organisation.or_else(|| self.place_after(right)).or(other);
            }
            Act::Found
            | Act::Founded
            | Act::Acquire
            | Act::AcquiredBy
            | Act::Merge
            | Act::Born
            | Act::Die => return None,
        }
        Some(draft)
    }

    /// True if nothing before the verb names a subject, so that the part continues about the previous person.
    fn goes_on(&self, left: Range<usize>) -> bool {
        self.items[left].iter().all(|item| match item {
            Item::Time(_) => true,
            Item::Word(word) => word.is_sign() || !word.is_name_like(),
            Item::Offices(..) | Item::Possessive => false,
        })
    }

    /// Reads appositions: `P, CEO of O from 2006 to 2012,` and `P (CEO of O, 2006–2012)`.
    pub(super) fn appositions(&self) -> Vec<Draft> {
        let memory = Memory::default();
        let mut found = Vec::new();
        for at in 1..self.items.len() {
            if !matches!(self.items[at], Item::Offices(..)) {
                continue;
            }
            let mut open = at - 1;
            while open > 0 && matches!(self.items[open].lower(), "the" | "its" | "then") {
                open -= 1;
            }
            if !matches!(self.items[open].lower(), "," | "(") || open == 0 {
                continue;
            }
            let end = (at + 1..self.items.len())
                .find(|end| {
                    let lower = self.items[*end].lower();
                    let dated = self.items.get(end + 1).is_some_and(|next| matches!(next, Item::Time(_)));
                    matches!(lower, ")" | ";") || (lower == "," && !dated)
                })
                .unwrap_or(self.items.len());
            let times = self.times(at..end);
            if times.is_empty() || times.iter().any(|time| time.relation == TimeRelation::At) {
                continue;
            }
            let (offices, organisation) = self.office(at..end, &memory, None);
            let holder = self.name_before(open);
            if holder.is_some() && organisation.is_some() {
                let (act, former, status) = (Act::Hold, None, ClaimStatus::True);
                found.push(Draft {
                    act,
                    holder,
                    former,
                    organisation,
                    offices,
                    times,
                    status,
                    may_inherit: false,
                });
            }
        }
        found
    }

    /// Reads a sentence without a verb: `CEO of O from 2006 to 2012: P`, `P – CEO of O (2006–2012)`,
    /// `P's appointment as CEO of O in 2014`.
    pub(super) fn nominal(&self, memory: &Memory) -> Option<Draft> {
        let office = (0..self.items.len()).find(|at| matches!(self.items[*at], Item::Offices(..)))?;
        let times = self.times(0..self.items.len());
        let (offices, organisation) = self.office(0..self.items.len(), memory, None);
        let border = (office..self.items.len()).find(|at| matches!(self.items[*at].lower(), ":" | "–" | "—"));
        let before =
            self.name(0, office).map(|(name, _)| name).filter(|name| Some(name) != organisation.as_ref());
        let after = border.and_then(|border| self.name(border + 1, self.items.len())).map(|(name, _)| name);
        let (act, former, status) = (Act::Hold, None, ClaimStatus::True);
        let holder = after.or(before);
        (holder.is_some() && organisation.is_some()).then_some(Draft {
            act,
            holder,
            former,
            organisation,
            offices,
            times,
            status,
            may_inherit: false,
        })
    }
}
