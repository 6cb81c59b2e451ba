//! The change log: records which entries the newest commits touched, so that projections need not be rebuilt.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};

use graphloom_core::ItemKind;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{rows, sums};

/// The log keeps one row per this many vectors, within the bounds below. A projection that is further behind is
/// rebuilt, which takes as long as applying that many changes.
const VECTORS_A_LOGGED_CHANGE: i64 = 4;
const MIN_LOGGED_CHANGES: i64 = 512;
const MAX_LOGGED_CHANGES: i64 = 256 << 10;

/// The entry's vector or visibility changed.
pub(super) const VECTOR: u8 = 1;
/// The entry's searchable text or visibility changed.
pub(super) const TEXT: u8 = 2;
/// The chunk's links in the graph or its visibility changed.
pub(super) const LINKS: u8 = 4;

/// The entries that a batch touches, each once.
pub(super) type BatchKeys = BTreeMap<(u8, String), u8>;

/// Records a change.
pub(super) fn touch(touched: &mut BatchKeys, kind: ItemKind, key: &str, parts: u8) {
    *touched.entry((rows::kind_code(kind), key.to_owned())).or_default() |= parts;
}

/// A position in the log. The nonce tells histories apart: after a file is restored from a backup, a different log
/// grows under the same numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) id: i64,
    pub(super) nonce: i64,
}

/// Returns a number that no other process draws.
pub(super) fn random() -> u64 {
    // The random keys of a hasher are the standard library's only source of randomness. Nothing secret depends on this number.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Appends the entries that a batch touched and drops the oldest rows beyond the limit.
pub(super) fn append(conn: &Connection, touched: &BatchKeys) -> rusqlite::Result<()> {
    if touched.is_empty() {
        return Ok(());
    }
    let mut sum = conn.prepare_cached("SELECT coalesce(sum(vectors), 0) FROM vector_trees")?;
    let vectors: i64 = sum.query_row([], |row| row.get(0))?;
    let limit = (vectors / VECTORS_A_LOGGED_CHANGE).clamp(MIN_LOGGED_CHANGES, MAX_LOGGED_CHANGES);
    let before = newest(conn)?.id;
    let newest = before + touched.len() as i64;
    let mut insert =
        conn.prepare_cached("INSERT INTO changes (id, nonce, kind, key, parts) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    // Rows that would be dropped at once only get a number.
    let numbered = (before + 1..).zip(touched).filter(|(id, _)| *id > newest - limit);
    for (id, ((kind, key), parts)) in numbered {
        // Marks are only at the ends of commits.
        let nonce = if id == newest { random().cast_signed() } else { 0 };
        insert.execute(params![id, nonce, kind, key, parts])?;
    }
    conn.prepare_cached("DELETE FROM changes WHERE id <= ?1")?.execute([newest - limit])?;
    Ok(())
}

/// Returns the end of the log, or zero in a workspace that never held an entry.
pub(super) fn newest(conn: &Connection) -> rusqlite::Result<Mark> {
    let mut select = conn.prepare_cached("SELECT id, nonce FROM changes ORDER BY id DESC LIMIT 1")?;
    let mark = select.query_row([], |row| Ok(Mark { id: row.get(0)?, nonce: row.get(1)? })).optional()?;
    Ok(mark.unwrap_or_default())
}

/// True if the log still has everything after `mark`, and `mark` belongs to its history.
pub(super) fn reaches(conn: &Connection, mark: Mark) -> rusqlite::Result<bool> {
    if mark == Mark::default() {
        let oldest: Option<i64> = conn.query_row("SELECT min(id) FROM changes", [], |row| row.get(0))?;
        return Ok(oldest.is_none_or(|id| id == 1));
    }
    let mut select = conn.prepare_cached("SELECT nonce FROM changes WHERE id = ?1")?;
    let nonce: Option<i64> = select.query_row([mark.id], |row| row.get(0)).optional()?;
    Ok(nonce == Some(mark.nonce))
}

/// Returns the entries with a change in one of `parts` after `mark`: position, kind code and key, oldest first.
pub(super) fn after(conn: &Connection, mark: Mark, parts: u8) -> rusqlite::Result<Vec<(i64, u8, String)>> {
    let mut select = conn.prepare_cached(
        "SELECT id, kind, key, parts, row_sum('changes', id, nonce, kind, key, parts) = sum
         FROM changes WHERE id > ?1 ORDER BY id",
    )?;
    let mut found = select.query([mark.id])?;
    let mut changed = Vec::new();
    while let Some(row) = found.next()? {
        sums::require(row, 4, "changes")?;
        if row.get::<_, u8>(3)? & parts != 0 {
            changed.push((row.get(0)?, row.get(1)?, row.get(2)?));
        }
    }
    Ok(changed)
}
