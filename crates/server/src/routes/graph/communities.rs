//! Communities of the graph and their reports.

use axum::extract::Path;
use axum::routing::get;
use graphloom_engine::derive::{
    Communities, CommunityEntry, CommunityReport, communities, community, find_communities, layer_states,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart::apart;
use crate::input::{ExistingWorkspace, Params};
use crate::problem::Problem;
use crate::route::{Gives, Route, Takes, schema};

/// Maximum communities per answer.
const MAX_COMMUNITIES: usize = 1000;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/communities", "The communities of a level of the graph, best rated first", || get(list))
        .reads()
        .takes(Takes::Query(schema::<ListParams>))
        .gives(Gives::Json(schema::<CommunityList>)),
    Route::get("/communities/{id}", "A community with its report and the sentences that support it", || {
        get(one)
    })
    .reads()
    .gives(Gives::Json(schema::<Report>)),
];

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "CommunityListParams")]
struct ListParams {
    /// The level; 0 is the coarsest.
    #[serde(default)]
    level: u32,
    /// Maximum communities, 1 to 1000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = MAX_COMMUNITIES))]
    limit: usize,
}

fn hundred() -> usize {
    100
}

#[derive(Serialize, JsonSchema)]
struct CommunityList {
    /// Whether the communities are complete and the graph has not changed since.
    current: bool,
    /// Number of communities on each level, starting with level 0.
    levels: Vec<u64>,
    /// The communities of the level that have a report.
    communities: Vec<Entry>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommunityEntry")]
struct Entry {
    id: String,
    level: u32,
    title: String,
    /// What the community is about.
    summary: String,
    /// Importance, from 0 to 10.
    rating: f64,
    /// The author of the report: a model's name, or `rules`.
    by: String,
    /// Number of entities, including those of its parts.
    entities: u32,
    /// Relations between them.
    relations: u32,
}

impl From<CommunityEntry> for Entry {
    fn from(entry: CommunityEntry) -> Self {
        let CommunityEntry { id, level, title, summary, rating, by, entities, relations } = entry;
        Self { id: id.to_string(), level, title, summary, rating, by, entities, relations }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommunityReport")]
struct Report {
    #[serde(flatten)]
    entry: Entry,
    /// Reason for the rating.
    rating_reason: String,
    /// The most important first.
    findings: Vec<Finding>,
    /// Number of the author's references that could not be resolved.
    dropped_references: u32,
    /// Number of relations that neither the author nor the author of a part's report saw.
    omitted_relations: u32,
    /// The community that it is a part of.
    parent: Option<TitledCommunity>,
    /// The communities that it is divided into.
    parts: Vec<TitledCommunity>,
    /// Its entities that are in none of its parts.
    members: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NamedCommunity")]
struct TitledCommunity {
    id: String,
    title: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommunityFinding")]
struct Finding {
    summary: String,
    explanation: String,
    /// Verbatim sentences of documents that support it.
    references: Vec<Quote>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommunityQuote")]
struct Quote {
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

impl From<CommunityReport> for Report {
    fn from(report: CommunityReport) -> Self {
        let named = |it: graphloom_engine::derive::NodeName| TitledCommunity {
            id: it.id.to_string(),
            title: it.title,
        };
        let findings = report.findings.into_iter().map(|finding| Finding {
            summary: finding.summary,
            explanation: finding.explanation,
            references: (finding.references.into_iter())
                .map(|reference| Quote {
                    document: reference.document.to_string(),
                    source: reference.source,
                    start: reference.start,
                    end: reference.end,
                    lines: [reference.lines.0, reference.lines.1],
                    quote: reference.quote,
                })
                .collect(),
        });
        Self {
            findings: findings.collect(),
            entry: report.entry.into(),
            rating_reason: report.rating_reason,
            dropped_references: report.dropped_references,
            omitted_relations: report.omitted_relations,
            parent: report.parent.map(named),
            parts: report.parts.into_iter().map(named).collect(),
            members: report.members.iter().map(ToString::to_string).collect(),
        }
    }
}

async fn list(
    ExistingWorkspace(space): ExistingWorkspace,
    Params(ListParams { level, limit }): Params<ListParams>,
) -> Result<axum::Json<CommunityList>, Problem> {
    if !(1..=MAX_COMMUNITIES).contains(&limit) {
        return Err(Problem::invalid(format!("limit must be from 1 to {MAX_COMMUNITIES}")));
    }
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let layers = layer_states(snapshot.as_ref()).await?;
        let layer = layers.into_iter().find(|layer| layer.layer == Communities::name());
        let (current, levels) = layer.map_or((false, Vec::new()), |layer| (layer.current, layer.levels));
        let mut found = communities(snapshot.as_ref(), level).await?;
        found.truncate(limit);
        let communities = found.into_iter().map(Entry::from).collect();
        Ok(axum::Json(CommunityList { current, levels, communities }))
    })
    .await
}

async fn one(
    ExistingWorkspace(space): ExistingWorkspace,
    Path(id): Path<String>,
) -> Result<axum::Json<Report>, Problem> {
    apart(async move || {
        let snapshot = space.asking.store.snapshot().await?;
        let found = find_communities(snapshot.as_ref(), &id).await?;
        let report = match found.as_slice() {
            [key] => community(snapshot.as_ref(), key).await?,
            _ => None,
        };
        report.map(|report| axum::Json(report.into())).ok_or_else(|| Problem::not_found("no such community"))
    })
    .await
}
