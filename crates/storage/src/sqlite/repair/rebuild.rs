//! Copies every row with a valid checksum to a new file.
//!
//! The new file has intact pages and indexes whatever was wrong with the old one, which is only read. If a table
//! cannot be read to its end, it is also read from its end, so that one damaged page costs only its own rows.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;
use rusqlite::{Connection, Result, Row, params_from_iter};

use super::super::sums::{self, Table};

/// Tables that are not copied, because they are rebuilt from other tables.
const MADE_AGAIN: [&str; 8] = [
    "changes",
    "empty_extractions",
    "exchange_documents",
    "growing_trees",
    "rejects",
    "vector_nodes",
    "vector_places",
    "vector_trees",
];
/// Most damaged rows per table whose values are kept for the report and the repair.
const MAX_DAMAGED: usize = 10_000;

/// The rows that could not be copied.
#[derive(Debug, Default)]
pub(super) struct CopyLosses {
    /// Rows with wrong checksums, with all values that can be read.
    pub(super) rows: Vec<DamagedRow>,
    /// Tables with rows that could not be read at all.
    pub(super) unreadable: Vec<String>,
    /// Chunks with missing mentions, facts or claims. `None` if they cannot be determined, because a damaged row may
    /// name the wrong chunk.
    pub(super) chunks: Option<BTreeSet<i64>>,
}

/// A row with a wrong checksum.
#[derive(Debug)]
pub(super) struct DamagedRow {
    /// Its table.
    pub(super) table: String,
    /// Its columns.
    pub(super) values: BTreeMap<String, Value>,
}

impl DamagedRow {
    /// Returns the text in a column.
    pub(super) fn text(&self, column: &str) -> Option<&str> {
        match self.values.get(column) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the number in a column.
    pub(super) fn number(&self, column: &str) -> Option<i64> {
        match self.values.get(column) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        }
    }
}

impl CopyLosses {
    /// True if rows of a table are missing.
    pub(super) fn any_of(&self, table: &str) -> bool {
        self.rows.iter().any(|row| row.table == table) || self.unreadable.iter().any(|name| name == table)
    }

    /// Returns the damaged rows of a table.
    pub(super) fn rows_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a DamagedRow> {
        self.rows.iter().filter(move |row| row.table == table)
    }
}

/// Copies the tables. The new file must be empty and must not enforce references yet.
pub(super) fn copy(old: &Connection, new: &Connection) -> Result<CopyLosses> {
    let mut missing = CopyLosses::default();
    for table in sums::tables(new)? {
        if !MADE_AGAIN.contains(&table.name.as_str()) {
            copy_table(old, new, &table, &mut missing)?;
        }
    }
    missing.chunks = (|| {
        let of_mentions = chunks_that_lack(old, new, "mentions", &missing)?;
        let of_claims = chunks_that_lack(old, new, "claims", &missing)?;
        Some(&(&of_mentions | &of_claims) | &chunks_that_lack(old, new, "facts", &missing)?)
    })();
    Ok(missing)
}

/// Returns the chunks that have rows in the index of the old table but not in the new table. `None` if a part of the
/// table or of the index cannot be read, or if the rows are missing from the index, too.
fn chunks_that_lack(
    old: &Connection,
    new: &Connection,
    table: &str,
    missing: &CopyLosses,
) -> Option<BTreeSet<i64>> {
    if missing.unreadable.iter().any(|name| name == table) {
        return None;
    }
    let damaged = missing.rows_of(table).count();
    if damaged == 0 {
        return Some(BTreeSet::new());
    }
    let read = || -> Result<Vec<i64>> {
        let mut kept = new.prepare(&format!("SELECT 1 FROM {table} WHERE chunk = ?1 AND ordinal = ?2"))?;
        // Reads only the index.
        let mut entries =
            old.prepare(&format!("SELECT chunk, ordinal FROM {table} INDEXED BY {table}_by_chunk"))?;
        let mut entries = entries.query([])?;
        let mut lacking = Vec::new();
        while let Some(entry) = entries.next()? {
            let (chunk, ordinal): (i64, i64) = (entry.get(0)?, entry.get(1)?);
            if !kept.exists([chunk, ordinal])? {
                lacking.push(chunk);
            }
        }
        Ok(lacking)
    };
    let lacking =
        read().inspect_err(|error| tracing::warn!(%error, table, "its index cannot be read")).ok()?;
    (lacking.len() >= damaged).then(|| lacking.into_iter().collect())
}

fn copy_table(old: &Connection, new: &Connection, table: &Table, missing: &mut CopyLosses) -> Result<()> {
    let mut columns = table.columns.clone();
    columns.push("sum".to_owned());
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    // The new file already has the single row of `state`.
    let or = if table.name == "state" { "REPLACE" } else { "IGNORE" };
    let insert =
        format!("INSERT OR {or} INTO {} ({}) VALUES ({})", table.name, columns.join(", "), places.join(", "));
    let mut insert = new.prepare(&insert)?;
    let mut copy = |order: &str| -> Result<bool> {
        let key: Vec<String> = table.key.iter().map(|column| format!("{column} {order}")).collect();
        let select = format!(
            "SELECT {}, {} IS sum FROM {} NOT INDEXED ORDER BY {}",
            columns.join(", "),
            table.sum(),
            table.name,
            key.join(", ")
        );
        let Ok(mut select) = old.prepare(&select) else { return Ok(false) };
        let Ok(mut found) = select.query([]) else { return Ok(false) };
        loop {
            let row = match found.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(true),
                Err(error) => {
                    tracing::warn!(%error, table = table.name, "a part of the table cannot be read");
                    return Ok(false);
                }
            };
            let values = values_of(row, columns.len())?;
            if row.get_ref(columns.len())? != rusqlite::types::ValueRef::Integer(1) {
                if missing.rows.iter().filter(|row| row.table == table.name).count() < MAX_DAMAGED {
                    let values = columns.iter().cloned().zip(values).collect();
                    missing.rows.push(DamagedRow { table: table.name.clone(), values });
                }
            } else if insert.execute(params_from_iter(values))? == 0 {
                // Reading from the other end has reached rows that are already copied.
                return Ok(true);
            }
        }
    };
    if !copy("ASC")? {
        copy("DESC")?;
        missing.unreadable.push(table.name.clone());
    }
    Ok(())
}

fn values_of(row: &Row<'_>, columns: usize) -> Result<Vec<Value>> {
    (0..columns).map(|at| row.get_ref(at).map(sums::value)).collect()
}
