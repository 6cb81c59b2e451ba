//! The link projection: the link graph in memory, updated from the change log, and a copy of it beside the file.
//!
//! The copy is read when a process first needs the graph. It is written again once catching up would take as long as
//! reading it. Losing it loses no data: a copy is replaced if it is missing, damaged, of another history, or further
//! behind than the log reaches.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{ChunkId, GraphKey, ItemKind, LinkGraph, LinkGraphBuilder};
use rusqlite::{Connection, OptionalExtension, Result};

use super::changes::{self, LINKS, Mark};
use super::read::ChunkKeys;
use super::rows;
use super::vectors::LIVE_CHUNK;
use crate::private;

/// Most chunks that a copy may be behind. Each costs some 30 microseconds when the next process catches up.
const MAX_COPY_BEHIND: u64 = 4096;
/// A graph with fewer chunks is built faster than a copy is read and written.
const MIN_COPIED_CHUNKS: u64 = 2048;
/// Bytes of the mark before the graph in a copy.
const MARK_BYTES: u64 = 16;

/// The newest graph that was requested.
pub(super) struct Links {
    copy: PathBuf,
    newest: Mutex<Option<Newest>>,
}

/// A graph and its position in the change log.
struct Newest {
    mark: Mark,
    graph: Arc<LinkGraph>,
    /// Chunks that changed since the copy was written.
    behind: u64,
}

impl Links {
    /// Returns a projection whose copy is this file.
    pub(super) fn new(copy: PathBuf) -> Self {
        Self { copy, newest: Mutex::default() }
    }

    /// The file of the copy.
    pub(super) fn copy(&self) -> &Path {
        &self.copy
    }

    /// Returns the snapshot's graph. For a snapshot older than the kept graph, it is built from all rows and not kept.
    pub(super) fn of(&self, conn: &Connection) -> Result<Arc<LinkGraph>> {
        let now = changes::newest(conn)?;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.is_none() {
            // After a restore from a backup, the file has another history than a copy made later.
            *newest = match read_copy(&self.copy) {
                Some(copy) if changes::reaches(conn, copy.mark)? => Some(copy),
                Some(_) | None => None,
            };
        }
        let caught_up = match newest.take() {
            Some(known) if known.mark == now => known,
            Some(known) if known.mark.id > now.id => {
                *newest = Some(known);
                drop(newest);
                return build(conn).map(|(graph, _)| Arc::new(graph));
            }
            Some(known) if changes::reaches(conn, known.mark)? => {
                let mut graph = Arc::unwrap_or_clone(known.graph);
                let changed = catch_up(conn, &mut graph, known.mark)?;
                let behind = known.behind + changed;
                self.copied(Newest { mark: now, graph: Arc::new(graph), behind }, MAX_COPY_BEHIND)
            }
            Some(_) | None => {
                let (graph, chunks) = build(conn)?;
                self.copied(Newest { mark: now, graph: Arc::new(graph), behind: chunks }, MIN_COPIED_CHUNKS)
            }
        };
        let graph = Arc::clone(&caught_up.graph);
        *newest = Some(caught_up);
        Ok(graph)
    }

    /// Removes the copy from a full disk. Returns whether there was one.
    pub(super) fn give_up_copy(&self) -> bool {
        std::fs::remove_file(&self.copy).is_ok()
    }

    /// Writes a new copy if the old one is more than `limit` chunks behind. Returns the same graph.
    fn copied(&self, newest: Newest, limit: u64) -> Newest {
        if newest.behind <= limit {
            return newest;
        }
        // Without a copy, the next process builds the graph, which only takes longer.
        if let Err(error) = write_copy(&self.copy, &newest) {
            tracing::warn!(%error, copy = %self.copy.display(), "the graph of links is not kept");
        }
        Newest { behind: 0, ..newest }
    }
}

/// Reads the graph from a copy. `None` if there is no copy or it is damaged.
fn read_copy(path: &Path) -> Option<Newest> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(%error, copy = %path.display(), "the graph of links is built again");
            return None;
        }
    };
    let mut read = || {
        let length = file.metadata()?.len().saturating_sub(MARK_BYTES);
        let mut number = || {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes).map(|()| i64::from_le_bytes(bytes))
        };
        let mark = Mark { id: number()?, nonce: number()? };
        Ok((mark, LinkGraph::read(&mut file, length)?))
    };
    let read: std::result::Result<_, graphloom_core::LinkFileError> = read();
    match read {
        Ok((mark, graph)) => Some(Newest { mark, graph: Arc::new(graph), behind: 0 }),
        Err(error) => {
            tracing::warn!(%error, copy = %path.display(), "the graph of links is built again");
            None
        }
    }
}

/// True if there is a damaged copy. Searches ignore it.
pub(super) fn is_damaged(path: &Path) -> bool {
    path.exists() && read_copy(path).is_none()
}

/// Writes a copy beside the old one and then replaces the old one.
fn write_copy(path: &Path, newest: &Newest) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private::create_folder(folder)?;
    }
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let written = private::create_file(&partial).and_then(|mut file| {
        file.write_all(&newest.mark.id.to_le_bytes())?;
        file.write_all(&newest.mark.nonce.to_le_bytes())?;
        newest.graph.write(&mut file)?;
        std::fs::rename(&partial, path)
    });
    if written.is_err() {
        // The unused part of a copy must not fill the disk.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

/// Builds the snapshot's graph. Returns it with the number of its chunks.
fn build(conn: &Connection) -> Result<(LinkGraph, u64)> {
    let mut live = conn.prepare_cached(
        "SELECT c.id, c.key FROM chunks c JOIN documents d ON d.id = c.document WHERE d.live = 1 ORDER BY c.id",
    )?;
    let mut reader = ChunkKeys::new(conn)?;
    let mut builder = LinkGraphBuilder::default();
    let (mut chunks, mut keys) = (0, Vec::new());
    let mut found = live.query([])?;
    while let Some(row) = found.next()? {
        let id = ChunkId::from_stored(row.get::<_, String>(1)?);
        keys_of(&mut reader, row.get(0)?, &mut keys)?;
        builder.add(&id, &keys);
        chunks += 1;
    }
    Ok((builder.build(), chunks))
}

/// Collects the entities and relations that a chunk is linked with, each once.
fn keys_of(reader: &mut ChunkKeys<'_>, number: i64, keys: &mut Vec<GraphKey>) -> Result<()> {
    keys.clear();
    reader.read(number, keys)?;
    keys.sort_unstable();
    keys.dedup();
    Ok(())
}

/// Updates the graph to the end of the log. Returns the number of chunks that were read again.
fn catch_up(conn: &Connection, graph: &mut LinkGraph, mark: Mark) -> Result<u64> {
    let chunks = rows::kind_code(ItemKind::Chunk);
    let changed: BTreeSet<String> = (changes::after(conn, mark, LINKS)?.into_iter())
        .filter_map(|(_, kind, key)| (kind == chunks).then_some(key))
        .collect();
    let mut live = conn.prepare_cached(LIVE_CHUNK)?;
    let mut reader = ChunkKeys::new(conn)?;
    let count = changed.len() as u64;
    let mut keys = Vec::new();
    for key in changed {
        let number: Option<i64> = live.query_row([&key], |row| row.get(0)).optional()?;
        keys.clear();
        if let Some(number) = number {
            keys_of(&mut reader, number, &mut keys)?;
        }
        graph.set_chunk(&ChunkId::from_stored(key), &keys);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use graphloom_core::{Store, WorkspaceId};
    use tempfile::TempDir;

    use super::super::{SqliteStore, schema};
    use super::*;
    use crate::conformance::{block_on, sample};

    fn add(folder: &TempDir, name: &str, one: &str, other: &str) {
        let store = SqliteStore::open(folder.path(), WorkspaceId::default()).expect("the store opens");
        block_on(store.commit(sample::indexed(name, &format!("{one} met {other}"), one, other)))
            .expect("accepted");
    }

    fn reader(folder: &TempDir) -> Connection {
        schema::open_reader(&folder.path().join("default.graphloom")).expect("a reader").conn
    }

    /// Returns a workspace with one document and a copy of its graph.
    fn copied() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        add(&folder, "a", "ADA", "BOB");
        let (copy, conn) = (folder.path().join("projections").join("links"), reader(&folder));
        let links = Links::new(copy.clone());
        let graph = links.of(&conn).expect("a graph");
        assert!(!copy.exists(), "a small graph is built as fast");
        let mark = changes::newest(&conn).expect("a mark");
        let kept = links.copied(Newest { mark, graph, behind: 1 }, 0);
        assert_eq!(kept.behind, 0);
        assert_eq!(read_copy(&copy).expect("a copy").graph, kept.graph);
        (folder, copy)
    }

    fn check(folder: &TempDir, copy: &Path, chunks: usize) {
        let conn = reader(folder);
        let graph = Links::new(copy.to_owned()).of(&conn).expect("a graph");
        let (built, count) = build(&conn).expect("a graph");
        assert_eq!(*graph, built);
        assert_eq!(count, chunks as u64);
    }

    #[test]
    fn an_outdated_copy_is_brought_up_to_date() {
        let (folder, copy) = copied();
        add(&folder, "b", "BOB", "CLEO");
        check(&folder, &copy, 2);
    }

    #[test]
    fn a_damaged_copy_is_rebuilt() {
        let (folder, copy) = copied();
        let mut bytes = std::fs::read(&copy).expect("a copy");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&copy, &bytes).expect("written");
        assert!(read_copy(&copy).is_none());
        check(&folder, &copy, 1);
        std::fs::write(&copy, "").expect("written");
        check(&folder, &copy, 1);
    }

    #[test]
    fn a_copy_of_another_history_is_rebuilt() {
        let (folder, copy) = copied();
        let other = tempfile::tempdir().expect("a folder");
        add(&other, "c", "CLEO", "DAN");
        check(&other, &copy, 1);
        add(&other, "d", "DAN", "EVE");
        check(&other, &copy, 2);
        drop(folder);
    }
}
