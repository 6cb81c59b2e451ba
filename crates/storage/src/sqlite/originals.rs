//! Originals, stored in segments like texts.

use graphloom_core::{ContentHash, DocumentId, OriginalStamp};
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::{rows, sums, text};

/// Replaces the original of a document. `None` removes it.
pub(super) fn set(conn: &Connection, document: i64, bytes: Option<&[u8]>) -> Result<()> {
    conn.prepare_cached("DELETE FROM originals WHERE document = ?1")?.execute([document])?;
    let Some(bytes) = bytes else { return Ok(()) };
    let OriginalStamp { hash, bytes: length } = OriginalStamp::of(bytes);
    conn.prepare_cached("INSERT INTO originals (document, hash, bytes) VALUES (?1, ?2, ?3)")?
        .execute(params![document, hash.as_str(), rows::signed(length)])?;
    let mut insert =
        conn.prepare_cached("INSERT INTO original_segments (document, ordinal, bytes) VALUES (?1, ?2, ?3)")?;
    for (ordinal, bytes) in bytes.chunks(text::SEGMENT_BYTES).enumerate() {
        insert.execute(params![document, ordinal as i64, text::stored(bytes)])?;
    }
    Ok(())
}

/// Returns the stamp of a document's original.
pub(super) fn stamp(conn: &Connection, id: &DocumentId) -> Result<Option<OriginalStamp>> {
    Ok(find(conn, id)?.map(|(_, stamp)| stamp))
}

/// Returns the bytes of a document's original.
pub(super) fn bytes(conn: &Connection, id: &DocumentId) -> Result<Option<Vec<u8>>> {
    find(conn, id)?.map(|(document, stamp)| read_all(conn, document, &stamp)).transpose()
}

fn find(conn: &Connection, id: &DocumentId) -> Result<Option<(i64, OriginalStamp)>> {
    let mut select = conn.prepare_cached(
        "SELECT o.document, o.hash, o.bytes, row_sum('originals', o.document, o.hash, o.bytes) = o.sum
         FROM documents d JOIN originals o ON o.document = d.id WHERE d.key = ?1",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        sums::require(row, 3, "originals")?;
        let hash = ContentHash::from_stored(row.get_ref(1)?.as_str()?);
        Ok((row.get(0)?, OriginalStamp { hash, bytes: rows::unsigned(row, 2)? }))
    };
    select.query_row([id.as_str()], read).optional()
}

/// Reads the segments of an original.
///
/// # Errors
///
/// The error of a damaged file if the bytes do not match `stamp`.
pub(super) fn read_all(conn: &Connection, document: i64, stamp: &OriginalStamp) -> Result<Vec<u8>> {
    let bytes = text::read_segments(conn, "original_segments", document)?;
    match OriginalStamp::of(&bytes) == *stamp {
        true => Ok(bytes),
        false => Err(sums::damaged(format!("segments of row {document} of originals are missing"))),
    }
}

/// Removes incomplete originals. Returns the sources of their documents.
pub(super) fn remove_broken(conn: &Connection) -> Result<Vec<String>> {
    let mut select = conn.prepare(
        "SELECT o.document, o.hash, o.bytes, d.source FROM originals o JOIN documents d ON d.id = o.document
         ORDER BY o.document",
    )?;
    let known: Vec<(i64, OriginalStamp, String)> = select
        .query_map([], |row| {
            let hash = ContentHash::from_stored(row.get_ref(1)?.as_str()?);
            Ok((row.get(0)?, OriginalStamp { hash, bytes: rows::unsigned(row, 2)? }, row.get(3)?))
        })?
        .collect::<Result<_>>()?;
    let mut broken = Vec::new();
    for (document, stamp, source) in known {
        if read_all(conn, document, &stamp).is_err() {
            conn.execute("DELETE FROM originals WHERE document = ?1", [document])?;
            broken.push(source);
        }
    }
    Ok(broken)
}
