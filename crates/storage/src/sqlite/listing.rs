//! Pages of documents in a chosen order, and the number of documents by status.

use std::collections::BTreeMap;

use graphloom_core::{DocumentId, DocumentOrder, DocumentPage, DocumentsFound, StatusKind};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};

use super::rows;

/// SQL for the index of a document's status in [`StatusKind::ALL`], given `documents d LEFT JOIN jobs j`. It equals
/// what `DocumentStatus::derive` returns: a document without a job waits, and one in the graph is incomplete if a chunk
/// failed, lost records or has no context.
const STATUS: &str = "CASE coalesce(j.state, 0) WHEN 3 THEN 0 WHEN 4 THEN 2 WHEN 1 THEN 3 WHEN 0 THEN 4 ELSE
    CASE WHEN EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.id AND c.state >= 2) OR d.id IN (
        SELECT c.document FROM situations s JOIN chunks c ON c.id = s.chunk WHERE s.text IS NULL) THEN 1 ELSE 5 END END";

/// Registers the function `lowered(text)`, which returns the text in lower case, in any script.
pub(super) fn register(conn: &Connection) -> Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function("lowered", 1, flags, |context| {
        Ok(context.get_raw(0).as_str()?.to_lowercase())
    })
}

pub(super) fn status_counts(conn: &Connection) -> Result<BTreeMap<StatusKind, u64>> {
    let sql = format!(
        "SELECT {STATUS}, count(*) FROM documents d LEFT JOIN jobs j ON j.document = d.id GROUP BY 1"
    );
    let mut counts = conn.prepare_cached(&sql)?;
    let counts = counts.query_map([], |row| Ok((status_of(row.get(0)?), rows::unsigned(row, 1)?)))?;
    counts.collect()
}

pub(super) fn document_page(conn: &Connection, page: &DocumentPage) -> Result<DocumentsFound> {
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    if !page.name.is_empty() {
        conditions.push("instr(lowered(d.source), ?) > 0".to_owned());
        values.push(Value::Text(page.name.to_lowercase()));
    }
    let needs_status = page.status.is_some() || page.order == DocumentOrder::Status;
    if let Some(status) = &page.status {
        let places: Vec<String> = status.iter().map(|status| place_of(*status).to_string()).collect();
        conditions.push(format!("{STATUS} IN ({})", places.join(", ")));
    }
    let joined = if needs_status { " LEFT JOIN jobs j ON j.document = d.id" } else { "" };
    let conditions = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    let from = format!("FROM documents d{joined}{conditions}");
    let count = format!("SELECT count(*) {from}");
    let total =
        conn.prepare_cached(&count)?.query_row(params_from_iter(&values), |row| rows::unsigned(row, 0))?;
    let direction = if page.descending { " DESC" } else { "" };
    let keys: &[&str] = match page.order {
        DocumentOrder::Id => &["d.key"],
        DocumentOrder::Source => &["d.source", "d.key"],
        DocumentOrder::Accepted => &["d.added_at", "d.key"],
        DocumentOrder::Size => &["d.text_bytes", "d.key"],
        DocumentOrder::Status => &[STATUS, "d.source", "d.key"],
    };
    let order: Vec<String> = keys.iter().map(|key| format!("{key}{direction}")).collect();
    let sql = format!("SELECT d.key {from} ORDER BY {} LIMIT ? OFFSET ?", order.join(", "));
    let number = |number: usize| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    values.extend([number(page.limit), number(page.skip)]);
    let mut select = conn.prepare_cached(&sql)?;
    let ids = select
        .query_map(params_from_iter(&values), |row| Ok(DocumentId::from_stored(row.get::<_, String>(0)?)))?;
    Ok(DocumentsFound { ids: ids.collect::<Result<_>>()?, total })
}

fn status_of(place: u8) -> StatusKind {
    StatusKind::ALL.get(usize::from(place)).copied().unwrap_or(StatusKind::Waiting)
}

fn place_of(status: StatusKind) -> usize {
    StatusKind::ALL.iter().position(|kind| *kind == status).unwrap_or(StatusKind::ALL.len())
}
