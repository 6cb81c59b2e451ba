//! Reads the tree for people and programs.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Chunk, ChunkId, Document, DocumentId, LayerNode, Member, NodeKey, Snapshot, StoreError, table,
};
use serde::Serialize;

use super::Reference;
use super::show::{CommunityName, Quote, find_nodes};
use super::summary::NodeSummary;
use super::tree::Tree;
use crate::text::one_line;

/// A node of the tree in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeEntry {
    /// Its id.
    pub id: NodeKey,
    /// Its level; level 1 is above the passages.
    pub level: u32,
    /// Its title.
    pub title: String,
    /// Its summary.
    pub summary: String,
    /// The author of the summary: a model's name, or `rules` for sentences of the documents.
    pub by: String,
    /// Passages below it.
    pub passages: u32,
    /// Nodes and passages that it joins.
    pub parts: u32,
}

/// A node of the tree with what it is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeNodeView {
    /// What lists show.
    #[serde(flatten)]
    pub entry: TreeEntry,
    /// The nodes that it is a part of, by id.
    pub parents: Vec<CommunityName>,
    /// The nodes that it joins, by id.
    pub nodes: Vec<CommunityName>,
    /// The passages that it joins, by document and place.
    pub members: Vec<TreePassage>,
    /// Where the sentences of the summary stand; empty where a model wrote it.
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

/// The nodes of a level that have a summary, those over most passages first; ties by id.
pub async fn tree_nodes(snapshot: &dyn Snapshot, level: u32) -> Result<Vec<TreeEntry>, StoreError> {
    let mut entries = Vec::new();
    let mut pages = snapshot.pages(table::Nodes { layer: Tree::name(), level: Some(level) });
    while let Some(page) = pages.next().await? {
        entries.extend(page.iter().filter_map(|node| Some(entry_of(node, &NodeSummary::of(node)?))));
    }
    entries.sort_by(|one, other| other.passages.cmp(&one.passages).then_with(|| one.id.cmp(&other.id)));
    Ok(entries)
}

/// The nodes whose id is, or starts with, `id`, at most two; the part before the hyphen may be left out.
pub async fn find_tree_nodes(snapshot: &dyn Snapshot, id: &str) -> Result<Vec<NodeKey>, StoreError> {
    find_nodes(snapshot, &Tree::name(), id).await
}

/// A node with what it is made of; `None` if there is none.
pub async fn tree_node(snapshot: &dyn Snapshot, id: &NodeKey) -> Result<Option<TreeNodeView>, StoreError> {
    let Some(node) = snapshot.nodes(std::slice::from_ref(id)).await?.pop().flatten() else { return Ok(None) };
    let Some(summary) = NodeSummary::of(&node).filter(|_| node.layer == Tree::name()) else {
        return Ok(None);
    };
    let parents = snapshot.nodes_of(&[Member::Node(id.clone())]).await?.concat();
    let parents = snapshot.nodes(&parents).await?.into_iter().flatten().map(named).collect();
    let (mut inner, mut chunks) = (Vec::new(), Vec::new());
    for member in &node.members {
        match member {
            Member::Node(key) => inner.push(key.clone()),
            Member::Chunk(id) => chunks.push(id.clone()),
            Member::Entity(_) => {}
        }
    }
    let nodes = snapshot.nodes(&inner).await?.into_iter().flatten().map(named).collect();
    let mut chunks: Vec<Chunk> = snapshot.chunks(&chunks).await?.into_iter().flatten().collect();
    let quoted = summary.quotes.iter().map(|reference| &reference.document);
    let owners: BTreeSet<&DocumentId> = chunks.iter().map(|chunk| &chunk.document).chain(quoted).collect();
    let owners: Vec<DocumentId> = owners.into_iter().cloned().collect();
    let documents = snapshot.documents(&owners).await?;
    let texts = snapshot.texts(&owners).await?;
    let read: BTreeMap<DocumentId, (Document, String)> = owners
        .into_iter()
        .zip(documents.into_iter().zip(texts))
        .filter_map(|(id, (document, text))| Some((id, (document?, text?))))
        .collect();
    let source = |id: &DocumentId| read.get(id).map_or("", |(document, _)| document.source.as_str());
    chunks.sort_by(|one, other| {
        (source(&one.document), one.ordinal, &one.id).cmp(&(
            source(&other.document),
            other.ordinal,
            &other.id,
        ))
    });
    let passage = |chunk: Chunk| {
        let (document, text) = read.get(&chunk.document)?;
        Some(TreePassage {
            chunk: chunk.id,
            document: document.id.clone(),
            source: document.source.clone(),
            start: chunk.span.start,
            end: chunk.span.end,
            lines: chunk.span.lines_in(text),
            text: chunk.text,
        })
    };
    let quote = |reference: &Reference| {
        let (document, text) = read.get(&reference.document)?;
        Some(Quote {
            document: document.id.clone(),
            source: document.source.clone(),
            start: reference.span.start,
            end: reference.span.end,
            lines: reference.span.lines_in(text),
            quote: one_line(reference.span.slice(text)?),
        })
    };
    Ok(Some(TreeNodeView {
        entry: entry_of(&node, &summary),
        parents,
        nodes,
        members: chunks.into_iter().filter_map(passage).collect(),
        quotes: summary.quotes.iter().filter_map(quote).collect(),
    }))
}

fn named(node: LayerNode) -> CommunityName {
    CommunityName { id: node.key, title: node.title }
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
