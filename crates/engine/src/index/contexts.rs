//! Writes the contexts of chunks in the graph again after a change of option, model or prompt, or after a failure. Only chunks
//! whose context changes are embedded again; the graph stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use graphloom_core::{
    Chunk, ChunkId, Document, DocumentId, Job, Progress, ProgressSink, Require, Snapshot, StoreError,
};

use super::redo::{IndexedDocument, released};
use super::work::{Run, chunk_texts, release_leases};
use super::{IndexError, RunReport};
use crate::Engine;
use crate::chunk_context::{ContextTask, ContextWriter, plan};
use crate::commit::{Retries, commit_in_turn};
use crate::graph::embed;

/// Documents read per snapshot.
const PAGE: usize = 64;

/// Which chunks are not contextualized as the engine would do it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ContextPlan {
    /// Documents that have such chunks, ascending.
    pub changed: Vec<DocumentId>,
    /// The number of these chunks.
    pub chunks: u32,
    /// Documents whose contexts are up to date, ascending.
    pub unchanged: Vec<DocumentId>,
    /// Documents leased by another process; they are left to it. Ascending.
    pub busy: Vec<DocumentId>,
    /// Documents that are not in the graph: new, stopped or cancelled ones, and new versions. New ones are contextualized when
    /// they are indexed. Ascending.
    pub not_ready: Vec<DocumentId>,
}

/// Returns what [`contextualize`] would do to these documents. Changes nothing except that leases of workers that are `gone` end.
pub fn plan_contexts<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    gone: &'a (dyn Fn(&str) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<ContextPlan, IndexError>> {
    Box::pin(async move {
        let documents = released(engine, documents, gone).await?;
        let mut plan = ContextPlan::default();
        for page in documents.chunks(PAGE) {
            let snapshot = engine.store.snapshot().await?;
            for id in page {
                let Some(target) = IndexedDocument::read(snapshot.as_ref(), id).await? else {
                    plan.not_ready.push(id.clone());
                    continue;
                };
                if target.job.lease.is_some() {
                    plan.busy.push(id.clone());
                    continue;
                }
                let chunks = target.to_contextualize(engine, snapshot.as_ref()).await?.len() as u32;
                plan.chunks += chunks;
                let list = if chunks > 0 { &mut plan.changed } else { &mut plan.unchanged };
                list.push(id.clone());
            }
        }
        Ok(plan)
    })
}

/// Writes the contexts of these documents with the engine's context writer if they differ, and embeds the changed chunks again.
/// Documents that are not in the graph or are leased by another process stay as they are.
///
/// - Contexts written by an LLM are stored as they arrive, with the vector of the chunk, so repeating an interrupted run pays for
///   nothing twice.
/// - A chunk whose context fails keeps its old one. Calling this again asks about it again.
pub fn contextualize<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    progress: ProgressSink<'a>,
) -> BoxFuture<'a, Result<RunReport, IndexError>> {
    Box::pin(async move {
        let run = Run::new(engine, progress);
        let at_once = engine.index.max_concurrent_documents.max(1);
        // Owned ids, because with borrowed ones the compiler cannot prove that the future is `Send`.
        let work = stream::iter(documents.to_vec())
            .map(|id| run.contextualize_again(id))
            .buffer_unordered(at_once)
            .for_each(|outcome| {
                outcome.unwrap_or_else(|error| run.end_with(error));
                std::future::ready(())
            });
        run.stop.during(work).await;
        release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
        if let Some(error) = run.take_fatal() {
            return Err(error);
        }
        Ok(run.report.lock().unwrap_or_else(PoisonError::into_inner).clone())
    })
}

/// Documents in the graph with chunks that could not be contextualized.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingContexts {
    /// Documents on which the engine's context writer failed; [`contextualize`] tries again.
    pub again: Vec<DocumentId>,
    /// Number of chunks on which another context writer failed, by its name. Trying again with the engine's writer would
    /// contextualize the whole document differently.
    pub by_others: BTreeMap<String, u32>,
}

/// Returns which of these documents in the graph have chunks that could not be contextualized.
pub fn without_context<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
) -> BoxFuture<'a, Result<MissingContexts, StoreError>> {
    Box::pin(async move {
        let snapshot = engine.store.snapshot().await?;
        let mut found = MissingContexts::default();
        for (id, failed) in documents.iter().zip(snapshot.failed_contexts_of(documents).await?) {
            if failed.is_empty() || IndexedDocument::read(snapshot.as_ref(), id).await?.is_none() {
                continue;
            }
            let chunks = snapshot.chunk_ids_of(std::slice::from_ref(id)).await?.concat();
            let chunk_contexts = snapshot.chunk_contexts(&chunks).await?.into_iter().flatten();
            let failed: Vec<String> = (chunk_contexts
                .filter(|chunk_context| chunk_context.failure().is_some()))
            .map(|chunk_context| chunk_context.by)
            .collect();
            let ours = engine.models.context_writer.name();
            if failed.iter().all(|by| Some(by.as_str()) == ours) {
                found.again.push(id.clone());
                continue;
            }
            for by in failed {
                *found.by_others.entry(by).or_default() += 1;
            }
        }
        Ok(found)
    })
}

impl IndexedDocument {
    /// Returns the chunks that are not contextualized as `engine` would do it.
    pub(super) async fn to_contextualize(
        &self,
        engine: &Engine,
        snapshot: &dyn Snapshot,
    ) -> Result<Vec<Chunk>, StoreError> {
        let Self { document, chunks, .. } = self;
        let wanted = wanted_of(engine, snapshot, document, chunks).await?;
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let stored = snapshot.chunk_contexts(&ids).await?;
        let changed = wanted.iter().zip(stored).zip(chunks).filter_map(|((wanted, stored), chunk)| {
            let key = match wanted {
                ContextTask::Nothing => return stored.map(|_| chunk.clone()),
                ContextTask::Words { key, .. } => key,
                ContextTask::Question(question) => &question.key,
            };
            let is_as_wanted = stored.is_some_and(|stored| stored.key == *key && stored.failure().is_none());
            (!is_as_wanted).then(|| chunk.clone())
        });
        Ok(changed.collect())
    }
}

/// Returns how each chunk of a document is to be contextualized, in order.
pub(super) async fn wanted_of(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    document: &Document,
    chunks: &[Chunk],
) -> Result<Vec<ContextTask>, StoreError> {
    let context_writer = &engine.models.context_writer;
    let text = match context_writer {
        ContextWriter::Off | ContextWriter::Headings => None,
        ContextWriter::Model(_) => snapshot.texts(std::slice::from_ref(&document.id)).await?.pop().flatten(),
    };
    let text = text.as_deref().unwrap_or_default();
    Ok(plan(context_writer, &engine.prompts, engine.tokenizer, document, text, chunks))
}

impl Run<'_> {
    async fn contextualize_again(&self, id: DocumentId) -> Result<(), IndexError> {
        let Some(IndexedDocument { mut job, document, chunks }) = self.claim_indexed(&id).await? else {
            return Ok(());
        };
        let contextualized = async {
            if let Some(stop) = self.halt(&job).await? {
                return Err(stop);
            }
            let contextualized = self.contextualize(&mut job, &document, &chunks, true).await?;
            let mut batch = contextualized.batch;
            let changed: BTreeSet<&ChunkId> = contextualized.changed.iter().collect();
            let changed = chunks.iter().filter(|chunk| changed.contains(&chunk.id));
            embed(self.engine, chunk_texts(changed, &contextualized.texts), Some(&id), &mut batch).await?;
            batch.require.push(Require::JobIs(job.clone()));
            batch.put_jobs.push(Job { lease: None, ..job.clone() });
            batch.outdates_layers = !batch.put_vectors.is_empty();
            commit_in_turn(self.engine.store.as_ref(), batch).await?;
            Ok(())
        };
        match contextualized.await {
            Ok(()) => {
                let without_context = self.without_context(&id).await?;
                let (document, source, chunks) = (document.id, document.source, chunks.len() as u32);
                self.tell(Progress::Finished {
                    document,
                    source,
                    chunks,
                    failed: 0,
                    damaged: 0,
                    without_context,
                });
                Ok(())
            }
            Err(stop) => self.stop(&job, &document, stop).await.map(drop),
        }
    }

    /// Claims a document in the graph; `None` if it is not in the graph or another process holds it.
    async fn claim_indexed(&self, id: &DocumentId) -> Result<Option<IndexedDocument>, IndexError> {
        if self.is_stopping() {
            return Ok(None);
        }
        let mut retries = Retries::on_documents();
        loop {
            let snapshot = self.engine.store.snapshot().await?;
            let target = IndexedDocument::read(snapshot.as_ref(), id).await?;
            drop(snapshot);
            let Some(target) = target.filter(|target| target.job.lease.is_none()) else { return Ok(None) };
            if let Some(job) = self.claim_again(&mut retries, &target.job).await? {
                return Ok(Some(IndexedDocument { job, ..target }));
            }
        }
    }
}
