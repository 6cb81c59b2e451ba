//! The file format of a link graph, which saves building the graph again.
//!
//! ```text
//! head     version, nodes                                     4 + 8 bytes, little-endian as all numbers
//! names    kind (0 none, 1 chunk, 2 entity, 3 relation), then length and bytes, or the numbers of the ends
//! orders   8 bytes per node
//! rows     links of each node, 4 bytes; then the links, 4 bytes each
//! hash     BLAKE3 of everything before
//! ```

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use hashbrown::HashTable;

use super::{LinkGraph, Name, NodeNumber, Rows};
use crate::{ChunkId, EntityKey};

/// Incremented when the format or the numbering changes.
const VERSION: u32 = 1;
/// Numbers per read.
const BLOCK: usize = 8 << 10;
/// Bytes per hash update.
const BUFFER: usize = 128 << 10;

/// Why bytes are not a valid link graph.
#[derive(Debug, thiserror::Error)]
pub enum LinkFileError {
    /// They cannot be read.
    #[error("reading a link graph")]
    Read(#[from] io::Error),
    /// They have another version, or are damaged or truncated.
    #[error("the link graph is damaged: {0}")]
    Damaged(&'static str),
}

impl LinkGraph {
    /// Writes the graph; [`LinkGraph::read`] restores an equal one with the same numbers.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out =
            BufWriter::with_capacity(BUFFER, HashingWriter { inner: out, hasher: blake3::Hasher::new() });
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&(self.names.len() as u64).to_le_bytes())?;
        for name in self.names.iter() {
            let (kind, text) = match name {
                None => (0u8, None),
                Some(Name::Chunk(id)) => (1, Some(id.as_str())),
                Some(Name::Entity(key)) => (2, Some(key.as_str())),
                Some(Name::Relation(a, b)) => {
                    out.write_all(&[3])?;
                    out.write_all(&a.to_le_bytes())?;
                    out.write_all(&b.to_le_bytes())?;
                    continue;
                }
            };
            out.write_all(&[kind])?;
            if let Some(text) = text {
                out.write_all(&(text.len() as u32).to_le_bytes())?;
                out.write_all(text.as_bytes())?;
            }
        }
        for order in self.orders.iter() {
            out.write_all(&order.to_le_bytes())?;
        }
        let nodes = 0..self.names.len() as NodeNumber;
        for node in nodes.clone() {
            out.write_all(&(self.neighbours(node).len() as u32).to_le_bytes())?;
        }
        for neighbour in nodes.flat_map(|node| self.neighbours(node)) {
            out.write_all(&neighbour.to_le_bytes())?;
        }
        let mut out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.inner.write_all(out.hasher.finalize().as_bytes())?;
        out.inner.flush()
    }

    /// Reads the `length` bytes written by [`LinkGraph::write`].
    pub fn read(input: impl Read, length: u64) -> Result<Self, LinkFileError> {
        let content = input.take(length.saturating_sub(blake3::OUT_LEN as u64));
        let hashed = HashingWriter { inner: content, hasher: blake3::Hasher::new() };
        let mut input = Input(BufReader::with_capacity(BUFFER, hashed));
        if input.number()? != VERSION {
            return Err(LinkFileError::Damaged("another version"));
        }
        let nodes = u64::from(input.number()?) | u64::from(input.number()?) << 32;
        let nodes = usize::try_from(nodes).map_err(|_| LinkFileError::Damaged("too many nodes"))?;
        // Memory is allocated as nodes arrive, because a damaged count must not allocate too much.
        let (mut names, mut free, mut text) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..nodes {
            names.push(match input.byte()? {
                0 => {
                    free.push(number as NodeNumber);
                    None
                }
                1 => Some(Name::Chunk(ChunkId::from_stored(input.text(&mut text)?))),
                2 => Some(Name::Entity(EntityKey::from_stored(input.text(&mut text)?))),
                3 => Some(Name::Relation(input.number()?, input.number()?)),
                _ => return Err(LinkFileError::Damaged("an unknown kind of node")),
            });
        }
        let halves = input.numbers(nodes * 2)?;
        let orders: Vec<u64> =
            halves.as_chunks().0.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32).collect();
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0u64);
        for links in input.numbers(nodes)? {
            starts.push(starts.last().copied().unwrap_or_default() + u64::from(links));
        }
        let links = starts.last().copied().unwrap_or_default();
        let links = usize::try_from(links).map_err(|_| LinkFileError::Damaged("too many links"))?;
        let neighbours = input.numbers(links)?;
        if input.0.read(&mut [0])? > 0 {
            return Err(LinkFileError::Damaged("trailing bytes"));
        }
        let hashed = input.0.into_inner();
        let mut expected = [0; blake3::OUT_LEN];
        hashed.inner.into_inner().read_exact(&mut expected)?;
        if hashed.hasher.finalize() != expected {
            return Err(LinkFileError::Damaged("wrong hash"));
        }
        let mut by_name = HashTable::with_capacity(nodes - free.len());
        for (number, name) in names.iter().enumerate() {
            if name.is_some() {
                by_name.insert_unique(orders[number], number as NodeNumber, |&known| orders[known as usize]);
            }
        }
        Ok(Self {
            names: Arc::new(names),
            orders: Arc::new(orders),
            by_name: Arc::new(by_name),
            rows: Arc::new(Rows { starts, neighbours }),
            changed: std::collections::HashMap::new(),
            free,
        })
    }
}

/// Hashes the bytes that pass through.
struct HashingWriter<T> {
    inner: T,
    hasher: blake3::Hasher,
}

impl<T: Write> Write for HashingWriter<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for HashingWriter<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..read]);
        Ok(read)
    }
}

struct Input<T>(BufReader<T>);

impl<T: Read> Input<T> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.0.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.0.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads this many numbers; memory is allocated as they arrive.
    fn numbers(&mut self, count: usize) -> io::Result<Vec<u32>> {
        let (mut numbers, mut bytes) = (Vec::new(), vec![0; BLOCK * 4]);
        while numbers.len() < count {
            let block = &mut bytes[..(count - numbers.len()).min(BLOCK) * 4];
            self.0.read_exact(block)?;
            numbers.extend(block.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        }
        numbers.shrink_to_fit();
        Ok(numbers)
    }

    fn text<'a>(&mut self, bytes: &'a mut Vec<u8>) -> Result<&'a str, LinkFileError> {
        let length = u64::from(self.number()?);
        bytes.clear();
        if self.0.by_ref().take(length).read_to_end(bytes)? as u64 != length {
            return Err(LinkFileError::Damaged("truncated within a name"));
        }
        std::str::from_utf8(bytes).map_err(|_| LinkFileError::Damaged("a name is not valid UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphKey, RelationKey};

    fn graph() -> LinkGraph {
        let entity = |name: &str| EntityKey::from_stored(name);
        let relation = RelationKey::new(entity("ADA"), entity("BOB")).expect("two entities");
        let chunk = |name: &str| ChunkId::from_stored(name);
        let mut graph = LinkGraph::of([
            (chunk("one"), vec![GraphKey::Entity(entity("ADA")), GraphKey::Relation(relation)]),
            (chunk("two"), vec![GraphKey::Entity(entity("ÇA"))]),
        ]);
        graph.set_chunk(&chunk("three"), &[GraphKey::Entity(entity("ADA"))]);
        graph.set_chunk(&chunk("two"), &[]);
        graph
    }

    fn written(graph: &LinkGraph) -> Vec<u8> {
        let mut bytes = Vec::new();
        graph.write(&mut bytes).expect("written");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<LinkGraph, LinkFileError> {
        LinkGraph::read(bytes, bytes.len() as u64)
    }

    #[test]
    fn a_graph_is_read_back_with_its_numbers_and_can_be_extended() {
        let graph = graph();
        let mut back = read(&written(&graph)).expect("read");
        assert_eq!(back, graph);
        assert_eq!(back.chunk(&ChunkId::from_stored("three")), graph.chunk(&ChunkId::from_stored("three")));
        let key = GraphKey::Entity(EntityKey::from_stored("DAN"));
        back.set_chunk(&ChunkId::from_stored("four"), &[key]);
        assert_eq!(back.numbers(), graph.numbers(), "free numbers are reused");
        assert_eq!(read(&written(&LinkGraph::default())).expect("read"), LinkGraph::default());
    }

    #[test]
    fn truncated_and_changed_bytes_are_refused() {
        let bytes = written(&graph());
        for at in 0..bytes.len() {
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read(&changed).is_err(), "changed at {at}");
        }
        assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err());
    }
}
