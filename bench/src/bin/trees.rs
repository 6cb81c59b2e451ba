//! Clusters and trees of vectors: time and members, for `bench/trees.py`.
//!
//! ```text
//! graphloom-bench-trees soft|tree NAMES VECTORS [--without SHARE] [--one COUNT]
//! ```
//!
//! `NAMES` has a name in each line, and `VECTORS` as many vectors of little-endian 32-bit floats. Prints one JSON object
//! with the names in each cluster, or in each node of the tree and its layer. `--without` leaves out that share of the
//! vectors, spread evenly, and also says how many nodes of the tree are new with them. `--one` leaves out one vector at a time,
//! so many of them, and says how many nodes are new with it and how many stand above it, on average and at most.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use graphloom_cluster::{CommunityId, Points, SoftSettings, TreeSettings, soft_clusters, tree};
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
    let begin = Instant::now();
    let groups: Vec<Value> = match what.as_str() {
        "soft" => {
            let settings = SoftSettings { max_size: u64::MAX, ..SoftSettings::default() };
            let clusters = soft_clusters(&points, &[], &settings);
            clusters.iter().map(|cluster| json!({ "layer": 1, "members": named(&points, cluster) })).collect()
        }
        "tree" => {
            let tree = tree(&points, &TreeSettings::default());
            tree.nodes
                .iter()
                .map(|node| json!({ "layer": node.layer, "members": named(&points, &node.members) }))
                .collect()
        }
        other => bail!("no clustering is named {other}"),
    };
    let mut result =
        json!({ "vectors": points.len(), "seconds": begin.elapsed().as_secs_f64(), "groups": groups });
    for option in rest.chunks(2) {
        match option {
            [option, share] if option == "--without" => {
                result["new"] = json!(new_nodes(&names, dimensions, &values, share.parse()?)?);
            }
            [option, count] if option == "--one" => {
                result["one"] = new_with_one(&names, dimensions, &values, count.parse()?)?;
            }
            _ => bail!("unknown option {}", option.join(" ")),
        }
    }
    println!("{result}");
    Ok(())
}

fn named<'a>(points: &'a Points, members: &[u32]) -> Vec<&'a str> {
    members.iter().map(|number| points.names()[*number as usize].as_str()).collect()
}

/// The share of the tree's nodes that are not in the tree without some of the vectors.
fn new_nodes(names: &[&str], dimensions: usize, values: &[f32], share: f64) -> Result<f64> {
    let every = (1.0 / share).round().max(2.0) as usize;
    let before = ids_without(names, dimensions, values, |number| number % every == 0)?;
    let after = tree(&Points::new(names, dimensions, values)?, &TreeSettings::default());
    let new = after.nodes.iter().filter(|node| !before.contains(&node.id)).count();
    Ok(new as f64 / after.nodes.len().max(1) as f64)
}

/// Nodes that are new with one vector, and nodes above it, over `count` vectors that are spread evenly.
fn new_with_one(names: &[&str], dimensions: usize, values: &[f32], count: usize) -> Result<Value> {
    let points = Points::new(names, dimensions, values)?;
    let after = tree(&points, &TreeSettings::default());
    let (mut new, mut most, mut above, mut tried) = (0, 0, 0, 0);
    for left_out in (0..names.len()).step_by((names.len() / count.max(1)).max(1)) {
        let before = ids_without(names, dimensions, values, |number| number == left_out)?;
        let name = names[left_out];
        let number =
            points.names().binary_search_by(|known| known.as_str().cmp(name)).unwrap_or_default() as u32;
        let with = after.nodes.iter().filter(|node| !before.contains(&node.id)).count();
        (new, most, tried) = (new + with, most.max(with), tried + 1);
        above += after.nodes.iter().filter(|node| node.members.binary_search(&number).is_ok()).count();
    }
    let mean = |sum: usize| sum as f64 / f64::from(tried.max(1));
    Ok(
        json!({ "vectors": tried, "nodes": after.nodes.len(), "new": mean(new), "most": most, "above": mean(above) }),
    )
}

/// The nodes of the tree without some of the vectors.
fn ids_without(
    names: &[&str],
    dimensions: usize,
    values: &[f32],
    is_left_out: impl Fn(usize) -> bool,
) -> Result<BTreeSet<CommunityId>> {
    let kept: Vec<usize> = (0..names.len()).filter(|number| !is_left_out(*number)).collect();
    let some_names: Vec<&str> = kept.iter().map(|number| names[*number]).collect();
    let rows = kept.iter().flat_map(|number| &values[number * dimensions..(number + 1) * dimensions]);
    let some_values: Vec<f32> = rows.copied().collect();
    let tree = tree(&Points::new(&some_names, dimensions, &some_values)?, &TreeSettings::default());
    Ok(tree.nodes.into_iter().map(|node| node.id).collect())
}
