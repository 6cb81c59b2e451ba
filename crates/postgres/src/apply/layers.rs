//! Layers and their nodes.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{Batch, Layer, LayerName, LayerNode, Member, NodeKey};
use graphloom_rules::batch as rules;

use super::SearchChanges;
use crate::error::Fault;
use crate::rows::{self, get};
use crate::session::Session;

pub(super) async fn apply(
    session: &Session,
    batch: &Batch,
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    remove_layers(session, &batch.remove_layers, touched).await?;
    put_layers(session, &batch.put_layers).await?;
    let nodes = batch.remove_nodes.iter().map(NodeKey::to_string).collect();
    remove_nodes(session, nodes, touched).await?;
    put_nodes(session, &batch.put_nodes, touched).await
}

async fn remove_layers(
    session: &Session,
    layers: &[LayerName],
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    if layers.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = layers.iter().map(LayerName::as_str).collect();
    let sql = "SELECT key FROM nodes WHERE workspace_id = $1 AND layer = ANY($2)";
    let nodes = session.rows(sql, &[&names]).await?;
    let nodes = nodes.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    remove_nodes(session, nodes, touched).await?;
    session.run("DELETE FROM layers WHERE workspace_id = $1 AND name = ANY($2)", &[&names]).await?;
    Ok(())
}

/// Removes the nodes that have one of these as a member, and those that have one of them. `kind`: of [`rows::member_code`].
pub(super) async fn remove_nodes_of(
    session: &Session,
    kind: i16,
    members: &[String],
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    let sql = "SELECT DISTINCT node FROM members WHERE workspace_id = $1 AND kind = $2 AND member = ANY($3)";
    let nodes = session.rows(sql, &[&kind, &members]).await?;
    let nodes = nodes.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    remove_nodes(session, nodes, touched).await
}

/// Removes nodes, and those that have one of them as a member.
async fn remove_nodes(
    session: &Session,
    nodes: BTreeSet<String>,
    touched: &mut SearchChanges,
) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let nodes: Vec<String> = nodes.into_iter().collect();
    let sql = "WITH RECURSIVE gone AS ( \
            SELECT unnest($2::text[]) COLLATE \"C\" AS node \
            UNION SELECT m.node FROM gone g JOIN members m ON m.workspace_id = $1 AND m.kind = 2 AND m.member = g.node \
        ) SELECT node FROM gone";
    let gone = session.rows(sql, &[&nodes]).await?;
    let gone: Vec<String> = gone.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    session.run("DELETE FROM nodes WHERE workspace_id = $1 AND key = ANY($2)", &[&gone]).await?;
    session.run("DELETE FROM members WHERE workspace_id = $1 AND node = ANY($2)", &[&gone]).await?;
    let vectors = "DELETE FROM vectors WHERE workspace_id = $1 AND kind = 3 AND id = ANY($2)";
    session.run(vectors, &[&gone]).await?;
    touched.nodes.extend(gone);
    Ok(())
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

async fn put_nodes(session: &Session, nodes: &[LayerNode], touched: &mut SearchChanges) -> Result<(), Fault> {
    if nodes.is_empty() {
        return Ok(());
    }
    let nodes: BTreeMap<&str, &LayerNode> = nodes.iter().map(|node| (node.key.as_str(), node)).collect();
    let keys: Vec<&str> = nodes.keys().copied().collect();
    let layers: Vec<&str> = nodes.values().map(|node| node.layer.as_str()).collect();
    let levels: Vec<i64> = nodes.values().map(|node| i64::from(node.level)).collect();
    let bodies = nodes.values().map(rows::body).collect::<Result<Vec<_>, _>>()?;
    let sql = "INSERT INTO nodes SELECT $1, * FROM unnest($2::text[], $3::text[], $4::int8[], $5::text[]) \
        ON CONFLICT (workspace_id, key) DO UPDATE SET body = EXCLUDED.body";
    session.run(sql, &[&keys, &layers, &levels, &bodies]).await?;
    let members: Vec<(&Member, &str)> = nodes
        .values()
        .flat_map(|node| node.members.iter().map(|member| (member, node.key.as_str())))
        .collect();
    let kinds: Vec<i16> = members.iter().map(|(member, _)| rows::member_code(member)).collect();
    let ids: Vec<&str> = members.iter().map(|(member, _)| member.id()).collect();
    let of: Vec<&str> = members.iter().map(|(_, node)| *node).collect();
    // The members of a node are in its key, so they never change.
    let sql = "INSERT INTO members SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING";
    session.run(sql, &[&kinds, &ids, &of]).await?;
    check_nodes(session, &nodes, &keys).await?;
    touched.nodes.extend(keys.into_iter().map(str::to_owned));
    Ok(())
}

/// Refuses nodes whose layer or one of whose members does not exist.
async fn check_nodes(
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
