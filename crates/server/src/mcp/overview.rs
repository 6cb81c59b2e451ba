//! The tool that says what the documents as a whole are about.

use std::sync::Arc;

use graphloom_core::LayerName;
use graphloom_engine::derive::{Communities, Tree, communities, community, layer_states, tree_nodes};
use graphloom_engine::explore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reading::within;
use super::row::{Row, ToolCall, schema_of};
use crate::access::Right;
use crate::problem::Problem;
use crate::route::Load;

/// Maximum items of each list.
const MAX_ITEMS: usize = 50;
/// Findings of a report.
const FINDINGS: usize = 3;

pub(super) const ROWS: &[Row] = &[Row {
    name: "corpus_overview",
    title: "Overview of the documents",
    about: "What the documents as a whole are about: the most important communities of the knowledge graph with their reports \
            and the sentences behind them, the topics of the passages, and the best connected entities. Does not call an LLM. \
            Use it for questions about themes, or before searching an unknown collection.",
    right: Right::Read,
    load: Load::Look,
    destroys: false,
    takes: schema_of::<OverviewInput>,
    gives: schema_of::<OverviewOutput>,
    call: |calling, arguments| calling.answer(arguments, overview),
}];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverviewInput {
    /// Maximum communities, topics and entities each, 1 to 50.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
}

fn ten() -> usize {
    10
}

#[derive(Default, Serialize, JsonSchema)]
struct OverviewOutput {
    /// Number of documents.
    documents: u64,
    /// Number of passages.
    passages: u64,
    /// Number of entities.
    entities_total: u64,
    /// Number of relations.
    relations_total: u64,
    /// The best rated communities of the coarsest level.
    communities: Vec<CommunityItem>,
    /// What large groups of passages are about, those of most passages first.
    topics: Vec<TopicItem>,
    /// The entities with the most relations.
    entities: Vec<CentralEntity>,
    /// What is missing or out of date, and how an administrator can fix it.
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct CommunityItem {
    id: String,
    title: String,
    summary: String,
    /// Importance, from 0 to 10.
    rating: f64,
    /// The author of the report: a model's name, or `rules`.
    by: String,
    /// Number of entities.
    entities: u32,
    /// The most important findings with a sentence behind each.
    findings: Vec<FindingItem>,
}

#[derive(Serialize, JsonSchema)]
struct FindingItem {
    finding: String,
    /// A verbatim sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<String>,
    /// Name of the document of the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
    /// First and last line of the sentence, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<[u32; 2]>,
}

#[derive(Serialize, JsonSchema)]
struct TopicItem {
    id: String,
    title: String,
    summary: String,
    /// The author of the summary: a model's name, or `rules`.
    by: String,
    /// Number of passages.
    passages: u32,
}

#[derive(Serialize, JsonSchema)]
struct CentralEntity {
    name: String,
    /// Number of relations.
    relations: u32,
}

async fn overview(
    calling: Arc<ToolCall>,
    OverviewInput { limit }: OverviewInput,
) -> Result<OverviewOutput, Problem> {
    within("limit", limit, MAX_ITEMS)?;
    let Some(space) = calling.space_if_any().await? else {
        return Ok(OverviewOutput { notes: vec![calling.adds_documents()], ..OverviewOutput::default() });
    };
    let snapshot = space.asking.store.snapshot().await?;
    let snapshot = snapshot.as_ref();
    let counts = snapshot.counts().await?;
    let layers = layer_states(snapshot).await?;
    let state = |name: &LayerName| layers.iter().find(|layer| layer.layer == *name);
    let mut notes = Vec::new();
    let mut note = |what: &str, layer: &LayerName| match state(layer) {
        None => notes.push(format!("there are no {what} yet: {} makes them", calling.derives(layer))),
        Some(state) if !state.current => {
            notes.push(format!("the {what} are out of date: {} updates them", calling.derives(layer)));
        }
        Some(_) => {}
    };
    if counts.documents == 0 {
        notes.push(calling.adds_documents());
    } else {
        note("communities", &Communities::name());
        note("topics", &Tree::name());
    }
    let mut items = Vec::new();
    for entry in communities(snapshot, 0).await?.into_iter().take(limit) {
        let Some(report) = community(snapshot, &entry.id).await? else { continue };
        let findings = report.findings.into_iter().take(FINDINGS).map(|finding| {
            let quote = finding.references.into_iter().next();
            FindingItem {
                finding: finding.summary,
                lines: quote.as_ref().map(|quote| [quote.lines.0, quote.lines.1]),
                file_path: quote.as_ref().map(|quote| quote.source.clone()),
                quote: quote.map(|quote| quote.quote),
            }
        });
        items.push(CommunityItem {
            findings: findings.collect(),
            id: entry.id.to_string(),
            title: entry.title,
            summary: entry.summary,
            rating: entry.rating,
            by: entry.by,
            entities: entry.entities,
        });
    }
    // A single node over everything says less than its parts.
    let levels = state(&Tree::name()).map_or(&[][..], |state| &state.levels);
    let several = levels.iter().rposition(|nodes| *nodes > 1);
    let level = several.or_else(|| levels.iter().rposition(|nodes| *nodes > 0));
    let nodes = match level {
        Some(level) => tree_nodes(snapshot, level as u32).await?,
        None => Vec::new(),
    };
    let topics = nodes.into_iter().take(limit).map(|node| TopicItem {
        id: node.id.to_string(),
        title: node.title,
        summary: node.summary,
        by: node.by,
        passages: node.passages,
    });
    let labels = explore::popular_labels(snapshot, limit).await?;
    let keys: Vec<_> = labels.iter().map(|label| label.key.clone()).collect();
    let degrees = snapshot.degrees(&keys).await?;
    let entities = labels.into_iter().zip(degrees);
    Ok(OverviewOutput {
        documents: counts.documents,
        passages: counts.chunks,
        entities_total: counts.entities,
        relations_total: counts.relations,
        communities: items,
        topics: topics.collect(),
        entities: entities.map(|(label, relations)| CentralEntity { name: label.name, relations }).collect(),
        notes,
    })
}
