//! Descriptions that another system made of many. They replace summaries that would have to be paid for again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use graphloom_core::GraphKey;

/// Descriptions of entities and relations, each with the fragments it was made of.
///
/// A description counts as the summary of an entity or relation only while exactly these fragments describe it. It
/// therefore never contains text from a deleted document, and never lacks text from a new one.
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
    /// Adds `text` as the replacement of `fragments`. The last of several texts for one owner wins.
    pub fn add(&mut self, owner: GraphKey, text: String, fragments: BTreeSet<String>) {
        self.known.insert(owner, KnownDescription { text, fragments });
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the number of entities and relations that used theirs.
    pub fn used(&self) -> usize {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the description that was made of exactly these fragments.
    pub(super) fn of(&self, owner: &GraphKey, fragments: &[String]) -> Option<&str> {
        let KnownDescription { text, fragments: made_of } = self.known.get(owner)?;
        let is_same = fragments.len() == made_of.len() && fragments.iter().all(|text| made_of.contains(text));
        if is_same {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(owner.clone());
        }
        is_same.then_some(text)
    }
}
