//! The text of a document, stored once in segments. A segment is compressed if that makes it shorter.

use std::borrow::Cow;
use std::collections::HashMap;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::sums;

/// Bytes per segment.
pub(super) const SEGMENT_BYTES: usize = 64 << 10;
/// zstd's level.
const COMPRESSION: i32 = 3;
/// The first bytes of a compressed segment. No text starts with them, because the second byte never follows the first
/// in UTF-8. Other bytes that start with them are always compressed.
const COMPRESSED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The columns of a segment, and whether its checksum matches.
const SEGMENT: &str = "document, bytes, row_sum('segments', document, ordinal, bytes) = sum";

/// Replaces the text of a document.
pub(super) fn write(conn: &Connection, document: i64, text: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM segments WHERE document = ?1")?.execute([document])?;
    let mut insert =
        conn.prepare_cached("INSERT INTO segments (document, ordinal, bytes) VALUES (?1, ?2, ?3)")?;
    for (ordinal, bytes) in text.as_bytes().chunks(SEGMENT_BYTES).enumerate() {
        insert.execute(params![document, ordinal as i64, stored(bytes)])?;
    }
    Ok(())
}

/// Returns the stored form of a segment.
pub(super) fn stored(bytes: &[u8]) -> Cow<'_, [u8]> {
    match zstd::bulk::compress(bytes, COMPRESSION) {
        Ok(compressed) if compressed.len() < bytes.len() || bytes.starts_with(&COMPRESSED) => {
            Cow::Owned(compressed)
        }
        // The uncompressed form works as well.
        Ok(_) | Err(_) => Cow::Borrowed(bytes),
    }
}

/// Returns the bytes of a stored segment.
fn read(stored: &[u8]) -> rusqlite::Result<Cow<'_, [u8]>> {
    if !stored.starts_with(&COMPRESSED) {
        return Ok(Cow::Borrowed(stored));
    }
    let bytes = zstd::bulk::decompress(stored, SEGMENT_BYTES);
    bytes.map(Cow::Owned).map_err(|e| rusqlite::Error::FromSqlConversionFailure(1, Type::Blob, e.into()))
}

/// Reads a whole text.
pub(super) fn read_all(conn: &Connection, document: i64) -> rusqlite::Result<String> {
    into_text(read_segments(conn, "segments", document)?)
}

/// Returns the bytes of all segments that a document has in `table`.
pub(super) fn read_segments(
    conn: &Connection,
    table: &'static str,
    document: i64,
) -> rusqlite::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut select = conn.prepare_cached(&format!(
        "SELECT document, bytes, row_sum('{table}', document, ordinal, bytes) = sum FROM {table}
         WHERE document = ?1 ORDER BY ordinal"
    ))?;
    let mut rows = select.query([document])?;
    while let Some(row) = rows.next()? {
        sums::require(row, 2, table)?;
        bytes.extend_from_slice(&read(row.get_ref(1)?.as_blob()?)?);
    }
    Ok(bytes)
}

/// Most bytes of segments that are kept in memory.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// Slices texts. Successive slices are mostly in a few segments, which are read only once.
pub(super) struct Slicer<'a> {
    conn: &'a Connection,
    /// Segments by document and ordinal.
    kept: HashMap<(i64, u64), Vec<u8>>,
    kept_bytes: usize,
}

impl<'a> Slicer<'a> {
    pub(super) fn new(conn: &'a Connection) -> Self {
        Self { conn, kept: HashMap::new(), kept_bytes: 0 }
    }

    /// Returns the bytes `start..stop` of a document. `None` if they are outside it. If the bytes cut through a
    /// character, they are not valid text, and the caller finds out.
    pub(super) fn slice(
        &mut self,
        document: i64,
        start: u64,
        stop: u64,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        const SIZE: u64 = SEGMENT_BYTES as u64;
        let mut bytes = Vec::with_capacity(stop.saturating_sub(start).min(SIZE) as usize);
        let mut at = start;
        while at < stop {
            let Some(segment) = self.segment(document, at / SIZE)? else { return Ok(None) };
            let from = (at % SIZE) as usize;
            let to = segment.len().min(from + (stop - at) as usize);
            if from >= to {
                return Ok(None);
            }
            bytes.extend_from_slice(&segment[from..to]);
            at += (to - from) as u64;
        }
        Ok((start <= stop).then_some(bytes))
    }

    /// True if `at` is a valid place for an empty slice: inside the text and between two characters.
    pub(super) fn is_border(&mut self, document: i64, at: u64, text_bytes: u64) -> rusqlite::Result<bool> {
        if at >= text_bytes {
            return Ok(at == text_bytes);
        }
        let byte = self.slice(document, at, at + 1)?;
        Ok(byte.is_some_and(|byte| byte[0] & 0b1100_0000 != 0b1000_0000))
    }

    fn segment(&mut self, document: i64, ordinal: u64) -> rusqlite::Result<Option<&[u8]>> {
        let place = (document, ordinal);
        if !self.kept.contains_key(&place) {
            let sql = format!("SELECT {SEGMENT} FROM segments WHERE document = ?1 AND ordinal = ?2");
            let read = |row: &Row<'_>| {
                sums::require(row, 2, "segments")?;
                read(row.get_ref(1)?.as_blob()?).map(Cow::into_owned)
            };
            let mut select = self.conn.prepare_cached(&sql)?;
            let found: Option<Vec<u8>> =
                select.query_row(params![document, ordinal as i64], read).optional()?;
            let Some(bytes) = found else { return Ok(None) };
            if self.kept_bytes + bytes.len() > MAX_KEPT_BYTES {
                (self.kept, self.kept_bytes) = (HashMap::new(), 0);
            }
            self.kept_bytes += bytes.len();
            self.kept.insert(place, bytes);
        }
        Ok(self.kept.get(&place).map(Vec::as_slice))
    }
}

/// Converts stored bytes to text.
pub(super) fn into_text(bytes: Vec<u8>) -> rusqlite::Result<String> {
    String::from_utf8(bytes).map_err(|e| rusqlite::Error::Utf8Error(0, e.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_segment(bytes: &[u8], most: usize) {
        let stored = stored(bytes);
        assert!(stored.len() <= most, "{}", stored.len());
        assert_eq!(read(&stored).expect("read"), bytes);
        assert_eq!(read(bytes).expect("as older releases stored it"), bytes);
    }

    #[test]
    fn a_segment_is_stored_in_the_shorter_form_and_both_are_read() {
        check_segment(b"", 0);
        check_segment(b"Ada met Bob.", 12);
        check_segment("(µ/ý) ".repeat(1000).as_bytes(), 100);
        check_segment("Ada met Bob at the harbour. ".repeat(2000).as_bytes(), 500);
    }

    #[test]
    fn uncompressed_bytes_that_look_compressed_are_read_unchanged() {
        let mut bytes = COMPRESSED.to_vec();
        assert_eq!(read(&stored(&bytes)).expect("read"), bytes.as_slice());
        bytes.extend(0..=u8::MAX);
        assert_eq!(read(&stored(&bytes)).expect("read"), bytes.as_slice());
    }

    #[test]
    fn a_damaged_segment_is_an_error() {
        let text = "Ada met Bob at the harbour. ".repeat(100);
        let stored = stored(text.as_bytes());
        assert!(read(&stored[..stored.len() / 2]).is_err());
        assert!(read(&COMPRESSED).is_err());
    }
}
