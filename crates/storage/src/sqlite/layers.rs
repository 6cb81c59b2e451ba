//! Reads layers and their nodes.

use std::collections::BTreeMap;

use graphloom_core::{
    ChunkId, EntityKey, ItemKind, Layer, LayerName, LayerNode, Lease, Member, NodeKey, Revision, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::read::{query, select, sql_limit};
use super::{rows, sums};

const LAYER: &str = "name, settings, watermark, complete, owner, expires_at, details,
     row_sum('layers', name, settings, watermark, complete, owner, expires_at, details) = sum";

const NODE: &str = "key, layer, level, title, text, details, inputs_hash, id,
     row_sum('nodes', id, key, layer, level, title, text, details, inputs_hash) = sum";

/// Returns all layers, sorted by name.
pub(super) fn layers(conn: &Connection) -> Result<Vec<Layer>> {
    select(conn, &query(LAYER, "layers ORDER BY name"), [], layer_of)
}

pub(super) fn layer(conn: &Connection, name: &LayerName) -> Result<Option<Layer>> {
    let mut found = conn.prepare_cached(&query(LAYER, "layers WHERE name = ?1"))?;
    found.query_row([name.as_str()], layer_of).optional()
}

fn layer_of(row: &Row<'_>) -> Result<Layer> {
    sums::require(row, 7, "layers")?;
    let owner: Option<String> = row.get(4)?;
    let lease = match owner {
        Some(owner) => Some(Lease { owner, expires_at: Timestamp(rows::unsigned(row, 5)?) }),
        None => None,
    };
    Ok(Layer {
        name: LayerName::from_stored(row.get::<_, String>(0)?),
        settings: rows::hash(row, 1)?,
        watermark: Revision(rows::unsigned(row, 2)?),
        complete: row.get(3)?,
        lease,
        details: rows::json(row, 6)?,
    })
}

pub(super) fn node(conn: &Connection, key: &NodeKey) -> Result<Option<LayerNode>> {
    let mut found = conn.prepare_cached(&query(NODE, "nodes WHERE key = ?1"))?;
    let found = found.query_row([key.as_str()], numbered).optional()?;
    found.map(|(number, node)| with_members(conn, number, node)).transpose()
}

/// Returns the keys of the nodes that have this member.
pub(super) fn nodes_of(conn: &Connection, member: &Member) -> Result<Vec<NodeKey>> {
    let sql = "SELECT n.key FROM node_members m JOIN nodes n ON n.id = m.node
         WHERE m.kind = ?1 AND m.member = ?2 ORDER BY n.key";
    select(conn, sql, params![member_kind(member), member.id()], |row| {
        Ok(NodeKey::from_stored(row.get::<_, String>(0)?))
    })
}

pub(super) fn node_counts(conn: &Connection, layer: &LayerName) -> Result<BTreeMap<u32, u64>> {
    let sql = "SELECT level, count(*) FROM nodes WHERE layer = ?1 GROUP BY level";
    let counts = select(conn, sql, [layer.as_str()], |row| Ok((row.get(0)?, rows::unsigned(row, 1)?)))?;
    Ok(counts.into_iter().collect())
}

/// Returns a page of the nodes of a layer, or of one of its levels, sorted by key.
pub(super) fn nodes_of_layer(
    conn: &Connection,
    layer: &LayerName,
    level: Option<u32>,
    after: Option<&NodeKey>,
    limit: usize,
) -> Result<Vec<LayerNode>> {
    // No key is empty.
    let (layer, after, limit) = (layer.as_str(), after.map_or("", NodeKey::as_str), sql_limit(limit));
    let found = match level {
        Some(level) => {
            let sql = query(NODE, "nodes WHERE layer = ?1 AND level = ?2 AND key > ?3 ORDER BY key LIMIT ?4");
            select(conn, &sql, params![layer, level, after, limit], numbered)?
        }
        None => {
            let sql = query(NODE, "nodes WHERE layer = ?1 AND key > ?2 ORDER BY key LIMIT ?3");
            select(conn, &sql, params![layer, after, limit], numbered)?
        }
    };
    found.into_iter().map(|(number, node)| with_members(conn, number, node)).collect()
}

/// Returns a page of the nodes of all layers, sorted by key.
pub(super) fn all_nodes(conn: &Connection, after: Option<&NodeKey>, limit: usize) -> Result<Vec<LayerNode>> {
    let sql = query(NODE, "nodes WHERE key > ?1 ORDER BY key LIMIT ?2");
    let found = select(conn, &sql, params![after.map_or("", NodeKey::as_str), sql_limit(limit)], numbered)?;
    found.into_iter().map(|(number, node)| with_members(conn, number, node)).collect()
}

/// Returns the stored code of a member's kind, the same as for vectors.
pub(super) fn member_kind(member: &Member) -> u8 {
    rows::kind_code(match member {
        Member::Chunk(_) => ItemKind::Chunk,
        Member::Entity(_) => ItemKind::Entity,
        Member::Node(_) => ItemKind::Node,
    })
}

/// Reads a node's number, and the node without its members.
fn numbered(row: &Row<'_>) -> Result<(i64, LayerNode)> {
    sums::require(row, 8, "nodes")?;
    let node = LayerNode {
        key: NodeKey::from_stored(row.get::<_, String>(0)?),
        layer: LayerName::from_stored(row.get::<_, String>(1)?),
        level: row.get(2)?,
        members: Vec::new(),
        title: row.get(3)?,
        text: row.get(4)?,
        details: rows::json(row, 5)?,
        inputs_hash: rows::hash(row, 6)?,
    };
    Ok((row.get(7)?, node))
}

fn with_members(conn: &Connection, number: i64, mut node: LayerNode) -> Result<LayerNode> {
    // In the order of members: chunks before entities before nodes.
    let sql = "SELECT kind, member, row_sum('node_members', node, kind, member) = sum
         FROM node_members WHERE node = ?1 ORDER BY kind, member";
    node.members = select(conn, sql, [number], |row| {
        sums::require(row, 2, "node_members")?;
        let (kind, id): (u8, String) = (row.get(0)?, row.get(1)?);
        match kind {
            0 => Ok(Member::Chunk(ChunkId::from_stored(id))),
            1 => Ok(Member::Entity(EntityKey::from_stored(id))),
            3 => Ok(Member::Node(NodeKey::from_stored(id))),
            other => Err(rows::unreadable(0, format!("kind of member {other}"))),
        }
    })?;
    Ok(node)
}
