//! The budget of a workspace, stored in a row of its own that is locked during a change.

use std::sync::Arc;

use graphloom_core::{BudgetChange, BudgetOutcome, StoreError, WorkspaceBudget};
use tokio::sync::Mutex;

use crate::connect::{PATIENCE, Shared};
use crate::error::Fault;
use crate::rows;
use crate::session::Session;

/// Returns the budget, or `None` if there is none.
pub(crate) async fn read(shared: &Arc<Shared>, row: i64) -> Result<Option<WorkspaceBudget>, StoreError> {
    let read = || async { latest(&Session::read(shared, row).await?, "").await };
    shared.patiently("reading the budget", PATIENCE, read).await
}

/// Applies a change exactly once, with retries if the connection breaks.
pub(crate) async fn change(
    shared: &Arc<Shared>,
    row: i64,
    change: BudgetChange,
) -> Result<BudgetOutcome, StoreError> {
    // The transaction of the latest try, and its outcome.
    let tried = Mutex::new(None::<(String, BudgetOutcome)>);
    let attempt = || async {
        let mut tried = tried.lock().await;
        let session = Session::write(shared, row).await?;
        // Other processes wait here, even if there is no budget yet. So does a retry, until the earlier try has ended.
        let lock = "SELECT pg_advisory_xact_lock($2, ($1::int8 % 2147483647)::int4)";
        session.rows(lock, &[&LOCK_CLASS]).await?;
        if let Some((transaction, outcome)) = &*tried {
            let ended = "SELECT pg_xact_status($2::text::xid8) IS NOT DISTINCT FROM 'committed', $1::int8";
            let found = session.rows(ended, &[transaction]).await?;
            if found.first().map(|row| rows::get::<bool>(row, 0)).transpose()?.unwrap_or_default() {
                return Ok(outcome.clone());
            }
        }
        let outcome = change.clone().applied_to(latest(&session, " FOR UPDATE").await?);
        match &outcome.budget {
            None => {
                session.run("DELETE FROM budgets WHERE workspace_id = $1", &[]).await?;
            }
            Some(budget) => {
                let sql = "INSERT INTO budgets (workspace_id, body) VALUES ($1, $2) \
                    ON CONFLICT (workspace_id) DO UPDATE SET body = EXCLUDED.body RETURNING pg_current_xact_id()::text";
                let put = session.rows(sql, &[&rows::body(budget)?]).await?;
                let transaction = put.first().map(|row| rows::get(row, 0)).transpose()?;
                *tried = transaction.map(|transaction| (transaction, outcome.clone()));
            }
        }
        session.commit().await?;
        Ok(outcome)
    };
    shared.patiently("changing the budget", PATIENCE, attempt).await
}

/// The class of locks for budget changes. The object of the lock is the workspace.
const LOCK_CLASS: i32 = 0x6275_6467;

async fn latest(session: &Session, lock: &str) -> Result<Option<WorkspaceBudget>, Fault> {
    let sql = format!("SELECT body FROM budgets WHERE workspace_id = $1{lock}");
    session.rows(&sql, &[]).await?.first().map(|row| rows::parsed(row, 0)).transpose()
}
