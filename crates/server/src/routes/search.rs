//! Searches without an answer and without an LLM.

use axum::routing::post;
use graphloom_core::DocumentFilter;
use graphloom_engine::query::{self, EntityHit, MAX_QUESTION_CHARS, PassageHit, RelationHit, SearchHits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::run_question;
use crate::input::{ExistingWorkspace, Json};
use crate::problem::Problem;
use crate::query_request::FilterItem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum hits of each kind.
const MAX_HITS: usize = 200;
/// Maximum length of a search text in bytes.
const MAX_TEXT: usize = 65_536;

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/search",
    "Passages, entities and relations that match a text, with scores; calls no LLM",
    || post(search),
)
.reads()
.load(Load::Question)
.takes(Takes::Json(schema::<SearchRequest>))
.gives(Gives::Json(schema::<SearchResponse>))];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchRequest {
    /// The text.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    query: String,
    /// Maximum hits of each kind, 1 to 200.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = MAX_HITS))]
    top_k: usize,
    /// Restricts the documents, as for questions.
    #[schemars(with = "Option<FilterItem>")]
    filter: Option<DocumentFilter>,
}

fn ten() -> usize {
    10
}

/// The results, best first. Scores are comparable only within one list.
#[derive(Serialize, JsonSchema)]
struct SearchResponse {
    passages: Vec<Passage>,
    entities: Vec<FoundEntity>,
    relationships: Vec<FoundRelation>,
}

#[derive(Serialize, JsonSchema)]
struct Passage {
    chunk_id: String,
    document: String,
    file_path: String,
    title: String,
    /// First byte and end byte (exclusive) in the document's text.
    span: [u64; 2],
    /// First and last line, from 1.
    lines: [u32; 2],
    lines_match_source: bool,
    /// The pages, slides or sheets of the passage.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    content: String,
    score: f64,
}

#[derive(Serialize, JsonSchema)]
struct FoundEntity {
    entity_name: String,
    entity_type: String,
    description: String,
    score: f64,
}

#[derive(Serialize, JsonSchema)]
struct FoundRelation {
    src_id: String,
    tgt_id: String,
    description: String,
    keywords: String,
    weight: f64,
    score: f64,
}

async fn search(
    ExistingWorkspace(space): ExistingWorkspace,
    Json(SearchRequest { query, top_k, filter }): Json<SearchRequest>,
) -> Result<axum::Json<SearchResponse>, Problem> {
    if !(1..=MAX_HITS).contains(&top_k) {
        return Err(Problem::invalid(format!("top_k must be from 1 to {MAX_HITS}")));
    }
    if query.len() > MAX_TEXT {
        let what = format!("query is too long: {} bytes, the limit is {MAX_TEXT}", query.len());
        return Err(Problem::invalid(what));
    }
    run_question(async move || {
        let hits = query::search(&space.asking, &query, top_k, filter.as_ref()).await?;
        Ok(axum::Json(hits.into()))
    })
    .await
}

impl From<SearchHits> for SearchResponse {
    fn from(hits: SearchHits) -> Self {
        Self {
            passages: hits.passages.into_iter().map(Passage::from).collect(),
            entities: hits.entities.into_iter().map(FoundEntity::from).collect(),
            relationships: hits.relations.into_iter().map(FoundRelation::from).collect(),
        }
    }
}

impl From<PassageHit> for Passage {
    fn from(hit: PassageHit) -> Self {
        Self {
            chunk_id: hit.chunk.id.to_string(),
            document: hit.chunk.document.to_string(),
            file_path: hit.source,
            title: hit.title,
            span: [hit.chunk.span.start, hit.chunk.span.end],
            lines: [hit.lines.0, hit.lines.1],
            lines_match_source: hit.lines_match_source,
            place: hit.place.map(|place| place.to_string()),
            content: hit.chunk.text,
            score: hit.score,
        }
    }
}

impl From<EntityHit> for FoundEntity {
    fn from(EntityHit { entity, score }: EntityHit) -> Self {
        let graphloom_core::Entity { name, kind, description, .. } = entity;
        Self { entity_name: name, entity_type: kind, description, score }
    }
}

impl From<RelationHit> for FoundRelation {
    fn from(RelationHit { relation, ends: [src_id, tgt_id], score }: RelationHit) -> Self {
        let graphloom_core::Relation { description, keywords, weight, .. } = relation;
        Self { src_id, tgt_id, description, keywords: keywords.join(","), weight, score }
    }
}
