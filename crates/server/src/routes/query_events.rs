//! An answer as server-sent events: context, text as it is generated, citations, usage, and a final event.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use axum::routing::post;
use graphloom_core::{Call, Usage};
use graphloom_engine::money::{Money, Prices};
use graphloom_engine::query::{self, Mode, Question, Retrieval};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::conversations::{KeptAnswer, KeptPlace};
use super::query::{ReferenceItem, citations, notes, references, seconds};
use super::query_data::RouteItem;
use crate::answering::{QuestionOutcome, answer_from, check_answerable};
use crate::apart::run_question;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Json};
use crate::keeping::Keeping;
use crate::lines::{Framing, HEARTBEAT, Lines};
use crate::place::CitationItem;
use crate::problem::{Problem, ProblemBody};
use crate::query_request::QueryRequest;
use crate::route::{Gives, Load, Route, Takes, schema};
use crate::space::Space;

pub(super) const ROUTES: &[Route] = &[Route::post(
    "/query/events",
    "An answer as server-sent events: context, delta, citation, usage, and done or error",
    || post(events),
)
.reads()
.load(Load::Question)
.takes(Takes::Json(schema::<QueryRequest>))
.gives(Gives::Events(schema::<AnswerEvent>))];

/// An event of the stream; its name is in the `event` field, and the data is one of these objects.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes events that are written as they arrive")]
enum AnswerEvent {
    /// `context`, first.
    Context(ContextEvent),
    /// `delta`: a piece of the answer. All pieces joined are the answer.
    Delta(Delta),
    /// `citation`: a place behind a citation number, verified against the document's bytes.
    Citation(CitationItem),
    /// `usage`: model usage of the answer.
    Usage(UsageEvent),
    /// `done`: the last event on success.
    Done(Done),
    /// `error`: the last event on failure.
    Error(ProblemBody),
}

/// The context of an answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct ContextEvent {
    /// The conversation that keeps the question, if the request names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    #[schemars(with = "String")]
    mode: Mode,
    /// The documents of the context; `null` if not requested.
    references: Option<Vec<ReferenceItem>>,
    /// Its passages in order.
    chunks: Vec<ContextChunk>,
    /// Number of entities in it.
    entities: usize,
    /// Number of relations in it.
    relationships: usize,
    /// Themes used in the search.
    high_level_keywords: Vec<String>,
    /// Names used in the search.
    low_level_keywords: Vec<String>,
    /// What could not be done as requested.
    notes: Vec<String>,
    /// How mode `auto` searched, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<RouteItem>,
}

/// A passage of the context.
#[derive(Serialize, JsonSchema)]
struct ContextChunk {
    chunk_id: String,
    reference_id: String,
}

/// A piece of an answer.
#[derive(Serialize, JsonSchema)]
struct Delta {
    text: String,
}

/// Model usage of an answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageEvent {
    calls: usize,
    prompt_tokens: u64,
    /// Prompt tokens that the provider read from its cache.
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    /// In the currency of the prices; `null` if the price of a model is not configured, or a service reported no tokens.
    #[schemars(with = "Option<f64>")]
    cost: Option<Money>,
}

/// The complete answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// The answer, equal to all pieces joined.
    response: String,
    /// Whether an LLM wrote it.
    llm_generated: bool,
    /// The kind of answer, as in `/query`.
    answer_kind: Option<String>,
    /// Number of citations.
    citations: usize,
    /// The citation numbers in the answer, in order, and what they point to.
    marks: Vec<MarkItem>,
    /// Duration in seconds.
    response_time: f64,
    /// Where the question and its answer are kept, if the request names a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<KeptPlace>,
}

/// Citation numbers in an answer, such as `[1]` or `[1, 2]`.
#[derive(Serialize, JsonSchema)]
struct MarkItem {
    /// First byte in the answer, that of the bracket.
    start: usize,
    /// End byte (exclusive).
    end: usize,
    /// For each number its position among the `citation` events, from 0; `null` if it points to nothing.
    citations: Vec<Option<usize>>,
}

async fn events(
    ExistingWorkspace(space): ExistingWorkspace,
    admitted: Admission,
    Json(request): Json<QueryRequest>,
) -> Result<Response, Problem> {
    let started = Instant::now();
    let keeping = Keeping::begin(&space, &admitted.caller.name, &request).await?;
    let mut question = request.question(&space.user_prompt_prefix, true)?;
    if let Some(keeping) = &keeping {
        question.history.clone_from(&keeping.history);
        question.check()?;
    }
    check_answerable(&space.asking, &question)?;
    let framing = Framing::Named { text: "delta", heartbeat: HEARTBEAT };
    let (lines, response) = Lines::new(framing, |text| json!({ "text": text }));
    let lines = Arc::new(lines);
    let ending = Arc::clone(&lines);
    // Continues if the client disconnects: the LLM call is paid for, and its answer is cached.
    let answering = run_question(async move || {
        let _turn = admitted.turn;
        write(&space, &question, keeping, &lines, started).await
    });
    tokio::spawn(async move {
        // A panic becomes a problem too, so that there is always a last event.
        if let Err(problem) = answering.await {
            ending.event("error", json!(problem.body()));
        }
    });
    Ok(response)
}

async fn write(
    space: &Space,
    question: &Question,
    keeping: Option<Keeping>,
    lines: &Lines,
    started: Instant,
) -> Result<(), Problem> {
    let engine = &space.asking;
    let retrieval = query::retrieve(engine, question).await?;
    let conversation = keeping.as_ref().map(Keeping::id);
    lines.event("context", json!(ContextEvent { conversation, ..context(question, &retrieval) }));
    let answered = answer_from(engine, question, &retrieval, &mut |piece| lines.text(piece)).await?;
    let listed = answered.reference_list(question);
    lines.text(&listed);
    for citation in &answered.citations {
        lines.event("citation", json!(CitationItem::from(citation)));
    }
    let usage = usage(&answered.calls, &space.prices);
    lines.event("usage", json!(usage));
    let mut done = Done {
        llm_generated: answered.by_model,
        answer_kind: answered.kind_name(),
        citations: answered.citations.len(),
        marks: marks(&answered, &retrieval),
        response_time: seconds(started),
        kept: None,
        response: answered.text.clone() + &listed,
    };
    if let Some(keeping) = keeping {
        // Keywords and the route name what is in the documents; the answer can be shown without.
        let context = ContextEvent {
            high_level_keywords: Vec::new(),
            low_level_keywords: Vec::new(),
            route: None,
            ..context(question, &retrieval)
        };
        let answer = KeptAnswer { context, citations: citations(&answered), usage, done };
        let place = keeping.keep(space, &retrieval, &answer).await;
        done = answer.done;
        done.kept = Some(place);
    }
    lines.event("done", json!(done));
    Ok(())
}

/// What the numbers of the answer point to. The sentences of a verbatim answer are the quotes themselves; an LLM's
/// are resolved.
fn marks(answered: &QuestionOutcome, retrieval: &Retrieval) -> Vec<MarkItem> {
    let citations = &answered.citations;
    let resolved = |cited: &Option<query::CitedSpan>| {
        let query::CitedSpan { number, document, span } = cited.as_ref()?;
        citations.iter().position(|citation| {
            citation.number == *number && citation.document == *document && citation.span == *span
        })
    };
    let quoted = |number: u32, before: &str| {
        citations
            .iter()
            .position(|citation| citation.number == number && query::ends_with_quote(before, &citation.quote))
    };
    let item = |mark: query::Mark| {
        let (start, end) = (mark.range.start, mark.range.end);
        let before = &answered.text[..start];
        let numbers = answered.text[start..end].split(|other: char| !other.is_ascii_digit());
        let numbers = numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap_or(0));
        let found = |(number, cited)| quoted(number, before).or_else(|| resolved(cited));
        MarkItem { start, end, citations: numbers.zip(&mark.cited).map(found).collect() }
    };
    query::marks(&answered.text, retrieval).into_iter().map(item).collect()
}

fn context(question: &Question, retrieval: &Retrieval) -> ContextEvent {
    let chunk = |found: &query::FoundChunk| ContextChunk {
        chunk_id: found.chunk.id.to_string(),
        reference_id: found.reference.to_string(),
    };
    ContextEvent {
        conversation: None,
        mode: retrieval.mode,
        references: references(question, retrieval),
        chunks: retrieval.chunks.iter().map(chunk).collect(),
        entities: retrieval.entities.len(),
        relationships: retrieval.relations.len(),
        high_level_keywords: retrieval.keywords.high_level.clone(),
        low_level_keywords: retrieval.keywords.low_level.clone(),
        notes: notes(retrieval),
        route: retrieval.route.as_ref().map(RouteItem::from),
    }
}

fn usage(calls: &[Call], prices: &Prices) -> UsageEvent {
    let sum = |tokens: fn(&Call) -> u64| calls.iter().map(tokens).sum();
    let cost = |call: &Call| {
        let usage = Usage {
            prompt_tokens: call.prompt_tokens,
            cached_prompt_tokens: call.cached_prompt_tokens,
            completion_tokens: call.completion_tokens,
        };
        prices.of(&call.model).filter(|_| !call.is_uncounted()).map(|price| price.of(usage))
    };
    UsageEvent {
        calls: calls.len(),
        prompt_tokens: sum(|call| call.prompt_tokens),
        cached_prompt_tokens: sum(|call| call.cached_prompt_tokens),
        completion_tokens: sum(|call| call.completion_tokens),
        cost: calls.iter().map(cost).sum(),
    }
}
