//! Why an edit failed.

use graphloom_core::{DecisionId, ModelError, StoreError};

/// Why an edit was not made; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The store failed.
    #[error("editing the graph")]
    Store(#[from] StoreError),
    /// A model that has to be asked failed.
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
    /// The name is taken.
    #[error("{name:?} is the entity {known:?} already")]
    EntityExists {
        /// The name.
        name: String,
        /// Whose it is.
        known: String,
        /// The decision that made it so, where one did.
        by: Option<DecisionId>,
        /// Whether merging is the way out.
        can_merge: bool,
    },
    /// The relation is there.
    #[error("{source_name:?} and {target:?} have a relation already")]
    RelationExists {
        /// One end.
        source_name: String,
        /// The other end.
        target: String,
    },
    /// The two are held apart.
    #[error("{one:?} and {other:?} are not the same, says {decision}")]
    Apart {
        /// One.
        one: String,
        /// The other.
        other: String,
        /// The verdict.
        decision: DecisionId,
    },
    /// A relation of an entity with itself, a merge of one into itself, or the like.
    #[error("{one:?} and {other:?} are one entity")]
    OneEntity {
        /// One.
        one: String,
        /// The other.
        other: String,
    },
    /// A value that cannot be.
    #[error("{what}")]
    BadValue {
        /// Which, and why not.
        what: String,
    },
    /// Nothing was asked for.
    #[error("nothing to change in {name:?}")]
    NothingToChange {
        /// What was to be changed.
        name: String,
    },
    /// The chunk does not speak of the entity.
    #[error("chunk {chunk} says nothing of {name:?}")]
    ForeignChunk {
        /// The chunk.
        chunk: String,
        /// The entity.
        name: String,
    },
    /// No decision, or several, have that id.
    #[error("{matches} decisions have an id that begins with {id:?}")]
    UnknownDecision {
        /// What was given.
        id: String,
        /// How many match.
        matches: usize,
    },
    /// Nothing holds that could be undone.
    #[error("no decision to undo")]
    NothingToUndo,
    /// It does not hold any more.
    #[error("{decision} was undone by {by}")]
    AlreadyUndone {
        /// The decision.
        decision: DecisionId,
        /// What undid it.
        by: DecisionId,
    },
    /// It was decided before, and holds.
    #[error("{decision} says so already")]
    AlreadyDecided {
        /// The decision.
        decision: DecisionId,
    },
}

impl EditError {
    /// Whether it says that the edit cannot be made as it is meant; otherwise something failed while making it.
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
