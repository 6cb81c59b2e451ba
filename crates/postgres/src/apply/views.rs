//! Entities and relations with their summaries, stale marks and vectors.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, ChunkId, DocumentId, Entity, EntityKey, GraphKey, ItemKind, Relation, RelationKey, VectorRow,
};
use graphloom_rules::{batch as rules, vector};
use tokio::try_join;

use super::{remove_rows, remove_vectors};
use crate::error::Fault;
use crate::halfvec::HalfVec;
use crate::rows;
use crate::session::{Arguments, Session};

/// Most dimensions that a vector can have so that it fits a page of the database.
const MAX_DIMENSIONS: usize = 4000;

/// Entities and relations as the columns `kind, a, b`.
type Columns<'a> = (Vec<i16>, Vec<&'a str>, Vec<&'a str>);

/// SQL condition that is true if the entity or relation `k` has evidence that is not set aside.
const HAS_EVIDENCE: &str = "CASE WHEN k.kind = 0 THEN \
        EXISTS (SELECT FROM mentions m WHERE m.workspace_id = $1 AND m.entity = k.a AND NOT m.set_aside) \
        OR EXISTS (SELECT FROM facts f WHERE f.workspace_id = $1 AND f.a = k.a AND NOT f.set_aside) \
        OR EXISTS (SELECT FROM facts f WHERE f.workspace_id = $1 AND f.b = k.a AND NOT f.set_aside) \
    ELSE EXISTS (SELECT FROM facts f WHERE f.workspace_id = $1 AND f.a = k.a AND f.b = k.b AND NOT f.set_aside) END";

/// Removes entities and relations with their vectors, summaries and stale marks. Their words are removed later.
pub(super) async fn remove(session: &Session, batch: &Batch) -> Result<(), Fault> {
    try_join!(biased;
        remove_entities(session, &batch.remove_entities),
        remove_relations(session, &batch.remove_relations)
    )
    .map(drop)
}

/// Puts entities and relations with their summaries and stale marks.
pub(super) async fn put(session: &Session, batch: &Batch) -> Result<(), Fault> {
    try_join!(biased;
        put_entities(session, &batch.put_entities),
        put_relations(session, &batch.put_relations),
        set_summaries(session, batch),
        set_stale(session, batch)
    )
    .map(drop)
}

/// Returns entities and relations that lose evidence in the batch and that the batch does not change otherwise.
pub(super) async fn at_risk(session: &Session, batch: &Batch) -> Result<BTreeSet<GraphKey>, Fault> {
    if batch.remove_documents.is_empty() && batch.clear_graph_of.is_empty() {
        return Ok(BTreeSet::new());
    }
    let documents: Vec<&str> = batch.remove_documents.iter().map(DocumentId::as_str).collect();
    let chunks: Vec<&str> = batch.clear_graph_of.iter().map(ChunkId::as_str).collect();
    let sql = format!(
        "WITH leaving AS ( \
            SELECT id FROM chunks WHERE workspace_id = $1 AND document = ANY($2) UNION SELECT unnest($3::text[]) \
        ), facts_leaving AS ( \
            SELECT f.a, f.b FROM leaving l JOIN facts f ON f.workspace_id = $1 AND f.chunk = l.id \
        ), k AS ( \
            SELECT 0::int2 AS kind, m.entity AS a, '' COLLATE \"C\" AS b \
                FROM leaving l JOIN mentions m ON m.workspace_id = $1 AND m.chunk = l.id \
            UNION SELECT 0::int2, a, '' FROM facts_leaving \
            UNION SELECT 0::int2, b, '' FROM facts_leaving \
            UNION SELECT 1::int2, a, b FROM facts_leaving \
        ) \
        SELECT kind, a, b FROM k WHERE {HAS_EVIDENCE}"
    );
    let found = session.rows(&sql, &[&documents, &chunks]).await?;
    let losing = found.iter().map(|row| rows::graph_key(row, 0)).collect::<Result<BTreeSet<_>, _>>()?;
    Ok(rules::left_as_they_are(batch, losing))
}

/// Fails if the batch removed the last evidence of an entity or relation but left its view.
pub(super) async fn check_ghosts(session: &Session, at_risk: BTreeSet<GraphKey>) -> Result<(), Fault> {
    if at_risk.is_empty() {
        return Ok(());
    }
    let (kinds, a, b) = columns(&at_risk);
    let sql = format!(
        "SELECT kind, a, b FROM unnest($2::int2[], $3::text[], $4::text[]) AS k (kind, a, b) \
         WHERE CASE WHEN k.kind = 0 THEN EXISTS (SELECT FROM entities e WHERE e.workspace_id = $1 AND e.key = k.a) \
            ELSE EXISTS (SELECT FROM relations r WHERE r.workspace_id = $1 AND r.a = k.a AND r.b = k.b) END \
            AND NOT ({HAS_EVIDENCE}) \
         LIMIT 1"
    );
    match session.rows(&sql, &[&kinds, &a, &b]).await?.first() {
        Some(row) => Err(rules::ghost(&rows::graph_key(row, 0)?).into()),
        None => Ok(()),
    }
}

fn columns<'a>(keys: impl IntoIterator<Item = &'a GraphKey>) -> Columns<'a> {
    let mut columns = Columns::default();
    for (kind, a, b) in keys.into_iter().map(rows::graph_columns) {
        columns.0.push(kind);
        columns.1.push(a);
        columns.2.push(b);
    }
    columns
}

/// Removes vectors, summaries and stale marks of entities or relations, but not their words.
async fn forget(session: &Session, kind: ItemKind, ids: &[String], keys: &[GraphKey]) -> Result<(), Fault> {
    try_join!(biased;
        remove_vectors(session, kind, ids),
        remove_of(session, "summaries", keys),
        remove_of(session, "stale", keys)
    )
    .map(drop)
}

async fn remove_of<'a>(
    session: &Session,
    table: &str,
    keys: impl IntoIterator<Item = &'a GraphKey>,
) -> Result<(), Fault> {
    let (kinds, a, b) = columns(keys);
    let sql = format!(
        "DELETE FROM {table} t USING unnest($2::int2[], $3::text[], $4::text[]) AS k (kind, a, b) \
         WHERE t.workspace_id = $1 AND t.kind = k.kind AND t.a = k.a AND t.b = k.b"
    );
    session.run(&sql, &[&kinds, &a, &b]).await?;
    Ok(())
}

async fn remove_entities(session: &Session, keys: &[EntityKey]) -> Result<(), Fault> {
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = keys.iter().map(EntityKey::to_string).collect();
    let keys: Vec<GraphKey> = keys.iter().cloned().map(GraphKey::Entity).collect();
    try_join!(biased;
        remove_rows(session, &["entities"], "key", &ids),
        forget(session, ItemKind::Entity, &ids, &keys)
    )
    .map(drop)
}

async fn put_entities(session: &Session, entities: &[Entity]) -> Result<(), Fault> {
    if entities.is_empty() {
        return Ok(());
    }
    let entities: BTreeMap<&str, &Entity> =
        entities.iter().map(|entity| (entity.key.as_str(), entity)).collect();
    let keys: Vec<&str> = entities.keys().copied().collect();
    let degrees: Vec<i64> = entities.values().map(|entity| i64::from(entity.degree)).collect();
    let bodies = entities.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO entities SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::text[]) \
        ON CONFLICT (workspace_id, key) DO UPDATE SET degree = EXCLUDED.degree, body = EXCLUDED.body";
    session.run(sql, &[&keys, &degrees, &bodies]).await?;
    Ok(())
}

async fn remove_relations(session: &Session, keys: &[RelationKey]) -> Result<(), Fault> {
    if keys.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = keys.iter().map(RelationKey::to_string).collect();
    let keys: Vec<GraphKey> = keys.iter().cloned().map(GraphKey::Relation).collect();
    let (_, a, b) = columns(&keys);
    let sql = "DELETE FROM relations r USING unnest($2::text[], $3::text[]) AS k (a, b) \
        WHERE r.workspace_id = $1 AND r.a = k.a AND r.b = k.b";
    let of_keys: &Arguments<'_> = &[&a, &b];
    try_join!(biased; session.run(sql, of_keys), forget(session, ItemKind::Relation, &ids, &keys)).map(drop)
}

async fn put_relations(session: &Session, relations: &[Relation]) -> Result<(), Fault> {
    if relations.is_empty() {
        return Ok(());
    }
    let relations: BTreeMap<&RelationKey, &Relation> =
        relations.iter().map(|relation| (&relation.key, relation)).collect();
    let a: Vec<&str> = relations.keys().map(|key| key.a().as_str()).collect();
    let b: Vec<&str> = relations.keys().map(|key| key.b().as_str()).collect();
    let weights: Vec<f64> = relations.values().map(|relation| relation.weight).collect();
    let bodies = relations.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO relations SELECT $1, * FROM unnest($2::text[], $3::text[], $4::float8[], $5::text[]) \
        ON CONFLICT (workspace_id, a, b) DO UPDATE SET weight = EXCLUDED.weight, body = EXCLUDED.body";
    session.run(sql, &[&a, &b, &weights, &bodies]).await?;
    Ok(())
}

async fn set_summaries(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.set_summaries.is_empty() {
        return Ok(());
    }
    let all: BTreeMap<&GraphKey, _> =
        batch.set_summaries.iter().map(|(owner, summaries)| (owner, summaries)).collect();
    let mut texts = BTreeMap::new();
    for (owner, summaries) in &all {
        texts.extend(
            summaries.iter().map(|summary| ((*owner, summary.key.as_str()), summary.text.as_bytes())),
        );
    }
    let (kinds, a, b) = columns(texts.keys().map(|(owner, _)| *owner));
    let keys: Vec<&str> = texts.keys().map(|(_, key)| *key).collect();
    let texts: Vec<&[u8]> = texts.into_values().collect();
    let sql = "INSERT INTO summaries \
        SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::text[], $5::text[], $6::bytea[])";
    let of_texts: &Arguments<'_> = &[&kinds, &a, &b, &keys, &texts];
    try_join!(biased;
        remove_of(session, "summaries", all.keys().copied()),
        session.run(sql, of_texts)
    )
    .map(drop)
}

async fn set_stale(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.set_stale.is_empty() {
        return Ok(());
    }
    let marks: BTreeMap<&GraphKey, bool> = batch.set_stale.iter().map(|(key, stale)| (key, *stale)).collect();
    let (kinds, a, b) = columns(marks.iter().filter(|(_, stale)| **stale).map(|(key, _)| *key));
    let sql = "INSERT INTO stale SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::text[])";
    let of_marks: &Arguments<'_> = &[&kinds, &a, &b];
    try_join!(biased;
        remove_of(session, "stale", marks.keys().copied()),
        session.run(sql, of_marks)
    )
    .map(drop)
}

pub(super) async fn put_vectors(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_vectors.is_empty() {
        return Ok(());
    }
    let vectors: BTreeMap<(i16, String), &VectorRow> = (batch.put_vectors.iter())
        .map(|row| ((rows::kind_code(row.kind()), row.entry.item.id().into_owned()), row))
        .collect();
    if let Some(row) = vectors.values().find(|row| row.vector.len() > MAX_DIMENSIONS) {
        let (id, found) = (row.entry.item.id(), row.vector.len());
        let what =
            format!("the vector of {id} has {found} dimensions; the database takes up to {MAX_DIMENSIONS}");
        return Err(rules::invalid(what).into());
    }
    let kinds: Vec<i16> = vectors.keys().map(|(kind, _)| *kind).collect();
    let ids: Vec<&str> = vectors.keys().map(|(_, id)| id.as_str()).collect();
    let hashes: Vec<&str> = vectors.values().map(|row| row.entry.inputs_hash.as_str()).collect();
    let codes: Vec<Vec<i16>> = vectors.values().map(|row| vector::codes(&row.vector)).collect();
    let length = |codes: &Vec<i16>| {
        codes.iter().map(|&code| f64::from(code) * f64::from(code)).sum::<f64>().sqrt() as f32
    };
    let lengths: Vec<f32> = codes.iter().map(length).collect();
    let codes: Vec<HalfVec> = codes.iter().map(|codes| HalfVec::of_codes(codes)).collect();
    let sql = "INSERT INTO vectors \
            SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::text[], $5::float4[], $6::halfvec[]) \
        ON CONFLICT (workspace_id, kind, id) DO UPDATE SET inputs_hash = EXCLUDED.inputs_hash, \
            length = EXCLUDED.length, codes = EXCLUDED.codes";
    session.run(sql, &[&kinds, &ids, &hashes, &lengths, &codes]).await?;
    Ok(())
}
