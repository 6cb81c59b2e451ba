//! The link graph, read as a whole and kept until the links change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{ChunkId, GraphKey, LinkGraph, LinkGraphBuilder, Links};

use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Links that a process keeps in memory; a graph with more takes several gigabytes.
const MAX_LINKS: u64 = 50_000_000;
/// How long a graph with more is not counted again.
const COUNT_AGAIN: Duration = Duration::from_secs(600);

/// What chunks are linked with: `chunk`, and a key as [`rows::graph_key`] reads it. The argument adds conditions on records.
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
    kept: Mutex<Option<Kept>>,
}

impl Default for KeptLinks {
    fn default() -> Self {
        Self { most: AtomicU64::new(MAX_LINKS), kept: Mutex::default() }
    }
}

#[derive(Clone)]
enum Kept {
    /// With the revision of its last change.
    Graph(u64, Arc<LinkGraph>),
    /// There are too many, with the time when they were counted.
    TooMany(Instant, Links),
}

impl KeptLinks {
    /// Sets how many links are kept at most.
    pub(crate) fn limit(&self, most: u64) {
        self.most.store(most, Ordering::Relaxed);
        *self.kept() = None;
    }

    /// The links as of the revision that changed them last.
    pub(crate) async fn get(&self, session: &Session, revision: u64) -> Result<Links, Fault> {
        match self.kept().clone() {
            Some(Kept::Graph(of, graph)) if of == revision => return Ok(Links::Whole(graph)),
            Some(Kept::TooMany(counted, links)) if counted.elapsed() < COUNT_AGAIN => return Ok(links),
            Some(_) | None => {}
        }
        let (links, nodes) = count(session).await?;
        if links > self.most.load(Ordering::Relaxed) {
            let links = Links::TooMany { nodes };
            *self.kept() = Some(Kept::TooMany(Instant::now(), links.clone()));
            return Ok(links);
        }
        let graph = Arc::new(read(session).await?);
        let mut kept = self.kept();
        if !matches!(&*kept, Some(Kept::Graph(of, _)) if *of >= revision) {
            *kept = Some(Kept::Graph(revision, Arc::clone(&graph)));
        }
        Ok(Links::Whole(graph))
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// At most how many links there are, and about how many nodes. One that several records say is counted as often.
async fn count(session: &Session) -> Result<(u64, usize), Fault> {
    let of = |table: &str| format!("(SELECT count(*) FROM {table} WHERE workspace_id = $1)");
    let tables = ["mentions", "facts", "chunks", "entities", "relations"].map(of);
    let found = session.rows(&format!("SELECT {}", tables.join(", ")), &[]).await?;
    let number = |column| found.first().map_or(Ok(0), |row| rows::number(row, column));
    let links = number(0)?.saturating_add(number(1)?.saturating_mul(3));
    let nodes = number(2)? + number(3)? + number(4)?;
    Ok((links, usize::try_from(nodes).unwrap_or(usize::MAX)))
}

async fn read(session: &Session) -> Result<LinkGraph, Fault> {
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
    Ok(builder.build())
}

/// What each of the chunks is linked with.
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
