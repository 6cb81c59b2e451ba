//! Puts vectors into a tree.

use rusqlite::{Connection, Result, params};

use super::descent::{Descent, NodeReads};
use super::node::{self, Form, Node, Nodes};
use super::{TreeLimits, settle, split};
use crate::vector::question::Question;

/// The direction of a node is computed again each time it has gained this many rows, because they may have another subject.
const ROWS_A_DIRECTION: usize = 8;

/// Puts vectors into one tree.
pub(super) struct Builder<'a> {
    pub(super) conn: &'a Connection,
    pub(super) limits: TreeLimits,
    pub(super) root: i64,
    /// Nodes of the tree in its current state.
    pub(super) known: &'a mut NodeReads,
}

impl Builder<'_> {
    /// Puts a vector that is not in the tree yet, and returns the root.
    pub(super) fn put(mut self, slot: i64, key: &str, data: &[u8]) -> Result<i64> {
        let row = node::row_of(slot, data);
        let question = Question::new(&node::direction(&row));
        let width = self.limits.insert_width;
        let ways = Descent::new(self.conn, self.root, self.known).ways(&question, 0, width)?;
        let mut path = ways.into_iter().next().map(|way| way.nodes).unwrap_or_default();
        let Some(leaf) = path.pop() else { return Ok(self.root) };
        self.conn
            .prepare_cached("INSERT INTO vector_places (slot, leaf, key) VALUES (?1, ?2, ?3)")?
            .execute(params![slot, leaf, key])?;
        self.add(path, leaf, &row)?;
        Ok(self.root)
    }

    /// Adds a row to a node below `path`. If the node is full, it is split and its parent gets one more child.
    fn add(&mut self, mut path: Vec<i64>, at: i64, row: &[u8]) -> Result<()> {
        let mut nodes = Nodes::new(self.conn);
        let mut node = Node::default();
        if let Some(rows) = nodes.append(at, row)? {
            self.known.forget(at);
            let Some(&parent) = path.last().filter(|_| rows.is_multiple_of(ROWS_A_DIRECTION)) else {
                return Ok(());
            };
            self.known.forget(parent);
            return settle::direct(self.conn, [(at, parent)]);
        }
        self.known.forget_all();
        nodes.read(at, &mut node)?;
        let form = node.form();
        let level = form.level;
        let mut all = node.bytes().to_vec();
        all.extend_from_slice(row);
        let split = split::in_two(&all, row.len());
        nodes.write(at, &split.stay)?;
        let new = nodes.create(self.limits.node_rows, form, &split.go)?;
        if level == 0 {
            node::rows_in(&split.go, row.len()).try_for_each(|gone| self.note_place(gone.id, new))?;
        }
        let stay = node::row_of_direction(at, &split.stay_direction);
        let go = node::row_of_direction(new, &split.go_direction);
        match path.pop() {
            Some(parent) => {
                nodes.replace(parent, at, &stay)?;
                self.add(path, parent, &go)?;
            }
            None => {
                let both = [stay.as_slice(), go.as_slice()].concat();
                let above = Form { level: level + 1, is_packed: false, ..form };
                self.root = nodes.create(self.limits.node_rows, above, &both)?;
            }
        }
        settle::after_split(self, level, [at, new], &split::direction_of(&all, row.len()))?;
        if level == 0 {
            settle::leaves_in_turn(self, new.cast_unsigned())?;
        }
        Ok(())
    }

    pub(super) fn note_place(&self, slot: i64, leaf: i64) -> Result<()> {
        let mut update = self.conn.prepare_cached("UPDATE vector_places SET leaf = ?2 WHERE slot = ?1")?;
        update.execute([slot, leaf]).map(drop)
    }
}
