//! Re-extracts documents: extractions by another model replace the old ones, one document at a time.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use futures::stream;
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, DocumentId, ExtractionKey, ProgressSink, Renewal, Require,
    Snapshot, StoreError, TrackId, table,
};

use super::redo::{IndexedDocument, released};
use super::work::{ExtractedDocument, Run};
use super::{IndexError, RunReport};
use crate::Engine;
use crate::commit::Retries;
use crate::extract::{extraction_key, is_boilerplate, rules_key};
use graphloom_offline::RULES;

/// Documents whose renewal is recorded per commit.
const PAGE: usize = 64;

/// What is to be extracted again.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RenewalPlan {
    /// Documents to re-extract, ascending.
    pub renewed: Vec<DocumentId>,
    /// Their chunks to re-extract.
    pub chunks: u32,
    /// Documents whose extractions are already by this model, ascending.
    pub unchanged: Vec<DocumentId>,
    /// Documents that another process is re-extracting; they are left to it. Ascending.
    pub busy: Vec<DocumentId>,
    /// Documents that are not in the graph: new, stopped or cancelled ones, and new versions. Ascending.
    pub not_ready: Vec<DocumentId>,
}

/// Records that the engine's extraction model is to re-extract the chunks of these documents whose extraction is not by it. The
/// run `track` is recorded as having queued them. [`renew`] does the work; until then, answers use the documents as they are.
///
/// - `gone`: true if the worker of that name has ended, which releases its documents.
/// - An unfinished renewal by another model is replaced.
pub fn plan_renewal<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    track: Option<&'a TrackId>,
    gone: &'a (dyn Fn(&str) -> bool + Send + Sync),
) -> BoxFuture<'a, Result<RenewalPlan, IndexError>> {
    Box::pin(async move {
        let documents = released(engine, documents, gone).await?;
        note_renewal(engine, &documents, track).await
    })
}

/// Same as [`plan_renewal`], for use while this worker may hold leases: its documents count as
/// [busy](RenewalPlan::busy) too.
pub fn note_renewal<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    track: Option<&'a TrackId>,
) -> BoxFuture<'a, Result<RenewalPlan, IndexError>> {
    Box::pin(async move {
        let mut plan = RenewalPlan::default();
        for page in documents.chunks(PAGE) {
            let of_page = plan_page(engine, page, track).await?;
            plan.renewed.extend(of_page.renewed);
            plan.chunks += of_page.chunks;
            plan.unchanged.extend(of_page.unchanged);
            plan.busy.extend(of_page.busy);
            plan.not_ready.extend(of_page.not_ready);
        }
        Ok(plan)
    })
}

/// Returns the documents, ascending, whose renewal is pending and was recorded last by a run named `what` ([`TrackId::of_run`]).
/// Documents leased by a worker are left out, unless it is this one or is `gone`.
///
/// A long-running process uses this to continue what an interrupted run recorded.
pub async fn waiting_renewals(
    engine: &Engine,
    what: &str,
    gone: &(dyn Fn(&str) -> bool + Send + Sync),
) -> Result<Vec<DocumentId>, StoreError> {
    let snapshot = engine.store.snapshot().await?;
    let mut noted: BTreeSet<DocumentId> = BTreeSet::new();
    let mut pages = snapshot.pages(table::Renewals);
    while let Some(page) = pages.next().await? {
        let waits = page.into_iter().filter(|renewal| renewal.extraction == ChunkExtraction::Pending);
        let chunks: Vec<ChunkId> = waits.map(|renewal| renewal.chunk).collect();
        noted.extend(snapshot.chunks(&chunks).await?.into_iter().flatten().map(|chunk| chunk.document));
    }
    let noted: Vec<DocumentId> = noted.into_iter().collect();
    let jobs = snapshot.jobs(&noted).await?;
    let tracks = snapshot.tracks_of(&noted).await?;
    let waiting = noted.into_iter().zip(jobs).zip(tracks).filter(|((_, job), tracks)| {
        let lease = job.as_ref().and_then(|job| job.lease.as_ref());
        let is_free = lease.is_none_or(|lease| lease.owner == engine.index.worker || gone(&lease.owner));
        let is_ready = job.as_ref().is_some_and(|job| !job.state.is_open());
        let last = tracks.iter().filter_map(TrackId::run).max_by_key(|(_, when)| *when);
        is_free && is_ready && last.is_some_and(|(last, _)| last == what)
    });
    Ok(waiting.map(|((id, _), _)| id).collect())
}

async fn plan_page(
    engine: &Engine,
    documents: &[DocumentId],
    track: Option<&TrackId>,
) -> Result<RenewalPlan, IndexError> {
    let mut retries = Retries::on_documents();
    loop {
        let snapshot = engine.store.snapshot().await?;
        let (mut plan, mut batch) = (RenewalPlan::default(), Batch::default());
        let renewals = snapshot.renewals_of(documents).await?;
        for (id, renewals) in documents.iter().zip(renewals) {
            let Some(Target { indexed: IndexedDocument { job, .. }, wanted }) =
                Target::read(engine, snapshot.as_ref(), id).await?
            else {
                plan.not_ready.push(id.clone());
                continue;
            };
            if job.lease.is_some() {
                plan.busy.push(id.clone());
                continue;
            }
            if wanted.is_empty() && renewals.is_empty() {
                plan.unchanged.push(id.clone());
                continue;
            }
            let wanted_ids: BTreeSet<&ChunkId> = wanted.iter().map(|(chunk, _)| &chunk.id).collect();
            let ended = renewals.iter().map(|renewal| &renewal.chunk).filter(|id| !wanted_ids.contains(id));
            batch.remove_renewals.extend(ended.cloned());
            batch.require.push(Require::JobIs(job));
            for (chunk, key) in &wanted {
                let known = renewals.iter().find(|renewal| renewal.chunk == chunk.id);
                if known.is_none_or(|known| known.extraction.key() != Some(key)) {
                    batch.put_renewals.push(Renewal {
                        chunk: chunk.id.clone(),
                        model: model_name(engine).to_owned(),
                        extraction: ChunkExtraction::Pending,
                    });
                }
            }
            if wanted.is_empty() {
                plan.unchanged.push(id.clone());
                continue;
            }
            batch.put_tracks.extend(track.map(|track| (track.clone(), id.clone())));
            plan.chunks += wanted.len() as u32;
            plan.renewed.push(id.clone());
        }
        drop(snapshot);
        if retries.is_done(engine.store.commit(batch).await)? {
            return Ok(plan);
        }
    }
}

/// Re-extracts documents as recorded by [`plan_renewal`]. The new extractions replace the old ones when the whole document is
/// answered, in one commit with its mentions, its facts and what they affect. A large document takes one commit per slice of its
/// chunks.
///
/// - A chunk whose new extraction fails keeps its old one. It is listed with its document until it is re-extracted or
///   [`super::cancel`] gives up its renewal.
/// - Answers are stored as they arrive, so repeating an interrupted run pays for nothing twice.
/// - A document leased by another process is left to it.
pub fn renew<'a>(
    engine: &'a Engine,
    documents: &'a [DocumentId],
    progress: ProgressSink<'a>,
) -> BoxFuture<'a, Result<RunReport, IndexError>> {
    Box::pin(async move {
        let run = Run::new(engine, progress);
        let documents = stream::iter(documents.iter().cloned().map(Ok));
        run.work_through(documents, |id| run.prepare_renewal(id)).await
    })
}

/// Returns the name of the extraction model, or of the rules.
fn model_name(engine: &Engine) -> &str {
    engine.models.extract.as_deref().map_or(RULES, |model| model.name())
}

/// A document in the graph, and its chunks to re-extract.
pub(super) struct Target {
    indexed: IndexedDocument,
    /// Chunks whose extraction is not the one that the engine would make, each with the key of that extraction.
    pub(super) wanted: Vec<(Chunk, ExtractionKey)>,
}

impl Target {
    /// Returns `None` if the document is unknown or not in the graph.
    pub(super) async fn read(
        engine: &Engine,
        snapshot: &dyn Snapshot,
        id: &DocumentId,
    ) -> Result<Option<Self>, StoreError> {
        let Some(indexed) = IndexedDocument::read(snapshot, id).await? else { return Ok(None) };
        let model = engine.models.extract.as_deref().map(|model| model.name());
        let of_text = indexed.chunks.iter().filter(|chunk| !is_boilerplate(chunk));
        let wanted = of_text.filter_map(|chunk| {
            let key = match model {
                None => rules_key(engine, chunk),
                model => extraction_key(chunk, &engine.index.extract, &engine.prompts, model),
            };
            (chunk.extraction.key() != Some(&key)).then(|| (chunk.clone(), key))
        });
        let wanted = wanted.collect();
        Ok(Some(Self { indexed, wanted }))
    }
}

impl Run<'_> {
    /// Extracts a document until its new extractions can be merged; `None` if it is lost or waits.
    async fn prepare_renewal(&self, id: DocumentId) -> Result<Option<ExtractedDocument>, IndexError> {
        let Some(Target { indexed, wanted }) = self.claim_renewal(&id).await? else { return Ok(None) };
        let IndexedDocument { mut job, document, mut chunks } = indexed;
        let wanted: BTreeSet<ChunkId> = wanted.into_iter().map(|(chunk, _)| chunk.id).collect();
        for chunk in chunks.iter_mut().filter(|chunk| wanted.contains(&chunk.id)) {
            chunk.extraction = ChunkExtraction::Pending;
        }
        let extracted = async {
            if let Some(stop) = self.halt(&job).await? {
                return Err(stop);
            }
            self.extract(&mut job, &document, &mut chunks).await
        };
        match extracted.await {
            Ok(()) => {
                let without_context = self.without_context(&document.id).await?;
                Ok(Some(ExtractedDocument {
                    renewed: Some(wanted),
                    ..ExtractedDocument::new(job, document, chunks, without_context)
                }))
            }
            Err(stop) => self.stop(&job, &document, stop).await,
        }
    }

    /// Claims a document with a pending renewal; `None` if there is nothing to do or another process holds it.
    async fn claim_renewal(&self, id: &DocumentId) -> Result<Option<Target>, IndexError> {
        if self.is_stopping() {
            return Ok(None);
        }
        let mut retries = Retries::on_documents();
        loop {
            let snapshot = self.engine.store.snapshot().await?;
            let noted = snapshot.renewals_of(std::slice::from_ref(id)).await?;
            let target = Target::read(self.engine, snapshot.as_ref(), id).await?;
            drop(snapshot);
            let Some(mut target) = target else { return Ok(None) };
            let noted: BTreeSet<ChunkId> = noted.into_iter().flatten().map(|renewal| renewal.chunk).collect();
            target.wanted.retain(|(chunk, _)| noted.contains(&chunk.id));
            if target.wanted.is_empty() || target.indexed.job.lease.is_some() {
                return Ok(None);
            }
            if let Some(job) = self.claim_again(&mut retries, &target.indexed.job).await? {
                target.indexed.job = job;
                return Ok(Some(target));
            }
        }
    }
}
