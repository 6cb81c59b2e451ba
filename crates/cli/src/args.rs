//! The command line.

mod ask;
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

pub(crate) use ask::{AskArgs, ModeArg, SearchArgs};
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
