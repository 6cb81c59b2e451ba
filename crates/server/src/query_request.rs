//! A question in the format of LightRAG's clients.

use graphloom_core::{
    ChatMessage, ChatRole, DocumentFilter, IsoDate, MAX_EXCHANGES, MAX_FILTER_CONDITIONS,
    MAX_FILTER_DOCUMENTS,
};
use graphloom_engine::query::{
    MAX_BUDGET_TOKENS, MAX_DRIFT_STEPS, MAX_GIVEN_KEYWORDS, MAX_HISTORY_MESSAGES, MAX_KEYWORD_CHARS,
    MAX_MESSAGE_CHARS, MAX_QUESTION_CHARS, MAX_REPORT_CALLS, MAX_RESPONSE_TYPE_CHARS, MAX_TOP_K,
    MAX_USER_PROMPT_CHARS, Mode, PageRankOptions, Question, ReportOptions,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::problem::Problem;

/// Minimum weight of a question that is searched for [LightRAG].
const MIN_WEIGHT: usize = 3;

/// A question. Unknown fields are ignored, as in LightRAG.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct QueryRequest {
    /// The question.
    #[schemars(length(min = 1, max = MAX_QUESTION_CHARS))]
    pub(crate) query: String,
    /// `local`, `global`, `hybrid`, `naive`, `mix` or `bypass` as in LightRAG, Graphloom's `auto`, `ppr`,
    /// `contextual`, or `community_global`, `community_local`, `drift` as in GraphRAG.
    #[serde(default = "mix")]
    #[schemars(schema_with = "mode_schema", default = "mix")]
    pub(crate) mode: Mode,
    /// Return only the context.
    only_need_context: Option<bool>,
    /// Return only the prompt.
    only_need_prompt: Option<bool>,
    /// The form of the answer, as an instruction to the LLM.
    #[schemars(length(min = 1, max = MAX_RESPONSE_TYPE_CHARS))]
    response_type: Option<String>,
    /// Entities or relations to take from each vector search.
    #[schemars(range(min = 1, max = MAX_TOP_K))]
    top_k: Option<usize>,
    /// Chunks to take from the vector search and keep.
    #[schemars(range(min = 1, max = MAX_TOP_K))]
    chunk_top_k: Option<usize>,
    /// Token budget of the entities.
    #[schemars(range(min = 1, max = MAX_BUDGET_TOKENS))]
    max_entity_tokens: Option<u32>,
    /// Token budget of the relations.
    #[schemars(range(min = 1, max = MAX_BUDGET_TOKENS))]
    max_relation_tokens: Option<u32>,
    /// Token budget of the whole prompt.
    #[schemars(range(min = 1, max = MAX_BUDGET_TOKENS))]
    max_total_tokens: Option<u32>,
    /// Themes to search for; if set, no LLM is asked for keywords.
    #[serde(default)]
    #[schemars(length(max = MAX_GIVEN_KEYWORDS), inner(length(max = MAX_KEYWORD_CHARS)))]
    hl_keywords: Vec<String>,
    /// Names to search for; if set, no LLM is asked for keywords.
    #[serde(default)]
    #[schemars(length(max = MAX_GIVEN_KEYWORDS), inner(length(max = MAX_KEYWORD_CHARS)))]
    ll_keywords: Vec<String>,
    /// The conversation so far, oldest first.
    #[schemars(length(max = MAX_HISTORY_MESSAGES))]
    conversation_history: Option<Vec<HistoryMessage>>,
    /// Instructions for the answer model; not used for the search.
    #[schemars(length(max = MAX_USER_PROMPT_CHARS))]
    user_prompt: Option<String>,
    /// Leave out the configured instructions for every question.
    disable_user_prompt_prefix: Option<bool>,
    /// Rerank the passages if a reranker is configured.
    enable_rerank: Option<bool>,
    /// List the documents of the context, and end the answer with the list of cited ones.
    pub(crate) include_references: Option<bool>,
    /// Include the passages in the list of documents.
    include_chunk_content: Option<bool>,
    /// Report the progress of the search in a stream, and the total time at its end.
    pub(crate) include_progress: Option<bool>,
    /// Stream the answer as it is generated.
    pub(crate) stream: Option<bool>,
    /// Return the verified places behind the citation numbers. Graphloom only; default: on for `/query`, off for
    /// the stream.
    pub(crate) include_citations: Option<bool>,
    /// Restrict the documents. Graphloom only.
    #[schemars(with = "Option<FilterItem>")]
    filter: Option<DocumentFilter>,
    /// Answer for this date, such as `2014` or `2014-03-01`: with the facts and claims that held then. Graphloom only.
    #[schemars(with = "Option<String>")]
    as_of: Option<IsoDate>,
    /// Options for walking the graph in modes `auto` and `ppr`; options left out keep their tuned defaults.
    /// Graphloom only.
    #[schemars(with = "Option<Value>")]
    pagerank: Option<PageRankOptions>,
    /// How modes `community_global`, `community_local` and `drift` read reports of communities. Graphloom only.
    #[schemars(with = "Option<ReportsItem>")]
    reports: Option<ReportOptions>,
    /// The conversation that keeps the question and its answer: `new` or its id; the questions and answers that it holds replace
    /// `conversation_history`. Graphloom only, for `/query/events`.
    #[schemars(length(max = 64))]
    pub(crate) conversation: Option<String>,
    /// The place in the conversation of a question to ask again; the new answer replaces the old one. Graphloom only.
    #[schemars(range(max = MAX_EXCHANGES))]
    pub(crate) exchange: Option<u32>,
}

/// How reports of communities are read; options left out keep their defaults: the schema of [`ReportOptions`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "describes what is read as the type of the engine")]
#[schemars(rename = "ReportOptions", deny_unknown_fields)]
struct ReportsItem {
    /// The level of communities whose reports are read, 0 for the coarsest; `null` descends from level 0 into relevant
    /// communities.
    level: Option<u32>,
    /// How the relevance of reports is rated during the descent: `search` (vectors and words) or `model`.
    #[schemars(default)]
    rate: Option<String>,
    /// Tokens of data that one call reads; in `community_local`, tokens of the whole context.
    #[schemars(range(min = 500, max = 200_000))]
    call_tokens: Option<u32>,
    /// Maximum LLM calls of the question.
    #[schemars(range(min = 2, max = MAX_REPORT_CALLS))]
    max_calls: Option<usize>,
    /// Rounds of follow-up questions in `drift`.
    #[schemars(range(min = 0, max = MAX_DRIFT_STEPS))]
    depth: Option<usize>,
    /// Follow-up questions of a round.
    #[schemars(range(min = 1, max = MAX_DRIFT_STEPS))]
    follow_ups: Option<usize>,
}

/// Conditions on documents, all of which must hold: the schema of [`DocumentFilter`].
#[derive(JsonSchema)]
#[allow(dead_code, reason = "describes what is read as the type of the core")]
#[schemars(deny_unknown_fields)]
pub(crate) struct FilterItem {
    /// Only documents with these ids.
    #[schemars(length(max = MAX_FILTER_DOCUMENTS), default)]
    documents: Vec<String>,
    /// Only sources that match one of these patterns, such as `*.pdf`.
    #[schemars(length(max = MAX_FILTER_CONDITIONS), default)]
    sources: Vec<String>,
    /// Conditions on metadata, such as `author=Ada` or `year>=2020`.
    #[schemars(length(max = MAX_FILTER_CONDITIONS), default)]
    meta: Vec<String>,
    /// Only documents added on this date or later.
    accepted_after: Option<String>,
    /// Only documents added on this date or earlier.
    accepted_before: Option<String>,
    /// `waiting`, `indexing`, `ready`, `incomplete`, `failed` or `cancelled`.
    #[schemars(default)]
    status: Vec<String>,
}

/// A message of the conversation. Other fields that clients send are ignored.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct HistoryMessage {
    /// `user` or `assistant`.
    role: String,
    /// The text.
    #[schemars(length(max = MAX_MESSAGE_CHARS))]
    content: String,
}

fn mix() -> Mode {
    Mode::Mix
}

pub(crate) fn mode_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": Mode::ALL })
}

impl QueryRequest {
    /// Returns how the question was asked, as stored in a conversation.
    pub(crate) fn settings(&self) -> Value {
        serde_json::json!({ "mode": self.mode, "filter": self.filter })
    }

    /// Rejects a question that names a conversation on a route that does not store answers.
    pub(crate) fn check_not_kept(&self) -> Result<(), Problem> {
        match self.conversation.is_some() || self.exchange.is_some() {
            false => Ok(()),
            true => Err(Problem::invalid(
                "conversation and exchange are only for /query/events, which keeps answers",
            )
            .remedy(Some("ask with POST /query/events, or leave both out"))),
        }
    }

    /// The checked question.
    ///
    /// - `prefix`: configured instructions that precede those of every question.
    /// - `stream`: whether to stream if the request does not say.
    pub(crate) fn question(self, prefix: &str, stream: bool) -> Result<Question, Problem> {
        let base = Question::default();
        let history = self.conversation_history.unwrap_or_default();
        let mut question = Question {
            text: self.query.trim().to_owned(),
            mode: self.mode,
            only_need_context: self.only_need_context.unwrap_or(false),
            only_need_prompt: self.only_need_prompt.unwrap_or(false),
            response_type: response_type(self.response_type)?.unwrap_or(base.response_type),
            stream: self.stream.unwrap_or(stream),
            top_k: at_least_one("top_k", self.top_k)?.unwrap_or(base.top_k),
            chunk_top_k: at_least_one("chunk_top_k", self.chunk_top_k)?.unwrap_or(base.chunk_top_k),
            max_entity_tokens: at_least_one("max_entity_tokens", self.max_entity_tokens)?
                .unwrap_or(base.max_entity_tokens),
            max_relation_tokens: at_least_one("max_relation_tokens", self.max_relation_tokens)?
                .unwrap_or(base.max_relation_tokens),
            max_total_tokens: at_least_one("max_total_tokens", self.max_total_tokens)?
                .unwrap_or(base.max_total_tokens),
            hl_keywords: self.hl_keywords,
            ll_keywords: self.ll_keywords,
            history: history.into_iter().map(HistoryMessage::into_chat).collect::<Result<_, _>>()?,
            user_prompt: self.user_prompt,
            disable_user_prompt_prefix: self.disable_user_prompt_prefix.unwrap_or(false),
            rerank: self.enable_rerank.unwrap_or(base.rerank),
            include_references: self.include_references.unwrap_or(true),
            include_chunk_content: self.include_chunk_content.unwrap_or(false),
            filter: self.filter,
            as_of: self.as_of,
            pagerank: self.pagerank.unwrap_or_default(),
            reports: self.reports.unwrap_or_default(),
            ..base
        };
        question.check()?;
        if question.mode.searches() && weight(&question.text) < MIN_WEIGHT {
            let what = "the question is too short to search for: it needs at least 3 characters; a Chinese, Japanese or \
                        Korean character counts as 2";
            return Err(Problem::invalid(what).remedy(Some("write more, or use mode bypass")));
        }
        question.prefix_user_prompt(prefix);
        Ok(question)
    }
}

impl HistoryMessage {
    fn into_chat(self) -> Result<ChatMessage, Problem> {
        let role = match self.role.as_str() {
            "user" => ChatRole::User,
            "assistant" => ChatRole::Assistant,
            "system" => ChatRole::System,
            other => {
                let what = format!("unsupported role {other:?} of a message: use user or assistant");
                return Err(Problem::invalid(what));
            }
        };
        Ok(ChatMessage::new(role, self.content))
    }
}

fn at_least_one<T: Default + PartialEq>(what: &str, value: Option<T>) -> Result<Option<T>, Problem> {
    match value {
        Some(value) if value == T::default() => Err(Problem::invalid(format!("{what} must be at least 1"))),
        value => Ok(value),
    }
}

fn response_type(given: Option<String>) -> Result<Option<String>, Problem> {
    match given {
        Some(text) if text.trim().is_empty() => {
            Err(Problem::invalid("response_type is empty").remedy(Some("leave it out for the default form")))
        }
        given => Ok(given),
    }
}

/// The number of characters, counting those of scripts with one- and two-character words twice [LightRAG]; at most
/// 3.
fn weight(text: &str) -> usize {
    let of = |character: char| match u32::from(character) {
        0x1100..=0x11ff | 0x2e80..=0x9fff | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe4f | 0xff00..=0xffee | 0x16fe0..=0x16fff | 0x1aff0..=0x1b2ff | 0x20000..=0x3fffd => 2,
        _ => 1,
    };
    text.chars().take(MIN_WEIGHT).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(json: &str) -> Result<Question, String> {
        let request: QueryRequest = serde_json::from_str(json).map_err(|error| error.to_string())?;
        request.question("", false).map_err(|problem| problem.words())
    }

    #[test]
    fn omitted_fields_have_lightrags_defaults() {
        let question = check_read(r#"{"query": "  Who?  ", "unknown": 1, "top_k": null, "pagerank": null}"#)
            .expect("a question");
        assert_eq!((question.text.as_str(), question.mode, question.stream), ("Who?", Mode::Mix, false));
        assert_eq!((question.top_k, question.chunk_top_k), (40, 20));
        assert!(question.include_references && !question.include_chunk_content);
    }

    #[test]
    fn an_invalid_question_is_refused_with_the_reason() {
        for (json, why) in [
            (r#"{}"#, "missing field `query`"),
            (r#"{"query": "  "}"#, "the question is empty"),
            (r#"{"query": "Hi"}"#, "too short"),
            (r#"{"query": "Who?", "mode": "best"}"#, "unknown variant `best`"),
            (r#"{"query": "Who?", "top_k": 0}"#, "top_k must be at least 1"),
            (r#"{"query": "Who?", "max_total_tokens": 0}"#, "max_total_tokens must be at least 1"),
            (r#"{"query": "Who?", "max_entity_tokens": 0}"#, "max_entity_tokens must be at least 1"),
            (r#"{"query": "Who?", "max_relation_tokens": 0}"#, "max_relation_tokens must be at least 1"),
            (r#"{"query": "Who?", "response_type": " "}"#, "response_type is empty"),
            (r#"{"query": "Who?", "top_k": 1001}"#, "1001, the limit is 1000"),
            (r#"{"query": "Who?", "conversation_history": [{"role": "robot", "content": ""}]}"#, "robot"),
            (r#"{"query": "Who?", "conversation_history": [{"role": "user"}]}"#, "missing field `content`"),
            (r#"{"query": "Who?", "filter": {"documentz": []}}"#, "documentz"),
            (r#"{"query": "Who?", "pagerank": {"dampness": 0.5}}"#, "dampness"),
            (r#"{"query": "Who?", "pagerank": {"damping": 2}}"#, "pagerank.damping"),
        ] {
            let said = check_read(json).expect_err(json);
            assert!(said.contains(why), "{json}: {said}");
        }
        assert!(check_read(r#"{"query": "Hi", "mode": "bypass"}"#).is_ok());
        assert!(check_read(r#"{"query": "東京"}"#).is_ok());
    }
}
