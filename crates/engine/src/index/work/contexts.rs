//! Writes the contexts of the chunks of a document: by rules, from the store, or by asking an LLM. The first chunk of each part of
//! the document is asked about first, so that the questions about the others find the part in the provider's cache.

use std::collections::BTreeMap;

use futures::stream::{BoxStream, select_all};
use futures::{StreamExt, stream};
use graphloom_core::{
    Batch, Call, Chunk, ChunkContext, ChunkContextKey, ChunkContextOutcome, ChunkId, Document, Job,
    LanguageModel, ModelError, Stage,
};

use super::Run;
use super::arriving::AnswerStream;
use super::permits::Permit;
use super::prepare::{chunk_texts, context_texts};
use super::step::is_renewal;
use super::stop::{Stop, needs_a_person};
use crate::chain;
use crate::chunk_context::{ContextPrompt, ContextTask, ContextWriter, HEADINGS, write_context};
use crate::graph::embed;
use crate::index::contexts::wanted_of;

/// The contexts of the chunks of a document, and how they change the store.
#[derive(Debug, Default)]
pub(in super::super) struct IndexedTexts {
    /// The contexts, once `batch` is committed.
    pub(in super::super) texts: BTreeMap<ChunkId, String>,
    /// New contexts that cost no call and are stored with the vectors of their chunks, and contexts to remove.
    pub(in super::super) batch: Batch,
    /// Chunks whose indexed text changes with `batch`.
    pub(in super::super) changed: Vec<ChunkId>,
}

/// The answer about the chunks at these places.
struct ContextAnswer {
    key: ChunkContextKey,
    places: Vec<usize>,
    answer: Result<(Result<String, ModelError>, Vec<Call>), Stop>,
    _permit: Permit,
}

impl Run<'_> {
    /// Writes the contexts of chunks with the engine's context writer. Answers of an LLM are committed as they arrive, together
    /// with the chunk's vector if the document is in the graph; the rest is returned. A chunk whose context fails keeps its old
    /// context; if it has none, the failure is recorded.
    ///
    /// - `again`: whether to ask about failed chunks again, and to remove contexts that the settings no longer ask for. While a
    ///   document is being indexed such contexts stay, because another run may have paid for them.
    pub(in super::super) async fn contextualize(
        &self,
        job: &mut Job,
        document: &Document,
        chunks: &[Chunk],
        again: bool,
    ) -> Result<IndexedTexts, Stop> {
        let engine = self.engine;
        let snapshot = engine.store.snapshot().await?;
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let mut stored = snapshot.chunk_contexts(&ids).await?;
        let wanted = wanted_of(engine, snapshot.as_ref(), document, chunks).await?;
        drop(snapshot);
        let mut contextualized = IndexedTexts::default();
        let mut questions: BTreeMap<ChunkContextKey, (ContextPrompt, Vec<usize>)> = BTreeMap::new();
        for (at, wanted) in wanted.into_iter().enumerate() {
            match wanted {
                ContextTask::Nothing => {
                    if let Some(ended) = stored[at].take_if(|_| again) {
                        contextualized.batch.remove_chunk_contexts.push(ended.chunk.clone());
                        if ended.text().is_some_and(|text| !text.is_empty()) {
                            contextualized.changed.push(ended.chunk);
                        }
                    }
                }
                ContextTask::Words { key, text } => {
                    contextualized.put(&mut stored[at], chunk_context(&chunks[at], key, HEADINGS, text));
                }
                ContextTask::Question(question) => {
                    if question.is_open(stored[at].as_ref(), again) {
                        questions.entry(question.key.clone()).or_insert((question, Vec::new())).1.push(at);
                    }
                }
            }
        }
        if let ContextWriter::Model(model) = &engine.models.context_writer {
            let model = model.as_ref();
            let keys: Vec<ChunkContextKey> = questions.keys().cloned().collect();
            let known = engine.store.snapshot().await?.context_texts(&keys).await?;
            for (key, text) in keys.into_iter().zip(known) {
                let Some((text, (_, places))) = text.and_then(|text| Some((text, questions.remove(&key)?)))
                else {
                    continue;
                };
                for at in places {
                    let chunk_context = chunk_context(&chunks[at], key.clone(), model.name(), text.clone());
                    contextualized.put(&mut stored[at], chunk_context);
                }
            }
            self.ask_chunk_contexts(model, job, document, chunks, questions, &mut stored).await?;
        }
        self.count(|report| report.contextualized += contextualized.changed.len() as u32);
        contextualized.texts = context_texts(stored.iter().flatten());
        Ok(contextualized)
    }

    /// Asks an LLM and commits its answers; `stored` is updated with the new contexts.
    async fn ask_chunk_contexts(
        &self,
        model: &dyn LanguageModel,
        job: &mut Job,
        document: &Document,
        chunks: &[Chunk],
        questions: BTreeMap<ChunkContextKey, (ContextPrompt, Vec<usize>)>,
        stored: &mut [Option<ChunkContext>],
    ) -> Result<(), Stop> {
        let total = chunks.len();
        let mut done = total - questions.values().map(|(_, places)| places.len()).sum::<usize>();
        let claimed = &job.clone();
        let mut answers = AnswerStream::new(self.context_answers(model, claimed, document, questions));
        let (mut over_budget, mut halted) = (None, None);
        while let Some(ContextAnswer { key, places, answer, _permit }) = answers.next().await {
            let (result, mut calls) = match answer {
                Ok(answered) => answered,
                // No further questions are asked, but answers to earlier ones are still stored.
                Err(stop) => {
                    halted.get_or_insert(stop);
                    continue;
                }
            };
            calls.retain(|call| call.attempts > 0);
            let mut batch = Batch { append_calls: calls, ..Batch::default() };
            let mut has_answer = true;
            match result {
                Ok(text) => {
                    for &at in &places {
                        let context = chunk_context(&chunks[at], key.clone(), model.name(), text.clone());
                        stored[at] = Some(context.clone());
                        batch.put_chunk_contexts.push(context);
                    }
                    self.count(|report| report.contextualized += places.len() as u32);
                }
                // These chunks wait for the next run, but answers to earlier questions are still stored.
                Err(error) if error.is_postponed() || needs_a_person(&error) => {
                    has_answer = false;
                    match error {
                        ModelError::OverBudget { what, .. } => over_budget = Some(what),
                        ModelError::Stopped { .. } => drop(halted.get_or_insert(Stop::Requested)),
                        error => {
                            self.end_with(error.into());
                            halted.get_or_insert(Stop::Requested);
                        }
                    }
                }
                Err(error) => {
                    let reason = chain(&error);
                    for &at in &places {
                        self.chunk_without_context(document, chunks[at].ordinal, &reason);
                        if stored[at].as_ref().is_none_or(|before| before.failure().is_some()) {
                            let outcome = ChunkContextOutcome::Failed {
                                reason: reason.clone(),
                                attempts: job.attempts,
                            };
                            let (chunk, by) = (chunks[at].id.clone(), model.name().to_owned());
                            let failed = ChunkContext { chunk, key: key.clone(), by, outcome };
                            stored[at] = Some(failed.clone());
                            batch.put_chunk_contexts.push(failed);
                        }
                    }
                }
            }
            if batch.is_empty() {
                continue;
            }
            let mut unembedded = None;
            if is_renewal(job) {
                let context = context_texts(&batch.put_chunk_contexts);
                let changed = places.iter().map(|&at| &chunks[at]).filter(|it| context.contains_key(&it.id));
                let texts = chunk_texts(changed, &context);
                let embedded = embed(self.engine, texts, Some(&document.id), &mut batch);
                if let Err(error) = answers.during(embedded).await {
                    // The context and the vector of a chunk change together. The ledger records the paid calls.
                    batch = Batch { append_calls: batch.append_calls, ..Batch::default() };
                    unembedded = Some(error);
                }
            }
            let state = job.state.clone();
            match answers.during(self.commit_step(job, state, batch.clone())).await {
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
            if let Some(error) = unembedded {
                halted.get_or_insert(error.into());
                continue;
            }
            if has_answer {
                done += places.len();
                self.advanced(document, Stage::Contextualize, done, total);
            }
        }
        halted.or(over_budget.map(Stop::OverBudget)).map_or(Ok(()), Err)
    }

    /// Returns the answers as they arrive. Among questions with the same opening, the first in the document is answered before the
    /// others are asked.
    fn context_answers<'s>(
        &'s self,
        model: &'s dyn LanguageModel,
        claimed: &'s Job,
        document: &'s Document,
        questions: BTreeMap<ChunkContextKey, (ContextPrompt, Vec<usize>)>,
    ) -> impl futures::Stream<Item = ContextAnswer> + Unpin + Send + 's {
        let mut in_order: Vec<(ContextPrompt, Vec<usize>)> = questions.into_values().collect();
        in_order.sort_by(|(_, one), (_, other)| one.cmp(other));
        let mut groups: Vec<Vec<(ContextPrompt, Vec<usize>)>> = Vec::new();
        for question in in_order {
            match groups.iter_mut().find(|group| group[0].0.opening == question.0.opening) {
                Some(group) => group.push(question),
                None => groups.push(vec![question]),
            }
        }
        let most = self.engine.index.max_concurrent_calls.max(1);
        let in_group = move |mut group: Vec<(ContextPrompt, Vec<usize>)>| -> BoxStream<'s, ContextAnswer> {
            let is_shared = group.len() > 1;
            let rest = group.split_off(1);
            let ask = move |(question, places): (ContextPrompt, Vec<usize>)| {
                self.ask_chunk_context(model, claimed, document, question, places, is_shared)
            };
            stream::iter(group).then(ask).chain(stream::iter(rest).map(ask).buffer_unordered(most)).boxed()
        };
        select_all(groups.into_iter().map(in_group))
    }

    async fn ask_chunk_context(
        &self,
        model: &dyn LanguageModel,
        claimed: &Job,
        document: &Document,
        question: ContextPrompt,
        places: Vec<usize>,
        is_shared: bool,
    ) -> ContextAnswer {
        let permit = self.calls.acquire().await;
        let answer = match self.halt(claimed).await {
            Ok(None) => {
                let (tokenizer, clock) = (self.engine.tokenizer, self.engine.clock.as_ref());
                Ok(write_context(&question, is_shared, model, &document.id, tokenizer, clock).await)
            }
            Ok(Some(stop)) => Err(stop),
            Err(error) => Err(error.into()),
        };
        ContextAnswer { key: question.key, places, answer, _permit: permit }
    }
}

impl IndexedTexts {
    /// Replaces the stored context of a chunk by one that costs nothing.
    fn put(&mut self, stored: &mut Option<ChunkContext>, chunk_context: ChunkContext) {
        if stored.as_ref() == Some(&chunk_context) {
            return;
        }
        let before = stored.as_ref().and_then(ChunkContext::text).unwrap_or_default();
        if chunk_context.text().unwrap_or_default() != before {
            self.changed.push(chunk_context.chunk.clone());
        }
        self.batch.put_chunk_contexts.push(chunk_context.clone());
        *stored = Some(chunk_context);
    }
}

fn chunk_context(chunk: &Chunk, key: ChunkContextKey, by: &str, text: String) -> ChunkContext {
    let outcome = ChunkContextOutcome::Written { text };
    ChunkContext { chunk: chunk.id.clone(), key, by: by.to_owned(), outcome }
}
