//! Results of repairing a workspace.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Revision;

/// Commits that a store has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The revision at which the store ends; 0 if nothing is left.
    pub found: Revision,
    /// The last revision that was committed.
    pub committed: Revision,
}

/// What a repair of a workspace found and did.
#[derive(Debug, Default, Serialize)]
pub struct RepairReport {
    /// Rows that did not match their checksums, by table.
    pub damaged_rows: BTreeMap<String, u64>,
    /// Tables that could be read only in part, or not at all.
    pub unreadable_tables: Vec<String>,
    /// Lost evidence that has no other copy.
    pub lost: Vec<LostEvidence>,
    /// Chunks whose extraction is missing and that will be extracted again.
    pub chunks_to_ask_again: u64,
    /// Entities and relations that the next run derives again.
    pub views_to_derive: u64,
    /// Documents that the next run processes.
    pub documents_to_work_on: u64,
}

/// A piece of evidence that is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostEvidence {
    /// Its kind.
    pub kind: LostKind,
    /// What identifies it: a document's source, the content of an edit, or a table's name, as far as it can be read.
    pub id: String,
    /// What is wrong.
    pub what: &'static str,
}

/// Kinds of evidence that can be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LostKind {
    /// A document, with its text and chunks.
    Document,
    /// The file that a document was read from. The document's text is complete.
    Original,
    /// An edit of the graph.
    Decision,
    /// The context of a chunk.
    ChunkContext,
    /// The mark that a chunk is to be extracted again.
    Renewal,
    /// A derived layer.
    Layer,
    /// A row of the ledger.
    Call,
    /// A conversation, or a question in one.
    Conversation,
    /// The workspace's own row.
    State,
    /// A table that can only be read in part. The id is its name.
    Table,
}

impl LostKind {
    /// Returns the name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Original => "original",
            Self::Decision => "decision",
            Self::ChunkContext => "chunk context",
            Self::Renewal => "renewal",
            Self::Layer => "layer",
            Self::Call => "call",
            Self::Conversation => "conversation",
            Self::State => "state",
            Self::Table => "table",
        }
    }
}
