//! Adding documents.

use std::path::PathBuf;

use graphloom_core::DocumentId;
use graphloom_engine::index::{self, Acceptance, RunReport, Source};

use crate::Graphloom;
use crate::error::Result;
use crate::files::{self, Files, Found};
use crate::setup;

/// Maximum bytes of sources that are read before they are stored.
const BATCH_BYTES: usize = 32 * 1024 * 1024;
/// Maximum sources that are read before they are stored.
const BATCH_SOURCES: usize = 64;

/// The result of adding documents.
#[derive(Debug, Clone, Default)]
pub struct AddReport {
    /// New documents, and new versions of known ones: source and id.
    pub accepted: Vec<(String, DocumentId)>,
    /// Documents that the workspace already had, unchanged.
    pub unchanged: Vec<(String, DocumentId)>,
    /// Sources that cannot be read. Nothing from them is stored.
    pub refused: Vec<RefusedSource>,
    /// What indexing did.
    pub run: RunReport,
}

/// A source that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSource {
    /// The source.
    pub source: String,
    /// The reason.
    pub reason: String,
    /// A remedy, if one is known.
    pub remedy: Option<String>,
}

impl Graphloom {
    /// Adds a text and indexes it. It replaces a text with the same name.
    ///
    /// - `name`: its extension determines the format, such as `notes.md`; without one, the text is plain text.
    pub async fn add_text(&self, name: impl Into<String>, text: impl Into<String>) -> Result<AddReport> {
        self.add_bytes(name, text.into().into_bytes()).await
    }

    /// Adds the bytes of a file and indexes them.
    ///
    /// - `name`: the source, such as `report.pdf`. Its extension and the bytes determine the format.
    pub async fn add_bytes(&self, name: impl Into<String>, bytes: Vec<u8>) -> Result<AddReport> {
        let mut added = AddReport::default();
        let source = Source { name: name.into(), bytes, format: None, meta: Default::default() };
        self.accept(vec![source], &mut added).await?;
        self.index(added).await
    }

    /// Adds a file, or all documents in a folder and its subfolders, and indexes them. Files listed in
    /// `.gitignore` and `.graphloomignore` are left out.
    pub async fn add_path(&self, path: impl Into<PathBuf>) -> Result<AddReport> {
        let mut added = AddReport::default();
        let paths = [path.into()];
        let most = self.engines.indexing.index.limits.max_bytes;
        let (mut sources, mut bytes) = (Vec::new(), 0);
        for found in Files::new(&paths, &self.here, &self.config.data_dir, files::is_supported) {
            match found {
                Found::File { source, path } => match files::read(&path, most) {
                    Ok(read) => {
                        bytes += read.len();
                        sources.push(Source {
                            name: source,
                            bytes: read,
                            format: None,
                            meta: Default::default(),
                        });
                    }
                    Err(error) => added.refuse(source, files::reason(&error), None),
                },
                Found::Refused { source, reason } => added.refuse(source, reason, None),
                // Files beside the documents, such as pictures.
                Found::Skipped { .. } => {}
            }
            if bytes >= BATCH_BYTES || sources.len() >= BATCH_SOURCES {
                self.accept(std::mem::take(&mut sources), &mut added).await?;
                bytes = 0;
            }
        }
        self.accept(sources, &mut added).await?;
        self.index(added).await
    }

    /// Indexes what is still queued, such as documents whose LLM calls failed before. Failed chunks are tried again.
    pub async fn resume(&self) -> Result<RunReport> {
        let progress = &*self.on_progress;
        let engine = &self.engines.indexing;
        Ok(index::run(engine, &|step| progress(step), &setup::gone(&self.config)?).await?)
    }

    async fn accept(&self, sources: Vec<Source>, added: &mut AddReport) -> Result<()> {
        if sources.is_empty() {
            return Ok(());
        }
        let engine = &self.engines.indexing;
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        let readings = self.readers.read_all(sources, engine.index.limits).await;
        let acceptances = index::accept_read(engine, readings, None).await?;
        for (source, acceptance) in names.into_iter().zip(acceptances) {
            match acceptance {
                Acceptance::Accepted { document, .. } => added.accepted.push((source, document)),
                Acceptance::Unchanged { document, .. } => added.unchanged.push((source, document)),
                Acceptance::Refused { reason, remedy } => added.refuse(source, reason, remedy),
            }
        }
        Ok(())
    }

    async fn index(&self, added: AddReport) -> Result<AddReport> {
        Ok(AddReport { run: self.resume().await?, ..added })
    }
}

impl AddReport {
    fn refuse(&mut self, source: String, reason: String, remedy: Option<String>) {
        self.refused.push(RefusedSource { source, reason, remedy });
    }
}
