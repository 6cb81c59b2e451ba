//! Prepares a document for merging: embeds its chunks and extracts each of them.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, Chunk, ChunkContext, ChunkId, Document, DocumentId, ItemKey, Job, JobState, Stage, StoreError,
    Visibility, indexed_text,
};

use super::Run;
use super::contexts::IndexedTexts;
use super::stop::Stop;
use crate::chunk_context::ContextWriter;
use crate::graph::embed;
use crate::index::IndexError;

/// A document whose chunks have all been extracted by the LLM. Without an LLM, the rules extract them during the merge.
pub(in super::super) struct ExtractedDocument {
    pub(in super::super) job: Job,
    pub(in super::super) document: Document,
    /// Without their texts, which the merge reads when it needs them.
    pub(in super::super) chunks: Vec<Chunk>,
    /// Number of chunks already merged.
    pub(in super::super) entered: usize,
    /// The chunks being re-extracted, if the document is already in the graph.
    pub(in super::super) renewed: Option<BTreeSet<ChunkId>>,
    /// Chunks whose context failed.
    pub(in super::super) without_context: u32,
}

impl ExtractedDocument {
    pub(in super::super) fn new(
        job: Job,
        document: Document,
        mut chunks: Vec<Chunk>,
        without_context: u32,
    ) -> Self {
        for chunk in &mut chunks {
            (chunk.text, chunk.breadcrumb) = (String::new(), Vec::new());
        }
        Self { job, document, chunks, entered: 0, renewed: None, without_context }
    }

    /// True if the chunk's records enter the graph with this merge.
    pub(super) fn adds_records_of(&self, chunk: &Chunk) -> bool {
        self.renewed.as_ref().is_none_or(|renewed| renewed.contains(&chunk.id))
    }
}

impl Run<'_> {
    /// Prepares a document for merging; `None` if it is lost or waits for the next run.
    pub(super) async fn prepare(&self, mut job: Job) -> Result<Option<ExtractedDocument>, IndexError> {
        let snapshot = self.engine.store.snapshot().await?;
        let document =
            snapshot.documents(std::slice::from_ref(&job.document)).await?.into_iter().next().flatten();
        let chunks = snapshot.chunks_of(std::slice::from_ref(&job.document)).await?.into_iter().next();
        drop(snapshot);
        let (Some(document), Some(mut chunks)) = (document, chunks) else { return Ok(None) };
        let prepared = async {
            if let Some(stop) = self.halt(&job).await? {
                return Err(stop);
            }
            if job.state == JobState::Accepted || self.lacks_vectors(&document, &chunks).await? {
                let contextualized = self.contextualize(&mut job, &document, &chunks, false).await?;
                self.embed_chunks(&mut job, &document, &chunks, contextualized).await?;
            }
            self.extract(&mut job, &document, &mut chunks).await
        };
        match prepared.await {
            Ok(()) => {
                let without_context = self.without_context(&document.id).await?;
                Ok(Some(ExtractedDocument::new(job, document, chunks, without_context)))
            }
            Err(stop) => self.stop(&job, &document, stop).await,
        }
    }

    /// True if a staged version became a large one after it was prepared, because the limit was higher then. Its chunks have no
    /// vectors yet, which the merge of a large document expects.
    async fn lacks_vectors(&self, document: &Document, chunks: &[Chunk]) -> Result<bool, StoreError> {
        let most = self.engine.index.max_merge_chunks.max(1);
        if document.visibility != Visibility::Staged || chunks.len() <= most {
            return Ok(false);
        }
        for chunks in chunks.chunks(most) {
            let items: Vec<ItemKey> = chunks.iter().map(|chunk| ItemKey::Chunk(chunk.id.clone())).collect();
            if self.engine.store.snapshot().await?.vectors(&items).await?.iter().any(Option::is_none) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns how many chunks of a document could not be contextualized.
    pub(in super::super) async fn without_context(&self, document: &DocumentId) -> Result<u32, StoreError> {
        let snapshot = self.engine.store.snapshot().await?;
        let failed = snapshot.failed_contexts_of(std::slice::from_ref(document)).await?;
        Ok(failed.iter().map(Vec::len).sum::<usize>() as u32)
    }

    /// Returns the chunks of a document that an earlier run embedded as they would be embedded now. Empty with contexts by an LLM,
    /// because those may have been rewritten since.
    async fn embedded_before(
        &self,
        chunks: &[Chunk],
        changed: &[ChunkId],
    ) -> Result<BTreeSet<ChunkId>, StoreError> {
        let by_model = matches!(self.engine.models.context_writer, ContextWriter::Model(_));
        let snapshot = self.engine.store.snapshot().await?;
        let is_same_space = snapshot
            .embedding()
            .await?
            .is_some_and(|space| space.model == self.engine.models.embedder.name());
        if by_model || !is_same_space {
            return Ok(BTreeSet::new());
        }
        let mut found = BTreeSet::new();
        for chunks in chunks.chunks(self.engine.index.max_merge_chunks.max(1)) {
            let items: Vec<ItemKey> = chunks.iter().map(|chunk| ItemKey::Chunk(chunk.id.clone())).collect();
            let vectors = snapshot.vectors(&items).await?;
            let known = chunks.iter().zip(vectors).filter(|(_, vector)| vector.is_some());
            found.extend(known.map(|(chunk, _)| chunk.id.clone()).filter(|id| !changed.contains(id)));
        }
        Ok(found)
    }

    /// Embeds the chunks of a live document, or of a large staged one, which are found when it goes live; those of a small staged
    /// one wait for the merge. They are embedded in small steps with one commit each, so an interrupted run keeps them.
    async fn embed_chunks(
        &self,
        job: &mut Job,
        document: &Document,
        chunks: &[Chunk],
        contextualized: IndexedTexts,
    ) -> Result<(), Stop> {
        let IndexedTexts { texts, mut batch, changed } = contextualized;
        let most = self.engine.index.max_merge_chunks.max(1);
        let is_embedded = chunks.len() > most || document.visibility == Visibility::Live;
        let mut waiting: Vec<&Chunk> = Vec::new();
        if is_embedded {
            let known = self.embedded_before(chunks, &changed).await?;
            waiting.extend(chunks.iter().filter(|chunk| !known.contains(&chunk.id)));
        }
        let mut done = chunks.len() - waiting.len();
        let mut waiting = waiting.as_slice();
        loop {
            let (slice, rest) = waiting.split_at(waiting.len().min(self.pace.texts(most)));
            waiting = rest;
            if !slice.is_empty() {
                let (started_at, calls) = (self.engine.clock.now(), batch.append_calls.len());
                let slice = slice.iter().copied();
                embed(self.engine, chunk_texts(slice.clone(), &texts), Some(&document.id), &mut batch)
                    .await?;
                if batch.append_calls.len() > calls {
                    self.pace.note_service();
                }
                self.pace.count(slice.len(), self.engine.clock.now().0.saturating_sub(started_at.0));
                done += slice.len();
            }
            let state = if done == chunks.len() { JobState::Chunked } else { job.state.clone() };
            if let Err(error) = self.commit_step(job, state, batch.clone()).await {
                if error.is_conflict() {
                    self.keep_paid(&document.id, batch).await?;
                }
                return Err(error.into());
            }
            self.advanced(document, Stage::Chunk, done, chunks.len());
            if done == chunks.len() {
                return Ok(());
            }
            if let Some(stop) = self.halt(job).await? {
                return Err(stop);
            }
            batch = Batch::default();
        }
    }
}

/// Returns the texts of these contexts, by chunk.
pub(super) fn context_texts<'a>(
    chunk_contexts: impl IntoIterator<Item = &'a ChunkContext>,
) -> BTreeMap<ChunkId, String> {
    let text_of =
        |chunk_context: &ChunkContext| Some((chunk_context.chunk.clone(), chunk_context.text()?.to_owned()));
    chunk_contexts.into_iter().filter_map(text_of).collect()
}

/// Returns the texts to embed for these chunks.
///
/// - `context`: the contexts of the chunks that have one.
pub(in super::super) fn chunk_texts<'a>(
    chunks: impl IntoIterator<Item = &'a Chunk>,
    context: &BTreeMap<ChunkId, String>,
) -> Vec<(ItemKey, String)> {
    let text = |chunk: &Chunk| {
        let text = indexed_text(context.get(&chunk.id).map(String::as_str), &chunk.text);
        (ItemKey::Chunk(chunk.id.clone()), text.into_owned())
    };
    chunks.into_iter().map(text).collect()
}
