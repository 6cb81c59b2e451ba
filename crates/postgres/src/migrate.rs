//! The versions of the tables.

use std::sync::Arc;

use graphloom_core::{SchemaVersion, StoreError};

use crate::connect::Shared;
use crate::error::Fault;
use crate::rows;

/// SQL that creates each version of the tables from the previous one, starting with version 1.
const MIGRATIONS: [&str; 10] = [
    include_str!("../migrations/0001_tables.sql"),
    include_str!("../migrations/0002_claims.sql"),
    include_str!("../migrations/0003_conversations.sql"),
    include_str!("../migrations/0004_workers.sql"),
    include_str!("../migrations/0005_postings.sql"),
    include_str!("../migrations/0006_originals.sql"),
    include_str!("../migrations/0007_budgets.sql"),
    include_str!("../migrations/0008_search_changes.sql"),
    include_str!("../migrations/0009_evidence_revision.sql"),
    include_str!("../migrations/0010_document_pages.sql"),
];

/// The tables with rows of workspaces.
pub(crate) const TABLES: [&str; 31] = [
    "budgets",
    "commits",
    "documents",
    "texts",
    "originals",
    "jobs",
    "tracks",
    "chunks",
    "renewals",
    "situations",
    "extractions",
    "mentions",
    "facts",
    "claims",
    "decisions",
    "entities",
    "relations",
    "summaries",
    "stale",
    "vectors",
    "entries",
    "postings",
    "totals",
    "search_changes",
    "calls",
    "cache",
    "layers",
    "nodes",
    "members",
    "conversations",
    "exchanges",
];

/// The oldest supported server version, as in `server_version_num`.
const OLDEST_SERVER: i32 = 160_000;
/// Advisory lock that lets only one migration run at a time.
const LOCK: i64 = 0x6772_6170_686c_6f6f;

/// Brings the tables up to date in one transaction. Other processes wait for it. Fails if the tables are newer than this release.
pub(crate) async fn migrate(shared: &Arc<Shared>) -> Result<(), Fault> {
    let mut client = shared.writers.get().await?;
    let server = "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let server = client.query_one(server, &[]).await?;
    if rows::get::<i32>(&server, 0)? < OLDEST_SERVER {
        let found: String = rows::get(&server, 1)?;
        return Err(unsupported(shared, format!("it is PostgreSQL {found}; version 16 or later is needed")));
    }
    let exists = client.query_one("SELECT to_regclass('graphloom_schema') IS NOT NULL", &[]).await?;
    if rows::get(&exists, 0)? && version(&client).await? == MIGRATIONS.len() as i32 {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let versions = "CREATE TABLE IF NOT EXISTS graphloom_schema \
        (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";
    transaction.batch_execute(versions).await?;
    let found = version(&transaction).await?;
    if found > MIGRATIONS.len() as i32 {
        return Err(Fault::Refused(StoreError::Newer {
            path: shared.name.clone(),
            found: found as u32,
            supported: MIGRATIONS.len() as u32,
        }));
    }
    for (number, sql) in (1..).zip(MIGRATIONS).skip(found as usize) {
        transaction.batch_execute(sql).await?;
        transaction.execute("INSERT INTO graphloom_schema (version) VALUES ($1)", &[&number]).await?;
    }
    let vector = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
    let vector = transaction.query_opt(vector, &[]).await?;
    let vector: String = vector.map_or_else(|| Ok(String::new()), |row| rows::get(&row, 0))?;
    let numbers: Vec<u32> = vector.split('.').filter_map(|number| number.parse().ok()).collect();
    if numbers.as_slice() < [0, 8].as_slice() {
        return Err(unsupported(
            shared,
            format!("its pgvector is {vector:?}; version 0.8 or later is needed"),
        ));
    }
    transaction.commit().await?;
    Ok(())
}

/// Returns the version of the tables and the version that this release creates. Changes nothing.
pub(crate) async fn versions(shared: &Arc<Shared>) -> Result<SchemaVersion, Fault> {
    let client = shared.readers.get().await?;
    let exists = client.query_one("SELECT to_regclass('graphloom_schema') IS NOT NULL", &[]).await?;
    let found = if rows::get(&exists, 0)? { version(&client).await? } else { 0 };
    let (place, supported) = (shared.name.clone(), MIGRATIONS.len() as u32);
    Ok(SchemaVersion { place, found: found as u32, supported })
}

async fn version(client: &impl deadpool_postgres::GenericClient) -> Result<i32, Fault> {
    let row = client.query_one("SELECT coalesce(max(version), 0) FROM graphloom_schema", &[]).await?;
    rows::get(&row, 0)
}

fn unsupported(shared: &Shared, what: String) -> Fault {
    Fault::Refused(StoreError::Backend { operation: format!("opening {}", shared.name), source: what.into() })
}
