//! Descriptions that another system made of many. They take the place of summaries that would be paid for again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use graphloom_core::GraphKey;

/// Descriptions of entities and relations, each with the fragments that it was made of.
///
/// One counts as the summary of an entity or relation only while exactly these fragments describe it, so it says nothing that a
/// deleted document said, and leaves out nothing that a new one says.
#[derive(Debug, Default)]
pub struct KnownDescriptions {
    known: BTreeMap<GraphKey, KnownDescription>,
    used: Mutex<BTreeSet<GraphKey>>,
}

#[derive(Debug)]
struct KnownDescription {
    text: String,
    fragments: BTreeSet<String>,
}

impl KnownDescriptions {
    /// Adds what `text` says in place of `fragments`. Of two about the same thing, the later one counts.
    pub fn add(&mut self, owner: GraphKey, text: String, fragments: BTreeSet<String>) {
        self.known.insert(owner, KnownDescription { text, fragments });
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// How many entities and relations took theirs.
    pub fn used(&self) -> usize {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The description that was made of exactly these fragments.
    pub(super) fn of(&self, owner: &GraphKey, fragments: &[String]) -> Option<&str> {
        let KnownDescription { text, fragments: made_of } = self.known.get(owner)?;
        let is_same = fragments.len() == made_of.len() && fragments.iter().all(|text| made_of.contains(text));
        if is_same {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(owner.clone());
        }
        is_same.then_some(text)
    }
}
