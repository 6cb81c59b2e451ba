//! Clusters and trees of vectors: time and members, for `bench/trees.py`.
//!
//! ```text
//! graphloom-bench-trees soft|tree NAMES VECTORS [--without SHARE]
//! ```
//!
//! `NAMES` has a name in each line, and `VECTORS` as many vectors of little-endian 32-bit floats. Prints one JSON object
//! with the names in each cluster, or in each node of the tree and its layer. `--without` leaves out that share of the
//! vectors, spread evenly, and also says how many nodes of the tree are new with them.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use graphloom_cluster::{Points, SoftSettings, Tree, TreeSettings, soft_clusters, tree};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, names, vectors, rest @ ..] = arguments.as_slice() else {
        bail!("usage: graphloom-bench-trees soft|tree NAMES VECTORS [--without SHARE]");
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
    if let [option, share] = rest {
        if option != "--without" {
            bail!("unknown option {option}");
        }
        result["new"] = json!(new_nodes(&names, dimensions, &values, share.parse()?)?);
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
    let kept: Vec<usize> = (0..names.len()).filter(|number| number % every != 0).collect();
    let some_names: Vec<&str> = kept.iter().map(|number| names[*number]).collect();
    let some_values: Vec<f32> = kept
        .iter()
        .flat_map(|number| &values[number * dimensions..(number + 1) * dimensions])
        .copied()
        .collect();
    let build = |names: &[&str], values: &[f32]| -> Result<Tree> {
        Ok(tree(&Points::new(names, dimensions, values)?, &TreeSettings::default()))
    };
    let before: BTreeSet<_> =
        build(&some_names, &some_values)?.nodes.into_iter().map(|node| node.id).collect();
    let after = build(names, values)?;
    let new = after.nodes.iter().filter(|node| !before.contains(&node.id)).count();
    Ok(new as f64 / after.nodes.len().max(1) as f64)
}
