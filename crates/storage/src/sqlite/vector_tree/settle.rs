//! Moves rows to the nearest direction.
//!
//! A new row descends to the leaf that is nearest at that time. Later, directions move and nodes are split: of a
//! million rows, a third ended up where a search did not look for them. Changes near a split are corrected at the
//! split. Rows that were added while there were few leaves would stay among strangers forever, because their leaf gets
//! no more rows and is never split. So with every split, some leaves are checked again in turn.
//!
//! Source: Xu et al., "SPFresh: Incremental In-Place Update for Billion-Scale Vector Search", SOSP 2023, section 4.2
//! (reassigning after a split; checking the other leaves is ours). Children of inner nodes are moved like rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};

use super::descent::{Descent, NodeReads};
use super::node::{self, Node, Nodes};
use super::put::Builder;
use crate::vector::question::Question;

/// Inner nodes per level through which a row is searched for again.
const LOOK_WIDTH: usize = 4;

/// A node near a split one, or one of its two parts.
struct Neighbour {
    id: i64,
    parent: i64,
    is_part: bool,
    direction: Question,
    node: Node,
}

/// A row to move from one of the nearby nodes to another, whose direction is nearer by `gain`.
struct Move {
    gain: f32,
    from: usize,
    row: usize,
    to: usize,
}

/// Moves rows between the `parts` of a split node and the nodes nearby, each to the nearest direction. A full node gets
/// no more rows, and no node gives up its last row.
pub(super) fn after_split(
    builder: &Builder<'_>,
    level: u32,
    parts: [i64; 2],
    direction: &[f32],
) -> Result<()> {
    let around = around(builder, level, parts, direction)?;
    let mut nodes = Nodes::new(builder.conn);
    let mut left: Vec<usize> = around.iter().map(|here| here.node.rows().count()).collect();
    let mut changed = BTreeMap::new();
    for Move { from, row, to, .. } in moves(&around) {
        let row = around[from].node.row_bytes(row);
        if left[from] <= 1 || nodes.append(around[to].id, row)?.is_none() {
            continue;
        }
        nodes.remove(around[from].id, node::id_of(row))?;
        if level == 0 {
            builder.note_place(node::id_of(row), around[to].id)?;
        }
        left[from] -= 1;
        left[to] += 1;
        changed.extend([from, to].map(|at| (around[at].id, around[at].parent)));
    }
    direct(builder.conn, changed)
}

/// Returns the nodes of a level that are nearest to where the split node was.
fn around(builder: &Builder<'_>, level: u32, parts: [i64; 2], direction: &[f32]) -> Result<Vec<Neighbour>> {
    let mut known = NodeReads::default();
    let mut descent = Descent::new(builder.conn, builder.root, &mut known);
    let mut nodes = Nodes::new(builder.conn);
    let mut around = Vec::new();
    for way in descent.ways(&Question::new(direction), level, builder.limits.settle_width)? {
        let [.., parent, id] = way.nodes[..] else { continue };
        let Some(direction) = descent.get(parent)?.row(id).map(node::direction) else { continue };
        let mut node = Node::default();
        nodes.read(id, &mut node)?;
        let is_part = parts.contains(&id);
        around.push(Neighbour { id, parent, is_part, direction: Question::new(&direction), node });
    }
    Ok(around)
}

/// Returns the rows that are not at the nearest direction, greatest gain first. Rows of the split node are compared
/// with all nearby nodes, rows of other nodes only with the two parts, because nothing changed between the others.
fn moves(around: &[Neighbour]) -> Vec<Move> {
    let mut moves = Vec::new();
    let (mut own, mut scores) = (Vec::new(), Vec::new());
    for (from, here) in around.iter().enumerate() {
        here.node.score(&here.direction, &mut own);
        let mut best: Vec<(f32, usize)> = own.iter().map(|&score| (score, from)).collect();
        for (to, there) in around.iter().enumerate().filter(|(_, there)| here.is_part || there.is_part) {
            here.node.score(&there.direction, &mut scores);
            for (best, &score) in best.iter_mut().zip(&scores) {
                if score > best.0 {
                    *best = (score, to);
                }
            }
        }
        let nearer = best.iter().zip(&own).enumerate().filter(|(_, ((_, to), _))| *to != from);
        moves.extend(nearer.map(|(row, (&(score, to), own))| Move { gain: score - own, from, row, to }));
    }
    moves.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    moves
}

/// Searches for the rows of some leaves again from the root, and moves rows for which a narrow search finds a nearer leaf.
///
/// - `turn`: grows by one or more from call to call. Over many calls, every leaf is chosen.
pub(super) fn leaves_in_turn(builder: &Builder<'_>, turn: u64) -> Result<()> {
    let leaves = builder.limits.settle_leaves;
    let first = turn.wrapping_mul(leaves);
    (0..leaves).try_for_each(|n| one_leaf(builder, place_of(first.wrapping_add(n))))
}

/// Returns the place for this turn: a multiple of the golden ratio as a fraction. Any run of turns, even of every
/// second or third one, is spread evenly.
pub(super) fn place_of(turn: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    turn.wrapping_mul(GOLDEN)
}

/// Checks one leaf.
///
/// - `place`: of the leaf, see [`Descent::path_to`].
fn one_leaf(builder: &Builder<'_>, place: u64) -> Result<()> {
    let mut known = NodeReads::default();
    let mut descent = Descent::new(builder.conn, builder.root, &mut known);
    let way = descent.path_to(place)?;
    let [.., parent, leaf] = way[..] else { return Ok(()) };
    let Some(own) = descent.get(parent)?.row(leaf).map(node::direction) else { return Ok(()) };
    let (own, mut scores) = (Question::new(&own), Vec::new());
    let (mut nodes, mut node) = (Nodes::new(builder.conn), Node::default());
    nodes.read(leaf, &mut node)?;
    node.score(&own, &mut scores);
    let mut left = scores.len();
    let mut changed = BTreeMap::new();
    for (place, own) in scores.into_iter().enumerate() {
        let row = node.row_bytes(place);
        let found = descent.ways(&Question::new(&node::direction(row)), 0, LOOK_WIDTH)?;
        let Some(nearest) = found.first().filter(|way| way.score > own) else { continue };
        let [.., to_parent, to] = nearest.nodes[..] else { continue };
        if to == leaf || left <= 1 || nodes.append(to, row)?.is_none() {
            continue;
        }
        nodes.remove(leaf, node::id_of(row))?;
        builder.note_place(node::id_of(row), to)?;
        left -= 1;
        changed.extend([(leaf, parent), (to, to_parent)]);
    }
    direct(builder.conn, changed)
}

/// Computes the directions of these nodes again. Each node is given with its parent.
pub(super) fn direct(conn: &Connection, changed: impl IntoIterator<Item = (i64, i64)>) -> Result<()> {
    let (mut nodes, mut node) = (Nodes::new(conn), Node::default());
    for (id, parent) in changed {
        nodes.read(id, &mut node)?;
        nodes.replace(parent, id, &node::row_of_direction(id, &node.direction()))?;
    }
    Ok(())
}
