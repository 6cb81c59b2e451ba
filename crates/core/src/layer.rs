//! Layers: named views derived from a whole workspace, such as communities with reports or a tree of summaries.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChunkId, ContentHash, EntityKey, LayerName, Lease, NodeKey, Revision};

/// A view derived from a whole workspace.
///
/// Entities and relations are updated in the commit that changes their evidence. A layer is derived
/// afterwards. Until then it is out of date, and contains only the nodes whose members still exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name.
    pub name: LayerName,
    /// Hash of everything besides the evidence that determines its content: algorithm, parameters, prompt and model.
    pub settings: ContentHash,
    /// The revision it was derived from.
    pub watermark: Revision,
    /// Whether the whole layer was derived from that revision.
    pub complete: bool,
    /// The worker that derives it now, if any. Not part of the canonical state.
    pub lease: Option<Lease>,
    /// Details about the layer as a whole, as its deriver writes them, such as the number of nodes that
    /// failed. Not part of the canonical state.
    pub details: Value,
}

impl Layer {
    /// True if the layer is complete and the graph has not changed since.
    pub fn is_current(&self, graph_revision: Revision) -> bool {
        self.complete && self.watermark >= graph_revision
    }
}

/// A part of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Member {
    /// A chunk.
    Chunk(ChunkId),
    /// An entity.
    Entity(EntityKey),
    /// Another node, of the same layer or of a layer that this one is built on.
    Node(NodeKey),
}

impl Member {
    /// Returns the id without the kind.
    pub fn id(&self) -> &str {
        match self {
            Self::Chunk(id) => id.as_str(),
            Self::Entity(key) => key.as_str(),
            Self::Node(key) => key.as_str(),
        }
    }

    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Chunk(_) => "chunk",
            Self::Entity(_) => "entity",
            Self::Node(_) => "node",
        }
    }
}

/// A node of a layer: a community, or a node of a tree. Its parents are the nodes that have it as a member.
///
/// A store removes a node as soon as any of its members is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerNode {
    /// Hash of layer, level and members ([`NodeKey::new`]).
    pub key: NodeKey,
    /// Its layer.
    pub layer: LayerName,
    /// Its level; the layer's deriver defines the order of levels.
    pub level: u32,
    /// Its members, ascending and unique; at least one.
    pub members: Vec<Member>,
    /// Its title; empty until it is written.
    pub title: String,
    /// Its text, such as a report or a summary; empty until it is written.
    pub text: String,
    /// Other details that its deriver writes, such as findings and a rating.
    pub details: Value,
    /// Hash of everything that the title, text and details were written from.
    pub inputs_hash: ContentHash,
}

impl LayerNode {
    /// Creates a node without text.
    ///
    /// - `members`: in any order; they are sorted and made unique here.
    pub fn new(layer: &LayerName, level: u32, mut members: Vec<Member>) -> Self {
        members.sort_unstable();
        members.dedup();
        Self {
            key: NodeKey::new(layer, level, &members),
            layer: layer.clone(),
            level,
            members,
            title: String::new(),
            text: String::new(),
            details: Value::Null,
            inputs_hash: ContentHash::of(&[]),
        }
    }

    /// Returns the text that both indexes read: title and text.
    pub fn indexed_text(&self) -> String {
        format!("{}\n{}", self.title, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_node_depends_on_layer_level_and_members_in_any_order() {
        let layer = LayerName::new("themes").expect("a name");
        let member = |key: &str| Member::Entity(EntityKey::from_stored(key));
        let node = LayerNode::new(&layer, 1, vec![member("B"), member("A"), member("B")]);
        assert_eq!(node.members, [member("A"), member("B")]);
        assert_eq!(node.key, LayerNode::new(&layer, 1, vec![member("A"), member("B")]).key);
        assert!(node.key.as_str().starts_with("themes-"), "{}", node.key);
        assert!(layer.holds(node.key.as_str()));
        assert!(!LayerName::new("theme").expect("a name").holds(node.key.as_str()));
        let chunk = Member::Chunk(ChunkId::from_stored("A"));
        let others = [
            LayerNode::new(&layer, 2, node.members.clone()),
            LayerNode::new(&LayerName::new("theme").expect("a name"), 1, node.members.clone()),
            LayerNode::new(&layer, 1, vec![chunk, member("B")]),
        ];
        assert!(others.iter().all(|other| other.key != node.key));
    }

    #[test]
    fn a_layer_is_current_until_the_graph_changes() {
        let name = LayerName::new("themes").expect("a name");
        let settings = ContentHash::of(b"settings");
        let layer = Layer {
            name,
            settings,
            watermark: Revision(7),
            complete: true,
            lease: None,
            details: Value::Null,
        };
        assert!(layer.is_current(Revision(7)) && layer.is_current(Revision(5)));
        assert!(!layer.is_current(Revision(8)));
        assert!(!Layer { complete: false, ..layer }.is_current(Revision(7)));
    }

    #[test]
    fn names_of_layers_are_lower_case_words() {
        assert!(LayerName::new("communities_2").is_ok());
        for bad in ["", "-x", "a-b", "A", "ä", &"x".repeat(65)] {
            assert!(LayerName::new(bad).is_err(), "{bad}");
        }
    }
}
