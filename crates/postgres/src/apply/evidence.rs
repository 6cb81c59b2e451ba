//! Chunk contexts, decisions, mentions, facts and claims.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Batch, ChunkContext, ChunkId, EntityKey};
use tokio::try_join;

use super::{remove_rows, require_all};
use crate::error::Fault;
use crate::rows;
use crate::session::{Arguments, Session};

/// Removes and puts evidence.
pub(super) async fn put(session: &Session, batch: &Batch) -> Result<(), Fault> {
    let mentions = batch.put_mentions.iter().map(|mention| mention.chunk.as_str());
    let facts = batch.put_facts.iter().map(|fact| fact.chunk.as_str());
    let claims = batch.put_claims.iter().map(|claim| claim.chunk.as_str());
    let chunks: BTreeSet<&str> = mentions.chain(facts).chain(claims).collect();
    let without_context: Vec<&str> = batch.remove_chunk_contexts.iter().map(ChunkId::as_str).collect();
    let cleared: Vec<&str> = batch.clear_graph_of.iter().map(ChunkId::as_str).collect();
    try_join!(biased;
        remove_rows(session, &["situations"], "chunk", &without_context),
        put_chunk_contexts(session, &batch.put_chunk_contexts),
        put_decisions(session, batch),
        remove_rows(session, &["mentions", "facts", "claims"], "chunk", &cleared),
        require_all(session, "chunks", "id", chunks),
        put_mentions(session, batch),
        put_facts(session, batch),
        put_claims(session, batch)
    )
    .map(drop)
}

async fn put_chunk_contexts(session: &Session, contexts: &[ChunkContext]) -> Result<(), Fault> {
    if contexts.is_empty() {
        return Ok(());
    }
    let contexts: BTreeMap<&str, &ChunkContext> =
        contexts.iter().map(|context| (context.chunk.as_str(), context)).collect();
    let ids: Vec<&str> = contexts.keys().copied().collect();
    let keys: Vec<&str> = contexts.values().map(|context| context.key.as_str()).collect();
    let authors: Vec<&str> = contexts.values().map(|context| context.by.as_str()).collect();
    let failed: Vec<bool> = contexts.values().map(|context| context.failure().is_some()).collect();
    let bodies = contexts.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO situations \
            SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::bool[], $6::text[]) \
        ON CONFLICT (workspace_id, chunk) DO UPDATE SET key = EXCLUDED.key, author = EXCLUDED.author, \
            failed = EXCLUDED.failed, body = EXCLUDED.body";
    let of_contexts: &Arguments<'_> = &[&ids, &keys, &authors, &failed, &bodies];
    try_join!(biased;
        require_all(session, "chunks", "id", contexts.keys().copied().collect()),
        session.run(sql, of_contexts)
    )
    .map(drop)
}

async fn put_decisions(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_decisions.is_empty() {
        return Ok(());
    }
    let decisions: BTreeMap<(i64, &str), _> = (batch.put_decisions.iter())
        .map(|decision| ((decision.order as i64, decision.id.as_str()), decision))
        .collect();
    let places: Vec<i64> = decisions.keys().map(|(place, _)| *place).collect();
    let ids: Vec<&str> = decisions.keys().map(|(_, id)| *id).collect();
    let bodies = decisions.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO decisions SELECT $1, * FROM unnest($2::int8[], $3::text[], $4::text[]) \
        ON CONFLICT (workspace_id, place, id) DO UPDATE SET body = EXCLUDED.body";
    session.run(sql, &[&places, &ids, &bodies]).await?;
    Ok(())
}

async fn put_mentions(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_mentions.is_empty() {
        return Ok(());
    }
    let mentions: BTreeMap<(&str, i64), _> = (batch.put_mentions.iter())
        .map(|mention| ((mention.chunk.as_str(), i64::from(mention.ordinal)), mention))
        .collect();
    let chunks: Vec<&str> = mentions.keys().map(|(chunk, _)| *chunk).collect();
    let ordinals: Vec<i64> = mentions.keys().map(|(_, ordinal)| *ordinal).collect();
    let entities: Vec<&str> = mentions.values().map(|mention| mention.entity.as_str()).collect();
    let aside: Vec<bool> = mentions.values().map(|mention| mention.set_aside).collect();
    let bodies = mentions.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO mentions \
            SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::text[], $5::bool[], $6::text[]) \
        ON CONFLICT (workspace_id, chunk, ordinal) DO UPDATE SET entity = EXCLUDED.entity, \
            set_aside = EXCLUDED.set_aside, body = EXCLUDED.body";
    session.run(sql, &[&chunks, &ordinals, &entities, &aside, &bodies]).await?;
    Ok(())
}

async fn put_facts(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_facts.is_empty() {
        return Ok(());
    }
    let facts: BTreeMap<(&str, i64), _> =
        batch.put_facts.iter().map(|fact| ((fact.chunk.as_str(), i64::from(fact.ordinal)), fact)).collect();
    let chunks: Vec<&str> = facts.keys().map(|(chunk, _)| *chunk).collect();
    let ordinals: Vec<i64> = facts.keys().map(|(_, ordinal)| *ordinal).collect();
    let a: Vec<&str> = facts.values().map(|fact| fact.relation.a().as_str()).collect();
    let b: Vec<&str> = facts.values().map(|fact| fact.relation.b().as_str()).collect();
    let aside: Vec<bool> = facts.values().map(|fact| fact.set_aside).collect();
    let weights: Vec<f64> = facts.values().map(|fact| fact.weight).collect();
    let bodies = facts.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO facts SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::text[], $5::text[], $6::bool[], \
            $7::float8[], $8::text[]) \
        ON CONFLICT (workspace_id, chunk, ordinal) DO UPDATE SET a = EXCLUDED.a, b = EXCLUDED.b, \
            set_aside = EXCLUDED.set_aside, weight = EXCLUDED.weight, body = EXCLUDED.body";
    session.run(sql, &[&chunks, &ordinals, &a, &b, &aside, &weights, &bodies]).await?;
    Ok(())
}

async fn put_claims(session: &Session, batch: &Batch) -> Result<(), Fault> {
    if batch.put_claims.is_empty() {
        return Ok(());
    }
    let claims: BTreeMap<(&str, i64), _> = batch
        .put_claims
        .iter()
        .map(|claim| ((claim.chunk.as_str(), i64::from(claim.ordinal)), claim))
        .collect();
    let chunks: Vec<&str> = claims.keys().map(|(chunk, _)| *chunk).collect();
    let ordinals: Vec<i64> = claims.keys().map(|(_, ordinal)| *ordinal).collect();
    let subjects: Vec<&str> = claims.values().map(|claim| claim.subject.as_str()).collect();
    let objects: Vec<Option<&str>> =
        claims.values().map(|claim| claim.object.as_ref().map(EntityKey::as_str)).collect();
    let bodies = claims.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO claims \
            SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::text[], $5::text[], $6::text[]) \
        ON CONFLICT (workspace_id, chunk, ordinal) DO UPDATE SET subject = EXCLUDED.subject, \
            object = EXCLUDED.object, body = EXCLUDED.body";
    session.run(sql, &[&chunks, &ordinals, &subjects, &objects, &bodies]).await?;
    Ok(())
}
