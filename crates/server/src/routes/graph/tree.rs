//! The tree of summaries.

use axum::extract::Path;
use axum::routing::get;
use graphloom_engine::derive::{
    NodeName, Quote, Tree, TreeEntry, TreeNodeView, TreePassage, find_tree_nodes, layer_states, tree_node,
    tree_nodes,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};

/// Maximum nodes per answer.
const MAX_NODES: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::get(
        "/tree",
        "The nodes of a level of the tree of summaries, those over most passages first",
        || get(list),
    )
    .reads()
    .takes(Takes::Query(schema::<ListParams>))
    .gives(Gives::Json(schema::<TreeNodeList>)),
    Route::get(
        "/tree/{id}",
        "A node of the tree with its summary, and the nodes and passages it joins",
        || get(one),
    )
    .reads()
    .gives(Gives::Json(schema::<TreeNodeItem>)),
];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TreeListParams")]
struct ListParams {
    /// The level; 1 is above the passages.
    #[serde(default = "one_level")]
    level: u32,
    /// Maximum nodes, 1 to 1000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = MAX_NODES))]
    limit: usize,
}

fn one_level() -> u32 {
    1
}

fn hundred() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
struct TreeNodeList {
    /// Whether the tree is complete and no passage has changed since.
    current: bool,
    /// Number of nodes on each level, starting with level 0, which has none.
    levels: Vec<u64>,
    /// The nodes of the level that have a summary.
    nodes: Vec<TreeEntryItem>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeEntry")]
struct TreeEntryItem {
    id: String,
    level: u32,
    title: String,
    summary: String,
    /// The author of the summary: a model's name, or `rules` for sentences of the documents.
    by: String,
    /// Passages below the node.
    passages: u32,
    /// Nodes and passages that it joins.
    parts: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeNode")]
struct TreeNodeItem {
    #[serde(flatten)]
    entry: TreeEntryItem,
    /// The nodes that it is a part of.
    parents: Vec<Part>,
    /// The nodes that it joins.
    nodes: Vec<Part>,
    /// The passages that it joins.
    members: Vec<Passage>,
    /// Where the sentences of the summary come from; empty if a model wrote it.
    quotes: Vec<Sentence>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamedTreeNode")]
struct Part {
    id: String,
    title: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreePassage")]
struct Passage {
    chunk_id: String,
    /// The document's id.
    document: String,
    source: String,
    /// First byte in the document's text.
    start: u64,
    /// One past the last byte.
    end: u64,
    /// First and last line, from 1.
    lines: [u32; 2],
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TreeSentence")]
struct Sentence {
    /// The document's id.
    document: String,
    source: String,
    /// First byte in the document's text.
    start: u64,
    /// One past the last byte.
    end: u64,
    /// First and last line, from 1.
    lines: [u32; 2],
    quote: String,
}

impl From<TreeEntry> for TreeEntryItem {
    fn from(entry: TreeEntry) -> Self {
        let TreeEntry { id, level, title, summary, by, passages, parts } = entry;
        Self { id: id.to_string(), level, title, summary, by, passages, parts }
    }
}

impl From<TreeNodeView> for TreeNodeItem {
    fn from(node: TreeNodeView) -> Self {
        let TreeNodeView { entry, parents, nodes, members, quotes } = node;
        let part = |NodeName { id, title }| Part { id: id.to_string(), title };
        let passage = |passage: TreePassage| {
            let TreePassage { chunk, document, source, start, end, lines, text } = passage;
            let (chunk_id, document) = (chunk.to_string(), document.to_string());
            let lines = lines.into();
            Passage { chunk_id, document, source, start, end, lines, text }
        };
        let sentence = |quote: Quote| {
            let Quote { document, source, start, end, lines, quote } = quote;
            let (document, lines) = (document.to_string(), lines.into());
            Sentence { document, source, start, end, lines, quote }
        };
        Self {
            entry: entry.into(),
            parents: parents.into_iter().map(part).collect(),
            nodes: nodes.into_iter().map(part).collect(),
            members: members.into_iter().map(passage).collect(),
            quotes: quotes.into_iter().map(sentence).collect(),
        }
    }
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(ListParams { level, limit }): Params<ListParams>,
) -> Result<axum::Json<TreeNodeList>, Problem> {
    if !(1..=MAX_NODES).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_NODES}")));
    }
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let layers = layer_states(snapshot.as_ref()).await?;
        let layer = layers.into_iter().find(|layer| layer.layer == Tree::name());
        let (current, levels) = layer.map_or((false, Vec::new()), |layer| (layer.current, layer.levels));
        let mut found = tree_nodes(snapshot.as_ref(), level).await?;
        found.truncate(limit);
        let nodes = found.into_iter().map(TreeEntryItem::from).collect();
        Ok(axum::Json(TreeNodeList { current, levels, nodes }))
    })
    .await
}

async fn one(
    ExistingWorkspace(space): ExistingWorkspace,
    Path(id): Path<String>,
) -> Result<axum::Json<TreeNodeItem>, Problem> {
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let found = find_tree_nodes(snapshot.as_ref(), &id).await?;
        let node = match found.as_slice() {
            [key] => tree_node(snapshot.as_ref(), key).await?,
            _ => None,
        };
        node.map(|node| axum::Json(node.into())).ok_or_else(|| Problem::not_found("no such node"))
    })
    .await
}
