//! The retrieval of a question, without an answer.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::{IntoResponse, Response};
use axum::routing::post;
use graphloom_core::{ChunkId, GraphKey, RelationKey, Snapshot, StoreError};
use graphloom_engine::Engine;
use graphloom_engine::query::{self, ChunkPath, Mode, PathStep, Question, QuestionForm, Retrieval};
use schemars::JsonSchema;
use serde::Serialize;

use super::query::{ReferenceItem, notes, references};
use crate::apart::run_question;
use crate::behind::Behind;
use crate::input::{ExistingWorkspace, Json};
use crate::problem::Problem;
use crate::query_request::QueryRequest;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum chunks listed per entity or relation.
const MAX_CHUNKS_BEHIND: usize = 100;

pub(super) const ROUTES: &[Route] =
    &[Route::post("/query/data", "The retrieval: entities, relations, passages, references", || post(data))
        .reads()
        .load(Load::Question)
        .takes(Takes::Json(schema::<QueryRequest>))
        .gives(Gives::Json(schema::<QueryData>))];

/// The retrieval.
#[derive(Serialize, JsonSchema)]
struct QueryData {
    /// `success`, or `failure` if nothing was found.
    status: &'static str,
    message: &'static str,
    data: RetrievedData,
    metadata: RetrievalMetadata,
}

/// What was found, each best first; empty if nothing was.
#[derive(Default, Serialize, JsonSchema)]
struct RetrievedData {
    #[serde(skip_serializing_if = "Option::is_none")]
    entities: Option<Vec<RetrievedEntity>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relationships: Option<Vec<RetrievedRelation>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Vec<RetrievedChunk>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<Vec<ReferenceItem>>,
}

/// An entity of the context.
#[derive(Serialize, JsonSchema)]
struct RetrievedEntity {
    entity_name: String,
    /// Its key in paths. Graphloom only.
    entity_key: String,
    entity_type: String,
    description: String,
    /// Ids of its chunks, separated by `<SEP>`.
    source_id: String,
    /// Sources of its chunks, separated by `<SEP>`.
    file_path: String,
    /// Cosine; `null` if it came along with a relation. Graphloom only.
    score: Option<f32>,
}

/// A relation of the context.
#[derive(Serialize, JsonSchema)]
struct RetrievedRelation {
    src_id: String,
    tgt_id: String,
    description: String,
    /// Separated by commas.
    keywords: String,
    weight: f64,
    /// Ids of its chunks, separated by `<SEP>`.
    source_id: String,
    /// Sources of its chunks, separated by `<SEP>`.
    file_path: String,
    /// Cosine; `null` if it came along with an entity. Graphloom only.
    score: Option<f32>,
}

/// A passage of the context.
#[derive(Serialize, JsonSchema)]
struct RetrievedChunk {
    reference_id: String,
    content: String,
    file_path: String,
    chunk_id: String,
    /// Its document. Graphloom only.
    document: String,
    /// First byte and end byte (exclusive) in the document's text. Graphloom only.
    span: [u64; 2],
    /// The search that found it first: `vector`, `fused`, `entity`, `relation`, `pagerank`, `tree` or `report`. Graphloom only.
    #[schemars(with = "String")]
    found_by: query::Arm,
    /// Comparable only within one retrieval; `null` if its search has no scores. Graphloom only.
    score: Option<f32>,
    /// The reranker's score; `null` if no reranker was called. Graphloom only.
    rerank_score: Option<f32>,
}

/// Details of the retrieval.
#[derive(Default, Serialize, JsonSchema)]
struct RetrievalMetadata {
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    query_mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keywords: Option<KeywordsItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processing_info: Option<ProcessingInfo>,
    /// How mode `auto` searched. Graphloom only.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<RouteItem>,
    /// How the graph search reached the passages, in their order. Graphloom only.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<PathItem>>,
    /// Summaries in the context, best first; empty in modes without. Graphloom only.
    #[serde(skip_serializing_if = "Option::is_none")]
    summaries: Option<Vec<SummaryItem>>,
    /// What could not be done as requested. Graphloom only.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<String>>,
    /// `no_results` if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<&'static str>,
    /// The mode, if nothing was found.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
}

/// A node of a layer, such as the summary of passages.
#[derive(Serialize, JsonSchema)]
struct SummaryItem {
    id: String,
    layer: String,
    level: u32,
    title: String,
    text: String,
    /// Cosine with the question.
    score: f32,
}

/// The keywords of the search; empty if the mode needs none.
#[derive(Serialize, JsonSchema)]
struct KeywordsItem {
    high_level: Vec<String>,
    low_level: Vec<String>,
}

/// The size of the context.
#[derive(Serialize, JsonSchema)]
struct ProcessingInfo {
    entities_after_truncation: usize,
    relations_after_truncation: usize,
    final_chunks_count: usize,
}

/// How mode `auto` searched, and why.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RouteItem {
    /// `whole`, `compared`, `steps`, or `documents` if it asks about the documents as a whole.
    #[schemars(with = "String")]
    form: QuestionForm,
    /// The parts of the question that were searched for in addition to the whole question.
    parts: Vec<String>,
    /// The model that split the question; `null` for rules.
    model: Option<String>,
    /// Why, as a sentence.
    reason: String,
    /// How much the graph search counted; `null` if nothing was searched.
    pagerank: Option<PageRankItem>,
}

/// How much the graph search counted.
#[derive(Debug, Serialize, JsonSchema)]
struct PageRankItem {
    /// Its share of the ranking, 0 to 1; the rest is what the words of the whole question find.
    share: f64,
    /// 0 if the question names something rare, 1 if it names nothing or only what many passages mention.
    looseness: f64,
    /// The rarest name in the question, as the key of an entity.
    name: Option<String>,
    /// Number of passages that mention it.
    passages: usize,
}

/// How the graph search reached a passage.
#[derive(Serialize, JsonSchema)]
struct PathItem {
    /// The id of the passage.
    chunk: String,
    /// From the start to the passage.
    steps: Vec<PathStepItem>,
}

/// A step of a path.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PathStepItem {
    /// The id of a chunk.
    Chunk(String),
    /// The key of an entity.
    Entity(String),
    Relation(RelationEnds),
}

/// The keys of the entities of a relation.
#[derive(Serialize, JsonSchema)]
struct RelationEnds {
    a: String,
    b: String,
}

/// As in LightRAG, an invalid question is a bad request on this route.
async fn data(
    ExistingWorkspace(space): ExistingWorkspace,
    request: Result<Json<QueryRequest>, Problem>,
) -> Result<Response, Problem> {
    let found = async {
        let Json(request) = request?;
        request.check_not_kept()?;
        let mut question = request.question(&space.user_prompt_prefix, false)?;
        question.include_references = true;
        // Without an answer, no points are drawn from reports.
        question.only_need_context = true;
        run_question(async move || find(&space.asking, &question).await).await
    };
    found.await.map(|found| axum::Json(found).into_response()).map_err(Problem::bad_request_if_invalid)
}

async fn find(engine: &Engine, question: &Question) -> Result<QueryData, Problem> {
    let retrieval = query::retrieve(engine, question).await?;
    if retrieval.context.is_empty() && question.mode.searches() {
        let (failure_reason, mode) = (Some("no_results"), Some(question.mode));
        return Ok(QueryData {
            status: "failure",
            message: "Query returned no results",
            data: RetrievedData::default(),
            metadata: RetrievalMetadata { failure_reason, mode, ..RetrievalMetadata::default() },
        });
    }
    let snapshot = engine.store.snapshot().await?;
    let behind = behind(snapshot.as_ref(), question, &retrieval).await?;
    drop(snapshot);
    Ok(QueryData {
        status: "success",
        message: "Query processed successfully",
        metadata: metadata(question, &retrieval),
        data: RetrievedData {
            entities: Some(entities(&retrieval, &behind)),
            relationships: Some(relations(&retrieval, &behind)),
            references: references(question, &retrieval),
            chunks: Some(chunks(&retrieval)),
        },
    })
}

/// The chunks and sources of the retrieved entities and relations. With a filter, only retrieved chunks are
/// listed, since others may belong to excluded documents.
async fn behind(
    snapshot: &dyn Snapshot,
    question: &Question,
    retrieval: &Retrieval,
) -> Result<Behind, StoreError> {
    let entities = retrieval.entities.iter().map(|found| GraphKey::Entity(found.entity.key.clone()));
    let relations = retrieval.relations.iter().map(|found| GraphKey::Relation(found.relation.key.clone()));
    let found: BTreeSet<ChunkId> = retrieval.chunks.iter().map(|found| found.chunk.id.clone()).collect();
    let among = question.filter.as_ref().map(|_| &found);
    Behind::of(snapshot, entities.chain(relations).collect(), MAX_CHUNKS_BEHIND, among).await
}

fn entities(retrieval: &Retrieval, behind: &Behind) -> Vec<RetrievedEntity> {
    let item = |found: &query::FoundEntity| {
        let (source_id, file_path) = behind.get(&GraphKey::Entity(found.entity.key.clone()));
        RetrievedEntity {
            entity_name: found.entity.name.clone(),
            entity_key: found.entity.key.to_string(),
            entity_type: found.entity.kind.clone(),
            description: found.entity.description.clone(),
            source_id,
            file_path,
            score: found.score,
        }
    };
    retrieval.entities.iter().map(item).collect()
}

fn relations(retrieval: &Retrieval, behind: &Behind) -> Vec<RetrievedRelation> {
    let item = |found: &query::FoundRelation| {
        let (source_id, file_path) = behind.get(&GraphKey::Relation(found.relation.key.clone()));
        let [src_id, tgt_id] = found.ends.clone();
        RetrievedRelation {
            src_id,
            tgt_id,
            description: found.relation.description.clone(),
            keywords: found.relation.keywords.join(","),
            weight: found.relation.weight,
            source_id,
            file_path,
            score: found.score,
        }
    };
    retrieval.relations.iter().map(item).collect()
}

fn chunks(retrieval: &Retrieval) -> Vec<RetrievedChunk> {
    let source_of: BTreeMap<u32, &str> =
        retrieval.references.iter().map(|reference| (reference.number, reference.source.as_str())).collect();
    let item = |found: &query::FoundChunk| RetrievedChunk {
        reference_id: found.reference.to_string(),
        content: found.chunk.text.clone(),
        file_path: source_of.get(&found.reference).copied().unwrap_or_default().to_owned(),
        chunk_id: found.chunk.id.to_string(),
        document: found.chunk.document.to_string(),
        span: [found.chunk.span.start, found.chunk.span.end],
        found_by: found.arm,
        score: found.score,
        rerank_score: found.rerank_score,
    };
    retrieval.chunks.iter().map(item).collect()
}

fn metadata(question: &Question, retrieval: &Retrieval) -> RetrievalMetadata {
    let keywords = &retrieval.keywords;
    let route = retrieval.route.as_ref().map(RouteItem::from);
    RetrievalMetadata {
        query_mode: Some(question.mode),
        keywords: Some(KeywordsItem {
            high_level: keywords.high_level.clone(),
            low_level: keywords.low_level.clone(),
        }),
        processing_info: Some(ProcessingInfo {
            entities_after_truncation: retrieval.entities.len(),
            relations_after_truncation: retrieval.relations.len(),
            final_chunks_count: retrieval.chunks.len(),
        }),
        route,
        paths: Some(retrieval.paths.iter().map(PathItem::from).collect()),
        summaries: Some(retrieval.nodes.iter().map(SummaryItem::from).collect()),
        notes: Some(notes(retrieval)),
        failure_reason: None,
        mode: None,
    }
}

impl From<&query::FoundNode> for SummaryItem {
    fn from(found: &query::FoundNode) -> Self {
        Self {
            id: found.id.to_string(),
            layer: found.layer.to_string(),
            level: found.level,
            title: found.title.clone(),
            text: found.text.clone(),
            score: found.score,
        }
    }
}

impl From<&query::Route> for RouteItem {
    fn from(route: &query::Route) -> Self {
        Self {
            form: route.form,
            parts: route.parts.clone(),
            model: route.model.clone(),
            reason: route.reason.clone(),
            pagerank: route.pagerank.as_ref().map(|trust| PageRankItem {
                share: trust.share,
                looseness: trust.looseness,
                name: trust.name.as_ref().map(ToString::to_string),
                passages: trust.passages,
            }),
        }
    }
}

impl From<&ChunkPath> for PathItem {
    fn from(path: &ChunkPath) -> Self {
        let step = |step: &PathStep| match step {
            PathStep::Chunk(id) => PathStepItem::Chunk(id.to_string()),
            PathStep::Entity(key) => PathStepItem::Entity(key.to_string()),
            PathStep::Relation(key) => PathStepItem::Relation(RelationEnds::from(key)),
        };
        Self { chunk: path.chunk.to_string(), steps: path.steps.iter().map(step).collect() }
    }
}

impl From<&RelationKey> for RelationEnds {
    fn from(key: &RelationKey) -> Self {
        Self { a: key.a().to_string(), b: key.b().to_string() }
    }
}
