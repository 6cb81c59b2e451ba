//! Errors of questions.

use graphloom_core::{FilterError, LayerName, ModelError, Role, StoreError};

use super::QueryCost;
use super::plan::Mode;

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The question is empty.
    #[error("the question is empty")]
    Empty,
    /// Something is larger than its limit.
    #[error("{what}: {size}, the limit is {limit}")]
    TooMuch {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The conversation contains a system message.
    #[error("the history contains a system message")]
    SystemInHistory,
    /// A number is not finite.
    #[error("{what} is not a number")]
    NoNumber {
        /// The name of the option.
        what: &'static str,
    },
    /// A number is out of range.
    #[error("{what}: {value} is not between {least} and {most}")]
    OutOfRange {
        /// The name of the option.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The smallest allowed value.
        least: f64,
        /// The largest allowed value.
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
    /// A text to suggest questions about names no entity in the graph.
    #[error("{about:?} names no entity in the graph")]
    NothingNamed {
        /// The text, shortened.
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
        /// The configured embedder.
        question: String,
    },
    /// No live document matches the question's filter.
    #[error("no document matches the filter")]
    NothingAllowed,
    /// The question's filter is invalid.
    #[error("reading the filter")]
    Filter(#[from] FilterError),
    /// The store failed.
    #[error("searching")]
    Store(#[from] StoreError),
    /// A model failed.
    #[error("asking")]
    Model {
        /// The role in which the model was called; `None` if it was not called.
        role: Option<Role>,
        /// The cause.
        source: ModelError,
    },
}

impl From<ModelError> for QueryError {
    fn from(source: ModelError) -> Self {
        Self::Model { role: None, source }
    }
}

impl QueryError {
    /// Logs the error and returns it with the role of the last model call.
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

    /// True if the question cannot be answered as it was asked. Otherwise something failed or is not configured.
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

    /// Logs the error. A rejected question is not a failure of the system, so it is logged as information.
    pub(super) fn log(&self) {
        match self.is_refusal() {
            true => tracing::info!(error = %self, "a question is refused"),
            false => tracing::error!(error = self as &dyn std::error::Error, "a question failed"),
        }
    }

    /// Returns what the user can do about the error, if anything.
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
