//! Reads the parts of a sentence: whom a verb makes holder of which office where, and when.

use std::ops::Range;

use super::Statement;
use super::draft::{Draft, is_lead, is_state, of_draft};
use super::names::Reader;
use super::office::HEAD;
use super::parts::parts;
use super::verbs::{Act, verbs};
use super::when::How;
use super::words::{Item, items};

/// What the sentences before were about.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) person: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) offices: Vec<String>,
    /// Sentences since an office was named.
    pub(super) age: usize,
}

impl Memory {
    /// What `its` and `the company` mean: the organisation named last, else what the sentence before was about.
    pub(super) fn organisation_meant(&self) -> Option<String> {
        self.organisation.clone().or_else(|| self.person.clone())
    }
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
