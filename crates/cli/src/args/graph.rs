//! Arguments of `graphloom graph` and `graphloom export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use graphloom_engine::export::{ExportFormat, ExportPart};

use super::{FilterArgs, key_value};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
`graphloom graph NAME` is short for `graphloom graph show NAME`. Names ignore case; the old name of a merged or renamed \
entity leads to the new one. Every edit is a decision: it also applies to documents added later, \
`history` lists it and `undo` reverts it.")]
pub(crate) struct GraphArgs {
    /// Entity name; all words are joined
    #[arg(required = true, value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// Show the whole description, all relations and all passages instead of what fits the screen
    #[arg(long)]
    pub(crate) all: bool,
    #[command(subcommand)]
    pub(crate) command: Option<GraphCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Show an entity with its relations and source passages
    Show {
        /// Entity name; all words are joined
        #[arg(required = true, value_name = "ENTITY")]
        entity: Vec<String>,
        /// Show the whole description, all relations and all passages instead of what fits the screen
        #[arg(long)]
        all: bool,
    },
    /// List entity names: those that match a text, or those with the most relations
    Labels {
        /// Name or part of a name; all words are joined
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
        /// Maximum number of names [default: 50 with TEXT, at most 100; 300 without, at most 1000]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// List all names in alphabetical order
        #[arg(long, conflicts_with_all = ["text", "limit"])]
        all: bool,
    },
    /// Show the entities around an entity and their relations; with *, the entities with the most relations
    Subgraph {
        /// Entity name, or *
        #[arg(value_name = "ENTITY", default_value = "*")]
        entity: String,
        /// Maximum distance in relations, up to 20
        #[arg(long, value_name = "N", default_value_t = 3)]
        depth: u32,
        /// Maximum number of entities, up to 1000
        #[arg(long, value_name = "N", default_value_t = 1000)]
        max_nodes: usize,
    },
    /// Create an entity, or with --relation a relation between two entities
    Create {
        /// Name of the new entity; with --relation, the source entity
        #[arg(value_name = "ENTITY")]
        name: String,
        #[command(flatten)]
        relation: RelationArgs,
        /// Entity type, such as Person
        #[arg(long = "type", value_name = "TYPE", conflicts_with = "relation")]
        kind: Option<String>,
        /// Description
        #[arg(long, value_name = "TEXT")]
        description: String,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Change an entity, or with --relation a relation
    Edit {
        /// Entity name; with --relation, one end of the relation
        #[arg(value_name = "ENTITY")]
        name: String,
        #[command(flatten)]
        relation: RelationArgs,
        /// New type
        #[arg(long = "type", value_name = "TYPE", conflicts_with = "relation")]
        kind: Option<String>,
        /// New description, which replaces the one from the documents
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Rename an entity; documents that use the old name still lead to it
    Rename {
        /// Entity name
        #[arg(value_name = "ENTITY")]
        name: String,
        /// New name
        #[arg(value_name = "NEW NAME")]
        to: String,
        /// If another entity already has the new name, merge the two
        #[arg(long)]
        merge: bool,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Merge several entities into one
    Merge {
        /// Entities to merge
        #[arg(required = true, value_name = "ENTITY")]
        sources: Vec<String>,
        /// Name of the merged entity: one of them, another entity, or a new name
        #[arg(long, value_name = "NAME")]
        into: String,
        /// Description of the merged entity, which replaces all others
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Type of the merged entity
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Rule for a field: description=concatenate (the default), keep_first or keep_last; entity_type=majority
        /// (the default), keep_first or keep_last; repeatable
        #[arg(long, value_name = "FIELD=RULE", value_parser = key_value)]
        strategy: Vec<(String, String)>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Assign some passages of an entity to another entity
    Split {
        /// Entity that loses the passages
        #[arg(value_name = "ENTITY")]
        name: String,
        /// Entity that gets the passages: a new or an existing name
        #[arg(long, value_name = "NAME")]
        into: String,
        /// A passage: its id or the start of it; repeatable
        #[arg(long, value_name = "ID")]
        chunk: Vec<String>,
        /// All passages of a document that mention the entity; repeatable
        #[arg(long, value_name = "DOC")]
        document: Vec<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Remove an entity and its relations from the graph, or with --relation one relation
    Delete {
        /// Entity name; with --relation, one end of the relation
        #[arg(value_name = "ENTITY")]
        name: String,
        /// Other end of the relation
        #[arg(long, value_name = "ENTITY")]
        relation: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Keep two entities apart: merges that would join them have no effect
    NotSame {
        /// First entity
        #[arg(value_name = "ENTITY")]
        one: String,
        /// Second entity
        #[arg(value_name = "OTHER")]
        other: String,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Revert a decision; reverting an undo restores the decision
    Undo {
        /// Decision id or the start of it [default: the latest decision in effect]
        #[arg(value_name = "DECISION")]
        decision: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// List decisions, latest first
    History {
        /// Maximum number of decisions
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Import a graph: JSON with chunks, entities and relationships
    Import {
        /// File to import, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Source name of the document it becomes [default: the file's path]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Metadata for the document; repeatable
        #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
        meta: Vec<(String, String)>,
    },
}

/// Selects a relation instead of an entity.
#[derive(Debug, Args)]
pub(crate) struct RelationArgs {
    /// The relation with this entity instead of the entity itself
    #[arg(long, value_name = "OTHER")]
    pub(crate) relation: Option<String>,
    /// Keywords of the relation
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', requires = "relation")]
    pub(crate) keywords: Vec<String>,
    /// Weight of the relation; one statement in a document counts 1
    #[arg(long, value_name = "NUMBER", requires = "relation", allow_negative_numbers = true)]
    pub(crate) weight: Option<f64>,
}

/// How to apply an edit.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) preview: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ExportArgs {
    #[command(subcommand)]
    pub(crate) to: Option<ExportTo>,
    /// Format
    #[arg(long, value_enum, default_value_t = FormatArg::Jsonl)]
    pub(crate) format: FormatArg,
    /// Only these parts, separated by commas
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    pub(crate) only: Vec<PartArg>,
    /// File to write, or for several CSV tables a folder [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// A system to export to.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportTo {
    /// Write the tables of GraphRAG 3.x: documents, text units, entities, relationships, communities and reports
    Graphrag {
        /// Folder for the tables
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Overwrite existing tables
        #[arg(long)]
        force: bool,
    },
}

/// Export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values, one table per part.
    Csv,
    /// XML for graph programs such as Gephi, yEd and NetworkX.
    Graphml,
    /// openCypher statements for graph databases.
    Cypher,
}

impl From<FormatArg> for ExportFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Jsonl => Self::JsonLines,
            FormatArg::Csv => Self::Csv,
            FormatArg::Graphml => Self::GraphMl,
            FormatArg::Cypher => Self::Cypher,
        }
    }
}

/// Part of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartArg {
    /// Entities.
    Entities,
    /// Relations.
    Relations,
    /// Chunks with the entities and relations they mention.
    Chunks,
    /// Claims with their quotes; only in JSON lines and CSV.
    Claims,
}

impl From<PartArg> for ExportPart {
    fn from(part: PartArg) -> Self {
        match part {
            PartArg::Entities => Self::Entities,
            PartArg::Relations => Self::Relations,
            PartArg::Chunks => Self::Chunks,
            PartArg::Claims => Self::Claims,
        }
    }
}
