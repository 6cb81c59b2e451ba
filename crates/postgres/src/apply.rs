//! Applies a batch inside a transaction, field by field in the order of their declaration.

mod chunks;
mod conversations;
mod documents;
mod evidence;
mod layers;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Batch, CacheKind, EmbeddingSpec, ItemKind, Job, Require, Revision, StoreError};
use graphloom_rules::batch as rules;
use tokio::try_join;

use crate::error::Fault;
use crate::memory::{NOTED_REVISIONS, SearchState};
use crate::rows::{self, get};
use crate::session::{Arguments, Session};
use crate::words;

/// Commits whose tokens are kept, of each workspace. Far more than can happen while one commit is tried again.
const KEPT_TOKENS: i64 = 10_000;

/// Entries of one commit that are noted one by one.
const MAX_NOTES: usize = 10_000;

/// What changed that searches read, to be brought up to date at the end.
#[derive(Default)]
struct SearchChanges {
    /// Chunks whose searchable text changed, or that are gone.
    chunks: BTreeSet<String>,
    /// Entities and relations that are put or removed.
    entities: BTreeSet<String>,
    relations: BTreeSet<String>,
    /// Nodes that are put or removed.
    nodes: BTreeSet<String>,
}

/// The workspace's row, locked by this transaction.
struct State {
    revision: u64,
    graph_revision: u64,
    embedding: Option<EmbeddingSpec>,
    settings: BTreeMap<String, String>,
    calls: i64,
    cache_puts: i64,
    last_removal: u64,
    search: SearchState,
}

/// Applies `batch` and returns the new revision. `token` identifies the batch over all tries to apply it: where a try
/// succeeded whose answer was lost, nothing is applied again.
pub(crate) async fn apply(
    session: &Session,
    batch: &Batch,
    token: &mut Option<String>,
) -> Result<Revision, Fault> {
    let locked = "SELECT revision, graph_revision, embedding_model, embedding_dimensions, settings, calls, cache_puts, \
        gen_random_uuid()::text, last_removal, search_revision, search_unnoted FROM workspaces WHERE id = $1 FOR UPDATE";
    let found = session.rows(locked, &[]).await?;
    let row = found.first().ok_or_else(|| {
        Fault::Refused(StoreError::Gone {
            path: "the workspace, which was deleted from the database,".to_owned(),
        })
    })?;
    if let Some(token) = &*token {
        let known = "SELECT revision FROM commits WHERE workspace_id = $1 AND token = $2::text::uuid";
        if let Some(row) = session.rows(known, &[token]).await?.first() {
            return Ok(Revision(rows::number(row, 0)?));
        }
    }
    let token = token.insert(get(row, 7)?);
    let model: Option<String> = get(row, 2)?;
    let dimensions: Option<i32> = get(row, 3)?;
    let mut state = State {
        revision: rows::number(row, 0)?,
        graph_revision: rows::number(row, 1)?,
        embedding: model.zip(dimensions).map(|(model, n)| EmbeddingSpec { model, dimensions: n as u32 }),
        settings: rows::parsed(row, 4)?,
        calls: get(row, 5)?,
        cache_puts: get(row, 6)?,
        last_removal: rows::number(row, 8)?,
        search: SearchState { revision: get(row, 9)?, unnoted: get(row, 10)? },
    };
    for require in &batch.require {
        check_require(session, &state, require).await?;
    }
    if batch.is_empty() {
        return Ok(Revision(state.revision));
    }
    state.revision += 1;
    if batch.replace_embedding {
        state.embedding = None;
        session.run("DELETE FROM vectors WHERE workspace_id = $1", &[]).await?;
    }
    if !batch.remove_documents.is_empty() {
        state.last_removal = state.revision;
    }
    if let Some(spec) = &batch.embedding {
        match &state.embedding {
            Some(known) if known != spec => return Err(rules::embedding_mismatch(known, spec).into()),
            _ => state.embedding = Some(spec.clone()),
        }
    }
    rules::check_dimensions(batch, state.embedding.as_ref())?;

    let mut touched = SearchChanges::default();
    let at_risk = views::at_risk(session, batch).await?;
    documents::apply(session, batch, &mut touched).await?;
    chunks::apply(session, batch, &mut touched).await?;
    evidence::apply(session, batch, &mut touched).await?;
    views::apply(session, batch, &mut touched).await?;
    layers::apply(session, batch, &mut touched).await?;
    views::check_ghosts(session, at_risk).await?;
    views::put_vectors(session, batch).await?;
    try_join!(
        words::update(session, ItemKind::Chunk, &touched.chunks),
        words::update(session, ItemKind::Entity, &touched.entities),
        words::update(session, ItemKind::Relation, &touched.relations),
        words::update(session, ItemKind::Node, &touched.nodes)
    )?;
    note_changes(session, batch, &touched, &mut state).await?;
    append_calls(session, batch, &mut state).await?;
    remember(session, batch, &mut state).await?;
    conversations::apply(session, batch, Revision(state.last_removal)).await?;
    finish(session, batch, &state, token, !touched.chunks.is_empty()).await?;
    Ok(Revision(state.revision))
}

async fn check_require(session: &Session, state: &State, require: &Require) -> Result<(), Fault> {
    match require {
        Require::JobIs(job) => {
            let sql = "SELECT body FROM jobs WHERE workspace_id = $1 AND document = $2";
            let found = session.rows(sql, &[&job.document.as_str()]).await?;
            let stored: Option<Job> = found.first().map(|row| rows::parsed(row, 0)).transpose()?;
            rules::require_job(job, stored.as_ref())?;
        }
        Require::ExtractionIs { chunk, extraction } => {
            let sql = "SELECT extraction FROM chunks WHERE workspace_id = $1 AND id = $2";
            let found = session.rows(sql, &[&chunk.as_str()]).await?;
            let stored = found.first().map(|row| rows::parsed(row, 0)).transpose()?;
            rules::require_extraction(chunk, extraction, stored.as_ref())?;
        }
        Require::GraphUnchangedSince(revision) if state.graph_revision > revision.0 => {
            let changed = state.graph_revision;
            return Err(rules::conflict(format!("the graph changed at {changed} after {revision}")).into());
        }
        Require::GraphUnchangedSince(_) => {}
        Require::UnchangedSince(revision) => rules::require_revision(*revision, Revision(state.revision))?,
        Require::SettingsAre(settings) => rules::require_settings(settings, &state.settings)?,
        Require::LayerIs { name, layer } => {
            let sql = "SELECT body FROM layers WHERE workspace_id = $1 AND name = $2";
            let found = session.rows(sql, &[&name.as_str()]).await?;
            let stored = found.first().map(|row| rows::parsed(row, 0)).transpose()?;
            rules::require_layer(name, layer.as_ref(), stored.as_ref())?;
        }
        Require::SourceIs { source, documents } => {
            let sql = "SELECT body, live FROM documents \
                WHERE workspace_id = $1 AND left(source, 256) = left($2, 256) AND source = $2";
            let found = session.rows(sql, &[source]).await?;
            let stored = found.iter().map(rows::document).collect::<Result<Vec<_>, _>>()?;
            rules::require_source(source, documents, &stored.iter().collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

/// Notes what changed that searches read, for processes that keep it in memory.
async fn note_changes(
    session: &Session,
    batch: &Batch,
    touched: &SearchChanges,
    state: &mut State,
) -> Result<(), Fault> {
    let SearchChanges { chunks, entities, relations, nodes } = touched;
    let by_kind = [
        (ItemKind::Chunk, chunks),
        (ItemKind::Entity, entities),
        (ItemKind::Relation, relations),
        (ItemKind::Node, nodes),
    ];
    let of_kind = |(kind, ids): (ItemKind, &BTreeSet<String>)| {
        ids.iter().map(|id| (rows::kind_code(kind), id.clone())).collect::<Vec<_>>()
    };
    let mut noted: BTreeSet<(i16, String)> = by_kind.into_iter().flat_map(of_kind).collect();
    let with_vectors = batch.put_vectors.iter().map(|row| &row.entry.item);
    noted.extend(with_vectors.map(|item| (rows::kind_code(item.kind()), item.id().into_owned())));
    if noted.is_empty() && !batch.replace_embedding {
        return Ok(());
    }
    let revision = state.revision as i64;
    state.search.revision = revision;
    if batch.replace_embedding || noted.len() > MAX_NOTES {
        state.search.unnoted = revision;
        return Ok(());
    }
    let (kinds, ids): (Vec<i16>, Vec<String>) = noted.into_iter().unzip();
    let sql = "WITH old AS (DELETE FROM search_changes WHERE workspace_id = $1 AND revision <= $3) \
        INSERT INTO search_changes (workspace_id, revision, kind, id) \
        SELECT $1, $2, * FROM unnest($4::int2[], $5::text[])";
    session.run(sql, &[&revision, &(revision - NOTED_REVISIONS), &kinds, &ids]).await?;
    Ok(())
}

async fn append_calls(session: &Session, batch: &Batch, state: &mut State) -> Result<(), Fault> {
    if batch.append_calls.is_empty() {
        return Ok(());
    }
    let bodies = batch.append_calls.iter().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql =
        "INSERT INTO calls SELECT $1, $2 + n, body FROM unnest($3::text[]) WITH ORDINALITY AS c (body, n)";
    session.run(sql, &[&state.calls, &bodies]).await?;
    state.calls += bodies.len() as i64;
    Ok(())
}

/// Forgets whole kinds of the cache, puts entries, and drops the oldest beyond the limits.
async fn remember(session: &Session, batch: &Batch, state: &mut State) -> Result<(), Fault> {
    let cleared: Vec<i16> = batch.clear_caches.iter().map(|&kind| rows::cache_code(kind)).collect();
    if !cleared.is_empty() {
        session.run("DELETE FROM cache WHERE workspace_id = $1 AND kind = ANY($2)", &[&cleared]).await?;
    }
    if batch.put_cached.is_empty() {
        return Ok(());
    }
    let mut entries = BTreeMap::new();
    for entry in &batch.put_cached {
        state.cache_puts += 1;
        entries.insert((rows::cache_code(entry.kind), entry.key.as_str()), (state.cache_puts, &entry.value));
    }
    let kinds: Vec<i16> = entries.keys().map(|(kind, _)| *kind).collect();
    let keys: Vec<&str> = entries.keys().map(|(_, key)| *key).collect();
    let places: Vec<i64> = entries.values().map(|(place, _)| *place).collect();
    let values: Vec<&[u8]> = entries.values().map(|(_, value)| value.as_slice()).collect();
    let put = "INSERT INTO cache SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::int8[], $5::bytea[]) \
        ON CONFLICT (workspace_id, kind, key) DO UPDATE SET place = EXCLUDED.place, value = EXCLUDED.value";
    session.run(put, &[&kinds, &keys, &places, &values]).await?;
    let prune = "WITH newest AS ( \
            SELECT place, row_number() OVER newest_first AS number, \
                sum(octet_length(value)) OVER newest_first AS bytes \
            FROM cache WHERE workspace_id = $1 AND kind = $2 \
            WINDOW newest_first AS (ORDER BY place DESC) \
        ) \
        DELETE FROM cache WHERE workspace_id = $1 AND kind = $2 \
            AND place <= (SELECT max(place) FROM newest WHERE number > $3 OR bytes > $4)";
    let grown: BTreeSet<CacheKind> = batch.put_cached.iter().map(|entry| entry.kind).collect();
    for kind in grown.into_iter().filter(|kind| kind.is_bounded()).map(rows::cache_code) {
        let (entries, bytes) =
            (graphloom_core::MAX_CACHE_ENTRIES as i64, graphloom_core::MAX_CACHE_BYTES as i64);
        session.run(prune, &[&kind, &entries, &bytes]).await?;
    }
    Ok(())
}

/// Stores what the workspace's row says after the batch, and the batch's token.
async fn finish(
    session: &Session,
    batch: &Batch,
    state: &State,
    token: &str,
    chunks_changed: bool,
) -> Result<(), Fault> {
    let revision = state.revision as i64;
    let sql = "UPDATE workspaces SET revision = $2, \
            graph_revision = CASE WHEN $3 THEN $2 ELSE graph_revision END, \
            links_revision = CASE WHEN $4 THEN $2 ELSE links_revision END, \
            embedding_model = $5, embedding_dimensions = $6, settings = $7, queue = coalesce($8, queue), \
            calls = $9, cache_puts = $10, last_removal = $11, search_revision = $12, search_unnoted = $13, \
            evidence_revision = CASE WHEN $14 THEN $2 ELSE evidence_revision END \
        WHERE id = $1";
    let model = state.embedding.as_ref().map(|spec| spec.model.as_str());
    let dimensions = state.embedding.as_ref().map(|spec| spec.dimensions as i32);
    let settings = rows::body(batch.set_settings.as_ref().unwrap_or(&state.settings))?;
    let queue = batch.set_queue.as_ref().map(rows::body).transpose()?;
    let graph = batch.touches_graph();
    let links = graph || chunks_changed;
    let (calls, puts, removal) = (state.calls, state.cache_puts, state.last_removal as i64);
    let SearchState { revision: searched, unnoted } = state.search;
    let arguments: &Arguments<'_> = &[
        &revision,
        &graph,
        &links,
        &model,
        &dimensions,
        &settings,
        &queue,
        &calls,
        &puts,
        &removal,
        &searched,
        &unnoted,
        &batch.touches_evidence(),
    ];
    let put = "INSERT INTO commits VALUES ($1, $2::text::uuid, $3)";
    let prune = "DELETE FROM commits WHERE workspace_id = $1 AND revision < $2";
    let (of_put, oldest): (&Arguments<'_>, _) = (&[&token, &revision], revision - KEPT_TOKENS);
    let of_prune: &Arguments<'_> = &[&oldest];
    try_join!(session.run(sql, arguments), session.run(put, of_put), session.run(prune, of_prune))?;
    Ok(())
}

/// The refusal of a batch that names what does not exist.
fn unknown(id: &str) -> Fault {
    Fault::Refused(rules::invalid(format!("{id} does not exist")))
}

/// Refuses ids of which one is not in this column of the workspace.
async fn require_all(
    session: &Session,
    table: &str,
    column: &str,
    ids: &BTreeSet<&str>,
) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = ids.iter().copied().collect();
    let sql = format!(
        "SELECT wanted.key FROM unnest($2::text[]) AS wanted (key) WHERE NOT EXISTS \
         (SELECT FROM {table} t WHERE t.workspace_id = $1 AND t.{column} = wanted.key)"
    );
    match session.rows(&sql, &[&ids]).await?.first() {
        Some(row) => Err(unknown(get(row, 0)?)),
        None => Ok(()),
    }
}
