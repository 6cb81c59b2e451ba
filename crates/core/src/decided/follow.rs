//! Follows the decisions for a record, from the key of its name to the entity or relation that it counts for.

use std::collections::{BTreeMap, BTreeSet};

use super::Decisions;
use crate::{ChunkId, DecisionId, EntityKey, RelationKey};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) decision: DecisionId,
    pub(super) act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// Moves all records with these keys. Edits move along in a rename and become descriptions in a merge.
    Move {
        from: BTreeSet<EntityKey>,
        into: EntityKey,
        merges: bool,
    },
    /// Moves the records of these chunks.
    MoveIn {
        from: EntityKey,
        chunks: BTreeSet<ChunkId>,
        into: EntityKey,
    },
    Hide(EntityKey),
    Show(EntityKey),
    HidePair(RelationKey),
    ShowPair(RelationKey),
}

/// One entity of a record, while rules are applied.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) key: EntityKey,
    pub(super) hidden: bool,
}

impl End {
    pub(super) fn follow(&mut self, act: &Act, chunk: Option<&ChunkId>) {
        match act {
            Act::Move { from, into, .. } if from.contains(&self.key) => self.key = into.clone(),
            Act::MoveIn { from, chunks, into }
                if *from == self.key && chunk.is_some_and(|chunk| chunks.contains(chunk)) =>
            {
                self.key = into.clone();
            }
            Act::Hide(key) if *key == self.key => self.hidden = true,
            Act::Show(key) if *key == self.key => self.hidden = false,
            Act::Move { .. } | Act::MoveIn { .. } | Act::Hide(_) | Act::Show(_) => {}
            Act::HidePair(_) | Act::ShowPair(_) => {}
        }
    }
}

/// A record with two entities, while rules are applied.
pub(super) struct Trace {
    pub(super) source: End,
    target: End,
    hidden: bool,
    /// Whether it passed through a merge.
    pub(super) merged: bool,
    at: usize,
}

impl Trace {
    pub(super) fn new(source: &EntityKey, target: &EntityKey, at: usize) -> Self {
        let end = |key: &EntityKey| End { key: key.clone(), hidden: false };
        Self { source: end(source), target: end(target), hidden: false, merged: false, at }
    }

    pub(super) fn pair(&self) -> Option<RelationKey> {
        RelationKey::new(self.source.key.clone(), self.target.key.clone())
    }

    pub(super) fn is_aside(&self) -> bool {
        self.hidden || self.source.hidden || self.target.hidden || self.source.key == self.target.key
    }

    /// Returns the next rule that applies to the record.
    pub(super) fn next(&mut self, decisions: &Decisions) -> Option<usize> {
        let of_pair = self.pair().and_then(|pair| decisions.next_of_pair(&pair, self.at));
        let of_source = decisions.next_of_key(&self.source.key, self.at);
        let of_target = decisions.next_of_key(&self.target.key, self.at);
        let at = [of_pair, of_source, of_target].into_iter().flatten().min()?;
        self.at = at + 1;
        Some(at)
    }

    pub(super) fn follow(&mut self, act: &Act, chunk: Option<&ChunkId>) {
        match act {
            Act::HidePair(pair) if self.pair().as_ref() == Some(pair) => self.hidden = true,
            Act::ShowPair(pair) if self.pair().as_ref() == Some(pair) => self.hidden = false,
            Act::HidePair(_) | Act::ShowPair(_) => {}
            Act::Move { merges, .. } => {
                self.merged |= merges;
                self.source.follow(act, chunk);
                self.target.follow(act, chunk);
            }
            Act::MoveIn { .. } | Act::Hide(_) | Act::Show(_) => {
                self.source.follow(act, chunk);
                self.target.follow(act, chunk);
            }
        }
    }
}

/// Groups of merged keys, built up as merges are applied.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<EntityKey, BTreeSet<EntityKey>>);

impl Groups {
    fn of(&self, key: &EntityKey) -> BTreeSet<EntityKey> {
        let mut group = self.0.get(key).cloned().unwrap_or_default();
        group.insert(key.clone());
        group
    }

    /// Merges `from` into `into`, unless a decision keeps any two of their keys apart. True if it merged them.
    pub(super) fn join(&mut self, from: &EntityKey, into: &EntityKey, verdicts: &[&RelationKey]) -> bool {
        let (ours, theirs) = (self.of(from), self.of(into));
        let apart = verdicts.iter().any(|pair| {
            (ours.contains(pair.a()) && theirs.contains(pair.b()))
                || (ours.contains(pair.b()) && theirs.contains(pair.a()))
        });
        if !apart {
            self.0.remove(from);
            self.0.insert(into.clone(), ours.into_iter().chain(theirs).collect());
        }
        !apart
    }
}
