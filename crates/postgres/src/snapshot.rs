//! Reads one workspace at one revision.

mod evidence;
mod graph;
mod ledger;
mod listing;
mod pages;
mod queue;
mod search;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::table::PageOf;
use graphloom_core::{Document, DocumentId, EmbeddingSpec, Revision, Snapshot, StoreCounts, StoreError};
use tokio_postgres::Row;

use crate::connect::Shared;
use crate::error::Fault;
use crate::links::KeptLinks;
use crate::memory::{Memory, SearchState};
use crate::rows::{self, found, get, grouped};
use crate::session::{Arguments, Session};

/// A read-only transaction with repeatable reads. If nothing reads from it for ten minutes, the database ends it and
/// later reads fail.
pub(crate) struct PostgresSnapshot {
    session: Session,
    links: Arc<KeptLinks>,
    revision: u64,
    graph_revision: u64,
    evidence_revision: u64,
    links_revision: u64,
    memory: Arc<Memory>,
    search_state: SearchState,
    embedding: Option<EmbeddingSpec>,
    shared: Arc<Shared>,
}

impl PostgresSnapshot {
    pub(crate) async fn begin(
        shared: &Arc<Shared>,
        links: Arc<KeptLinks>,
        memory: Arc<Memory>,
        workspace: i64,
    ) -> Result<Self, Fault> {
        let columns = "revision, graph_revision, links_revision, search_revision, search_unnoted, \
            embedding_model, embedding_dimensions, evidence_revision";
        let (session, row) = Session::read_row(shared, workspace, columns).await?;
        let Some(row) = row else {
            let path = "the workspace, which was deleted from the database,".to_owned();
            return Err(Fault::Refused(StoreError::Gone { path }));
        };
        let number = |column| rows::number_of_text(&row, column);
        let embedding = match row.try_get(5)? {
            Some(model) => Some(EmbeddingSpec { model: model.to_owned(), dimensions: number(6)? as u32 }),
            None => None,
        };
        Ok(Self {
            revision: number(0)?,
            graph_revision: number(1)?,
            evidence_revision: number(7)?,
            links_revision: number(2)?,
            search_state: SearchState { revision: number(3)? as i64, unnoted: number(4)? as i64 },
            embedding,
            session,
            links,
            memory,
            shared: Arc::clone(shared),
        })
    }

    /// Converts a result for callers.
    fn done<T>(&self, result: Result<T, Fault>) -> Result<T, StoreError> {
        result.map_err(|fault| fault.into_store("reading", &self.shared.name))
    }

    async fn rows(&self, sql: &str, arguments: &Arguments<'_>) -> Result<Vec<Row>, StoreError> {
        self.done(self.session.rows(sql, arguments).await)
    }

    /// Returns the rows of a statement, converted by `read`.
    async fn all<T>(
        &self,
        sql: &str,
        arguments: &Arguments<'_>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(sql, arguments).await?;
        self.done(rows.iter().map(read).collect())
    }

    /// Returns one entry for each id. The second argument of the statement is the list of ids, its first column is the id.
    async fn by_id<T: Clone>(
        &self,
        sql: &str,
        ids: Vec<&str>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<Option<T>>, StoreError> {
        let rows = self.rows(sql, &[&ids]).await?;
        let rows = rows.iter().map(|row| Ok((get::<String>(row, 0)?, read(row)?)));
        let rows = self.done(rows.collect::<Result<HashMap<_, _>, _>>())?;
        Ok(found(ids.into_iter().map(str::to_owned), rows))
    }

    /// Returns the rows of each id. The second argument of the statement is the list of ids, its first column is the id.
    async fn each<T: Clone>(
        &self,
        sql: &str,
        ids: Vec<&str>,
        read: impl Fn(&Row) -> Result<T, Fault>,
    ) -> Result<Vec<Vec<T>>, StoreError> {
        let rows = self.rows(sql, &[&ids]).await?;
        let rows = rows.iter().map(|row| Ok((get::<String>(row, 0)?, read(row)?)));
        self.done(grouped(ids.into_iter().map(str::to_owned), rows))
    }
}

/// Parses the body in the second column.
fn second<T: serde::de::DeserializeOwned>(row: &Row) -> Result<T, Fault> {
    rows::parsed(row, 1)
}

fn second_id(row: &Row) -> Result<String, Fault> {
    get(row, 1)
}

/// Reads the columns `id, body, live`.
fn document_of(row: &Row) -> Result<Document, Fault> {
    let mut document: Document = rows::parsed(row, 1)?;
    let live: bool = get(row, 2)?;
    document.visibility =
        if live { graphloom_core::Visibility::Live } else { graphloom_core::Visibility::Staged };
    Ok(document)
}

/// Reads a count, which fits 32 bits because entries of a kind are few.
fn count(row: &Row, column: usize) -> Result<u32, Fault> {
    Ok(u32::try_from(get::<i64>(row, column)?).unwrap_or(u32::MAX))
}

fn ids(documents: &[DocumentId]) -> Vec<&str> {
    documents.iter().map(DocumentId::as_str).collect()
}

#[async_trait]
impl Snapshot for PostgresSnapshot {
    fn revision(&self) -> Revision {
        Revision(self.revision)
    }

    fn graph_revision(&self) -> Revision {
        Revision(self.graph_revision)
    }

    fn evidence_revision(&self) -> Revision {
        Revision(self.evidence_revision)
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let of = |table: &str| format!("(SELECT count(*) FROM {table} WHERE workspace_id = $1)");
        let vectors =
            |kind| format!("(SELECT count(*) FROM vectors WHERE workspace_id = $1 AND kind = {kind})");
        let tables = [
            "documents",
            "chunks",
            "extractions",
            "mentions",
            "facts",
            "decisions",
            "entities",
            "relations",
            "calls",
            "stale",
            "nodes",
            "claims",
        ];
        let columns: Vec<String> = tables.into_iter().map(of).chain((0..4).map(vectors)).collect();
        let sql = format!("SELECT {} FROM workspaces WHERE id = $1", columns.join(", "));
        let rows = self.rows(&sql, &[]).await?;
        let Some(row) = rows.first() else { return Ok(StoreCounts::default()) };
        let number = |column| rows::number(row, column);
        let counts = || {
            Ok(StoreCounts {
                documents: number(0)?,
                chunks: number(1)?,
                extractions: number(2)?,
                mentions: number(3)?,
                facts: number(4)?,
                decisions: number(5)?,
                entities: number(6)?,
                relations: number(7)?,
                calls: number(8)?,
                stale: number(9)?,
                nodes: number(10)?,
                claims: number(11)?,
                chunk_vectors: number(12)?,
                entity_vectors: number(13)?,
                relation_vectors: number(14)?,
                node_vectors: number(15)?,
            })
        };
        self.done(counts())
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        let sql = "SELECT settings FROM workspaces WHERE id = $1";
        Ok(self.all(sql, &[], |row| rows::parsed(row, 0)).await?.pop().unwrap_or_default())
    }

    async fn read_page(&self, page: PageOf<'_>) -> Result<(), StoreError> {
        self.done(self.fill(page).await)
    }
}
