//! Situating the chunks of a document: by rules, by what the store has, or by asking a model, the first chunk of every
//! part of the document first, so that the others find the part in the provider's cache.

use std::collections::BTreeMap;

use futures::stream::{BoxStream, select_all};
use futures::{StreamExt, stream};
use graphloom_core::{
    Batch, Call, Chunk, ChunkId, Document, Job, LanguageModel, ModelError, Situation, SituationKey,
    SituationOutcome, Stage,
};

use super::Run;
use super::arriving::Arriving;
use super::permits::Permit;
use super::prepare::{chunk_texts, situating_texts};
use super::step::is_renewal;
use super::stop::{Stop, needs_a_person};
use crate::chain;
use crate::graph::embed;
use crate::index::situate::wanted_of;
use crate::situate::{HEADINGS, SituatingQuestion, Situator, Wanted, situate_by_model};

/// What the chunks of a document are situated by.
#[derive(Debug, Default)]
pub(in super::super) struct Situated {
    /// The situating texts, once `batch` is committed.
    pub(in super::super) texts: BTreeMap<ChunkId, String>,
    /// Situations that cost no call, which are stored with the vectors of their chunks, and those that end.
    pub(in super::super) batch: Batch,
    /// Chunks of `batch` whose indexed text changes with it.
    pub(in super::super) changed: Vec<ChunkId>,
}

/// What was answered about the chunks at these places.
struct Answered {
    key: SituationKey,
    places: Vec<usize>,
    answer: Result<(Result<String, ModelError>, Vec<Call>), Stop>,
    _permit: Permit,
}

impl Run<'_> {
    /// Situates chunks as the engine's situator does. What a model says is committed as it arrives, of a document in the
    /// graph together with the chunk's vector; the rest is returned. A chunk whose situating fails keeps what it had before,
    /// else the failure is recorded with it.
    ///
    /// - `anew`: whether to ask again what failed before, and to end situations where chunks are not situated any more. Of
    ///   a document that is being indexed they stay: somebody paid for them, and may have asked for them in another run.
    pub(in super::super) async fn situate(
        &self,
        job: &mut Job,
        document: &Document,
        chunks: &[Chunk],
        anew: bool,
    ) -> Result<Situated, Stop> {
        let engine = self.engine;
        let snapshot = engine.store.snapshot().await?;
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let mut stored = snapshot.situations(&ids).await?;
        let wanted = wanted_of(engine, snapshot.as_ref(), document, chunks).await?;
        drop(snapshot);
        let mut situated = Situated::default();
        let mut questions: BTreeMap<SituationKey, (SituatingQuestion, Vec<usize>)> = BTreeMap::new();
        for (at, wanted) in wanted.into_iter().enumerate() {
            match wanted {
                Wanted::Nothing => {
                    if let Some(ended) = stored[at].take_if(|_| anew) {
                        situated.batch.remove_situations.push(ended.chunk.clone());
                        if ended.text().is_some_and(|text| !text.is_empty()) {
                            situated.changed.push(ended.chunk);
                        }
                    }
                }
                Wanted::Words { key, text } => {
                    situated.put(&mut stored[at], situation(&chunks[at], key, HEADINGS, text));
                }
                Wanted::Asked(question) => {
                    if question.is_open(stored[at].as_ref(), anew) {
                        questions.entry(question.key.clone()).or_insert((question, Vec::new())).1.push(at);
                    }
                }
            }
        }
        if let Situator::Model(model) = &engine.models.situator {
            let model = model.as_ref();
            let keys: Vec<SituationKey> = questions.keys().cloned().collect();
            let known = engine.store.snapshot().await?.situating_texts(&keys).await?;
            for (key, text) in keys.into_iter().zip(known) {
                let Some((text, (_, places))) = text.and_then(|text| Some((text, questions.remove(&key)?)))
                else {
                    continue;
                };
                for at in places {
                    let situation = situation(&chunks[at], key.clone(), model.name(), text.clone());
                    situated.put(&mut stored[at], situation);
                }
            }
            self.ask_situations(model, job, document, chunks, questions, &mut stored).await?;
        }
        self.count(|report| report.situated += situated.changed.len() as u32);
        situated.texts = situating_texts(stored.iter().flatten());
        Ok(situated)
    }

    /// Asks a model and commits what it says; `stored` holds the situations as they are then.
    async fn ask_situations(
        &self,
        model: &dyn LanguageModel,
        job: &mut Job,
        document: &Document,
        chunks: &[Chunk],
        questions: BTreeMap<SituationKey, (SituatingQuestion, Vec<usize>)>,
        stored: &mut [Option<Situation>],
    ) -> Result<(), Stop> {
        let total = chunks.len();
        let mut done = total - questions.values().map(|(_, places)| places.len()).sum::<usize>();
        let claimed = &job.clone();
        let mut answers = Arriving::new(self.situating_answers(model, claimed, document, questions));
        let (mut over_budget, mut halted) = (None, None);
        while let Some(Answered { key, places, answer, _permit }) = answers.next().await {
            let (result, mut calls) = match answer {
                Ok(answered) => answered,
                // Nothing more is asked, and answers that are on their way are still stored.
                Err(stop) => {
                    halted.get_or_insert(stop);
                    continue;
                }
            };
            calls.retain(|call| call.attempts > 0);
            let mut batch = Batch { append_calls: calls, ..Batch::default() };
            match result {
                Ok(text) => {
                    for &at in &places {
                        let said = situation(&chunks[at], key.clone(), model.name(), text.clone());
                        stored[at] = Some(said.clone());
                        batch.put_situations.push(said);
                    }
                    self.count(|report| report.situated += places.len() as u32);
                }
                // The run ends, but not before what was paid for is in the ledger.
                Err(error) if needs_a_person(&error) => {
                    let state = job.state.clone();
                    answers.during(self.commit_step(job, state, batch)).await?;
                    return Err(Stop::Fatal(error.into()));
                }
                Err(ModelError::OverBudget { what, .. }) => {
                    over_budget = Some(what);
                    if !batch.append_calls.is_empty() {
                        let state = job.state.clone();
                        answers.during(self.commit_step(job, state, batch)).await?;
                    }
                    continue;
                }
                Err(error) => {
                    let reason = chain(&error);
                    for &at in &places {
                        self.chunk_unsituated(document, chunks[at].ordinal, &reason);
                        if stored[at].as_ref().is_none_or(|before| before.failure().is_some()) {
                            let outcome =
                                SituationOutcome::Failed { reason: reason.clone(), attempts: job.attempts };
                            let (chunk, by) = (chunks[at].id.clone(), model.name().to_owned());
                            let failed = Situation { chunk, key: key.clone(), by, outcome };
                            stored[at] = Some(failed.clone());
                            batch.put_situations.push(failed);
                        }
                    }
                }
            }
            let mut unembedded = None;
            if is_renewal(job) {
                let situating = situating_texts(&batch.put_situations);
                let changed =
                    places.iter().map(|&at| &chunks[at]).filter(|it| situating.contains_key(&it.id));
                let texts = chunk_texts(changed, &situating);
                let embedded = embed(self.engine, texts, Some(&document.id), &mut batch);
                if let Err(error) = answers.during(embedded).await {
                    // Words and vectors of a chunk change together; the ledger keeps what was paid.
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
                Err(error) => return Err(error.into()),
            }
            if let Some(error) = unembedded {
                return Err(error.into());
            }
            done += places.len();
            self.advanced(document, Stage::Situate, done, total);
        }
        halted.or(over_budget.map(Stop::OverBudget)).map_or(Ok(()), Err)
    }

    /// The answers as they arrive. Of the questions that begin alike the first in the document is answered before the others
    /// are asked.
    fn situating_answers<'s>(
        &'s self,
        model: &'s dyn LanguageModel,
        claimed: &'s Job,
        document: &'s Document,
        questions: BTreeMap<SituationKey, (SituatingQuestion, Vec<usize>)>,
    ) -> impl futures::Stream<Item = Answered> + Unpin + Send + 's {
        let mut in_order: Vec<(SituatingQuestion, Vec<usize>)> = questions.into_values().collect();
        in_order.sort_by(|(_, one), (_, other)| one.cmp(other));
        let mut groups: Vec<Vec<(SituatingQuestion, Vec<usize>)>> = Vec::new();
        for asked in in_order {
            match groups.iter_mut().find(|group| group[0].0.opening == asked.0.opening) {
                Some(group) => group.push(asked),
                None => groups.push(vec![asked]),
            }
        }
        let most = self.engine.index.max_concurrent_calls.max(1);
        let in_group = move |mut group: Vec<(SituatingQuestion, Vec<usize>)>| -> BoxStream<'s, Answered> {
            let is_shared = group.len() > 1;
            let rest = group.split_off(1);
            let ask = move |(question, places): (SituatingQuestion, Vec<usize>)| {
                self.ask_situation(model, claimed, document, question, places, is_shared)
            };
            stream::iter(group).then(ask).chain(stream::iter(rest).map(ask).buffer_unordered(most)).boxed()
        };
        select_all(groups.into_iter().map(in_group))
    }

    async fn ask_situation(
        &self,
        model: &dyn LanguageModel,
        claimed: &Job,
        document: &Document,
        question: SituatingQuestion,
        places: Vec<usize>,
        is_shared: bool,
    ) -> Answered {
        let permit = self.calls.acquire().await;
        let answer = match self.halt(claimed).await {
            Ok(None) => {
                let (tokenizer, clock) = (self.engine.tokenizer, self.engine.clock.as_ref());
                Ok(situate_by_model(&question, is_shared, model, &document.id, tokenizer, clock).await)
            }
            Ok(Some(stop)) => Err(stop),
            Err(error) => Err(error.into()),
        };
        Answered { key: question.key, places, answer, _permit: permit }
    }
}

impl Situated {
    /// Takes a situation that costs nothing in the place of the stored one.
    fn put(&mut self, stored: &mut Option<Situation>, situation: Situation) {
        if stored.as_ref() == Some(&situation) {
            return;
        }
        let before = stored.as_ref().and_then(Situation::text).unwrap_or_default();
        if situation.text().unwrap_or_default() != before {
            self.changed.push(situation.chunk.clone());
        }
        self.batch.put_situations.push(situation.clone());
        *stored = Some(situation);
    }
}

fn situation(chunk: &Chunk, key: SituationKey, by: &str, text: String) -> Situation {
    let outcome = SituationOutcome::Said { text };
    Situation { chunk: chunk.id.clone(), key, by: by.to_owned(), outcome }
}
