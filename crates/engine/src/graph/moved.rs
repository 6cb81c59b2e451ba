//! Finds the stored mentions and facts that a change of decisions moves.

use std::collections::BTreeSet;

use graphloom_core::{
    ChunkId, Decisions, Difference, EntityKey, Fact, GraphKey, Mention, Snapshot, StoreError,
};

use super::records::{moved_fact, moved_mention};

/// Stored records that leave their place.
#[derive(Debug, Default)]
pub(super) struct StoredRecords {
    /// Chunks of which all records leave.
    pub(super) chunks: BTreeSet<ChunkId>,
    mentions: BTreeSet<(ChunkId, u32)>,
    facts: BTreeSet<(ChunkId, u32)>,
}

impl StoredRecords {
    pub(super) fn takes_mention(&self, mention: &Mention) -> bool {
        self.chunks.contains(&mention.chunk)
            || self.mentions.contains(&(mention.chunk.clone(), mention.ordinal))
    }

    pub(super) fn takes_fact(&self, fact: &Fact) -> bool {
        self.chunks.contains(&fact.chunk) || self.facts.contains(&(fact.chunk.clone(), fact.ordinal))
    }
}

/// The moved records in their new place, and the items that they counted for.
#[derive(Debug, Default)]
pub(super) struct MovedRecords {
    pub(super) mentions: Vec<Mention>,
    pub(super) facts: Vec<Fact>,
    pub(super) from: Vec<GraphKey>,
}

/// Returns the records that `decisions` move, and adds them to `leaving`. Records of chunks that leave anyway are skipped.
pub(super) async fn moved_records(
    snapshot: &dyn Snapshot,
    difference: &Difference,
    decisions: &Decisions,
    leaving: &mut StoredRecords,
) -> Result<MovedRecords, StoreError> {
    let mut moved = MovedRecords::default();
    let keys: Vec<EntityKey> = difference.mentions_of.iter().cloned().collect();
    for mention in snapshot.mentions_of(&keys).await?.into_iter().flatten() {
        if leaving.takes_mention(&mention) {
            continue;
        }
        if let Some(after) = moved_mention(&mention, decisions) {
            leaving.mentions.insert((mention.chunk, mention.ordinal));
            moved.from.push(GraphKey::Entity(mention.entity));
            moved.mentions.push(after);
        }
    }
    let keys: Vec<EntityKey> = difference.facts_touching.iter().cloned().collect();
    for fact in snapshot.facts_touching(&keys).await?.into_iter().flatten() {
        // A fact between two of the keys is found twice.
        if leaving.takes_fact(&fact) {
            continue;
        }
        if let Some(after) = moved_fact(&fact, decisions) {
            leaving.facts.insert((fact.chunk, fact.ordinal));
            moved.from.extend(fact.relation.ends().map(|end| GraphKey::Entity(end.clone())));
            moved.from.push(GraphKey::Relation(fact.relation));
            moved.facts.push(after);
        }
    }
    Ok(moved)
}
