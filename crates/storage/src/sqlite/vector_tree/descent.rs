//! Paths down a tree.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Result};

use super::node::{Node, Nodes};
use crate::vector::question::Question;

/// Memory for inner nodes, enough for three hundred with 384 dimensions.
const KEPT_BYTES: usize = 16 << 20;

/// Inner nodes as they were read. Successive searches mostly lead through the same ones.
#[derive(Default)]
pub(super) struct NodeReads {
    nodes: HashMap<i64, Node>,
    bytes: usize,
}

impl NodeReads {
    /// Drops a node that is about to be written.
    pub(super) fn forget(&mut self, id: i64) {
        self.bytes -= self.nodes.remove(&id).map_or(0, |node| node.size());
    }

    /// Drops all nodes, for changes to several of them.
    pub(super) fn forget_all(&mut self) {
        *self = Self::default();
    }
}

/// Descends one state of a tree.
pub(super) struct Descent<'a> {
    root: i64,
    nodes: Nodes<'a>,
    known: &'a mut NodeReads,
}

/// A path from the root, and the estimated cosine of the direction at its end.
pub(super) struct TreePath {
    pub(super) score: f32,
    pub(super) nodes: Vec<i64>,
}

impl<'a> Descent<'a> {
    /// - `known`: nodes of the same state of the tree.
    pub(super) fn new(conn: &'a Connection, root: i64, known: &'a mut NodeReads) -> Self {
        Self { root, nodes: Nodes::new(conn), known }
    }

    pub(super) fn get(&mut self, id: i64) -> Result<&Node> {
        if self.known.bytes > KEPT_BYTES {
            self.known.forget_all();
        }
        let NodeReads { nodes, bytes } = &mut *self.known;
        Ok(match nodes.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let mut node = Node::default();
                self.nodes.read(id, &mut node)?;
                *bytes += node.size();
                vacant.insert(node)
            }
        })
    }

    /// Returns the paths to the nodes of a level whose directions are nearest to the question, nearest first. Searches
    /// only `width` nodes per level.
    pub(super) fn ways(&mut self, question: &Question, level: u32, width: usize) -> Result<Vec<TreePath>> {
        let mut scores = Vec::new();
        let mut front = vec![TreePath { score: 0.0, nodes: vec![self.root] }];
        for _ in level..self.get(self.root)?.level {
            let mut next: Vec<(f32, usize, i64)> = Vec::new();
            for (at, way) in front.iter().enumerate() {
                let Some(&last) = way.nodes.last() else { continue };
                let node = self.get(last)?;
                node.score(question, &mut scores);
                next.extend(node.rows().zip(&scores).map(|(row, &score)| (score, at, row.id)));
            }
            let nearer = |one: &(f32, usize, i64), other: &(f32, usize, i64)| {
                other.0.total_cmp(&one.0).then_with(|| (one.1, one.2).cmp(&(other.1, other.2)))
            };
            let width = width.max(1);
            if next.len() > width {
                next.select_nth_unstable_by(width, nearer);
                next.truncate(width);
            }
            next.sort_unstable_by(nearer);
            let longer = |(score, at, id): (f32, usize, i64)| {
                let nodes = front[at].nodes.iter().copied().chain([id]).collect();
                TreePath { score, nodes }
            };
            front = next.into_iter().map(longer).collect();
        }
        Ok(front)
    }

    /// Returns the path to the leaf at `place`, a fraction of 2^64 of the way from the first leaf to the last. Children
    /// share the part of their parent evenly.
    pub(super) fn path_to(&mut self, mut place: u64) -> Result<Vec<i64>> {
        let mut way = vec![self.root];
        let mut last = self.root;
        for _ in 0..self.get(self.root)?.level {
            let node = self.get(last)?;
            let scaled = u128::from(place) * node.rows().count() as u128;
            let Some(child) = node.rows().nth((scaled >> 64) as usize) else { break };
            last = child.id;
            way.push(last);
            place = scaled as u64;
        }
        Ok(way)
    }
}
