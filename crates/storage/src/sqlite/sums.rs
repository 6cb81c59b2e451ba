//! A checksum for every row, stored in a column of its table.
//!
//! Each table has a column `sum`: a CRC-32 of the table's name and of every other value in the row, including keys and
//! numbers. On the write connection, triggers keep the sums up to date, so that no statement can forget them. The
//! triggers are temporary, so the file stays an ordinary database for other programs. Statements that read whole rows
//! check the sum, and `check` checks all rows.
//!
//! SQLite itself detects damage to the structure of pages, and on request compares indexes with their tables. It cannot
//! detect a changed byte in a value.

use rusqlite::functions::{Context as Arguments, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result, Row, ffi};

/// The SQL function that computes a sum, from the table's name and then the columns in their order.
const FUNCTION: &str = "row_sum";
/// The sum of a row that was known to be damaged when a migration changed its table. No intact row has it.
const KNOWN_DAMAGED: i64 = 0;
/// Columns that the sum does not cover, because they are changed in place. They are compared with the data they were made from.
const UNCOVERED: [(&str, &str); 1] = [("vector_nodes", "body")];
/// Most damaged rows reported per table.
const MAX_NAMED: usize = 1000;

/// A table and its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    /// The name of the table.
    pub(super) name: String,
    /// The columns that the sum covers, in their order.
    pub(super) columns: Vec<String>,
    /// The columns of the primary key.
    pub(super) key: Vec<String>,
    has_sum: bool,
}

/// A row whose values do not match its sum.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DamagedRow {
    /// The table of the row.
    pub(super) table: String,
    /// Its primary key, as far as it can be read.
    pub(super) key: Vec<Value>,
}

impl DamagedRow {
    /// Returns the key in readable form.
    pub(super) fn id(&self) -> String {
        let text = |value: &Value| match value {
            Value::Null => "null".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Blob(bytes) => format!("{} bytes", bytes.len()),
        };
        self.key.iter().map(text).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the tables of the file.
pub(super) fn tables(conn: &Connection) -> Result<Vec<Table>> {
    let mut names = conn.prepare(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    let mut select = conn.prepare("SELECT name, pk FROM pragma_table_info(?1, 'main') ORDER BY cid")?;
    let mut table = |name: String| {
        let all: Vec<(String, i64)> =
            select.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_>>()?;
        let mut key: Vec<&(String, i64)> = all.iter().filter(|(_, place)| *place > 0).collect();
        key.sort_by_key(|(_, place)| *place);
        let key = key.into_iter().map(|(column, _)| column.clone()).collect();
        let is_covered = |column: &str| column != "sum" && !UNCOVERED.contains(&(name.as_str(), column));
        let columns =
            all.iter().map(|(column, _)| column.clone()).filter(|column| is_covered(column)).collect();
        let has_sum = all.iter().any(|(column, _)| column == "sum");
        Ok(Table { name, columns, key, has_sum })
    };
    names.into_iter().map(&mut table).collect()
}

impl Table {
    /// Returns the SQL expression that computes the sum of a row.
    pub(super) fn sum(&self) -> String {
        format!("{FUNCTION}('{}', {})", self.name, self.columns.join(", "))
    }

    /// Returns the rows whose values do not match their sums, at most [`MAX_NAMED`].
    pub(super) fn damaged(&self, conn: &Connection) -> Result<Vec<DamagedRow>> {
        let sql = format!(
            "SELECT {} FROM {} WHERE sum IS NOT {} LIMIT {MAX_NAMED}",
            self.key.join(", "),
            self.name,
            self.sum()
        );
        let mut select = conn.prepare(&sql)?;
        let read = |row: &Row<'_>| {
            let key = (0..self.key.len()).map(|at| row.get_ref(at).map(value)).collect::<Result<_>>()?;
            Ok(DamagedRow { table: self.name.clone(), key })
        };
        select.query_map([], read)?.collect()
    }
}

/// Converts a value whose text may be invalid UTF-8.
pub(super) fn value(found: ValueRef<'_>) -> Value {
    match found {
        ValueRef::Text(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
        other => Value::try_from(other).unwrap_or(Value::Null),
    }
}

/// Registers the function with a connection.
pub(super) fn register(conn: &Connection) -> Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function(FUNCTION, -1, flags, |values| Ok(sum_of(values)))
}

fn sum_of(values: &Arguments<'_>) -> i64 {
    let mut sum = crc32fast::Hasher::new();
    let mut add = |tag: u8, bytes: &[u8]| {
        let mut head = [tag, 0, 0, 0, 0, 0, 0, 0, 0];
        head[1..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        sum.update(&head);
        sum.update(bytes);
    };
    for at in 0..values.len() {
        match values.get_raw(at) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
            ValueRef::Real(number) => add(2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(bytes) => add(3, bytes),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    i64::from(sum.finalize()).max(KNOWN_DAMAGED + 1)
}

/// Runs before tables are changed: marks the rows whose sums do not match, so that they do not get new sums.
pub(super) fn mark_damaged(conn: &Connection) -> Result<()> {
    let tables = tables(conn)?;
    for table in tables.iter().filter(|table| table.has_sum) {
        let sum = table.sum();
        conn.execute(&format!("UPDATE {} SET sum = {KNOWN_DAMAGED} WHERE sum IS NOT {sum}", table.name), [])?;
    }
    Ok(())
}

/// True if the file has sums.
pub(super) fn are_kept(conn: &Connection) -> Result<bool> {
    Ok(tables(conn)?.iter().any(|table| table.has_sum))
}

/// Runs after tables were changed: gives every table the column and every row its sum.
pub(super) fn cover(conn: &Connection) -> Result<()> {
    for table in tables(conn)? {
        if !table.has_sum {
            conn.execute_batch(&format!("ALTER TABLE {} ADD COLUMN sum INTEGER", table.name))?;
        }
        let sum = table.sum();
        conn.execute(&format!("UPDATE {} SET sum = {sum} WHERE sum IS NOT {KNOWN_DAMAGED}", table.name), [])?;
    }
    Ok(())
}

/// Keeps the sums of everything that this connection writes up to date.
pub(super) fn keep(conn: &Connection) -> Result<()> {
    // The triggers are stored there.
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    for table in tables(conn)? {
        let Table { name, columns, key, .. } = &table;
        let this =
            key.iter().map(|column| format!("{column} = NEW.{column}")).collect::<Vec<_>>().join(" AND ");
        let update = format!("UPDATE {name} SET sum = {} WHERE {this};", table.sum());
        conn.execute_batch(&format!(
            "CREATE TEMP TRIGGER sum_of_new_{name} AFTER INSERT ON main.{name} WHEN NEW.sum IS NULL BEGIN {update} END;
             CREATE TEMP TRIGGER sum_of_changed_{name} AFTER UPDATE OF {} ON main.{name} BEGIN {update} END;",
            columns.join(", ")
        ))?;
    }
    Ok(())
}

/// Fails with the row's first column as its name, unless column `at` says that the sum matches.
pub(super) fn require(row: &Row<'_>, at: usize, table: &str) -> Result<()> {
    match row.get_ref(at)? {
        ValueRef::Integer(1) => Ok(()),
        _ => {
            let key = DamagedRow { table: table.to_owned(), key: vec![value(row.get_ref(0)?)] };
            Err(damaged(format!("row {} of {table} does not match its checksum", key.id())))
        }
    }
}

/// Returns the error of a damaged file.
pub(super) fn damaged(what: String) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what))
}

/// Returns the rows of the file that do not match their sums, at most [`MAX_NAMED`] per table.
pub(super) fn damaged_rows(conn: &Connection) -> Result<Vec<DamagedRow>> {
    let mut damaged = Vec::new();
    for table in tables(conn)?.iter().filter(|table| table.has_sum) {
        damaged.extend(table.damaged(conn)?);
    }
    Ok(damaged)
}
