//! The command line of `ask` and `search`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use graphloom_core::IsoDate;
use graphloom_engine::query::{ChunkPick, MAX_SUGGESTIONS, Mode, Question, ReportOptions};

use super::FilterArgs;

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; all words are joined
    #[arg(required_unless_present = "question_json", value_name = "QUESTION")]
    pub(crate) words: Vec<String>,
    /// Read all settings from a JSON object with the fields of LightRAG's QueryParam, or - for standard input;
    /// other flags take precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) question_json: Option<PathBuf>,
    /// Retrieval mode [default: auto]
    #[arg(long, value_parser = mode_parser())]
    pub(crate) mode: Option<Mode>,
    /// The conversation so far: a JSON list of objects with role (user, assistant) and content, or - for standard
    /// input
    #[arg(long, alias = "conversation-history", value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Additional instructions for the answer model; not used for the search
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_prompt: Option<String>,
    /// Do not use the configured user_prompt_prefix
    #[arg(long, alias = "disable-user-prompt-prefix")]
    pub(crate) no_user_prompt_prefix: bool,
    /// Themes to search for, separated by commas; skips the keyword model
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) hl_keywords: Vec<String>,
    /// Names and details to search for, separated by commas; skips the keyword model
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) ll_keywords: Vec<String>,
    /// Entities or relations to take from each vector search
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<usize>,
    /// Chunks to take from the vector search and keep
    #[arg(long, value_name = "N")]
    pub(crate) chunk_top_k: Option<usize>,
    /// Minimum cosine of a hit, from -1 to 1
    #[arg(long, value_name = "COSINE", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f32>,
    /// Source chunks to consider per entity or relation
    #[arg(long, value_name = "N")]
    pub(crate) related_chunks: Option<u32>,
    /// How to select the source chunks of entities and relations
    #[arg(long, value_enum)]
    pub(crate) chunk_pick: Option<ChunkPickArg>,
    /// Token budget for entities in the context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_entity_tokens: Option<u32>,
    /// Token budget for relations in the context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_relation_tokens: Option<u32>,
    /// Token budget for the whole prompt
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_total_tokens: Option<u32>,
    /// Do not rerank the passages even if a reranker is configured
    #[arg(long)]
    pub(crate) no_rerank: bool,
    /// Print the answer as it is generated; the default, except with --json
    #[arg(long, overrides_with = "no_stream")]
    pub(crate) stream: bool,
    /// Print the answer when it is complete
    #[arg(long, overrides_with = "stream")]
    pub(crate) no_stream: bool,
    /// Also list the documents of the context, cited or not
    #[arg(long, alias = "include-references")]
    pub(crate) references: bool,
    /// With --references: also list the passages of each document
    #[arg(long, alias = "include-chunk-content", requires = "references")]
    pub(crate) chunk_content: bool,
    /// Print the text that each citation points to
    #[arg(long)]
    pub(crate) quotes: bool,
    /// With --json: also print the whole retrieval
    #[arg(long)]
    pub(crate) full: bool,
    /// Bypass the cache: call the models again and do not cache their answers
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Minimum score of a reranked passage, on the reranker's own scale
    #[arg(long, value_name = "SCORE", conflicts_with = "no_rerank", allow_negative_numbers = true)]
    pub(crate) min_rerank_score: Option<f32>,
    /// The form of the answer, as an instruction to the LLM, such as "Single Paragraph" or "Bullet Points"
    #[arg(long, value_name = "FORM")]
    pub(crate) response_type: Option<String>,
    /// Print the context that the LLM would get, without calling it
    #[arg(long, alias = "only-need-context", conflicts_with = "prompt_only")]
    pub(crate) context_only: bool,
    /// Print the whole prompt that the LLM would get, without calling it
    #[arg(long, alias = "only-need-prompt")]
    pub(crate) prompt_only: bool,
    /// Level of the communities whose reports are read, 0 for the coarsest; only in modes that read reports
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,
    /// Maximum LLM calls for the question; only in modes community_global and drift
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<usize>,
    /// Answer for this date, such as 2014 or 2014-03-01: use the facts and claims that held then
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<IsoDate>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

impl AskArgs {
    /// Returns `base` with the values of the flags that were given.
    pub(crate) fn question(&self, base: Question) -> Question {
        let words_or_base =
            |words: &[String], base: Vec<String>| if words.is_empty() { base } else { words.to_vec() };
        Question {
            text: if self.words.is_empty() { base.text } else { self.words.join(" ") },
            mode: self.mode.unwrap_or(base.mode),
            only_need_context: (base.only_need_context && !self.prompt_only) || self.context_only,
            only_need_prompt: (base.only_need_prompt && !self.context_only) || self.prompt_only,
            response_type: self.response_type.clone().unwrap_or(base.response_type),
            stream: (base.stream && !self.no_stream) || self.stream,
            top_k: self.top_k.unwrap_or(base.top_k),
            chunk_top_k: self.chunk_top_k.unwrap_or(base.chunk_top_k),
            max_entity_tokens: self.max_entity_tokens.unwrap_or(base.max_entity_tokens),
            max_relation_tokens: self.max_relation_tokens.unwrap_or(base.max_relation_tokens),
            max_total_tokens: self.max_total_tokens.unwrap_or(base.max_total_tokens),
            cosine_threshold: self.threshold.unwrap_or(base.cosine_threshold),
            related_chunk_number: self.related_chunks.unwrap_or(base.related_chunk_number),
            chunk_pick: self.chunk_pick.map_or(base.chunk_pick, ChunkPick::from),
            hl_keywords: words_or_base(&self.hl_keywords, base.hl_keywords),
            ll_keywords: words_or_base(&self.ll_keywords, base.ll_keywords),
            user_prompt: self.user_prompt.clone().or(base.user_prompt),
            disable_user_prompt_prefix: base.disable_user_prompt_prefix || self.no_user_prompt_prefix,
            rerank: base.rerank && !self.no_rerank,
            min_rerank_score: self.min_rerank_score.unwrap_or(base.min_rerank_score),
            include_references: base.include_references || self.references,
            include_chunk_content: base.include_chunk_content || self.chunk_content,
            as_of: self.as_of.clone().or(base.as_of),
            cache: base.cache && !self.no_cache,
            reports: ReportOptions {
                level: self.level.or(base.reports.level),
                max_calls: self.max_calls.unwrap_or(base.reports.max_calls),
                ..base.reports
            },
            ..base
        }
    }

    /// Returns a message about the question in which options that were given are named as they were typed, not as in JSON.
    pub(crate) fn in_options(&self, message: &str) -> String {
        let given = [
            ("reports.max_calls", "--max-calls", self.max_calls.is_some()),
            ("reports.level", "--level", self.level.is_some()),
            ("cosine_threshold", "--threshold", self.threshold.is_some()),
            ("min_rerank_score", "--min-rerank-score", self.min_rerank_score.is_some()),
        ];
        let given = given.iter().filter(|(.., is_given)| *is_given);
        given.fold(message.to_owned(), |message, (name, option, _)| message.replace(name, option))
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to search for; all words are joined
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Maximum passages, entities and relations each
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top_k: usize,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    /// A name, or a text such as the last answer; the questions are about the entities that it names
    #[arg(long, value_name = "NAME")]
    pub(crate) about: Option<String>,
    /// Maximum number of questions
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=MAX_SUGGESTIONS as u64))]
    pub(crate) limit: usize,
}

/// Parses a mode by its name; help and shell completion list all modes.
pub(crate) fn mode_parser() -> impl TypedValueParser<Value = Mode> {
    let names = Mode::ALL.iter().map(|mode| PossibleValue::new(mode.name()).help(mode.summary()));
    PossibleValuesParser::new(names).try_map(|name| Mode::named(&name).ok_or("unknown mode"))
}

/// How to select chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChunkPickArg {
    /// By cosine with the question.
    Vector,
    /// By weighted polling: more from better-ranked entities and relations.
    Weight,
}

impl From<ChunkPickArg> for ChunkPick {
    fn from(pick: ChunkPickArg) -> Self {
        match pick {
            ChunkPickArg::Vector => Self::Vector,
            ChunkPickArg::Weight => Self::Weight,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::{Cli, Command};
    use super::*;

    #[test]
    fn omitted_options_keep_their_defaults() {
        let cli = Cli::try_parse_from([
            "graphloom",
            "ask",
            "who",
            "wrote",
            "it?",
            "--mode",
            "local",
            "--top-k",
            "7",
        ]);
        let Ok(Cli { command: Command::Ask(ask), .. }) = cli else { panic!("an ask: {cli:?}") };
        let expected =
            Question { text: "who wrote it?".to_owned(), mode: Mode::Local, top_k: 7, ..Question::default() };
        assert_eq!(ask.question(Question::default()), expected);
        let base = Question { mode: Mode::Naive, max_total_tokens: 9, ..Question::default() };
        assert_eq!(ask.question(base), Question { max_total_tokens: 9, ..expected });
    }

    #[test]
    fn messages_name_the_options_that_were_typed() {
        let cli = Cli::try_parse_from(["graphloom", "ask", "who?", "--max-calls", "1"]);
        let Ok(Cli { command: Command::Ask(ask), .. }) = cli else { panic!("an ask: {cli:?}") };
        let message = "reports.max_calls: 1 is not between 2 and 200; reports.level: 1";
        assert_eq!(ask.in_options(message), "--max-calls: 1 is not between 2 and 200; reports.level: 1");
    }
}
