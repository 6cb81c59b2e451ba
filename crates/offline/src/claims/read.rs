//! Reads the parts of a sentence: who holds which office, where and when, according to its verb.

use std::ops::Range;

use super::Statement;
use super::draft::{Draft, is_lead, is_state, of_draft};
use super::names::Reader;
use super::office::HEAD;
use super::parts::parts;
use super::time::TimeRelation;
use super::verbs::{Act, verbs};
use super::words::{Item, items};

/// What the previous sentences were about.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) person: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) offices: Vec<String>,
    /// Number of sentences since an office was named.
    pub(super) age: usize,
}

impl Memory {
    /// Returns what `its` and `the company` refer to: the last organisation, or the subject of the previous sentence.
    pub(super) fn organisation_referred_to(&self) -> Option<String> {
        self.organisation.clone().or_else(|| self.person.clone())
    }
}

/// Returns the claims of the sentence at `range`.
pub(super) fn read(text: &str, range: Range<usize>, german: bool, memory: &mut Memory) -> Vec<Statement> {
    let items = items(text, range);
    let reader = Reader { text, items: &items, german };
    let verbs = verbs(&items, german);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut statements = Vec::new();
    let parts = parts(&items, verbs);
    let named_before = memory.person.clone();
    for part in &parts {
        statements.extend(reader.event(part, memory));
        let draft = reader.draft(part, memory);
        // The person that a later part calls `he` or omits.
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
    let inherited: Vec<bool> = drafts.iter_mut().map(|draft| inherit(draft, memory)).collect();
    for (draft, inherited) in drafts.iter().zip(inherited) {
        statements
            .extend(of_draft(draft, inherited || (named_before.is_some() && reader.begins_with_pronoun())));
    }
    remember(&drafts, &reader, memory);
    statements
}

/// Stores what the next sentence may omit.
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

/// Fills the gaps of a part from the other parts, the preceding ones first.
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
        if drafts[at].times.is_empty() && takes {
            let time = near().find_map(|other| {
                drafts[other]
                    .times
                    .iter()
                    .find(|time| time.relation == TimeRelation::At && !is_state(drafts[other].act))
                    .cloned()
            });
            drafts[at].times.extend(time);
        }
    }
    // An office without a holder, as in `the bank had two chief executives: ...`, applies to all parts.
    if drafts.iter().all(|draft| draft.offices.is_empty()) {
        let offices = items.iter().find_map(|item| match item {
            Item::Offices(offices) => {
                Some(offices.iter().map(|office| office.name.clone()).collect::<Vec<_>>())
            }
            Item::Word(_) | Item::Time(_) | Item::Possessive => None,
        });
        for draft in drafts.iter_mut().filter(|draft| draft.may_inherit || is_lead(draft.act)) {
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

/// Fills the remaining gaps from the previous sentence. Returns true if it filled any.
fn inherit(draft: &mut Draft, memory: &Memory) -> bool {
    let mut inherited = false;
    if draft.offices.is_empty() && draft.may_inherit && memory.age <= 1 && !memory.offices.is_empty() {
        draft.offices.clone_from(&memory.offices);
        inherited = true;
    }
    if draft.organisation.is_none()
        && !draft.offices.is_empty()
        && memory.age <= 1
        && memory.organisation.is_some()
    {
        draft.organisation.clone_from(&memory.organisation);
        inherited = true;
    }
    inherited
}
