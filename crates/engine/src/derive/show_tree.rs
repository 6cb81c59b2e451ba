//! Returns the tree for display and the API.

use futures::future::BoxFuture;
use graphloom_core::{Chunk, ChunkId, DocumentId, LayerNode, Member, NodeKey, Snapshot, StoreError};
use serde::Serialize;

use super::pages::{self, Documents, NodeName, Quote};
use super::summary::NodeSummary;
use super::tree::Tree;

/// A node of the tree in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeEntry {
    /// Its id.
    pub id: NodeKey,
    /// Its level; level 1 is directly above the passages.
    pub level: u32,
    /// Its title.
    pub title: String,
    /// Its summary.
    pub summary: String,
    /// The author of the summary: the name of an LLM, or `rules` for sentences of the documents.
    pub by: String,
    /// Number of passages below it.
    pub passages: u32,
    /// Number of nodes and passages that it joins.
    pub parts: u32,
}

/// A tree node with its parents and members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeNodeView {
    /// The fields shown in lists.
    #[serde(flatten)]
    pub entry: TreeEntry,
    /// The nodes that contain it, by id.
    pub parents: Vec<NodeName>,
    /// The nodes that it joins, by id.
    pub nodes: Vec<NodeName>,
    /// The passages that it joins, by document and position.
    pub members: Vec<TreePassage>,
    /// Where the sentences of the summary come from; empty if an LLM wrote it.
    pub quotes: Vec<Quote>,
}

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreePassage {
    /// The chunk.
    pub chunk: ChunkId,
    /// The document.
    pub document: DocumentId,
    /// Its source.
    pub source: String,
    /// First byte in the document's text.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// The passage.
    pub text: String,
}

/// Returns the nodes on a level that have a summary, those with the most passages first; ties by id.
pub fn tree_nodes<'a>(
    snapshot: &'a dyn Snapshot,
    level: u32,
) -> BoxFuture<'a, Result<Vec<TreeEntry>, StoreError>> {
    Box::pin(async move {
        let entry = |node: &LayerNode| Some(entry_of(node, &NodeSummary::of(node)?));
        let mut entries = pages::entries(snapshot, Tree::name(), level, entry).await?;
        entries.sort_by(|one, other| other.passages.cmp(&one.passages).then_with(|| one.id.cmp(&other.id)));
        Ok(entries)
    })
}

/// Returns the nodes whose id equals or starts with `id`, at most two. `id` may omit the part before the hyphen.
pub async fn find_tree_nodes(snapshot: &dyn Snapshot, id: &str) -> Result<Vec<NodeKey>, StoreError> {
    pages::find_nodes(snapshot, &Tree::name(), id).await
}

/// Returns a node with its parents and members; `None` if it does not exist.
pub fn tree_node<'a>(
    snapshot: &'a dyn Snapshot,
    id: &'a NodeKey,
) -> BoxFuture<'a, Result<Option<TreeNodeView>, StoreError>> {
    Box::pin(async move {
        let Some(node) = pages::node_of(snapshot, &Tree::name(), id).await? else { return Ok(None) };
        let Some(summary) = NodeSummary::of(&node) else { return Ok(None) };
        let (mut inner, mut chunks) = (Vec::new(), Vec::new());
        for member in &node.members {
            match member {
                Member::Node(key) => inner.push(key.clone()),
                Member::Chunk(id) => chunks.push(id.clone()),
                Member::Entity(_) => {}
            }
        }
        let mut chunks: Vec<Chunk> = snapshot.chunks(&chunks).await?.into_iter().flatten().collect();
        let quoted = summary.quotes.iter().map(|reference| &reference.document);
        let owners = chunks.iter().map(|chunk| &chunk.document).chain(quoted);
        let documents = Documents::read(snapshot, owners).await?;
        chunks.sort_by(|one, other| {
            let place = |chunk: &Chunk| (documents.source(&chunk.document).to_owned(), chunk.ordinal);
            place(one).cmp(&place(other)).then_with(|| one.id.cmp(&other.id))
        });
        let passage = |chunk: Chunk| {
            Some(TreePassage {
                lines: documents.lines(&chunk.document, chunk.span)?,
                source: documents.source(&chunk.document).to_owned(),
                start: chunk.span.start,
                end: chunk.span.end,
                chunk: chunk.id,
                document: chunk.document,
                text: chunk.text,
            })
        };
        Ok(Some(TreeNodeView {
            entry: entry_of(&node, &summary),
            parents: pages::parents_of(snapshot, id).await?,
            nodes: pages::names_of(snapshot, &inner).await?,
            members: chunks.into_iter().filter_map(passage).collect(),
            quotes: summary.quotes.iter().filter_map(|reference| documents.quote(reference)).collect(),
        }))
    })
}

fn entry_of(node: &LayerNode, summary: &NodeSummary) -> TreeEntry {
    TreeEntry {
        id: node.key.clone(),
        level: node.level,
        title: node.title.clone(),
        summary: node.text.clone(),
        by: summary.by.clone(),
        passages: summary.passages,
        parts: node.members.len() as u32,
    }
}
