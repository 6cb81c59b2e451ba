//! Checks layers: every node must have its members, and a current layer must have all its vectors.

use std::collections::BTreeSet;

use graphloom_core::{ItemKind, Layer, LayerNode, Member, NodeKey, Snapshot, StoreError, table};

use super::{Findings, compare_vectors};

pub(super) async fn check_layers(snapshot: &dyn Snapshot, findings: &mut Findings) -> Result<(), StoreError> {
    let (mut known, mut due) = (BTreeSet::new(), BTreeSet::new());
    for layer in snapshot.layers().await? {
        if layer.watermark > snapshot.revision() {
            findings.add("layer", &layer.name, "it was derived from a revision that was never committed");
        }
        let is_current = layer.is_current(snapshot.graph_revision());
        for key in check_nodes(snapshot, &layer, findings).await? {
            if is_current {
                due.insert(key.clone());
            }
            known.insert(key);
        }
    }
    let nodes = snapshot.counts().await?.nodes;
    if nodes != known.len() as u64 {
        findings.add("layer", "nodes", format!("there are {nodes} nodes, {} of them in layers", known.len()));
    }
    compare_vectors(snapshot, ItemKind::Node, "node", due, &known, findings).await
}

/// Returns the keys of the layer's nodes.
async fn check_nodes(
    snapshot: &dyn Snapshot,
    layer: &Layer,
    findings: &mut Findings,
) -> Result<Vec<String>, StoreError> {
    let mut keys = Vec::new();
    let mut pages = snapshot.pages(table::Nodes { layer: layer.name.clone(), level: None });
    while let Some(page) = pages.next().await? {
        let missing = missing_members(snapshot, &page).await?;
        for node in &page {
            if node.key != NodeKey::new(&node.layer, node.level, &node.members) {
                findings.add("node", &node.key, "its key is not the hash of its layer, level and members");
            }
            for member in node.members.iter().filter(|member| missing.contains(member)) {
                let (kind, id) = (member.kind(), member.id());
                findings.add("node", &node.key, format!("its member {kind} {id} does not exist"));
            }
        }
        keys.extend(page.iter().map(|node| node.key.to_string()));
    }
    Ok(keys)
}

/// Returns the members of these nodes that do not exist.
async fn missing_members<'a>(
    snapshot: &dyn Snapshot,
    nodes: &'a [LayerNode],
) -> Result<BTreeSet<&'a Member>, StoreError> {
    let members: BTreeSet<&Member> = nodes.iter().flat_map(|node| &node.members).collect();
    let (mut chunks, mut entities, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    for member in &members {
        match member {
            Member::Chunk(id) => chunks.push(id.clone()),
            Member::Entity(key) => entities.push(key.clone()),
            Member::Node(key) => inner.push(key.clone()),
        }
    }
    let mut exists: BTreeSet<Member> = BTreeSet::new();
    exists.extend(snapshot.chunks(&chunks).await?.into_iter().flatten().map(|chunk| Member::Chunk(chunk.id)));
    let entities = snapshot.entities(&entities).await?.into_iter().flatten();
    exists.extend(entities.map(|entity| Member::Entity(entity.key)));
    exists.extend(snapshot.nodes(&inner).await?.into_iter().flatten().map(|node| Member::Node(node.key)));
    Ok(members.into_iter().filter(|member| !exists.contains(*member)).collect())
}
