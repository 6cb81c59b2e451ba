//! `graphloom graph labels` and `subgraph`.

use std::collections::BTreeMap;

use graphloom_core::EntityKey;
use graphloom_engine::explore::{self, Label, Limit, Subgraph, SubgraphQuery};

use super::show;
use crate::commands::App;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Default number of labels [LightRAG].
const POPULAR: usize = 300;
/// Default number of matches [LightRAG].
const MATCHES: usize = 50;

/// Prints matching labels, the labels with the most relations, or all labels.
pub(super) async fn labels(app: &App, text: &str, limit: Option<usize>, all: bool) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let labels: Vec<Label> = match (all, text.trim()) {
        (true, _) => explore::all_labels(snapshot).await?,
        (false, "") => explore::popular_labels(snapshot, limit.unwrap_or(POPULAR)).await?,
        (false, text) => explore::search_labels(snapshot, text, limit.unwrap_or(MATCHES)).await?,
    };
    let found = if labels.is_empty() { Exit::NothingFound } else { Exit::Done };
    if app.output.json {
        app.output.json(&labels)?;
        return Ok(found);
    }
    for label in &labels {
        let about = format!("({}, {})", plain(&label.kind), count(label.degree, "relation"));
        app.output.line(format_args!("{} {}", plain(&label.name), app.output.faint(&about)))?;
    }
    if labels.is_empty() {
        app.output.line("nothing found")?;
    }
    Ok(found)
}

/// Prints the part of the graph around an entity.
pub(super) async fn subgraph(app: &App, label: &str, depth: u32, max_nodes: usize) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let query = SubgraphQuery { label: label.to_owned(), max_depth: depth, max_nodes };
    let Some(graph) = explore::subgraph(snapshot.as_ref(), &query).await? else {
        return Err(show::unknown(snapshot.as_ref(), label).await?);
    };
    if app.output.json {
        app.output.json(&graph)?;
    } else {
        print(app, &graph)?;
    }
    Ok(Exit::Done)
}

fn print(app: &App, graph: &Subgraph) -> anyhow::Result<()> {
    let output = &app.output;
    let names: BTreeMap<&EntityKey, &str> =
        graph.nodes.iter().map(|node| (&node.entity.key, node.entity.name.as_str())).collect();
    let name = |key: &EntityKey| plain(names.get(key).copied().unwrap_or(key.as_str()));
    output.line(output.heading("entities"))?;
    for node in &graph.nodes {
        let about = format!("({}, {} away)", plain(&node.entity.kind), node.depth);
        output.line(format_args!("  {} {}", plain(&node.entity.name), output.faint(&about)))?;
    }
    output.line(output.heading("relations"))?;
    for edge in &graph.edges {
        let (a, b) = (name(edge.key.a()), name(edge.key.b()));
        output.line(format_args!("  {a} - {b}  {}", one_line(&edge.description, 120)))?;
    }
    for limit in &graph.truncated_by {
        let (what, flag) = match limit {
            Limit::Depth => ("are further away", "--depth"),
            Limit::Nodes => ("did not fit", "--max-nodes"),
        };
        output.line(format_args!("at least {} {what}; see {flag}", count(graph.left_out, "entity")))?;
    }
    Ok(())
}
