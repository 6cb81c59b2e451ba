//! Rejects batches that would leave entities and relations without evidence.

use std::collections::BTreeSet;

use graphloom_core::{Batch, EntityKey, GraphKey, RelationKey, StoreError};
use rusqlite::{Connection, Row};

use crate::rules;
use crate::sqlite::descriptions;
use crate::sqlite::error::Context;

/// SQL for the number of a chunk.
const OF_CHUNK: &str = "(SELECT id FROM chunks WHERE key = ?1)";

/// Returns entities and relations that lose evidence in the batch and that the batch does not change otherwise. Runs
/// before the batch is applied.
pub(super) fn at_risk(conn: &Connection, batch: &Batch) -> Result<BTreeSet<GraphKey>, StoreError> {
    let find = || {
        let mut at_risk = BTreeSet::new();
        for key in rules::left_as_they_are(batch, losing(conn, batch)?) {
            if has_evidence(conn, &key)? {
                at_risk.insert(key);
            }
        }
        Ok(at_risk)
    };
    find().during("finding what loses evidence")
}

/// Writes descriptions out in full if they repeat records that a batch removes or overwrites.
pub(super) fn write_out(conn: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let write = || {
        let mut losing = losing(conn, batch)?;
        for chunk in descriptions::written_over(batch) {
            add(conn, OF_CHUNK, chunk.as_str(), &mut losing)?;
        }
        descriptions::write_out(conn, &rules::left_as_they_are(batch, losing))
    };
    write().during("writing out what descriptions repeat")
}

/// Returns the entities and relations with evidence in documents and chunks that the batch takes out of the graph.
/// Reads only indexes.
fn losing(conn: &Connection, batch: &Batch) -> rusqlite::Result<BTreeSet<GraphKey>> {
    let mut losing = BTreeSet::new();
    let of_document = "(SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE d.key = ?1)";
    for id in &batch.remove_documents {
        add(conn, of_document, id.as_str(), &mut losing)?;
    }
    for id in &batch.clear_graph_of {
        add(conn, OF_CHUNK, id.as_str(), &mut losing)?;
    }
    Ok(losing)
}

fn add(conn: &Connection, chunks: &str, id: &str, losing: &mut BTreeSet<GraphKey>) -> rusqlite::Result<()> {
    let mut mentions =
        conn.prepare_cached(&format!("SELECT DISTINCT entity FROM mentions WHERE chunk IN {chunks}"))?;
    let mut found = mentions.query([id])?;
    while let Some(row) = found.next()? {
        losing.insert(GraphKey::Entity(entity(row, 0)?));
    }
    let mut facts =
        conn.prepare_cached(&format!("SELECT DISTINCT a, b FROM facts WHERE chunk IN {chunks}"))?;
    let mut found = facts.query([id])?;
    while let Some(row) = found.next()? {
        let (a, b) = (entity(row, 0)?, entity(row, 1)?);
        losing.extend([GraphKey::Entity(a.clone()), GraphKey::Entity(b.clone())]);
        losing.extend(RelationKey::new(a, b).map(GraphKey::Relation));
    }
    Ok(())
}

fn entity(row: &Row<'_>, at: usize) -> rusqlite::Result<EntityKey> {
    Ok(EntityKey::from_stored(row.get_ref(at)?.as_str()?))
}

/// Fails if one of these has a view but no evidence after the batch was applied.
pub(super) fn refuse(conn: &Connection, at_risk: &BTreeSet<GraphKey>) -> Result<(), StoreError> {
    for key in at_risk {
        let is_ghost = has_view(conn, key).and_then(|has| Ok(has && !has_evidence(conn, key)?));
        if is_ghost.during("looking for views without evidence")? {
            return Err(rules::ghost(key));
        }
    }
    Ok(())
}

fn has_view(conn: &Connection, key: &GraphKey) -> rusqlite::Result<bool> {
    match key {
        GraphKey::Entity(key) => {
            conn.prepare_cached("SELECT 1 FROM entities WHERE key = ?1")?.exists([key.as_str()])
        }
        GraphKey::Relation(key) => conn
            .prepare_cached("SELECT 1 FROM relations WHERE a = ?1 AND b = ?2")?
            .exists([key.a().as_str(), key.b().as_str()]),
    }
}

fn has_evidence(conn: &Connection, key: &GraphKey) -> rusqlite::Result<bool> {
    match key {
        GraphKey::Entity(key) => conn
            .prepare_cached(
                // Facts whose larger end is this entity are found through its relations. The last condition is for
                // facts without a relation.
                "SELECT 1 WHERE EXISTS (SELECT 1 FROM mentions WHERE entity = ?1 AND set_aside = 0)
                    OR EXISTS (SELECT 1 FROM facts WHERE a = ?1 AND set_aside = 0)
                    OR EXISTS (SELECT 1 FROM relations r JOIN facts f ON f.a = r.a AND f.b = r.b
                        WHERE r.b = ?1 AND f.set_aside = 0)
                    OR EXISTS (SELECT 1 FROM facts WHERE b = ?1 AND set_aside = 0)",
            )?
            .exists([key.as_str()]),
        GraphKey::Relation(key) => conn
            .prepare_cached("SELECT 1 FROM facts WHERE a = ?1 AND b = ?2 AND set_aside = 0")?
            .exists([key.a().as_str(), key.b().as_str()]),
    }
}
