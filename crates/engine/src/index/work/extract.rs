//! Extracts the chunks of a document: by asking an LLM, by reusing stored extractions, or by keeping what was saved of damaged
//! answers.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, Document, Extraction, ExtractionKey, Job, ModelError, Records, Stage,
    StoreError,
};

use super::Run;
use super::arriving::AnswerStream;
use super::stop::{Stop, needs_a_person};
use crate::chain;
use crate::extract::{ExtractResult, Losses, extract_by_model, extraction_key};

/// How often a chunk is tried if its answers are always damaged; then the best of them counts as the answer.
pub const MAX_DAMAGED_ATTEMPTS: u32 = 3;

/// The answer to a question about a chunk.
enum Answer {
    Asked(ExtractResult),
    /// Stored while the question waited for its turn.
    Known(Extraction),
}

impl Run<'_> {
    /// Asks the extraction model, if there is one, about every chunk without an extraction. Answers are committed as they arrive.
    pub(in super::super) async fn extract(
        &self,
        job: &mut Job,
        document: &Document,
        chunks: &mut [Chunk],
    ) -> Result<(), Stop> {
        let total = chunks.len();
        let Some(model) = self.engine.models.extract.as_deref() else {
            // The rules read the chunks during the merge, in the same commit.
            self.advanced(document, Stage::Merge, 0, total);
            return Ok(());
        };
        let spec = &self.engine.index.extract;
        let prompts = &self.engine.prompts;
        let key_of = |chunk: &Chunk| extraction_key(chunk, spec, prompts, Some(model.name()));
        let mut wanted: BTreeMap<ExtractionKey, Vec<usize>> = BTreeMap::new();
        for (at, chunk) in chunks.iter().enumerate() {
            if chunk.extraction.is_queued() {
                wanted.entry(key_of(chunk)).or_default().push(at);
            }
        }
        let mut done = total - wanted.values().map(Vec::len).sum::<usize>();
        let reused = self.reuse(job, chunks, &mut wanted).await?;
        done += reused;
        // One question per distinct text. The answer is applied to every chunk with that text.
        let questions: Vec<(ExtractionKey, Vec<usize>, Chunk)> = wanted
            .into_iter()
            .map(|(key, places)| (key, places.clone(), chunks[places[0]].clone()))
            .collect();
        let clock = self.engine.clock.as_ref();
        let claimed = &job.clone();
        let answers = stream::iter(questions)
            .map(|(key, places, chunk)| async move {
                let held = (self.questions.take(&key).await, self.calls.acquire().await);
                let answer = async {
                    if let Some(stop) = self.halt(claimed).await? {
                        return Err(stop);
                    }
                    // Another document with the same text may have been answered meanwhile.
                    let known =
                        self.engine.store.snapshot().await?.extractions(std::slice::from_ref(&key)).await?;
                    if let Some(known) = known.into_iter().flatten().next() {
                        return Ok(Answer::Known(known));
                    }
                    let asked = extract_by_model(&chunk, key.clone(), spec, prompts, model, clock).await;
                    Ok(Answer::Asked(asked))
                };
                let answer = answer.await;
                (key, places, answer, held)
            })
            .buffer_unordered(self.engine.index.max_concurrent_calls.max(1));
        let mut answers = AnswerStream::new(answers);
        let (mut over_budget, mut halted) = (None, None);
        while let Some((key, places, answer, held)) = answers.next().await {
            let mut batch = Batch::default();
            let (result, losses, calls) = match answer {
                Ok(Answer::Asked(ExtractResult { result, losses, calls })) => {
                    (result.map(Some), losses, calls)
                }
                Ok(Answer::Known(known)) => {
                    self.count(|report| report.reused += places.len() as u32);
                    batch.put_extractions.push(known);
                    (Ok(None), Losses::default(), Vec::new())
                }
                // No further questions are asked, but answers to earlier ones are still stored.
                Err(stop) => {
                    halted.get_or_insert(stop);
                    continue;
                }
            };
            batch.append_calls.extend(calls.into_iter().filter(|call| call.attempts > 0));
            let state = match result {
                Ok(None) => Some(ChunkExtraction::Done { key }),
                Ok(Some(extraction)) if losses.is_empty() => {
                    self.extracted(std::iter::repeat_n(&extraction, places.len()));
                    batch.put_extractions.push(extraction);
                    Some(ChunkExtraction::Done { key })
                }
                Ok(Some(saved)) => {
                    let before: Vec<&ChunkExtraction> =
                        places.iter().map(|at| &chunks[*at].extraction).collect();
                    let (state, extraction) =
                        answers.during(self.damaged(key, saved, losses.describe(), &before)).await?;
                    self.extracted(std::iter::repeat_n(&extraction, places.len()));
                    batch.put_extractions.push(extraction);
                    if let ChunkExtraction::Damaged { reason, .. } = &state {
                        self.count(|report| report.damaged_chunks += places.len() as u32);
                        places
                            .iter()
                            .for_each(|at| self.chunk_damaged(document, chunks[*at].ordinal, reason));
                    }
                    Some(state)
                }
                // These chunks wait for the next run, but answers to earlier questions are still stored.
                Err(error) if needs_a_person(&error) => {
                    self.end_with(error.into());
                    halted.get_or_insert(Stop::Requested);
                    None
                }
                Err(ModelError::Stopped { .. }) => {
                    halted.get_or_insert(Stop::Requested);
                    None
                }
                Err(ModelError::OverBudget { what, .. }) => {
                    over_budget = Some(what);
                    None
                }
                Err(error) => {
                    let reason = chain(&error);
                    self.count(|report| {
                        report.failed_chunks += places.len() as u32;
                        // An answer came and is paid for, but it is no use.
                        let is_answer = matches!(error, ModelError::Malformed { .. });
                        if error.is_transient() && !is_answer {
                            report.unavailable.insert(document.id.clone());
                        }
                    });
                    for at in &places {
                        self.chunk_failed(document, chunks[*at].ordinal, &reason);
                    }
                    Some(ChunkExtraction::Failed { reason, attempts: job.attempts })
                }
            };
            for (at, state) in state.iter().flat_map(|state| places.iter().map(move |at| (at, state))) {
                let chunk = &mut chunks[*at];
                chunk.extraction = match (state, &chunk.extraction) {
                    // Records saved from an earlier answer stay in use.
                    (
                        ChunkExtraction::Failed { .. },
                        ChunkExtraction::Damaged { key, reason, attempts, .. },
                    ) => {
                        let (key, reason) = (key.clone(), reason.clone());
                        ChunkExtraction::Damaged { key, reason, attempts: *attempts, again: false }
                    }
                    _ => state.clone(),
                };
                batch.set_extractions.push((chunk.id.clone(), chunk.extraction.clone()));
            }
            if batch.is_empty() {
                continue;
            }
            let job_state = job.state.clone();
            match answers.during(self.commit_step(job, job_state, batch.clone())).await {
                Ok(()) => {}
                Err(error) if error.is_conflict() => {
                    answers.during(self.keep_paid(&document.id, batch)).await?;
                    halted.get_or_insert(Stop::Lost);
                    continue;
                }
                // What the other calls in flight return may still be stored.
                Err(error) => {
                    self.end_with(error.into());
                    halted.get_or_insert(Stop::Requested);
                    continue;
                }
            }
            drop(held);
            if state.is_some() {
                done += places.len();
                self.advanced(document, Stage::Extract, done, total);
            }
        }
        halted.or(over_budget.map(Stop::OverBudget)).map_or(Ok(()), Err)
    }

    /// Returns the state of a chunk whose answer lost records, and its best extraction: `saved`, or the one in `before` if that has
    /// more records. After [`MAX_DAMAGED_ATTEMPTS`] it counts as the answer, with the loss among its rejects.
    async fn damaged(
        &self,
        key: ExtractionKey,
        saved: Extraction,
        reason: String,
        before: &[&ChunkExtraction],
    ) -> Result<(ChunkExtraction, Extraction), StoreError> {
        let (mut best, mut attempts) = (saved, 1);
        for before in before {
            if let ChunkExtraction::Damaged { key, attempts: tried, .. } = before {
                attempts = attempts.max(tried + 1);
                let stored =
                    self.engine.store.snapshot().await?.extractions(std::slice::from_ref(key)).await?;
                let size = |records: &Records| records.entities.len() + records.relations.len();
                let more = |stored: &Extraction| size(&stored.records) > size(&best.records);
                if let Some(stored) = stored.into_iter().flatten().next().filter(more) {
                    best = stored;
                }
            }
        }
        if attempts >= MAX_DAMAGED_ATTEMPTS {
            return Ok((ChunkExtraction::Done { key: key.clone() }, Extraction { key, ..best }));
        }
        let key = best.key.clone();
        Ok((ChunkExtraction::Damaged { key, reason, attempts, again: false }, best))
    }

    /// Uses extractions that the store already has, so that nothing is paid for twice; returns the number of chunks that this
    /// settled.
    async fn reuse(
        &self,
        job: &mut Job,
        chunks: &mut [Chunk],
        wanted: &mut BTreeMap<ExtractionKey, Vec<usize>>,
    ) -> Result<usize, Stop> {
        let keys: Vec<ExtractionKey> = wanted.keys().cloned().collect();
        let snapshot = self.engine.store.snapshot().await?;
        let known = snapshot.extractions(&keys).await?;
        drop(snapshot);
        let mut batch = Batch::default();
        for (key, known) in keys.into_iter().zip(known) {
            let Some(known) = known else { continue };
            // The extraction is stored again in case its original document is removed before this commit.
            batch.put_extractions.push(known);
            for at in wanted.remove(&key).unwrap_or_default() {
                chunks[at].extraction = ChunkExtraction::Done { key: key.clone() };
                batch.set_extractions.push((chunks[at].id.clone(), chunks[at].extraction.clone()));
            }
        }
        let reused = batch.set_extractions.len();
        if reused > 0 {
            self.count(|report| report.reused += reused as u32);
            let state = job.state.clone();
            self.commit_step(job, state, batch).await?;
        }
        Ok(reused)
    }
}
