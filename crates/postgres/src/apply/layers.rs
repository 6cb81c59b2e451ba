//! Layers and their nodes.

use std::collections::BTreeMap;

use graphloom_core::{Batch, EntityKey, ItemKind, Layer, LayerName, LayerNode, Member, NodeKey};
use graphloom_rules::batch as rules;
use tokio::try_join;

use super::{remove_rows, remove_vectors};
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::{Arguments, Session};

/// Returns the nodes that a batch removes: the nodes of its layers, the nodes it names, nodes with a member among the
/// chunks `removed` or the batch's entities, and every node that has one of these nodes as a member.
pub(super) async fn leaving(
    session: &Session,
    batch: &Batch,
    removed: &[String],
) -> Result<Vec<String>, Fault> {
    let layers: Vec<&str> = batch.remove_layers.iter().map(LayerName::as_str).collect();
    let nodes: Vec<String> = batch.remove_nodes.iter().map(NodeKey::to_string).collect();
    let entities: Vec<String> = batch.remove_entities.iter().map(EntityKey::to_string).collect();
    if [layers.len(), nodes.len(), entities.len(), removed.len()] == [0; 4] {
        return Ok(Vec::new());
    }
    let sql = "WITH RECURSIVE first AS ( \
            SELECT key AS node FROM nodes WHERE workspace_id = $1 AND layer = ANY($2) \
            UNION SELECT unnest($3::text[]) COLLATE \"C\" \
            UNION SELECT node FROM members WHERE workspace_id = $1 AND kind = $4 AND member = ANY($5) \
            UNION SELECT node FROM members WHERE workspace_id = $1 AND kind = $6 AND member = ANY($7) \
        ), gone AS ( \
            SELECT node FROM first \
            UNION SELECT m.node FROM gone g JOIN members m ON m.workspace_id = $1 AND m.kind = 2 AND m.member = g.node \
        ) SELECT node FROM gone";
    let (chunk, entity) = (rows::CHUNK_MEMBER, rows::ENTITY_MEMBER);
    let found = session.rows(sql, &[&layers, &nodes, &chunk, &removed, &entity, &entities]).await?;
    found.iter().map(|row| get(row, 0)).collect()
}

pub(super) async fn remove_nodes(session: &Session, nodes: &[String]) -> Result<(), Fault> {
    try_join!(biased;
        remove_rows(session, &["nodes"], "key", nodes),
        remove_rows(session, &["members"], "node", nodes),
        remove_vectors(session, ItemKind::Node, nodes)
    )
    .map(drop)
}

/// Puts layers and nodes.
pub(super) async fn put(session: &Session, batch: &Batch) -> Result<(), Fault> {
    try_join!(biased; put_layers(session, &batch.put_layers), put_nodes(session, &batch.put_nodes)).map(drop)
}

async fn put_layers(session: &Session, layers: &[Layer]) -> Result<(), Fault> {
    if layers.is_empty() {
        return Ok(());
    }
    let layers: BTreeMap<&str, &Layer> = layers.iter().map(|layer| (layer.name.as_str(), layer)).collect();
    let names: Vec<&str> = layers.keys().copied().collect();
    let bodies = layers.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO layers SELECT $1, * FROM unnest($2::text[], $3::text[]) \
        ON CONFLICT (workspace_id, name) DO UPDATE SET body = EXCLUDED.body";
    session.run(sql, &[&names, &bodies]).await?;
    Ok(())
}

async fn put_nodes(session: &Session, nodes: &[LayerNode]) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let nodes: BTreeMap<&str, &LayerNode> = nodes.iter().map(|node| (node.key.as_str(), node)).collect();
    let keys: Vec<&str> = nodes.keys().copied().collect();
    let layers: Vec<&str> = nodes.values().map(|node| node.layer.as_str()).collect();
    let levels: Vec<i64> = nodes.values().map(|node| i64::from(node.level)).collect();
    let bodies = nodes.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let put = "INSERT INTO nodes SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int8[], $5::text[]) \
        ON CONFLICT (workspace_id, key) DO UPDATE SET body = EXCLUDED.body";
    let members: Vec<(&Member, &str)> = nodes
        .values()
        .flat_map(|node| node.members.iter().map(|member| (member, node.key.as_str())))
        .collect();
    let kinds: Vec<i16> = members.iter().map(|(member, _)| rows::member_code(member)).collect();
    let ids: Vec<&str> = members.iter().map(|(member, _)| member.id()).collect();
    let of: Vec<&str> = members.iter().map(|(_, node)| *node).collect();
    // The key of a node includes its members, so they never change.
    let put_members = "INSERT INTO members SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING";
    let of_put: &Arguments<'_> = &[&keys, &layers, &levels, &bodies];
    let of_members: &Arguments<'_> = &[&kinds, &ids, &of];
    try_join!(biased;
        session.run(put, of_put),
        session.run(put_members, of_members),
        check_layers(session, &nodes, &keys),
        check_members(session, &nodes, &keys)
    )
    .map(drop)
}

/// Fails if the layer of a node does not exist.
async fn check_layers(
    session: &Session,
    nodes: &BTreeMap<&str, &LayerNode>,
    keys: &[&str],
) -> Result<(), Fault> {
    let sql = "SELECT n.key FROM nodes n WHERE n.workspace_id = $1 AND n.key = ANY($2) \
        AND NOT EXISTS (SELECT FROM layers l WHERE l.workspace_id = $1 AND l.name = n.layer) LIMIT 1";
    if let Some(row) = session.rows(sql, &[&keys]).await?.first()
        && let Some(node) = nodes.get(get::<&str>(row, 0)?)
    {
        return Err(rules::unknown_layer(node).into());
    }
    Ok(())
}

/// Fails if a member of a node does not exist.
async fn check_members(
    session: &Session,
    nodes: &BTreeMap<&str, &LayerNode>,
    keys: &[&str],
) -> Result<(), Fault> {
    let sql = "SELECT m.node, m.kind, m.member FROM members m WHERE m.workspace_id = $1 AND m.node = ANY($2) \
        AND NOT CASE m.kind \
            WHEN 0 THEN EXISTS (SELECT FROM chunks c WHERE c.workspace_id = $1 AND c.id = m.member) \
            WHEN 1 THEN EXISTS (SELECT FROM entities e WHERE e.workspace_id = $1 AND e.key = m.member) \
            ELSE EXISTS (SELECT FROM nodes n WHERE n.workspace_id = $1 AND n.key = m.member) END LIMIT 1";
    if let Some(row) = session.rows(sql, &[&keys]).await?.first()
        && let Some(node) = nodes.get(get::<&str>(row, 0)?)
    {
        return Err(rules::unknown_member(node, &rows::member(row, 1)?).into());
    }
    Ok(())
}
