//! Layers and their nodes.

use graphloom_core::{Batch, ItemKind, Layer, LayerName, LayerNode, Member, NodeKey, StoreError};
use rusqlite::{Connection, params};

use super::vectors::remove_vector;
use crate::rules;
use crate::sqlite::changes::{BatchKeys, TEXT, VECTOR, touch};
use crate::sqlite::error::Context;
use crate::sqlite::vector_tree::TreeLimits;
use crate::sqlite::{layers, rows};

pub(super) fn put_layers(
    conn: &Connection,
    trees: TreeLimits,
    batch: &Batch,
    touched: &mut BatchKeys,
) -> Result<(), StoreError> {
    for name in &batch.remove_layers {
        remove_layer(conn, trees, name, touched).during("removing a layer")?;
    }
    for layer in &batch.put_layers {
        put_layer(conn, layer).during("putting a layer")?;
    }
    for key in &batch.remove_nodes {
        remove_node(conn, trees, key, touched).during("removing a node")?;
    }
    for node in &batch.put_nodes {
        put_node(conn, node, touched)?;
    }
    for node in &batch.put_nodes {
        for member in &node.members {
            if !exists(conn, member).during("finding a member")? {
                return Err(rules::unknown_member(node, member));
            }
        }
    }
    Ok(())
}

/// Removes the nodes that have this member, and the nodes that have one of those nodes as a member.
pub(super) fn remove_nodes_of(
    conn: &Connection,
    trees: TreeLimits,
    member: &Member,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    layers::nodes_of(conn, member)?.iter().try_for_each(|key| remove_node(conn, trees, key, touched))
}

fn remove_node(
    conn: &Connection,
    trees: TreeLimits,
    key: &NodeKey,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    // No recursion, because nothing bounds the depth.
    let mut open = vec![key.clone()];
    while let Some(key) = open.pop() {
        open.extend(layers::nodes_of(conn, &Member::Node(key.clone()))?);
        conn.prepare_cached("DELETE FROM nodes WHERE key = ?1")?.execute([key.as_str()])?;
        remove_vector(conn, trees, ItemKind::Node, key.as_str())?;
        touch(touched, ItemKind::Node, key.as_str(), VECTOR | TEXT);
    }
    Ok(())
}

fn remove_layer(
    conn: &Connection,
    trees: TreeLimits,
    name: &LayerName,
    touched: &mut BatchKeys,
) -> rusqlite::Result<()> {
    let mut select = conn.prepare_cached("SELECT key FROM nodes WHERE layer = ?1")?;
    let keys: Vec<String> =
        select.query_map([name.as_str()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for key in keys {
        remove_node(conn, trees, &NodeKey::from_stored(key), touched)?;
    }
    conn.prepare_cached("DELETE FROM layers WHERE name = ?1")?.execute([name.as_str()]).map(drop)
}

fn put_layer(conn: &Connection, layer: &Layer) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO layers (name, settings, watermark, complete, owner, expires_at, details)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (name) DO UPDATE SET settings = ?2, watermark = ?3, complete = ?4, owner = ?5, expires_at = ?6,
            details = ?7",
    )?
    .execute(params![
        layer.name.as_str(),
        rows::hash_column(&layer.settings),
        rows::signed(layer.watermark.0),
        layer.complete,
        layer.lease.as_ref().map(|lease| lease.owner.as_str()),
        layer.lease.as_ref().map(|lease| rows::signed(lease.expires_at.0)),
        rows::to_json(&layer.details)?
    ])
    .map(drop)
}

fn put_node(conn: &Connection, node: &LayerNode, touched: &mut BatchKeys) -> Result<(), StoreError> {
    let known = conn
        .prepare_cached("SELECT 1 FROM layers WHERE name = ?1")
        .and_then(|mut select| select.exists([node.layer.as_str()]))
        .during("finding a layer")?;
    if !known {
        return Err(rules::unknown_layer(node));
    }
    touch(touched, ItemKind::Node, node.key.as_str(), TEXT);
    write_node(conn, node).during("putting a node")
}

fn write_node(conn: &Connection, node: &LayerNode) -> rusqlite::Result<()> {
    let number: i64 = conn
        .prepare_cached(
            "INSERT INTO nodes (key, layer, level, title, text, details, inputs_hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (key) DO UPDATE SET title = ?4, text = ?5, details = ?6, inputs_hash = ?7
             RETURNING id",
        )?
        .query_row(
            params![
                node.key.as_str(),
                node.layer.as_str(),
                node.level,
                node.title,
                node.text,
                rows::to_json(&node.details)?,
                rows::hash_column(&node.inputs_hash)
            ],
            |row| row.get(0),
        )?;
    // The key is the hash of the members, so the members of a known node are already stored.
    let mut insert =
        conn.prepare_cached("INSERT OR IGNORE INTO node_members (node, kind, member) VALUES (?1, ?2, ?3)")?;
    for member in &node.members {
        insert.execute(params![number, layers::member_kind(member), member.id()])?;
    }
    Ok(())
}

fn exists(conn: &Connection, member: &Member) -> rusqlite::Result<bool> {
    let sql = match member {
        Member::Chunk(_) => "SELECT 1 FROM chunks WHERE key = ?1",
        Member::Entity(_) => "SELECT 1 FROM entities WHERE key = ?1",
        Member::Node(_) => "SELECT 1 FROM nodes WHERE key = ?1",
    };
    conn.prepare_cached(sql)?.exists([member.id()])
}
