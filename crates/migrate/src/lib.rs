//! Moves knowledge between Graphloom and other systems: reads the folders of GraphRAG and LightRAG, and writes
//! GraphRAG's tables.
//!
//! An import becomes evidence: documents with their chunks, and the extraction of each chunk. It makes no model calls, and
//! reads and checks everything before anything is stored.

pub mod graphrag;
pub mod lightrag;
mod locate;
mod share;
#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "tests write tables"))]
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod unpaid;
mod vectors;

use std::path::PathBuf;

use graphloom_engine::Engine;
use graphloom_engine::derive::ImportedReport;
use graphloom_engine::graph::KnownDescriptions;
use graphloom_engine::index::ImportedDocument;
use serde::Serialize;

pub use unpaid::unpaid;
pub use vectors::{KnownVectors, Vectors};

/// The content of a folder of another system.
#[derive(Debug, Default)]
pub struct Import {
    /// The documents.
    pub documents: Vec<ImportedDocument>,
    /// Reports of communities. They refer to places in the documents; [`Import::reports`] resolves these to chunks.
    reports: graphrag::Reports,
    /// Vectors of texts, from an unknown model.
    pub vectors: Vectors,
    /// Summaries that a model wrote from several descriptions.
    pub descriptions: KnownDescriptions,
    /// Counts of what was found.
    pub found: FolderContents,
    /// Remarks for people about what the folder lacks or what could not be taken over.
    pub missing: Vec<String>,
}

impl Import {
    /// Covers all parts of the documents with chunks. Call this before the documents are stored and before
    /// [`Import::reports`].
    pub fn cover(&mut self, engine: &Engine) {
        self.documents.iter_mut().for_each(|document| document.cover(engine));
    }

    /// Returns the reports with references to the chunks of the documents.
    pub fn reports(&self) -> Vec<ImportedReport> {
        self.reports.of(&self.documents)
    }

    /// True if another system found the communities of the reports. If false, deriving communities finds the same ones.
    pub fn has_foreign_communities(&self) -> bool {
        !self.reports.without_rules
    }
}

/// Counts of what a folder contains and of what is taken over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FolderContents {
    /// Documents.
    pub documents: u64,
    /// Chunks (text units).
    pub chunks: u64,
    /// Of these, chunks that their document contains verbatim.
    pub verbatim: u64,
    /// Chunks with an extraction.
    pub extracted: u64,
    /// Distinct entities.
    pub entities: u64,
    /// Distinct relations.
    pub relations: u64,
    /// Community reports.
    pub reports: u64,
    /// Claims (covariates).
    pub claims: u64,
    /// Of these, claims whose text unit contains their source text; only these are taken over.
    pub claims_taken: u64,
}

/// Why a folder was not read or written; nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum MigrateError {
    /// There is no such folder, or it contains nothing of the system.
    #[error("{} holds no {what}", .folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What was expected.
        what: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The folder contains several data sets.
    #[error("{} holds several: {}", .folder.display(), .names.join(", "))]
    Several {
        /// The folder.
        folder: PathBuf,
        /// Their names.
        names: Vec<String>,
    },
    /// A file could not be read.
    #[error("reading {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file does not have the expected content.
    #[error("{} is damaged: {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file could not be written.
    #[error("writing {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The workspace could not be read.
    #[error("reading the workspace")]
    Store(#[from] graphloom_core::StoreError),
}

impl MigrateError {
    /// Returns the remedy, if there is one.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Foreign { remedy, .. } => Some(remedy),
            Self::Several { .. } => Some("name the folder of one of them"),
            Self::Damaged { .. } => {
                Some("restore the file from a backup, or remove it to import what the others hold")
            }
            Self::Read { .. } | Self::Write { .. } | Self::Store(_) => None,
        }
    }
}
