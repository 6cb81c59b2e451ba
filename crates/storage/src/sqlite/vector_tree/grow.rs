//! Grows the tree of a kind that has many vectors, a part with every commit.
//!
//! Building a tree at once would block a commit, and so all writers, for seconds. So a tree starts empty when the
//! vectors of its kind become many. Each commit adds its own vectors, and some of the older ones in the order of their
//! keys. Until all vectors are in the tree, the kind is searched exactly. Each commit adds at least one older vector
//! for every few new ones, which limits how many there can be by then.

use graphloom_core::ItemKind;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::super::rows;
use super::descent::NodeReads;
use super::node::{Form, Nodes};
use super::put::Builder;
use super::{TreeLimits, remove_tree};

/// New vectors in a commit for each older one that it adds to a growing tree. So growing costs a fraction of the commit
/// itself, and the tree is complete before the kind has `NEW_FOR_OLDER + 1` times as many vectors as when it started.
const NEW_FOR_OLDER: usize = 4;

/// Starts the tree of a kind whose vectors have the dimensions of `data`. Returns the root.
pub(super) fn begin(conn: &Connection, limits: TreeLimits, kind: ItemKind, data: &[u8]) -> Result<i64> {
    conn.prepare_cached("INSERT OR REPLACE INTO growing_trees (kind, after) VALUES (?1, '')")?
        .execute([rows::kind_code(kind)])?;
    Nodes::new(conn).create(limits.node_rows, Form::of_leaf(data), &[])
}

/// True if the tree of this kind does not have all vectors yet.
pub(super) fn is_growing(conn: &Connection, kind: ItemKind) -> Result<bool> {
    after(conn, kind).map(|after| after.is_some())
}

/// Adds older vectors to a growing tree, after a commit that added `new` ones. Returns the root.
pub(super) fn go_on(
    conn: &Connection,
    limits: TreeLimits,
    known: &mut NodeReads,
    kind: ItemKind,
    mut root: i64,
    new: usize,
) -> Result<i64> {
    let Some(after) = after(conn, kind)? else { return Ok(root) };
    let most = (new / NEW_FOR_OLDER).max(limits.grown_by);
    let mut select = conn.prepare_cached(
        "SELECT v.key, v.slot, x.data FROM vectors v JOIN vector_data x ON x.slot = v.slot
            WHERE v.kind = ?1 AND v.key > ?2 AND v.slot NOT IN (SELECT slot FROM vector_places)
            ORDER BY v.key LIMIT ?3",
    )?;
    // One more row shows whether any are left.
    let older = select.query_map(params![rows::kind_code(kind), after, most as i64 + 1], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let mut older: Vec<(String, i64, Vec<u8>)> = older.collect::<Result<_>>()?;
    let is_left = older.len() > most;
    older.truncate(most);
    for (key, slot, data) in &older {
        root = Builder { conn, limits, root, known }.put(*slot, key, data)?;
    }
    match older.last().filter(|_| is_left) {
        Some((last, ..)) => {
            conn.prepare_cached("UPDATE growing_trees SET after = ?2 WHERE kind = ?1")?
                .execute(params![rows::kind_code(kind), last])?;
        }
        None => {
            end(conn, kind)?;
            tracing::info!(?kind, "there are many vectors; a tree searches them from now on");
        }
    }
    Ok(root)
}

/// Removes the tree of a kind that has few vectors again, complete or not.
pub(super) fn abandon(conn: &Connection, kind: ItemKind, root: i64) -> Result<()> {
    end(conn, kind)?;
    remove_tree(conn, root)
}

/// Returns the key up to which older vectors are in the tree. `None` if all are.
fn after(conn: &Connection, kind: ItemKind) -> Result<Option<String>> {
    let mut select = conn.prepare_cached("SELECT after FROM growing_trees WHERE kind = ?1")?;
    select.query_row([rows::kind_code(kind)], |row| row.get(0)).optional()
}

fn end(conn: &Connection, kind: ItemKind) -> Result<()> {
    let mut delete = conn.prepare_cached("DELETE FROM growing_trees WHERE kind = ?1")?;
    delete.execute([rows::kind_code(kind)]).map(drop)
}
