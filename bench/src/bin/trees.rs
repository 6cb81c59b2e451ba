//! Computes clusters and trees of vectors, with time and members, for `bench/trees.py`.
//!
//! ```text
//! graphloom-bench-trees soft|tree NAMES VECTORS [--without SHARE] [--one COUNT]
//! ```
//!
//! `NAMES` has a name per line, and `VECTORS` as many vectors of little-endian 32-bit floats. Prints one JSON object with the names in
//! each cluster of the first layer, or in each node of the tree with its layer. `--without` also leaves out that share of the vectors,
//! spread evenly, and reports how many nodes or clusters are new with them. `--one` leaves out one vector at a time, COUNT times, and
//! reports how many groups are new with it and how many it is a member of, on average and at most.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use graphloom_cluster::{Points, SoftSettings, TreeSettings, soft_clusters, tree};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, names, vectors, rest @ ..] = arguments.as_slice() else {
        bail!("usage: graphloom-bench-trees soft|tree NAMES VECTORS [--without SHARE] [--one COUNT]");
    };
    let names = std::fs::read_to_string(names).with_context(|| format!("reading {names}"))?;
    let names: Vec<&str> = names.lines().collect();
    let bytes = std::fs::read(vectors).with_context(|| format!("reading {vectors}"))?;
    let values: Vec<f32> =
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let dimensions = values.len() / names.len().max(1);
    let points = Points::new(&names, dimensions, &values)?;
    let grouping = Grouping::named(what)?;
    let begin = Instant::now();
    let found = grouping.groups(&points);
    let seconds = begin.elapsed().as_secs_f64();
    let groups: Vec<Value> =
        found.iter().map(|group| json!({ "layer": group.layer, "members": group.members })).collect();
    let mut result = json!({ "vectors": points.len(), "seconds": seconds, "groups": groups });
    let vectors = Vectors { names: &names, dimensions, values: &values };
    for option in rest.chunks(2) {
        match option {
            [option, share] if option == "--without" => {
                result["new"] = json!(new_groups(grouping, &vectors, share.parse()?)?);
            }
            [option, count] if option == "--one" => {
                result["one"] = new_with_one(grouping, &vectors, count.parse()?)?;
            }
            _ => bail!("unknown option {}", option.join(" ")),
        }
    }
    println!("{result}");
    Ok(())
}

#[derive(Clone, Copy)]
enum Grouping {
    /// The first layer of soft clusters.
    Soft,
    /// All layers of the agglomerative tree.
    Tree,
}

/// A cluster, or a node of the tree.
struct Group {
    layer: u32,
    members: Vec<String>,
    /// Equal for groups with equal members; for a node, with equal members at all levels below it.
    id: String,
}

/// Vectors and their names.
struct Vectors<'a> {
    names: &'a [&'a str],
    dimensions: usize,
    values: &'a [f32],
}

impl Grouping {
    fn named(what: &str) -> Result<Self> {
        match what {
            "soft" => Ok(Self::Soft),
            "tree" => Ok(Self::Tree),
            other => bail!("no clustering is named {other}"),
        }
    }

    fn groups(self, points: &Points) -> Vec<Group> {
        let named = |members: &[u32]| -> Vec<String> {
            members.iter().map(|number| points.names()[*number as usize].clone()).collect()
        };
        match self {
            Self::Soft => {
                let settings = SoftSettings { max_size: u64::MAX, ..SoftSettings::default() };
                let clusters = soft_clusters(points, &[], &settings);
                let groups = clusters.iter().map(|cluster| {
                    let members = named(cluster);
                    Group { layer: 1, id: members.join("\n"), members }
                });
                groups.collect()
            }
            Self::Tree => {
                let nodes = tree(points, &TreeSettings::default()).nodes;
                let group = |node: &graphloom_cluster::TreeNode| Group {
                    layer: node.layer,
                    members: named(&node.members),
                    id: format!("{:?}", node.id),
                };
                nodes.iter().map(group).collect()
            }
        }
    }
}

impl Vectors<'_> {
    /// Returns the ids of the groups without some of the vectors.
    fn ids_without(
        &self,
        grouping: Grouping,
        is_left_out: impl Fn(usize) -> bool,
    ) -> Result<BTreeSet<String>> {
        let kept: Vec<usize> = (0..self.names.len()).filter(|number| !is_left_out(*number)).collect();
        let names: Vec<&str> = kept.iter().map(|number| self.names[*number]).collect();
        let row = |number: &usize| &self.values[number * self.dimensions..(number + 1) * self.dimensions];
        let values: Vec<f32> = kept.iter().flat_map(row).copied().collect();
        let groups = grouping.groups(&Points::new(&names, self.dimensions, &values)?);
        Ok(groups.into_iter().map(|group| group.id).collect())
    }
}

/// Returns the share of the groups that do not exist without some of the vectors.
fn new_groups(grouping: Grouping, vectors: &Vectors<'_>, share: f64) -> Result<f64> {
    let every = (1.0 / share).round().max(2.0) as usize;
    let before = vectors.ids_without(grouping, |number| number % every == 0)?;
    let after = grouping.groups(&Points::new(vectors.names, vectors.dimensions, vectors.values)?);
    let new = after.iter().filter(|group| !before.contains(&group.id)).count();
    Ok(new as f64 / after.len().max(1) as f64)
}

/// Returns the number of groups that are new with one vector, and of groups that contain it, over `count` evenly spread vectors.
fn new_with_one(grouping: Grouping, vectors: &Vectors<'_>, count: usize) -> Result<Value> {
    let after = grouping.groups(&Points::new(vectors.names, vectors.dimensions, vectors.values)?);
    let (mut new, mut most, mut above, mut tried) = (0, 0, 0, 0);
    let names = vectors.names;
    for left_out in (0..names.len()).step_by((names.len() / count.max(1)).max(1)) {
        let before = vectors.ids_without(grouping, |number| number == left_out)?;
        let with = after.iter().filter(|group| !before.contains(&group.id)).count();
        (new, most, tried) = (new + with, most.max(with), tried + 1);
        let is_in = |group: &&Group| group.members.iter().any(|member| member == names[left_out]);
        above += after.iter().filter(is_in).count();
    }
    let mean = |sum: usize| sum as f64 / f64::from(tried.max(1));
    Ok(
        json!({ "vectors": tried, "nodes": after.len(), "new": mean(new), "most": most, "above": mean(above) }),
    )
}
