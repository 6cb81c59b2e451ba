//! Decisions: what people decided about the graph. They are evidence: never changed, only added to.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, ContentHash, DecisionId, EntityKey, RelationKey, Timestamp};

/// One thing a person decided. It holds for what is in the graph now and for what comes later, until it is undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Hash of order and action.
    pub id: DecisionId,
    /// Its place among the decisions: one more than the largest known when it was made. Ties go to the smaller id.
    pub order: u64,
    /// When it was made; for people alone, nothing is derived from it.
    pub made_at: Timestamp,
    /// What was decided.
    #[serde(flatten)]
    pub action: Action,
}

impl Decision {
    /// The decision for `action` at a place in the order.
    pub fn new(order: u64, made_at: Timestamp, action: Action) -> Self {
        // Writing plain data as JSON does not fail; were it to, the order alone would still tell decisions apart.
        let body = serde_json::to_string(&action).unwrap_or_default();
        let hash = ContentHash::of_parts(&[&order.to_string(), &body]);
        Self { id: DecisionId::from_stored(format!("dec-{hash}")), order, made_at, action }
    }
}

/// What can be decided. Keys are those of the graph as it read when the decision was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// The entity exists, whether or not a document mentions it. What documents say of it counts as well.
    CreateEntity {
        /// The entity.
        key: EntityKey,
        /// Its name.
        name: String,
        /// Its type; what documents say where `None`.
        kind: Option<String>,
        /// One description of it, beside those of documents.
        description: String,
    },
    /// The entity reads so, while it exists. `None` keeps what the documents say.
    EditEntity {
        /// The entity.
        key: EntityKey,
        /// Its name.
        name: Option<String>,
        /// Its type.
        kind: Option<String>,
        /// Its description, in place of the documents'.
        description: Option<String>,
    },
    /// The entity is known under another key; edits go with it.
    RenameEntity {
        /// The entity.
        key: EntityKey,
        /// Its new key.
        into: EntityKey,
        /// Its new name.
        name: String,
    },
    /// The entity is left out with its relations, until it is created again.
    DeleteEntity {
        /// The entity.
        key: EntityKey,
    },
    /// These are one entity. Descriptions of edited sources become descriptions of the one.
    MergeEntities {
        /// The entities that are no more.
        sources: Vec<EntityKey>,
        /// The one that stays or comes into being.
        into: EntityKey,
        /// Its name.
        name: String,
        /// Its type; the majority where `None`.
        kind: Option<String>,
        /// Its description; all distinct ones where `None`.
        description: Option<String>,
    },
    /// What these chunks say of the entity is said of another one.
    SplitEntity {
        /// The entity that loses them.
        key: EntityKey,
        /// The chunks.
        chunks: Vec<ChunkId>,
        /// The entity that gains them.
        into: EntityKey,
        /// Its name.
        name: String,
    },
    /// These are two entities; a merge that would bring them together has no effect.
    NotSame {
        /// The pair.
        pair: RelationKey,
    },
    /// The relation exists, whether or not a document states it. It counts as one fact.
    CreateRelation {
        /// The source.
        source: EntityKey,
        /// The target.
        target: EntityKey,
        /// The source's name.
        source_name: String,
        /// The target's name.
        target_name: String,
        /// What it is about.
        keywords: Vec<String>,
        /// One description of it, beside those of documents.
        description: String,
        /// Its strength, added to that of documents.
        weight: f64,
    },
    /// The relation reads so, while it exists. `None` keeps what the documents say.
    EditRelation {
        /// The relation.
        relation: RelationKey,
        /// What it is about.
        keywords: Option<Vec<String>>,
        /// Its description, in place of the documents'.
        description: Option<String>,
        /// Its strength.
        weight: Option<f64>,
    },
    /// The relation is left out, until it is created again.
    DeleteRelation {
        /// The relation.
        relation: RelationKey,
    },
    /// An earlier decision does not hold. Undoing this one makes it hold again.
    Undo {
        /// The decision.
        decision: DecisionId,
    },
}

impl Action {
    /// The action's name in output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CreateEntity { .. } => "create_entity",
            Self::EditEntity { .. } => "edit_entity",
            Self::RenameEntity { .. } => "rename_entity",
            Self::DeleteEntity { .. } => "delete_entity",
            Self::MergeEntities { .. } => "merge_entities",
            Self::SplitEntity { .. } => "split_entity",
            Self::NotSame { .. } => "not_same",
            Self::CreateRelation { .. } => "create_relation",
            Self::EditRelation { .. } => "edit_relation",
            Self::DeleteRelation { .. } => "delete_relation",
            Self::Undo { .. } => "undo",
        }
    }
}
