//! The link projection: the graph of a walk in memory, built when first asked for and brought up from the change log.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{ChunkId, GraphKey, LinkGraph, VectorKind};
use rusqlite::{Connection, OptionalExtension, Result};

use super::changes::{self, LINKS, Mark};
use super::read::ChunkKeys;
use super::rows;

/// The newest graph that was asked for, and its place in the change log.
#[derive(Default)]
pub(super) struct Links {
    newest: Mutex<Option<(Mark, Arc<LinkGraph>)>>,
}

impl Links {
    /// The snapshot's graph. One that is older than what is kept reads everything, and is not kept.
    pub(super) fn of(&self, conn: &Connection) -> Result<Arc<LinkGraph>> {
        let now = changes::newest(conn)?;
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match newest.take() {
            Some((mark, graph)) if mark == now => {
                *newest = Some((mark, Arc::clone(&graph)));
                return Ok(graph);
            }
            Some((mark, graph)) if mark.id > now.id => {
                *newest = Some((mark, graph));
                drop(newest);
                return build(conn).map(Arc::new);
            }
            Some((mark, graph)) if changes::reaches(conn, mark)? => {
                let mut graph = Arc::unwrap_or_clone(graph);
                catch_up(conn, &mut graph, mark)?;
                *newest = Some((now, Arc::new(graph)));
            }
            Some(_) | None => *newest = Some((now, Arc::new(build(conn)?))),
        }
        Ok(newest.as_ref().map(|(_, graph)| Arc::clone(graph)).unwrap_or_default())
    }
}

fn build(conn: &Connection) -> Result<LinkGraph> {
    let mut live = conn.prepare_cached(
        "SELECT c.id, c.key FROM chunks c JOIN documents d ON d.id = c.document WHERE d.live = 1 ORDER BY c.id",
    )?;
    let mut reader = ChunkKeys::new(conn)?;
    let mut chunks = Vec::new();
    let mut found = live.query([])?;
    while let Some(row) = found.next()? {
        let id = ChunkId::from_stored(row.get::<_, String>(1)?);
        chunks.push((id, keys_of(&mut reader, row.get(0)?)?));
    }
    Ok(LinkGraph::of(chunks))
}

/// What the chunk of this number leads to, each once.
fn keys_of(reader: &mut ChunkKeys<'_>, number: i64) -> Result<Vec<GraphKey>> {
    let mut keys = Vec::new();
    reader.read(number, &mut keys)?;
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn catch_up(conn: &Connection, graph: &mut LinkGraph, mark: Mark) -> Result<()> {
    let chunks = rows::kind_code(VectorKind::Chunk);
    let changed: BTreeSet<String> = (changes::after(conn, mark, LINKS)?.into_iter())
        .filter_map(|(_, kind, key)| (kind == chunks).then_some(key))
        .collect();
    let mut live = conn.prepare_cached(
        "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE c.key = ?1 AND d.live = 1",
    )?;
    let mut reader = ChunkKeys::new(conn)?;
    for key in changed {
        let number: Option<i64> = live.query_row([&key], |row| row.get(0)).optional()?;
        let keys = number.map(|number| keys_of(&mut reader, number)).transpose()?.unwrap_or_default();
        graph.set_chunk(&ChunkId::from_stored(key), &keys);
    }
    Ok(())
}
