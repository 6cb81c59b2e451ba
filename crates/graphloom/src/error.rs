//! Errors, with remedies.

use std::fmt;
use std::io;

use graphloom_core::{FilterError, ModelError, StoreError, WorkspaceId};
use graphloom_engine::derive::DeriveError;
use graphloom_engine::edit::EditError;
use graphloom_engine::index::IndexError;
use graphloom_engine::query::QueryError;
use graphloom_providers::ConfigError;
#[cfg(feature = "local")]
use graphloom_providers::{local::FolderError, models::ModelStoreError};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. [`remedy`](Self::remedy) returns a remedy, if one is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting, an argument or a file is wrong, or something is missing.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// No configuration key has this name.
    #[error("unknown configuration key {name:?} ({origin})")]
    UnknownKey {
        /// The name.
        name: String,
        /// Where the name was found: a flag or a file.
        origin: String,
        /// The key with the most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// A file in the folder of custom prompts does not have the name of a prompt.
    #[error("{} is not named like a prompt", .path.display())]
    UnknownPrompt {
        /// The file.
        path: std::path::PathBuf,
        /// The prompt with the most similar name, if one is similar.
        nearest: Option<&'static str>,
    },
    /// The folder of custom prompts does not exist.
    #[error("the folder of custom prompts {} does not exist", .folder.display())]
    NoPromptsFolder {
        /// The folder.
        folder: std::path::PathBuf,
    },
    /// The workspace does not exist.
    #[error("no workspace {workspace} in {place}")]
    NoWorkspace {
        /// The workspace.
        workspace: WorkspaceId,
        /// The folder or database in which the workspace was expected.
        place: String,
    },
    /// The workspace's vectors are from a different embedder than the configured one.
    #[error("the workspace was embedded with {theirs}, not with {ours}")]
    OtherEmbedder {
        /// The workspace's embedder.
        theirs: String,
        /// The configured embedder.
        ours: String,
    },
    /// The workspace's vectors are from an embedder that only the program that built it has.
    #[error("the workspace was embedded with {embedder}, which only the program that built it has")]
    AbsentEmbedder {
        /// The workspace's embedder.
        embedder: String,
    },
    /// An operation that was stopped by another error.
    #[error("{what}")]
    While {
        /// The operation.
        what: String,
        /// The error that stopped it.
        source: Box<Self>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Indexing failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Deriving a layer failed.
    #[error(transparent)]
    Derive(#[from] DeriveError),
    /// A question failed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// An edit of the graph is not possible.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A model call failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model's configuration is wrong.
    #[error(transparent)]
    ModelConfig(#[from] ConfigError),
    /// A local model cannot be read.
    #[cfg(feature = "local")]
    #[error(transparent)]
    LocalModel(#[from] FolderError),
    /// The store of local models failed.
    #[cfg(feature = "local")]
    #[error(transparent)]
    ModelStore(#[from] ModelStoreError),
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<FilterError> for Error {
    fn from(error: FilterError) -> Self {
        Self::Query(QueryError::Filter(error))
    }
}

impl Error {
    /// Returns the store's error, if this is one.
    pub fn store(&self) -> Option<&StoreError> {
        match self.cause() {
            Self::Store(error)
            | Self::Index(IndexError::Store(error))
            | Self::Derive(DeriveError::Store { source: error, .. }) => Some(error),
            _ => None,
        }
    }

    /// Returns the question's error, if this is one.
    pub fn question(&self) -> Option<&QueryError> {
        match self.cause() {
            Self::Query(error) => Some(error),
            _ => None,
        }
    }

    /// Returns this error without what was being done when it occurred.
    fn cause(&self) -> &Self {
        match self {
            Self::While { source, .. } => source.cause(),
            cause => cause,
        }
    }

    /// True if a local model was to score sentences but cannot.
    #[cfg(feature = "local")]
    pub(crate) fn is_no_scorer(&self) -> bool {
        matches!(self.cause(), Self::LocalModel(FolderError::NoScorer { .. }))
    }

    /// True if a local model is not in the model store.
    #[cfg(feature = "local")]
    pub(crate) fn is_unknown_model(&self) -> bool {
        matches!(self.cause(), Self::ModelStore(ModelStoreError::Unknown { .. }))
    }

    /// True if a setting, an argument or a file is wrong; false if an operation failed.
    pub fn is_usage(&self) -> bool {
        match self.cause() {
            Self::Fault(fault) => fault.is_usage,
            Self::UnknownKey { .. } | Self::UnknownPrompt { .. } | Self::NoPromptsFolder { .. } => true,
            Self::Index(IndexError::OtherSettings(_) | IndexError::AbsentModels(_)) => true,
            Self::AbsentEmbedder { .. } | Self::ModelConfig(_) => true,
            _ => false,
        }
    }

    /// Returns a remedy as a sentence for people; `None` if none is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Fault(fault) => fault.help.clone(),
            Self::UnknownKey { nearest, .. } => nearest.map(|key| format!("did you mean {key:?}?")),
            Self::UnknownPrompt { nearest, .. } => nearest.map(|name| format!("did you mean {name}.md?")),
            Self::NoPromptsFolder { .. } => Some(
                "set prompts_dir to the folder where the prompts are now, or to nothing for the built-in prompts"
                    .to_owned(),
            ),
            Self::NoWorkspace { .. } => {
                Some("check the name and the folder, or add a document to create it".to_owned())
            }
            Self::OtherEmbedder { .. } => Some(
                "choose no embedder to use the workspace's own, or embed the workspace again with this one"
                    .to_owned(),
            ),
            Self::While { source, .. } => source.remedy(),
            Self::Store(error)
            | Self::Index(IndexError::Store(error))
            | Self::Derive(DeriveError::Store { source: error, .. }) => error.remedy(),
            Self::Model(error)
            | Self::Index(IndexError::Model(error))
            | Self::Derive(DeriveError::Model { source: error, .. }) => error.remedy(),
            Self::Derive(DeriveError::Busy { .. }) => Some("wait until the other process is done".to_owned()),
            Self::Query(error) => error.remedy(),
            Self::Edit(EditError::Store(error)) => error.remedy(),
            Self::Edit(EditError::Model(error)) => error.remedy(),
            #[cfg(feature = "local")]
            Self::ModelStore(error) => error.remedy().map(str::to_owned),
            Self::Index(IndexError::OtherSettings(_)) => {
                Some("leave them out to go on as before, or switch the workspace to them".to_owned())
            }
            Self::Index(IndexError::AbsentModels(_)) => Some(
                "open the workspace with this model, or switch it to the models and settings in use".to_owned(),
            ),
            Self::AbsentEmbedder { .. } => Some(
                "open the workspace with this embedder, or embed it again with another one".to_owned(),
            ),
            #[cfg(feature = "local")]
            Self::LocalModel(error) => Some(error.remedy().to_owned()),
            Self::Edit(_) | Self::ModelConfig(_) | Self::Io(_) => None,
        }
    }
}

/// An error about a setting, an argument or a file that is wrong, or about something that is missing. It may have a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    message: String,
    help: Option<String>,
    is_usage: bool,
}

impl Fault {
    /// Creates an error for a failed operation.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, is_usage: false }
    }

    /// Creates an error for a wrong setting or argument.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { is_usage: true, ..Self::failed(message) }
    }

    /// Adds a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the remedy.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// True if a setting or an argument is wrong.
    pub fn is_usage(&self) -> bool {
        self.is_usage
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// Adds to an error what the program was doing when it occurred.
pub(crate) trait DescribeError<T> {
    /// Wraps the error.
    ///
    /// - `what`: the operation, such as `opening workspace notes`.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> DescribeError<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::While { what: what(), source: Box::new(error.into()) })
    }
}
