//! Suggests questions to ask next, each with the sentence of the documents that answers it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use futures::future::BoxFuture;
use graphloom_core::{
    CallOutcome, ChatRequest, Chunk, ChunkId, Document, DocumentId, Entity, EntityKey, GraphKey, ItemKind,
    LanguageModel, Role, SearchRequest, Snapshot, Span, Visibility,
};
use serde::Serialize;

use super::calls::{QueryCost, Timer};
use super::cite::{ContentWords, likeness};
use super::keywords::object_in;
use super::overview::is_topic;
use super::reports::{LayerState, coarsest_reports, layer_state, within};
use super::{QueryError, prompts};
use crate::Engine;
use crate::explore::popular_labels;
use graphloom_offline::{NamedEntity, Passage, answer_in, question_forms};
use graphloom_text::{entity_key, one_line, sentences};

/// Maximum number of suggested questions.
pub const MAX_SUGGESTIONS: usize = 50;
/// Longest text to suggest questions about, in characters.
pub const MAX_ABOUT_CHARS: usize = 8_000;
/// Maximum number of entities that questions are about if no text is given.
const ENTITIES: usize = 60;
/// Maximum number of entities that a text names.
const NAMED: usize = 8;
/// Maximum number of word groups of a text that are looked up as names.
const MAX_CANDIDATES: usize = 5_000;
/// Relations of an entity whose passages are read.
const RELATIONS: usize = 8;
/// Chunks read for each entity or relation.
const CHUNKS_BEHIND: usize = 4;
/// Reports whose findings are read.
const REPORTS: usize = 20;
/// Findings read per report.
const FINDINGS: usize = 3;
/// Maximum number of questions of the rules that are tried on their passage, which takes milliseconds each time. It is enough for
/// [`MAX_SUGGESTIONS`], which take one or two tries each.
const MAX_TRIES: usize = 150;
/// Excerpts for an LLM, and tokens of each.
const EXCERPTS: usize = 24;
const EXCERPT_TOKENS: u32 = 300;
/// Output limit of the call.
const OUTPUT_TOKENS: u32 = 4_096;
/// Minimum likeness between an LLM's question and a sentence of its excerpt.
const LEAST_LIKENESS: f64 = 0.02;

/// Questions that the documents answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Suggestions {
    /// The questions, the most interesting first.
    pub questions: Vec<Suggestion>,
    /// The model that proposed them; `None` for rules.
    pub model: Option<String>,
    /// Number of proposals that no sentence of the documents answers.
    pub dropped: u32,
    /// Model calls of the suggestions.
    #[serde(flatten)]
    pub cost: QueryCost,
}

/// A question with the sentence that answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The question.
    pub question: String,
    /// The document of the sentence.
    pub document: DocumentId,
    /// Source of the document.
    pub source: String,
    /// Byte range in the document's text.
    pub span: Span,
    /// First and last line in the document's text, counted from 1.
    pub lines: (u32, u32),
    /// The sentence, verbatim except for white space.
    pub quote: String,
}

/// Returns at most `count` questions that the documents answer.
///
/// - `about`: a name, or a text such as the last answer. The questions are then about the entities that it names. Returns
///   [`QueryError::NothingNamed`] if it names none.
/// - Without `about`, the questions come from the reports of communities, if there are any, and from the entities with most
///   relations.
/// - An answer model proposes the questions in one call; without one, rules do. A proposal that no sentence of its passage
///   answers is dropped and counted.
pub fn suggest<'a>(
    engine: &'a Engine,
    about: Option<&'a str>,
    count: usize,
) -> BoxFuture<'a, Result<Suggestions, QueryError>> {
    Box::pin(async move {
        let count = count.min(MAX_SUGGESTIONS);
        let size = about.map_or(0, |text| text.chars().count());
        if size > MAX_ABOUT_CHARS {
            return Err(QueryError::TooMuch { what: "characters of about", size, limit: MAX_ABOUT_CHARS });
        }
        let snapshot = engine.store.snapshot().await?;
        let excerpts =
            Excerpts::read(snapshot.as_ref(), about.map(str::trim).filter(|about| !about.is_empty())).await?;
        drop(snapshot);
        if excerpts.list.is_empty() || count == 0 {
            return Ok(Suggestions::default());
        }
        let mut cost = QueryCost::default();
        let suggested = match engine.models.answer.as_deref() {
            Some(model) => by_model(engine, model, &excerpts, count, &mut cost).await,
            None => Ok(by_rules(&excerpts, count)),
        };
        cost.store(engine).await;
        let suggested = suggested.map_err(|error| error.logged(&cost))?;
        Ok(Suggestions { cost, ..suggested })
    })
}

/// A sentence that may answer a question, and the entities that it names.
struct Excerpt {
    chunk: ChunkId,
    range: Range<usize>,
    /// The main entity of the sentence first.
    names: Vec<NamedEntity>,
}

#[derive(Default)]
struct Excerpts {
    /// Names of the entities that the questions must be about; empty if any are allowed.
    subjects: Vec<String>,
    list: Vec<Excerpt>,
    chunks: BTreeMap<ChunkId, Chunk>,
    documents: BTreeMap<DocumentId, Document>,
    texts: BTreeMap<DocumentId, String>,
}

impl Excerpts {
    async fn read(snapshot: &dyn Snapshot, about: Option<&str>) -> Result<Self, QueryError> {
        let mut excerpts = Self::default();
        let subjects = match about {
            Some(about) => named_in(snapshot, about).await?,
            None => {
                if layer_state(snapshot).await? != LayerState::Missing {
                    excerpts.add_findings(snapshot).await?;
                }
                let labels = popular_labels(snapshot, ENTITIES).await?;
                let keys: Vec<EntityKey> = labels.into_iter().map(|label| label.key).collect();
                snapshot.entities(&keys).await?.into_iter().flatten().filter(is_topic).collect()
            }
        };
        if about.is_some() {
            excerpts.subjects = subjects.iter().map(|entity| entity.name.clone()).collect();
        }
        excerpts.add_entities(snapshot, &subjects, about.is_some()).await?;
        excerpts.list.retain(|excerpt| {
            let document = excerpts.chunks.get(&excerpt.chunk).map(|chunk| &chunk.document);
            let document = document.and_then(|id| excerpts.documents.get(id));
            document.is_some_and(|document| document.visibility == Visibility::Live)
        });
        Ok(excerpts)
    }

    /// Adds the sentences behind the first findings of the best rated communities.
    async fn add_findings(&mut self, snapshot: &dyn Snapshot) -> Result<(), QueryError> {
        let reports = coarsest_reports(snapshot, REPORTS).await?;
        let mut references = Vec::new();
        for at in 0..FINDINGS {
            let findings = reports.iter().filter_map(|report| report.findings.get(at));
            references.extend(findings.filter_map(|finding| finding.references.first()));
        }
        self.load(snapshot, references.iter().map(|reference| &reference.chunk)).await?;
        for reference in references {
            let Some(chunk) = self.chunks.get(&reference.chunk) else { continue };
            let Some(range) = within(chunk.span, reference.span, &chunk.text) else { continue };
            let names = names_in(snapshot, &chunk.id, &chunk.text[range.clone()]).await?;
            self.list.push(Excerpt { chunk: reference.chunk.clone(), range, names });
        }
        Ok(())
    }

    /// Adds the most informative sentence about each entity; with `relations`, also the sentences that state its relations.
    async fn add_entities(
        &mut self,
        snapshot: &dyn Snapshot,
        entities: &[Entity],
        relations: bool,
    ) -> Result<(), QueryError> {
        let keys: Vec<GraphKey> =
            entities.iter().map(|entity| GraphKey::Entity(entity.key.clone())).collect();
        let behind = snapshot.chunks_behind(&keys, None, CHUNKS_BEHIND).await?;
        self.load(snapshot, behind.iter().flatten()).await?;
        for (entity, ids) in entities.iter().zip(&behind) {
            self.add_sentence(&[entity], ids);
        }
        if !relations {
            return Ok(());
        }
        let subjects: Vec<EntityKey> = entities.iter().map(|entity| entity.key.clone()).collect();
        for (entity, mut found) in entities.iter().zip(snapshot.relations_of(&subjects).await?) {
            found.sort_by(|one, other| {
                other.weight.total_cmp(&one.weight).then_with(|| one.key.cmp(&other.key))
            });
            found.truncate(RELATIONS);
            let others: Vec<EntityKey> = found
                .iter()
                .map(|relation| {
                    let other = relation.key.ends().into_iter().find(|end| **end != entity.key);
                    other.unwrap_or(relation.key.a()).clone()
                })
                .collect();
            let others = snapshot.entities(&others).await?;
            let keys: Vec<GraphKey> =
                found.iter().map(|relation| GraphKey::Relation(relation.key.clone())).collect();
            let behind = snapshot.chunks_behind(&keys, None, CHUNKS_BEHIND).await?;
            self.load(snapshot, behind.iter().flatten()).await?;
            for (other, ids) in others.iter().flatten().zip(&behind) {
                self.add_sentence(&[other, entity], ids);
                self.add_sentence(&[entity, other], ids);
            }
        }
        Ok(())
    }

    /// Adds the most informative sentence of these chunks about the first entity, if it names all of the entities.
    fn add_sentence(&mut self, about: &[&Entity], chunks: &[ChunkId]) {
        let chunks: Vec<&Chunk> = chunks.iter().filter_map(|id| self.chunks.get(id)).collect();
        let passages: Vec<Passage<'_>> = chunks.iter().map(|chunk| passage_of(chunk)).collect();
        let Some(quote) =
            about.first().and_then(|entity| graphloom_offline::sentence_about(&entity.name, &passages))
        else {
            return;
        };
        let chunk = chunks[quote.passage];
        let sentence = &chunk.text[quote.range.clone()];
        if !about.iter().skip(1).all(|entity| sentence.contains(&entity.name)) {
            return;
        }
        let names =
            about.iter().map(|entity| NamedEntity { name: entity.name.clone(), kind: entity.kind.clone() });
        let chunk = chunk.id.clone();
        self.list.push(Excerpt { chunk, range: quote.range, names: names.collect() });
    }

    async fn load(
        &mut self,
        snapshot: &dyn Snapshot,
        ids: impl Iterator<Item = &ChunkId>,
    ) -> Result<(), QueryError> {
        let ids: BTreeSet<ChunkId> = ids.filter(|id| !self.chunks.contains_key(*id)).cloned().collect();
        let ids: Vec<ChunkId> = ids.into_iter().collect();
        for chunk in snapshot.chunks(&ids).await?.into_iter().flatten() {
            self.chunks.insert(chunk.id.clone(), chunk);
        }
        let owners: BTreeSet<DocumentId> = (self.chunks.values())
            .map(|chunk| chunk.document.clone())
            .filter(|id| !self.documents.contains_key(id))
            .collect();
        let owners: Vec<DocumentId> = owners.into_iter().collect();
        let texts = snapshot.texts(&owners).await?;
        for ((id, document), text) in owners.iter().zip(snapshot.documents(&owners).await?).zip(texts) {
            if let (Some(document), Some(text)) = (document, text) {
                self.documents.insert(id.clone(), document);
                self.texts.insert(id.clone(), text);
            }
        }
        Ok(())
    }

    /// True if a question or its answer names one of the subjects, or if there are no subjects.
    fn is_about_subjects(&self, question: &str, sentence: &str) -> bool {
        let names = |name: &String| question.contains(name.as_str()) || sentence.contains(name.as_str());
        self.subjects.is_empty() || self.subjects.iter().any(names)
    }

    /// Returns a suggestion: the question with the sentence of a chunk that answers it.
    fn suggestion(&self, question: String, chunk: &Chunk, range: Range<usize>) -> Option<Suggestion> {
        let (document, text) = (self.documents.get(&chunk.document)?, self.texts.get(&chunk.document)?);
        let span = chunk.span.within(Span::new(range.start, range.end));
        Some(Suggestion {
            question,
            document: document.id.clone(),
            source: document.source.clone(),
            lines: span.lines_in(text),
            quote: one_line(span.slice(text)?),
            span,
        })
    }
}

/// Returns the entities that a text names. If the whole text is the name of an entity, returns only that one.
async fn named_in(snapshot: &dyn Snapshot, about: &str) -> Result<Vec<Entity>, QueryError> {
    if let Some(key) = entity_key(about)
        && let Some(entity) = snapshot.entities(&[key]).await?.pop().flatten()
    {
        return Ok(vec![entity]);
    }
    let mut candidates = BTreeSet::new();
    graphloom_offline::known_names(about, |key| {
        candidates.insert(key.clone());
        false
    });
    let candidates: Vec<EntityKey> = candidates.into_iter().take(MAX_CANDIDATES).collect();
    let found = snapshot.entities(&candidates).await?;
    let there: BTreeSet<EntityKey> = found.into_iter().flatten().map(|entity| entity.key).collect();
    let known = graphloom_offline::known_names(about, |key| there.contains(key));
    let mut keys: Vec<EntityKey> = Vec::new();
    for known in known {
        if !keys.contains(&known.key) {
            keys.push(known.key);
        }
    }
    if keys.is_empty() {
        // The text may be a part of a name, such as a family name.
        let request = SearchRequest::by_words(ItemKind::Entity, about, NAMED);
        let hits = snapshot.search(&[request]).await?.into_iter().flatten();
        let found: Vec<EntityKey> = hits.filter_map(|hit| hit.item.into_entity()).collect();
        let words: BTreeSet<String> = words_of(about);
        let entities = snapshot.entities(&found).await?.into_iter().flatten();
        keys.extend(
            entities.filter(|entity| !words_of(&entity.name).is_disjoint(&words)).map(|entity| entity.key),
        );
    }
    keys.truncate(NAMED);
    let entities: Vec<Entity> =
        snapshot.entities(&keys).await?.into_iter().flatten().filter(is_topic).collect();
    match entities.is_empty() {
        true => Err(QueryError::NothingNamed { about: about.chars().take(80).collect() }),
        false => Ok(entities),
    }
}

fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
    words.map(str::to_lowercase).collect()
}

/// Returns the entities of a chunk whose names occur in one of its sentences, in the order of the sentence.
async fn names_in(
    snapshot: &dyn Snapshot,
    chunk: &ChunkId,
    sentence: &str,
) -> Result<Vec<NamedEntity>, QueryError> {
    let keys = snapshot.graph_keys_of(std::slice::from_ref(chunk)).await?;
    let keys: Vec<EntityKey> = keys
        .into_iter()
        .filter_map(|key| match key {
            GraphKey::Entity(key) => Some(key),
            GraphKey::Relation(_) => None,
        })
        .collect();
    let entities = snapshot.entities(&keys).await?.into_iter().flatten().filter(is_topic);
    let mut found: Vec<(usize, NamedEntity)> = entities
        .filter_map(|entity| {
            Some((sentence.find(&entity.name)?, NamedEntity { name: entity.name, kind: entity.kind }))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0).then_with(|| one.1.name.cmp(&other.1.name)));
    Ok(found.into_iter().map(|(_, named)| named).collect())
}

/// Suggests questions about the names in each sentence by filling in question forms, if the passage answers them.
fn by_rules(excerpts: &Excerpts, count: usize) -> Suggestions {
    let mut suggestions = Suggestions::default();
    let (mut suggested, mut quoted, mut tried) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for excerpt in &excerpts.list {
        let Some(chunk) = excerpts.chunks.get(&excerpt.chunk) else { continue };
        let lower = chunk.text.to_lowercase();
        for form in question_forms(&chunk.text[excerpt.range.clone()], &excerpt.names) {
            if suggestions.questions.len() == count || tried.len() == MAX_TRIES {
                return suggestions;
            }
            if suggested.contains(&form.question) || !form.may_be_answered_by(&chunk.text, &lower) {
                continue;
            }
            if !tried.insert((chunk.id.clone(), form.question.clone())) {
                continue;
            }
            let Some(range) = form.answer_in(passage_of(chunk)) else { continue };
            if !excerpts.is_about_subjects(&form.question, &chunk.text[range.clone()]) {
                continue;
            }
            if !quoted.insert((chunk.id.clone(), range.start)) {
                continue;
            }
            suggested.insert(form.question.clone());
            suggestions.questions.extend(excerpts.suggestion(form.question, chunk, range));
            break;
        }
    }
    suggestions
}

/// Returns a chunk as a passage without its title.
fn passage_of(chunk: &Chunk) -> Passage<'_> {
    Passage { text: &chunk.text, title: "", headings: &chunk.breadcrumb }
}

/// Lets a model propose questions from the excerpts. Keeps those that are similar to a sentence of their excerpt.
async fn by_model(
    engine: &Engine,
    model: &dyn LanguageModel,
    excerpts: &Excerpts,
    count: usize,
    cost: &mut QueryCost,
) -> Result<Suggestions, QueryError> {
    let mut shown: Vec<&Chunk> = Vec::new();
    for excerpt in &excerpts.list {
        let Some(chunk) = excerpts.chunks.get(&excerpt.chunk) else { continue };
        if shown.len() < EXCERPTS && !shown.iter().any(|known| known.id == chunk.id) {
            shown.push(chunk);
        }
    }
    let lines: Vec<String> = (1..)
        .zip(&shown)
        .map(|(number, chunk): (usize, _)| {
            let title = excerpts.documents.get(&chunk.document).map_or("", |document| &document.title);
            let text = one_line(engine.tokenizer.truncate(&chunk.text, EXCERPT_TOKENS));
            format!("{number}. {}: {text}", one_line(title))
        })
        .collect();
    let messages = prompts::suggest_questions(&engine.prompts, count, &lines.join("\n"));
    let request = ChatRequest {
        messages,
        json_object: true,
        max_output_tokens: Some(OUTPUT_TOKENS),
        ..ChatRequest::default()
    };
    let timer = Timer::start(engine, Role::Answer, model.name());
    let (response, completion) = match graphloom_core::complete(model, request).await {
        Ok(answered) => answered,
        Err(error) => {
            cost.calls.push(timer.failed(error.to_string()));
            return Err(error.into());
        }
    };
    let call = timer.completed(completion);
    let is_cut = call.outcome == CallOutcome::Truncated;
    cost.calls.push(call);
    let Some(proposed) = read(&response) else {
        let what = match is_cut {
            true => "the answer was cut off".to_owned(),
            false => "the answer has no questions".to_owned(),
        };
        let model = model.name().to_owned();
        return Err(graphloom_core::ModelError::Malformed { model, what }.into());
    };
    let words = ContentWords::new();
    let mut suggestions = Suggestions { model: Some(model.name().to_owned()), ..Suggestions::default() };
    for (question, number) in proposed {
        if suggestions.questions.len() == count {
            break;
        }
        let chunk = number.checked_sub(1).and_then(|place| shown.get(place));
        let answered = chunk.and_then(|chunk| Some((chunk, sentence_for(&question, chunk, &words)?)));
        let known = suggestions.questions.iter().any(|known| known.question == question);
        match answered.and_then(|(chunk, range)| excerpts.suggestion(question, chunk, range)) {
            Some(suggestion) if !known => suggestions.questions.push(suggestion),
            Some(_) => {}
            None => suggestions.dropped += 1,
        }
    }
    Ok(suggestions)
}

/// Returns the sentence of the chunk that answers the question according to the rules, otherwise the most similar sentence.
fn sentence_for(question: &str, chunk: &Chunk, words: &ContentWords) -> Option<Range<usize>> {
    if let Some(range) = answer_in(question, passage_of(chunk)) {
        return Some(range);
    }
    let question_words = words.of(question);
    let scored = sentences(&chunk.text).into_iter().map(|range| {
        let score = likeness(&question_words, &words.of(&chunk.text[range.clone()]));
        (score, range)
    });
    let (score, range) =
        scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.start.cmp(&one.1.start)))?;
    (score >= LEAST_LIKENESS).then_some(range)
}

/// Reads questions with the numbers of their excerpts from a model's response; `None` if it has no such list.
fn read(response: &str) -> Option<Vec<(String, usize)>> {
    let value = object_in(response)?;
    let questions = value["questions"].as_array()?.iter().filter_map(|item| {
        let question = one_line(item["question"].as_str()?.trim());
        let excerpt = &item["excerpt"];
        let number = excerpt.as_u64().or_else(|| excerpt.as_str()?.trim().parse().ok())?;
        let fits = !question.is_empty() && question.chars().count() <= super::MAX_QUESTION_CHARS;
        fits.then_some((question, usize::try_from(number).unwrap_or(0)))
    });
    Some(questions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_read_with_the_numbers_of_their_excerpts() {
        let answer = r#"Here: {"questions": [{"question": " Who  wrote? ", "excerpt": 2}, {"question": "", "excerpt": 1},
            {"question": "When?", "excerpt": "3"}, {"question": "Where?"}]}"#;
        let expected = [("Who wrote?".to_owned(), 2), ("When?".to_owned(), 3)];
        assert_eq!(read(answer).as_deref(), Some(&expected[..]));
        for nonsense in ["", "no", "{}", r#"{"questions": "none"}"#] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
