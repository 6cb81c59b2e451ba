//! Decisions that people made about the graph. Decisions are evidence: they are added, never changed.

use serde::{Deserialize, Serialize};

use crate::{ChunkId, ContentHash, DecisionId, EntityKey, RelationKey, Timestamp};

/// One decision. Until it is undone, it applies to the current graph and to documents added later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Hash of order and action.
    pub id: DecisionId,
    /// Position in the order of decisions: one more than the largest known when it was made. Ties go to the
    /// smaller id.
    pub order: u64,
    /// When it was made. For display only: nothing is derived from it.
    pub made_at: Timestamp,
    /// The action.
    #[serde(flatten)]
    pub action: Action,
}

impl Decision {
    /// Creates a decision at a position in the order.
    pub fn new(order: u64, made_at: Timestamp, action: Action) -> Self {
        // Serializing plain data cannot fail; if it did, the order alone would still distinguish decisions.
        let body = serde_json::to_string(&action).unwrap_or_default();
        let hash = ContentHash::of_parts(&[&order.to_string(), &body]);
        Self { id: DecisionId::from_stored(format!("dec-{hash}")), order, made_at, action }
    }
}

/// The action of a decision. Keys are those of the graph when the decision was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// Creates the entity, which then exists even without mentions. Descriptions from documents still count.
    CreateEntity {
        /// The entity.
        key: EntityKey,
        /// Its name.
        name: String,
        /// Its type; `None` uses the type from documents.
        kind: Option<String>,
        /// A description in addition to those from documents.
        description: String,
    },
    /// Changes the entity while it exists. `None` keeps the value from documents.
    EditEntity {
        /// The entity.
        key: EntityKey,
        /// Its name.
        name: Option<String>,
        /// Its type.
        kind: Option<String>,
        /// Its description, which replaces those from documents.
        description: Option<String>,
    },
    /// Gives the entity another key. Its edits move with it.
    RenameEntity {
        /// The entity.
        key: EntityKey,
        /// Its new key.
        into: EntityKey,
        /// Its new name.
        name: String,
    },
    /// Removes the entity and its relations until it is created again.
    DeleteEntity {
        /// The entity.
        key: EntityKey,
    },
    /// Merges entities. Edited descriptions of the sources become descriptions of the result.
    MergeEntities {
        /// The entities that disappear.
        sources: Vec<EntityKey>,
        /// The entity that stays or is created.
        into: EntityKey,
        /// Its name.
        name: String,
        /// Its type; `None` uses the most common one.
        kind: Option<String>,
        /// Its description; `None` uses all distinct ones.
        description: Option<String>,
    },
    /// Assigns the mentions of an entity in some chunks to another entity.
    SplitEntity {
        /// The entity that loses the chunks.
        key: EntityKey,
        /// The chunks.
        chunks: Vec<ChunkId>,
        /// The entity that gets them.
        into: EntityKey,
        /// Its name.
        name: String,
    },
    /// Keeps two entities apart; merges that would join them have no effect.
    NotSame {
        /// The pair.
        pair: RelationKey,
    },
    /// Creates the relation, which then exists even if no document states it. It counts as one fact.
    CreateRelation {
        /// The source.
        source: EntityKey,
        /// The target.
        target: EntityKey,
        /// The source's name.
        source_name: String,
        /// The target's name.
        target_name: String,
        /// Its keywords.
        keywords: Vec<String>,
        /// A description in addition to those from documents.
        description: String,
        /// Its weight, which is added to the weight from documents.
        weight: f64,
    },
    /// Changes the relation while it exists. `None` keeps the value from documents.
    EditRelation {
        /// The relation.
        relation: RelationKey,
        /// Its keywords.
        keywords: Option<Vec<String>>,
        /// Its description, which replaces those from documents.
        description: Option<String>,
        /// Its weight.
        weight: Option<f64>,
    },
    /// Removes the relation until it is created again.
    DeleteRelation {
        /// The relation.
        relation: RelationKey,
    },
    /// Reverts an earlier decision. If this decision is itself undone, the earlier one is in effect again.
    Undo {
        /// The decision.
        decision: DecisionId,
    },
}

impl Action {
    /// Returns the action's name in output.
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
