//! The cache of model results: a bounded table whose oldest rows are removed first.

use graphloom_core::{CacheEntry, CacheKind, CacheSize, ContentHash, MAX_CACHE_BYTES, MAX_CACHE_ENTRIES};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::rows;

/// Returns the value for a kind and a key.
pub(super) fn find(conn: &Connection, (kind, key): &(CacheKind, ContentHash)) -> Result<Option<Vec<u8>>> {
    conn.prepare_cached(
        // A damaged row counts as missing, and the caller computes the value again.
        "SELECT value FROM cache WHERE kind = ?1 AND key = ?2 AND row_sum('cache', id, kind, key, bytes, value) = sum",
    )?
        .query_row(params![code(*kind), key.as_str()], |row| row.get(0))
        .optional()
}

/// Returns the size of the cache of a kind.
pub(super) fn size(conn: &Connection, kind: &CacheKind) -> Result<CacheSize> {
    conn.prepare_cached("SELECT count(*), coalesce(sum(bytes), 0) FROM cache WHERE kind = ?1")?
        .query_row([code(*kind)], |row| {
            Ok(CacheSize { kind: *kind, entries: rows::unsigned(row, 0)?, bytes: rows::unsigned(row, 1)? })
        })
}

/// Clears whole kinds, puts entries, and drops the oldest ones beyond the limits.
pub(super) fn remember(conn: &Connection, cleared: &[CacheKind], entries: &[CacheEntry]) -> Result<()> {
    for kind in cleared {
        conn.prepare_cached("DELETE FROM cache WHERE kind = ?1")?.execute([code(*kind)])?;
    }
    for entry in entries {
        // Replacing a row gives it a new id, the largest.
        conn.prepare_cached(
            "INSERT OR REPLACE INTO cache (kind, key, bytes, value) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            code(entry.kind),
            entry.key.as_str(),
            rows::signed(entry.value.len() as u64),
            entry.value
        ])?;
    }
    let bounded = CacheKind::ALL.into_iter().filter(|kind| kind.is_bounded());
    let grown = bounded.filter(|kind| entries.iter().any(|entry| entry.kind == *kind));
    for kind in grown {
        conn.prepare_cached(
            "DELETE FROM cache WHERE kind = ?1 AND id <= (
                SELECT max(id) FROM (
                    SELECT id, row_number() OVER newest AS number, sum(bytes) OVER newest AS total
                    FROM cache WHERE kind = ?1 WINDOW newest AS (ORDER BY id DESC)
                ) WHERE number > ?2 OR total > ?3
            )",
        )?
        .execute(params![
            code(kind),
            rows::signed(MAX_CACHE_ENTRIES as u64),
            rows::signed(MAX_CACHE_BYTES)
        ])?;
    }
    Ok(())
}

fn code(kind: CacheKind) -> u8 {
    match kind {
        CacheKind::Keywords => 0,
        CacheKind::Answer => 1,
        CacheKind::Vector => 2,
        CacheKind::Node => 3,
        CacheKind::NextVector => 4,
    }
}
