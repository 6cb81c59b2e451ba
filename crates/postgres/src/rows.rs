//! Converts rows to values and back.

use std::collections::HashMap;
use std::hash::Hash;

use graphloom_core::{
    CacheKind, Chunk, ChunkExtraction, ChunkId, Document, EntityKey, Fact, GraphKey, ItemKey, ItemKind,
    Member, NodeKey, Relation, RelationKey, StoreError, Visibility,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::types::FromSql;
use tokio_postgres::{Row, SimpleQueryRow};

use crate::error::Fault;

/// Reads a column of a row.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Fault> {
    Ok(row.try_get(column)?)
}

/// Reads a number that is never negative.
pub(crate) fn number(row: &Row, column: usize) -> Result<u64, Fault> {
    Ok(get::<i64>(row, column)? as u64)
}

/// Reads a number that is never negative from text.
pub(crate) fn number_of_text(row: &SimpleQueryRow, column: usize) -> Result<u64, Fault> {
    let text = row.try_get(column)?.unwrap_or_default();
    text.parse().map_err(|_| corrupt(format!("{text:?} is not a number")))
}

/// Serializes a value as a body.
pub(crate) fn body(value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| {
        Fault::Refused(StoreError::Backend { operation: "writing a row".to_owned(), source: Box::new(error) })
    })
}

/// Parses a body.
pub(crate) fn parse<T: DeserializeOwned>(body: &str) -> Result<T, Fault> {
    serde_json::from_str(body).map_err(|error| corrupt(format!("a row is unreadable: {error}")))
}

/// Parses the body in this column.
pub(crate) fn parsed<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, Fault> {
    parse(get(row, column)?)
}

pub(crate) fn corrupt(what: String) -> Fault {
    Fault::Refused(StoreError::Corrupt { path: "the database".to_owned(), what })
}

/// Reads the columns `body, live`.
pub(crate) fn document(row: &Row) -> Result<Document, Fault> {
    let mut document: Document = parsed(row, 0)?;
    document.visibility = if get(row, 1)? { Visibility::Live } else { Visibility::Staged };
    Ok(document)
}

/// The columns that [`chunk`] reads, from a chunk `c`.
pub(crate) const CHUNK: &str = "c.body, c.extraction, (SELECT substring(t.text FROM (c.span_start + 1)::int \
    FOR (c.span_end - c.span_start)::int) FROM texts t WHERE t.workspace_id = $1 AND t.document = c.document)";

/// Reads the columns of [`CHUNK`].
pub(crate) fn chunk(row: &Row) -> Result<Chunk, Fault> {
    let mut chunk: Chunk = parsed(row, 0)?;
    chunk.extraction = parsed(row, 1)?;
    let text: Option<&[u8]> = get(row, 2)?;
    let text = text.ok_or_else(|| corrupt(format!("the text of {} is missing", chunk.id)))?;
    chunk.text = utf8(text)?;
    Ok(chunk)
}

/// Returns the body of a chunk: everything except its text and extraction, which have columns of their own.
pub(crate) fn chunk_body(chunk: &Chunk) -> Result<String, Fault> {
    let Chunk { id, document, ordinal, span, token_count, breadcrumb, text: _, extraction: _ } = chunk;
    body(&Chunk {
        id: id.clone(),
        document: document.clone(),
        ordinal: *ordinal,
        span: *span,
        token_count: *token_count,
        breadcrumb: breadcrumb.clone(),
        text: String::new(),
        extraction: ChunkExtraction::Pending,
    })
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<String, Fault> {
    String::from_utf8(bytes.to_vec()).map_err(|_| corrupt("a text is not UTF-8".to_owned()))
}

/// Reads the columns `body, weight`. The weight has its own column because a number in JSON may change its digits when
/// it is read.
pub(crate) fn fact(row: &Row) -> Result<Fact, Fault> {
    let mut fact: Fact = parsed(row, 0)?;
    fact.weight = get(row, 1)?;
    Ok(fact)
}

/// Reads the columns `body, weight`.
pub(crate) fn relation(row: &Row) -> Result<Relation, Fault> {
    let mut relation: Relation = parsed(row, 0)?;
    relation.weight = get(row, 1)?;
    Ok(relation)
}

/// Returns the columns `kind, a, b` of an entity or relation, in the order of keys.
pub(crate) fn graph_columns(key: &GraphKey) -> (i16, &str, &str) {
    match key {
        GraphKey::Entity(key) => (0, key.as_str(), ""),
        GraphKey::Relation(key) => (1, key.a().as_str(), key.b().as_str()),
    }
}

/// Reads the columns `kind, a, b`, starting at column `from`.
pub(crate) fn graph_key(row: &Row, from: usize) -> Result<GraphKey, Fault> {
    let entity = |column| get(row, column).map(|key: String| EntityKey::from_stored(key));
    if get::<i16>(row, from)? == 0 {
        return Ok(GraphKey::Entity(entity(from + 1)?));
    }
    let pair = RelationKey::new(entity(from + 1)?, entity(from + 2)?);
    pair.map(GraphKey::Relation).ok_or_else(|| corrupt("a relation has only one end".to_owned()))
}

/// Returns the item of this kind with this id.
pub(crate) fn item(kind: ItemKind, id: &str) -> Result<ItemKey, Fault> {
    ItemKey::from_id(kind, id).ok_or_else(|| corrupt(format!("{id:?} is not the key of a vector")))
}

pub(crate) fn kind_code(kind: ItemKind) -> i16 {
    match kind {
        ItemKind::Chunk => 0,
        ItemKind::Entity => 1,
        ItemKind::Relation => 2,
        ItemKind::Node => 3,
    }
}

/// Returns one entry for each key, in order. `None` if there is no such row.
pub(crate) fn found<K: Hash + Eq, T: Clone>(
    keys: impl IntoIterator<Item = K>,
    rows: HashMap<K, T>,
) -> Vec<Option<T>> {
    keys.into_iter().map(|key| rows.get(&key).cloned()).collect()
}

/// Returns the rows of each key, in the order in which they came.
pub(crate) fn grouped<K: Hash + Eq, T: Clone>(
    keys: impl IntoIterator<Item = K>,
    rows: impl IntoIterator<Item = Result<(K, T), Fault>>,
) -> Result<Vec<Vec<T>>, Fault> {
    let mut groups: HashMap<K, Vec<T>> = HashMap::new();
    for row in rows {
        let (key, value) = row?;
        groups.entry(key).or_default().push(value);
    }
    Ok(keys.into_iter().map(|key| groups.get(&key).cloned().unwrap_or_default()).collect())
}

/// Converts a limit to the database's type.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn cache_code(kind: CacheKind) -> i16 {
    match kind {
        CacheKind::Keywords => 0,
        CacheKind::Answer => 1,
        CacheKind::Vector => 2,
        CacheKind::Node => 3,
        CacheKind::NextVector => 4,
    }
}

/// Codes of members that are chunks or entities.
pub(crate) const CHUNK_MEMBER: i16 = 0;
pub(crate) const ENTITY_MEMBER: i16 = 1;

pub(crate) fn member_code(member: &Member) -> i16 {
    match member {
        Member::Chunk(_) => CHUNK_MEMBER,
        Member::Entity(_) => ENTITY_MEMBER,
        Member::Node(_) => 2,
    }
}

/// Reads the columns `kind, member`, starting at column `from`.
pub(crate) fn member(row: &Row, from: usize) -> Result<Member, Fault> {
    let id: String = get(row, from + 1)?;
    Ok(match get::<i16>(row, from)? {
        CHUNK_MEMBER => Member::Chunk(ChunkId::from_stored(id)),
        ENTITY_MEMBER => Member::Entity(EntityKey::from_stored(id)),
        _ => Member::Node(NodeKey::from_stored(id)),
    })
}
