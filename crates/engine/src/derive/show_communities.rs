//! Returns communities and their reports for display and the API.

use futures::future::BoxFuture;
use graphloom_core::{EntityKey, LayerNode, Member, NodeKey, Snapshot, StoreError};
use serde::Serialize;

use super::communities::Communities;
use super::pages::{self, Documents, NodeName, Quote};
use super::report::{Report, ReportSource};

/// A community in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommunityEntry {
    /// Its id.
    pub id: NodeKey,
    /// Its level; 0 is the coarsest.
    pub level: u32,
    /// Its title.
    pub title: String,
    /// What the community is about.
    pub summary: String,
    /// Importance of the community, from 0 to 10.
    pub rating: f64,
    /// The author of its report: the name of an LLM, or `rules`.
    pub by: String,
    /// Number of entities, including its parts.
    pub entities: u32,
    /// Number of relations between them.
    pub relations: u32,
}

/// A community with its report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommunityReport {
    /// The fields shown in lists.
    #[serde(flatten)]
    pub entry: CommunityEntry,
    /// Reason for the rating.
    pub rating_reason: String,
    /// Findings, most important first.
    pub findings: Vec<QuotedFinding>,
    /// Number of the author's references that could not be resolved.
    pub dropped_references: u32,
    /// What the report was written from.
    pub source: ReportSource,
    /// Number of relations that neither the author nor the author of a part's report saw.
    pub omitted_relations: u32,
    /// The community that contains it: id and title.
    pub parent: Option<NodeName>,
    /// Its sub-communities, by id.
    pub parts: Vec<NodeName>,
    /// Its entities that are in none of its parts, by key.
    pub members: Vec<EntityKey>,
}

/// A finding with the sentences that support it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuotedFinding {
    /// The insight in one sentence.
    pub summary: String,
    /// The insight in a few sentences.
    pub explanation: String,
    /// Verbatim sentences of documents.
    pub references: Vec<Quote>,
}

/// Returns the communities on a level that have a report, highest rating first; ties by id.
pub fn communities<'a>(
    snapshot: &'a dyn Snapshot,
    level: u32,
) -> BoxFuture<'a, Result<Vec<CommunityEntry>, StoreError>> {
    Box::pin(async move {
        let entry = |node: &LayerNode| Some(entry_of(node, &Report::of(node)?));
        let mut entries = pages::entries(snapshot, Communities::name(), level, entry).await?;
        entries.sort_by(|one, other| other.rating.total_cmp(&one.rating).then_with(|| one.id.cmp(&other.id)));
        Ok(entries)
    })
}

/// Returns the communities whose id equals or starts with `id`, at most two. `id` may omit the part before the hyphen.
pub async fn find_communities(snapshot: &dyn Snapshot, id: &str) -> Result<Vec<NodeKey>, StoreError> {
    pages::find_nodes(snapshot, &Communities::name(), id).await
}

/// Returns a community with its report and the quotes of its references; `None` if it does not exist.
pub fn community<'a>(
    snapshot: &'a dyn Snapshot,
    id: &'a NodeKey,
) -> BoxFuture<'a, Result<Option<CommunityReport>, StoreError>> {
    Box::pin(async move {
        let Some(node) = pages::node_of(snapshot, &Communities::name(), id).await? else { return Ok(None) };
        let Some(report) = Report::of(&node) else { return Ok(None) };
        let (mut parts, mut members) = (Vec::new(), Vec::new());
        for member in &node.members {
            match member {
                Member::Node(key) => parts.push(key.clone()),
                Member::Entity(key) => members.push(key.clone()),
                Member::Chunk(_) => {}
            }
        }
        Ok(Some(CommunityReport {
            entry: entry_of(&node, &report),
            rating_reason: report.rating_reason.clone(),
            findings: quoted(snapshot, &report).await?,
            dropped_references: report.dropped_references,
            source: report.source,
            omitted_relations: report.omitted_relations,
            parent: pages::parents_of(snapshot, id).await?.into_iter().next(),
            parts: pages::names_of(snapshot, &parts).await?,
            members,
        }))
    })
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
    let documents = Documents::read(snapshot, references.map(|reference| &reference.document)).await?;
    let findings = report.findings.iter().map(|finding| QuotedFinding {
        summary: finding.summary.clone(),
        explanation: finding.explanation.clone(),
        references: finding.references.iter().filter_map(|reference| documents.quote(reference)).collect(),
    });
    Ok(findings.collect())
}
