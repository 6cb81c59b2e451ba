//! What adding sources would cost, before anything is sent or stored.
//!
//! First questions are counted exactly, from the very prompts. What depends on answers is a range: how long they are,
//! which of them leave names out, and which things so many passages name that their descriptions are summarised.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use graphloom_core::{
    ChatMessage, ChatRole, Chunk, ChunkContextKey, ChunkExtraction, ChunkId, Document, DocumentId,
    ExtractionKey, JobState, Role, Snapshot, table,
};
use serde::Serialize;

use super::accept::preview;
use super::redo::Indexed;
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

/// An answer has at least this percent of its passage's tokens. Of 170 answers of several models about passages of 1,000
/// to 1,400 tokens nine in ten had 20 to 60 percent.
const LEAST_ANSWER_PERCENT: u64 = 20;
/// And at most this percent, with [`SHORT_ANSWER_TOKENS`] more, for short passages are answered at more length.
const MOST_ANSWER_PERCENT: u64 = 100;
/// Tokens of an answer about the shortest passage, at most.
const SHORT_ANSWER_TOKENS: u64 = 400;
/// Tokens of a record, at most.
const RECORD_TOKENS: u64 = 80;
/// Tokens of one description, at most; it has one or two sentences.
const DESCRIPTION_TOKENS: u64 = 60;
/// Descriptions that one summary call joins on average where there are many.
const GROUP_DESCRIPTIONS: u64 = 12;

/// Tokens of what a model says to contextualize a chunk; the source tells of 50 to 100.
const CONTEXT_ANSWER_TOKENS: Range = Range { low: 20, high: 150 };

/// From the least to the most that is likely.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Range {
    /// At least.
    pub low: u64,
    /// At most, unless answers are unusual.
    pub high: u64,
}

impl Range {
    pub(super) fn exactly(number: u64) -> Self {
        Self { low: number, high: number }
    }

    /// Whether both ends are one.
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
    /// In which role.
    pub role: Role,
    /// The model asked.
    pub model: String,
    /// How many.
    pub calls: Range,
    /// Tokens sent.
    pub input_tokens: Range,
    /// Tokens received.
    pub output_tokens: Range,
}

/// What calls are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Where each chunk stands in its document; exact but for what is answered.
    Contextualize,
    /// The first question about each chunk; exact.
    Extract,
    /// Asking again for what the first answer left out.
    Glean,
    /// The question for the claims of each chunk; exact but for what is answered.
    Claims,
    /// Descriptions of what many passages name.
    Summarize,
    /// Vectors of chunks; exact but for what models say of them.
    EmbedChunks,
    /// Vectors of entities and relations.
    EmbedGraph,
    /// Texts of the nodes of a layer.
    WriteNodes,
    /// Vectors of the nodes of a layer.
    EmbedNodes,
    /// Vectors of everything by another embedder; its tokens are exact.
    ReEmbed,
}

impl Step {
    /// What people read.
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

/// What adding would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Documents that would be new, or a new version.
    pub documents: u32,
    /// Documents that are there as they are; they cost nothing.
    pub unchanged: u32,
    /// Sources that cannot be read.
    pub refused: u32,
    /// Documents accepted before that still wait; the same run works on them.
    pub waiting: u32,
    /// Chunks of the new and the waiting documents.
    pub chunks: u32,
    /// Of those, chunks whose extraction is stored or is paid for by an equal chunk; they cost no extraction.
    pub reused: u32,
    /// The calls, by what they are for.
    pub steps: Vec<ExpectedCalls>,
}

/// Adds up what sources would cost, a list at a time. Nothing is stored and no model is asked.
pub struct Estimator<'a> {
    engine: &'a Engine,
    /// Whether vectors are made by a service; models in process cost nothing.
    embeds_by_service: bool,
    estimate: Estimate,
    seen: BTreeSet<ExtractionKey>,
    context: BTreeSet<ChunkContextKey>,
    /// Chunks to be extracted that name each thing.
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
    /// Starts with nothing.
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

    /// Starts with what waits in the store from before.
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

    /// What is too large to read.
    pub fn limits(&self) -> ParseLimits {
        self.engine.index.limits
    }

    /// Adds what these sources would cost and says what would become of each, in order.
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

    /// The whole.
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
            // Records are embedded once they are in the graph, those of one name together.
            let calls = Range { low: u64::from(extracts.high > 0), high: embed.calls.high.max(1) * 2 };
            let calls = if models.extract.is_some() && extracts.high > 0 { calls } else { Range::default() };
            let graph =
                Counts { calls, input: Range { low: 0, high: answers.high }, output: Range::default() };
            push(Step::EmbedChunks, Role::Embed, models.embedder.name(), embed);
            push(Step::EmbedGraph, Role::Embed, models.embedder.name(), graph);
        }
        estimate
    }

    /// How the chunks of one document are to be contextualized.
    fn wanted(&self, document: &Document, text: &str, chunks: &[Chunk]) -> Vec<ContextTask> {
        let Engine { models, prompts, tokenizer, .. } = self.engine;
        plan(&models.context_writer, prompts, *tokenizer, document, text, chunks)
    }

    /// Counts what context the chunks of one document costs, and what their contexts add to their vectors.
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
                ContextTask::Asked(question) => {
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

    /// Counts the vectors of these chunks of one document, their own words alone.
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
                let Some(target) = Indexed::read(snapshot.as_ref(), id).await? else { continue };
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

    /// Counts what is asked about the chunks of one document.
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

    /// Counts what one chunk is asked.
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

    /// What asking about the chunk again may cost.
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
                // So few names that none is ever missed enough.
                Coverage::Enough => Counts::default(),
                Coverage::Unknown => whole(1),
                Coverage::Missed(_) => {
                    let listed = text_tokens(names.iter().map(String::as_str)) * 2;
                    let asked = input + text_tokens([self.engine.prompts.body(EXTRACT_MISSED)]) + listed;
                    Counts {
                        calls: Range { low: 0, high: 1 },
                        input: Range { low: 0, high: asked },
                        output: Range { low: 0, high: output.high },
                    }
                }
            },
        }
    }
}

/// Tokens of an answer about a passage of so many tokens.
fn answer_tokens(passage: u64) -> Range {
    let most = passage * MOST_ANSWER_PERCENT / 100 + SHORT_ANSWER_TOKENS;
    Range {
        low: passage * LEAST_ANSWER_PERCENT / 100,
        high: most.min(u64::from(MAX_RECORDS) * RECORD_TOKENS),
    }
}

/// Summaries of what so many chunks name. Other documents may name it too and models name more, so it is a guess.
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
    fn an_answer_is_longer_for_a_longer_passage_and_bounded_by_its_records() {
        assert_eq!(answer_tokens(100), Range { low: 20, high: 500 });
        assert_eq!(answer_tokens(1200), Range { low: 240, high: 1600 });
        assert_eq!(answer_tokens(100_000).high, 8000);
    }

    #[test]
    fn only_what_many_passages_name_is_summarised() {
        let named =
            |mentions| summaries(&BTreeMap::from([("kelm".to_owned(), mentions)]), &Prompts::default()).calls;
        assert_eq!(named(SUMMARY_FRAGMENTS as u64 - 1), Range::default());
        assert_eq!(named(SUMMARY_FRAGMENTS as u64), Range { low: 0, high: 1 });
        assert!(named(1000).high > 80);
    }
}
