//! Estimates the cost of adding sources before anything is sent or stored.
//!
//! First questions are counted exactly, from the real prompts. What depends on answers is a range: the length of answers, which
//! of them miss names, and which entities are named often enough to need a summary.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    ChatMessage, ChatRole, Chunk, ChunkContextKey, ChunkExtraction, ChunkId, Document, DocumentId,
    ExtractionKey, JobState, Role, Snapshot, table,
};
use serde::Serialize;

use super::accept::preview;
use super::redo::IndexedDocument;
use super::renew::Target;
use super::{Acceptance, IndexError, SourceText};
use crate::Engine;
use crate::chunk_context::{ContextTask, ContextWriter, MAX_CONTEXT_TOKENS, plan};
use crate::extract::{
    Coverage, ExtractSpec, Gleaning, MAX_RECORDS, claim_messages, coverage, extraction_key, first_messages,
};
use crate::graph::{SUMMARY_FRAGMENTS, SUMMARY_TOKENS};
use crate::money::{prompt_tokens, shape_tokens, text_tokens};
use crate::prompt::{EXTRACT_GLEAN, EXTRACT_MISSED, Prompts, SUMMARIZE};
use graphloom_offline::{PhraseKind, phrases};
use graphloom_readers::ParseLimits;

/// Minimum tokens of an answer, in percent of the tokens of its passage. In 170 answers of several models about passages of 1,000
/// to 1,400 tokens, nine in ten had 20 to 60 percent.
const LEAST_ANSWER_PERCENT: u64 = 20;
/// Maximum in percent, plus [`SHORT_ANSWER_TOKENS`], because answers about short passages are relatively long.
const MOST_ANSWER_PERCENT: u64 = 100;
/// Maximum tokens of an answer about the shortest passage.
const SHORT_ANSWER_TOKENS: u64 = 400;
/// Maximum tokens of a record.
const RECORD_TOKENS: u64 = 80;
/// Maximum tokens of one description, which has one or two sentences.
const DESCRIPTION_TOKENS: u64 = 60;
/// Average number of descriptions that one summary call joins if there are many.
const GROUP_DESCRIPTIONS: u64 = 12;

/// Tokens of the context that an LLM writes for a chunk; the source reports 50 to 100.
const CONTEXT_ANSWER_TOKENS: Range = Range { low: 20, high: 150 };

/// A range from the lowest to the highest likely value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Range {
    /// Lower bound.
    pub low: u64,
    /// Upper bound, unless answers are unusual.
    pub high: u64,
}

impl Range {
    pub(super) fn exactly(number: u64) -> Self {
        Self { low: number, high: number }
    }

    /// True if both ends are equal.
    pub fn is_exact(self) -> bool {
        self.low == self.high
    }

    /// Adds both ends.
    pub fn add(&mut self, other: Self) {
        self.low += other.low;
        self.high += other.high;
    }
}

/// The calls of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExpectedCalls {
    /// What the calls are for.
    pub step: Step,
    /// The role of the model.
    pub role: Role,
    /// The model.
    pub model: String,
    /// Number of calls.
    pub calls: Range,
    /// Tokens sent.
    pub input_tokens: Range,
    /// Tokens received.
    pub output_tokens: Range,
}

/// What a group of calls is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Writes the context of each chunk; exact except for the answers.
    Contextualize,
    /// Asks the first question about each chunk; exact.
    Extract,
    /// Asks for what the first answers missed.
    Glean,
    /// Asks for the claims of each chunk; exact except for the answers.
    Claims,
    /// Summarizes the descriptions of things that many passages name.
    Summarize,
    /// Embeds chunks; exact except for contexts written by an LLM.
    EmbedChunks,
    /// Embeds entities and relations.
    EmbedGraph,
    /// Writes the texts of the nodes of a layer.
    WriteNodes,
    /// Embeds the nodes of a layer.
    EmbedNodes,
    /// Embeds everything again with another embedder; its tokens are exact.
    ReEmbed,
}

impl Step {
    /// Returns the name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contextualize => "contextualize",
            Self::Extract => "extract",
            Self::Glean => "ask again",
            Self::Claims => "claims",
            Self::Summarize => "summarize",
            Self::EmbedChunks => "embed chunks",
            Self::EmbedGraph => "embed graph",
            Self::WriteNodes => "write nodes",
            Self::EmbedNodes => "embed nodes",
            Self::ReEmbed => "embed again",
        }
    }
}

/// What adding the sources would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Documents that would be new or a new version.
    pub documents: u32,
    /// Documents that are already stored unchanged and cost nothing.
    pub unchanged: u32,
    /// Sources that cannot be read.
    pub refused: u32,
    /// Documents accepted earlier that still wait; the same run works on them.
    pub waiting: u32,
    /// Chunks of the new and waiting documents.
    pub chunks: u32,
    /// Of these, chunks whose extraction is stored or is paid for by an equal chunk, so they cost no extraction.
    pub reused: u32,
    /// The calls, by purpose.
    pub steps: Vec<ExpectedCalls>,
}

/// Adds up the cost of sources, list by list. Nothing is stored and no model is called.
pub struct Estimator<'a> {
    engine: &'a Engine,
    /// Whether a service computes the vectors; models in this process cost nothing.
    embeds_by_service: bool,
    estimate: Estimate,
    seen: BTreeSet<ExtractionKey>,
    context: BTreeSet<ChunkContextKey>,
    /// Number of chunks to be extracted that name each thing.
    named: BTreeMap<String, u64>,
    contextualize: Counts,
    extract: Counts,
    glean: Counts,
    claims: Counts,
    embed: Counts,
}

#[derive(Default)]
struct Counts {
    calls: Range,
    input: Range,
    output: Range,
}

impl<'a> Estimator<'a> {
    /// Creates an empty estimate.
    pub fn new(engine: &'a Engine, embeds_by_service: bool) -> Self {
        Self {
            engine,
            embeds_by_service,
            estimate: Estimate::default(),
            seen: BTreeSet::new(),
            context: BTreeSet::new(),
            named: BTreeMap::new(),
            contextualize: Counts::default(),
            extract: Counts::default(),
            glean: Counts::default(),
            claims: Counts::default(),
            embed: Counts::default(),
        }
    }

    /// Creates an estimate of the documents that already wait in the store.
    pub fn start(engine: &'a Engine, embeds_by_service: bool) -> BoxFuture<'a, Result<Self, IndexError>> {
        Box::pin(async move {
            let mut estimator = Self::new(engine, embeds_by_service);
            let snapshot = engine.store.snapshot().await?;
            let mut pages = snapshot.pages(table::Jobs);
            while let Some(page) = pages.next().await? {
                for job in page {
                    let embedded = match job.state {
                        JobState::Accepted => false,
                        JobState::Chunked => true,
                        JobState::Merged | JobState::Failed { .. } | JobState::Cancelled => continue,
                    };
                    estimator.estimate.waiting += 1;
                    let id = [job.document];
                    let document = snapshot.documents(&id).await?.pop().flatten();
                    let text = snapshot.texts(&id).await?.pop().flatten().unwrap_or_default();
                    for chunks in snapshot.chunks_of(&id).await? {
                        if let Some(document) = document.as_ref().filter(|_| !embedded) {
                            let wanted = estimator.wanted(document, &text, &chunks);
                            estimator.chunk_contexts(snapshot.as_ref(), &chunks, wanted).await?;
                            estimator.embeddings(&chunks);
                        }
                        estimator.chunks(snapshot.as_ref(), chunks).await?;
                    }
                }
            }
            Ok(estimator)
        })
    }

    /// Returns the size limits for documents.
    pub fn limits(&self) -> ParseLimits {
        self.engine.index.limits
    }

    /// Adds the cost of these sources and returns the outcome that each would have, in order.
    pub fn add<'s>(
        &'s mut self,
        readings: Vec<SourceText>,
    ) -> BoxFuture<'s, Result<Vec<Acceptance>, IndexError>> {
        Box::pin(async move {
            let snapshot = self.engine.store.snapshot().await?;
            let (batch, acceptances) = preview(self.engine, snapshot.as_ref(), readings).await?;
            for acceptance in &acceptances {
                match acceptance {
                    Acceptance::Accepted { .. } => self.estimate.documents += 1,
                    Acceptance::Unchanged { .. } => self.estimate.unchanged += 1,
                    Acceptance::Refused { .. } => self.estimate.refused += 1,
                }
            }
            let mut by_document: BTreeMap<DocumentId, Vec<Chunk>> = BTreeMap::new();
            for chunk in batch.put_chunks {
                by_document.entry(chunk.document.clone()).or_default().push(chunk);
            }
            for new in &batch.put_documents {
                let Some(chunks) = by_document.remove(&new.document.id) else { continue };
                let wanted = self.wanted(&new.document, &new.text, &chunks);
                self.chunk_contexts(snapshot.as_ref(), &chunks, wanted).await?;
                self.embeddings(&chunks);
                self.chunks(snapshot.as_ref(), chunks).await?;
            }
            Ok(acceptances)
        })
    }

    /// Adds the cost of re-extracting these documents. Documents that are not in the graph are ignored.
    pub fn renew<'s>(&'s mut self, documents: &'s [DocumentId]) -> BoxFuture<'s, Result<(), IndexError>> {
        Box::pin(async move {
            let snapshot = self.engine.store.snapshot().await?;
            for id in documents {
                let target = Target::read(self.engine, snapshot.as_ref(), id).await?;
                let Some(Target { wanted, .. }) = target else { continue };
                if wanted.is_empty() {
                    self.estimate.unchanged += 1;
                    continue;
                }
                self.estimate.documents += 1;
                let pending = |(chunk, _)| Chunk { extraction: ChunkExtraction::Pending, ..chunk };
                self.chunks(snapshot.as_ref(), wanted.into_iter().map(pending).collect()).await?;
            }
            Ok(())
        })
    }

    /// Returns the estimate.
    pub fn finish(self) -> Estimate {
        let Self {
            engine,
            embeds_by_service,
            mut estimate,
            named,
            contextualize,
            extract,
            glean,
            claims,
            embed,
            ..
        } = self;
        let models = &engine.models;
        let mut push = |step, role, model: &str, counts: Counts| {
            let Counts { calls, input, output } = counts;
            if calls.high > 0 {
                let model = model.to_owned();
                let (input_tokens, output_tokens) = (input, output);
                estimate.steps.push(ExpectedCalls { step, role, model, calls, input_tokens, output_tokens });
            }
        };
        if let ContextWriter::Model(model) = &models.context_writer {
            push(Step::Contextualize, Role::Context, model.name(), contextualize);
        }
        let answers = Range {
            low: extract.output.low + glean.output.low,
            high: extract.output.high + glean.output.high,
        };
        let extracts = extract.calls;
        if let Some(model) = &models.extract {
            push(Step::Extract, Role::Extract, model.name(), extract);
            push(Step::Glean, Role::Extract, model.name(), glean);
            push(Step::Claims, Role::Extract, model.name(), claims);
        }
        if let Some(model) = &models.summarize {
            push(Step::Summarize, Role::Summarize, model.name(), summaries(&named, &engine.prompts));
        }
        if embeds_by_service {
            // Records are embedded after the merge, all records with the same name together.
            let calls = Range { low: u64::from(extracts.high > 0), high: embed.calls.high.max(1) * 2 };
            let calls = if models.extract.is_some() && extracts.high > 0 { calls } else { Range::default() };
            let graph =
                Counts { calls, input: Range { low: 0, high: answers.high }, output: Range::default() };
            push(Step::EmbedChunks, Role::Embed, models.embedder.name(), embed);
            push(Step::EmbedGraph, Role::Embed, models.embedder.name(), graph);
        }
        estimate
    }

    /// Returns how the chunks of one document are to be contextualized.
    fn wanted(&self, document: &Document, text: &str, chunks: &[Chunk]) -> Vec<ContextTask> {
        let Engine { models, prompts, tokenizer, .. } = self.engine;
        plan(&models.context_writer, prompts, *tokenizer, document, text, chunks)
    }

    /// Counts the cost of writing contexts for the chunks of one document, and what the contexts add to their vectors.
    async fn chunk_contexts(
        &mut self,
        snapshot: &dyn Snapshot,
        chunks: &[Chunk],
        wanted: Vec<ContextTask>,
    ) -> Result<(), IndexError> {
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.id.clone()).collect();
        let stored = snapshot.chunk_contexts(&ids).await?;
        for (wanted, stored) in wanted.into_iter().zip(stored) {
            match wanted {
                ContextTask::Nothing => {}
                ContextTask::Words { text, .. } => {
                    self.embed.input.add(Range::exactly(text_tokens([text.as_str()])));
                }
                ContextTask::Question(question) => {
                    self.embed.input.add(Range { low: 0, high: u64::from(MAX_CONTEXT_TOKENS) });
                    let key = std::slice::from_ref(&question.key);
                    let is_known = stored.is_some_and(|stored| stored.key == question.key)
                        || snapshot.context_texts(key).await?.iter().any(Option::is_some);
                    if !is_known && self.context.insert(question.key.clone()) {
                        let message = ChatMessage::new(ChatRole::User, question.prompt());
                        self.contextualize.calls.add(Range::exactly(1));
                        self.contextualize.input.add(Range::exactly(prompt_tokens(&[message])));
                        self.contextualize.output.add(CONTEXT_ANSWER_TOKENS);
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the vectors of these chunks of one document, without contexts.
    fn embeddings(&mut self, chunks: &[Chunk]) {
        if !chunks.is_empty() {
            let tokens = text_tokens(chunks.iter().map(|chunk| chunk.text.as_str()));
            self.embed.calls.add(Range::exactly(1));
            self.embed.input.add(Range::exactly(tokens));
        }
    }

    /// Adds the cost of new contexts for the chunks of these documents. Documents that are not in the graph are
    /// ignored.
    pub fn contextualize<'s>(
        &'s mut self,
        documents: &'s [DocumentId],
    ) -> BoxFuture<'s, Result<(), IndexError>> {
        Box::pin(async move {
            let snapshot = self.engine.store.snapshot().await?;
            for id in documents {
                let Some(target) = IndexedDocument::read(snapshot.as_ref(), id).await? else { continue };
                let chunks = target.to_contextualize(self.engine, snapshot.as_ref()).await?;
                if chunks.is_empty() {
                    self.estimate.unchanged += 1;
                    continue;
                }
                self.estimate.documents += 1;
                self.estimate.chunks += chunks.len() as u32;
                let text =
                    snapshot.texts(std::slice::from_ref(id)).await?.pop().flatten().unwrap_or_default();
                let ids: BTreeSet<&ChunkId> = chunks.iter().map(|chunk| &chunk.id).collect();
                let wanted = self.wanted(&target.document, &text, &target.chunks).into_iter();
                let wanted = wanted.zip(&target.chunks).filter(|(_, chunk)| ids.contains(&chunk.id));
                let wanted = wanted.map(|(wanted, _)| wanted).collect();
                self.chunk_contexts(snapshot.as_ref(), &chunks, wanted).await?;
                self.embeddings(&chunks);
            }
            Ok(())
        })
    }

    /// Counts the questions about the chunks of one document.
    async fn chunks(&mut self, snapshot: &dyn Snapshot, chunks: Vec<Chunk>) -> Result<(), IndexError> {
        self.estimate.chunks += chunks.len() as u32;
        let Some(model) = &self.engine.models.extract else { return Ok(()) };
        let spec = &self.engine.index.extract;
        let prompts = &self.engine.prompts;
        let keys: Vec<ExtractionKey> =
            chunks.iter().map(|chunk| extraction_key(chunk, spec, prompts, Some(model.name()))).collect();
        let stored = snapshot.extractions(&keys).await?;
        for ((chunk, key), stored) in chunks.iter().zip(keys).zip(stored) {
            let pending = chunk.extraction.is_queued();
            if !pending || stored.is_some() || !self.seen.insert(key) {
                self.estimate.reused += 1;
                continue;
            }
            self.question(chunk, spec);
        }
        Ok(())
    }

    /// Counts the questions about one chunk.
    fn question(&mut self, chunk: &Chunk, spec: &ExtractSpec) {
        let shape = spec.form.shape(&spec.entity_types);
        let input = prompt_tokens(&first_messages(chunk, spec, &self.engine.prompts))
            + shape_tokens(shape.as_deref());
        let output = answer_tokens(text_tokens([chunk.text.as_str()]));
        self.extract.calls.add(Range::exactly(1));
        self.extract.input.add(Range::exactly(input));
        self.extract.output.add(output);
        if spec.claims {
            let input = prompt_tokens(&claim_messages(chunk, &self.engine.prompts));
            self.claims.calls.add(Range::exactly(1));
            self.claims.input.add(Range::exactly(input));
            self.claims.output.add(Range { low: 0, high: output.high });
        }
        let mut names = BTreeSet::new();
        for phrase in phrases(&chunk.text) {
            match phrase.kind {
                PhraseKind::Heading | PhraseKind::Name | PhraseKind::Quoted => {
                    names.insert(phrase.text.to_lowercase());
                }
                PhraseKind::Date | PhraseKind::Quantity | PhraseKind::NounPhrase => {}
            }
        }
        let again = self.again(chunk, spec, input, output, &names);
        self.glean.calls.add(again.calls);
        self.glean.input.add(again.input);
        self.glean.output.add(again.output);
        for name in names {
            *self.named.entry(name).or_default() += 1;
        }
    }

    /// Returns the cost of asking about the chunk again.
    fn again(
        &self,
        chunk: &Chunk,
        spec: &ExtractSpec,
        input: u64,
        output: Range,
        names: &BTreeSet<String>,
    ) -> Counts {
        // Every pass sends the earlier messages again.
        let pass = |passes: u64, answers: u64| (1..=passes).map(|n| input + n * answers).sum::<u64>();
        let glean_tokens = text_tokens([self.engine.prompts.body(EXTRACT_GLEAN)]);
        let whole = |passes: u64| Counts {
            calls: Range { low: passes.min(1), high: passes },
            input: Range {
                low: pass(passes.min(1), output.low + glean_tokens),
                high: pass(passes, output.high + glean_tokens),
            },
            output: Range { low: passes.min(1), high: passes * output.high },
        };
        match spec.gleaning {
            Gleaning::Passes(passes) => whole(u64::from(passes)),
            Gleaning::Auto => match coverage(&chunk.text, &[]) {
                // Too few names to trigger a gleaning.
                Coverage::Enough => Counts::default(),
                Coverage::Unknown => whole(1),
                Coverage::Missed(_) => {
                    let listed = text_tokens(names.iter().map(String::as_str)) * 2;
                    let input_tokens =
                        input + text_tokens([self.engine.prompts.body(EXTRACT_MISSED)]) + listed;
                    Counts {
                        calls: Range { low: 0, high: 1 },
                        input: Range { low: 0, high: input_tokens },
                        output: Range { low: 0, high: output.high },
                    }
                }
            },
        }
    }
}

/// Returns the tokens of an answer about a passage of `passage` tokens.
fn answer_tokens(passage: u64) -> Range {
    let most = passage * MOST_ANSWER_PERCENT / 100 + SHORT_ANSWER_TOKENS;
    Range {
        low: passage * LEAST_ANSWER_PERCENT / 100,
        high: most.min(u64::from(MAX_RECORDS) * RECORD_TOKENS),
    }
}

/// Returns the cost of summaries, given how many chunks name each thing. A guess: other documents may name it too, and LLMs name
/// more than the rules.
fn summaries(named: &BTreeMap<String, u64>, prompts: &Prompts) -> Counts {
    let mut counts = Counts::default();
    for &mentions in named.values().filter(|mentions| **mentions >= SUMMARY_FRAGMENTS as u64) {
        let calls = 1 + mentions / GROUP_DESCRIPTIONS;
        let prompt = text_tokens([prompts.body(SUMMARIZE)]);
        counts.calls.high += calls;
        counts.input.high += mentions * DESCRIPTION_TOKENS * 2 + calls * prompt;
        counts.output.high += calls * u64::from(SUMMARY_TOKENS) / 2;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimated_answer_grows_with_the_passage_and_is_bounded_by_its_records() {
        assert_eq!(answer_tokens(100), Range { low: 20, high: 500 });
        assert_eq!(answer_tokens(1200), Range { low: 240, high: 1600 });
        assert_eq!(answer_tokens(100_000).high, 8000);
    }

    #[test]
    fn only_entities_in_many_passages_are_summarised() {
        let named =
            |mentions| summaries(&BTreeMap::from([("kelm".to_owned(), mentions)]), &Prompts::default()).calls;
        assert_eq!(named(SUMMARY_FRAGMENTS as u64 - 1), Range::default());
        assert_eq!(named(SUMMARY_FRAGMENTS as u64), Range { low: 0, high: 1 });
        assert!(named(1000).high > 80);
    }
}
