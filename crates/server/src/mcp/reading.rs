//! Tools that read: they search, answer, show sources and walk the graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphloom_core::{
    Document, DocumentFilter, DocumentId, EntityKey, GraphKey, Snapshot, Span, StoreError, Visibility,
};
use graphloom_engine::claims::claims_of_entity;
use graphloom_engine::explore::{self, SubgraphQuery};
use graphloom_engine::index;
use graphloom_engine::query::{self, AnswerKind, Mode, QueryNote, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::row::{Row, ToolCall, schema_of};
use crate::access::Right;
use crate::answering::answer_from;
use crate::behind::Behind;
use crate::host::IfMissing;
use crate::place::CitationItem;
use crate::problem::Problem;
use crate::query_request::mode_schema;
use crate::route::Load;
use crate::routes::{Suggestions, citations, suggested};

/// Maximum hits of each kind.
const MAX_HITS: usize = 50;
/// Maximum bytes of a document per call; about 16,000 tokens.
const MAX_TEXT: usize = 64 << 10;
/// Default bytes of a document per call.
const TEXT: usize = 16 << 10;
/// Maximum distance in relations; call again from there to go further.
const MAX_DEPTH: u32 = 3;
/// Maximum entities of a neighbourhood.
const MAX_ENTITIES: usize = 200;
/// Maximum chunks whose sources are listed per entity or relation.
const MAX_CHUNKS_BEHIND: usize = 10;

/// Claims about an entity, at most.
const MAX_CLAIMS: usize = 50;
/// Maximum suggestions for an unknown name.
const NEAR: usize = 5;

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "search",
        title: "Search the documents",
        about: "Finds passages of the documents, and entities and relations of their knowledge graph, by words and by \
                meaning, best first. Does not call an LLM. Use it to find what the documents say about a topic.",
        right: Right::Read,
        load: Load::Question,
        destroys: false,
        takes: schema_of::<SearchInput>,
        gives: schema_of::<SearchOutput>,
        call: |calling, arguments| calling.answer(arguments, search),
    },
    Row {
        name: "ask",
        title: "Ask the documents",
        about: "Answers a question from the documents. Numbers in the answer are citations, each with its place in a \
                document and the verbatim quote. Use it to get an answer rather than passages.",
        right: Right::Read,
        load: Load::Question,
        destroys: false,
        takes: schema_of::<AskInput>,
        gives: schema_of::<AskOutput>,
        call: |calling, arguments| calling.answer(arguments, ask),
    },
    Row {
        name: "suggest_questions",
        title: "Suggest questions",
        about: "Questions that the documents answer, each with the sentence that answers it. Use it to find out what can \
                be asked, about everything or about one name.",
        right: Right::Read,
        load: Load::Question,
        destroys: false,
        takes: schema_of::<SuggestInput>,
        gives: schema_of::<SuggestOutput>,
        call: |calling, arguments| calling.answer(arguments, suggest_questions),
    },
    Row {
        name: "get_source",
        title: "Read a document",
        about: "The text of a document or of a part of it, and its indexing status. Takes the document or \
                file_path of a hit or citation, and the first byte of its span to read from there.",
        right: Right::Read,
        load: Load::Look,
        destroys: false,
        takes: schema_of::<SourceInput>,
        gives: schema_of::<SourceOutput>,
        call: |calling, arguments| calling.answer(arguments, get_source),
    },
    Row {
        name: "graph_neighbors",
        title: "Walk the knowledge graph",
        about: "The entities around an entity and their relations, with the documents that state them. * as the \
                entity returns the entities of the whole graph with the most relations.",
        right: Right::Read,
        load: Load::Look,
        destroys: false,
        takes: schema_of::<NeighborsInput>,
        gives: schema_of::<NeighborsOutput>,
        call: |calling, arguments| calling.answer(arguments, graph_neighbors),
    },
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// What to look for: words, a name, or a question.
    query: String,
    /// Maximum hits of each kind, 1 to 50.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
    /// Only documents that match this filter.
    #[schemars(schema_with = "filter_schema")]
    filter: Option<DocumentFilter>,
}

fn ten() -> usize {
    10
}

#[derive(Default, Serialize, JsonSchema)]
struct SearchOutput {
    /// Parts of documents, best first.
    passages: Vec<Passage>,
    /// Entities of the graph, best first.
    entities: Vec<EntityItem>,
    /// Relations of the graph, best first.
    relations: Vec<RelationItem>,
    /// Why there is nothing to search.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Passage {
    /// Id of the document.
    document: String,
    /// Its name.
    file_path: String,
    /// Its title.
    title: String,
    /// First byte and end byte (exclusive) in the document's text.
    span: [u64; 2],
    /// First and last line, from 1.
    lines: [u32; 2],
    /// The pages, slides or sheets of the passage.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The text.
    text: String,
    /// Comparable only within one response.
    score: f64,
}

#[derive(Serialize, JsonSchema)]
struct EntityItem {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    description: String,
    /// Distance in relations from the starting entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    /// Names of documents that mention it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_paths: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
struct RelationItem {
    /// Names of both entities; a relation has no direction.
    ends: [String; 2],
    keywords: Vec<String>,
    description: String,
    /// Names of documents that state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_paths: Option<Vec<String>>,
}

async fn search(
    calling: Arc<ToolCall>,
    SearchInput { query, limit, filter }: SearchInput,
) -> Result<SearchOutput, Problem> {
    within("limit", limit, MAX_HITS)?;
    let Some(space) = calling.space_if_any().await? else {
        return Ok(SearchOutput { notes: vec![calling.adds_documents()], ..SearchOutput::default() });
    };
    let hits = query::search(&space.asking, &query, limit, filter.as_ref()).await?;
    let passages = hits.passages.into_iter().map(|hit| Passage {
        document: hit.chunk.document.to_string(),
        file_path: hit.source,
        title: hit.title,
        span: [hit.chunk.span.start, hit.chunk.span.end],
        lines: [hit.lines.0, hit.lines.1],
        place: hit.place.map(|place| place.to_string()),
        text: hit.chunk.text,
        score: hit.score,
    });
    let entities = hits.entities.into_iter().map(|hit| EntityItem {
        name: hit.entity.name,
        kind: hit.entity.kind,
        description: hit.entity.description,
        depth: None,
        file_paths: None,
    });
    let relations = hits.relations.into_iter().map(|hit| RelationItem {
        ends: hit.ends,
        keywords: hit.relation.keywords,
        description: hit.relation.description,
        file_paths: None,
    });
    Ok(SearchOutput {
        passages: passages.collect(),
        entities: entities.collect(),
        relations: relations.collect(),
        notes: calling.notes_if_empty(&space).await?,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskInput {
    /// The question, understandable on its own.
    question: String,
    /// How to search; auto suits most questions.
    #[serde(default = "auto")]
    #[schemars(schema_with = "mode_schema", default = "auto")]
    mode: Mode,
    /// Only documents that match this filter.
    #[schemars(schema_with = "filter_schema")]
    filter: Option<DocumentFilter>,
}

fn auto() -> Mode {
    Mode::Auto
}

/// The answer in a workspace that does not exist yet.
const EMPTY: &str = "There are no documents to search yet.";

#[derive(Default, Serialize, JsonSchema)]
struct AskOutput {
    /// The answer; numbers in brackets refer to citations.
    answer: String,
    /// Whether an LLM wrote it; otherwise it consists of verbatim sentences.
    llm_generated: bool,
    /// `answer`; `closest` if no sentence answers the question and the closest passages are returned; `overview`
    /// of all documents; `not_found`; `empty` if there are no documents; or `greeting`.
    answer_kind: Option<String>,
    /// The cited places, each verified against the document.
    citations: Vec<CitationItem>,
    /// The documents of the context.
    documents: Vec<ConsultedDocument>,
    /// What could not be done as requested.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ConsultedDocument {
    /// Number in the answer.
    number: u32,
    /// Id of the document.
    document: String,
    /// Name of the document.
    file_path: String,
}

async fn ask(
    calling: Arc<ToolCall>,
    AskInput { question, mode, filter }: AskInput,
) -> Result<AskOutput, Problem> {
    let text = question.trim().to_owned();
    let mut question = Question { text, mode, filter, stream: false, ..Question::default() };
    question.check()?;
    let Some(space) = calling.space_if_any().await? else {
        return Ok(AskOutput {
            answer: EMPTY.to_owned(),
            answer_kind: Some(AnswerKind::Empty.to_string()),
            notes: vec![calling.adds_documents()],
            ..AskOutput::default()
        });
    };
    question.prefix_user_prompt(&space.user_prompt_prefix);
    let engine = &space.asking;
    let retrieval = query::retrieve(engine, &question).await.map_err(|error| calling.problem_of(error))?;
    let answered = answer_from(engine, &question, &retrieval, &mut |_| {}).await?;
    let mut notes: Vec<String> = retrieval.notes.iter().map(QueryNote::to_string).collect();
    notes.extend(answered.notes());
    notes.extend(calling.notes_if_empty(&space).await?);
    let documents = retrieval.references.iter().map(|reference| ConsultedDocument {
        number: reference.number,
        document: reference.document.to_string(),
        file_path: reference.source.clone(),
    });
    Ok(AskOutput {
        citations: citations(&answered),
        documents: documents.collect(),
        notes,
        llm_generated: answered.by_model,
        answer_kind: answered.kind_name(),
        answer: answered.text,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SuggestInput {
    /// A name, or a text such as the last answer; the questions are about the entities that it names [default: the
    /// documents as a whole].
    about: Option<String>,
    /// Maximum questions, 1 to 50.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = MAX_HITS))]
    limit: usize,
}

fn five() -> usize {
    5
}

#[derive(Default, Serialize, JsonSchema)]
struct SuggestOutput {
    #[serde(flatten)]
    suggestions: Suggestions,
    /// Why there is nothing to ask.
    notes: Vec<String>,
}

async fn suggest_questions(
    calling: Arc<ToolCall>,
    SuggestInput { about, limit }: SuggestInput,
) -> Result<SuggestOutput, Problem> {
    within("limit", limit, MAX_HITS)?;
    let Some(space) = calling.space_if_any().await? else {
        return Ok(SuggestOutput { notes: vec![calling.adds_documents()], ..SuggestOutput::default() });
    };
    let notes = calling.notes_if_empty(&space).await?;
    Ok(SuggestOutput { suggestions: suggested(&space.asking, about.as_deref(), limit).await?, notes })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SourceInput {
    /// The document's id or its name (file_path).
    document: String,
    /// First byte to read, such as the start of a span [default: the start of the document].
    #[serde(default)]
    start: u64,
    /// Bytes to read, 1 to 65536.
    #[serde(default = "text_bytes")]
    #[schemars(range(min = 1, max = 65536))]
    max_bytes: usize,
}

fn text_bytes() -> usize {
    TEXT
}

#[derive(Serialize, JsonSchema)]
struct SourceOutput {
    /// The document's id.
    document: String,
    /// Its name.
    file_path: String,
    /// Its title.
    title: String,
    /// Format of the source.
    format: String,
    /// Indexing status: waiting, indexing, ready, incomplete, failed or cancelled.
    status: String,
    /// Length of the whole text in bytes.
    total_bytes: u64,
    /// First byte and end byte (exclusive) of the returned text.
    span: [u64; 2],
    /// First and last line of the returned text, from 1.
    lines: [u32; 2],
    /// The pages, slides or sheets of the returned text.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The text.
    text: String,
    /// Value of `start` to continue reading; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start: Option<u64>,
}

async fn get_source(
    calling: Arc<ToolCall>,
    SourceInput { document, start, max_bytes }: SourceInput,
) -> Result<SourceOutput, Problem> {
    within("max_bytes", max_bytes, MAX_TEXT)?;
    let space = calling.space(IfMissing::Leave).await?;
    let snapshot = space.asking.store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let gone = || unknown_document(&document);
    let found = find_documents(snapshot, &document).await?.into_iter().next().ok_or_else(gone)?;
    let ids = std::slice::from_ref(&found.id);
    let state = index::states_of(snapshot, ids).await?.into_iter().flatten().next().ok_or_else(gone)?;
    let text = snapshot.texts(ids).await?.into_iter().flatten().next().ok_or_else(gone)?;
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    if start > text.len() {
        let what = format!("start {start} is beyond the end of the document at {}", text.len());
        return Err(Problem::invalid(what));
    }
    let (start, end) = part(&text, start, max_bytes);
    let lines = Span::new(start, end).lines_in(&text);
    Ok(SourceOutput {
        document: found.id.to_string(),
        format: found.format.name().to_owned(),
        status: state.status.kind().name().to_owned(),
        total_bytes: text.len() as u64,
        span: [start as u64, end as u64],
        lines: [lines.0, lines.1],
        place: found.place_of(Span::new(start, end)).map(|place| place.to_string()),
        text: text[start..end].to_owned(),
        next_start: (end < text.len()).then_some(end as u64),
        file_path: found.source,
        title: found.title,
    })
}

/// The part that starts at `start`, or at the character around it, of at most `most` bytes but at least one
/// character.
fn part(text: &str, start: usize, most: usize) -> (usize, usize) {
    let start = text.floor_char_boundary(start);
    let end = text.floor_char_boundary(start.saturating_add(most).min(text.len()));
    match end > start {
        true => (start, end),
        false => (start, text.ceil_char_boundary((start + 1).min(text.len()))),
    }
}

/// The versions of the document with this id or name, the live one first.
pub(super) async fn find_documents(
    snapshot: &dyn Snapshot,
    reference: &str,
) -> Result<Vec<Document>, StoreError> {
    let reference = reference.trim();
    let id = DocumentId::from_stored(reference);
    if let Some(document) = snapshot.documents(&[id]).await?.into_iter().flatten().next() {
        return Ok(vec![document]);
    }
    let mut versions = snapshot.documents_of_sources(&[reference.to_owned()]).await?.concat();
    versions.sort_by_key(|document| (document.visibility != Visibility::Live, document.id.clone()));
    Ok(versions)
}

/// The error for an unknown document.
pub(super) fn unknown_document(reference: &str) -> Problem {
    let shown: String = reference.chars().take(100).flat_map(char::escape_default).collect();
    Problem::not_found(format!("no document \"{shown}\""))
        .remedy(Some("use the document or file_path of a hit of `search`"))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NeighborsInput {
    /// Entity name, in any spelling that leads to it, or *.
    entity: String,
    /// Maximum distance in relations, 1 to 3.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 3))]
    depth: u32,
    /// Maximum entities, 1 to 200; those with the most relations are kept.
    #[serde(default = "thirty")]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
}

fn one() -> u32 {
    1
}

fn thirty() -> usize {
    30
}

#[derive(Serialize, JsonSchema)]
struct NeighborsOutput {
    /// The entities, nearest first.
    entities: Vec<EntityItem>,
    /// The relations between them.
    relations: Vec<RelationItem>,
    /// Dated claims about the entity, each with when it held; empty for *.
    claims: Vec<String>,
    /// Number of neighbours left out; there may be more behind them.
    left_out: u64,
}

async fn graph_neighbors(
    calling: Arc<ToolCall>,
    NeighborsInput { entity, depth, limit }: NeighborsInput,
) -> Result<NeighborsOutput, Problem> {
    within("depth", depth as usize, MAX_DEPTH as usize)?;
    within("limit", limit, MAX_ENTITIES)?;
    let space = calling.space(IfMissing::Leave).await?;
    let snapshot = space.asking.store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let query = SubgraphQuery { label: entity.trim().to_owned(), max_depth: depth, max_nodes: limit };
    let Some(found) = explore::subgraph(snapshot, &query).await? else {
        return Err(unknown_entity(snapshot, &query.label).await?);
    };
    let root = found.nodes.first().filter(|_| query.label != "*").map(|node| node.entity.key.clone());
    let claims = match &root {
        Some(entity) => claims_of_entity(snapshot, entity, MAX_CLAIMS).await?,
        None => Vec::new(),
    };
    let claims = claims.into_iter().map(|claim| claim.line).collect();
    let keys = found.nodes.iter().map(|node| GraphKey::Entity(node.entity.key.clone()));
    let keys = keys.chain(found.edges.iter().map(|edge| GraphKey::Relation(edge.key.clone()))).collect();
    let behind = Behind::of(snapshot, keys, MAX_CHUNKS_BEHIND, None).await?;
    let names: BTreeMap<EntityKey, String> =
        found.nodes.iter().map(|node| (node.entity.key.clone(), node.entity.name.clone())).collect();
    let name = |key: &EntityKey| names.get(key).cloned().unwrap_or_else(|| key.to_string());
    let relations = found.edges.into_iter().map(|edge| RelationItem {
        ends: [name(edge.key.a()), name(edge.key.b())],
        keywords: edge.keywords,
        description: edge.description,
        file_paths: Some(behind.sources(&GraphKey::Relation(edge.key))),
    });
    let relations = relations.collect();
    let entities = found.nodes.into_iter().map(|node| EntityItem {
        name: node.entity.name,
        kind: node.entity.kind,
        description: node.entity.description,
        depth: Some(node.depth),
        file_paths: Some(behind.sources(&GraphKey::Entity(node.entity.key))),
    });
    Ok(NeighborsOutput { entities: entities.collect(), relations, claims, left_out: found.left_out })
}

/// The error for an unknown entity, with suggestions.
async fn unknown_entity(snapshot: &dyn Snapshot, name: &str) -> Result<Problem, Problem> {
    let shown: String = name.chars().take(100).flat_map(char::escape_default).collect();
    let near = explore::search_labels(snapshot, name, NEAR).await?;
    let near: Vec<String> = near.into_iter().map(|label| label.name).collect();
    let remedy = match near.is_empty() {
        true => "`search` finds entities by their description".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Ok(Problem::not_found(format!("no entity \"{shown}\"")).remedy(Some(remedy)))
}

pub(super) fn within(what: &str, value: usize, most: usize) -> Result<(), Problem> {
    match (1..=most).contains(&value) {
        true => Ok(()),
        false => Err(Problem::invalid(format!("{what} is {value}; it must be from 1 to {most}"))),
    }
}

/// The schema of a filter, without fields meant for administrators.
fn filter_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let texts = |about: &str| json!({ "type": "array", "items": { "type": "string" }, "description": about });
    let date = |about: &str| json!({ "type": "string", "description": about });
    schemars::json_schema!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": {
            "documents": texts("Ids of documents"),
            "sources": texts("Patterns of names, such as reports/*.md"),
            "meta": texts("Conditions on metadata, such as year=2024"),
            "accepted_after": date("A date such as 2026-01-31: added at or after it"),
            "accepted_before": date("A date such as 2026-01-31: added at or before it"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_whole_characters_and_is_empty_only_at_the_end() {
        let text = "aé日本z";
        assert_eq!(part(text, 0, 100), (0, text.len()));
        assert_eq!(part(text, 2, 3), (1, 3), "an offset inside a character moves back to its start");
        assert_eq!(part(text, 3, 1), (3, 6), "a character larger than the limit is returned whole");
        assert_eq!(part(text, text.len(), 9), (text.len(), text.len()));
        assert_eq!(part("", 0, 9), (0, 0));
        let mut read = String::new();
        let mut at = 0;
        while at < text.len() {
            let (start, end) = part(text, at, 2);
            read.push_str(&text[start..end]);
            at = end;
        }
        assert_eq!(read, text);
    }
}
