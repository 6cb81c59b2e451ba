//! Reads the parts of a sentence: whom a verb makes holder of which office where, and when.

use std::ops::Range;

use graphloom_core::{ClaimStatus, IsoDate, Period};

use super::Statement;
use super::office::HEAD;
use super::parts::{Part, parts};
use super::verbs::{Act, verbs};
use super::when::{How, When};
use super::words::{Item, items};
use crate::offline::lexicon::is_stop_word;
use crate::offline::token::is_known;

/// Words of a name, at most.
const MAX_NAME_WORDS: usize = 12;
/// Items between a verb such as `was` and the office that it says something about.
const MAX_BEFORE_OFFICE: usize = 4;

/// What the sentences before were about.
#[derive(Debug, Default)]
pub(super) struct Memory {
    person: Option<String>,
    organisation: Option<String>,
    offices: Vec<String>,
    /// Sentences since an office was named.
    age: usize,
}

impl Memory {
    /// What `its` and `the company` mean: the organisation named last, else what the sentence before was about.
    fn organisation_meant(&self) -> Option<String> {
        self.organisation.clone().or_else(|| self.person.clone())
    }
}

/// What one part of a sentence says.
#[derive(Debug, Clone)]
struct Draft {
    act: Act,
    /// Who holds the office from then on, or held it.
    holder: Option<String>,
    /// Who held it before.
    former: Option<String>,
    organisation: Option<String>,
    offices: Vec<String>,
    whens: Vec<When>,
    status: ClaimStatus,
    /// Whether offices and organisation may come from the sentence before.
    may_lean: bool,
}

/// The claims of the sentence at `range`.
pub(super) fn read(text: &str, range: Range<usize>, german: bool, memory: &mut Memory) -> Vec<Statement> {
    let items = items(text, range);
    let reader = Reader { text, items: &items, german };
    let verbs = verbs(&items, german);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut stated = Vec::new();
    let parts = parts(&items, verbs);
    let named_before = memory.person.clone();
    for part in &parts {
        stated.extend(reader.event(part, memory));
        let draft = reader.draft(part, memory);
        // Whom a later part calls `he`, or leaves out.
        let subject = match part.verb.act {
            Act::Appoint | Act::LedBy | Act::Founded | Act::AcquiredBy => {
                draft.as_ref().and_then(|draft| draft.holder.clone())
            }
            _ => reader.person(part.range.start..part.verb.start, memory),
        };
        memory.person = subject.or(memory.person.take());
        drafts.extend(draft);
    }
    drafts.extend(reader.appositions());
    if parts.is_empty() {
        drafts.extend(reader.nominal(memory));
    }
    fill(&mut drafts, &items, memory);
    let leans: Vec<bool> = drafts.iter_mut().map(|draft| lean(draft, memory)).collect();
    for (draft, leans) in drafts.iter().zip(leans) {
        stated.extend(of_draft(draft, leans || (named_before.is_some() && reader.begins_with_pronoun())));
    }
    remember(&drafts, &reader, memory);
    stated
}

/// Keeps what the next sentence may leave out.
fn remember(drafts: &[Draft], reader: &Reader<'_, '_>, memory: &mut Memory) {
    memory.age += 1;
    for draft in drafts {
        if !draft.offices.is_empty() {
            memory.offices.clone_from(&draft.offices);
            memory.age = 0;
        }
        if draft.organisation.is_some() {
            memory.organisation.clone_from(&draft.organisation);
        }
    }
    if let Some(person) = drafts.iter().find_map(|draft| draft.holder.clone().or(draft.former.clone())) {
        memory.person = Some(person);
    } else if let Some(name) = reader.first_name() {
        memory.person = Some(name);
    }
}

/// Takes what a part leaves out from the parts beside it, those before it first.
fn fill(drafts: &mut [Draft], items: &[Item<'_>], memory: &Memory) {
    let count = drafts.len();
    for at in 0..count {
        let near = || (0..at).rev().chain(at + 1..count);
        if drafts[at].offices.is_empty() {
            let offices = near()
                .find(|other| !drafts[*other].offices.is_empty())
                .map(|other| drafts[other].offices.clone());
            drafts[at].offices = offices.unwrap_or_default();
        }
        if drafts[at].organisation.is_none() {
            drafts[at].organisation = near().find_map(|other| drafts[other].organisation.clone());
        }
        let takes = matches!(
            drafts[at].act,
            Act::Begin | Act::End | Act::Succeed | Act::SucceededBy | Act::Appoint | Act::Pass
        );
        if drafts[at].whens.is_empty() && takes {
            let when = near().find_map(|other| {
                drafts[other]
                    .whens
                    .iter()
                    .find(|when| when.how == How::At && !is_state(drafts[other].act))
                    .cloned()
            });
            drafts[at].whens.extend(when);
        }
    }
    // An office that stands alone, as in `the bank had two chief executives: ...`, is that of all parts.
    if drafts.iter().all(|draft| draft.offices.is_empty()) {
        let offices = items.iter().find_map(|item| match item {
            Item::Offices(offices) => {
                Some(offices.iter().map(|office| office.name.clone()).collect::<Vec<_>>())
            }
            Item::Word(_) | Item::When(_) | Item::Possessive => None,
        });
        for draft in drafts.iter_mut().filter(|draft| draft.may_lean || is_lead(draft.act)) {
            draft.offices = offices.clone().unwrap_or_default();
        }
    }
    for draft in drafts.iter_mut().filter(|draft| is_lead(draft.act) && draft.offices.is_empty()) {
        let same =
            memory.age <= 1 && memory.organisation.is_some() && memory.organisation == draft.organisation;
        draft.offices =
            if same && !memory.offices.is_empty() { memory.offices.clone() } else { vec![HEAD.to_owned()] };
    }
}

/// Takes what is still left out from the sentence before; whether it did.
fn lean(draft: &mut Draft, memory: &Memory) -> bool {
    let mut leans = false;
    if draft.offices.is_empty() && draft.may_lean && memory.age <= 1 && !memory.offices.is_empty() {
        draft.offices.clone_from(&memory.offices);
        leans = true;
    }
    if draft.organisation.is_none()
        && !draft.offices.is_empty()
        && memory.age <= 1
        && memory.organisation.is_some()
    {
        draft.organisation.clone_from(&memory.organisation);
        leans = true;
    }
    leans
}

fn is_state(act: Act) -> bool {
    matches!(act, Act::Be | Act::Hold | Act::Lead | Act::LedBy)
}

fn is_lead(act: Act) -> bool {
    matches!(act, Act::Lead | Act::LedBy)
}

/// The claims of a part whose gaps are filled.
fn of_draft(draft: &Draft, leans_on_before: bool) -> Vec<Statement> {
    let mut stated = Vec::new();
    let Some(organisation) = &draft.organisation else { return stated };
    let (of_holder, of_former) = periods(draft);
    let mut state = |name: &Option<String>, period: Option<Period>| {
        let Some((name, period)) = name.clone().zip(period) else { return };
        for office in &draft.offices {
            stated.push(Statement {
                subject: name.clone(),
                object: Some(organisation.clone()),
                kind: office.clone(),
                status: draft.status,
                period: period.clone(),
                leans_on_before,
            });
        }
    };
    state(&draft.holder, of_holder);
    state(&draft.former, of_former);
    stated
}

/// The periods of who holds the office then, and of who held it before.
fn periods(draft: &Draft) -> (Option<Period>, Option<Period>) {
    let mut holder: Option<Period> = None;
    let (mut start, mut end): (Option<IsoDate>, Option<IsoDate>) = (None, None);
    let mut change = None;
    for when in &draft.whens {
        match (when.how, is_state(draft.act)) {
            (How::Between, _) => holder = holder.or(Some(when.period.clone())),
            (How::Since, _) => start = start.or(when.period.start.clone()),
            (How::Until, _) => end = end.or(when.period.end.clone()),
            (How::At, true) => {
                start = start.or(when.period.start.clone());
                end = end.or(when.period.start.clone());
            }
            (How::At, false) => change = change.or(when.period.start.clone()),
        }
    }
    if draft.act == Act::End {
        let end = change.or(end).or(start.clone());
        let start = start.filter(|start| end.as_ref() != Some(start));
        let whole = holder.or_else(|| end.map(|end| Period { start, end: Some(end) }));
        return (whole, None);
    }
    let begun = start.or(change.clone());
    let whole = holder
        .clone()
        .or_else(|| (begun.is_some() || end.is_some()).then(|| Period { start: begun.clone(), end }));
    let since = whole.as_ref().and_then(|period| period.start.clone());
    let of_former = since.map(|end| Period { start: None, end: Some(end) });
    // `P, in office from 2006 to 2012, was succeeded by Q`: the period is that of the grammatical subject.
    if draft.act == Act::SucceededBy && holder.is_some() {
        let end = holder.as_ref().and_then(|period| period.end.clone());
        return (end.map(|start| Period { start: Some(start), end: None }), holder);
    }
    (whole, of_former)
}

struct Reader<'t, 'i> {
    text: &'t str,
    items: &'i [Item<'t>],
    german: bool,
}

/// Words that end a name and are no part of one.
const STOPS: [&str; 61] = [
    "as",
    "on",
    "by",
    "with",
    "after",
    "following",
    "when",
    "from",
    "until",
    "till",
    "since",
    "succeeding",
    "replacing",
    "taking",
    "where",
    "who",
    "which",
    "whom",
    "before",
    "while",
    "he",
    "she",
    "they",
    "it",
    "but",
    "having",
    "to",
    "over",
    "during",
    "effective",
    "at",
    "that",
    "amid",
    "despite",
    "because",
    "under",
    "upon",
    "joining",
    "becoming",
    "serving",
    "als",
    "zum",
    "zur",
    "bei",
    "nach",
    "bis",
    "seit",
    "ernannt",
    "berufen",
    "bestellt",
    "gewählt",
    "ab",
    "an",
    "zurück",
    "abgelöst",
    "ersetzt",
    "befördert",
    "in",
    "stepping",
    "handing",
    "leaving",
];
/// Small words inside names, where a capital follows.
const INSIDE: [&str; 30] = [
    "na", "of", "the", "and", "for", "de", "da", "do", "dos", "del", "du", "di", "la", "le", "van", "von",
    "der", "den", "des", "die", "y", "i", "al", "e", "und", "für", "&", "+", "bin", "zu",
];
/// Words that may stand between a small word inside a name and the capital: `van de Rakt`, `of the Lind`.
const ARTICLES: [&str; 9] = ["the", "la", "der", "den", "de", "het", "el", "los", "les"];
/// Words before a name that are no part of it.
const LEADS: [&str; 41] = [
    "the",
    "a",
    "an",
    "then",
    "later",
    "but",
    "and",
    "when",
    "after",
    "that",
    "also",
    "mr",
    "mrs",
    "ms",
    "dr",
    "herr",
    "frau",
    "former",
    "current",
    "longtime",
    "new",
    "incumbent",
    "outgoing",
    "its",
    "their",
    "his",
    "her",
    "fellow",
    "long-serving",
    "der",
    "die",
    "das",
    "den",
    "dem",
    "und",
    "because",
    "while",
    "whereas",
    "before",
    "until",
    "once",
];
const PRONOUNS: [&str; 14] = [
    "he", "she", "they", "who", "er", "sie", "him", "her", "ihn", "ihm", "ihr", "whom", "himself", "herself",
];
const COMPANIES: [&str; 14] = [
    "company",
    "firm",
    "group",
    "bank",
    "organisation",
    "organization",
    "corporation",
    "business",
    "agency",
    "club",
    "board",
    "airline",
    "unternehmen",
    "konzern",
];
/// Words between an office and the name of where it is held.
const OF: [&str; 11] = ["of", "at", "for", "bei", "von", "der", "des", "beim", "vom", "with", "in"];
/// Words that introduce who held an office before.
const PREDECESSOR: [&str; 9] = [
    "succeeding",
    "replacing",
    "in place of",
    "taking over from",
    "as successor to",
    "as the successor to",
    "as successor of",
    "als nachfolger von",
    "als nachfolgerin von",
];

impl<'t> Reader<'t, '_> {
    /// Whether an item is a common noun such as `company`, which stands for the organisation named before.
    fn is_company(&self, at: usize) -> bool {
        let word = self.items.get(at).and_then(Item::word);
        word.is_some_and(|word| {
            COMPANIES.contains(&word.lower.as_str()) && (self.german || !word.is_name_like())
        })
    }

    /// The first item from `at` on that is no date.
    fn behind_dates(&self, at: usize) -> usize {
        at + self.items[at..].iter().take_while(|item| matches!(item, Item::When(_))).count()
    }

    fn begins_with_pronoun(&self) -> bool {
        self.items.iter().take(6).any(|item| PRONOUNS.contains(&item.lower()))
    }

    fn first_name(&self) -> Option<String> {
        let first = (0..self.items.len()).find(|at| {
            self.items[*at]
                .word()
                .is_some_and(|word| !word.is_sign() && word.text.starts_with(char::is_uppercase))
        })?;
        let opens = self.items[first].word().is_some_and(|word| is_stop_word(&word.lower));
        if opens {
            None
        } else {
            self.name(first, self.items.len()).map(|(name, _)| name).filter(|name| name.contains(' '))
        }
    }

    /// The name that begins at `from` or behind words that lead to it, and the item after it.
    fn name(&self, from: usize, to: usize) -> Option<(String, usize)> {
        let mut at = from;
        while at < to && (LEADS.contains(&self.items[at].lower()) || matches!(self.items[at], Item::When(_)))
        {
            at += 1;
        }
        let start = at;
        let mut end = None;
        while at < to && at - start < MAX_NAME_WORDS {
            let Some(word) = self.items[at].word() else { break };
            let next_is_name = || {
                let next = self.items.get(at + 1).filter(|_| at + 1 < to).and_then(Item::word);
                let behind_article = self.items.get(at + 2).filter(|_| at + 2 < to).and_then(Item::word);
                let article = next.is_some_and(|next| ARTICLES.contains(&next.lower.as_str()));
                next.is_some_and(|next| next.is_name_like())
                    || (article && behind_article.is_some_and(|word| word.is_name_like()))
            };
            if INSIDE.contains(&word.lower.as_str()) && at > start && next_is_name() {
                at += 1;
                continue;
            }
            if word.is_sign() || STOPS.contains(&word.lower.as_str()) && !word.is_name_like() {
                break;
            }
            if !word.is_name_like() {
                // Names such as `metaphacts`, or the small words of names in other languages.
                let other = !is_stop_word(&word.lower)
                    && if self.german { next_is_name() && at > start } else { !is_known(&word.lower) };
                let is_adverb = word.lower.ends_with("ly") && word.lower.chars().all(char::is_alphabetic);
                if !other || is_adverb {
                    break;
                }
            }
            at += 1;
            end = Some(at);
        }
        let end = end?;
        let (first, last) = (self.items[start].word()?, self.items[end - 1].word()?);
        let name = self.text[first.range.start..last.range.end].trim_matches(['"', '“', '”', '„', '\'']);
        (!is_stop_word(&name.to_lowercase()) && name.chars().any(char::is_alphanumeric))
            .then(|| (name.to_owned(), end))
    }

    /// The person that a slot names, or that a pronoun in it stands for.
    fn person(&self, range: Range<usize>, memory: &Memory) -> Option<String> {
        let range = self.behind_office(range);
        // `P, a former banker,` and `In 2012, P`: the first part between commas that is a name.
        let mut start = range.start;
        while start < range.end {
            let end = (start..range.end)
                .find(|at| matches!(self.items[*at].lower(), "," | "(" | ")" | ";" | ":"))
                .unwrap_or(range.end);
            let first = (start..end).find(|at| {
                !matches!(self.items[*at], Item::When(_)) && !LEADS.contains(&self.items[*at].lower())
            });
            if let Some(first) = first {
                if PRONOUNS.contains(&self.items[first].lower()) {
                    let near = self.items[first].lower() == "who" || self.items[first].lower() == "whom";
                    return if near { self.name_before(first) } else { memory.person.clone() };
                }
                let leads_in =
                    OF.contains(&self.items[first].lower()) || STOPS.contains(&self.items[first].lower());
                if !leads_in && let Some((name, after)) = self.name(first, end) {
                    // `O's P`, `the board of O`
                    if matches!(self.items.get(after), Some(Item::Possessive)) && after < end {
                        start = after + 1;
                        continue;
                    }
                    return Some(name);
                }
            }
            start = end + 1;
        }
        None
    }

    /// The name that stands right before a word such as `who`.
    fn name_before(&self, at: usize) -> Option<String> {
        let end = (0..at).rev().find(|at| {
            !matches!(self.items[*at].lower(), "," | "and" | "but")
                && !matches!(self.items[*at], Item::When(_))
        })? + 1;
        let border = (0..end).rev().find(|at| {
            let item = &self.items[*at];
            item.word().is_none_or(|word| {
                word.is_sign()
                    || STOPS.contains(&word.lower.as_str())
                    || (!word.is_name_like()
                        && !INSIDE.contains(&word.lower.as_str())
                        && is_known(&word.lower))
            })
        });
        self.name(border.map_or(0, |border| border + 1), end).map(|(name, _)| name)
    }

    /// The part of a slot behind an office that stands before a name, as in `Microsoft CEO Satya Nadella`.
    fn behind_office(&self, range: Range<usize>) -> Range<usize> {
        let office = range.clone().rev().find(|at| {
            let named = self.items.get(at + 1).filter(|_| at + 1 < range.end).and_then(Item::word);
            matches!(self.items[*at], Item::Offices(..))
                && named.is_some_and(|word| word.is_name_like() && !word.is_sign())
        });
        office.map_or(range.clone(), |office| office + 1..range.end)
    }

    /// The offices that a slot names, and where they are held.
    fn office(
        &self,
        range: Range<usize>,
        memory: &Memory,
        own: Option<&str>,
    ) -> (Vec<String>, Option<String>) {
        let Some(at) = range.clone().find(|at| matches!(self.items[*at], Item::Offices(..))) else {
            return (Vec::new(), None);
        };
        let Item::Offices(offices) = &self.items[at] else { return (Vec::new(), None) };
        let offices: Vec<String> = offices.iter().map(|office| office.name.clone()).collect();
        // `CEO in 2014 of O`
        let behind =
            (at + 1..range.end).find(|at| !matches!(self.items[*at], Item::When(_))).unwrap_or(range.end);
        if behind < range.end && OF.contains(&self.items[behind].lower()) {
            let (mut first, article) = (behind + 1, matches!(self.items[behind].lower(), "der" | "des"));
            while first < range.end
                && matches!(self.items[first].lower(), "the" | "der" | "des" | "dem" | "den")
            {
                first += 1;
            }
            if self.is_company(first) {
                return (offices, own.map(str::to_owned).or_else(|| memory.organisation_meant()));
            }
            if let Some((name, _)) = self.name(first, range.end).filter(|_| !article || first < range.end) {
                return (offices, Some(name));
            }
        }
        let before = self.organisation_before(range.start, at, memory, own);
        (offices, before)
    }

    /// Where an office is held by the words before it: `O's CEO`, `its CEO`, `O CEO`.
    fn organisation_before(
        &self,
        from: usize,
        office: usize,
        memory: &Memory,
        own: Option<&str>,
    ) -> Option<String> {
        let ours = || own.map(str::to_owned).or_else(|| memory.organisation_meant());
        let mut at = office;
        while at > from {
            let item = &self.items[at - 1];
            let lower = item.lower();
            if matches!(lower, "its" | "their" | "seinem" | "ihrem" | "seinen" | "ihren")
                || self.is_company(at - 1)
            {
                return ours();
            }
            match item {
                Item::Possessive => {
                    if at >= 2 && self.is_company(at - 2) {
                        return ours();
                    }
                    return self.name_ending(at - 1, from);
                }
                Item::Word(word) if word.is_name_like() && !word.is_sign() => {
                    return self.name_ending(at, from);
                }
                Item::Word(word) if word.is_sign() || STOPS.contains(&lower) => return None,
                Item::Word(_) | Item::When(_) | Item::Offices(..) => at -= 1,
            }
        }
        None
    }

    /// The name whose last word is right before `end`.
    fn name_ending(&self, end: usize, from: usize) -> Option<String> {
        let mut start = end;
        while start > from {
            let Some(word) = self.items[start - 1].word() else { break };
            let is_name =
                |at: usize| self.items[at].word().is_some_and(|word| word.is_name_like() && !word.is_sign());
            let behind_particle = start > from + 2
                && ARTICLES.contains(&word.lower.as_str())
                && INSIDE.contains(&self.items[start - 2].lower())
                && is_name(start - 3);
            let inside = INSIDE.contains(&word.lower.as_str())
                && start - 1 > from
                && (is_name(start - 2) || behind_particle);
            let unknown =
                !word.is_name_like() && !self.german && !is_known(&word.lower) && !is_stop_word(&word.lower);
            if word.is_sign() && word.text != "&"
                || !(word.is_name_like() || inside || unknown || word.text == "&")
            {
                break;
            }
            start -= 1;
        }
        if start == end { None } else { self.name(start, end).map(|(name, _)| name) }
    }

    /// Who held the office before, by words such as `succeeding` in a slot.
    fn predecessor(&self, range: Range<usize>, memory: &Memory) -> Option<String> {
        for at in range.clone() {
            for phrase in PREDECESSOR {
                let words: Vec<&str> = phrase.split(' ').collect();
                let stands = words
                    .iter()
                    .enumerate()
                    .all(|(i, word)| at + i < range.end && self.items[at + i].lower() == *word);
                if stands {
                    return self.person(at + words.len()..range.end, memory);
                }
            }
            // `from Q` behind `took over as CEO of O`
            if self.items[at].lower() == "from"
                || self.german && self.items[at].lower() == "von" && at > range.start
            {
                let of_office = at > 0 && matches!(self.items[at - 1], Item::Offices(..));
                if !of_office || self.items[at].lower() == "from" {
                    let found = self.person(at + 1..range.end, memory);
                    if found.as_ref().is_some_and(|name| name.contains(' ') || name.contains('.'))
                        || self.items[at].lower() == "from"
                    {
                        return found;
                    }
                }
            }
        }
        // `as Q's successor`
        let successor = range
            .clone()
            .find(|at| matches!(self.items[*at].lower(), "successor" | "nachfolger" | "nachfolgerin"))?;
        let owned = (range.start..successor).rev().find(|at| matches!(self.items[*at], Item::Possessive))?;
        self.name_ending(owned, range.start)
    }

    fn whens(&self, range: Range<usize>) -> Vec<When> {
        let of_item = |item: &Item<'_>| match item {
            Item::When(when) => Some(when.clone()),
            Item::Word(_) | Item::Offices(..) | Item::Possessive => None,
        };
        self.items[range].iter().filter_map(of_item).collect()
    }

    fn holds(&self, range: Range<usize>, words: &[&str]) -> bool {
        self.items[range].iter().any(|item| words.contains(&item.lower()))
    }

    /// What a part says about an office.
    fn draft(&self, part: &Part, memory: &Memory) -> Option<Draft> {
        let (left, right) = (part.range.start..part.verb.start, part.verb.end..part.range.end);
        let verb = &part.verb;
        let phrase: Vec<&str> = self.items[verb.start..verb.end].iter().map(Item::lower).collect();
        let mut draft = Draft {
            act: verb.act,
            holder: None,
            former: None,
            organisation: None,
            offices: Vec::new(),
            whens: self.whens(part.range.clone()),
            status: match (verb.denied, verb.doubted) {
                (true, _) => ClaimStatus::False,
                (false, true) => ClaimStatus::Suspected,
                (false, false) => ClaimStatus::True,
            },
            may_lean: false,
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
                    // `als Vorstand von O von P abgelöst`: the last one names who did it.
                    let by =
                        right.clone().rev().find(|at| matches!(self.items[*at].lower(), "von" | "durch"))?;
                    draft.holder = self.person(by + 1..right.end, memory);
                    (offices, place) = self.office(right.start..by, memory, None);
                    draft.act = Act::SucceededBy;
                    draft.may_lean = true;
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
                draft.may_lean = matches!(act, Act::Begin | Act::Hold | Act::End);
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
                    !matches!(self.items[*at], Item::When(_)) && self.items[*at].lower() != "the"
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
                // `named Ada Kern chief executive`: the office is not that of Ada Kern's.
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
                draft.may_lean = true;
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
                draft.may_lean = true;
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
                        draft.may_lean = false;
                    } else {
                        draft.may_lean = memory.person == draft.holder;
                    }
                } else {
                    draft.may_lean = true;
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
                draft.may_lean = true;
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

    /// Whether a part says nothing before its verb, so that it goes on about the person before.
    fn goes_on(&self, left: Range<usize>) -> bool {
        self.items[left].iter().all(|item| match item {
            Item::When(_) => true,
            Item::Word(word) => word.is_sign() || !word.is_name_like(),
            Item::Offices(..) | Item::Possessive => false,
        })
    }

    /// Offices that stand before the person in a slot: `As CEO of O, P`, `O's CEO P`, `P, CEO of O,`.
    fn office_before(&self, left: Range<usize>, memory: &Memory) -> (Vec<String>, Option<String>) {
        let (offices, place) = self.office(left.clone(), memory, None);
        let Some(at) = left.clone().find(|at| matches!(self.items[*at], Item::Offices(..))) else {
            return (offices, place);
        };
        // Only up to the comma, so that the person is not taken for the place.
        let end = (at..left.end).find(|at| self.items[*at].lower() == ",").unwrap_or(left.end);
        self.office(left.start..end, memory, None)
    }

    /// `At O, P took over`, `P of O`: where, by the words before a person.
    fn place_before(&self, left: Range<usize>, memory: &Memory) -> Option<String> {
        let (_, place) = self.office_before(left.clone(), memory);
        if place.is_some() {
            return place;
        }
        let at = left.clone().find(|at| matches!(self.items[*at].lower(), "at" | "bei" | "beim"))?;
        self.name(at + 1, left.end).map(|(name, _)| name)
    }

    /// `succeeded Q at O`
    fn place_after(&self, right: Range<usize>) -> Option<String> {
        let at = right.clone().find(|at| {
            matches!(self.items[*at].lower(), "at" | "bei")
                && !matches!(self.items.get(at + 1).map(Item::lower), Some("the") if self.items.get(at + 2).is_some_and(|item| item.lower() == "helm"))
        });
        let helm = || {
            let helm =
                right.clone().find(|at| matches!(self.items[*at].lower(), "helm" | "head" | "spitze"))?;
            matches!(self.items.get(helm + 1).map(Item::lower), Some("of" | "von" | "der" | "des"))
                .then_some(helm + 1)
        };
        let at = at.or_else(helm)?;
        self.name(at + 1, right.end).map(|(name, _)| name)
    }

    /// The organisation that a slot names: `the board of O`, `O`, `the company`.
    fn organisation(&self, left: Range<usize>, memory: &Memory) -> Option<String> {
        let company = left.clone().find(|at| self.is_company(*at));
        if let Some(at) = company {
            let of = (at + 1..left.end.min(at + 4))
                .find(|at| matches!(self.items[*at].lower(), "of" | "von" | "der" | "des"));
            if let Some(of) = of {
                let directors = (of + 1..left.end).find(|at| {
                    matches!(self.items[*at].lower(), "of") && self.items[at - 1].lower() == "directors"
                });
                return self.name(directors.unwrap_or(of) + 1, left.end).map(|(name, _)| name);
            }
            if at > left.start && matches!(self.items[at - 1], Item::Possessive) {
                return self.name_ending(at - 1, left.start);
            }
            return memory.organisation_meant();
        }
        if left.clone().any(|at| matches!(self.items[at].lower(), "it" | "which" | "es")) {
            return memory.organisation.clone();
        }
        self.person(left, memory)
    }

    /// `P, CEO of O from 2006 to 2012,` and `P (CEO of O, 2006–2012)`.
    fn appositions(&self) -> Vec<Draft> {
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
                    let dated = self.items.get(end + 1).is_some_and(|next| matches!(next, Item::When(_)));
                    matches!(lower, ")" | ";") || (lower == "," && !dated)
                })
                .unwrap_or(self.items.len());
            let whens = self.whens(at..end);
            if whens.is_empty() || whens.iter().any(|when| when.how == How::At) {
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
                    whens,
                    status,
                    may_lean: false,
                });
            }
        }
        found
    }

    /// A sentence without a verb: `CEO of O from 2006 to 2012: P`, `P – CEO of O (2006–2012)`, `P's appointment as CEO of O in 2014`.
    fn nominal(&self, memory: &Memory) -> Option<Draft> {
        let office = (0..self.items.len()).find(|at| matches!(self.items[*at], Item::Offices(..)))?;
        let whens = self.whens(0..self.items.len());
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
            whens,
            status,
            may_lean: false,
        })
    }

    /// What a part says of a founding, an acquisition, a birth or a death.
    fn event(&self, part: &Part, memory: &Memory) -> Option<Statement> {
        let (left, right) = (part.range.start..part.verb.start, part.verb.end..part.range.end);
        let (kind, passive) = match part.verb.act {
            Act::Found => ("founding", false),
            Act::Founded => ("founding", true),
            Act::Acquire => ("acquisition", false),
            Act::AcquiredBy => ("acquisition", true),
            Act::Merge => ("merger", false),
            Act::Born => ("birth", false),
            Act::Die => ("death", false),
            Act::Begin
            | Act::Be
            | Act::Hold
            | Act::Lead
            | Act::LedBy
            | Act::Appoint
            | Act::Succeed
            | Act::SucceededBy
            | Act::End
            | Act::Pass => {
                return None;
            }
        };
        let whens = self.whens(part.range.clone());
        let date = whens.iter().find(|when| when.how == How::At).and_then(When::date)?.clone();
        let before = self.person(left.clone(), memory).or_else(|| self.organisation(left, memory));
        let by = right.clone().find(|at| matches!(self.items[*at].lower(), "by" | "von" | "durch"));
        let after = match (part.verb.act, by) {
            (Act::Founded, Some(by)) => self.name(by + 1, right.end),
            (Act::Founded, None) => None,
            (Act::Born | Act::Die, _) => right
                .clone()
                .find(|at| self.items[*at].lower() == "in")
                .and_then(|at| self.name(at + 1, right.end)),
            _ => self.name(right.start, right.end),
        };
        let after = after.map(|(name, _)| name);
        // A founding is about what was founded, an acquisition about who acquired.
        let (subject, object) = match (part.verb.act, passive) {
            (Act::Found, _) | (Act::AcquiredBy, _) => (after?, before),
            (_, _) => (before?, after),
        };
        let needs_object = matches!(part.verb.act, Act::Acquire | Act::AcquiredBy | Act::Merge);
        if needs_object && object.is_none() {
            return None;
        }
        let status = match (part.verb.denied, part.verb.doubted) {
            (true, _) => ClaimStatus::False,
            (false, true) => ClaimStatus::Suspected,
            (false, false) => ClaimStatus::True,
        };
        let period = Period { start: Some(date), end: None };
        Some(Statement { subject, object, kind: kind.to_owned(), status, period, leans_on_before: false })
    }
}
