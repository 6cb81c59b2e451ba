//! The budget of the workspace: one row, changed in its own transactions.

use graphloom_core::{BudgetChange, BudgetOutcome, WorkspaceBudget};
use rusqlite::{Connection, OptionalExtension, Result};

use super::{rows, sums};

/// Returns the budget, or `None` if there is none.
pub(super) fn read(conn: &Connection) -> Result<Option<WorkspaceBudget>> {
    let mut select = conn.prepare_cached("SELECT body, row_sum('budget', id, body) = sum FROM budget")?;
    let read = |row: &rusqlite::Row<'_>| {
        sums::require(row, 1, "budget")?;
        rows::json(row, 0)
    };
    select.query_row([], read).optional()
}

/// Applies a change. The connection must be in a write transaction.
pub(super) fn change(conn: &Connection, change: BudgetChange) -> Result<BudgetOutcome> {
    let outcome = change.applied_to(read(conn)?);
    match &outcome.budget {
        None => drop(conn.execute("DELETE FROM budget", [])?),
        Some(budget) => {
            let body = serde_json::to_string(budget)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            let put = "INSERT INTO budget (id, body) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
            conn.prepare_cached(put)?.execute([body])?;
        }
    }
    Ok(outcome)
}
