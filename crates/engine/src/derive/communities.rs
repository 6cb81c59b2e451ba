//! Communities of the entity graph, in levels, each with a report.
//!
//! Source: Edge et al., "From Local to Global: A Graph RAG Approach to Query-Focused Summarization", 2024, sections
//! 3.1.3 and 3.1.4. docs/explanation/communities.md lists the differences.

use std::collections::BTreeMap;

use async_trait::async_trait;
use graphloom_cluster::{Edge, Graph, Hierarchy, HierarchySettings, hierarchy};
use graphloom_core::{
    ContentHash, EntityKey, LayerName, LayerNode, Member, NodeKey, Snapshot, StoreError, table,
};

use super::report::{self, Material};
use super::weights::{EdgeWeights, by_mutual_information};
use super::{Deriver, LayerKind, LayerPlan, NodeOutcome};
use crate::Engine;
use crate::prompt::COMMUNITY_REPORT;

/// A community with more entities is divided [GraphRAG].
pub const MAX_COMMUNITY_SIZE: usize = 10;
/// Maximum tokens of the data from which a report is written [GraphRAG].
pub const MAX_REPORT_CONTEXT_TOKENS: u32 = 8_000;
/// Version of the algorithm; a change derives all communities again.
const VERSION: &str = "2";

/// The layer `communities`.
///
/// A node is a community of at least two entities. Its members are its sub-communities and the entities that are in none of
/// these. Level 0 is the coarsest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Communities;

impl Communities {
    /// Returns the name of the layer.
    pub fn name() -> LayerName {
        LayerName::from_stored(LayerKind::Communities.name())
    }
}

#[async_trait]
impl Deriver for Communities {
    fn layer(&self) -> LayerName {
        Self::name()
    }

    fn settings(&self, engine: &Engine) -> ContentHash {
        let model = engine.models.summarize.as_deref().map_or("", |model| model.name());
        let prompt = engine.prompts.body(COMMUNITY_REPORT);
        let language = engine.prompts.chosen_language().unwrap_or_default();
        let mut parts = vec![VERSION, model, prompt, language];
        // The hash for the default weights is the same as in releases without this setting.
        let weights = engine.index.community_weights;
        if weights != EdgeWeights::default() {
            parts.push(weights.name());
        }
        ContentHash::of_parts(&parts)
    }

    async fn plan(&self, engine: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<LayerNode>, StoreError> {
        let EntityGraph { names, mentions, mut edges } = EntityGraph::read(snapshot).await?;
        match engine.index.community_weights {
            EdgeWeights::Facts => {}
            EdgeWeights::MutualInformation => edges = by_mutual_information(&mentions, &edges),
        }
        let graph = Graph::new(&names, &edges).map_err(|error| StoreError::Backend {
            operation: "dividing the graph into communities".to_owned(),
            source: Box::new(error),
        })?;
        let settings =
            HierarchySettings { max_community_size: MAX_COMMUNITY_SIZE, ..HierarchySettings::default() };
        Ok(nodes_of(&Self::name(), &hierarchy(&graph, &settings), graph.names()))
    }

    fn sample_answer(&self, long: bool) -> String {
        report::sample(long)
    }

    async fn write(
        &self,
        engine: &Engine,
        snapshot: &dyn Snapshot,
        planned: &LayerPlan,
        node: LayerNode,
        parts: &[LayerNode],
        stored: Option<&LayerNode>,
    ) -> Result<NodeOutcome, StoreError> {
        let material = Material::read(engine, snapshot, planned, &node, parts).await?;
        report::write(engine, snapshot, node, material, stored).await
    }
}

/// All entities, with the relations between them as edges.
struct EntityGraph {
    /// Keys of the entities.
    names: Vec<String>,
    /// Number of mentions of each.
    mentions: Vec<u32>,
    /// The relations, except those with a weight that a decision set to 0.
    edges: Vec<Edge>,
}

impl EntityGraph {
    async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let (mut names, mut mentions): (Vec<String>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut pages = snapshot.pages(table::Entities);
        while let Some(page) = pages.next().await? {
            names.extend(page.iter().map(|entity| entity.key.to_string()));
            mentions.extend(page.iter().map(|entity| entity.mention_count));
        }
        let positions: BTreeMap<&str, usize> =
            names.iter().enumerate().map(|(position, name)| (name.as_str(), position)).collect();
        let mut edges = Vec::new();
        let mut pages = snapshot.pages(table::Relations);
        while let Some(page) = pages.next().await? {
            for relation in page.iter().filter(|relation| relation.weight > 0.0) {
                let [a, b] = relation.key.ends().map(|end| positions.get(end.as_str()).copied());
                if let (Some(a), Some(b)) = (a, b) {
                    edges.push(Edge::new(a, b, relation.weight));
                }
            }
        }
        Ok(Self { names, mentions, edges })
    }
}

/// Returns the communities of at least two entities as nodes; parts come before the communities that contain them.
fn nodes_of(layer: &LayerName, hierarchy: &Hierarchy, names: &[String]) -> Vec<LayerNode> {
    let communities = &hierarchy.communities;
    let mut keys: Vec<Option<NodeKey>> = vec![None; communities.len()];
    let mut nodes = Vec::new();
    // Children come after their parents in the list.
    for (position, community) in communities.iter().enumerate().rev() {
        if community.members.len() < 2 {
            continue;
        }
        let entity = |member: &u32| Member::Entity(EntityKey::from_stored(&*names[*member as usize]));
        let members: Vec<Member> = match community.children.is_empty() {
            true => community.members.iter().map(entity).collect(),
            false => community
                .children
                .iter()
                .flat_map(|child| match &keys[*child] {
                    Some(key) => vec![Member::Node(key.clone())],
                    None => communities[*child].members.iter().map(entity).collect(),
                })
                .collect(),
        };
        let node = LayerNode::new(layer, community.level, members);
        keys[position] = Some(node.key.clone());
        nodes.push(node);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_of_one_entity_become_members_of_the_community_above() {
        // A hub with eleven leaves: the hub's part has ten entities; two leaves are alone below the root.
        let names: Vec<String> = (0..12).map(|number| format!("N{number:02}")).collect();
        let edges: Vec<Edge> = (1..12).map(|leaf| Edge::new(0, leaf, 1.0)).collect();
        let graph = Graph::new(&names, &edges).expect("a graph");
        let settings = HierarchySettings::default();
        let nodes = nodes_of(&Communities::name(), &hierarchy(&graph, &settings), graph.names());
        let root = nodes.last().expect("a root");
        assert_eq!(root.level, 0);
        let inner = root.members.iter().filter(|member| matches!(member, Member::Node(_))).count();
        let alone = root.members.iter().filter(|member| matches!(member, Member::Entity(_))).count();
        assert!(inner >= 1 && alone >= 1, "{nodes:?}");
        let below: usize = nodes.iter().filter(|node| node.level > 0).map(|node| node.members.len()).sum();
        assert_eq!(below + alone, names.len(), "every entity is in exactly one leaf or alone");
    }

    #[test]
    fn entities_without_relations_form_no_communities() {
        let names = ["A", "B", "C"].map(str::to_owned);
        let graph = Graph::new(&names, &[Edge::new(0, 1, 1.0)]).expect("a graph");
        let nodes =
            nodes_of(&Communities::name(), &hierarchy(&graph, &HierarchySettings::default()), graph.names());
        let members = ["A", "B"].map(|key| Member::Entity(EntityKey::from_stored(key)));
        assert_eq!(nodes.iter().map(|node| node.members.as_slice()).collect::<Vec<_>>(), [&members[..]]);
    }
}
