//! Why a question gets no answer.

use graphloom_core::{FilterError, LayerName, ModelError, Role, StoreError};

use super::QueryCost;
use super::plan::Mode;

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// Nothing was asked.
    #[error("the question is empty")]
    Empty,
    /// More than is taken.
    #[error("{what}: {size} is more than the {limit} that are taken")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much.
        size: usize,
        /// How much is taken.
        limit: usize,
    },
    /// Instructions inside the conversation.
    #[error("the history holds a message of role system")]
    SystemInHistory,
    /// A number that is none.
    #[error("{what} is no number")]
    NoNumber {
        /// Which.
        what: &'static str,
    },
    /// A number is out of its range.
    #[error("{what}: {value} is not from {least} to {most}")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The smallest that is taken.
        least: f64,
        /// The largest that is taken.
        most: f64,
    },
    /// A mode needs a model that is not configured.
    #[error("mode {} needs an answer model and none is configured", mode.name())]
    NoAnswerModel {
        /// The mode.
        mode: Mode,
    },
    /// A mode needs a layer that was not derived.
    #[error("there are no {layer} to answer from")]
    NoLayer {
        /// The layer.
        layer: LayerName,
    },
    /// A text that questions are wanted about names nothing that the graph knows.
    #[error("{about:?} names no entity of the graph")]
    NothingNamed {
        /// The text, cut.
        about: String,
    },
    /// A filter was given with a mode that reads reports.
    #[error("mode {} cannot be filtered: reports are written from all documents", mode.name())]
    ReportsOfAll {
        /// The mode.
        mode: Mode,
    },
    /// The workspace's vectors are from another embedder.
    #[error("the workspace was embedded with {workspace}, the question with {question}")]
    OtherEmbedder {
        /// The workspace's embedder.
        workspace: String,
        /// The configured one.
        question: String,
    },
    /// No live document meets the question's filter.
    #[error("no document matches the filter")]
    NothingAllowed,
    /// The question's filter is refused.
    #[error("reading the filter")]
    Filter(#[from] FilterError),
    /// The store failed.
    #[error("searching")]
    Store(#[from] StoreError),
    /// The model failed.
    #[error("asking")]
    Model {
        /// What it was asked for; `None` where no call of it was made.
        role: Option<Role>,
        /// Why.
        source: ModelError,
    },
}

impl From<ModelError> for QueryError {
    fn from(source: ModelError) -> Self {
        Self::Model { role: None, source }
    }
}

impl QueryError {
    /// The same with what the model was asked for, which its last call says; logged.
    pub(super) fn logged(self, cost: &QueryCost) -> Self {
        let error = match self {
            Self::Model { role: None, source } => {
                Self::Model { role: cost.calls.last().map(|call| call.role), source }
            }
            other => other,
        };
        error.log();
        error
    }

    /// Whether it says that the question cannot be asked as it is meant; otherwise something failed or is not set up.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Empty
            | Self::TooMuch { .. }
            | Self::SystemInHistory
            | Self::NoNumber { .. }
            | Self::OutOfRange { .. }
            | Self::NoAnswerModel { .. }
            | Self::NoLayer { .. }
            | Self::NothingNamed { .. }
            | Self::ReportsOfAll { .. }
            | Self::NothingAllowed
            | Self::Filter(_) => true,
            Self::OtherEmbedder { .. } | Self::Store(_) | Self::Model { .. } => false,
        }
    }

    /// A question that is refused is no failure of whoever was asked.
    pub(super) fn log(&self) {
        match self.is_refusal() {
            true => tracing::info!(error = %self, "a question is refused"),
            false => tracing::error!(error = self as &dyn std::error::Error, "a question failed"),
        }
    }

    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Empty => Some("write a question".to_owned()),
            Self::TooMuch { .. } | Self::NoNumber { .. } | Self::OutOfRange { .. } => None,
            Self::SystemInHistory => Some(
                "give instructions as user_prompt; the history is what user and assistant said".to_owned(),
            ),
            Self::NoLayer { .. } => Some("derive them".to_owned()),
            Self::NothingNamed { .. } => Some("look for names in the graph".to_owned()),
            Self::ReportsOfAll { .. } => Some("remove the filter, or choose another mode".to_owned()),
            Self::NoAnswerModel { .. } => {
                Some("configure an answer model, or choose another mode".to_owned())
            }
            Self::OtherEmbedder { .. } => {
                Some("use the embedder the workspace was built with, or another workspace".to_owned())
            }
            Self::NothingAllowed => Some("loosen a condition of the filter".to_owned()),
            Self::Filter(error) => Some(error.remedy()),
            Self::Store(error) => error.remedy(),
            Self::Model { source, .. } => source.remedy(),
        }
    }
}
