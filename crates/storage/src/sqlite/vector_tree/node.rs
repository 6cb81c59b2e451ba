//! The bytes of a node: a header and rows of equal size, written in place so that adding a row writes only a page or two.
//!
//! ```text
//! header   number of rows, level (0 is a leaf), bytes of a row         4 bytes each, little-endian
//! row      slot or child, scale, residual, coarse parts with padding    8 + 4 + 4 + a multiple of the lanes
//! ```
//!
//! A leaf of sparse vectors is packed ([`packed`]), because most of its bytes would be zero. In memory, all nodes have
//! rows of equal size.

mod packed;

use rusqlite::blob::Blob;
use rusqlite::{Connection, Error, MAIN_DB, Result, params};

use packed::AppendOutcome;

use crate::vector::question::{LANES, Question};
use crate::vector::{self, Coarse, ZERO};

const HEADER: usize = 12;
/// Added to the level of a packed node.
const PACKED: u32 = 1 << 31;
const ROW_HEADER: usize = 16;
const TABLE: &str = "vector_nodes";
const COLUMN: &str = "body";

/// A row of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// The slot of a vector in a leaf, or a child in an inner node.
    pub(super) id: i64,
    pub(super) scale: f32,
    pub(super) residual: f32,
    pub(super) codes: &'a [u8],
}

/// Returns the row for a stored vector.
pub(super) fn row_of(id: i64, data: &[u8]) -> Vec<u8> {
    let Coarse { codes, scale, residual } = vector::read_coarse(data);
    let mut row = Vec::with_capacity(row_bytes(data));
    row.extend_from_slice(&id.to_le_bytes());
    row.extend_from_slice(&scale.to_le_bytes());
    row.extend_from_slice(&residual.to_le_bytes());
    row.extend_from_slice(&codes);
    row.resize(row_bytes(data), ZERO);
    row
}

/// Returns the row for a child.
pub(super) fn row_of_direction(child: i64, direction: &[f32]) -> Vec<u8> {
    row_of(child, &vector::encode(direction))
}

/// Returns the size of the rows for vectors like this stored one, in bytes.
pub(super) fn row_bytes(data: &[u8]) -> usize {
    ROW_HEADER + vector::dimensions(data).next_multiple_of(LANES)
}

pub(super) fn id_of(row: &[u8]) -> i64 {
    read_row(row).id
}

/// Returns the vector of a row, including padding.
pub(super) fn direction(row: &[u8]) -> Vec<f32> {
    let Row { scale, codes, .. } = read_row(row);
    codes.iter().map(|&code| (f32::from(code) - f32::from(ZERO)) * scale).collect()
}

pub(super) fn rows_in(bytes: &[u8], row_bytes: usize) -> impl Iterator<Item = Row<'_>> {
    bytes.chunks_exact(row_bytes.max(1)).map(read_row)
}

fn read_row(row: &[u8]) -> Row<'_> {
    let (head, codes) = row.split_at(ROW_HEADER);
    let number = |at: usize| f32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
    let id = i64::from_le_bytes(std::array::from_fn(|byte| head[byte]));
    Row { id, scale: number(8), residual: number(12), codes }
}

/// The properties that all rows of a node share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// 0 is a leaf.
    pub(super) level: u32,
    /// Bytes per row. For a packed node, bytes per row in memory.
    pub(super) row_bytes: usize,
    pub(super) is_packed: bool,
}

impl Form {
    /// Returns the form of a leaf for vectors like this stored one.
    pub(super) fn of_leaf(data: &[u8]) -> Self {
        Self { level: 0, row_bytes: row_bytes(data), is_packed: vector::is_sparse(data) }
    }
}

/// A node as it was read. Its memory is reused for the next one.
#[derive(Default)]
pub(super) struct Node {
    pub(super) level: u32,
    is_packed: bool,
    row_bytes: usize,
    bytes: Vec<u8>,
}

impl Node {
    pub(super) fn form(&self) -> Form {
        Form { level: self.level, row_bytes: self.row_bytes, is_packed: self.is_packed }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        rows_in(&self.bytes, self.row_bytes)
    }

    /// All rows, one after another.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the row at this place.
    pub(super) fn row_bytes(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.row_bytes..][..self.row_bytes]
    }

    /// Returns the row with this id.
    pub(super) fn row(&self, id: i64) -> Option<&[u8]> {
        self.bytes.chunks_exact(self.row_bytes.max(1)).find(|row| id_of(row) == id)
    }

    /// Returns the common direction of all rows.
    pub(super) fn direction(&self) -> Vec<f32> {
        super::split::direction_of(&self.bytes, self.row_bytes)
    }

    /// Returns the memory that the node takes, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }

    /// Computes the estimated cosine of each row with the question.
    pub(super) fn score(&self, question: &Question, scores: &mut Vec<f32>) {
        scores.clear();
        let codes: Vec<&[u8]> = self.rows().map(|row| row.codes).collect();
        question.dots(&codes, scores);
        self.rows().zip(scores).for_each(|(row, score)| *score *= row.scale);
    }
}

/// The nodes of a file. One handle is opened and moved from node to node, because opening a handle costs more than
/// reading a node.
pub(super) struct Nodes<'a> {
    conn: &'a Connection,
    open: Option<Blob<'a>>,
    writable: bool,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(conn: &'a Connection) -> Self {
        Self { conn, open: None, writable: false }
    }

    fn at(&mut self, id: i64, writable: bool) -> Result<&mut Blob<'a>> {
        match &mut self.open {
            Some(blob) if self.writable || !writable => blob.reopen(id)?,
            Some(_) | None => {
                self.writable = writable;
                self.open = Some(self.conn.blob_open(MAIN_DB, TABLE, COLUMN, id, !writable)?);
            }
        }
        self.open.as_mut().ok_or(Error::InvalidQuery)
    }

    /// Reads the rows of a node into `node`.
    pub(super) fn read(&mut self, id: i64, node: &mut Node) -> Result<()> {
        let blob = self.at(id, false)?;
        let (rows, form) = read_header(blob)?;
        let Form { level, row_bytes, is_packed } = form;
        (node.level, node.row_bytes, node.is_packed) = (level, row_bytes, is_packed);
        if is_packed {
            return packed::read(blob, rows, row_bytes, &mut node.bytes);
        }
        node.bytes.resize(rows * row_bytes, 0);
        blob.read_at_exact(&mut node.bytes, HEADER)
    }

    /// Creates a node with room for `rows` rows.
    ///
    /// - `form`: its level, the bytes per row, and whether it is packed.
    pub(super) fn create(&mut self, rows: usize, form: Form, content: &[u8]) -> Result<i64> {
        // A handle cannot see a row that is written another way.
        self.open = None;
        let Form { level, row_bytes, is_packed } = form;
        if is_packed {
            let body = packed::body(rows.max(2), row_bytes, content)?;
            self.conn.prepare_cached("INSERT INTO vector_nodes (body) VALUES (?1)")?.execute([body])?;
            return Ok(self.conn.last_insert_rowid());
        }
        let size = HEADER + rows.max(2) * row_bytes;
        self.conn
            .prepare_cached("INSERT INTO vector_nodes (body) VALUES (zeroblob(?1))")?
            .execute(params![size as i64])?;
        let id = self.conn.last_insert_rowid();
        let blob = self.at(id, true)?;
        blob.write_all_at(&header(content.len() / row_bytes, level, row_bytes), 0)?;
        blob.write_all_at(content, HEADER)?;
        Ok(id)
    }

    /// Adds a row and returns the new number of rows. `None` if the node is full.
    pub(super) fn append(&mut self, id: i64, row: &[u8]) -> Result<Option<usize>> {
        let blob = self.at(id, true)?;
        let (rows, Form { level, row_bytes, is_packed }) = read_header(blob)?;
        if is_packed {
            return match packed::append(blob, rows, row)? {
                AppendOutcome::Full => Ok(None),
                AppendOutcome::Written => Ok(Some(rows + 1)),
                AppendOutcome::Outgrown(body) => self.put_body(id, body).map(|()| Some(rows + 1)),
            };
        }
        let end = HEADER + rows * row_bytes;
        if end + row.len() > blob.len() {
            return Ok(None);
        }
        blob.write_all_at(row, end)?;
        blob.write_all_at(&header(rows + 1, level, row_bytes), 0)?;
        Ok(Some(rows + 1))
    }

    /// Replaces all rows of a node with `content`.
    pub(super) fn write(&mut self, id: i64, content: &[u8]) -> Result<()> {
        let blob = self.at(id, true)?;
        let (_, Form { level, row_bytes, is_packed }) = read_header(blob)?;
        if is_packed {
            let body = packed::body(packed::most_rows(blob)?, row_bytes, content)?;
            return self.put_body(id, body);
        }
        blob.write_all_at(content, HEADER)?;
        blob.write_all_at(&header(content.len() / row_bytes, level, row_bytes), 0)
    }

    /// Replaces the row with this id.
    pub(super) fn replace(&mut self, id: i64, row_id: i64, row: &[u8]) -> Result<()> {
        let place = self.place_of(id, row_id)?;
        let blob = self.at(id, true)?;
        place.map_or(Ok(()), |place| blob.write_all_at(row, HEADER + place * row.len()))
    }

    /// Removes a row. The last row takes its place.
    pub(super) fn remove(&mut self, id: i64, row_id: i64) -> Result<()> {
        let Some(place) = self.place_of(id, row_id)? else { return Ok(()) };
        let blob = self.at(id, true)?;
        let (rows, Form { level, row_bytes, is_packed }) = read_header(blob)?;
        let last = rows.saturating_sub(1);
        if is_packed {
            let mut node = Node::default();
            self.read(id, &mut node)?;
            node.bytes.copy_within(last * row_bytes.., place * row_bytes);
            node.bytes.truncate(last * row_bytes);
            return self.write(id, &node.bytes);
        }
        let mut row = vec![0; row_bytes];
        blob.read_at_exact(&mut row, HEADER + last * row_bytes)?;
        blob.write_all_at(&row, HEADER + place * row_bytes)?;
        blob.write_all_at(&header(last, level, row_bytes), 0)
    }

    /// Packs a leaf that is not packed and was just read.
    pub(super) fn pack(&mut self, id: i64, node: &Node) -> Result<()> {
        let most_rows = (self.at(id, false)?.len() - HEADER) / node.row_bytes;
        self.put_body(id, packed::body(most_rows, node.row_bytes, &node.bytes)?)
    }

    /// Stores a packed node in place of its old bytes.
    fn put_body(&mut self, id: i64, body: Vec<u8>) -> Result<()> {
        self.open = None;
        let mut update = self.conn.prepare_cached("UPDATE vector_nodes SET body = ?2 WHERE id = ?1")?;
        update.execute(params![id, body]).map(drop)
    }

    fn place_of(&mut self, id: i64, row_id: i64) -> Result<Option<usize>> {
        let mut node = Node::default();
        // Callers write to the place they ask for, and a read-only handle would have to be opened again.
        self.at(id, true)?;
        self.read(id, &mut node)?;
        Ok(node.rows().position(|row| row.id == row_id))
    }
}

fn header(rows: usize, level: u32, row_bytes: usize) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    for (place, number) in [rows as u32, level, row_bytes as u32].into_iter().enumerate() {
        header[place * 4..place * 4 + 4].copy_from_slice(&number.to_le_bytes());
    }
    header
}

/// Reads the number of rows and the form. Fails if the node has less room than its header says.
fn read_header(blob: &Blob<'_>) -> Result<(usize, Form)> {
    let mut header = [0; HEADER];
    blob.read_at_exact(&mut header, 0)?;
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    let (rows, level, row_bytes) = (number(0) as usize, number(4), number(8) as usize);
    let form = Form { level: level & !PACKED, row_bytes, is_packed: level & PACKED != 0 };
    let least = if form.is_packed { ROW_HEADER } else { row_bytes };
    if row_bytes < ROW_HEADER || rows.saturating_mul(least) > blob.len().saturating_sub(HEADER) {
        return Err(Error::BlobSizeError);
    }
    Ok((rows, form))
}
