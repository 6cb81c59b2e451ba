//! Adding documents.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use graphloom_core::DocumentId;
use graphloom_engine::index::{self, Acceptance, RunReport, Source};

use crate::Graphloom;
use crate::error::Result;
use crate::files::{self, Files, WalkEntry};
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

/// Documents to add. `.await` adds and indexes them.
#[must_use = "nothing is added before `.await`"]
pub struct Add<'a> {
    graph: &'a Graphloom,
    documents: Documents,
    meta: BTreeMap<String, String>,
}

/// Where documents to add are.
enum Documents {
    /// A source and its bytes.
    Bytes(String, Vec<u8>),
    /// A file or folder.
    Path(PathBuf),
}

impl Graphloom {
    /// Adds a text and indexes it. It replaces a text with the same name.
    ///
    /// - `name`: its extension determines the format, such as `notes.md`; without one, the text is plain text.
    pub fn add_text(&self, name: impl Into<String>, text: impl Into<String>) -> Add<'_> {
        self.add_bytes(name, text.into().into_bytes())
    }

    /// Adds the bytes of a file and indexes them.
    ///
    /// - `name`: the source, such as `report.pdf`. Its extension and the bytes determine the format.
    pub fn add_bytes(&self, name: impl Into<String>, bytes: Vec<u8>) -> Add<'_> {
        self.add(Documents::Bytes(name.into(), bytes))
    }

    /// Adds a file, or all documents in a folder and its subfolders, and indexes them. Files listed in
    /// `.gitignore` and `.graphloomignore` are left out.
    pub fn add_path(&self, path: impl Into<PathBuf>) -> Add<'_> {
        self.add(Documents::Path(path.into()))
    }

    fn add(&self, documents: Documents) -> Add<'_> {
        Add { graph: self, documents, meta: BTreeMap::new() }
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

    async fn accept_path(
        &self,
        path: &Path,
        meta: &BTreeMap<String, String>,
        added: &mut AddReport,
    ) -> Result<()> {
        let paths = [path.to_owned()];
        let most = self.engines.indexing.index.limits.max_bytes;
        let (mut sources, mut bytes) = (Vec::new(), 0);
        for found in Files::new(&paths, &self.here, &self.config.data_dir, files::is_supported) {
            match found {
                WalkEntry::File { source, path } => match files::read(&path, most) {
                    Ok(read) => {
                        bytes += read.len();
                        sources.push(Source { name: source, bytes: read, format: None, meta: meta.clone() });
                    }
                    Err(error) => added.refuse(source, files::reason(&error), None),
                },
                WalkEntry::Refused { source, reason } => added.refuse(source, reason, None),
                // Files beside the documents, such as pictures.
                WalkEntry::Skipped { .. } => {}
            }
            if bytes >= BATCH_BYTES || sources.len() >= BATCH_SOURCES {
                self.accept(std::mem::take(&mut sources), added).await?;
                bytes = 0;
            }
        }
        self.accept(sources, added).await
    }
}

impl Add<'_> {
    /// Sets metadata of every added document, such as `("year", "2024")`, by which a filter can select it. Of several values of
    /// a key, the last counts. Adding an unchanged document again with other metadata replaces its metadata.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
}

impl<'a> IntoFuture for Add<'a> {
    type Output = Result<AddReport>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { graph, documents, meta } = self;
        Box::pin(async move {
            let mut added = AddReport::default();
            match documents {
                Documents::Bytes(name, bytes) => {
                    graph.accept(vec![Source { name, bytes, format: None, meta }], &mut added).await?;
                }
                Documents::Path(path) => graph.accept_path(&path, &meta, &mut added).await?,
            }
            added.run = graph.resume().await?;
            Ok(added)
        })
    }
}

impl AddReport {
    fn refuse(&mut self, source: String, reason: String, remedy: Option<String>) {
        self.refused.push(RefusedSource { source, reason, remedy });
    }
}
