//! The vector tree: the coarse parts of a kind's vectors in the file, grouped by nearness, so that a search in many
//! vectors reads few.
//!
//! It is a B-tree ordered by direction: a leaf has vectors that are near to each other, and an inner node has the
//! directions of its children. A vector descends to the leaf with the nearest direction. A full node is split in two by
//! direction, and its parent gets one more child, up to the root. Rows near the split move to the direction that is now
//! nearest. So a commit touches a few pages whatever the number of vectors, and the tree is part of the snapshot:
//! nothing is built on opening, and memory has only recently read nodes.
//!
//! A search descends to the leaves whose directions are nearest to the question's and reads them whole. It misses
//! vectors that are far from the direction of their leaf. Everything it finds is scored and ordered exactly. Kinds with
//! few vectors have no tree and are searched exactly (`vectors.rs`), and so are kinds whose tree is still growing
//! (`grow.rs`).
//!
//! Sources: Nister, Stewenius, "Scalable Recognition with a Vocabulary Tree", CVPR 2006 (the tree); Xu et al.,
//! "SPFresh: Incremental In-Place Update for Billion-Scale Vector Search", SOSP 2023 (splitting instead of training
//! again).

mod cache;
mod descent;
mod grow;
mod node;
mod put;
mod search;
mod settle;
mod split;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use graphloom_core::ItemKind;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::{rows, vectors};
use crate::vector;
pub(super) use cache::NodeCache;
use descent::NodeReads;
use node::{Form, Node, Nodes};
use put::Builder;
pub(super) use search::TreeSearch;

/// The tables of the trees, which contain nothing else.
pub(super) const TABLES: [&str; 4] = ["vector_trees", "growing_trees", "vector_places", "vector_nodes"];

/// When a kind has a tree, and how the tree is built and searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeLimits {
    /// Most vectors of a kind that are searched exactly. With more, the kind gets a tree. With less than half of it,
    /// the tree is removed.
    pub(super) exact_vectors: u64,
    /// Fewest older vectors that a commit adds to a growing tree.
    pub(super) grown_by: usize,
    /// Rows per node.
    pub(super) node_rows: usize,
    /// Inner nodes per level through which a search continues, and through which a new vector may descend.
    pub(super) search_width: usize,
    pub(super) insert_width: usize,
    /// Nodes near a split node whose rows are compared with its two parts.
    pub(super) settle_width: usize,
    /// Leaves that are checked again with every split of a leaf. With eight, each leaf is checked about once while a
    /// tree grows by a tenth.
    pub(super) settle_leaves: u64,
    /// Fewest leaves that a search reads.
    pub(super) leaves: usize,
    /// A search reads one leaf for this many requested hits.
    pub(super) hits_a_leaf: usize,
    /// Most allowed entries that are always compared with the question one by one, with or without a tree.
    pub(super) exact_allowed: usize,
    /// Rows of leaves that can be scored in the time of looking up one vector by its id.
    pub(super) rows_a_look_up: usize,
    /// Memory for recently read nodes.
    pub(super) cache_bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            exact_vectors: 32 << 10,
            // About a tenth of a second of work.
            grown_by: 256,
            node_rows: 128,
            search_width: 64,
            insert_width: 16,
            settle_width: 32,
            settle_leaves: 8,
            leaves: 64,
            hits_a_leaf: 4,
            exact_allowed: 4096,
            rows_a_look_up: 40,
            cache_bytes: 64 << 20,
        }
    }
}

/// The number of vectors of a kind, and the root of its tree.
#[derive(Debug, Clone, Copy, Default)]
struct Tree {
    vectors: u64,
    root: Option<i64>,
}

impl Tree {
    fn read(conn: &Connection, kind: ItemKind) -> Result<Self> {
        let mut select = conn.prepare_cached("SELECT vectors, root FROM vector_trees WHERE kind = ?1")?;
        let tree = select.query_row([rows::kind_code(kind)], |row| {
            Ok(Self { vectors: rows::unsigned(row, 0)?, root: row.get(1)? })
        });
        Ok(tree.optional()?.unwrap_or_default())
    }

    fn write(self, conn: &Connection, kind: ItemKind) -> Result<()> {
        conn.prepare_cached("INSERT OR REPLACE INTO vector_trees (kind, vectors, root) VALUES (?1, ?2, ?3)")?
            .execute(params![rows::kind_code(kind), rows::signed(self.vectors), self.root])
            .map(drop)
    }
}

/// Returns the root of the kind's tree. `None` if it has few vectors, or if the tree does not have all of them yet.
pub(super) fn root(conn: &Connection, kind: ItemKind) -> Result<Option<i64>> {
    match Tree::read(conn, kind)?.root {
        Some(root) if !grow::is_growing(conn, kind)? => Ok(Some(root)),
        _ => Ok(None),
    }
}

/// Puts vectors into the trees of a file. Nothing else may change the trees at the same time.
pub(super) struct TreeInserter<'a> {
    conn: &'a Connection,
    limits: TreeLimits,
    known: NodeReads,
    /// Number of vectors put, by kind.
    put: BTreeMap<ItemKind, usize>,
}

impl<'a> TreeInserter<'a> {
    pub(super) fn new(conn: &'a Connection, limits: TreeLimits) -> Self {
        Self { conn, limits, known: NodeReads::default(), put: BTreeMap::new() }
    }

    /// Puts a vector that was stored under `slot`. `is_new` is false if it replaces an older one.
    pub(super) fn put(
        &mut self,
        kind: ItemKind,
        (slot, key): (i64, &str),
        data: &[u8],
        is_new: bool,
    ) -> Result<()> {
        let Self { conn, limits, known, put } = self;
        *put.entry(kind).or_default() += 1;
        let mut tree = Tree::read(conn, kind)?;
        if is_new {
            tree.vectors += 1;
        }
        if tree.root.is_none() {
            if tree.vectors > limits.exact_vectors {
                tree.root = Some(grow::begin(conn, *limits, kind, data)?);
            } else if !is_new {
                return Ok(());
            }
        }
        if let Some(root) = tree.root {
            if !is_new {
                take_out(conn, slot)?;
            }
            tree.root = Some(Builder { conn, limits: *limits, root, known }.put(slot, key, data)?);
        }
        tree.write(conn, kind)
    }

    /// Ends the changes of a commit: growing trees get some of the older vectors.
    pub(super) fn finish(self) -> Result<()> {
        let Self { conn, limits, mut known, put } = self;
        for (kind, new) in put {
            let mut tree = Tree::read(conn, kind)?;
            if let Some(root) = tree.root {
                tree.root = Some(grow::go_on(conn, limits, &mut known, kind, root, new)?);
                tree.write(conn, kind)?;
            }
        }
        Ok(())
    }
}

/// Removes the vector of this slot from its tree.
pub(super) fn remove(conn: &Connection, limits: TreeLimits, kind: ItemKind, slot: i64) -> Result<()> {
    let mut tree = Tree::read(conn, kind)?;
    tree.vectors = tree.vectors.saturating_sub(1);
    if let Some(root) = tree.root {
        take_out(conn, slot)?;
        if tree.vectors < limits.exact_vectors / 2 {
            grow::abandon(conn, kind, root)?;
            tree.root = None;
        }
    }
    tree.write(conn, kind)
}

/// Counts the vectors of a file without trees, and builds the trees that are due.
pub(super) fn build_trees(conn: &Connection, limits: TreeLimits) -> Result<()> {
    for kind in ItemKind::ALL {
        let mut count = conn.prepare("SELECT count(*), min(slot) FROM vectors WHERE kind = ?1")?;
        let (vectors, slot): (u64, Option<i64>) =
            count.query_row([rows::kind_code(kind)], |row| Ok((rows::unsigned(row, 0)?, row.get(1)?)))?;
        let mut tree = Tree { vectors, root: None };
        if let Some(slot) = slot.filter(|_| vectors > limits.exact_vectors) {
            let mut select = conn.prepare("SELECT data FROM vector_data WHERE slot = ?1")?;
            let data: Vec<u8> = select.query_row([slot], |row| row.get(0))?;
            tree.root = Some(build_tree(conn, limits, kind, &data)?);
        }
        tree.write(conn, kind)?;
    }
    Ok(())
}

/// Packs the leaves of trees of sparse vectors, which older releases did not pack.
pub(super) fn pack_leaves(conn: &Connection) -> Result<()> {
    for kind in ItemKind::ALL {
        let Some(root) = Tree::read(conn, kind)?.root else { continue };
        let mut select = conn.prepare(
            "SELECT x.data FROM vectors v JOIN vector_data x ON x.slot = v.slot WHERE v.kind = ?1 LIMIT 1",
        )?;
        let data: Option<Vec<u8>> = select.query_row([rows::kind_code(kind)], |row| row.get(0)).optional()?;
        if !data.is_some_and(|data| vector::is_sparse(&data)) {
            continue;
        }
        let (mut open, mut nodes, mut node) = (vec![root], Nodes::new(conn), Node::default());
        while let Some(id) = open.pop() {
            // An unreadable node must not keep the file from being opened. `check` reports it.
            if nodes.read(id, &mut node).is_err() {
                continue;
            }
            match node.level {
                0 => nodes.pack(id, &node)?,
                _ => open.extend(node.rows().map(|row| row.id)),
            }
        }
    }
    Ok(())
}

/// Builds the tree of all vectors of a kind, which have the dimensions of `data`.
fn build_tree(conn: &Connection, limits: TreeLimits, kind: ItemKind, data: &[u8]) -> Result<i64> {
    let mut root = Nodes::new(conn).create(limits.node_rows, Form::of_leaf(data), &[])?;
    let mut known = NodeReads::default();
    vectors::for_each_of_kind(conn, kind, |key, slot, data| {
        root = Builder { conn, limits, root, known: &mut known }.put(slot, key, data)?;
        Ok(())
    })?;
    Ok(root)
}

/// Returns differences between the trees and the vectors that they were built from. The directions of inner nodes only
/// say where to look first, and are not compared.
pub(super) fn contradictions(conn: &Connection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for kind in ItemKind::ALL {
        let mut count = conn.prepare("SELECT count(*) FROM vectors WHERE kind = ?1")?;
        let vectors = count.query_row([rows::kind_code(kind)], |row| rows::unsigned(row, 0))?;
        let tree = Tree::read(conn, kind)?;
        if tree.vectors != vectors {
            found.push(format!("{kind:?}: it counts {} vectors, there are {vectors}", tree.vectors));
        }
        if let Some(root) = tree.root {
            let in_leaves = compare_leaves(conn, kind, root, &mut found)?;
            // While a tree is growing, older vectors have no place in it.
            let places = match grow::is_growing(conn, kind)? {
                true => count_places(conn, kind)?,
                false => vectors,
            };
            if in_leaves != places {
                found.push(format!("{kind:?}: {in_leaves} of {places} vectors are in its leaves"));
            }
        }
    }
    Ok(found)
}

/// Returns the number of vectors of a kind that have a place in its tree.
fn count_places(conn: &Connection, kind: ItemKind) -> Result<u64> {
    let mut count = conn.prepare(
        "SELECT count(*) FROM vectors v JOIN vector_places p ON p.slot = v.slot WHERE v.kind = ?1",
    )?;
    count.query_row([rows::kind_code(kind)], |row| rows::unsigned(row, 0))
}

/// Compares the rows of a tree's leaves with the stored vectors. Returns the number of rows.
fn compare_leaves(conn: &Connection, kind: ItemKind, root: i64, found: &mut Vec<String>) -> Result<u64> {
    let mut place = conn.prepare("SELECT leaf FROM vector_places WHERE slot = ?1")?;
    let mut stored = conn.prepare(vectors::STORED)?;
    let (mut open, mut seen, mut count) = (vec![(root, None)], std::collections::HashSet::new(), 0);
    let mut node = Node::default();
    while let Some((id, level)) = open.pop() {
        let is_read = seen.insert(id) && Nodes::new(conn).read(id, &mut node).is_ok();
        if !is_read || level.is_some_and(|level| node.level != level) {
            found.push(format!("{kind:?}: node {id} is not one of this tree"));
            continue;
        }
        if node.level > 0 {
            open.extend(node.rows().map(|row| (row.id, Some(node.level - 1))));
            continue;
        }
        for row in node.rows() {
            count += 1;
            let leaf: Option<i64> = place.query_row([row.id], |found| found.get(0)).optional()?;
            let is_same = stored
                .query_row([row.id], |stored| {
                    Ok(node.row(row.id) == Some(&node::row_of(row.id, vectors::stored_of(stored)?)))
                })
                .optional()?;
            if leaf != Some(id) || is_same != Some(true) {
                found.push(format!("{kind:?}: slot {} in node {id} is not the stored vector", row.id));
            }
        }
    }
    Ok(count)
}

/// Removes a tree.
fn remove_tree(conn: &Connection, root: i64) -> Result<()> {
    let mut open = vec![root];
    let mut node = Node::default();
    while let Some(id) = open.pop() {
        Nodes::new(conn).read(id, &mut node)?;
        let ids = node.rows().map(|row| row.id);
        if node.level > 0 {
            open.extend(ids);
        } else {
            let mut delete = conn.prepare_cached("DELETE FROM vector_places WHERE slot = ?1")?;
            ids.into_iter().try_for_each(|slot| delete.execute([slot]).map(drop))?;
        }
        conn.prepare_cached("DELETE FROM vector_nodes WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Removes a vector from its leaf. An empty leaf stays for later vectors near it.
fn take_out(conn: &Connection, slot: i64) -> Result<()> {
    let mut delete = conn.prepare_cached("DELETE FROM vector_places WHERE slot = ?1 RETURNING leaf")?;
    let leaf: Option<i64> = delete.query_row([slot], |row| row.get(0)).optional()?;
    match leaf {
        Some(leaf) => Nodes::new(conn).remove(leaf, slot),
        None => Ok(()),
    }
}
