//! Tables of a snapshot, which are read from end to end, page by page.
//!
//! A table has one line in [`tables!`] here and one arm in `read_page` of every store.

use super::{Snapshot, StoreError};
use crate::{
    Call, Chunk, ChunkContext, ChunkId, Claim, Conversation, ConversationId, Decision, DecisionId, Document,
    DocumentId, Entity, EntityKey, Exchange, Extraction, ExtractionKey, Fact, GraphKey, ItemKey, ItemKind,
    Job, LayerName, LayerNode, Mention, NodeKey, Relation, RelationKey, Renewal, Summary, SummaryKey,
    Timestamp, VectorEntry,
};

/// Rows that [`Pages`] reads at a time.
const PAGE: usize = 1000;

/// Rows of one kind in one order.
pub trait Table: Clone + Send + Sync {
    /// What rows are ordered by; unique.
    type Key: Clone + PartialEq + Send + Sync;
    /// What a row holds.
    type Row: Send;

    /// Returns the key of the last of `rows`, which follow `after`.
    fn last(&self, after: Option<&Self::Key>, rows: &[Self::Row]) -> Option<Self::Key>;

    /// Wraps the page in the form that stores read.
    fn page_of(page: &mut Page<Self>) -> PageOf<'_>;
}

/// A page that a store should read.
#[derive(Debug)]
pub struct Page<T: Table> {
    /// The table.
    pub table: T,
    /// The page starts after the row with this key, whether that row exists or not; at the first row if `None`.
    pub after: Option<T::Key>,
    /// Maximum rows.
    pub limit: usize,
    /// The rows that were read.
    pub rows: Vec<T::Row>,
}

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),* })?,
        $key:ty => $row:ty, $operation:literal, $last:expr;)*) => {
        $(tables!(@ [$(#[$doc])*] $name $({ $($(#[$field_doc])* pub $field: $type),* })?);

        impl Table for $name {
            type Key = $key;
            type Row = $row;

            fn last(&self, after: Option<&$key>, rows: &[$row]) -> Option<$key> {
                let last: fn(Option<&$key>, &[$row]) -> Option<$key> = $last;
                last(after, rows)
            }

            fn page_of(page: &mut Page<Self>) -> PageOf<'_> {
                PageOf::$name(page)
            }
        })*

        /// A page of any table.
        #[derive(Debug)]
        pub enum PageOf<'a> {
            $($(#[$doc])* $name(&'a mut Page<$name>),)*
        }

        impl PageOf<'_> {
            /// Returns the operation, for error messages.
            pub fn operation(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $operation,)*
                }
            }
        }
    };
    (@ [$($doc:tt)*] $name:ident) => {
        $($doc)*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;
    };
    (@ [$($doc:tt)*] $name:ident { $($fields:tt)* }) => {
        $($doc)*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $($fields)* }
    };
}

tables! {
    /// Documents by id, including staged ones.
    Documents, DocumentId => Document, "scanning documents",
        |_, rows| rows.last().map(|row| row.id.clone());
    /// Documents by (source, id), including staged ones.
    DocumentsBySource, (String, DocumentId) => Document, "scanning documents by source",
        |_, rows| rows.last().map(|row| (row.source.clone(), row.id.clone()));
    /// Documents by (accepted, id), including staged ones. Unlike other tables in descending order, latest first.
    DocumentsByDate, (Timestamp, DocumentId) => Document, "scanning documents by date",
        |_, rows| rows.last().map(|row| (row.added_at, row.id.clone()));
    /// Jobs by document.
    Jobs, DocumentId => Job, "scanning jobs",
        |_, rows| rows.last().map(|row| row.document.clone());
    /// Chunks by id, with text.
    Chunks, ChunkId => Chunk, "scanning chunks",
        |_, rows| rows.last().map(|row| row.id.clone());
    /// Renewals by chunk.
    Renewals, ChunkId => Renewal, "scanning renewals",
        |_, rows| rows.last().map(|row| row.chunk.clone());
    /// Chunk contexts by chunk.
    ChunkContexts, ChunkId => ChunkContext, "scanning chunk contexts",
        |_, rows| rows.last().map(|row| row.chunk.clone());
    /// Extractions by key.
    Extractions, ExtractionKey => Extraction, "scanning extractions",
        |_, rows| rows.last().map(|row| row.key.clone());
    /// Mentions by (chunk, ordinal).
    Mentions, (ChunkId, u32) => Mention, "scanning mentions",
        |_, rows| rows.last().map(|row| (row.chunk.clone(), row.ordinal));
    /// Facts by (chunk, ordinal).
    Facts, (ChunkId, u32) => Fact, "scanning facts",
        |_, rows| rows.last().map(|row| (row.chunk.clone(), row.ordinal));
    /// Claims by (chunk, ordinal).
    Claims, (ChunkId, u32) => Claim, "scanning claims",
        |_, rows| rows.last().map(|row| (row.chunk.clone(), row.ordinal));
    /// Decisions by (order, id), including undone ones.
    Decisions, (u64, DecisionId) => Decision, "scanning decisions",
        |_, rows| rows.last().map(|row| (row.order, row.id.clone()));
    /// Entities by key.
    Entities, EntityKey => Entity, "scanning entities",
        |_, rows| rows.last().map(|row| row.key.clone());
    /// Relations by key.
    Relations, RelationKey => Relation, "scanning relations",
        |_, rows| rows.last().map(|row| row.key.clone());
    /// Summaries by (owner, key).
    Summaries, (GraphKey, SummaryKey) => (GraphKey, Summary), "scanning summaries",
        |_, rows| rows.last().map(|(owner, summary)| (owner.clone(), summary.key.clone()));
    /// Nodes of a layer by key.
    Nodes {
        /// The layer.
        layer: LayerName,
        /// Only nodes of this level; `None` for all levels.
        level: Option<u32>
    }, NodeKey => LayerNode, "scanning nodes",
        |_, rows| rows.last().map(|row| row.key.clone());
    /// Stale entities and relations, by key ([`Batch::set_stale`](crate::Batch::set_stale)).
    Stale, GraphKey => GraphKey, "scanning what is stale",
        |_, rows| rows.last().cloned();
    /// Vector entries of one kind, by id.
    Vectors {
        /// The kind.
        kind: ItemKind
    }, ItemKey => VectorEntry, "scanning vectors",
        |_, rows| rows.last().map(|row| row.item.clone());
    /// Ledger rows in order. The key of a row is its number, from 1.
    Calls, u64 => Call, "scanning calls",
        |after, rows| Some(after.copied().unwrap_or(0) + rows.len() as u64);
    /// Conversations by id.
    Conversations, ConversationId => Conversation, "scanning conversations",
        |_, rows| rows.last().map(|row| row.id.clone());
    /// Exchanges by (conversation, ordinal).
    Exchanges {
        /// Only exchanges of this conversation; `None` for all conversations.
        conversation: Option<ConversationId>
    }, (ConversationId, u32) => Exchange, "scanning exchanges",
        |_, rows| rows.last().map(|row| (row.conversation.clone(), row.ordinal));
}

impl dyn Snapshot + '_ {
    /// Returns at most `limit` rows of `table`, in its order, after the row with key `after`. Fewer than
    /// `limit` rows mean that the end was reached. `after` need not exist.
    pub async fn scan<T: Table>(
        &self,
        table: T,
        after: Option<&T::Key>,
        limit: usize,
    ) -> Result<Vec<T::Row>, StoreError> {
        let mut page = Page { table, after: after.cloned(), limit, rows: Vec::new() };
        self.read_page(T::page_of(&mut page)).await?;
        Ok(page.rows)
    }

    /// Returns the whole table as pages.
    pub fn pages<T: Table>(&self, table: T) -> Pages<'_, T> {
        self.pages_of(table, PAGE)
    }

    /// Returns the whole table in pages of `size` rows.
    pub fn pages_of<T: Table>(&self, table: T, size: usize) -> Pages<'_, T> {
        Pages { snapshot: self, table, after: None, size, is_done: false }
    }
}

/// Reads a table page by page.
pub struct Pages<'a, T: Table> {
    snapshot: &'a (dyn Snapshot + 'a),
    table: T,
    after: Option<T::Key>,
    size: usize,
    is_done: bool,
}

impl<T: Table> Pages<'_, T> {
    /// Starts after the row with this key.
    #[must_use]
    pub fn after(mut self, key: Option<T::Key>) -> Self {
        self.after = key;
        self
    }

    /// Returns the next page, never empty; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<T::Row>>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let rows = self.snapshot.scan(self.table.clone(), self.after.as_ref(), self.size).await?;
        self.is_done = rows.len() < self.size;
        self.after = self.table.last(self.after.as_ref(), &rows);
        Ok((!rows.is_empty()).then_some(rows))
    }

    /// Returns all remaining rows.
    pub async fn all(mut self) -> Result<Vec<T::Row>, StoreError> {
        let mut all = Vec::new();
        while let Some(page) = self.next().await? {
            all.extend(page);
        }
        Ok(all)
    }
}
