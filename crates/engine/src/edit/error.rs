//! Why an edit failed.

use graphloom_core::{DecisionId, ModelError, StoreError};

/// Why an edit was not made; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The store failed.
    #[error("editing the graph")]
    Store(#[from] StoreError),
    /// A model that the edit needs failed.
    #[error("editing the graph")]
    Model(#[from] ModelError),
    /// No entity has that name.
    #[error("no entity {name:?}")]
    UnknownEntity {
        /// The name.
        name: String,
    },
    /// No relation joins the two.
    #[error("no relation between {source_name:?} and {target:?}")]
    UnknownRelation {
        /// One end.
        source_name: String,
        /// The other end.
        target: String,
    },
    /// The name is already in use.
    #[error("{name:?} is already the entity {known:?}")]
    EntityExists {
        /// The name.
        name: String,
        /// The entity that has it.
        known: String,
        /// The decision that gave it the name, if any.
        by: Option<DecisionId>,
        /// Whether merging would solve this.
        can_merge: bool,
    },
    /// The relation already exists.
    #[error("{source_name:?} and {target:?} already have a relation")]
    RelationExists {
        /// One end.
        source_name: String,
        /// The other end.
        target: String,
    },
    /// A decision keeps the two apart.
    #[error("cannot merge {one:?} and {other:?}: decision {decision} keeps them apart")]
    Apart {
        /// The first entity.
        one: String,
        /// The second entity.
        other: String,
        /// The decision.
        decision: DecisionId,
    },
    /// Both ends are the same entity, for example in a relation or a merge.
    #[error("{one:?} and {other:?} are the same entity")]
    OneEntity {
        /// The first name.
        one: String,
        /// The second name.
        other: String,
    },
    /// A value is invalid.
    #[error("{what}")]
    BadValue {
        /// The value, and what is wrong with it.
        what: String,
    },
    /// The edit contains no change.
    #[error("nothing to change in {name:?}")]
    NothingToChange {
        /// The entity or relation to change.
        name: String,
    },
    /// The chunk does not mention the entity.
    #[error("chunk {chunk} does not mention {name:?}")]
    ForeignChunk {
        /// The chunk.
        chunk: String,
        /// The entity.
        name: String,
    },
    /// The id matches no decision, or several.
    #[error("{matches} decisions have an id that begins with {id:?}")]
    UnknownDecision {
        /// The id as given.
        id: String,
        /// The number of matches.
        matches: usize,
    },
    /// No decision is in effect that could be undone.
    #[error("no decision to undo")]
    NothingToUndo,
    /// The decision is no longer in effect.
    #[error("{decision} was undone by {by}")]
    AlreadyUndone {
        /// The decision.
        decision: DecisionId,
        /// The decision that undid it.
        by: DecisionId,
    },
    /// The same decision is already in effect.
    #[error("decision {decision} already does this")]
    AlreadyDecided {
        /// The decision.
        decision: DecisionId,
    },
}

impl EditError {
    /// True if the edit itself is not allowed; false if something failed while it was made.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Store(_) | Self::Model(_) => false,
            Self::UnknownEntity { .. }
            | Self::UnknownRelation { .. }
            | Self::EntityExists { .. }
            | Self::RelationExists { .. }
            | Self::Apart { .. }
            | Self::OneEntity { .. }
            | Self::BadValue { .. }
            | Self::NothingToChange { .. }
            | Self::ForeignChunk { .. }
            | Self::UnknownDecision { .. }
            | Self::NothingToUndo
            | Self::AlreadyUndone { .. }
            | Self::AlreadyDecided { .. } => true,
        }
    }
}
