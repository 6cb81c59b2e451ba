//! The command line.

mod eval;
mod filter;
mod graph;
mod help;
mod queue;
mod server;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use graphloom_core::TrackId;
use graphloom_engine::index::DocumentSort;
use graphloom_engine::money::Limit;
use graphloom_engine::query::{ChunkPick, Mode, Question};

pub(crate) use eval::{
    AnswersArgs, AskedArgs, CompareArgs, EvalCommand, OWN_WORKSPACE, PairwiseArgs, RagcheckerArgs,
    RetrievalArgs, SetIndexing, own_workspace,
};
pub(crate) use filter::{ConditionArgs, FilterArgs};
pub(crate) use graph::{ExportArgs, GraphArgs, GraphCommand, HowArgs};
pub(crate) use help::{command, parse};
pub(crate) use queue::{CancelArgs, ReExtractArgs, SituateArgs, WorkArgs};
pub(crate) use server::{KeyCommand, McpArgs, ServeArgs, UserCommand};

/// Documents in, cited answers out.
///
/// Works without a key, a service or a network: rules extract the graph, a built-in embedder makes the vectors, and
/// answers are verbatim sentences. Choose a language model with `--llm`, such as `--llm openai:MODEL`.
#[derive(Debug, Parser)]
#[command(name = "graphloom", version, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 error; 2 wrong command line or configuration; 3 finished, but some items failed or were \
refused; 4 the documents hold no answer; 5 stopped by the budget; 6 the workspace is \
paused; 130 stopped by Ctrl-C.";

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Folder that holds the workspaces [default: .graphloom of this folder or of one above]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Workspace inside the data folder [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub(crate) workspace: Option<String>,
    /// Language model of every role: none, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL [default: none]
    #[arg(long, global = true, value_name = "MODEL", help_heading = "Global options")]
    pub(crate) llm: Option<String>,
    /// Embedder: builtin, local:NAME, openai:MODEL, gemini:MODEL or ollama:MODEL [default: the workspace's own, else
    /// builtin]
    #[arg(long, global = true, value_name = "MODEL", help_heading = "Global options")]
    pub(crate) embedder: Option<String>,
    /// Any other configuration key; repeatable; `graphloom config show` lists them
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Global options")]
    pub(crate) set: Vec<(String, String)>,
    /// Configuration file, in place of ./graphloom.toml and the user's own
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON on stdout: one value, or one value a line where results arrive over time
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Print no progress and no notes
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Log more to stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
    /// Colours
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Global options")]
    pub(crate) color: ColorChoice,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add files, folders and web pages; safe to interrupt and to repeat
    #[command(visible_aliases = ["index", "import", "ingest"])]
    Add(AddArgs),
    /// Reads one source from standard input, for the program itself
    #[command(hide = true)]
    ReadSource,
    /// Answer a question, with citations
    #[command(visible_alias = "query")]
    Ask(AskArgs),
    /// Find passages, entities and relations, without a language model
    #[command(visible_alias = "find")]
    Search(SearchArgs),
    /// Show documents, failures, costs and indexes, or what one run added
    #[command(visible_aliases = ["ls", "list"])]
    Status(StatusArgs),
    /// Show what model calls cost, by role, model, document or day
    Cost(CostArgs),
    /// Show one document
    Show(ShowArgs),
    /// Remove documents and everything that came from them alone
    #[command(visible_aliases = ["delete", "remove"])]
    Rm(RmArgs),
    /// Look at the graph and edit it
    Graph(GraphArgs),
    /// Write entities, relations and chunks for other programs
    Export(ExportArgs),
    /// Try failed chunks, and stopped and cancelled documents, again
    Retry(RetryArgs),
    /// Show or forget remembered answers of models
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Work on everything that waits, without adding anything
    Work(WorkArgs),
    /// Serve the API over HTTP, and index what is added, until Ctrl-C
    Serve(ServeArgs),
    /// Serve one client of the Model Context Protocol (MCP) on standard input and output
    Mcp(McpArgs),
    /// Make, list and revoke keys of programs that use the server
    #[command(subcommand)]
    Key(KeyCommand),
    /// Make, list and remove users who log in to the server
    #[command(subcommand)]
    User(UserCommand),
    /// Take documents out of the queue
    Cancel(CancelArgs),
    /// Pause all work on the workspace
    Pause,
    /// Let work go on after a pause
    Resume,
    /// Extract documents again, such as with another model; they stay in use meanwhile
    ReExtract(ReExtractArgs),
    /// Situate chunks again, as the setting `contextual` says now
    Situate(SituateArgs),
    /// Measure retrieval and answers on questions with known answers
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Print the canonical state as JSON lines, and its hash
    Dump(DumpArgs),
    /// Check the store for contradictions
    Check,
    /// Repair a store that is damaged or lost what was committed to it
    Repair(RepairArgs),
    /// Parse a model's extraction answer and print it as JSON
    Parse(ParseArgs),
    /// Check configuration, data folder and models
    Doctor,
    /// Manage local models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Show the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List, print, export and check the prompts
    #[command(subcommand)]
    Prompts(PromptsCommand),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// `graphloom add`.
#[derive(Debug, Args)]
#[command(after_help = "\
A document is known by its source: its path relative to the current folder if it lies inside, else its absolute path, \
with / between the parts. Adding the same source again with other content replaces it; with the same content it \
changes nothing. In folders, hidden files and what .gitignore and .graphloomignore name are left out, symbolic links \
are not followed, and files of unknown kinds are listed as skipped.")]
pub(crate) struct AddArgs {
    /// Files, folders, addresses (https://...), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Metadata of all added documents; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) meta: Vec<(String, String)>,
    /// Source name of standard input, such as notes.md
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Fetch addresses inside this network too: loopback, private, link-local
    #[arg(long)]
    pub(crate) allow_private_addresses: bool,
    /// Name of this run, for `status --track`; it is given one where this is unset
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Option<TrackId>,
    /// Accept the documents and leave the work to a later `work`, `add` or `retry`
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Go on and add what changes in the folders and files, until Ctrl-C
    #[arg(long, conflicts_with = "no_wait")]
    pub(crate) watch: bool,
    /// With --watch: remove documents whose file is gone
    #[arg(long, requires = "watch")]
    pub(crate) prune: bool,
    /// Print what it would cost, send nothing and store nothing
    #[arg(long, conflicts_with_all = ["budget", "no_wait", "track", "watch"])]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: Building,
}

/// How the graph is built, and what that may cost.
#[derive(Debug, Args)]
pub(crate) struct Building {
    /// Stop before the call that might pass this: tokens such as 2M, 500k or 900tokens, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = limit)]
    pub(crate) budget: Option<Limit>,
    /// When chunks are asked about again: auto (where names were missed), or a number of passes [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub(crate) gleaning: Option<String>,
    /// What situates chunks in their documents: off, headings (title and headings), or model [default: off]
    #[arg(long, value_name = "HOW")]
    pub(crate) contextual: Option<String>,
    /// Build the workspace from now on with the models and settings of this command; what is in the graph stays as it is
    #[arg(long)]
    pub(crate) switch: bool,
}

/// `graphloom cost`.
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// What to add up by; several separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [CostBy::Role, CostBy::Model])]
    pub(crate) by: Vec<CostBy>,
}

/// What calls are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum CostBy {
    /// What the model was asked for.
    Role,
    /// The model.
    Model,
    /// The document it was about.
    Document,
    /// The day, in UTC.
    Day,
}

impl From<CostBy> for graphloom_engine::money::CostBy {
    fn from(by: CostBy) -> Self {
        match by {
            CostBy::Role => Self::Role,
            CostBy::Model => Self::Model,
            CostBy::Document => Self::Document,
            CostBy::Day => Self::Day,
        }
    }
}

/// `graphloom ask`.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; all words together
    #[arg(required_unless_present = "question_json", value_name = "QUESTION")]
    pub(crate) words: Vec<String>,
    /// Take everything from a JSON object with the names of LightRAG's QueryParam; - for standard input; other flags win
    #[arg(long, value_name = "FILE")]
    pub(crate) question_json: Option<PathBuf>,
    /// Which searches run [default: auto]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// The conversation so far: a JSON list of objects with role (user, assistant) and content; - for standard input
    #[arg(long, alias = "conversation-history", value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// What the answer model is asked to heed beside the question; not searched for
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_prompt: Option<String>,
    /// Leave out the configured user_prompt_prefix
    #[arg(long, alias = "disable-user-prompt-prefix")]
    pub(crate) no_user_prompt_prefix: bool,
    /// Themes to search with, separated by commas; none are looked for then
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) hl_keywords: Vec<String>,
    /// Names and specifics to search with, separated by commas; none are looked for then
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) ll_keywords: Vec<String>,
    /// Entities or relations taken from each vector search
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<usize>,
    /// Chunks taken from the vector search and kept
    #[arg(long, value_name = "N")]
    pub(crate) chunk_top_k: Option<usize>,
    /// Lowest cosine of a hit, from -1 to 1
    #[arg(long, value_name = "COSINE", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f32>,
    /// Chunks considered behind each entity or relation
    #[arg(long, value_name = "N")]
    pub(crate) related_chunks: Option<u32>,
    /// How chunks behind entities and relations are picked
    #[arg(long, value_enum)]
    pub(crate) chunk_pick: Option<ChunkPickArg>,
    /// Token budget of the entities in the context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_entity_tokens: Option<u32>,
    /// Token budget of the relations in the context
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_relation_tokens: Option<u32>,
    /// Token budget of the whole prompt
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_total_tokens: Option<u32>,
    /// Leave the passages in the order of the search, though a reranker is configured
    #[arg(long)]
    pub(crate) no_rerank: bool,
    /// Print the answer as it is made; the default, except with --json
    #[arg(long, overrides_with = "no_stream")]
    pub(crate) stream: bool,
    /// Ask for the answer in one piece
    #[arg(long, overrides_with = "stream")]
    pub(crate) no_stream: bool,
    /// List the documents of the context too, cited or not
    #[arg(long, alias = "include-references")]
    pub(crate) references: bool,
    /// List their passages too
    #[arg(long, alias = "include-chunk-content", requires = "references")]
    pub(crate) chunk_content: bool,
    /// Print the words that each citation points to
    #[arg(long)]
    pub(crate) quotes: bool,
    /// With --json: also everything that was retrieved
    #[arg(long)]
    pub(crate) full: bool,
    /// Ask the models again, and remember nothing of what they say
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Lowest score of a reranked passage, on the reranker's own scale
    #[arg(long, value_name = "SCORE", conflicts_with = "no_rerank", allow_negative_numbers = true)]
    pub(crate) min_rerank_score: Option<f32>,
    /// The form of answer asked of the model, such as "Single Paragraph" or "Bullet Points"
    #[arg(long, value_name = "FORM")]
    pub(crate) response_type: Option<String>,
    /// Print the context that a model would be given, and ask none
    #[arg(long, alias = "only-need-context", conflicts_with = "prompt_only")]
    pub(crate) context_only: bool,
    /// Print the whole prompt that a model would be given, and ask none
    #[arg(long, alias = "only-need-prompt")]
    pub(crate) prompt_only: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

impl AskArgs {
    /// `base` with everything that was said.
    pub(crate) fn question(&self, base: Question) -> Question {
        let said = |words: &[String], base: Vec<String>| if words.is_empty() { base } else { words.to_vec() };
        Question {
            text: if self.words.is_empty() { base.text } else { self.words.join(" ") },
            mode: self.mode.map_or(base.mode, Mode::from),
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
            hl_keywords: said(&self.hl_keywords, base.hl_keywords),
            ll_keywords: said(&self.ll_keywords, base.ll_keywords),
            user_prompt: self.user_prompt.clone().or(base.user_prompt),
            disable_user_prompt_prefix: base.disable_user_prompt_prefix || self.no_user_prompt_prefix,
            rerank: base.rerank && !self.no_rerank,
            min_rerank_score: self.min_rerank_score.unwrap_or(base.min_rerank_score),
            include_references: base.include_references || self.references,
            include_chunk_content: base.include_chunk_content || self.chunk_content,
            cache: base.cache && !self.no_cache,
            ..base
        }
    }
}

/// `graphloom search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; all words together
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Most passages, entities and relations
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top_k: usize,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// A mode, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// A walk over the graph from passages by vector and words, facts, and names in the question.
    Auto,
    /// A walk over the graph from passages and facts by vector, and names in the question.
    Ppr,
    /// Chunks by vector.
    Naive,
    /// Chunks by vector and words, best where chunks are situated in their documents.
    Contextual,
    /// Entities by specifics, their relations and chunks.
    Local,
    /// Relations by themes, their entities and chunks.
    Global,
    /// Local and global.
    Hybrid,
    /// Hybrid and naive.
    Mix,
    /// No search; the model answers alone.
    Bypass,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Auto => Self::Auto,
            ModeArg::Ppr => Self::Ppr,
            ModeArg::Naive => Self::Naive,
            ModeArg::Contextual => Self::Contextual,
            ModeArg::Local => Self::Local,
            ModeArg::Global => Self::Global,
            ModeArg::Hybrid => Self::Hybrid,
            ModeArg::Mix => Self::Mix,
            ModeArg::Bypass => Self::Bypass,
        }
    }
}

/// How chunks are picked, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChunkPickArg {
    /// By cosine with the question.
    Vector,
    /// By polling, better ranked entities and relations more often.
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

/// `graphloom status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Show what the run of this name queued, and how far it is, instead
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Option<TrackId>,
    /// Most documents listed [default: 50; all with --json]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
    /// The order of documents
    #[arg(long, value_enum, default_value_t = SortArg::Status)]
    pub(crate) sort: SortArg,
    /// List the documents after this one: the `next` of the page before
    #[arg(long, value_name = "ID")]
    pub(crate) next: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// The order of documents, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// By source.
    Source,
    /// The latest accepted first.
    Date,
    /// Failed, incomplete, cancelled, indexing, waiting, ready; then by source.
    Status,
}

impl From<SortArg> for DocumentSort {
    fn from(sort: SortArg) -> Self {
        match sort {
            SortArg::Source => Self::Source,
            SortArg::Date => Self::Date,
            SortArg::Status => Self::Status,
        }
    }
}

/// `graphloom show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Source, id, or the beginning of an id
    #[arg(value_name = "DOC")]
    pub(crate) document: String,
    /// Print the document's text and nothing else
    #[arg(long)]
    pub(crate) text: bool,
}

/// `graphloom repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Go on from what is there where commits are missing; the files are copied before
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// What deriving again may spend
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// `graphloom rm`.
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Sources, ids, or beginnings of ids; with conditions, those of them that meet all conditions
    #[arg(
        required_unless_present_any = ["track", "source", "meta", "after", "before", "status"],
        value_name = "DOC"
    )]
    pub(crate) documents: Vec<String>,
    /// Also what the run of this name queued; repeatable
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Vec<TrackId>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove what the conditions match; without it they are only listed
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

/// `graphloom retry`.
#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// Sources, ids, or beginnings of ids; everything that failed where none is named
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Everything that was cancelled too; a named document is taken up again without it
    #[arg(long)]
    pub(crate) cancelled: bool,
    /// What the run of this name queued; repeatable
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Vec<TrackId>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) building: Building,
}

/// `graphloom cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show how much is remembered of each kind
    Show,
    /// Forget it; all kinds where none is named
    Clear {
        /// What the keyword model said
        #[arg(long)]
        keywords: bool,
        /// What the answer model said
        #[arg(long)]
        answers: bool,
        /// Vectors of questions and their keywords
        #[arg(long)]
        vectors: bool,
    },
}

/// `graphloom dump`.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Print the hash and nothing else
    #[arg(long)]
    pub(crate) hash: bool,
}

/// `graphloom parse`.
#[derive(Debug, Args)]
#[command(after_help = "\
For people who write extraction prompts: shows what indexing would make of an answer. Needs no workspace, no model and no \
configuration. Any text is read; what is no record is listed with its reason and its place.")]
pub(crate) struct ParseArgs {
    /// File with the answer; - or nothing for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The answer was ended by the output limit: a last record that nothing closes is not trusted
    #[arg(long)]
    pub(crate) cut: bool,
}

/// `graphloom model`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Copy a model folder into the model store
    Add {
        /// Folder with the model's files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Its name in the store; the folder's where unset
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Download a known model into the model store
    Pull {
        /// Its name
        name: String,
    },
    /// List the models of the model store
    List,
}

/// `graphloom config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key with its value; secrets are not printed
    Show {
        /// Also print where each value came from
        #[arg(long)]
        origin: bool,
    },
}

/// `graphloom prompts`.
#[derive(Debug, Subcommand)]
pub(crate) enum PromptsCommand {
    /// List all prompts, what each is for, and which are your own
    List,
    /// Print the file of a prompt in use
    Show {
        /// Its name
        name: String,
        /// Ours, though there is one of your own
        #[arg(long)]
        built_in: bool,
    },
    /// Write the built-in prompts into a folder, to change them
    Export {
        /// The folder; made where it is missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// These prompts; all where none is named
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Replace files that exist
        #[arg(long)]
        force: bool,
    },
    /// Check the prompts of a folder
    Check {
        /// The folder; the configured one where none is named
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// `graphloom completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

fn limit(text: &str) -> Result<Limit, String> {
    Limit::parse(text).ok_or_else(|| format!("expected {}", Limit::EXPECTED))
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_said_stays_at_the_default() {
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
}
