//! Situating the chunks of documents that are in the graph otherwise than they are: after the option, the model or the
//! prompt changed, and what failed. Only chunks whose situating text changes are embedded again, and the graph stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use futures::{StreamExt, TryStreamExt, stream};
use graphloom_core::{
    Batch, Chunk, ChunkId, Document, DocumentId, Job, JobState, Progress, ProgressSink, Require, Snapshot,
    StoreError, Visibility,
};

use super::work::{Run, chunk_texts, release_leases};
use super::{IndexError, RunReport};
use crate::Engine;
use crate::commit::{Retries, commit_in_turn};
use crate::graph::embed;
use crate::situate::{Situator, Wanted, plan};

/// Documents looked at with one snapshot.
const PAGE: usize = 64;

/// Which chunks are not situated as the engine would situate them.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SituatingPlan {
    /// Documents that have such chunks, ascending.
    pub changed: Vec<DocumentId>,
    /// Those chunks.
    pub chunks: u32,
    /// Documents that are as they should be, ascending.
    pub unchanged: Vec<DocumentId>,
    /// Documents that another process has in its hands; they are left to it. Ascending.
    pub busy: Vec<DocumentId>,
    /// Documents that are not in the graph: new, stopped or cancelled ones, and new versions. New ones are situated when
    /// they are indexed. Ascending.
    pub not_ready: Vec<DocumentId>,
}

/// What [`situate`] would do to these documents. Nothing is stored but that leases of workers that are `gone` end.
pub async fn plan_situating(
    engine: &Engine,
    documents: &[DocumentId],
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<SituatingPlan, IndexError> {
    // A run that was dropped may have left a commit under way; what it leased shows only after that.
    engine.store.commit(Batch::default()).await?;
    release_leases(engine, |lease| lease.owner == engine.index.worker || gone(&lease.owner)).await?;
    let documents: Vec<DocumentId> = documents.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let mut plan = SituatingPlan::default();
    for page in documents.chunks(PAGE) {
        let snapshot = engine.store.snapshot().await?;
        for id in page {
            let Some(target) = Target::read(snapshot.as_ref(), id).await? else {
                plan.not_ready.push(id.clone());
                continue;
            };
            if target.job.lease.is_some() {
                plan.busy.push(id.clone());
                continue;
            }
            let chunks = target.changed(engine, snapshot.as_ref()).await?.len() as u32;
            plan.chunks += chunks;
            let list = if chunks > 0 { &mut plan.changed } else { &mut plan.unchanged };
            list.push(id.clone());
        }
    }
    Ok(plan)
}

/// Situates the chunks of these documents as the engine's situator does, where they are not yet, and embeds again those whose
/// situating text changes. Documents that are not in the graph, or that another process has, are left as they are.
///
/// - What a model says is stored as it arrives, with the chunk's vector, so a run that ended early costs nothing twice when
///   it is repeated.
/// - A chunk whose situating fails keeps what it had. It is asked about again when this is repeated.
pub async fn situate(
    engine: &Engine,
    documents: &[DocumentId],
    progress: ProgressSink<'_>,
) -> Result<RunReport, IndexError> {
    let run = Run::new(engine, progress);
    let at_once = engine.index.max_concurrent_documents.max(1);
    // Owned ids: with borrowed ones the compiler does not see that the future is `Send`.
    let outcome = stream::iter(documents.to_vec())
        .map(|id| run.situate_anew(id))
        .buffer_unordered(at_once)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await;
    release_leases(engine, |lease| lease.owner == engine.index.worker).await?;
    outcome?;
    Ok(run.report.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

/// Documents in the graph of which chunks could not be situated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsituated {
    /// Those that the engine's situator failed at, and may try again with [`situate`].
    pub again: Vec<DocumentId>,
    /// Chunks that another one failed at, by its name. To try again with the engine's would situate all of the document
    /// otherwise.
    pub by_others: BTreeMap<String, u32>,
}

/// Which of these documents in the graph have chunks that could not be situated.
pub async fn unsituated(engine: &Engine, documents: &[DocumentId]) -> Result<Unsituated, StoreError> {
    let snapshot = engine.store.snapshot().await?;
    let mut found = Unsituated::default();
    for (id, failed) in documents.iter().zip(snapshot.failed_situations_of(documents).await?) {
        if failed.is_empty() || Target::read(snapshot.as_ref(), id).await?.is_none() {
            continue;
        }
        let chunks = snapshot.chunk_ids_of(std::slice::from_ref(id)).await?.concat();
        let situations = snapshot.situations(&chunks).await?.into_iter().flatten();
        let failed: Vec<String> = (situations.filter(|situation| situation.failure().is_some()))
            .map(|situation| situation.by)
            .collect();
        let ours = engine.models.situator.name();
        if failed.iter().all(|by| Some(by.as_str()) == ours) {
            found.again.push(id.clone());
            continue;
        }
        for by in failed {
            *found.by_others.entry(by).or_default() += 1;
        }
    }
    Ok(found)
}

/// A document in the graph.
pub(super) struct Target {
    job: Job,
    pub(super) document: Document,
    pub(super) chunks: Vec<Chunk>,
}

impl Target {
    /// `None` where the document is unknown or not in the graph.
    pub(super) async fn read(snapshot: &dyn Snapshot, id: &DocumentId) -> Result<Option<Self>, StoreError> {
        let ids = std::slice::from_ref(id);
        let job = snapshot.jobs(ids).await?.into_iter().next().flatten();
        let document = snapshot.documents(ids).await?.into_iter().next().flatten();
        let (Some(job), Some(document)) = (job, document) else { return Ok(None) };
        if job.state != JobState::Merged || document.visibility != Visibility::Live {
            return Ok(None);
        }
        let chunks = snapshot.chunks_of(ids).await?.into_iter().flatten().collect();
        Ok(Some(Self { job, document, chunks }))
    }

    /// The chunks that are not situated as `engine` would situate them.
    pub(super) async fn changed(
        &self,
        engine: &Engine,
        snapshot: &dyn Snapshot,
    ) -> Result<Vec<Chunk>, StoreError> {
        let Self { document, chunks, .. } = self;
        let wanted = wanted_of(engine, snapshot, document, chunks).await?;
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let stored = snapshot.situations(&ids).await?;
        let changed = wanted.iter().zip(stored).zip(chunks).filter_map(|((wanted, stored), chunk)| {
            let key = match wanted {
                Wanted::Nothing => return stored.map(|_| chunk.clone()),
                Wanted::Words { key, .. } => key,
                Wanted::Asked(question) => &question.key,
            };
            let is_as_wanted = stored.is_some_and(|stored| stored.key == *key && stored.failure().is_none());
            (!is_as_wanted).then(|| chunk.clone())
        });
        Ok(changed.collect())
    }
}

/// How each chunk of a document is to be situated, in order.
pub(super) async fn wanted_of(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    document: &Document,
    chunks: &[Chunk],
) -> Result<Vec<Wanted>, StoreError> {
    let situator = &engine.models.situator;
    let text = match situator {
        Situator::Off | Situator::Headings => None,
        Situator::Model(_) => snapshot.texts(std::slice::from_ref(&document.id)).await?.pop().flatten(),
    };
    let text = text.as_deref().unwrap_or_default();
    Ok(plan(situator, &engine.prompts, engine.tokenizer, document, text, chunks))
}

impl Run<'_> {
    async fn situate_anew(&self, id: DocumentId) -> Result<(), IndexError> {
        let Some(Target { mut job, document, chunks }) = self.claim_merged(&id).await? else { return Ok(()) };
        let situated = async {
            if let Some(stop) = self.halt(&job).await? {
                return Err(stop);
            }
            let situated = self.situate(&mut job, &document, &chunks, true).await?;
            let mut batch = situated.batch;
            let changed: BTreeSet<&ChunkId> = situated.changed.iter().collect();
            let changed = chunks.iter().filter(|chunk| changed.contains(&chunk.id));
            embed(self.engine, chunk_texts(changed, &situated.texts), Some(&id), &mut batch).await?;
            batch.require.push(Require::JobIs(job.clone()));
            batch.put_jobs.push(Job { lease: None, ..job.clone() });
            batch.outdates_layers = !batch.put_vectors.is_empty();
            commit_in_turn(self.engine.store.as_ref(), batch).await?;
            Ok(())
        };
        match situated.await {
            Ok(()) => {
                let unsituated = self.unsituated(&id).await?;
                let (document, source, chunks) = (document.id, document.source, chunks.len() as u32);
                self.tell(Progress::Finished { document, source, chunks, failed: 0, damaged: 0, unsituated });
                Ok(())
            }
            Err(stop) => self.stop(&job, &document, stop).await.map(drop),
        }
    }

    /// Claims a document in the graph; `None` where there is none, or another process has it.
    async fn claim_merged(&self, id: &DocumentId) -> Result<Option<Target>, IndexError> {
        if self.is_stopping() {
            return Ok(None);
        }
        let mut retries = Retries::new("other processes worked on the same documents");
        loop {
            let snapshot = self.engine.store.snapshot().await?;
            let target = Target::read(snapshot.as_ref(), id).await?;
            drop(snapshot);
            let Some(target) = target.filter(|target| target.job.lease.is_none()) else { return Ok(None) };
            let require = vec![Require::JobIs(target.job.clone())];
            let lease = Some(self.lease(self.engine.clock.now()));
            let job = Job { lease, attempts: target.job.attempts + 1, ..target.job.clone() };
            let batch = Batch { require, put_jobs: vec![job.clone()], ..Batch::default() };
            if retries.is_done(self.engine.store.commit(batch).await)? {
                return Ok(Some(Target { job, ..target }));
            }
        }
    }
}
