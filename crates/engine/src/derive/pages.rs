//! Reads what the pages of all layers show: nodes of a level, nodes by id, their titles, quotes from documents.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Document, DocumentId, LayerName, LayerNode, Member, NodeKey, Snapshot, Span, StoreError, table,
};
use serde::Serialize;

use super::Reference;
use graphloom_text::one_line;

/// A node by id and title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeName {
    /// Its id.
    pub id: NodeKey,
    /// Its title.
    pub title: String,
}

/// A verbatim sentence of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote {
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
    /// The sentence.
    pub quote: String,
}

/// Returns `entry` of each node on a level, by id, without nodes for which it is `None`.
pub(super) async fn entries<E>(
    snapshot: &dyn Snapshot,
    layer: LayerName,
    level: u32,
    entry: impl Fn(&LayerNode) -> Option<E>,
) -> Result<Vec<E>, StoreError> {
    let mut entries = Vec::new();
    let mut pages = snapshot.pages(table::Nodes { layer, level: Some(level) });
    while let Some(page) = pages.next().await? {
        entries.extend(page.iter().filter_map(&entry));
    }
    Ok(entries)
}

/// Returns the nodes of a layer whose id equals or starts with `id`, at most two. `id` may omit the part before the hyphen.
pub(super) async fn find_nodes(
    snapshot: &dyn Snapshot,
    layer: &LayerName,
    id: &str,
) -> Result<Vec<NodeKey>, StoreError> {
    let prefix = match id.strip_prefix(&format!("{layer}-")) {
        Some(_) => id.to_owned(),
        None => format!("{layer}-{id}"),
    };
    let exact = NodeKey::from_stored(&*prefix);
    if snapshot.nodes(std::slice::from_ref(&exact)).await?[0].is_some() {
        return Ok(vec![exact]);
    }
    let found = snapshot.scan(table::Nodes { layer: layer.clone(), level: None }, Some(&exact), 2).await?;
    let keys = found.into_iter().map(|node| node.key);
    Ok(keys.filter(|key| key.as_str().starts_with(&prefix)).collect())
}

/// Returns the node if it exists in this layer.
pub(super) async fn node_of(
    snapshot: &dyn Snapshot,
    layer: &LayerName,
    id: &NodeKey,
) -> Result<Option<LayerNode>, StoreError> {
    let node = snapshot.nodes(std::slice::from_ref(id)).await?.pop().flatten();
    Ok(node.filter(|node| node.layer == *layer))
}

/// Returns the nodes that have this node as a member, by id.
pub(super) async fn parents_of(snapshot: &dyn Snapshot, id: &NodeKey) -> Result<Vec<NodeName>, StoreError> {
    names_of(snapshot, &snapshot.nodes_of(&[Member::Node(id.clone())]).await?.concat()).await
}

/// Returns the titles of the nodes that exist, in the same order.
pub(super) async fn names_of(snapshot: &dyn Snapshot, keys: &[NodeKey]) -> Result<Vec<NodeName>, StoreError> {
    let nodes = snapshot.nodes(keys).await?.into_iter().flatten();
    Ok(nodes.map(|node| NodeName { id: node.key, title: node.title }).collect())
}

/// Documents with their texts.
pub(super) struct Documents(BTreeMap<DocumentId, (Document, String)>);

impl Documents {
    /// Reads the documents that exist among the given ids.
    pub(super) async fn read<'a>(
        snapshot: &dyn Snapshot,
        ids: impl IntoIterator<Item = &'a DocumentId>,
    ) -> Result<Self, StoreError> {
        let ids: BTreeSet<&DocumentId> = ids.into_iter().collect();
        let ids: Vec<DocumentId> = ids.into_iter().cloned().collect();
        let documents = snapshot.documents(&ids).await?;
        let texts = snapshot.texts(&ids).await?;
        let read = ids.into_iter().zip(documents.into_iter().zip(texts));
        Ok(Self(read.filter_map(|(id, (document, text))| Some((id, (document?, text?)))).collect()))
    }

    /// Returns the source of a document; empty if it does not exist.
    pub(super) fn source(&self, id: &DocumentId) -> &str {
        self.0.get(id).map_or("", |(document, _)| document.source.as_str())
    }

    /// Returns the first and last line of a span, from 1; `None` if the document does not exist.
    pub(super) fn lines(&self, id: &DocumentId, span: Span) -> Option<(u32, u32)> {
        Some(span.lines_in(&self.0.get(id)?.1))
    }

    /// Returns the sentence that a reference points to.
    pub(super) fn quote(&self, reference: &Reference) -> Option<Quote> {
        let (document, text) = self.0.get(&reference.document)?;
        Some(Quote {
            document: document.id.clone(),
            source: document.source.clone(),
            start: reference.span.start,
            end: reference.span.end,
            lines: reference.span.lines_in(text),
            quote: one_line(reference.span.slice(text)?),
        })
    }
}
