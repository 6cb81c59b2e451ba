//! `graphloom graph` and `graphloom export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use graphloom_engine::export::{ExportFormat, ExportPart};

use super::{FilterArgs, key_value};

/// `graphloom graph`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
`graphloom graph NAME` is short for `graphloom graph show NAME`. Names may be written in any case; the name of what was \
merged or renamed leads to what it is now. Every edit is a decision: it holds for documents that come later too, \
`history` lists it and `undo` takes it back.")]
pub(crate) struct GraphArgs {
    /// The entity's name; all words together
    #[arg(required = true, value_name = "ENTITY")]
    pub(crate) entity: Vec<String>,
    /// The whole description, all relations and all passages, in place of what fits a screen
    #[arg(long)]
    pub(crate) all: bool,
    #[command(subcommand)]
    pub(crate) command: Option<GraphCommand>,
}

/// What to do with the graph.
#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// Show an entity with its relations and the passages behind it
    Show {
        /// The entity's name; all words together
        #[arg(required = true, value_name = "ENTITY")]
        entity: Vec<String>,
        /// The whole description, all relations and all passages, in place of what fits a screen
        #[arg(long)]
        all: bool,
    },
    /// List the names of entities: those that match a text, else the best connected
    Labels {
        /// A name or a part of one; all words together
        #[arg(value_name = "TEXT")]
        text: Vec<String>,
        /// Most names [default: 50 with TEXT, at most 100; 300 without, at most 1000]
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// All names, in their order
        #[arg(long, conflicts_with_all = ["text", "limit"])]
        all: bool,
    },
    /// Show the entities around one, or with * the best connected ones, and the relations among them
    Subgraph {
        /// The entity's name, or *
        #[arg(value_name = "ENTITY", default_value = "*")]
        entity: String,
        /// Relations away at most, up to 20
        #[arg(long, value_name = "N", default_value_t = 3)]
        depth: u32,
        /// Entities at most, up to 1000
        #[arg(long, value_name = "N", default_value_t = 1000)]
        max_nodes: usize,
    },
    /// Make an entity, or with --relation a relation between two
    Create {
        /// The new entity's name; with --relation the source's
        #[arg(value_name = "ENTITY")]
        name: String,
        #[command(flatten)]
        relation: RelationArgs,
        /// Its type, such as Person
        #[arg(long = "type", value_name = "TYPE", conflicts_with = "relation")]
        kind: Option<String>,
        /// What is to be known about it
        #[arg(long, value_name = "TEXT")]
        description: String,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Change how an entity, or with --relation a relation, reads
    Edit {
        /// The entity; with --relation one end
        #[arg(value_name = "ENTITY")]
        name: String,
        #[command(flatten)]
        relation: RelationArgs,
        /// Its type
        #[arg(long = "type", value_name = "TYPE", conflicts_with = "relation")]
        kind: Option<String>,
        /// Its description, in place of what the documents say
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Give an entity another name; documents that use the old one still lead to it
    Rename {
        /// The entity
        #[arg(value_name = "ENTITY")]
        name: String,
        /// Its new name
        #[arg(value_name = "NEW NAME")]
        to: String,
        /// Merge the two where the new name is another entity's
        #[arg(long)]
        merge: bool,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Make several entities one
    Merge {
        /// The entities
        #[arg(required = true, value_name = "ENTITY")]
        sources: Vec<String>,
        /// What they become: one of them, another entity, or a new name
        #[arg(long, value_name = "NAME")]
        into: String,
        /// Its description, in place of all of theirs
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Its type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// How a field comes about: description=concatenate (the default), keep_first or keep_last;
        /// entity_type=majority (the default), keep_first or keep_last; repeatable
        #[arg(long, value_name = "FIELD=RULE", value_parser = key_value)]
        strategy: Vec<(String, String)>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Say that some passages speak of another entity
    Split {
        /// The entity that loses them
        #[arg(value_name = "ENTITY")]
        name: String,
        /// The entity that gains them: a new name, or an entity that exists
        #[arg(long, value_name = "NAME")]
        into: String,
        /// A passage, by its id or the beginning of it; repeatable
        #[arg(long, value_name = "ID")]
        chunk: Vec<String>,
        /// All passages of a document that speak of the entity; repeatable
        #[arg(long, value_name = "DOC")]
        document: Vec<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Take an entity with its relations, or with --relation one relation, out of the graph
    Delete {
        /// The entity; with --relation one end
        #[arg(value_name = "ENTITY")]
        name: String,
        /// The other end of the relation
        #[arg(long, value_name = "ENTITY")]
        relation: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Say that two entities are not the same: merges that would make them one have no effect
    NotSame {
        /// One
        #[arg(value_name = "ENTITY")]
        one: String,
        /// The other
        #[arg(value_name = "OTHER")]
        other: String,
        #[command(flatten)]
        how: HowArgs,
    },
    /// Take a decision back; undoing an undo makes it hold again
    Undo {
        /// Its id or the beginning of it; the latest that holds where none is given
        #[arg(value_name = "DECISION")]
        decision: Option<String>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// List the decisions, latest first
    History {
        /// Most decisions
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Take in a ready graph: JSON with chunks, entities and relationships
    Import {
        /// The file, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The document it becomes; the file's path where unset
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Metadata of the document; repeatable
        #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
        meta: Vec<(String, String)>,
    },
}

/// A relation in place of an entity.
#[derive(Debug, Args)]
pub(crate) struct RelationArgs {
    /// The relation with this entity, in place of the entity itself
    #[arg(long, value_name = "OTHER")]
    pub(crate) relation: Option<String>,
    /// What the relation is about
    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',', requires = "relation")]
    pub(crate) keywords: Vec<String>,
    /// How strong the relation is; 1 is one statement
    #[arg(long, value_name = "NUMBER", requires = "relation", allow_negative_numbers = true)]
    pub(crate) weight: Option<f64>,
}

/// How an edit is made.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) preview: bool,
}

/// `graphloom export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The format
    #[arg(long, value_enum, default_value_t = FormatArg::Jsonl)]
    pub(crate) format: FormatArg,
    /// Only these parts, separated by commas
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    pub(crate) only: Vec<PartArg>,
    /// File to write, or for several CSV tables a folder; standard output where unset
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// A format, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values, a table for each part.
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

/// A part, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartArg {
    /// Entities.
    Entities,
    /// Relations.
    Relations,
    /// Chunks, with what they speak of.
    Chunks,
}

impl From<PartArg> for ExportPart {
    fn from(part: PartArg) -> Self {
        match part {
            PartArg::Entities => Self::Entities,
            PartArg::Relations => Self::Relations,
            PartArg::Chunks => Self::Chunks,
        }
    }
}
