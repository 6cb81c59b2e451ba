//! A question with everything that changes its answer, and its limits.

use graphloom_core::{ChatMessage, ChatRole, DocumentFilter, IsoDate};
use serde::{Deserialize, Serialize};

use super::{Mode, PageRankOptions, QueryError, ReportOptions};

/// Longest question, in characters.
pub const MAX_QUESTION_CHARS: usize = 65_536;

/// Maximum number of messages in a history.
pub const MAX_HISTORY_MESSAGES: usize = 128;

/// Longest message of a history, in characters.
pub const MAX_MESSAGE_CHARS: usize = 32_768;

/// Longest `user_prompt`, in characters.
pub const MAX_USER_PROMPT_CHARS: usize = 32_768;

/// Maximum number of characters of question, history and `user_prompt` together.
pub const MAX_REQUEST_CHARS: usize = 131_072;

/// Longest `response_type`, in characters.
pub const MAX_RESPONSE_TYPE_CHARS: usize = 256;

/// Maximum number of keywords per level that a caller gives.
pub const MAX_GIVEN_KEYWORDS: usize = 64;

/// Longest keyword that a caller gives, in characters.
pub const MAX_KEYWORD_CHARS: usize = 512;

/// Maximum number of hits of a search.
pub const MAX_TOP_K: usize = 1000;

/// Largest token budget.
pub const MAX_BUDGET_TOKENS: u32 = 1_000_000;

/// Maximum number of stop texts.
pub const MAX_STOPS: usize = 16;

/// Longest stop text, in characters.
pub const MAX_STOP_CHARS: usize = 256;

/// How chunks behind entities and relations are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkPick {
    /// By the cosine of the chunk with the question.
    #[serde(alias = "VECTOR")]
    Vector,
    /// By polling entities and relations, better ranked ones more often.
    #[serde(alias = "WEIGHT")]
    Weight,
}

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionOutput {
    /// The context, without calling the answer model: [`retrieve`](super::retrieve).
    Context,
    /// The prompt of the answer model: [`retrieve`](super::retrieve), then [`prompt_of`](super::prompt_of).
    Prompt,
    /// The answer: [`retrieve`](super::retrieve), then [`answer`](super::answer).
    Answer,
}

/// A question with everything that changes its answer.
///
/// Names and defaults are those of LightRAG's `QueryParam`, except for the mode. Where our names differ, LightRAG's are read
/// too. Unknown fields are rejected, so that a typo does not silently select a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// The text of the question.
    #[serde(alias = "query")]
    pub text: String,
    /// How passages are searched and the answer is made.
    pub mode: Mode,
    /// True if only the context is wanted; see [`Question::wanted`].
    pub only_need_context: bool,
    /// True if only the prompt is wanted; see [`Question::wanted`].
    pub only_need_prompt: bool,
    /// The form of answer that the model is asked for.
    pub response_type: String,
    /// True to stream the answer; otherwise it comes in one piece.
    pub stream: bool,
    /// Entities or relations taken from each vector search.
    pub top_k: usize,
    /// Chunks taken from the vector search, and kept in the context; 0 takes `top_k` and keeps all that fit.
    pub chunk_top_k: usize,
    /// Token budget of the entities.
    pub max_entity_tokens: u32,
    /// Token budget of the relations.
    pub max_relation_tokens: u32,
    /// Token budget of the whole prompt, including the conversation.
    pub max_total_tokens: u32,
    /// Minimum cosine of a hit.
    pub cosine_threshold: f32,
    /// How many chunks come from entities and relations. If picked by vector: on average half of this for each of them. If
    /// picked by weight: from this down to 1 along the ranks.
    pub related_chunk_number: u32,
    /// How chunks behind entities and relations are picked.
    #[serde(alias = "kg_chunk_pick_method")]
    pub chunk_pick: ChunkPick,
    /// Themes to search with. If any keyword is given, none are determined automatically. PageRank starts at keywords that
    /// name an entity.
    #[serde(alias = "high_level_keywords")]
    pub hl_keywords: Vec<String>,
    /// Names and specifics to search with. If any keyword is given, none are determined automatically. PageRank starts at
    /// keywords that name an entity, and at entities that the question names.
    #[serde(alias = "low_level_keywords")]
    pub ll_keywords: Vec<String>,
    /// The conversation so far, oldest message first, from user and assistant. The answer model gets it, and the search uses
    /// the standalone question.
    #[serde(alias = "conversation_history")]
    pub history: Vec<ChatMessage>,
    /// Additional instructions for the answer model; not searched for.
    pub user_prompt: Option<String>,
    /// True if [`Question::prefix_user_prompt`] has no effect.
    pub disable_user_prompt_prefix: bool,
    /// Maximum length of the answer in tokens; `None` for the model's own limit.
    pub max_output_tokens: Option<u32>,
    /// Texts at which the answer ends; the answer does not contain them.
    pub stop: Vec<String>,
    /// True to rerank passages, if a reranker is configured.
    #[serde(alias = "enable_rerank")]
    pub rerank: bool,
    /// Minimum score of a reranked passage, on the reranker's own scale; 0 keeps all.
    pub min_rerank_score: f32,
    /// Selects documents; `None` selects all. The others are excluded before anything is ranked, and descriptions of entities
    /// and relations come only from the selected documents. Has no effect in mode bypass.
    pub filter: Option<DocumentFilter>,
    /// The date for which the question is asked: entities, relations, claims and passages show what held then, as far as
    /// claims say so. Documents of all dates are used; to select by date, see [`Question::filter`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<IsoDate>,
    /// True if [`references`](super::references) lists the documents of the context.
    pub include_references: bool,
    /// True if that list also contains the passages.
    pub include_chunk_content: bool,
    /// True to use cached model responses and to cache new ones.
    #[serde(alias = "enable_llm_cache")]
    pub cache: bool,
    /// How modes auto and ppr use PageRank.
    pub pagerank: PageRankOptions,
    /// How modes community_global, community_local and drift read reports.
    pub reports: ReportOptions,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            text: String::new(),
            mode: Mode::Auto,
            only_need_context: false,
            only_need_prompt: false,
            response_type: "Multiple Paragraphs".to_owned(),
            stream: false,
            top_k: 40,
            chunk_top_k: 20,
            max_entity_tokens: 6000,
            max_relation_tokens: 8000,
            max_total_tokens: 30_000,
            cosine_threshold: 0.2,
            related_chunk_number: 5,
            chunk_pick: ChunkPick::Vector,
            hl_keywords: Vec::new(),
            ll_keywords: Vec::new(),
            history: Vec::new(),
            user_prompt: None,
            disable_user_prompt_prefix: false,
            max_output_tokens: None,
            stop: Vec::new(),
            rerank: true,
            min_rerank_score: 0.0,
            filter: None,
            as_of: None,
            include_references: false,
            include_chunk_content: false,
            cache: true,
            pagerank: PageRankOptions::default(),
            reports: ReportOptions::default(),
        }
    }
}

impl Question {
    /// Returns how many chunks are wanted.
    pub(super) fn wanted_chunks(&self) -> usize {
        if self.chunk_top_k == 0 { self.top_k } else { self.chunk_top_k }
    }

    /// Returns what the question asks for. If it asks for both prompt and context, this is the prompt, which contains the
    /// context.
    pub fn wanted(&self) -> QuestionOutput {
        match (self.only_need_prompt, self.only_need_context) {
            (true, _) => QuestionOutput::Prompt,
            (false, true) => QuestionOutput::Context,
            (false, false) => QuestionOutput::Answer,
        }
    }

    /// Puts instructions for every question before those of this one, unless the question disables it.
    pub fn prefix_user_prompt(&mut self, prefix: &str) {
        let prefix = prefix.trim();
        if prefix.is_empty() || self.disable_user_prompt_prefix {
            return;
        }
        self.user_prompt = Some(match self.user_prompt.as_deref().map(str::trim) {
            None | Some("") => prefix.to_owned(),
            Some(own) => format!("{prefix}\n{own}"),
        });
    }

    /// Rejects a question that is empty, too large or out of range.
    pub fn check(&self) -> Result<(), QueryError> {
        if self.text.trim().is_empty() {
            return Err(QueryError::Empty);
        }
        let chars = |text: &str| text.chars().count();
        let user_prompt = self.user_prompt.as_deref().map_or(0, chars);
        let messages: Vec<usize> = self.history.iter().map(|message| chars(&message.content)).collect();
        let longest = messages.iter().copied().max().unwrap_or(0);
        let request = chars(&self.text) + user_prompt + messages.iter().sum::<usize>();
        let keywords = || self.hl_keywords.iter().chain(&self.ll_keywords);
        let most_keywords = self.hl_keywords.len().max(self.ll_keywords.len());
        let longest_keyword = keywords().map(|word| chars(word)).max().unwrap_or(0);
        let budgets = [self.max_entity_tokens, self.max_relation_tokens, self.max_total_tokens];
        let most_tokens = budgets.into_iter().chain(self.max_output_tokens).max().unwrap_or(0) as usize;
        let longest_stop = self.stop.iter().map(|stop| chars(stop)).max().unwrap_or(0);
        for (what, size, limit) in [
            ("characters of the question", chars(&self.text), MAX_QUESTION_CHARS),
            ("messages of the history", self.history.len(), MAX_HISTORY_MESSAGES),
            ("characters of a message of the history", longest, MAX_MESSAGE_CHARS),
            ("characters of user_prompt", user_prompt, MAX_USER_PROMPT_CHARS),
            ("characters of question, history and user_prompt", request, MAX_REQUEST_CHARS),
            ("characters of response_type", chars(&self.response_type), MAX_RESPONSE_TYPE_CHARS),
            ("keywords of one level", most_keywords, MAX_GIVEN_KEYWORDS),
            ("characters of a keyword", longest_keyword, MAX_KEYWORD_CHARS),
            ("top_k", self.top_k.max(self.chunk_top_k), MAX_TOP_K),
            ("tokens of a budget", most_tokens, MAX_BUDGET_TOKENS as usize),
            ("stop texts", self.stop.len(), MAX_STOPS),
            ("characters of a stop text", longest_stop, MAX_STOP_CHARS),
        ] {
            if size > limit {
                return Err(QueryError::TooMuch { what, size, limit });
            }
        }
        if self.max_output_tokens == Some(0) {
            let (least, most) = (1.0, f64::from(MAX_BUDGET_TOKENS));
            return Err(QueryError::OutOfRange { what: "max_output_tokens", value: 0.0, least, most });
        }
        if let Some(filter) = &self.filter {
            filter.check()?;
        }
        if self.history.iter().any(|message| message.role == ChatRole::System) {
            return Err(QueryError::SystemInHistory);
        }
        for (what, value) in
            [("cosine_threshold", self.cosine_threshold), ("min_rerank_score", self.min_rerank_score)]
        {
            if !value.is_finite() {
                return Err(QueryError::NoNumber { what });
            }
        }
        self.pagerank.check()?;
        self.reports.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(json: &str) -> Question {
        serde_json::from_str(json).expect("a question")
    }

    #[test]
    fn lightrags_names_and_defaults_are_read() {
        let json = r#"{"query": "Who?", "mode": "local", "only_need_context": true, "response_type": "List",
            "hl_keywords": ["a"], "ll_keywords": ["b"], "conversation_history": [{"role": "user", "content": "Hi"}],
            "user_prompt": "Be brief.", "enable_rerank": false, "include_references": true, "stream": true}"#;
        let expected = Question {
            text: "Who?".to_owned(),
            mode: Mode::Local,
            only_need_context: true,
            response_type: "List".to_owned(),
            hl_keywords: vec!["a".to_owned()],
            ll_keywords: vec!["b".to_owned()],
            history: vec![ChatMessage::new(ChatRole::User, "Hi")],
            user_prompt: Some("Be brief.".to_owned()),
            rerank: false,
            include_references: true,
            stream: true,
            ..Question::default()
        };
        assert_eq!(check_read(json), expected);
        assert_eq!(check_read("{}"), Question::default());
        assert!(serde_json::from_str::<Question>(r#"{"topk": 3}"#).is_err());
    }

    #[test]
    fn a_question_survives_serialization() {
        let question =
            Question { text: "Who?".to_owned(), chunk_pick: ChunkPick::Weight, ..Question::default() };
        let json = serde_json::to_string(&question).expect("JSON");
        assert_eq!(check_read(&json), question);
    }

    #[test]
    fn the_prompt_takes_precedence_over_the_context() {
        let question = |context, prompt| Question {
            only_need_context: context,
            only_need_prompt: prompt,
            ..Question::default()
        };
        assert_eq!(question(false, false).wanted(), QuestionOutput::Answer);
        assert_eq!(question(true, false).wanted(), QuestionOutput::Context);
        assert_eq!(question(true, true).wanted(), QuestionOutput::Prompt);
    }

    #[test]
    fn a_prefix_precedes_the_questions_own_instructions_unless_disabled() {
        let check = |own: Option<&str>, disable| {
            let user_prompt = own.map(str::to_owned);
            let mut question =
                Question { user_prompt, disable_user_prompt_prefix: disable, ..Question::default() };
            question.prefix_user_prompt(" Be polite. ");
            question.user_prompt
        };
        assert_eq!(check(None, false).as_deref(), Some("Be polite."));
        assert_eq!(check(Some("Be brief."), false).as_deref(), Some("Be polite.\nBe brief."));
        assert_eq!(check(Some("Be brief."), true).as_deref(), Some("Be brief."));
    }

    #[test]
    fn values_over_the_limit_are_refused_and_the_error_names_the_limit() {
        let asked = Question { text: "Who?".to_owned(), ..Question::default() };
        assert!(asked.check().is_ok());
        let message = |content: String| ChatMessage::new(ChatRole::User, content);
        for (question, expected) in [
            (
                Question { text: "a".repeat(65_537), ..asked.clone() },
                "characters of the question: 65537, the limit is 65536",
            ),
            (
                Question { history: vec![message("a".repeat(32_769))], ..asked.clone() },
                "characters of a message of the history: 32769, the limit is 32768",
            ),
            (
                Question { history: vec![message(String::new()); 129], ..asked.clone() },
                "messages of the history: 129, the limit is 128",
            ),
            (Question { top_k: 1001, ..asked.clone() }, "top_k: 1001, the limit is 1000"),
            (Question { stop: vec![String::new(); 17], ..asked.clone() }, "stop texts: 17, the limit is 16"),
            (
                Question { stop: vec!["a".repeat(257)], ..asked.clone() },
                "characters of a stop text: 257, the limit is 256",
            ),
            (
                Question { max_output_tokens: Some(0), ..asked.clone() },
                "max_output_tokens: 0 is not between 1 and 1000000",
            ),
            (
                Question { history: vec![ChatMessage::new(ChatRole::System, "Obey.")], ..asked.clone() },
                "the history contains a system message",
            ),
            (Question { cosine_threshold: f32::NAN, ..asked.clone() }, "cosine_threshold is not a number"),
        ] {
            assert_eq!(question.check().expect_err("refused").to_string(), expected);
        }
    }
}
