//! Lookups. Each one reads a single range of a key or an index.

use std::collections::{BTreeMap, HashSet};

use graphloom_core::{
    Chunk, ChunkContext, ChunkContextKey, ChunkCounts, ChunkExtraction, ChunkId, Claim, ContentHash,
    Document, DocumentFilter, DocumentId, Entity, EntityKey, Extraction, ExtractionKey, Fact, FilteredIds,
    GraphKey, ItemKey, ItemKind, Job, Mention, NodeKey, QueueState, RejectReason, Relation, RelationKey,
    Renewal, StoreCounts, Summary, SummaryKey, Timestamp, TrackId, indexed_text,
};
use graphloom_rules::search::by_kind;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Result, Row, params};

use super::descriptions::Descriptions;
use super::text::{self, Slicer};
use super::{layers, rows, vectors};
use crate::{vector, words};

/// Returns the rows of a query.
pub(super) fn select<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    conn.prepare_cached(sql)?.query_map(params, read)?.collect()
}

fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    conn.prepare_cached(sql)?.query_row(params, read).optional()
}

pub(super) fn counts(conn: &Connection) -> Result<StoreCounts> {
    let count = |from: &str| -> Result<u64> {
        conn.prepare_cached(&format!("SELECT count(*) FROM {from}"))?
            .query_row([], |row| rows::unsigned(row, 0))
    };
    let vectors = |kind| count(&format!("vectors WHERE kind = {}", rows::kind_code(kind)));
    Ok(StoreCounts {
        documents: count("documents")?,
        chunks: count("chunks")?,
        extractions: count("extractions")?,
        mentions: count("mentions")?,
        facts: count("facts")?,
        claims: count("claims")?,
        decisions: count("decisions")?,
        entities: count("entities")?,
        relations: count("relations")?,
        chunk_vectors: vectors(ItemKind::Chunk)?,
        entity_vectors: vectors(ItemKind::Entity)?,
        relation_vectors: vectors(ItemKind::Relation)?,
        nodes: count("nodes")?,
        node_vectors: vectors(ItemKind::Node)?,
        calls: count("calls")?,
        stale: count("stale")?,
    })
}

/// Returns the number of extractions without a record.
pub(super) fn empty_extractions(conn: &Connection) -> Result<u64> {
    conn.prepare_cached("SELECT count(*) FROM empty_extractions")?.query_row([], |row| rows::unsigned(row, 0))
}

pub(super) fn document(conn: &Connection, id: &DocumentId) -> Result<Option<Document>> {
    let sql = query(rows::DOCUMENT, "documents WHERE key = ?1");
    one(conn, &sql, [id.as_str()], rows::document)
}

/// Returns the documents whose `column` is `value`.
pub(super) fn documents_by(conn: &Connection, column: &str, value: &str) -> Result<Vec<Document>> {
    let sql = query(rows::DOCUMENT, &format!("documents WHERE {column} = ?1 ORDER BY key"));
    select(conn, &sql, [value], rows::document)
}

pub(super) fn documents_of_content(conn: &Connection, hash: &ContentHash) -> Result<Vec<Document>> {
    documents_by(conn, "content_hash", hash.as_str())
}

pub(super) fn text(conn: &Connection, id: &DocumentId) -> Result<Option<String>> {
    let number = one(conn, "SELECT id FROM documents WHERE key = ?1", [id.as_str()], |row| row.get(0))?;
    number.map(|number| text::read_all(conn, number)).transpose()
}

pub(super) fn job(conn: &Connection, document: &DocumentId) -> Result<Option<Job>> {
    let sql = query(rows::JOB, "documents d JOIN jobs j ON j.document = d.id WHERE d.key = ?1");
    one(conn, &sql, [document.as_str()], rows::job)
}

pub(super) fn queue(conn: &Connection) -> Result<QueueState> {
    conn.prepare_cached("SELECT paused_since FROM state")?.query_row([], |row| {
        let since: Option<i64> = row.get(0)?;
        Ok(since.map_or(QueueState::Running, |since| QueueState::Paused {
            since: Timestamp(since.unsigned_abs()),
        }))
    })
}

pub(super) fn documents_of_track(conn: &Connection, track: &TrackId) -> Result<Vec<DocumentId>> {
    let sql =
        "SELECT d.key FROM tracks t JOIN documents d ON d.id = t.document WHERE t.track = ?1 ORDER BY d.key";
    select(conn, sql, [track.as_str()], |row| Ok(DocumentId::from_stored(row.get::<_, String>(0)?)))
}

pub(super) fn tracks_of(conn: &Connection, document: &DocumentId) -> Result<Vec<TrackId>> {
    let sql = "SELECT t.track FROM documents d JOIN tracks t ON t.document = d.id WHERE d.key = ?1 ORDER BY t.track";
    select(conn, sql, [document.as_str()], |row| Ok(TrackId::from_stored(row.get::<_, String>(0)?)))
}

pub(super) fn renewals_of(conn: &Connection, document: &DocumentId) -> Result<Vec<Renewal>> {
    let from =
        "documents d JOIN chunks c ON c.document = d.id JOIN renewals r ON r.chunk = c.id WHERE d.key = ?1
         ORDER BY c.ordinal, c.key";
    select(conn, &query(rows::RENEWAL, from), [document.as_str()], rows::renewal)
}

pub(super) fn claimable_jobs(conn: &Connection, now: Timestamp, limit: usize) -> Result<Vec<Job>> {
    let from = "jobs j JOIN documents d ON d.id = j.document
         WHERE j.state < 2 AND (j.owner IS NULL OR j.expires_at < ?1) ORDER BY j.created_at, d.key LIMIT ?2";
    select(conn, &query(rows::JOB, from), params![rows::signed(now.0), sql_limit(limit)], rows::job)
}

pub(super) fn leased_jobs(conn: &Connection) -> Result<Vec<Job>> {
    // Without the hint, the planner assumes that half of all jobs are in the index and reads the table instead.
    let from = "jobs j INDEXED BY jobs_leased CROSS JOIN documents d ON d.id = j.document
         WHERE j.owner IS NOT NULL ORDER BY d.key";
    select(conn, &query(rows::JOB, from), [], rows::job)
}

pub(super) fn chunk(conn: &Connection, slicer: &mut Slicer<'_>, id: &ChunkId) -> Result<Option<Chunk>> {
    let sql = query(rows::CHUNK, "chunks c JOIN documents d ON d.id = c.document WHERE c.key = ?1");
    let found = one(conn, &sql, [id.as_str()], rows::chunk)?;
    found.map(|found| with_text(slicer, found)).transpose()
}

pub(super) fn chunks_of(
    conn: &Connection,
    slicer: &mut Slicer<'_>,
    document: &DocumentId,
) -> Result<Vec<Chunk>> {
    let from = "documents d JOIN chunks c ON c.document = d.id WHERE d.key = ?1 ORDER BY c.ordinal, c.key";
    let found = select(conn, &query(rows::CHUNK, from), [document.as_str()], rows::chunk)?;
    found.into_iter().map(|found| with_text(slicer, found)).collect()
}

pub(super) fn chunk_ids_of(conn: &Connection, documents: &[DocumentId]) -> Result<Vec<Vec<ChunkId>>> {
    let mut select = conn.prepare_cached(
        "SELECT c.key FROM documents d JOIN chunks c ON c.document = d.id WHERE d.key = ?1 ORDER BY c.ordinal, c.key",
    )?;
    let id = |row: &Row<'_>| Ok(ChunkId::from_stored(row.get::<_, String>(0)?));
    documents.iter().map(|document| select.query_map([document.as_str()], id)?.collect()).collect()
}

pub(super) fn chunk_counts_of(conn: &Connection, documents: &[DocumentId]) -> Result<Vec<ChunkCounts>> {
    let mut select = conn.prepare_cached(
        "SELECT count(*), count(*) FILTER (WHERE c.state IN (1, 3, 4)), count(*) FILTER (WHERE c.state = 2),
            count(*) FILTER (WHERE c.state IN (3, 4)), count(s.chunk)
         FROM documents d JOIN chunks c ON c.document = d.id
            LEFT JOIN situations s ON s.chunk = c.id AND s.text IS NULL WHERE d.key = ?1",
    )?;
    let counts = |row: &Row<'_>| {
        Ok(ChunkCounts {
            chunks: row.get(0)?,
            extracted: row.get(1)?,
            failed: row.get(2)?,
            damaged: row.get(3)?,
            without_context: row.get(4)?,
        })
    };
    documents.iter().map(|document| select.query_row([document.as_str()], counts)).collect()
}

pub(super) fn extraction_states_of(
    conn: &Connection,
    document: &DocumentId,
) -> Result<Vec<(u32, ChunkExtraction)>> {
    let sql = "SELECT c.ordinal, c.state, c.extraction, c.reason, c.attempts FROM documents d
         JOIN chunks c ON c.document = d.id WHERE d.key = ?1 ORDER BY c.ordinal, c.key";
    select(conn, sql, [document.as_str()], |row| Ok((row.get(0)?, rows::extraction_state(row, 1)?)))
}

pub(super) fn extraction_state(conn: &Connection, chunk: &ChunkId) -> Result<Option<ChunkExtraction>> {
    let sql = "SELECT state, extraction, reason, attempts FROM chunks WHERE key = ?1";
    one(conn, sql, [chunk.as_str()], |row| rows::extraction_state(row, 0))
}

/// Adds the text to a chunk that was read without it.
pub(super) fn with_text(slicer: &mut Slicer<'_>, (mut chunk, document): (Chunk, i64)) -> Result<Chunk> {
    let bytes = slicer.slice(document, chunk.span.start, chunk.span.end)?;
    // If the text is shorter than its chunks, it is damaged. `check` reports that, and reading must not fail.
    chunk.text = text::into_text(bytes.unwrap_or_default())?;
    Ok(chunk)
}

pub(super) fn extraction(conn: &Connection, key: &ExtractionKey) -> Result<Option<Extraction>> {
    let sql = query(rows::EXTRACTION, "extractions WHERE key = ?1");
    one(conn, &sql, [key.as_str()], rows::extraction)
}

/// Reads the table from end to end, because lookups by key would read a different place of the file for each row.
pub(super) fn documents_matching(conn: &Connection, filter: &DocumentFilter) -> Result<(Vec<Document>, u64)> {
    let mut select = conn.prepare_cached(&query(rows::DOCUMENT, "documents"))?;
    let (mut matching, mut all) = (Vec::new(), 0);
    for document in select.query_map([], rows::document)? {
        let document = document?;
        all += 1;
        if filter.admits_document(&document) {
            matching.push(document);
        }
    }
    matching.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    Ok((matching, all))
}

pub(super) fn chunk_context(conn: &Connection, chunk: &ChunkId) -> Result<Option<ChunkContext>> {
    let sql = query(rows::CHUNK_CONTEXT, "chunks c JOIN situations s ON s.chunk = c.id WHERE c.key = ?1");
    one(conn, &sql, [chunk.as_str()], rows::chunk_context)
}

pub(super) fn context_text(conn: &Connection, key: &ChunkContextKey) -> Result<Option<String>> {
    let sql = "SELECT s.text FROM situations s JOIN chunks c ON c.id = s.chunk
         WHERE s.key = ?1 AND s.text IS NOT NULL ORDER BY c.key LIMIT 1";
    one(conn, sql, [key.as_str()], |row| row.get(0))
}

pub(super) fn failed_contexts_of(conn: &Connection, document: &DocumentId) -> Result<Vec<(u32, String)>> {
    let sql = "SELECT c.ordinal, s.reason FROM documents d JOIN chunks c ON c.document = d.id
            JOIN situations s ON s.chunk = c.id AND s.text IS NULL
         WHERE d.key = ?1 ORDER BY c.ordinal, c.key";
    select(conn, sql, [document.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub(super) fn chunk_context_counts(conn: &Connection) -> Result<BTreeMap<String, u64>> {
    let sql = "SELECT said_by, count(*) FROM situations GROUP BY said_by";
    Ok(select(conn, sql, [], |row| Ok((row.get(0)?, rows::unsigned(row, 1)?)))?.into_iter().collect())
}

pub(super) fn reject_counts(conn: &Connection) -> Result<BTreeMap<RejectReason, u64>> {
    let sql = "SELECT reason, sum(number) FROM rejects GROUP BY reason";
    let counts = select(conn, sql, [], |row| {
        Ok((RejectReason::from(row.get::<_, String>(0)?), rows::unsigned(row, 1)?))
    })?;
    Ok(counts.into_iter().collect())
}

pub(super) fn mentions_of(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    entity: &EntityKey,
) -> Result<Vec<Mention>> {
    let sql = query(rows::MENTION, "mentions m JOIN chunks c ON c.id = m.chunk WHERE m.entity = ?1");
    let mut mentions = select(conn, &sql, [entity.as_str()], |row| rows::mention(row, descriptions))?;
    mentions.sort_by(|x, y| (&x.chunk, x.ordinal).cmp(&(&y.chunk, y.ordinal)));
    Ok(mentions)
}

pub(super) fn facts_of(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    relation: &RelationKey,
) -> Result<Vec<Fact>> {
    let sql = query(rows::FACT, "facts f JOIN chunks c ON c.id = f.chunk WHERE f.a = ?1 AND f.b = ?2");
    let ends = [relation.a().as_str(), relation.b().as_str()];
    let mut facts = select(conn, &sql, ends, |row| rows::fact(row, descriptions))?;
    sort_facts(&mut facts);
    Ok(facts)
}

pub(super) fn facts_touching(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    entity: &EntityKey,
) -> Result<Vec<Fact>> {
    let mut facts = Vec::new();
    for end in ["a", "b"] {
        let from = format!("facts f JOIN chunks c ON c.id = f.chunk WHERE f.{end} = ?1");
        let sql = query(rows::FACT, &from);
        facts.extend(select(conn, &sql, [entity.as_str()], |row| rows::fact(row, descriptions))?);
    }
    sort_facts(&mut facts);
    Ok(facts)
}

pub(super) fn claims_of(conn: &Connection, entity: &EntityKey) -> Result<Vec<Claim>> {
    let mut claims = Vec::new();
    for end in ["subject", "object"] {
        let from = format!("claims k JOIN chunks c ON c.id = k.chunk WHERE k.{end} = ?1");
        claims.extend(select(conn, &query(rows::CLAIM, &from), [entity.as_str()], rows::claim)?);
    }
    claims.sort_by(|x, y| (&x.chunk, x.ordinal).cmp(&(&y.chunk, y.ordinal)));
    claims.dedup_by(|x, y| (&x.chunk, x.ordinal) == (&y.chunk, y.ordinal));
    Ok(claims)
}

fn sort_facts(facts: &mut [Fact]) {
    facts.sort_by(|x, y| (&x.relation, &x.chunk, x.ordinal).cmp(&(&y.relation, &y.chunk, y.ordinal)));
}

pub(super) fn graph_keys_of(conn: &Connection, chunks: &[ChunkId]) -> Result<Vec<GraphKey>> {
    let mut number = conn.prepare_cached("SELECT id FROM chunks WHERE key = ?1")?;
    let mut numbers: Vec<i64> = Vec::new();
    for chunk in chunks {
        numbers.extend(number.query_row([chunk.as_str()], |row| row.get::<_, i64>(0)).optional()?);
    }
    // In the order of the indexes by chunk, so that each of their pages is read only once.
    numbers.sort_unstable();
    let mut reader = ChunkKeys::new(conn)?;
    let (mut all, mut keys) = (HashSet::new(), Vec::new());
    for number in numbers {
        reader.read(number, &mut keys)?;
        all.extend(keys.drain(..));
    }
    let mut all: Vec<GraphKey> = all.into_iter().collect();
    all.sort_unstable();
    Ok(all)
}

/// Reads the entities and relations that the mentions and facts of chunks count for.
pub(super) struct ChunkKeys<'a> {
    set_aside: CachedStatement<'a>,
    /// One statement for chunks with nothing set aside, and one for the others.
    entities: [CachedStatement<'a>; 2],
    relations: [CachedStatement<'a>; 2],
}

impl<'a> ChunkKeys<'a> {
    pub(super) fn new(conn: &'a Connection) -> Result<Self> {
        let set_aside = conn.prepare_cached(
            "SELECT 1 FROM mentions WHERE chunk = ?1 AND set_aside = 1
             UNION ALL SELECT 1 FROM facts WHERE chunk = ?1 AND set_aside = 1",
        )?;
        // In most chunks nothing is set aside. Then the indexes by chunk contain everything that is needed.
        let sql = |table: &str, columns: &str, which: &str| {
            conn.prepare_cached(&format!("SELECT {columns} FROM {table} WHERE chunk = ?1{which}"))
        };
        const COUNTING: &str = " AND set_aside = 0";
        let entities = [sql("mentions", "entity", "")?, sql("mentions", "entity", COUNTING)?];
        let relations = [sql("facts", "a, b", "")?, sql("facts", "a, b", COUNTING)?];
        Ok(Self { set_aside, entities, relations })
    }

    /// Appends the keys of a chunk, some of them more than once.
    pub(super) fn read(&mut self, number: i64, keys: &mut Vec<GraphKey>) -> Result<()> {
        let which = usize::from(self.set_aside.exists([number])?);
        let mut found = self.entities[which].query([number])?;
        while let Some(row) = found.next()? {
            keys.push(GraphKey::Entity(EntityKey::from_stored(row.get::<_, String>(0)?)));
        }
        let mut found = self.relations[which].query([number])?;
        while let Some(row) = found.next()? {
            let relation = rows::relation_key(row, 0)?;
            keys.extend(relation.ends().map(|end| GraphKey::Entity(end.clone())));
            keys.push(GraphKey::Relation(relation));
        }
        Ok(())
    }
}

pub(super) fn entity(conn: &Connection, key: &EntityKey) -> Result<Option<Entity>> {
    let sql = query(rows::ENTITY, "entities WHERE key = ?1");
    one(conn, &sql, [key.as_str()], |row| rows::entity(row, &mut Descriptions::new(conn)))
}

/// Reads many entities at once, so that the statement is looked up only once.
pub(super) fn entities(conn: &Connection, keys: &[EntityKey]) -> Result<Vec<Option<Entity>>> {
    let mut select = conn.prepare_cached(&query(rows::ENTITY, "entities WHERE key = ?1"))?;
    let mut descriptions = Descriptions::new(conn);
    let mut read = |row: &Row<'_>| rows::entity(row, &mut descriptions);
    keys.iter().map(|key| select.query_row([key.as_str()], &mut read).optional()).collect()
}

pub(super) fn relation(conn: &Connection, key: &RelationKey) -> Result<Option<Relation>> {
    let sql = query(rows::RELATION, "relations WHERE a = ?1 AND b = ?2");
    let ends = [key.a().as_str(), key.b().as_str()];
    one(conn, &sql, ends, |row| rows::relation(row, &mut Descriptions::new(conn)))
}

/// Reads many relations at once, because neighbours mostly quote the same document.
pub(super) fn relations(conn: &Connection, keys: &[RelationKey]) -> Result<Vec<Option<Relation>>> {
    let mut select = conn.prepare_cached(&query(rows::RELATION, "relations WHERE a = ?1 AND b = ?2"))?;
    let mut descriptions = Descriptions::new(conn);
    let mut read = |row: &Row<'_>| rows::relation(row, &mut descriptions);
    let mut one =
        |key: &RelationKey| select.query_row([key.a().as_str(), key.b().as_str()], &mut read).optional();
    keys.iter().map(&mut one).collect()
}

pub(super) fn relations_of(conn: &Connection, entities: &[EntityKey]) -> Result<Vec<Vec<Relation>>> {
    // Keys with the entity as the larger end sort before keys with the entity as the smaller end.
    let mut larger = conn.prepare_cached(&query(rows::RELATION, "relations WHERE b = ?1 ORDER BY a"))?;
    let mut smaller = conn.prepare_cached(&query(rows::RELATION, "relations WHERE a = ?1 ORDER BY b"))?;
    let mut descriptions = Descriptions::new(conn);
    let mut read = |row: &Row<'_>| rows::relation(row, &mut descriptions);
    let mut of = |entity: &EntityKey| {
        let mut relations: Vec<Relation> =
            larger.query_map([entity.as_str()], &mut read)?.collect::<Result<_>>()?;
        for relation in smaller.query_map([entity.as_str()], &mut read)? {
            relations.push(relation?);
        }
        Ok(relations)
    };
    entities.iter().map(&mut of).collect()
}

pub(super) fn degree(conn: &Connection, key: &EntityKey) -> Result<u32> {
    let degree = one(conn, "SELECT degree FROM entities WHERE key = ?1", [key.as_str()], |row| row.get(0))?;
    Ok(degree.unwrap_or(0))
}

pub(super) fn chunks_behind(
    conn: &Connection,
    keys: &[GraphKey],
    within: Option<&FilteredIds>,
    limit: usize,
) -> Result<Vec<Vec<ChunkId>>> {
    let entity = "SELECT c.key FROM mentions m JOIN chunks c ON c.id = m.chunk
         WHERE m.entity = ?1 AND m.set_aside = 0";
    let relation = "SELECT c.key FROM facts f JOIN chunks c ON c.id = f.chunk WHERE f.a = ?1 AND f.b = ?2 AND f.set_aside = 0";
    let (mut entity, mut relation) = (conn.prepare_cached(entity)?, conn.prepare_cached(relation)?);
    let id = |row: &Row<'_>| Ok(ChunkId::from_stored(row.get::<_, String>(0)?));
    // Sorted here, because for a few rows a temporary table costs SQLite more than reading them.
    let mut behind = |key: &GraphKey| {
        let mut chunks: Vec<ChunkId> = match key {
            GraphKey::Entity(key) => entity.query_map([key.as_str()], id)?.collect::<Result<_>>()?,
            GraphKey::Relation(key) => {
                relation.query_map([key.a().as_str(), key.b().as_str()], id)?.collect::<Result<_>>()?
            }
        };
        if let Some(allowed) = within {
            chunks.retain(|chunk| allowed.admits(ItemKind::Chunk, chunk.as_str()));
        }
        chunks.sort_unstable();
        chunks.dedup();
        chunks.truncate(limit);
        Ok(chunks)
    };
    keys.iter().map(&mut behind).collect()
}

pub(super) fn summaries(conn: &Connection, owner: &GraphKey) -> Result<Vec<Summary>> {
    let (kind, a, b) = owner_columns(owner);
    // A damaged summary is left out, and it is written again.
    let sql = "SELECT key, text FROM summaries WHERE kind = ?1 AND a = ?2 AND b = ?3
            AND row_sum('summaries', kind, a, b, key, text) = sum ORDER BY key";
    select(conn, sql, params![kind, a, b], |row| summary(row, 0))
}

pub(super) fn summary(row: &Row<'_>, at: usize) -> Result<Summary> {
    Ok(Summary { key: SummaryKey::from_stored(row.get::<_, String>(at)?), text: row.get(at + 1)? })
}

/// Returns the key columns of the summaries and the stale mark of an entity or relation.
pub(super) fn owner_columns(owner: &GraphKey) -> (u8, &str, &str) {
    match owner {
        GraphKey::Entity(key) => (0, key.as_str(), ""),
        GraphKey::Relation(key) => (1, key.a().as_str(), key.b().as_str()),
    }
}

pub(super) fn vectors(conn: &Connection, items: &[ItemKey]) -> Result<Vec<Option<Vec<f32>>>> {
    let mut found = vec![None; items.len()];
    for (kind, places, ids) in by_kind(items) {
        vectors::for_each_of_ids(conn, kind, &ids, |at, data| {
            found[places[at]] = Some(vector::decode(data))
        })?;
    }
    Ok(found)
}

/// True if an entry of full-text search exists and may be found.
pub(super) fn has_text(conn: &Connection, kind: ItemKind, id: &str) -> Result<bool> {
    match kind {
        ItemKind::Chunk => conn.prepare_cached(vectors::LIVE_CHUNK)?.exists([id]),
        ItemKind::Entity => conn.prepare_cached("SELECT 1 FROM entities WHERE key = ?1")?.exists([id]),
        ItemKind::Relation => {
            let Some((a, b)) = id.split_once('\t') else { return Ok(false) };
            conn.prepare_cached("SELECT 1 FROM relations WHERE a = ?1 AND b = ?2")?.exists([a, b])
        }
        ItemKind::Node => conn.prepare_cached("SELECT 1 FROM nodes WHERE key = ?1")?.exists([id]),
    }
}

/// Returns the searchable text of an entry that may be found, by the code of its kind.
pub(super) fn searchable(conn: &Connection, kind: u8, id: &str) -> Result<Option<String>> {
    if kind == rows::kind_code(ItemKind::Chunk) {
        if !has_text(conn, ItemKind::Chunk, id)? {
            return Ok(None);
        }
        let id = ChunkId::from_stored(id);
        let Some(chunk) = chunk(conn, &mut Slicer::new(conn), &id)? else { return Ok(None) };
        return chunk_text(conn, &chunk).map(Some);
    }
    if kind == rows::kind_code(ItemKind::Entity) {
        return Ok(entity(conn, &EntityKey::from_stored(id))?.map(|entity| words::entity_text(&entity)));
    }
    if kind == rows::kind_code(ItemKind::Node) {
        return Ok(layers::node(conn, &NodeKey::from_stored(id))?.map(|node| node.indexed_text()));
    }
    let Some(key) = RelationKey::parse(id) else { return Ok(None) };
    Ok(relation(conn, &key)?.map(|relation| words::relation_text(&relation)))
}

/// Returns the text of a chunk as full-text search sees it.
pub(super) fn chunk_text(conn: &Connection, chunk: &Chunk) -> Result<String> {
    let chunk_context = chunk_context(conn, &chunk.id)?;
    Ok(indexed_text(chunk_context.as_ref().and_then(ChunkContext::text), &chunk.text).into_owned())
}

/// Returns `SELECT columns FROM rest`.
pub(super) fn query(columns: &str, rest: &str) -> String {
    format!("SELECT {columns} FROM {rest}")
}

/// Converts a limit to SQLite's type.
pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
