//! The bytes of a leaf of sparse vectors: a longer header, then rows of different sizes one after another.
//!
//! ```text
//! header   number of rows, level with a mark, bytes of a row in memory, most rows, bytes of all rows    4 bytes each
//! row      bytes of its coarse parts, slot, scale, residual, coarse parts as `vector::sparse`           2 + 8 + 4 + 4 + any
//! ```
//!
//! After the rows, there is room for some more, so that most new rows are written in place.

use rusqlite::blob::Blob;
use rusqlite::{Error, Result};

use super::{HEADER, PACKED, ROW_HEADER, header};
use crate::vector::{ZERO, sparse};

/// Bytes in the header of a packed node that follow the header of other nodes.
const MORE_HEADER: usize = 8;
const FIRST: usize = HEADER + MORE_HEADER;
/// When a node is written as a whole, one byte in this many is left free.
const ROOM: usize = 8;

/// The result of adding a row in place.
pub(super) enum AppendOutcome {
    Written,
    /// The node has its maximum number of rows.
    Full,
    /// There was no room. Contains the new node with the row.
    Outgrown(Vec<u8>),
}

/// Returns the bytes of a node with these rows.
pub(super) fn body(most_rows: usize, row_bytes: usize, content: &[u8]) -> Result<Vec<u8>> {
    let mut packed = Vec::new();
    content.chunks_exact(row_bytes).try_for_each(|row| pack(row, &mut packed))?;
    Ok(with_header(content.len() / row_bytes, row_bytes, most_rows, &packed))
}

fn with_header(rows: usize, row_bytes: usize, most_rows: usize, packed: &[u8]) -> Vec<u8> {
    let mut body = header(rows, PACKED, row_bytes).to_vec();
    body.extend((most_rows as u32).to_le_bytes());
    body.extend((packed.len() as u32).to_le_bytes());
    body.extend_from_slice(packed);
    body.resize(body.len() + packed.len() / ROOM, 0);
    body
}

/// Reads the rows into memory, where they have equal size.
pub(super) fn read(blob: &Blob<'_>, rows: usize, row_bytes: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let packed = packed_rows(blob)?;
    let mut rest = packed.as_slice();
    bytes.clear();
    for _ in 0..rows {
        rest = unpack(rest, row_bytes, bytes).ok_or(Error::BlobSizeError)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Error::BlobSizeError) }
}

/// Returns the maximum number of rows of the node.
pub(super) fn most_rows(blob: &Blob<'_>) -> Result<usize> {
    number(blob, HEADER)
}

/// Adds a row to a node with `rows` rows.
pub(super) fn append(blob: &mut Blob<'_>, rows: usize, row: &[u8]) -> Result<AppendOutcome> {
    let most_rows = most_rows(blob)?;
    if rows >= most_rows {
        return Ok(AppendOutcome::Full);
    }
    let (used, mut packed) = (number(blob, HEADER + 4)?, Vec::new());
    pack(row, &mut packed)?;
    if FIRST + used + packed.len() > blob.len() {
        let all = [packed_rows(blob)?, packed].concat();
        return Ok(AppendOutcome::Outgrown(with_header(rows + 1, row.len(), most_rows, &all)));
    }
    blob.write_all_at(&packed, FIRST + used)?;
    blob.write_all_at(&((used + packed.len()) as u32).to_le_bytes(), HEADER + 4)?;
    blob.write_all_at(&header(rows + 1, PACKED, row.len()), 0)?;
    Ok(AppendOutcome::Written)
}

fn packed_rows(blob: &Blob<'_>) -> Result<Vec<u8>> {
    let used = number(blob, HEADER + 4)?;
    if used > blob.len().saturating_sub(FIRST) {
        return Err(Error::BlobSizeError);
    }
    let mut packed = vec![0; used];
    blob.read_at_exact(&mut packed, FIRST)?;
    Ok(packed)
}

fn number(blob: &Blob<'_>, at: usize) -> Result<usize> {
    let mut bytes = [0; 4];
    blob.read_at_exact(&mut bytes, at)?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

fn pack(row: &[u8], packed: &mut Vec<u8>) -> Result<()> {
    let (head, coarse) = row.split_at(ROW_HEADER);
    let coarse: Vec<i16> = coarse.iter().map(|&code| i16::from(code) - i16::from(ZERO)).collect();
    let coarse = sparse::write(&coarse, sparse::Unit::One, Vec::new()).ok_or(Error::BlobSizeError)?;
    packed.extend(u16::try_from(coarse.len()).map_err(|_| Error::BlobSizeError)?.to_le_bytes());
    packed.extend_from_slice(head);
    packed.extend(coarse);
    Ok(())
}

/// Appends the first of these rows to `bytes` and returns the others. `None` if there is no row of this size.
fn unpack<'a>(packed: &'a [u8], row_bytes: usize, bytes: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (length, rest) = packed.split_first_chunk::<2>()?;
    let (head, rest) = rest.split_at_checked(ROW_HEADER)?;
    let (coarse, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    if sparse::length(coarse) + ROW_HEADER != row_bytes {
        return None;
    }
    bytes.extend_from_slice(head);
    let first = bytes.len();
    bytes.resize(first + sparse::length(coarse), ZERO);
    for (at, code) in sparse::entries(coarse) {
        bytes[first + at] = (code + i16::from(ZERO)) as u8;
    }
    Some(rest)
}
