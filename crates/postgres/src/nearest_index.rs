//! Vector indexes: an HNSW graph for each large kind of a workspace.
//!
//! An index covers the rows of one workspace and one kind. So it grows only with that workspace, and a scan meets no
//! rows of other workspaces. Indexes are built and dropped outside of commits, and do not block them.

use std::sync::Arc;

use deadpool_postgres::Object;
use graphloom_core::ItemKind;

use crate::connect::Shared;
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Numbers in all vectors of a kind from which it is indexed, and below which its index is dropped: the first is some
/// 4,000 vectors of 1,024 numbers or 16,000 of 256. Reading fewer vectors without an index is about as fast:
/// `bench/run.sh database`.
pub const INDEXED: [i64; 2] = [4_000_000, 2_000_000];
/// Most dimensions that an index supports.
const MAX_DIMENSIONS: i32 = 4000;
/// Memory that building an index may take. A larger index takes longer to build.
const MEMORY: &str = "256MB";
/// The class of locks held while an index is built. The object of the lock is the workspace.
const BUILDING: i32 = 0x6772_6978;

/// The index of a kind, usable by this transaction.
pub(crate) struct NearestIndex {
    workspace: i64,
    kind: i16,
    dimensions: i32,
}

impl NearestIndex {
    fn name(workspace: i64, kind: i16, dimensions: i32) -> String {
        format!("vectors_near_{workspace}_{kind}_{dimensions}")
    }

    /// Returns the index of a kind if it is complete.
    pub(crate) async fn find(
        session: &Session,
        kind: ItemKind,
        dimensions: usize,
    ) -> Result<Option<Self>, Fault> {
        let (workspace, kind) = (session.workspace(), rows::kind_code(kind));
        let dimensions = i32::try_from(dimensions).unwrap_or(i32::MAX);
        let name = Self::name(workspace, kind, dimensions);
        let sql =
            "SELECT FROM pg_index WHERE $1::int8 IS NOT NULL AND indexrelid = to_regclass($2) AND indisvalid";
        let found = session.rows(sql, &[&name]).await?;
        Ok((!found.is_empty()).then_some(Self { workspace, kind, dimensions }))
    }

    /// Returns a statement for the nearest candidates to the vector `$2`, at most `$3`: these columns of the entries
    /// `x` that meet the conditions.
    ///
    /// The values that the index is restricted to are written into the statement, because otherwise the database does
    /// not see that the index covers it. Vectors with other dimensions come from another embedder, while a workspace is
    /// being embedded again.
    pub(crate) fn candidates(&self, columns: &str, conditions: &str) -> String {
        let Self { workspace, kind, dimensions } = self;
        format!(
            "SELECT {columns} FROM vectors x \
             WHERE x.workspace_id = $1 AND x.workspace_id = {workspace} AND x.kind = {kind} \
                AND vector_dims(x.codes) = {dimensions}{conditions} \
             ORDER BY x.codes::halfvec({dimensions}) <=> $2 LIMIT $3"
        )
    }
}

/// Creates the indexes that a workspace needs by these [bounds](INDEXED) and drops those that it no longer needs.
/// Returns at once if another process is doing this.
pub(crate) async fn keep_up(shared: &Arc<Shared>, workspace: i64, bounds: [i64; 2]) -> Result<(), Fault> {
    let client = shared.writer().await?;
    let lock = client.query("SELECT pg_try_advisory_lock($1, $2)", &[&BUILDING, &(workspace as i32)]).await?;
    if !lock.first().map_or(Ok(false), |row| get::<bool>(row, 0))? {
        return Ok(());
    }
    let kept = keep_up_locked(shared, client.connection(), workspace, bounds).await;
    let unlocked =
        client.execute("SELECT pg_advisory_unlock($1, $2)", &[&BUILDING, &(workspace as i32)]).await;
    if unlocked.is_err() || kept.is_err() {
        client.give_up();
    }
    kept
}

async fn keep_up_locked(
    shared: &Arc<Shared>,
    client: &Object,
    workspace: i64,
    [from, below]: [i64; 2],
) -> Result<(), Fault> {
    let session = Session::read(shared, workspace).await?;
    let sql =
        "SELECT kind, count(*), min(vector_dims(codes)) FROM vectors WHERE workspace_id = $1 GROUP BY kind";
    let mut counts = [(0, 0); 4];
    for row in session.rows(sql, &[]).await? {
        if let Some(count) = counts.get_mut(get::<i16>(&row, 0)? as usize) {
            *count = (get::<i64>(&row, 1)?, get::<i32>(&row, 2)?);
        }
    }
    drop(session);
    let sql = "SELECT c.relname::text, i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid \
        WHERE starts_with(c.relname::text, $1)";
    let mut present = Vec::new();
    for row in client.query(sql, &[&format!("vectors_near_{workspace}_")]).await? {
        present.push((get::<String>(&row, 0)?, get::<bool>(&row, 1)?));
    }
    let mut wanted = Vec::new();
    for (kind, (count, dimensions)) in (0..).zip(counts) {
        let name = NearestIndex::name(workspace, kind, dimensions);
        let is_present = present.iter().any(|(present, is_valid)| *present == name && *is_valid);
        let numbers = count * i64::from(dimensions);
        let is_large = numbers >= from || is_present && numbers >= below;
        if is_large && dimensions <= MAX_DIMENSIONS {
            wanted.push((name, is_present, kind, dimensions));
        }
    }
    for (name, is_valid) in &present {
        // An invalid index was left by a process that ended while building it.
        if !is_valid || !wanted.iter().any(|(wanted, ..)| wanted == name) {
            client.batch_execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
        }
    }
    for (name, is_present, kind, dimensions) in wanted {
        if is_present {
            continue;
        }
        tracing::info!(workspace, kind, dimensions, "indexing the vectors");
        // Each is sent separately, because none of them may run in a transaction.
        for sql in [
            "SET statement_timeout = 0",
            "SET lock_timeout = 0",
            &format!("SET maintenance_work_mem = '{MEMORY}'"),
            &format!(
                "CREATE INDEX CONCURRENTLY {name} ON vectors USING hnsw ((codes::halfvec({dimensions})) halfvec_cosine_ops) \
                 WHERE workspace_id = {workspace} AND kind = {kind} AND vector_dims(codes) = {dimensions}"
            ),
            "RESET maintenance_work_mem",
            &shared.settings,
        ] {
            client.batch_execute(sql).await?;
        }
    }
    Ok(())
}

/// Drops the indexes of a deleted workspace.
pub(crate) async fn forget(shared: &Shared, workspace: i64) -> Result<(), Fault> {
    let client = shared.writer().await?;
    let sql = "SELECT relname::text FROM pg_class WHERE relkind = 'i' AND starts_with(relname::text, $1)";
    for row in client.query(sql, &[&format!("vectors_near_{workspace}_")]).await? {
        let name: String = get(&row, 0)?;
        client.connection().batch_execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}")).await?;
    }
    Ok(())
}
