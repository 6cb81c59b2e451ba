//! Communities of another system with their reports, as the layer `communities`.
//!
//! They form a layer like a derived one, with its own settings hash. Deriving communities replaces the layer, but keeps
//! identical nodes.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use graphloom_core::{ContentHash, EntityKey, LayerName, LayerNode, Member, NodeKey, Snapshot, StoreError};

use super::imported::{self, ImportedReport};
use super::report::{self, Material};
use super::{Communities, Deriver, LayerPlan, NodeOutcome};
use crate::Engine;

/// Number of entities that are looked up at once.
const PAGE: usize = 1_000;

/// Imported communities, each with its report.
///
/// A community is part of the smallest community on a coarser level that contains all of its entities.
#[derive(Debug)]
pub struct ImportedCommunities {
    /// Reports by level and entities; the last of several about the same entities on one level.
    reports: BTreeMap<(u32, Vec<EntityKey>), ImportedReport>,
    settings: ContentHash,
}

impl ImportedCommunities {
    /// Returns the communities of these reports, without entities that do not exist in `snapshot`; communities that become
    /// empty are dropped.
    pub async fn new(snapshot: &dyn Snapshot, reports: &[ImportedReport]) -> Result<Self, StoreError> {
        let known = existing(snapshot, reports.iter().flat_map(|report| &report.members)).await?;
        let mut kept = BTreeMap::new();
        for report in reports {
            let members: Vec<EntityKey> = report.members.intersection(&known).cloned().collect();
            if !members.is_empty() {
                kept.insert((report.level, members), report.clone());
            }
        }
        let mut parts = vec!["imported communities".to_owned()];
        for ((level, members), report) in &kept {
            parts.push(level.to_string());
            parts.extend(members.iter().map(ToString::to_string));
            // Plain data, which JSON can always represent.
            parts.push(serde_json::to_string(report).unwrap_or_default());
        }
        let settings = ContentHash::of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(Self { reports: kept, settings })
    }

    /// True if there are imported communities and the workspace has no other ones.
    pub async fn have_room(&self, snapshot: &dyn Snapshot) -> Result<bool, StoreError> {
        let layer = snapshot.layers().await?.into_iter().find(|layer| layer.name == Communities::name());
        Ok(!self.reports.is_empty() && layer.is_none_or(|layer| layer.settings == self.settings))
    }
}

#[async_trait]
impl Deriver for ImportedCommunities {
    fn layer(&self) -> LayerName {
        Communities::name()
    }

    fn settings(&self, _: &Engine) -> ContentHash {
        self.settings.clone()
    }

    async fn plan(&self, _: &Engine, snapshot: &dyn Snapshot) -> Result<Vec<LayerNode>, StoreError> {
        let members = self.reports.keys().flat_map(|(_, members)| members);
        let known = existing(snapshot, members).await?;
        let whole = self.reports.keys().filter(|(_, members)| members.iter().all(|it| known.contains(it)));
        Ok(nest(&Communities::name(), whole.map(|(level, members)| (*level, members.as_slice()))))
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
        let found = self.reports.get(&(node.level, material.members.clone()));
        let Some(report) = found else {
            // Cannot happen, because nodes are planned from the reports.
            return Ok(NodeOutcome::Waits);
        };
        let node = imported::with_report(snapshot, &node, &material, report.clone()).await?;
        Ok(match stored {
            Some(stored) if *stored == node => NodeOutcome::Kept,
            _ => NodeOutcome::New { node, paid: None, calls: Vec::new() },
        })
    }
}

/// Returns the entities that exist in the snapshot.
async fn existing<'a>(
    snapshot: &dyn Snapshot,
    entities: impl Iterator<Item = &'a EntityKey>,
) -> Result<BTreeSet<EntityKey>, StoreError> {
    let all: BTreeSet<&EntityKey> = entities.collect();
    let all: Vec<EntityKey> = all.into_iter().cloned().collect();
    let mut found = BTreeSet::new();
    for page in all.chunks(PAGE) {
        found.extend(snapshot.entities(page).await?.into_iter().flatten().map(|entity| entity.key));
    }
    Ok(found)
}

/// A community that is not yet part of another.
struct Open<'a> {
    level: u32,
    entities: &'a [EntityKey],
    key: NodeKey,
}

/// Returns a node for each community, which is given as its level and its ascending entities. Parts come before the
/// communities that contain them.
fn nest<'a>(layer: &LayerName, communities: impl Iterator<Item = (u32, &'a [EntityKey])>) -> Vec<LayerNode> {
    let mut finest_first: Vec<(u32, &[EntityKey])> = communities.collect();
    // Within a level, smaller communities come first.
    finest_first.sort_by(|one, other| {
        (other.0.cmp(&one.0)).then(one.1.len().cmp(&other.1.len())).then_with(|| one.1.cmp(other.1))
    });
    let mut nodes = Vec::with_capacity(finest_first.len());
    // By first entity, which the containing community has too.
    let mut open: BTreeMap<&EntityKey, Vec<Open<'_>>> = BTreeMap::new();
    for (level, entities) in finest_first {
        let all: BTreeSet<&EntityKey> = entities.iter().collect();
        let mut rest = all.clone();
        let mut members = Vec::new();
        for entity in entities {
            let Some(here) = open.get_mut(entity) else { continue };
            here.retain(|inner| {
                let is_part = inner.level > level && inner.entities.iter().all(|it| all.contains(it));
                if is_part {
                    for entity in inner.entities {
                        rest.remove(entity);
                    }
                    members.push(Member::Node(inner.key.clone()));
                }
                !is_part
            });
        }
        members.extend(rest.into_iter().cloned().map(Member::Entity));
        let node = LayerNode::new(layer, level, members);
        if let Some(first) = entities.first() {
            let key = node.key.clone();
            open.entry(first).or_default().push(Open { level, entities, key });
        }
        nodes.push(node);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_community_is_a_member_of_the_smallest_community_that_contains_it() {
        let key = |name: &str| EntityKey::from_stored(name);
        let keys = |names: &str| names.chars().map(|name| key(&name.to_string())).collect::<Vec<_>>();
        let (all, few, two, other) = (keys("ABCDE"), keys("ABC"), keys("AB"), keys("XY"));
        let communities =
            [(0, all.as_slice()), (1, few.as_slice()), (2, two.as_slice()), (0, other.as_slice())];
        let nodes = nest(&Communities::name(), communities.into_iter());
        let members = |level: u32| -> Vec<Vec<String>> {
            let here = nodes.iter().filter(|node| node.level == level);
            here.map(|node| {
                node.members
                    .iter()
                    .map(|member| match member {
                        Member::Entity(key) => key.to_string(),
                        other => other.kind().to_owned(),
                    })
                    .collect()
            })
            .collect()
        };
        assert_eq!(members(2), [["A", "B"]]);
        assert_eq!(members(1), [["C", "node"]]);
        assert_eq!(members(0), [vec!["X", "Y"], vec!["D", "E", "node"]]);
        let level_1 = nodes.iter().find(|node| node.level == 1).expect("a node");
        let top = nodes.iter().find(|node| node.members.len() == 3).expect("a node");
        assert!(top.members.contains(&Member::Node(level_1.key.clone())), "{nodes:?}");
    }
}
