//! The graph: mentions, facts and claims as evidence, and entities and relations as views of it.

use graphloom_core::{
    Batch, ChunkId, Claim, Entity, EntityKey, Fact, GraphKey, ItemKind, Member, Mention, Relation,
    RelationKey, StoreError, Summary,
};
use rusqlite::{Connection, params};

use super::chunks::chunk_number;
use super::layers::remove_nodes_of;
use super::vectors::remove_vector;
use crate::sqlite::changes::{BatchKeys, LINKS, TEXT, VECTOR, touch};
use crate::sqlite::descriptions::{Descriptions, View};
use crate::sqlite::error::Context;
use crate::sqlite::vector_tree::TreeLimits;
use crate::sqlite::{read, rows};

pub(super) fn put_graph(conn: &Connection, batch: &Batch, touched: &mut BatchKeys) -> Result<(), StoreError> {
    let mut touch_links = |chunk: &ChunkId| touch(touched, ItemKind::Chunk, chunk.as_str(), LINKS);
    batch.clear_graph_of.iter().for_each(&mut touch_links);
    batch.put_mentions.iter().for_each(|mention| touch_links(&mention.chunk));
    batch.put_facts.iter().for_each(|fact| touch_links(&fact.chunk));
    for chunk in &batch.clear_graph_of {
        for sql in [
            "DELETE FROM mentions WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)",
            "DELETE FROM facts WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)",
            "DELETE FROM claims WHERE chunk = (SELECT id FROM chunks WHERE key = ?1)",
        ] {
            conn.prepare_cached(sql)
                .and_then(|mut delete| delete.execute([chunk.as_str()]))
                .during("clearing a chunk's graph")?;
        }
    }
    let mut numbers = ChunkNumbers { conn, last: None };
    let mut descriptions = Descriptions::new(conn);
    for mention in &batch.put_mentions {
        put_mention(conn, &mut descriptions, numbers.of(&mention.chunk)?, mention)
            .during("putting a mention")?;
    }
    for fact in &batch.put_facts {
        put_fact(conn, &mut descriptions, numbers.of(&fact.chunk)?, fact).during("putting a fact")?;
    }
    for claim in &batch.put_claims {
        put_claim(conn, numbers.of(&claim.chunk)?, claim).during("putting a claim")?;
    }
    Ok(())
}

/// Looks up chunk numbers. Rows come chunk by chunk, so the last number is usually needed again.
struct ChunkNumbers<'a> {
    conn: &'a Connection,
    last: Option<(ChunkId, i64)>,
}

impl ChunkNumbers<'_> {
    fn of(&mut self, id: &ChunkId) -> Result<i64, StoreError> {
        match &self.last {
            Some((last, number)) if last == id => Ok(*number),
            _ => {
                let number = chunk_number(self.conn, id)?;
                self.last = Some((id.clone(), number));
                Ok(number)
            }
        }
    }
}

fn put_mention(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    chunk: i64,
    mention: &Mention,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO mentions (entity, chunk, ordinal, name, kind, description, start, stop,
            set_aside) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        mention.entity.as_str(),
        chunk,
        mention.ordinal,
        mention.name,
        mention.kind,
        descriptions.store_of_record(chunk, &mention.description)?,
        mention.span.map(|span| rows::signed(span.start)),
        mention.span.map(|span| rows::signed(span.end)),
        mention.set_aside
    ])
    .map(drop)
}

fn put_fact(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    chunk: i64,
    fact: &Fact,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO facts (a, b, chunk, ordinal, source, target, source_is_a, keywords, description,
            weight, set_aside) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        fact.relation.a().as_str(),
        fact.relation.b().as_str(),
        chunk,
        fact.ordinal,
        fact.source,
        fact.target,
        fact.source_is_a,
        rows::to_json(&fact.keywords)?,
        descriptions.store_of_record(chunk, &fact.description)?,
        fact.weight,
        fact.set_aside
    ])
    .map(drop)
}

fn put_claim(conn: &Connection, chunk: i64, claim: &Claim) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO claims (chunk, ordinal, subject, object, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        chunk,
        claim.ordinal,
        claim.subject.as_str(),
        claim.object.as_ref().map(EntityKey::as_str),
        rows::to_json(claim)?
    ])
    .map(drop)
}

pub(super) fn put_views(
    conn: &Connection,
    trees: TreeLimits,
    batch: &Batch,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let mut descriptions = Descriptions::new(conn);
    for key in &batch.remove_entities {
        remove_entity(conn, trees, key, touched)?;
    }
    for entity in &batch.put_entities {
        put_entity(conn, &mut descriptions, entity)?;
        touch(touched, ItemKind::Entity, entity.key.as_str(), TEXT);
    }
    for key in &batch.remove_relations {
        remove_relation(conn, trees, key, touched)?;
    }
    for relation in &batch.put_relations {
        put_relation(conn, &mut descriptions, relation)?;
        touch(touched, ItemKind::Relation, &relation.key.to_string(), TEXT);
    }
    for (owner, summaries) in &batch.set_summaries {
        set_summaries(conn, owner, summaries)?;
    }
    for (key, is_stale) in &batch.set_stale {
        set_stale(conn, key, *is_stale)?;
    }
    Ok(())
}

fn remove_entity(
    conn: &Connection,
    trees: TreeLimits,
    key: &EntityKey,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM entities WHERE key = ?1")?.execute([key.as_str()])?;
    remove_vector(conn, trees, ItemKind::Entity, key.as_str())?;
    remove_nodes_of(conn, trees, &Member::Entity(key.clone()), touched)?;
    touch(touched, ItemKind::Entity, key.as_str(), VECTOR | TEXT);
    forget(conn, &GraphKey::Entity(key.clone()))
}

fn remove_relation(
    conn: &Connection,
    trees: TreeLimits,
    key: &RelationKey,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let printed = key.to_string();
    conn.prepare_cached("DELETE FROM relations WHERE a = ?1 AND b = ?2")?
        .execute([key.a().as_str(), key.b().as_str()])?;
    remove_vector(conn, trees, ItemKind::Relation, &printed)?;
    touch(touched, ItemKind::Relation, &printed, VECTOR | TEXT);
    forget(conn, &GraphKey::Relation(key.clone()))
}

fn put_entity(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    entity: &Entity,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO entities (key, name, kind, description, mention_count, degree, inputs_hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        entity.key.as_str(),
        entity.name,
        entity.kind,
        descriptions.store_of_view(View::Entity(entity.key.as_str()), &entity.description)?,
        entity.mention_count,
        entity.degree,
        rows::hash_column(&entity.inputs_hash)
    ])
    .map(drop)
}

fn put_relation(
    conn: &Connection,
    descriptions: &mut Descriptions<'_>,
    relation: &Relation,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO relations (a, b, keywords, description, weight, fact_count, inputs_hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        relation.key.a().as_str(),
        relation.key.b().as_str(),
        rows::to_json(&relation.keywords)?,
        descriptions.store_of_view(View::of(&relation.key), &relation.description)?,
        relation.weight,
        relation.fact_count,
        rows::hash_column(&relation.inputs_hash)
    ])
    .map(drop)
}

fn set_summaries(conn: &Connection, owner: &GraphKey, summaries: &[Summary]) -> rusqlite::Result<()> {
    let (kind, a, b) = read::owner_columns(owner);
    conn.prepare_cached("DELETE FROM summaries WHERE kind = ?1 AND a = ?2 AND b = ?3")?
        .execute(params![kind, a, b])?;
    for summary in summaries {
        conn.prepare_cached(
            "INSERT OR REPLACE INTO summaries (kind, a, b, key, text) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![kind, a, b, summary.key.as_str(), summary.text])?;
    }
    Ok(())
}

/// Removes the summaries and the stale mark of an entity or relation.
fn forget(conn: &Connection, key: &GraphKey) -> rusqlite::Result<()> {
    set_summaries(conn, key, &[])?;
    set_stale(conn, key, false)
}

fn set_stale(conn: &Connection, key: &GraphKey, is_stale: bool) -> rusqlite::Result<()> {
    let (kind, a, b) = read::owner_columns(key);
    let sql = if is_stale {
        "INSERT OR IGNORE INTO stale (kind, a, b) VALUES (?1, ?2, ?3)"
    } else {
        "DELETE FROM stale WHERE kind = ?1 AND a = ?2 AND b = ?3"
    };
    conn.prepare_cached(sql)?.execute(params![kind, a, b]).map(drop)
}
