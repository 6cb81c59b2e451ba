//! The link graph, read as a whole and kept until its links change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{ChunkId, GraphKey, LinkGraph, LinkGraphBuilder, Links};

use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Most links that a process keeps in memory. A larger graph would take several gigabytes.
const MAX_LINKS: u64 = 50_000_000;
/// How long to wait before counting the links of a larger graph again.
const COUNT_AGAIN: Duration = Duration::from_secs(600);

/// SQL for the links of chunks: `chunk`, and a key as [`rows::graph_key`] reads it. The argument adds conditions on records.
macro_rules! links_sql {
    ($of:literal) => {
        concat!(
            "SELECT chunk, 0::int2 AS kind, entity AS a, '' COLLATE \"C\" AS b FROM mentions \
                WHERE workspace_id = $1 AND NOT set_aside ",
            $of,
            " UNION SELECT chunk, 0::int2, a, '' FROM facts WHERE workspace_id = $1 AND NOT set_aside ",
            $of,
            " UNION SELECT chunk, 0::int2, b, '' FROM facts WHERE workspace_id = $1 AND NOT set_aside ",
            $of,
            " UNION SELECT chunk, 1::int2, a, b FROM facts WHERE workspace_id = $1 AND NOT set_aside ",
            $of
        )
    };
}

/// The latest link graph that was read.
pub(crate) struct KeptLinks {
    most: AtomicU64,
    kept: Mutex<Option<LinkState>>,
}

impl Default for KeptLinks {
    fn default() -> Self {
        Self { most: AtomicU64::new(MAX_LINKS), kept: Mutex::default() }
    }
}

#[derive(Clone)]
enum LinkState {
    /// The revision of its last change, the number of its links, and the graph.
    Graph(u64, u64, Arc<LinkGraph>),
    /// There are too many links. They were counted at this time.
    TooMany(Instant, Links),
}

impl KeptLinks {
    /// Sets the most links to keep.
    pub(crate) fn limit(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
        *self.kept() = None;
    }

    /// Returns the links as of the revision that last changed them.
    pub(crate) async fn get(&self, session: &Session, revision: u64) -> Result<Links, Fault> {
        let most = self.most.load(Ordering::Relaxed);
        let are_few = match self.kept().clone() {
            Some(LinkState::Graph(of, _, graph)) if of == revision => return Ok(Links::Whole(graph)),
            Some(LinkState::TooMany(counted, links)) if counted.elapsed() < COUNT_AGAIN => return Ok(links),
            // The number of links does not double in one change.
            Some(LinkState::Graph(_, links, _)) => links < most / 2,
            Some(LinkState::TooMany(..)) | None => false,
        };
        // A mention is at most one link, a fact at most three.
        if !are_few && count(session, [("mentions", 1), ("facts", 3)]).await? > most {
            let nodes = count(session, [("chunks", 1), ("entities", 1), ("relations", 1)]).await?;
            let links = Links::TooMany { nodes: usize::try_from(nodes).unwrap_or(usize::MAX) };
            *self.kept() = Some(LinkState::TooMany(Instant::now(), links.clone()));
            return Ok(links);
        }
        let (links, graph) = read(session).await?;
        let graph = Arc::new(graph);
        let mut kept = self.kept();
        if !matches!(&*kept, Some(LinkState::Graph(of, ..)) if *of >= revision) {
            *kept = Some(LinkState::Graph(revision, links, Arc::clone(&graph)));
        }
        Ok(Links::Whole(graph))
    }

    fn kept(&self) -> MutexGuard<'_, Option<LinkState>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the sum of the row counts of these tables, each times its number.
async fn count<const TABLES: usize>(session: &Session, tables: [(&str, u8); TABLES]) -> Result<u64, Fault> {
    let of = |(table, times)| format!("{times} * (SELECT count(*) FROM {table} WHERE workspace_id = $1)");
    let found = session.rows(&format!("SELECT {}", tables.map(of).join(" + ")), &[]).await?;
    found.first().map_or(Ok(0), |row| rows::number(row, 0))
}

/// Reads the links of live chunks. Returns their number and the graph.
async fn read(session: &Session) -> Result<(u64, LinkGraph), Fault> {
    let sql = concat!(
        "SELECT k.chunk, k.kind, k.a, k.b FROM (",
        links_sql!(""),
        ") k JOIN chunks c ON c.workspace_id = $1 AND c.id = k.chunk AND c.live ORDER BY k.chunk, k.kind, k.a, k.b"
    );
    let found = session.rows(sql, &[]).await?;
    let mut builder = LinkGraphBuilder::default();
    let mut keys = Vec::new();
    for (place, row) in found.iter().enumerate() {
        let chunk: &str = get(row, 0)?;
        keys.push(rows::graph_key(row, 1)?);
        let next: Option<&str> = found.get(place + 1).map(|row| get(row, 0)).transpose()?;
        if next != Some(chunk) {
            builder.add(&ChunkId::from_stored(chunk), &keys);
            keys.clear();
        }
    }
    Ok((found.len() as u64, builder.build()))
}

/// Returns the entities and relations that each chunk is linked with.
pub(crate) async fn of_chunks(session: &Session, chunks: &[ChunkId]) -> Result<Vec<Vec<GraphKey>>, Fault> {
    let sql = concat!(
        "SELECT chunk, kind, a, b FROM (",
        links_sql!("AND chunk = ANY($2)"),
        ") k ORDER BY kind, a, b"
    );
    let wanted: Vec<&str> = chunks.iter().map(ChunkId::as_str).collect();
    let found = session.rows(sql, &[&wanted]).await?;
    let found =
        found.iter().map(|row| Ok((ChunkId::from_stored(get::<String>(row, 0)?), rows::graph_key(row, 1)?)));
    rows::grouped(chunks.iter().cloned(), found)
}
