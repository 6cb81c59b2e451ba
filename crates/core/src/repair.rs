//! What a repair of a workspace found and did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Revision;

/// What was committed to a store and is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where the store ends; 0 where nothing is left.
    pub found: Revision,
    /// The last revision that was committed.
    pub committed: Revision,
}

/// What mending a workspace found and did.
#[derive(Debug, Default, Serialize)]
pub struct RepairReport {
    /// Rows that did not have their checksums, by table.
    pub damaged_rows: BTreeMap<String, u64>,
    /// Tables of which a part could not be read at all.
    pub unreadable_tables: Vec<String>,
    /// Evidence that exists nowhere else.
    pub lost: Vec<LostEvidence>,
    /// Chunks whose extraction is missing and that are asked about again.
    pub chunks_to_ask_again: u64,
    /// Entities and relations that the next run derives again.
    pub views_to_derive: u64,
    /// Documents that the next run works on.
    pub documents_to_work_on: u64,
}

/// Evidence that is not there any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostEvidence {
    /// What it was.
    pub kind: LostKind,
    /// Which one: a document's source, what an edit said, a table's name, as far as that can be read.
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
    /// The file that a document was read from; its text is whole.
    Original,
    /// An edit of the graph.
    Decision,
    /// The context of a chunk.
    ChunkContext,
    /// A chunk that is to be extracted again.
    Renewal,
    /// A derived layer.
    Layer,
    /// A row of the ledger.
    Call,
    /// A conversation, or a question of one.
    Conversation,
    /// The workspace's own row.
    State,
    /// A table of which a part cannot be read; the id is its name.
    Table,
}

impl LostKind {
    /// The name, as in JSON.
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
