//! Applies a batch inside a transaction: first its removals, then its additions, in the order of its fields.

mod chunks;
mod conversations;
mod documents;
mod evidence;
mod layers;
mod removals;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::try_join_all;
use graphloom_core::{
    Batch, CacheKind, EmbeddingSpec, ItemKind, Job, MAX_CACHE_BYTES, MAX_CACHE_ENTRIES, Require, Revision,
    StoreError,
};
use graphloom_rules::batch as rules;
use tokio::try_join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::connect::Shared;
use crate::error::Fault;
use crate::memory::{NOTED_REVISIONS, SearchState};
use crate::rows::{self, get};
use crate::session::{Arguments, Session};
use crate::words;

/// Number of commit tokens kept per workspace. Far more than can accumulate while one commit is retried.
const KEPT_TOKENS: i64 = 10_000;

/// Entries that one commit records one by one in `search_changes`.
const MAX_NOTES: usize = 10_000;

/// Search data that a batch changed. It is updated at the end of the commit.
#[derive(Default)]
struct SearchChanges {
    /// Chunks that were removed or whose searchable text changed.
    chunks: BTreeSet<String>,
    /// Entities and relations that were put or removed.
    entities: BTreeSet<String>,
    relations: BTreeSet<String>,
    /// Nodes that were put or removed.
    nodes: BTreeSet<String>,
}

impl SearchChanges {
    /// Returns the changes that the batch itself names.
    fn of(batch: &Batch) -> Self {
        let put = batch.put_chunks.iter().map(|chunk| chunk.id.to_string());
        let with_contexts = batch.put_chunk_contexts.iter().map(|context| context.chunk.to_string());
        let without = batch.remove_chunk_contexts.iter().map(ToString::to_string);
        let entities = batch.put_entities.iter().map(|entity| entity.key.to_string());
        let relations = batch.put_relations.iter().map(|relation| relation.key.to_string());
        Self {
            chunks: put.chain(with_contexts).chain(without).collect(),
            entities: entities.chain(batch.remove_entities.iter().map(ToString::to_string)).collect(),
            relations: relations.chain(batch.remove_relations.iter().map(ToString::to_string)).collect(),
            nodes: batch.put_nodes.iter().map(|node| node.key.to_string()).collect(),
        }
    }
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

impl State {
    /// Locks the row.
    const LOCK: &str = "SELECT revision, graph_revision, embedding_model, embedding_dimensions, settings, calls, \
        cache_puts, gen_random_uuid()::text, last_removal, search_revision, search_unnoted \
        FROM workspaces WHERE id = $1 FOR UPDATE";

    fn of(row: &Row) -> Result<Self, Fault> {
        let model: Option<String> = get(row, 2)?;
        let dimensions: Option<i32> = get(row, 3)?;
        Ok(Self {
            revision: rows::number(row, 0)?,
            graph_revision: rows::number(row, 1)?,
            embedding: model.zip(dimensions).map(|(model, n)| EmbeddingSpec { model, dimensions: n as u32 }),
            settings: rows::parsed(row, 4)?,
            calls: get(row, 5)?,
            cache_puts: get(row, 6)?,
            last_removal: rows::number(row, 8)?,
            search: SearchState { revision: get(row, 9)?, unnoted: get(row, 10)? },
        })
    }
}

/// Applies a batch to a workspace in a transaction and commits it.
pub(crate) async fn commit(
    shared: &Arc<Shared>,
    workspace: i64,
    batch: &Batch,
    token: &mut Option<String>,
) -> Result<Revision, Fault> {
    let (session, row) = Session::write_row(shared, workspace, State::LOCK).await?;
    let revision = apply(&session, row, batch, token).await?;
    session.commit().await?;
    Ok(revision)
}

/// Applies `batch` and returns the new revision. `token` identifies the batch across retries: if an earlier try
/// succeeded but its answer was lost, nothing is applied twice.
///
/// Statements that do not need each other's results are sent without waiting. A commit without removals waits for the
/// database six times, seven with conditions, however much it puts. Joined functions send all their statements at once,
/// so the database executes them in the order in which the functions are named.
async fn apply(
    session: &Session,
    row: Option<Row>,
    batch: &Batch,
    token: &mut Option<String>,
) -> Result<Revision, Fault> {
    let Some(row) = row else {
        return Err(Fault::Refused(StoreError::Gone {
            path: "the workspace, which was deleted from the database,".to_owned(),
        }));
    };
    if let Some(token) = &*token {
        let known = "SELECT revision FROM commits WHERE workspace_id = $1 AND token = $2::text::uuid";
        if let Some(row) = session.rows(known, &[token]).await?.first() {
            return Ok(Revision(rows::number(row, 0)?));
        }
    }
    let token = token.insert(get(&row, 7)?);
    let mut state = State::of(&row)?;
    let required = batch.require.iter().map(|require| check_require(session, &state, require));
    let (_, at_risk) = try_join!(biased; try_join_all(required), views::at_risk(session, batch))?;
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

    let mut touched = SearchChanges::of(batch);
    removals::apply(session, batch, &mut touched).await?;
    let (shown, known) = try_join!(biased; documents::put(session, batch), chunks::known(session, batch))?;
    touched.chunks.extend(shown);
    let (released, (), (), (), ()) = try_join!(biased;
        chunks::put(session, batch, known),
        evidence::put(session, batch),
        views::put(session, batch),
        layers::put(session, batch),
        views::put_vectors(session, batch)
    )?;
    let notes = notes(batch, &touched, &mut state);
    let (first_call, first_put) = (state.calls, state.cache_puts);
    state.calls += batch.append_calls.len() as i64;
    state.cache_puts += batch.put_cached.len() as i64;
    try_join!(biased;
        chunks::settle(session, batch, released),
        views::check_ghosts(session, at_risk),
        words::update(session, ItemKind::Chunk, &touched.chunks),
        words::update(session, ItemKind::Entity, &touched.entities),
        words::update(session, ItemKind::Relation, &touched.relations),
        words::update(session, ItemKind::Node, &touched.nodes),
        put_notes(session, state.revision, notes),
        append_calls(session, batch, first_call),
        remember(session, batch, first_put),
        conversations::put(session, batch, Revision(state.last_removal)),
        finish(session, batch, &state, token, !touched.chunks.is_empty())
    )?;
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

/// Returns the kinds and ids of changed search data, for processes that keep search data in memory.
fn notes(batch: &Batch, touched: &SearchChanges, state: &mut State) -> (Vec<i16>, Vec<String>) {
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
        return Default::default();
    }
    state.search.revision = state.revision as i64;
    if batch.replace_embedding || noted.len() > MAX_NOTES {
        state.search.unnoted = state.search.revision;
        return Default::default();
    }
    noted.into_iter().unzip()
}

async fn put_notes(
    session: &Session,
    revision: u64,
    (kinds, ids): (Vec<i16>, Vec<String>),
) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let revision = revision as i64;
    let sql = "WITH old AS (DELETE FROM search_changes WHERE workspace_id = $1 AND revision <= $3) \
        INSERT INTO search_changes (workspace_id, revision, kind, id) \
        SELECT $1, $2, * FROM unnest($4::int2[], $5::text[])";
    session.run(sql, &[&revision, &(revision - NOTED_REVISIONS), &kinds, &ids]).await.map(drop)
}

/// - `before`: number of calls in the workspace before this batch.
async fn append_calls(session: &Session, batch: &Batch, before: i64) -> Result<(), Fault> {
    if batch.append_calls.is_empty() {
        return Ok(());
    }
    let bodies = batch.append_calls.iter().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql =
        "INSERT INTO calls SELECT $1, $2 + n, body FROM unnest($3::text[]) WITH ORDINALITY AS c (body, n)";
    session.run(sql, &[&before, &bodies]).await.map(drop)
}

/// Clears whole kinds of the cache, puts entries, and drops the oldest ones beyond the limits.
///
/// - `before`: number of entries put into the workspace's cache before this batch.
async fn remember(session: &Session, batch: &Batch, before: i64) -> Result<(), Fault> {
    let cleared: Vec<i16> = batch.clear_caches.iter().map(|&kind| rows::cache_code(kind)).collect();
    let grown: BTreeSet<CacheKind> = batch.put_cached.iter().map(|entry| entry.kind).collect();
    let bounded = grown.into_iter().filter(|kind| kind.is_bounded()).map(rows::cache_code);
    try_join!(biased;
        clear_caches(session, &cleared),
        put_cached(session, batch, before),
        try_join_all(bounded.map(|kind| prune_cache(session, kind)))
    )
    .map(drop)
}

async fn clear_caches(session: &Session, kinds: &[i16]) -> Result<(), Fault> {
    if kinds.is_empty() {
        return Ok(());
    }
    session.run("DELETE FROM cache WHERE workspace_id = $1 AND kind = ANY($2)", &[&kinds]).await.map(drop)
}

async fn put_cached(session: &Session, batch: &Batch, before: i64) -> Result<(), Fault> {
    if batch.put_cached.is_empty() {
        return Ok(());
    }
    let places = (before + 1..).zip(&batch.put_cached);
    let entries: BTreeMap<(i16, &str), (i64, &[u8])> = places
        .map(|(place, entry)| {
            ((rows::cache_code(entry.kind), entry.key.as_str()), (place, entry.value.as_slice()))
        })
        .collect();
    let kinds: Vec<i16> = entries.keys().map(|(kind, _)| *kind).collect();
    let keys: Vec<&str> = entries.keys().map(|(_, key)| *key).collect();
    let places: Vec<i64> = entries.values().map(|(place, _)| *place).collect();
    let values: Vec<&[u8]> = entries.values().map(|(_, value)| *value).collect();
    let sql = "INSERT INTO cache SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::int8[], $5::bytea[]) \
        ON CONFLICT (workspace_id, kind, key) DO UPDATE SET place = EXCLUDED.place, value = EXCLUDED.value";
    session.run(sql, &[&kinds, &keys, &places, &values]).await.map(drop)
}

async fn prune_cache(session: &Session, kind: i16) -> Result<(), Fault> {
    let sql = "WITH newest AS ( \
            SELECT place, row_number() OVER newest_first AS number, \
                sum(octet_length(value)) OVER newest_first AS bytes \
            FROM cache WHERE workspace_id = $1 AND kind = $2 \
            WINDOW newest_first AS (ORDER BY place DESC) \
        ) \
        DELETE FROM cache WHERE workspace_id = $1 AND kind = $2 \
            AND place <= (SELECT max(place) FROM newest WHERE number > $3 OR bytes > $4)";
    let (entries, bytes) = (MAX_CACHE_ENTRIES as i64, MAX_CACHE_BYTES as i64);
    session.run(sql, &[&kind, &entries, &bytes]).await.map(drop)
}

/// Stores the workspace's new row and the batch's token.
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
    try_join!(biased;
        session.run(sql, arguments),
        session.run(put, of_put),
        session.run(prune, of_prune)
    )
    .map(drop)
}

/// Returns the error for a batch that names an id that does not exist.
fn unknown(id: &str) -> Fault {
    Fault::Refused(rules::invalid(format!("{id} does not exist")))
}

/// Fails if one of the ids is not in this column of the workspace.
async fn require_all(session: &Session, table: &str, column: &str, ids: BTreeSet<&str>) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = ids.into_iter().collect();
    let sql = format!(
        "SELECT wanted.key FROM unnest($2::text[]) AS wanted (key) WHERE NOT EXISTS \
         (SELECT FROM {table} t WHERE t.workspace_id = $1 AND t.{column} = wanted.key)"
    );
    match session.rows(&sql, &[&ids]).await?.first() {
        Some(row) => Err(unknown(get(row, 0)?)),
        None => Ok(()),
    }
}

/// Removes the rows whose `column` holds one of these ids, from all of these tables.
async fn remove_rows<Id: ToSql + Sync>(
    session: &Session,
    tables: &[&str],
    column: &str,
    ids: &[Id],
) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let remove = tables.iter().map(async |table| {
        let sql = format!("DELETE FROM {table} WHERE workspace_id = $1 AND {column} = ANY($2)");
        session.run(&sql, &[&ids]).await
    });
    try_join_all(remove).await.map(drop)
}

/// Removes the vectors of these items.
async fn remove_vectors(session: &Session, kind: ItemKind, ids: &[String]) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let sql = "DELETE FROM vectors WHERE workspace_id = $1 AND kind = $2 AND id = ANY($3)";
    session.run(sql, &[&rows::kind_code(kind), &ids]).await.map(drop)
}
