//! Command-line arguments.

mod ask;
mod claims;
mod cost;
mod derive;
mod eval;
mod filter;
mod graph;
mod help;
mod import;
mod place;
mod queue;
mod server;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use graphloom_core::{TrackId, WorkspaceId};
use graphloom_engine::index::DocumentSort;
use graphloom_engine::money::Limit;

pub(crate) use ask::{AskArgs, SearchArgs, SuggestArgs, mode_parser};
pub(crate) use claims::ClaimsArgs;
pub(crate) use cost::{BudgetArgs, CostArgs, WorkspaceLimit};
pub(crate) use derive::{CommunitiesArgs, DeriveArgs, TreeArgs};
pub(crate) use eval::{
    AnswersArgs, CompareArgs, EvalCommand, EvaluationArgs, OWN_WORKSPACE, PairwiseArgs, RagcheckerArgs,
    RetrievalArgs, SetIndexing, own_workspace,
};
pub(crate) use filter::{ConditionArgs, FilterArgs};
pub(crate) use graph::{ExportArgs, ExportTo, GraphArgs, GraphCommand, HowArgs};
pub(crate) use help::{command, meant_for_graph, parse};
pub(crate) use import::{ImportArgs, ImportCommand};
pub(crate) use place::PlaceOptions;
pub(crate) use queue::{CancelArgs, ContextualizeArgs, ReEmbedArgs, ReExtractArgs, WorkArgs, WorkerArgs};
pub(crate) use server::{KeyCommand, McpArgs, ServeArgs, UserCommand};

/// Turn documents into a knowledge graph and answer questions with citations
///
/// Works without an API key, a service or a network: rules extract the graph, a built-in embedder makes the
/// vectors, and answers quote your documents verbatim. To use an LLM, pass `--llm`, for example `--llm
/// openai:MODEL`.
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
refused; 4 nothing in the documents is similar to the question; 5 stopped by the budget; 6 the workspace is \
paused; 130 stopped by Ctrl-C.";

/// Options of all commands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Folder of the workspaces [default: .graphloom in the current folder or the nearest parent that has one]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Database with the workspaces, postgres://USER:PASSWORD@HOST/DATABASE [default: files in the data folder]
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub(crate) store: Option<String>,
    /// Workspace in the data folder [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub(crate) workspace: Option<String>,
    /// LLM for every role: none, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL [default: the ones the workspace
    /// was built with, or none]
    #[arg(long, global = true, value_name = "MODEL", help_heading = "Global options")]
    pub(crate) llm: Option<String>,
    /// Embedder: builtin, static:NAME, local:NAME, openai:MODEL, gemini:MODEL or ollama:MODEL [default: the one the workspace
    /// was built with, or builtin]
    #[arg(long, global = true, value_name = "MODEL", help_heading = "Global options")]
    pub(crate) embedder: Option<String>,
    /// Set any other configuration key; KEY= unsets it; repeatable; `graphloom config show` lists the keys
    // Not `global`: clap would keep only the list of the innermost command. See `help::command`.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Global options")]
    pub(crate) set: Vec<(String, String)>,
    /// Read this configuration file instead of ./graphloom.toml and the user configuration
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON to stdout: one value, or one value per line if results arrive over time
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Print no progress and no notes
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Log more to stderr; -vv logs everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
    /// When to color the output
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, help_heading = "Global options")]
    pub(crate) color: ColorChoice,
}

/// When to color the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// If stdout is a terminal and NO_COLOR is not set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add files, folders and web pages; safe to interrupt and to repeat
    #[command(visible_aliases = ["index", "ingest"])]
    Add(AddArgs),
    /// Import an index that another system built, without calling a model
    #[command(
        subcommand,
        after_help = "To add files and folders, use `graphloom add`; to import a graph as JSON, use \
        `graphloom graph import`."
    )]
    Import(ImportCommand),
    /// Read one source from standard input; graphloom calls this itself
    #[command(hide = true)]
    ReadSource,
    /// Answer a question, with citations
    #[command(visible_alias = "query")]
    Ask(AskArgs),
    /// Find passages, entities and relations without an LLM
    #[command(visible_alias = "find")]
    Search(SearchArgs),
    /// Suggest questions that the documents answer
    Suggest(SuggestArgs),
    /// Show documents, failures, costs and indexes, or the progress of one run
    #[command(visible_aliases = ["ls", "list"])]
    Status(StatusArgs),
    /// Show what model calls cost, by role, model, document or day
    Cost(CostArgs),
    /// Show or set the budget that all processes of the workspace share
    Budget(BudgetArgs),
    /// Show one document
    Show(ShowArgs),
    /// Remove documents and everything derived only from them
    #[command(visible_aliases = ["delete", "remove"])]
    Rm(RmArgs),
    /// Show and edit the graph
    Graph(GraphArgs),
    /// List the dated claims of the documents, with the sentences that state and end them
    Claims(ClaimsArgs),
    /// Derive a view of the whole workspace: communities with reports, or the tree of summaries
    Derive(DeriveArgs),
    /// List the communities of the graph, or show the report of one
    Communities(CommunitiesArgs),
    /// List the summaries of passages, or show one with its parts
    Tree(TreeArgs),
    /// Export entities, relations and chunks for other programs
    Export(ExportArgs),
    /// Retry failed chunks and documents
    Retry(RetryArgs),
    /// Show or clear cached LLM answers and vectors of questions
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Index everything that is queued, without adding anything
    Work(WorkArgs),
    /// Index the queued documents of all workspaces until Ctrl-C
    Worker(WorkerArgs),
    /// Serve the web UI and the HTTP API, and index added documents until Ctrl-C
    Serve(ServeArgs),
    /// Serve one client over the Model Context Protocol (MCP) on standard input and output
    Mcp(McpArgs),
    /// Create, list and revoke API keys for the server
    #[command(subcommand)]
    Key(KeyCommand),
    /// Create, list and remove users who can log in to the server
    #[command(subcommand)]
    User(UserCommand),
    /// Remove documents from the queue
    Cancel(CancelArgs),
    /// Pause all indexing in the workspace
    Pause,
    /// Resume indexing after a pause
    Resume,
    /// Extract documents again, for example with another model; the old extraction stays in use meanwhile
    ReExtract(ReExtractArgs),
    /// Recompute the context of chunks after the setting `contextual` changed
    Contextualize(ContextualizeArgs),
    /// Replace all vectors with those of another embedder; the old ones stay in use meanwhile
    ReEmbed(ReEmbedArgs),
    /// Measure retrieval and answers on questions with known answers
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Copy workspaces between data folders and databases
    Copy(CopyArgs),
    /// List, delete and move workspaces
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Copy all workspaces, keys and users into a folder, while they are in use
    Backup(BackupArgs),
    /// Verify a backup and restore its workspaces
    Restore(RestoreArgs),
    /// Print the canonical state as JSON lines, and its hash
    Dump(DumpArgs),
    /// Check the store for damage and contradictions
    Check,
    /// Repair a store that is damaged or has lost commits
    Repair(RepairArgs),
    /// Show the schema versions of databases and workspace files, and bring them up to this release
    Migrate(MigrateArgs),
    /// Parse an extraction answer of an LLM and print the result as JSON
    Parse(ParseArgs),
    /// Check the configuration, the data folder and the models
    Doctor,
    /// Manage local models
    #[cfg(feature = "local")]
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

#[derive(Debug, Args)]
#[command(after_help = "\
A document is identified by its source: its path relative to the project folder if it is inside, otherwise its absolute path, \
with / as separator. Adding a source again replaces the document if the content changed, and does nothing if it did \
not. In folders, hidden files and files matched by .gitignore or .graphloomignore are left out, symbolic links \
are not followed, and files of unknown kinds are listed as skipped.")]
pub(crate) struct AddArgs {
    /// Files, folders, URLs (https://...), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Metadata for all added documents; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) meta: Vec<(String, String)>,
    /// Source name for standard input, such as notes.md
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Also fetch URLs with addresses of the local network: loopback, private, link-local
    #[arg(long)]
    pub(crate) allow_private_addresses: bool,
    /// Name of this run, for `status --track` [default: a generated name]
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Option<TrackId>,
    /// Only queue the documents; a later `work`, `add` or `retry` indexes them
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Keep running and add new and changed files until Ctrl-C
    #[arg(long, conflicts_with = "no_wait")]
    pub(crate) watch: bool,
    /// Remove documents below the given folders whose file is gone
    #[arg(long, conflicts_with_all = ["estimate", "no_wait"])]
    pub(crate) prune: bool,
    /// Print an estimate of the cost; send nothing and store nothing
    #[arg(long, conflicts_with_all = ["budget", "no_wait", "track", "watch"])]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) building: BuildArgs,
}

/// How to build the graph, and how much that may cost.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Stop before exceeding this budget: tokens such as 2M, 500k or 900tokens, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = limit)]
    pub(crate) budget: Option<Limit>,
    /// When to ask again about a chunk: auto (if names were missed), or a number of passes [default: what the workspace was
    /// built with, or auto]
    #[arg(long, value_name = "WHEN")]
    pub(crate) gleaning: Option<String>,
    /// Context to index with each chunk: off, headings (title and headings), or model [default: what the workspace was
    /// built with, or off]
    #[arg(long, value_name = "HOW")]
    pub(crate) contextual: Option<String>,
    /// Use the models and settings of this command for the workspace from now on; the existing graph stays as it is
    #[arg(long)]
    pub(crate) switch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Show the documents and progress of the run with this name instead
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Option<TrackId>,
    /// Maximum number of documents to list [default: 50; all with --json]
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
    /// Order of the documents
    #[arg(long, value_enum, default_value_t = SortArg::Status)]
    pub(crate) sort: SortArg,
    /// Continue the list after this document: the value of `next` from the previous page
    #[arg(long, value_name = "ID")]
    pub(crate) next: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Order of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// By source.
    Source,
    /// The most recently added first.
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

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Source, id, or the start of an id
    #[arg(value_name = "DOC")]
    pub(crate) document: String,
    /// Print only the document's text
    #[arg(long)]
    pub(crate) text: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Change nothing; exit with 1 if a migration is due, or if the tables are from a later release
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// If commits are missing, continue from what is left; the files are copied first
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// Budget for deriving lost data again.
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Sources, ids, or starts of ids; a folder stands for all documents below it. With conditions, only those that meet all
    /// conditions
    #[arg(
        required_unless_present_any = ["track", "source", "meta", "after", "before", "status"],
        value_name = "DOC"
    )]
    pub(crate) documents: Vec<String>,
    /// Also documents queued by the run with this name; repeatable
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Vec<TrackId>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the documents that match the conditions or are below a folder; without --yes they are only listed
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// Sources, ids, or starts of ids [default: everything that failed]
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<String>,
    /// Also retry all cancelled documents; a cancelled document that you name is retried without this flag
    #[arg(long)]
    pub(crate) cancelled: bool,
    /// Documents queued by the run with this name; repeatable
    #[arg(long, value_name = "NAME", value_parser = queue::track)]
    pub(crate) track: Vec<TrackId>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) building: BuildArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show the number and size of cached entries of each kind
    Show,
    /// Clear the cache; all kinds if no kind is given
    Clear {
        /// Keywords that an LLM found in questions
        #[arg(long)]
        keywords: bool,
        /// Answers of LLMs
        #[arg(long)]
        answers: bool,
        /// Vectors of questions and of their keywords
        #[arg(long)]
        vectors: bool,
        /// Texts that LLMs wrote for derived layers, such as reports
        #[arg(long)]
        nodes: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
FROM and TO are data folders, such as .graphloom or sqlite:.graphloom, or databases, such as postgres://HOST/NAME. Run the command \
again to continue after an interruption, or to copy what was added since. Nothing may write to the target during the copy. \
Afterwards both workspaces have the same hash, as printed by `graphloom dump --hash`.")]
pub(crate) struct CopyArgs {
    /// Data folder or database to copy from
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// Data folder or database to copy to [default: the configured one]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<String>,
    /// Copy all workspaces of FROM, not only that of --workspace
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Copies every workspace of the data folder or of --store, and the keys and users of the server. Each copy is a consistent snapshot, \
even while other processes write. Cached answers are not copied. The copies are workspace files, even if the source is a database. \
Workspaces that cannot be read are named, and the others are copied. Run the command again to continue after an interruption.")]
pub(crate) struct BackupArgs {
    /// New or empty folder for the backup, outside the data folder
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Copy only workspaces that changed since this backup; restoring needs its folder too
    #[arg(long, value_name = "BASE")]
    pub(crate) incremental: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
First verifies the backup: every workspace must be undamaged, free of contradictions, and have the hash from when it was copied. \
Then copies the workspaces into the data folder or --store. A workspace that has documents the backup lacks is refused; delete it \
first with `graphloom workspace delete`. Nothing may use the workspaces during the restore.")]
pub(crate) struct RestoreArgs {
    /// Folder that `graphloom backup` wrote
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Only verify the backup
    #[arg(long)]
    pub(crate) verify: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List the workspaces with their documents and size
    List,
    /// Delete a workspace with everything in it
    Delete {
        /// Workspace to delete
        #[arg(value_name = "NAME", value_parser = workspace_name)]
        name: WorkspaceId,
        /// Delete the workspace; without --yes, only print what would be deleted
        #[arg(long)]
        yes: bool,
    },
    /// Move a workspace to another data folder or database while it is in use
    ///
    /// Copies the workspace, pauses its queue, waits for workers, copies what changed meanwhile, and deletes the original once the
    /// copy has the same hash. Afterwards, point the programs that use it to the new place.
    Move {
        /// Workspace to move
        #[arg(value_name = "NAME", value_parser = workspace_name)]
        name: WorkspaceId,
        /// Target: a data folder, such as sqlite:FOLDER, or a database, such as postgres://HOST/NAME
        #[arg(value_name = "TO")]
        to: String,
    },
}

fn workspace_name(name: &str) -> Result<WorkspaceId, String> {
    WorkspaceId::new(name).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Print only the hash
    #[arg(long)]
    pub(crate) hash: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
For authors of extraction prompts: shows how indexing would read an LLM's answer. Needs no workspace, model or \
configuration. Any text is accepted; text that is not a record is listed with its position and the reason.")]
pub(crate) struct ParseArgs {
    /// File with the answer [default: standard input, also -]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Treat the answer as cut off by the output limit: drop an incomplete last record
    #[arg(long)]
    pub(crate) cut: bool,
}

#[cfg(feature = "local")]
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Copy a model folder into the model store
    Add {
        /// Folder with the model's files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Name in the store [default: the folder's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Download a known model into the model store
    Pull {
        /// Name of the model
        name: String,
    },
    /// List the models in the model store
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key with its value; secrets are masked
    Show {
        /// Also print the origin of each value
        #[arg(long)]
        origin: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptsCommand {
    /// List all prompts, their purpose, and which ones you replaced
    List,
    /// Print the prompt that is in use
    Show {
        /// Name of the prompt
        name: String,
        /// Print the built-in prompt even if you replaced it
        #[arg(long)]
        built_in: bool,
    },
    /// Write the built-in prompts to a folder so that you can change them
    Export {
        /// Folder to write to; created if it does not exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Prompts to export [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Overwrite existing files
        #[arg(long)]
        force: bool,
    },
    /// Check the prompts in a folder
    Check {
        /// Folder to check [default: the configured prompts_dir]
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
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
