//! Vectors and their positions in the tree.

use graphloom_core::{ItemKind, VectorRow};
use rusqlite::{Connection, OptionalExtension, params};

use crate::sqlite::changes::{BatchKeys, VECTOR, touch};
use crate::sqlite::rows;
use crate::sqlite::vector_tree::{self, TreeInserter, TreeLimits};
use crate::vector;

pub(super) fn put_vectors(
    conn: &Connection,
    trees: TreeLimits,
    vectors: &[VectorRow],
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let mut inserter = TreeInserter::new(conn, trees);
    let mut find = conn.prepare_cached("SELECT slot FROM vectors WHERE kind = ?1 AND key = ?2")?;
    for row in vectors {
        let item = &row.entry.item;
        let (kind, key) = (rows::kind_code(item.kind()), &*item.id());
        let hash = rows::hash_column(&row.entry.inputs_hash);
        let data = vector::encode(&row.vector);
        let known: Option<i64> = find.query_row(params![kind, key], |found| found.get(0)).optional()?;
        let slot = match known {
            Some(slot) => {
                conn.prepare_cached("UPDATE vectors SET inputs_hash = ?3 WHERE kind = ?1 AND key = ?2")?
                    .execute(params![kind, key, hash])?;
                conn.prepare_cached("UPDATE vector_data SET data = ?2 WHERE slot = ?1")?
                    .execute(params![slot, data])?;
                slot
            }
            None => {
                conn.prepare_cached("INSERT INTO vector_data (data) VALUES (?1)")?.execute([&data])?;
                let slot = conn.last_insert_rowid();
                conn.prepare_cached(
                    "INSERT INTO vectors (kind, key, inputs_hash, slot) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![kind, key, hash, slot])?;
                slot
            }
        };
        inserter.put(item.kind(), (slot, key), &data, known.is_none())?;
        touch(touched, item.kind(), key, VECTOR);
    }
    inserter.finish()
}

/// Removes the vectors of all kinds with their trees, and the embedding space.
pub(super) fn remove_all_vectors(conn: &Connection, touched: &mut BatchKeys) -> rusqlite::Result<()> {
    let mut select = conn.prepare("SELECT key FROM vectors WHERE kind = ?1")?;
    for kind in ItemKind::ALL {
        let mut keys = select.query([rows::kind_code(kind)])?;
        while let Some(row) = keys.next()? {
            touch(touched, kind, row.get_ref(0)?.as_str()?, VECTOR);
        }
    }
    for table in ["vectors", "vector_data"].into_iter().chain(vector_tree::TABLES) {
        conn.execute(&format!("DELETE FROM {table}"), [])?;
    }
    conn.execute("UPDATE state SET model = NULL, dimensions = NULL", []).map(drop)
}

pub(super) fn remove_vector(
    conn: &Connection,
    trees: TreeLimits,
    kind: ItemKind,
    key: &str,
) -> rusqlite::Result<()> {
    let mut delete =
        conn.prepare_cached("DELETE FROM vectors WHERE kind = ?1 AND key = ?2 RETURNING slot")?;
    let slot: Option<i64> =
        delete.query_row(params![rows::kind_code(kind), key], |row| row.get(0)).optional()?;
    if let Some(slot) = slot {
        conn.prepare_cached("DELETE FROM vector_data WHERE slot = ?1")?.execute([slot])?;
        vector_tree::remove(conn, trees, kind, slot)?;
    }
    Ok(())
}
