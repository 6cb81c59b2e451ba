//! Measures the communities of a graph: time, modularity, and how many change when documents change.
//!
//! ```text
//! graphloom-bench-communities EDGES [--seeds N] [--labels FILE] [--changed SHARE] [--rounds N]
//! ```
//!
//! `EDGES` has a line for each edge with fields separated by tabs: one end, the other end, weight and, for `--changed`, the document
//! of the edge. Prints one JSON object.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use graphloom_cluster::{
    Edge, Graph, Hierarchy, HierarchySettings, LeidenSettings, hierarchy, leiden, modularity,
};
use serde_json::{Value, json};

struct Options {
    edges: PathBuf,
    seeds: u64,
    labels: Option<PathBuf>,
    changed: Option<f64>,
    rounds: u64,
}

fn options() -> Result<Options> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        edges: arguments.next().context("usage: graphloom-bench-communities EDGES [options]")?.into(),
        seeds: 0,
        labels: None,
        changed: None,
        rounds: 5,
    };
    while let Some(option) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--seeds" => options.seeds = value.parse()?,
            "--labels" => options.labels = Some(value.into()),
            "--changed" => options.changed = Some(value.parse()?),
            "--rounds" => options.rounds = value.parse()?,
            _ => bail!("unknown option {option}"),
        }
    }
    Ok(options)
}

struct Line {
    a: String,
    b: String,
    weight: f64,
    document: String,
}

fn read(path: &PathBuf) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    text.lines()
        .enumerate()
        .map(|(number, line)| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().with_context(|| format!("line {}: too few fields", number + 1));
            let (a, b) = (next()?.to_owned(), next()?.to_owned());
            let weight = next()?.parse().with_context(|| format!("line {}: weight", number + 1))?;
            Ok(Line { a, b, weight, document: next().unwrap_or_default().to_owned() })
        })
        .collect()
}

fn graph_of<'a>(lines: impl Iterator<Item = &'a Line>) -> Result<Graph> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut edges = Vec::new();
    for line in lines {
        let [a, b] = [&line.a, &line.b].map(|name| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            })
        });
        edges.push(Edge::new(a, b, line.weight));
    }
    Ok(Graph::new(&names, &edges)?)
}

fn main() -> Result<()> {
    let options = options()?;
    let lines = read(&options.edges)?;
    let settings = HierarchySettings::default();
    let begin = processor_seconds()?;
    let graph = graph_of(lines.iter())?;
    let graph_seconds = processor_seconds()? - begin;
    let (labels, leiden_seconds) = timed(|| leiden(&graph, &settings.leiden))?;
    let (all, hierarchy_seconds) = timed(|| hierarchy(&graph, &settings))?;
    let leaves = all.communities.iter().filter(|community| community.children.is_empty());
    let mut result = json!({
        "nodes": graph.len(),
        "weight": graph.weight(),
        "graph_seconds": graph_seconds,
        "leiden_seconds": leiden_seconds,
        "hierarchy_seconds": hierarchy_seconds,
        "modularity": modularity(&graph, &labels, 1.0),
        "communities": labels.iter().max().map_or(0, |last| last + 1),
        "levels": levels(&all),
        "largest_leaf": leaves.clone().map(|community| community.members.len()).max(),
        "leaf_modularity": modularity(&graph, &all.partition(all.levels()), 1.0), "leaves": leaves.clone().count(), "alone": leaves.clone().filter(|c| c.members.len()==1).count(),
    });
    if options.seeds > 0 {
        let mut values: Vec<f64> = (0..options.seeds)
            .map(|seed| {
                let settings = LeidenSettings { seed, ..LeidenSettings::default() };
                modularity(&graph, &leiden(&graph, &settings), 1.0)
            })
            .collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        result["seeds"] =
            json!({ "count": values.len(), "min": values[0], "mean": mean, "max": values[values.len() - 1] });
    }
    if let Some(share) = options.changed {
        result["changed"] = changed(&lines, share, options.rounds, &settings)?;
    }
    if let Some(path) = options.labels {
        let text: String =
            graph.names().iter().zip(&labels).map(|(name, label)| format!("{name}\t{label}\n")).collect();
        std::fs::write(path, text)?;
    }
    println!("{result}");
    Ok(())
}

/// Returns the result and the processor time of one run: the mean over as many runs as the clock's resolution needs.
fn timed<T>(run: impl Fn() -> T) -> Result<(T, f64)> {
    let begin = processor_seconds()?;
    let mut runs = 1_u32;
    let mut result = run();
    while processor_seconds()? - begin < 0.2 {
        result = run();
        runs += 1;
    }
    Ok((result, (processor_seconds()? - begin) / f64::from(runs)))
}

/// Returns the processor time of this process, which has one thread. Other work on the machine does not count.
fn processor_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").context("reading /proc/self/schedstat")?;
    let nanoseconds: u64 =
        text.split_whitespace().next().context("/proc/self/schedstat is empty")?.parse()?;
    Ok(nanoseconds as f64 / 1e9)
}

fn levels(hierarchy: &Hierarchy) -> Vec<usize> {
    let mut counts = vec![0; hierarchy.levels() as usize];
    hierarchy.communities.iter().for_each(|community| counts[community.level as usize] += 1);
    counts
}

/// Compares the graph without one half of the changed documents with the graph without the other half, so that the same share is
/// removed and added.
fn changed(lines: &[Line], share: f64, rounds: u64, settings: &HierarchySettings) -> Result<Value> {
    let documents: Vec<&str> =
        lines.iter().map(|line| line.document.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let half = ((documents.len() as f64 * share / 2.0).round() as usize).max(1);
    let mut rows = Vec::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..rounds {
        let mut chosen: Vec<&str> = Vec::new();
        while chosen.len() < 2 * half {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let document = documents[(state >> 33) as usize % documents.len()];
            if !chosen.contains(&document) {
                chosen.push(document);
            }
        }
        let (removed, added) = chosen.split_at(half);
        let before = graph_of(lines.iter().filter(|line| !added.contains(&line.document.as_str())))?;
        let after = graph_of(lines.iter().filter(|line| !removed.contains(&line.document.as_str())))?;
        let touched: BTreeSet<&str> = lines
            .iter()
            .filter(|line| chosen.contains(&line.document.as_str()))
            .flat_map(|line| [line.a.as_str(), line.b.as_str()])
            .collect();
        rows.push(compare(&before, &after, &touched, settings));
    }
    Ok(json!({ "documents": 2 * half, "rounds": rows }))
}

/// Counts how many of the communities with an edge inside are new after a change, on each level and in total.
fn compare(before: &Graph, after: &Graph, touched: &BTreeSet<&str>, settings: &HierarchySettings) -> Value {
    let (old, new) = (hierarchy(before, settings), hierarchy(after, settings));
    let ids: BTreeSet<_> = old.communities.iter().map(|community| community.id).collect();
    // Per level: all communities, new ones, new ones with a node of a changed edge, and new ones without such a node.
    let mut levels: BTreeMap<u32, [usize; 4]> = BTreeMap::new();
    for community in new.communities.iter().filter(|community| community.members.len() > 1) {
        let is_new = !ids.contains(&community.id);
        let is_touched =
            community.members.iter().any(|node| touched.contains(after.names()[*node as usize].as_str()));
        let level = levels.entry(community.level).or_default();
        for (count, is_one) in level.iter_mut().zip([true, is_new, is_touched, is_new && !is_touched]) {
            *count += usize::from(is_one);
        }
    }
    let sums = [0, 1, 2, 3].map(|column| levels.values().map(|level| level[column]).sum::<usize>());
    let share = |column: usize| sums[column] as f64 / sums[0].max(1) as f64;
    json!({
        "communities": sums[0],
        "new": share(1),
        "touched": share(2),
        "new_elsewhere": share(3),
        "levels": levels.into_values().collect::<Vec<_>>(),
        "modularity": modularity(after, &new.partition(0), 1.0),
    })
}
