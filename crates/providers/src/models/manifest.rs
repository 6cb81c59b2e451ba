//! The list of a model's files with their checksums.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ModelStoreError;

const MANIFEST_FILE: &str = "graphloom-model.json";

/// The files of a stored model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelManifest {
    /// The model's name in the store.
    pub name: String,
    /// Its origin: `folder`, or the package and version it was downloaded from.
    pub source: String,
    /// Its files by path inside the folder.
    pub files: BTreeMap<String, FileEntry>,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its BLAKE3 checksum in hex.
    pub blake3: String,
}

impl ModelManifest {
    /// Creates the manifest of those `files` that exist in `folder`.
    pub(super) fn of(
        folder: &Path,
        name: &str,
        source: &str,
        files: &[&str],
    ) -> Result<Self, ModelStoreError> {
        let mut entries = BTreeMap::new();
        for file in files.iter().filter(|file| folder.join(file).is_file()) {
            entries.insert((*file).to_owned(), FileEntry::of(&folder.join(file))?);
        }
        Ok(Self { name: name.to_owned(), source: source.to_owned(), files: entries })
    }

    /// Reads the manifest in `folder`; `None` if it does not exist.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, ModelStoreError> {
        let path = folder.join(MANIFEST_FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let bytes = fs::read(&path).map_err(|source| ModelStoreError::Io {
            what: "reading",
            path: path.clone(),
            source,
        })?;
        serde_json::from_slice(&bytes).map(Some).map_err(|source| ModelStoreError::Manifest { path, source })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), ModelStoreError> {
        let path = folder.join(MANIFEST_FILE);
        let json = serde_json::to_vec_pretty(self)
            .map_err(|source| ModelStoreError::Manifest { path: path.clone(), source })?;
        fs::write(&path, json).map_err(|source| ModelStoreError::Io { what: "writing", path, source })
    }

    /// Compares every file in `folder` with the manifest.
    pub(super) fn verify(&self, folder: &Path) -> Result<(), ModelStoreError> {
        for (file, expected) in &self.files {
            let path = folder.join(file);
            if !path.is_file() || FileEntry::of(&path)? != *expected {
                return Err(ModelStoreError::Checksum { name: self.name.clone(), file: file.clone() });
            }
        }
        Ok(())
    }
}

impl FileEntry {
    fn of(path: &Path) -> Result<Self, ModelStoreError> {
        let hash = || -> std::io::Result<Self> {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(fs::File::open(path)?)?;
            Ok(Self { bytes: hasher.count(), blake3: hasher.finalize().to_hex().to_string() })
        };
        hash().map_err(|source| ModelStoreError::Io { what: "reading", path: path.to_owned(), source })
    }
}
