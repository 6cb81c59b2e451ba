//! `graphloom tree`: summaries of passages, and the parts of each summary.

use graphloom_engine::derive::{
    LayerStatus, NodeName, Quote, Tree, TreeEntry, TreeNodeView, TreePassage, find_tree_nodes, tree_node,
    tree_nodes,
};
use serde::Serialize;

use super::App;
use super::layer::{LayerWords, note_more, place, titled};
use crate::args::TreeArgs;
use crate::fault::Exit;
use crate::output::render::{count, one_line, plain};
use crate::wire;

/// Maximum characters of a summary in a list.
const SUMMARY_CHARS: usize = 300;
/// Maximum characters of a passage.
const PASSAGE_CHARS: usize = 160;

const WORDS: LayerWords = LayerWords {
    missing: "no tree yet; `graphloom derive tree` builds it",
    outdated: "the tree is out of date; `graphloom derive tree` updates it",
    node: "node",
    list: "graphloom tree",
};

#[derive(Serialize)]
struct TreeOutput {
    /// `None` if the tree was never derived.
    layer: Option<LayerStatus>,
    level: u32,
    /// Number of nodes on the level.
    total: usize,
    nodes: Vec<TreeEntry>,
}

/// Lists the nodes of a level, or prints one.
pub(crate) async fn run(app: &App, args: &TreeArgs) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let layer = WORDS.state(app, snapshot, &Tree::name()).await?;
    if let Some(id) = &args.node {
        let found = find_tree_nodes(snapshot, id).await?;
        let node = tree_node(snapshot, WORDS.only(&found, id)?).await?.ok_or_else(|| WORDS.unknown(id))?;
        if app.output.json {
            app.output.json(&node)?
        } else {
            print_node(app, &node)?
        }
        return Ok(Exit::Done);
    }
    let level = args.level.unwrap_or_else(|| layer.as_ref().map_or(1, level_to_list));
    let mut nodes = tree_nodes(snapshot, level).await?;
    let total = nodes.len();
    nodes.truncate(args.limit);
    let listed = TreeOutput { layer, level, total, nodes };
    if app.output.json {
        app.output.json(&listed)?
    } else {
        print_list(app, &listed)?
    }
    Ok(Exit::Done)
}

/// Returns the highest level with several nodes, or if there is none, the highest level with any.
fn level_to_list(layer: &LayerStatus) -> u32 {
    let several = layer.levels.iter().rposition(|nodes| *nodes > 1);
    let any = layer.levels.iter().rposition(|nodes| *nodes > 0);
    several.or(any).map_or(1, |level| level as u32)
}

fn print_list(app: &App, listed: &TreeOutput) -> anyhow::Result<()> {
    let output = &app.output;
    let Some(layer) = &listed.layer else { return Ok(()) };
    let levels: Vec<String> = (0_u32..)
        .zip(&layer.levels)
        .filter(|(_, nodes)| **nodes > 0)
        .map(|(level, nodes)| format!("{nodes} on level {level}"))
        .collect();
    let levels = if levels.is_empty() { "no nodes: too few passages".to_owned() } else { levels.join(", ") };
    output.line(format_args!("{} {levels}", output.heading("tree")))?;
    for TreeEntry { id, level, title, summary, by, passages, parts } in &listed.nodes {
        output.line("")?;
        output.line(titled(output, title, id))?;
        output.line(format_args!(
            "level {level}, {} in {}, written by {}",
            count(*passages, "passage"),
            count(*parts, "part"),
            plain(by)
        ))?;
        output.line(one_line(summary, SUMMARY_CHARS))?;
    }
    note_more(output, listed.total, listed.nodes.len());
    Ok(())
}

fn print_node(app: &App, node: &TreeNodeView) -> anyhow::Result<()> {
    let output = &app.output;
    let TreeNodeView { entry, parents, nodes, members, quotes } = node;
    let TreeEntry { id, level, title, summary, by, passages, .. } = entry;
    output.line(titled(output, title, id))?;
    output.line(format_args!("level {level}, {}, written by {}", count(*passages, "passage"), plain(by)))?;
    output.line("")?;
    if quotes.is_empty() {
        output.line(plain(summary))?;
    }
    for Quote { source, lines, quote, .. } in quotes {
        output.line(format_args!("{} {}", output.faint(&place(source, *lines)), one_line(quote, 400)))?;
    }
    let sections = [("part of", parents), ("parts", nodes)];
    for (heading, named) in sections.into_iter().filter(|(_, named)| !named.is_empty()) {
        output.line("")?;
        output.line(output.heading(heading))?;
        for NodeName { id, title } in named {
            output.line(format_args!("  {} {}", one_line(title, 120), output.faint(id.as_str())))?;
        }
    }
    if !members.is_empty() {
        output.line("")?;
        output.line(output.heading("passages"))?;
        for TreePassage { source, lines, text, .. } in members {
            let place = place(source, *lines);
            output.line(format_args!("  {} {}", output.faint(&place), one_line(text, PASSAGE_CHARS)))?;
        }
    }
    Ok(())
}
