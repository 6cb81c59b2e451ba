//! Stored conversations: history, search, renaming, removal. Each credential sees only its own.

use axum::extract::Extension;
use axum::routing::{delete, get, post};
use graphloom_core::{Batch, Conversation, ConversationId, Exchange, Snapshot, table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::query_events::{ContextEvent, Done, UsageEvent};
use crate::apart::apart;
use crate::app::now;
use crate::guard::Admission;
use crate::input::{ExistingWorkspace, Json, Params, PathName};
use crate::keeping::{exchanges, owned};
use crate::place::CitationItem;
use crate::problem::Problem;
use crate::query_request::FilterItem;
use crate::route::{Gives, Load, Route, Takes, schema};

/// Maximum conversations per page.
const MAX_PAGE: usize = 200;
/// Maximum characters of a title.
const MAX_TITLE_CHARS: usize = 200;
/// Maximum characters of a search.
const MAX_SEARCH_CHARS: usize = 200;
/// Characters around the matched words of a search.
const EXCERPT_CHARS: usize = 60;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/conversations", "The caller's conversations, the latest first", || get(list))
        .reads()
        .takes(Takes::Query(schema::<ListParams>))
        .gives(Gives::Json(schema::<ConversationPage>)),
    Route::delete("/conversations", "Deletes all conversations of the caller", || delete(clear))
        .reads()
        .load(Load::Change)
        .gives(Gives::Json(schema::<DeletedConversations>)),
    Route::get("/conversations/{conversation_id}", "A conversation with its questions and answers", || {
        get(one)
    })
    .reads()
    .gives(Gives::Json(schema::<ConversationDetail>)),
    Route::post("/conversations/{conversation_id}", "Renames a conversation", || post(rename))
        .reads()
        .load(Load::Change)
        .takes(Takes::Json(schema::<Rename>))
        .gives(Gives::Json(schema::<ConversationItem>)),
    Route::delete("/conversations/{conversation_id}", "Deletes a conversation", || delete(remove))
        .reads()
        .load(Load::Change)
        .gives(Gives::Json(schema::<DeletedConversations>)),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConversationListParams")]
struct ListParams {
    /// Words that the title, a question or an answer contains, in any case.
    #[serde(default)]
    #[schemars(length(max = MAX_SEARCH_CHARS))]
    search: String,
    /// Maximum conversations, 1 to 200.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = MAX_PAGE))]
    limit: usize,
    /// Conversations to skip.
    #[serde(default)]
    #[schemars(range(max = graphloom_core::MAX_CONVERSATIONS))]
    offset: usize,
}

fn fifty() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
struct ConversationPage {
    /// Number of the caller's conversations that match.
    total: usize,
    conversations: Vec<ConversationItem>,
}

#[derive(Serialize, JsonSchema)]
struct ConversationItem {
    id: String,
    title: String,
    /// In milliseconds since 1970.
    created_at: u64,
    /// When the last question was asked, or when it was last renamed, in milliseconds since 1970.
    updated_at: u64,
    /// Where the words of a search are, unless in the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

impl From<Conversation> for ConversationItem {
    fn from(conversation: Conversation) -> Self {
        let Conversation { id, title, created_at, updated_at, owner: _ } = conversation;
        Self { id: id.to_string(), title, created_at: created_at.0, updated_at: updated_at.0, excerpt: None }
    }
}

#[derive(Serialize, JsonSchema)]
struct ConversationDetail {
    #[serde(flatten)]
    item: ConversationItem,
    /// Its questions with their answers, the oldest first.
    exchanges: Vec<ExchangeItem>,
}

#[derive(Serialize, JsonSchema)]
struct ExchangeItem {
    /// Its place in the conversation.
    exchange: u32,
    /// In milliseconds since 1970.
    asked_at: u64,
    question: String,
    #[schemars(schema_with = "crate::query_request::mode_schema")]
    mode: Value,
    #[schemars(with = "Option<FilterItem>")]
    filter: Value,
    /// The answer; `null` once a document that it rests on is removed.
    #[schemars(with = "Option<KeptAnswer>")]
    answer: Option<Value>,
}

impl From<Exchange> for ExchangeItem {
    fn from(exchange: Exchange) -> Self {
        Self {
            exchange: exchange.ordinal,
            asked_at: exchange.asked_at.0,
            mode: exchange.settings["mode"].clone(),
            filter: exchange.settings["filter"].clone(),
            question: exchange.question,
            answer: exchange.answer.map(|answer| answer.body),
        }
    }
}

/// A kept answer: the events of its stream.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeptAnswer {
    pub(super) context: ContextEvent,
    pub(super) citations: Vec<CitationItem>,
    pub(super) usage: UsageEvent,
    pub(super) done: Done,
}

/// Where a question and its answer are kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeptPlace {
    /// The conversation.
    pub(crate) conversation: String,
    /// The place in the conversation; `null` if it could not be kept.
    pub(crate) exchange: Option<u32>,
    /// Why the answer is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RenameConversation")]
struct Rename {
    /// The new title.
    #[schemars(length(min = 1, max = MAX_TITLE_CHARS))]
    title: String,
}

#[derive(Serialize, JsonSchema)]
struct DeletedConversations {
    /// Number of deleted conversations.
    deleted: usize,
}

pub(crate) fn unknown_conversation(id: &str) -> Problem {
    Problem::not_found(format!("no conversation has the id {id:?}"))
        .remedy(Some("GET /conversations lists yours; others see only their own"))
}

/// The caller's conversations.
async fn all_of(snapshot: &dyn Snapshot, owner: &str) -> Result<Vec<Conversation>, Problem> {
    let mut all = snapshot.pages(table::Conversations).all().await?;
    all.retain(|conversation| conversation.owner == owner);
    Ok(all)
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Extension(admitted): Extension<Admission>,
    Params(params): Params<ListParams>,
) -> Result<axum::Json<ConversationPage>, Problem> {
    if !(1..=MAX_PAGE).contains(&params.limit) {
        return Err(Problem::invalid(format!("limit must be 1 to {MAX_PAGE}")));
    }
    if params.search.chars().count() > MAX_SEARCH_CHARS {
        return Err(Problem::invalid(format!("search may have {MAX_SEARCH_CHARS} characters")));
    }
    apart(async move || {
        let snapshot = space.store.snapshot().await?;
        let mut found = Vec::new();
        let words = params.search.trim().to_lowercase();
        for conversation in all_of(snapshot.as_ref(), &admitted.caller.name).await? {
            if words.is_empty() || conversation.title.to_lowercase().contains(&words) {
                found.push(ConversationItem::from(conversation));
            } else if let Some(excerpt) = excerpt_of(snapshot.as_ref(), &conversation.id, &words).await? {
                found.push(ConversationItem { excerpt: Some(excerpt), ..conversation.into() });
            }
        }
        found.sort_by(|one, other| (other.updated_at, &other.id).cmp(&(one.updated_at, &one.id)));
        let total = found.len();
        let conversations = found.into_iter().skip(params.offset).take(params.limit).collect();
        Ok(axum::Json(ConversationPage { total, conversations }))
    })
    .await
}

/// Returns the text around the first of these words in a question or an answer.
async fn excerpt_of(
    snapshot: &dyn Snapshot,
    id: &ConversationId,
    words: &str,
) -> Result<Option<String>, Problem> {
    for exchange in exchanges(snapshot, id).await? {
        let answer = exchange.answer.as_ref().and_then(|answer| answer.body["done"]["response"].as_str());
        for text in [Some(exchange.question.as_str()), answer].into_iter().flatten() {
            if let Some(excerpt) = excerpt(text, words) {
                return Ok(Some(excerpt));
            }
        }
    }
    Ok(None)
}

/// Returns the text around `words`, which are in lower case.
fn excerpt(text: &str, words: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let at = lower.find(words)?;
    // Lower-case letters may take a different number of bytes, so the place is counted in characters.
    let before = lower[..at].chars().count();
    let start = before.saturating_sub(EXCERPT_CHARS);
    let length = before - start + words.chars().count() + EXCERPT_CHARS;
    let cut: String = text.chars().skip(start).take(length).collect();
    let shown = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, tail) =
        (if start > 0 { "…" } else { "" }, if text.chars().count() > start + length { "…" } else { "" });
    Some(format!("{head}{shown}{tail}"))
}

async fn one(
    ExistingWorkspace(space): ExistingWorkspace,
    Extension(admitted): Extension<Admission>,
    PathName(id): PathName,
) -> Result<axum::Json<ConversationDetail>, Problem> {
    apart(async move || {
        let snapshot = space.store.snapshot().await?;
        let conversation = owned(snapshot.as_ref(), &id, &admitted.caller.name).await?;
        let all = exchanges(snapshot.as_ref(), &conversation.id).await?;
        let exchanges = all.into_iter().map(ExchangeItem::from).collect();
        Ok(axum::Json(ConversationDetail { item: conversation.into(), exchanges }))
    })
    .await
}

async fn rename(
    ExistingWorkspace(space): ExistingWorkspace,
    Extension(admitted): Extension<Admission>,
    PathName(id): PathName,
    Json(request): Json<Rename>,
) -> Result<axum::Json<ConversationItem>, Problem> {
    let title = request.title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() || title.chars().count() > MAX_TITLE_CHARS {
        return Err(Problem::invalid(format!("a title has 1 to {MAX_TITLE_CHARS} characters")));
    }
    let snapshot = space.store.snapshot().await?;
    let conversation = owned(snapshot.as_ref(), &id, &admitted.caller.name).await?;
    drop(snapshot);
    let renamed = Conversation { title, updated_at: now(), ..conversation };
    let put_conversations = vec![renamed.clone()];
    space.store.commit(Batch { put_conversations, ..Batch::default() }).await?;
    Ok(axum::Json(renamed.into()))
}

async fn remove(
    ExistingWorkspace(space): ExistingWorkspace,
    Extension(admitted): Extension<Admission>,
    PathName(id): PathName,
) -> Result<axum::Json<DeletedConversations>, Problem> {
    let snapshot = space.store.snapshot().await?;
    let conversation = owned(snapshot.as_ref(), &id, &admitted.caller.name).await?;
    drop(snapshot);
    let remove_conversations = vec![conversation.id];
    space.store.commit(Batch { remove_conversations, ..Batch::default() }).await?;
    Ok(axum::Json(DeletedConversations { deleted: 1 }))
}

async fn clear(
    ExistingWorkspace(space): ExistingWorkspace,
    Extension(admitted): Extension<Admission>,
) -> Result<axum::Json<DeletedConversations>, Problem> {
    let snapshot = space.store.snapshot().await?;
    let all = all_of(snapshot.as_ref(), &admitted.caller.name).await?;
    drop(snapshot);
    let remove_conversations: Vec<_> = all.into_iter().map(|conversation| conversation.id).collect();
    let deleted = remove_conversations.len();
    space.store.commit(Batch { remove_conversations, ..Batch::default() }).await?;
    Ok(axum::Json(DeletedConversations { deleted }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_matching_words_with_the_text_around_them() {
        let text = format!("{} The RADIUM glows {}", "before ".repeat(20), "after ".repeat(20));
        let found = excerpt(&text, "radium").expect("found");
        assert!(
            found.starts_with('…') && found.ends_with('…') && found.contains("The RADIUM glows"),
            "{found}"
        );
        assert_eq!(excerpt("İstanbul and radium", "radium").as_deref(), Some("İstanbul and radium"));
        assert_eq!(excerpt("nothing", "radium"), None);
    }
}
