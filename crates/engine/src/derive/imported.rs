//! Reports that another system wrote, used for communities with the same entities and the same evidence.
//!
//! A report costs money, so it is stored where LLM answers about nodes are: in the cache, under the hash of the community's
//! entities, together with a hash of the chunks behind these entities. A community uses the report instead of a new one
//! only if both hashes still match, so a report never outlives its evidence.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{
    Batch, CacheEntry, CacheKind, ChunkId, ContentHash, EntityKey, GraphKey, LayerNode, Member, NodeKey,
    RelationKey, Snapshot, Store, StoreError,
};
use serde::{Deserialize, Serialize};

use super::report::{
    Finding, MAX_FINDINGS, MAX_RATING, MAX_REFERENCES, Material, RULES, Reference, Report, Resolver,
};
use super::{Communities, Deriver, NodeOutcome};
use crate::Engine;
use graphloom_text::one_line;

/// Maximum number of chunks per entity that count as its evidence.
const MAX_CHUNKS: usize = 64;
/// Reports stored in one commit.
const PAGE: usize = 256;

/// A report that another system wrote about a group of entities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedReport {
    /// The entities it describes.
    #[serde(skip)]
    pub members: BTreeSet<EntityKey>,
    /// The level of its community; 0 is the coarsest.
    #[serde(skip)]
    pub level: u32,
    /// The chunks that mention each entity.
    #[serde(skip)]
    pub evidence: BTreeMap<EntityKey, BTreeSet<ChunkId>>,
    /// Its author.
    pub by: String,
    /// Title.
    pub title: String,
    /// Summary.
    pub summary: String,
    /// Importance of the community, from 0 to 10.
    pub rating: f64,
    /// Reason for the rating.
    pub rating_reason: String,
    /// Findings, most important first.
    pub findings: Vec<ImportedFinding>,
    /// Number of references that could not be resolved during the import.
    pub dropped_references: u32,
}

/// One insight of an imported report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedFinding {
    /// The insight in one sentence.
    pub summary: String,
    /// The insight in a few sentences.
    pub explanation: String,
    /// What the finding refers to.
    pub about: Vec<About>,
}

/// What a finding refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// An entity.
    Entity(EntityKey),
    /// A relation.
    Relation(RelationKey),
    /// A chunk.
    Chunk(ChunkId),
    /// A sentence of a chunk.
    Sentence(Reference),
}

/// A report as it is stored in the cache.
#[derive(Serialize, Deserialize)]
struct CachedReport {
    evidence: ContentHash,
    report: ImportedReport,
}

/// Stores reports for the communities with their entities. The last of several reports about the same entities wins.
pub async fn keep_reports(store: &dyn Store, reports: &[ImportedReport]) -> Result<(), StoreError> {
    for page in reports.chunks(PAGE) {
        let mut put_cached = Vec::with_capacity(page.len());
        for report in page {
            let evidence = report.members.iter().map(|member| {
                let chunks = report.evidence.get(member).into_iter().flatten().take(MAX_CHUNKS).cloned();
                (member, chunks.collect())
            });
            let kept = CachedReport { evidence: evidence_hash(evidence), report: report.clone() };
            // Plain data, which JSON can always represent.
            let value = serde_json::to_vec(&kept).unwrap_or_default();
            let key = members_key(&report.members.iter().collect::<Vec<_>>());
            put_cached.push(CacheEntry { kind: CacheKind::Node, key, value });
        }
        store.commit(Batch { put_cached, ..Batch::default() }).await?;
    }
    Ok(())
}

/// Returns the number of communities in the current graph that use an imported report.
pub async fn reports_in_use(engine: &Engine, snapshot: &dyn Snapshot) -> Result<u64, StoreError> {
    let mut entities: BTreeMap<NodeKey, Vec<EntityKey>> = BTreeMap::new();
    let mut in_use = 0;
    for node in Communities.plan(engine, snapshot).await? {
        let mut members = Vec::new();
        for member in &node.members {
            match member {
                Member::Entity(key) => members.push(key.clone()),
                // Parts come before the communities that contain them.
                Member::Node(key) => members.extend(entities.get(key).into_iter().flatten().cloned()),
                Member::Chunk(_) => {}
            }
        }
        members.sort_unstable();
        if let Some(kept) = kept_for(snapshot, &members).await?
            && kept.evidence == evidence_of(snapshot, &members).await?
        {
            in_use += 1;
        }
        entities.insert(node.key, members);
    }
    Ok(in_use)
}

/// Returns the imported report for a community; `None` if no report was written from its current evidence.
pub(super) async fn write(
    snapshot: &dyn Snapshot,
    node: &LayerNode,
    material: &Material,
    stored: Option<&LayerNode>,
) -> Result<Option<NodeOutcome>, StoreError> {
    let kept = kept_for(snapshot, &material.members).await?;
    let by_rules = |stored: &LayerNode| Report::of(stored).is_none_or(|report| report.by == RULES);
    if kept.is_none() && stored.is_none_or(by_rules) {
        return Ok(None);
    }
    let evidence = evidence_of(snapshot, &material.members).await?;
    if stored.is_some_and(|stored| stored.inputs_hash == inputs(&material.members, &evidence)) {
        return Ok(Some(NodeOutcome::Kept));
    }
    let Some(CachedReport { report, .. }) = kept.filter(|kept| kept.evidence == evidence) else {
        return Ok(None);
    };
    let node = with_report(snapshot, node, material, report).await?;
    Ok(Some(NodeOutcome::New { node, paid: None, calls: Vec::new() }))
}

/// Returns the node with the report as its text and details.
pub(super) async fn with_report(
    snapshot: &dyn Snapshot,
    node: &LayerNode,
    material: &Material,
    report: ImportedReport,
) -> Result<LayerNode, StoreError> {
    let evidence = evidence_of(snapshot, &material.members).await?;
    let title = report.title.clone();
    let report = resolve(snapshot, material, report).await?;
    Ok(report.put_into(node.clone(), &title, inputs(&material.members, &evidence)))
}

fn inputs(members: &[EntityKey], evidence: &ContentHash) -> ContentHash {
    let key = members_key(&members.iter().collect::<Vec<_>>());
    ContentHash::of_parts(&[key.as_str(), evidence.as_str()])
}

async fn kept_for(
    snapshot: &dyn Snapshot,
    members: &[EntityKey],
) -> Result<Option<CachedReport>, StoreError> {
    let key = members_key(&members.iter().collect::<Vec<_>>());
    let value = snapshot.cached(&[(CacheKind::Node, key)]).await?.pop().flatten();
    Ok(value.and_then(|value| serde_json::from_slice(&value).ok()))
}

/// Returns the report, with the references of its findings resolved to sentences of the documents.
async fn resolve(
    snapshot: &dyn Snapshot,
    material: &Material,
    imported: ImportedReport,
) -> Result<Report, StoreError> {
    let mut resolver = Resolver::new(snapshot, material);
    let (mut findings, mut dropped_references) = (Vec::new(), imported.dropped_references);
    for ImportedFinding { summary, explanation, about } in imported.findings.into_iter().take(MAX_FINDINGS) {
        let claim = resolver.words.of(&format!("{summary} {explanation}"));
        let mut references: Vec<Reference> = Vec::new();
        for about in about {
            let chunks = match about {
                About::Entity(key) => chunks_behind(snapshot, &[GraphKey::Entity(key)]).await?.pop(),
                About::Relation(key) => chunks_behind(snapshot, &[GraphKey::Relation(key)]).await?.pop(),
                About::Chunk(id) => Some(vec![id]),
                About::Sentence(reference) => {
                    let is_there = !resolver.quote(&reference).await?.is_empty();
                    dropped_references += u32::from(!is_there);
                    references.extend(is_there.then_some(reference));
                    continue;
                }
            };
            match resolver.best_sentence_of(&chunks.unwrap_or_default(), &claim, |_| true).await? {
                Some(reference) if references.contains(&reference) => {}
                Some(reference) if references.len() < MAX_REFERENCES => references.push(reference),
                Some(_) | None => dropped_references += 1,
            }
        }
        findings.push(Finding {
            summary: one_line(&summary),
            explanation: one_line(&explanation),
            references,
        });
    }
    let rating = if imported.rating.is_finite() { imported.rating.clamp(0.0, MAX_RATING) } else { 0.0 };
    Ok(Report {
        by: imported.by,
        summary: one_line(&imported.summary),
        rating,
        rating_reason: one_line(&imported.rating_reason),
        findings,
        dropped_references,
        source: material.source,
        entities: material.entities,
        relations: material.relations,
        omitted_relations: 0,
    })
}

async fn chunks_behind(snapshot: &dyn Snapshot, keys: &[GraphKey]) -> Result<Vec<Vec<ChunkId>>, StoreError> {
    snapshot.chunks_behind(keys, None, MAX_CHUNKS).await
}

async fn evidence_of(snapshot: &dyn Snapshot, members: &[EntityKey]) -> Result<ContentHash, StoreError> {
    let keys: Vec<GraphKey> = members.iter().cloned().map(GraphKey::Entity).collect();
    Ok(evidence_hash(members.iter().zip(chunks_behind(snapshot, &keys).await?)))
}

fn evidence_hash<'a>(chunks_of: impl Iterator<Item = (&'a EntityKey, Vec<ChunkId>)>) -> ContentHash {
    let mut parts = Vec::new();
    for (member, chunks) in chunks_of {
        parts.push(member.to_string());
        parts.extend(chunks.iter().map(ToString::to_string));
    }
    ContentHash::of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the cache key; `members` is ascending and has no duplicates.
fn members_key(members: &[&EntityKey]) -> ContentHash {
    let mut parts = vec!["imported report"];
    parts.extend(members.iter().map(|member| member.as_str()));
    ContentHash::of_parts(&parts)
}
