//! The vector tree: the coarse parts of a kind's vectors in the file, by nearness, so that a search of many reads few.
//!
//! A B-tree by direction in place of order: a leaf holds vectors that are near to each other, an inner node the
//! directions of its children. A vector goes down to the leaf whose direction is nearest; a node that is full is split in two
//! by direction, its parent gets one child more, up to the root, and rows near the split move to the direction that is nearest
//! now. So a commit touches a few pages whatever the number of vectors, and the tree is part of what a snapshot sees: nothing
//! is built when opened, and memory holds only nodes that were read lately.
//!
//! A search goes down to the leaves whose directions are nearest to the question's and reads them whole. What it misses is
//! what lies far from its leaf's direction; what it finds is scored and ordered exactly. Kinds of few vectors have no tree and
//! are searched exactly (`vectors.rs`), and so are those whose tree is still growing (`grow.rs`).
//!
//! Sources: Nister, Stewenius, "Scalable Recognition with a Vocabulary Tree", CVPR 2006 (the tree); Xu et al., "SPFresh:
//! Incremental In-Place Update for Billion-Scale Vector Search", SOSP 2023 (splitting in place of training again).

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

/// The tables of the trees, which hold nothing else.
pub(super) const TABLES: [&str; 4] = ["vector_trees", "growing_trees", "vector_places", "vector_nodes"];

/// When there is a tree, and how it is made and searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeLimits {
    /// Vectors of a kind that are searched exactly; of more there is a tree, of less than half of it none any more.
    pub(super) exact_vectors: u64,
    /// Older vectors that a commit puts into a growing tree at least.
    pub(super) grown_by: usize,
    /// Rows of a node.
    pub(super) node_rows: usize,
    /// Inner nodes of a level that a search goes on from, and that a new vector may go down through.
    pub(super) search_width: usize,
    pub(super) insert_width: usize,
    /// Nodes near to a split one whose rows are compared with the two that it became.
    pub(super) settle_width: usize,
    /// Leaves gone through again with every split of a leaf. With eight, each leaf has its turn about once while a tree gains a tenth.
    pub(super) settle_leaves: u64,
    /// Leaves that a search reads at least.
    pub(super) leaves: usize,
    /// Leaves are read for every so many hits wanted.
    pub(super) hits_a_leaf: usize,
    /// Allowed entries up to which each is compared with the question, tree or no tree.
    pub(super) exact_allowed: usize,
    /// Rows of leaves that are gone through in the time of looking one vector up by its id.
    pub(super) rows_a_look_up: usize,
    /// Memory for nodes that were read lately.
    pub(super) cache_bytes: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            exact_vectors: 32 << 10,
            // Some tenth of a second of work.
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

/// A kind's vectors, counted, and the root of its tree.
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

/// The root of the kind's tree; `None` where it has few vectors, or not all of them are in the tree yet.
pub(super) fn root(conn: &Connection, kind: ItemKind) -> Result<Option<i64>> {
    match Tree::read(conn, kind)?.root {
        Some(root) if !grow::is_growing(conn, kind)? => Ok(Some(root)),
        _ => Ok(None),
    }
}

/// Puts vectors into the trees of a file, which nothing else changes meanwhile.
pub(super) struct Planter<'a> {
    conn: &'a Connection,
    limits: TreeLimits,
    known: NodeReads,
    /// How many vectors of each kind were put.
    put: BTreeMap<ItemKind, usize>,
}

impl<'a> Planter<'a> {
    pub(super) fn new(conn: &'a Connection, limits: TreeLimits) -> Self {
        Self { conn, limits, known: NodeReads::default(), put: BTreeMap::new() }
    }

    /// Notes a vector that was stored under `slot`; where there was one, `is_new` is false and it is replaced.
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

    /// Ends the changes of a commit: trees that are growing get some of the older vectors.
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

/// Notes that the vector of this slot is gone.
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

/// Counts the vectors of a file that has no trees yet, and makes those that are due.
pub(super) fn plant_all(conn: &Connection, limits: TreeLimits) -> Result<()> {
    for kind in ItemKind::ALL {
        let mut count = conn.prepare("SELECT count(*), min(slot) FROM vectors WHERE kind = ?1")?;
        let (vectors, slot): (u64, Option<i64>) =
            count.query_row([rows::kind_code(kind)], |row| Ok((rows::unsigned(row, 0)?, row.get(1)?)))?;
        let mut tree = Tree { vectors, root: None };
        if let Some(slot) = slot.filter(|_| vectors > limits.exact_vectors) {
            let mut select = conn.prepare("SELECT data FROM vector_data WHERE slot = ?1")?;
            let data: Vec<u8> = select.query_row([slot], |row| row.get(0))?;
            tree.root = Some(plant(conn, limits, kind, &data)?);
        }
        tree.write(conn, kind)?;
    }
    Ok(())
}

/// Packs the leaves of trees of sparse vectors, which a file of an older release does not have packed.
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
            // One that cannot be read must not keep the file from being opened; `check` says what is wrong.
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

/// Makes the tree of all vectors of a kind, which are of `data`'s dimensions.
fn plant(conn: &Connection, limits: TreeLimits, kind: ItemKind, data: &[u8]) -> Result<i64> {
    let mut root = Nodes::new(conn).create(limits.node_rows, Form::of_leaf(data), &[])?;
    let mut known = NodeReads::default();
    vectors::for_each_of_kind(conn, kind, |key, slot, data| {
        root = Builder { conn, limits, root, known: &mut known }.put(slot, key, data)?;
        Ok(())
    })?;
    Ok(root)
}

/// What of the trees does not fit the vectors that they are made of. The directions of inner nodes only say where to
/// look first, and are not compared.
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
            // Until a tree has grown, older vectors have no place in it.
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

/// How many vectors of a kind have a place in its tree.
fn count_places(conn: &Connection, kind: ItemKind) -> Result<u64> {
    let mut count = conn.prepare(
        "SELECT count(*) FROM vectors v JOIN vector_places p ON p.slot = v.slot WHERE v.kind = ?1",
    )?;
    count.query_row([rows::kind_code(kind)], |row| rows::unsigned(row, 0))
}

/// Compares the rows of a tree's leaves with the stored vectors; returns how many there are.
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
fn fell(conn: &Connection, root: i64) -> Result<()> {
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

/// Takes a vector out of its leaf. A leaf that becomes empty stays, for what will be near to it.
fn take_out(conn: &Connection, slot: i64) -> Result<()> {
    let mut delete = conn.prepare_cached("DELETE FROM vector_places WHERE slot = ?1 RETURNING leaf")?;
    let leaf: Option<i64> = delete.query_row([slot], |row| row.get(0)).optional()?;
    match leaf {
        Some(leaf) => Nodes::new(conn).remove(leaf, slot),
        None => Ok(()),
    }
}
