//! The link graph, read as a whole and kept until the links change.

use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{ChunkId, LinkGraph, LinkGraphBuilder, StoreError};

use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

/// Links from chunks that a process keeps in memory; a graph with more takes several gigabytes.
const MAX_LINKS: i64 = 50_000_000;

/// The latest link graph that was read, with the revision of its last change.
#[derive(Default)]
pub(crate) struct Links(Mutex<Option<(u64, Arc<LinkGraph>)>>);

impl Links {
    /// The graph as of the revision that changed it last.
    pub(crate) async fn get(&self, session: &Session, revision: u64) -> Result<Arc<LinkGraph>, Fault> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, graph)) = kept
            && of == revision
        {
            return Ok(graph);
        }
        let graph = Arc::new(read(session).await?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(of, _)| *of < revision) {
            *kept = Some((revision, Arc::clone(&graph)));
        }
        Ok(graph)
    }
}

async fn read(session: &Session) -> Result<LinkGraph, Fault> {
    let sql = "SELECT k.chunk, k.kind, k.a, k.b FROM ( \
            SELECT chunk, 0::int2 AS kind, entity AS a, '' COLLATE \"C\" AS b \
                FROM mentions WHERE workspace_id = $1 AND NOT set_aside \
            UNION SELECT chunk, 0::int2, a, '' FROM facts WHERE workspace_id = $1 AND NOT set_aside \
            UNION SELECT chunk, 0::int2, b, '' FROM facts WHERE workspace_id = $1 AND NOT set_aside \
            UNION SELECT chunk, 1::int2, a, b FROM facts WHERE workspace_id = $1 AND NOT set_aside \
        ) k JOIN chunks c ON c.workspace_id = $1 AND c.id = k.chunk AND c.live \
        ORDER BY k.chunk, k.kind, k.a, k.b LIMIT $2";
    let found = session.rows(sql, &[&(MAX_LINKS + 1)]).await?;
    if found.len() as i64 > MAX_LINKS {
        return Err(Fault::Refused(StoreError::Backend {
            operation: "reading the link graph".to_owned(),
            source: format!("it has more than {MAX_LINKS} links, the limit of one workspace").into(),
        }));
    }
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
