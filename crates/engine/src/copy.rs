//! Copies a workspace to another store, such as from a file to a PostgreSQL database.
//!
//! The copy reads one snapshot of the source table by table, compares each table with the target and writes only rows that are
//! missing or different, in commits of bounded size. So an interrupted copy continues where it stopped, and repeating a complete
//! copy changes nothing. The target must not contain anything that the source lacks. At the end both must have the same
//! [dump hash](graphloom_core::write_dump).
//!
//! Leases are not copied, because the workers that hold them work on the source. Cached answers are not copied either:
//! questions fill the cache again.

use std::collections::VecDeque;
use std::sync::Arc;

use graphloom_core::table::{self, Pages, Table};
use graphloom_core::{
    Batch, DocumentId, DumpError, ExtractionKey, GraphKey, ItemKind, Job, Layer, LayerName, LayerNode,
    Member, NewDocument, NewExchange, QueueState, Revision, SetOriginal, Snapshot, Store, StoreError,
    VectorRow, write_dump,
};
use serde::Serialize;

/// Rows per commit.
const ROWS: usize = 1000;
/// Limit on the text bytes of a commit, which is held in memory. A single longer text may exceed it.
const TEXT_BYTES: u64 = 16 << 20;

/// Why a copy failed. The rows copied so far stay, and the next run continues from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the stores failed.
    #[error("{at} store")]
    Store {
        /// `source` or `target`.
        at: &'static str,
        /// The cause.
        #[source]
        error: StoreError,
    },
    /// Reading one of the workspaces to compute its hash failed.
    #[error("comparing both workspaces")]
    Dump(#[from] DumpError),
    /// The target holds something that the source does not.
    #[error("the target holds {table} that the source does not have")]
    Other {
        /// What it holds, such as `documents`.
        table: &'static str,
    },
    /// The copy is not equal to its source.
    #[error("the copy differs from its source: its hash is {target}, that of the source {origin}")]
    Unequal {
        /// Hash of the source.
        origin: String,
        /// Hash of the target.
        target: String,
    },
}

/// Called during a copy with the name of the current table and the number of its rows processed so far.
pub type CopyProgress<'a> = &'a (dyn Fn(&'static str, u64) + Send + Sync);

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CopyReport {
    /// The hash of both workspaces.
    pub hash: String,
    /// Documents of the workspace.
    pub documents: u64,
    /// Rows written, over all tables.
    pub copied: u64,
    /// Rows that the target already had.
    pub present: u64,
}

/// Copies the latest state of `source` to `target`. No other process may write to the target meanwhile. The source may change,
/// but the copy can miss such changes: run it again when nothing writes to the source.
///
/// # Errors
///
/// [`CopyError::Other`] before anything is changed if the target has documents that the source does not have, and later if it has
/// anything else that the source lacks, such as entities of a deleted document.
pub async fn copy(
    source: &dyn Store,
    target: &dyn Store,
    progress: CopyProgress<'_>,
) -> Result<CopyReport, CopyError> {
    let origin = source.snapshot().await.map_err(of_source)?;
    let mut copier = Copier { source: origin.as_ref(), target, progress, report: CopyReport::default() };
    copier.check_documents().await?;
    copier.settings().await?;
    copier.evidence().await?;
    copier.views().await?;
    copier.layers().await?;
    copier.vectors().await?;
    copier.ledger().await?;
    copier.conversations().await?;
    copier.jobs().await?;
    copier.finish().await
}

struct Copier<'a> {
    source: &'a dyn Snapshot,
    target: &'a dyn Store,
    progress: CopyProgress<'a>,
    report: CopyReport,
}

impl Copier<'_> {
    async fn check_documents(&self) -> Result<(), CopyError> {
        let there = self.target.snapshot().await.map_err(of_target)?;
        let mut pages = there.pages(table::Documents);
        while let Some(page) = pages.next().await.map_err(of_target)? {
            let ids: Vec<DocumentId> = page.into_iter().map(|document| document.id).collect();
            if self.source.documents(&ids).await.map_err(of_source)?.iter().any(Option::is_none) {
                return Err(CopyError::Other { table: "documents" });
            }
        }
        Ok(())
    }

    async fn settings(&mut self) -> Result<(), CopyError> {
        let settings = self.source.settings().await.map_err(of_source)?;
        let embedding = self.source.embedding().await.map_err(of_source)?;
        let queue = self.source.queue().await.map_err(of_source)?;
        let set_queue = (queue != QueueState::Running).then_some(queue);
        self.commit(Batch { embedding, set_settings: Some(settings), set_queue, ..Batch::default() }).await
    }

    /// Copies the evidence. Extractions are copied with the chunk or the renewal that they belong to.
    async fn evidence(&mut self) -> Result<(), CopyError> {
        let source = self.source;
        self.table(
            "documents",
            table::Documents,
            |document| document.text_bytes,
            async |rows| {
                let ids: Vec<DocumentId> = rows.iter().map(|row| row.id.clone()).collect();
                let texts = source.texts(&ids).await?;
                let put_documents = rows
                    .into_iter()
                    .zip(texts)
                    .filter_map(|(document, text)| Some(NewDocument { document, text: text? }))
                    .collect();
                let tracks = source.tracks_of(&ids).await?;
                let put_tracks = ids
                    .iter()
                    .zip(tracks)
                    .flat_map(|(id, tracks)| tracks.into_iter().map(move |track| (track, id.clone())))
                    .collect();
                Ok(Batch { put_documents, put_tracks, ..Batch::default() })
            },
        )
        .await?;
        self.originals().await?;
        self.rows("chunks", table::Chunks, async |put_chunks| {
            let keys: Vec<ExtractionKey> =
                put_chunks.iter().filter_map(|chunk| chunk.extraction.key().cloned()).collect();
            let put_extractions = source.extractions(&keys).await?.into_iter().flatten().collect();
            Ok(Batch { put_chunks, put_extractions, ..Batch::default() })
        })
        .await?;
        self.rows("renewals", table::Renewals, async |put_renewals| {
            let keys: Vec<ExtractionKey> =
                put_renewals.iter().filter_map(|renewal| renewal.extraction.key().cloned()).collect();
            let put_extractions = source.extractions(&keys).await?.into_iter().flatten().collect();
            Ok(Batch { put_renewals, put_extractions, ..Batch::default() })
        })
        .await?;
        self.rows("chunk contexts", table::ChunkContexts, async |put_chunk_contexts| {
            Ok(Batch { put_chunk_contexts, ..Batch::default() })
        })
        .await?;
        self.rows("decisions", table::Decisions, async |put_decisions| {
            Ok(Batch { put_decisions, ..Batch::default() })
        })
        .await?;
        self.rows("mentions", table::Mentions, async |put_mentions| {
            Ok(Batch { put_mentions, ..Batch::default() })
        })
        .await?;
        self.rows("facts", table::Facts, async |put_facts| Ok(Batch { put_facts, ..Batch::default() }))
            .await?;
        self.rows("claims", table::Claims, async |put_claims| Ok(Batch { put_claims, ..Batch::default() }))
            .await
    }

    /// Copies the files one at a time, because they can be large.
    async fn originals(&mut self) -> Result<(), CopyError> {
        let there = self.target.snapshot().await.map_err(of_target)?;
        let mut pages = self.source.pages(table::Documents);
        let mut done = 0;
        while let Some(page) = pages.next().await.map_err(of_source)? {
            let ids: Vec<DocumentId> = page.into_iter().map(|document| document.id).collect();
            let stamps = self.source.original_stamps(&ids).await.map_err(of_source)?;
            let known = there.original_stamps(&ids).await.map_err(of_target)?;
            for ((document, stamp), known) in ids.into_iter().zip(stamps).zip(known) {
                done += u64::from(stamp.is_some());
                if stamp == known {
                    self.report.present += u64::from(stamp.is_some());
                    continue;
                }
                let read = self.source.originals(std::slice::from_ref(&document)).await;
                let bytes = read.map_err(of_source)?.pop().flatten().map(Arc::new);
                self.report.copied += u64::from(bytes.is_some());
                let set_originals = vec![SetOriginal { document, bytes }];
                self.commit(Batch { set_originals, ..Batch::default() }).await?;
            }
            (self.progress)("originals", done);
        }
        Ok(())
    }

    async fn views(&mut self) -> Result<(), CopyError> {
        self.rows("entities", table::Entities, async |put_entities| {
            Ok(Batch { put_entities, ..Batch::default() })
        })
        .await?;
        self.rows("relations", table::Relations, async |put_relations| {
            Ok(Batch { put_relations, ..Batch::default() })
        })
        .await?;
        let source = self.source;
        self.rows("summaries", table::Summaries, async |rows| {
            let mut owners: Vec<GraphKey> = rows.into_iter().map(|(owner, _)| owner).collect();
            owners.dedup();
            let summaries = source.summaries(&owners).await?;
            Ok(Batch { set_summaries: owners.into_iter().zip(summaries).collect(), ..Batch::default() })
        })
        .await?;
        self.rows("stale entries", table::Stale, async |keys| {
            let set_stale = keys.into_iter().map(|key| (key, true)).collect();
            Ok(Batch { set_stale, ..Batch::default() })
        })
        .await
    }

    /// Copies nodes after their members, which must exist first.
    async fn layers(&mut self) -> Result<(), CopyError> {
        let layers = self.source.layers().await.map_err(of_source)?;
        let there = self.target.snapshot().await.map_err(of_target)?;
        let known = there.layers().await.map_err(of_target)?;
        if known.iter().any(|known| layers.iter().all(|layer| layer.name != known.name)) {
            return Err(CopyError::Other { table: "layers" });
        }
        for layer in &layers {
            if known.iter().all(|known| known.name != layer.name) {
                self.commit(Batch { put_layers: vec![unfinished(layer)], ..Batch::default() }).await?;
            }
            for level in self.levels_from_below(&layer.name).await.map_err(of_source)? {
                let nodes = table::Nodes { layer: layer.name.clone(), level: Some(level) };
                self.rows("nodes", nodes, async |put_nodes: Vec<LayerNode>| {
                    Ok(Batch { put_nodes, ..Batch::default() })
                })
                .await?;
            }
        }
        Ok(())
    }

    /// Returns the levels of a layer, members first: some layers number their levels from the leaves, others from the root.
    async fn levels_from_below(&self, layer: &LayerName) -> Result<Vec<u32>, StoreError> {
        let mut levels: Vec<u32> = self.source.node_counts(layer).await?.into_keys().collect();
        let mut pages = self.source.pages(table::Nodes { layer: layer.clone(), level: None });
        while let Some(page) = pages.next().await? {
            for node in page {
                let of_node = |member: &Member| match member {
                    Member::Node(key) => Some(key.clone()),
                    _ => None,
                };
                let Some(member) = node.members.iter().find_map(of_node) else { continue };
                let below = self.source.nodes(&[member]).await?.into_iter().flatten().next();
                if below.is_some_and(|below| below.level > node.level) {
                    levels.reverse();
                }
                return Ok(levels);
            }
        }
        Ok(levels)
    }

    async fn vectors(&mut self) -> Result<(), CopyError> {
        let source = self.source;
        for (kind, name) in [
            (ItemKind::Chunk, "vectors of chunks"),
            (ItemKind::Entity, "vectors of entities"),
            (ItemKind::Relation, "vectors of relations"),
            (ItemKind::Node, "vectors of nodes"),
        ] {
            self.rows(name, table::Vectors { kind }, async |entries| {
                let items: Vec<_> = entries.iter().map(|entry| entry.item.clone()).collect();
                let vectors = source.vectors(&items).await?;
                let put_vectors = entries
                    .into_iter()
                    .zip(vectors)
                    .filter_map(|(entry, vector)| Some(VectorRow { entry, vector: vector? }))
                    .collect();
                Ok(Batch { put_vectors, ..Batch::default() })
            })
            .await?;
        }
        Ok(())
    }

    /// Copies the jobs last, so that a worker that opens the copy too early finds nothing to work on.
    async fn jobs(&mut self) -> Result<(), CopyError> {
        self.table("jobs", table::Jobs, without_lease, async |put_jobs| {
            Ok(Batch { put_jobs, ..Batch::default() })
        })
        .await
    }

    /// Appends the calls that the target does not have yet.
    async fn ledger(&mut self) -> Result<(), CopyError> {
        let there = self.target.snapshot().await.map_err(of_target)?;
        let known = there.counts().await.map_err(of_target)?.calls;
        let last = there.scan(table::Calls, known.checked_sub(1).as_ref(), 1).await.map_err(of_target)?;
        let same =
            self.source.scan(table::Calls, known.checked_sub(1).as_ref(), 1).await.map_err(of_source)?;
        if known > 0 && last != same {
            return Err(CopyError::Other { table: "calls" });
        }
        let mut pages = self.source.pages(table::Calls).after(Some(known));
        while let Some(append_calls) = pages.next().await.map_err(of_source)? {
            self.report.copied += append_calls.len() as u64;
            self.commit(Batch { append_calls, ..Batch::default() }).await?;
        }
        self.report.present += known;
        Ok(())
    }

    async fn conversations(&mut self) -> Result<(), CopyError> {
        self.rows("conversations", table::Conversations, async |put_conversations| {
            Ok(Batch { put_conversations, ..Batch::default() })
        })
        .await?;
        // The documents that the answers rest on have been copied before.
        let known = |exchange| NewExchange { exchange, read_at: Revision(u64::MAX) };
        self.rows("exchanges", table::Exchanges { conversation: None }, async |rows| {
            let put_exchanges = rows.into_iter().map(known).collect();
            Ok(Batch { put_exchanges, ..Batch::default() })
        })
        .await
    }

    /// Marks the layers as current that are current in the source, then compares both workspaces.
    async fn finish(mut self) -> Result<CopyReport, CopyError> {
        let graph_revision = self.source.graph_revision();
        let there = self.target.snapshot().await.map_err(of_target)?;
        let now = there.revision();
        drop(there);
        let layers = self.source.layers().await.map_err(of_source)?;
        let put_layers = layers
            .iter()
            .map(|layer| match layer.is_current(graph_revision) {
                true => Layer { watermark: now, lease: None, ..layer.clone() },
                false => unfinished(layer),
            })
            .collect();
        self.commit(Batch { put_layers, ..Batch::default() }).await?;
        let there = self.target.snapshot().await.map_err(of_target)?;
        let target = write_dump(there.as_ref(), &mut std::io::sink()).await?;
        let origin = write_dump(self.source, &mut std::io::sink()).await?;
        if target != origin {
            return Err(CopyError::Unequal { origin: origin.hash, target: target.hash });
        }
        let counts = there.counts().await.map_err(of_target)?;
        (self.report.hash, self.report.documents) = (target.hash, counts.documents);
        Ok(self.report)
    }

    /// Writes the rows of a table that the target lacks.
    async fn rows<T: Table>(
        &mut self,
        name: &'static str,
        table: T,
        batch_of: impl AsyncFn(Vec<T::Row>) -> Result<Batch, StoreError>,
    ) -> Result<(), CopyError>
    where
        T::Row: PartialEq,
    {
        self.table(name, table, |_| 0, batch_of).await
    }

    /// Same as [`Self::rows`], for rows that are changed on the way or that have texts.
    ///
    /// - `adapt`: changes a source row to what the target is to store; returns the bytes of text that `batch_of` reads for it.
    /// - `batch_of`: builds the batch that writes these rows.
    async fn table<T: Table>(
        &mut self,
        name: &'static str,
        table: T,
        adapt: impl Fn(&mut T::Row) -> u64,
        batch_of: impl AsyncFn(Vec<T::Row>) -> Result<Batch, StoreError>,
    ) -> Result<(), CopyError>
    where
        T::Row: PartialEq,
    {
        let there = self.target.snapshot().await.map_err(of_target)?;
        let mut present =
            Rows { table: table.clone(), pages: there.pages(table.clone()), rows: VecDeque::new() };
        let mut pages = self.source.pages_of(table, ROWS);
        let mut done = 0;
        while let Some(page) = pages.next().await.map_err(of_source)? {
            done += page.len() as u64;
            let (mut missing, mut bytes) = (Vec::new(), 0);
            for mut row in page {
                let more = adapt(&mut row);
                if present.next_if(&row).await.map_err(of_target)? {
                    self.report.present += 1;
                    continue;
                }
                if bytes > 0 && bytes + more > TEXT_BYTES {
                    self.put(std::mem::take(&mut missing), &batch_of).await?;
                    bytes = 0;
                }
                bytes += more;
                missing.push(row);
            }
            self.put(missing, &batch_of).await?;
            (self.progress)(name, done);
        }
        match present.is_at_end().await.map_err(of_target)? {
            true => Ok(()),
            false => Err(CopyError::Other { table: name }),
        }
    }

    async fn put<Row>(
        &mut self,
        rows: Vec<Row>,
        batch_of: impl AsyncFn(Vec<Row>) -> Result<Batch, StoreError>,
    ) -> Result<(), CopyError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.report.copied += rows.len() as u64;
        let batch = batch_of(rows).await.map_err(of_source)?;
        self.commit(batch).await
    }

    async fn commit(&self, batch: Batch) -> Result<(), CopyError> {
        self.target.commit(batch).await.map(drop).map_err(of_target)
    }
}

/// Reads the rows of a target table in step with those of the source, which are in the same order.
struct Rows<'a, T: Table> {
    table: T,
    pages: Pages<'a, T>,
    rows: VecDeque<T::Row>,
}

impl<T: Table> Rows<'_, T>
where
    T::Row: PartialEq,
{
    /// Skips the next row if it has the same key as `row`. True if both rows are equal.
    async fn next_if(&mut self, row: &T::Row) -> Result<bool, StoreError> {
        if self.is_at_end().await? {
            return Ok(false);
        }
        let key = |row: &T::Row| self.table.last(None, std::slice::from_ref(row));
        let found = self.rows.front().filter(|there| key(there) == key(row));
        let (is_there, is_same) = (found.is_some(), found == Some(row));
        if is_there {
            self.rows.pop_front();
        }
        Ok(is_same)
    }

    async fn is_at_end(&mut self) -> Result<bool, StoreError> {
        if self.rows.is_empty() {
            self.rows.extend(self.pages.next().await?.unwrap_or_default());
        }
        Ok(self.rows.is_empty())
    }
}

fn without_lease(job: &mut Job) -> u64 {
    job.lease = None;
    0
}

/// Returns the layer marked as incomplete.
fn unfinished(layer: &Layer) -> Layer {
    Layer { watermark: Revision(0), complete: false, lease: None, ..layer.clone() }
}

fn of_source(error: StoreError) -> CopyError {
    CopyError::Store { at: "source", error }
}

fn of_target(error: StoreError) -> CopyError {
    CopyError::Store { at: "target", error }
}
