//! Bringing a document to where it can be merged: its chunks embedded, and each asked about.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, Chunk, ChunkId, Document, Extraction, ExtractionKey, Job, JobState, Stage, VectorKind, Visibility,
};

use super::Run;
use super::stop::Stop;
use crate::graph::embed;
use crate::index::IndexError;

/// A document all of whose chunks were asked about.
pub(in super::super) struct Ready {
    pub(in super::super) job: Job,
    pub(in super::super) document: Document,
    pub(in super::super) chunks: Vec<Chunk>,
    /// Extractions by rules, which are stored with the merge for they cost nothing to make again.
    pub(in super::super) unstored: BTreeMap<ExtractionKey, Extraction>,
    /// The chunks that were asked about anew, where the document is in the graph already.
    pub(in super::super) renewed: Option<BTreeSet<ChunkId>>,
}

impl Ready {
    /// Whether what is said of the chunk enters the graph with this merge.
    pub(super) fn brings(&self, chunk: &Chunk) -> bool {
        self.renewed.as_ref().is_none_or(|renewed| renewed.contains(&chunk.id))
    }
}

impl Run<'_> {
    /// Brings a document to where it can be merged; `None` where it is lost or waits for the next run.
    pub(super) async fn prepare(&self, mut job: Job) -> Result<Option<Ready>, IndexError> {
        let snapshot = self.engine.store.snapshot().await?;
        let document =
            snapshot.documents(std::slice::from_ref(&job.document)).await?.into_iter().next().flatten();
        let chunks = snapshot.chunks_of(std::slice::from_ref(&job.document)).await?.into_iter().next();
        drop(snapshot);
        let (Some(document), Some(mut chunks)) = (document, chunks) else { return Ok(None) };
        let prepared = async {
            if let Some(stop) = self.halt(&document.id).await? {
                return Err(stop);
            }
            if job.state == JobState::Accepted {
                self.embed_chunks(&mut job, &document, &chunks).await?;
            }
            self.extract(&mut job, &document, &mut chunks).await
        };
        match prepared.await {
            Ok(unstored) => Ok(Some(Ready { job, document, chunks, unstored, renewed: None })),
            Err(stop) => self.stop(&job, &document, stop).await,
        }
    }

    /// Makes the chunks of a live document findable by vector; those of a staged one wait for the merge.
    async fn embed_chunks(&self, job: &mut Job, document: &Document, chunks: &[Chunk]) -> Result<(), Stop> {
        let mut batch = Batch::default();
        if document.visibility == Visibility::Live {
            embed(self.engine, chunk_texts(chunks), Some(&document.id), &mut batch).await?;
        }
        if let Err(error) = self.commit_step(job, JobState::Chunked, batch.clone()).await {
            if error.is_conflict() {
                self.keep_paid(&document.id, batch).await?;
            }
            return Err(error.into());
        }
        self.advanced(document, Stage::Chunk, chunks.len(), chunks.len());
        Ok(())
    }
}

pub(super) fn chunk_texts(chunks: &[Chunk]) -> Vec<(VectorKind, String, String)> {
    chunks.iter().map(|chunk| (VectorKind::Chunk, chunk.id.to_string(), chunk.text.clone())).collect()
}
