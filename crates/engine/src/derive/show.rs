//! Reads communities and their reports for people and programs.

use std::collections::BTreeMap;

use graphloom_core::{
    Document, DocumentId, EntityKey, LayerName, LayerNode, Member, NodeKey, Snapshot, StoreError, table,
};
use serde::Serialize;

use super::communities::Communities;
use super::report::{Report, ReportSource};
use crate::text::one_line;

/// A community in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommunityEntry {
    /// Its id.
    pub id: NodeKey,
    /// Its level; 0 is the coarsest.
    pub level: u32,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub summary: String,
    /// From 0 to 10, how much it matters.
    pub rating: f64,
    /// The author of its report: a model's name, or `rules`.
    pub by: String,
    /// Entities, those of its parts included.
    pub entities: u32,
    /// Relations between them.
    pub relations: u32,
}

/// A community with its report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommunityReport {
    /// What lists show.
    #[serde(flatten)]
    pub entry: CommunityEntry,
    /// Why it is rated so.
    pub rating_reason: String,
    /// The most important first.
    pub findings: Vec<QuotedFinding>,
    /// References of the author that lead nowhere.
    pub dropped_references: u32,
    /// What the report was written from.
    pub source: ReportSource,
    /// Relations that neither the author nor the author of a part's report was shown.
    pub omitted_relations: u32,
    /// The community that it is a part of: id and title.
    pub parent: Option<CommunityName>,
    /// The communities that it is divided into, by id.
    pub parts: Vec<CommunityName>,
    /// Its entities that are in none of its parts, by key.
    pub members: Vec<EntityKey>,
}

/// A community by id and title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommunityName {
    /// Its id.
    pub id: NodeKey,
    /// Its title.
    pub title: String,
}

/// A finding with the sentences that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuotedFinding {
    /// In one sentence.
    pub summary: String,
    /// In a few sentences.
    pub explanation: String,
    /// Verbatim sentences of documents.
    pub references: Vec<Quote>,
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

/// The communities of a level that have a report, best rated first; ties by id.
pub async fn communities(snapshot: &dyn Snapshot, level: u32) -> Result<Vec<CommunityEntry>, StoreError> {
    let mut entries = Vec::new();
    let mut pages = snapshot.pages(table::Nodes { layer: Communities::name(), level: Some(level) });
    while let Some(page) = pages.next().await? {
        entries.extend(page.iter().filter_map(|node| Some(entry_of(node, &Report::of(node)?))));
    }
    entries.sort_by(|one, other| other.rating.total_cmp(&one.rating).then_with(|| one.id.cmp(&other.id)));
    Ok(entries)
}

/// The communities whose id is, or starts with, `id`, at most two; the part before the hyphen may be left out.
pub async fn find_communities(snapshot: &dyn Snapshot, id: &str) -> Result<Vec<NodeKey>, StoreError> {
    find_nodes(snapshot, &Communities::name(), id).await
}

/// The nodes of a layer whose id is, or starts with, `id`, at most two; the part before the hyphen may be left out.
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

/// A community with its report, and quotes for its references; `None` if there is none.
pub async fn community(snapshot: &dyn Snapshot, id: &NodeKey) -> Result<Option<CommunityReport>, StoreError> {
    let Some(node) = snapshot.nodes(std::slice::from_ref(id)).await?.pop().flatten() else { return Ok(None) };
    let Some(report) = Report::of(&node) else { return Ok(None) };
    let parents = snapshot.nodes_of(&[Member::Node(id.clone())]).await?.concat();
    let parent = snapshot.nodes(&parents).await?.into_iter().flatten().next();
    let (mut parts, mut members) = (Vec::new(), Vec::new());
    for member in &node.members {
        match member {
            Member::Node(key) => parts.push(key.clone()),
            Member::Entity(key) => members.push(key.clone()),
            Member::Chunk(_) => {}
        }
    }
    let parts = snapshot.nodes(&parts).await?.into_iter().flatten().map(named).collect();
    let entry = entry_of(&node, &report);
    Ok(Some(CommunityReport {
        entry,
        rating_reason: report.rating_reason.clone(),
        findings: quoted(snapshot, &report).await?,
        dropped_references: report.dropped_references,
        source: report.source,
        omitted_relations: report.omitted_relations,
        parent: parent.map(named),
        parts,
        members,
    }))
}

fn named(node: LayerNode) -> CommunityName {
    CommunityName { id: node.key, title: node.title }
}

fn entry_of(node: &LayerNode, report: &Report) -> CommunityEntry {
    CommunityEntry {
        id: node.key.clone(),
        level: node.level,
        title: node.title.clone(),
        summary: report.summary.clone(),
        rating: report.rating,
        by: report.by.clone(),
        entities: report.entities,
        relations: report.relations,
    }
}

async fn quoted(snapshot: &dyn Snapshot, report: &Report) -> Result<Vec<QuotedFinding>, StoreError> {
    let references = report.findings.iter().flat_map(|finding| &finding.references);
    let mut ids: Vec<DocumentId> = references.map(|reference| reference.document.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    let documents = snapshot.documents(&ids).await?;
    let texts = snapshot.texts(&ids).await?;
    let read: BTreeMap<DocumentId, (Document, String)> = ids
        .into_iter()
        .zip(documents.into_iter().zip(texts))
        .filter_map(|(id, (document, text))| Some((id, (document?, text?))))
        .collect();
    let quote = |reference: &super::Reference| {
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
    let findings = report.findings.iter().map(|finding| QuotedFinding {
        summary: finding.summary.clone(),
        explanation: finding.explanation.clone(),
        references: finding.references.iter().filter_map(quote).collect(),
    });
    Ok(findings.collect())
}
