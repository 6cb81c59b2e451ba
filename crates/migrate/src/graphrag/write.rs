//! Writes a workspace as the tables of GraphRAG 3.x.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use graphloom_core::{
    Chunk, ChunkId, Document, DocumentId, Entity, EntityKey, GraphKey, LayerNode, Member, NodeKey, Relation,
    RelationKey, Snapshot, StoreError, Visibility, table as stored,
};
use graphloom_engine::derive::{Communities, Finding, Reference, Report};
use serde::Serialize;
use serde_json::{Value, json};

use super::covariates::Covariates;
use crate::MigrateError;
use crate::table::{self, Column, Values};

/// Rows read from the store at a time.
const PAGE: usize = 500;
/// Maximum chunks of one entity or relation.
const MAX_CHUNKS: usize = 1_000_000;
/// Parent of communities on the coarsest level.
const NO_PARENT: i64 = -1;

/// The tables that can be written, by name.
pub const TABLES: [&str; 7] = [
    "documents",
    "text_units",
    "entities",
    "relationships",
    "covariates",
    "communities",
    "community_reports",
];

/// Counts of what was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportCounts {
    /// The tables.
    pub files: Vec<PathBuf>,
    /// Documents.
    pub documents: u64,
    /// Text units.
    pub text_units: u64,
    /// Entities.
    pub entities: u64,
    /// Relationships.
    pub relationships: u64,
    /// Claims.
    pub covariates: u64,
    /// Communities.
    pub communities: u64,
    /// Community reports.
    pub reports: u64,
    /// Whether the communities are up to date with the graph; `None` if there are none.
    pub communities_current: Option<bool>,
}

/// Writes the live documents, the graph and the communities into `folder`, one table after the other. An existing table is
/// replaced once the new one is complete.
///
/// - `period`: the date of the communities, such as `2026-11-24`.
pub async fn write(
    snapshot: &dyn Snapshot,
    folder: &Path,
    period: &str,
) -> Result<ExportCounts, MigrateError> {
    std::fs::create_dir_all(folder)
        .map_err(|source| MigrateError::Write { path: folder.to_owned(), source })?;
    let documents = Documents::read(snapshot).await?;
    let graph = Graph::read(snapshot).await?;
    let covariates = Covariates::read(snapshot, &documents, &graph).await?;
    let communities = CommunityTree::read(snapshot).await?;
    let mut written = ExportCounts {
        documents: documents.list.len() as u64,
        text_units: documents.chunks.len() as u64,
        entities: graph.entities.len() as u64,
        relationships: graph.relations.len() as u64,
        covariates: covariates.len(),
        communities: communities.nodes.len() as u64,
        communities_current: communities.current,
        ..ExportCounts::default()
    };
    let mut put = |name: &str, columns: Vec<Column>| -> Result<(), MigrateError> {
        let path = folder.join(format!("{name}.parquet"));
        let partial = folder.join(format!("{name}.parquet.partial"));
        table::write(&partial, &columns)?;
        std::fs::rename(&partial, &path)
            .map_err(|source| MigrateError::Write { path: path.clone(), source })?;
        written.files.push(path);
        Ok(())
    };
    put("documents", documents.table())?;
    put("text_units", documents.units_table(&graph, &covariates))?;
    put("entities", graph.entities_table())?;
    put("relationships", graph.relations_table())?;
    put("covariates", covariates.table())?;
    if communities.current.is_some() {
        put("communities", communities.table(&graph, period))?;
        let (reports, columns) = communities.reports_table(&documents, period);
        put("community_reports", columns)?;
        written.reports = reports;
    }
    Ok(written)
}

pub(super) fn texts<T>(rows: &[T], text: impl Fn(&T) -> String) -> Values {
    Values::Texts(rows.iter().map(text).collect())
}

/// Returns the column `human_readable_id`: the number of each row.
pub(super) fn numbers(rows: usize) -> Column {
    Column { name: "human_readable_id", values: Values::Integers((0..rows as i64).collect()) }
}

pub(super) fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}

pub(super) struct Documents {
    /// The documents with their texts, by source.
    list: Vec<(Document, String)>,
    /// The chunks in the order of the documents.
    chunks: Vec<Chunk>,
    /// Indices of the chunks in `chunks`.
    numbers: BTreeMap<ChunkId, usize>,
}

impl Documents {
    async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let mut live = snapshot.pages(stored::Documents).all().await?;
        live.retain(|document| document.visibility == Visibility::Live);
        live.sort_by(|one, other| one.source.cmp(&other.source));
        let (mut list, mut chunks) = (Vec::with_capacity(live.len()), Vec::new());
        for page in live.chunks(PAGE) {
            let ids: Vec<DocumentId> = page.iter().map(|document| document.id.clone()).collect();
            let texts = snapshot.texts(&ids).await?;
            list.extend(page.iter().cloned().zip(texts.into_iter().map(Option::unwrap_or_default)));
            chunks.extend(snapshot.chunks_of(&ids).await?.into_iter().flatten());
        }
        let numbers = chunks.iter().enumerate().map(|(number, chunk)| (chunk.id.clone(), number)).collect();
        Ok(Self { list, chunks, numbers })
    }

    pub(super) fn number(&self, chunk: &ChunkId) -> Option<usize> {
        self.numbers.get(chunk).copied()
    }

    pub(super) fn chunk(&self, chunk: &ChunkId) -> Option<&Chunk> {
        self.chunks.get(self.number(chunk)?)
    }

    fn table(&self) -> Vec<Column> {
        /// Metadata key that has its own column.
        const DATE: &str = "creation_date";
        let mut units: BTreeMap<&DocumentId, Vec<String>> = BTreeMap::new();
        for chunk in &self.chunks {
            units.entry(&chunk.document).or_default().push(chunk.id.to_string());
        }
        let rest = |document: &Document| {
            let rest: BTreeMap<&String, &String> =
                document.meta.iter().filter(|(name, _)| *name != DATE).collect();
            if rest.is_empty() { String::new() } else { json!(rest).to_string() }
        };
        let rows = &self.list;
        vec![
            column("id", texts(rows, |(document, _)| document.id.to_string())),
            numbers(rows.len()),
            column("title", texts(rows, |(document, _)| document.source.clone())),
            column("text", texts(rows, |(_, text)| text.clone())),
            column(
                "text_unit_ids",
                Values::TextLists(
                    rows.iter().map(|(document, _)| units.remove(&document.id).unwrap_or_default()).collect(),
                ),
            ),
            column(DATE, texts(rows, |(document, _)| document.meta.get(DATE).cloned().unwrap_or_default())),
            column("raw_data", texts(rows, |(document, _)| rest(document))),
        ]
    }

    fn units_table(&self, graph: &Graph, covariates: &Covariates) -> Vec<Column> {
        let rows = &self.chunks;
        let mut entities: BTreeMap<&ChunkId, Vec<String>> = BTreeMap::new();
        for EntityRow { entity, chunks, .. } in &graph.entities {
            for chunk in chunks {
                entities.entry(chunk).or_default().push(entity.key.to_string());
            }
        }
        let mut relations: BTreeMap<&ChunkId, Vec<String>> = BTreeMap::new();
        for RelationRow { relation, chunks, .. } in &graph.relations {
            for chunk in chunks {
                relations.entry(chunk).or_default().push(relation.key.to_string());
            }
        }
        let mut claims = covariates.of_chunks();
        let lists = |lists: &mut BTreeMap<&ChunkId, Vec<String>>| {
            Values::TextLists(rows.iter().map(|chunk| lists.remove(&chunk.id).unwrap_or_default()).collect())
        };
        vec![
            column("id", texts(rows, |chunk| chunk.id.to_string())),
            numbers(rows.len()),
            column("text", texts(rows, |chunk| chunk.text.clone())),
            column("n_tokens", Values::Integers(rows.iter().map(|chunk| chunk.token_count.into()).collect())),
            column("document_id", texts(rows, |chunk| chunk.document.to_string())),
            column("entity_ids", lists(&mut entities)),
            column("relationship_ids", lists(&mut relations)),
            column("covariate_ids", lists(&mut claims)),
        ]
    }
}

struct EntityRow {
    entity: Entity,
    /// Unique, because relationships refer to entities by title.
    title: String,
    chunks: Vec<ChunkId>,
}

struct RelationRow {
    relation: Relation,
    source: String,
    target: String,
    combined_degree: u32,
    chunks: Vec<ChunkId>,
}

pub(super) struct Graph {
    entities: Vec<EntityRow>,
    relations: Vec<RelationRow>,
}

impl Graph {
    async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let mut entities: Vec<EntityRow> = Vec::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut pages = snapshot.pages(stored::Entities);
        while let Some(page) = pages.next().await? {
            let keys: Vec<GraphKey> =
                page.iter().map(|entity| GraphKey::Entity(entity.key.clone())).collect();
            let chunks = snapshot.chunks_behind(&keys, None, MAX_CHUNKS).await?;
            for (entity, chunks) in page.into_iter().zip(chunks) {
                let title = if taken.insert(entity.name.clone()) {
                    entity.name.clone()
                } else {
                    entity.key.to_string()
                };
                entities.push(EntityRow { entity, title, chunks });
            }
        }
        let known: BTreeMap<&EntityKey, &EntityRow> =
            entities.iter().map(|row| (&row.entity.key, row)).collect();
        let mut relations = Vec::new();
        let mut pages = snapshot.pages(stored::Relations);
        while let Some(page) = pages.next().await? {
            let keys: Vec<RelationKey> = page.iter().map(|relation| relation.key.clone()).collect();
            let facts = snapshot.facts_of(&keys).await?;
            let keys: Vec<GraphKey> = keys.into_iter().map(GraphKey::Relation).collect();
            let chunks = snapshot.chunks_behind(&keys, None, MAX_CHUNKS).await?;
            for ((relation, facts), chunks) in page.into_iter().zip(facts).zip(chunks) {
                let [a, b] = relation.key.ends().map(|end| known.get(end));
                let (Some(a), Some(b)) = (a, b) else { continue };
                // The direction of most facts.
                let counting = facts.iter().filter(|fact| !fact.set_aside);
                let forward = counting.map(|fact| if fact.source_is_a { 1 } else { -1 }).sum::<i64>() >= 0;
                let (source, target) = if forward { (a, b) } else { (b, a) };
                relations.push(RelationRow {
                    source: source.title.clone(),
                    target: target.title.clone(),
                    combined_degree: a.entity.degree + b.entity.degree,
                    relation,
                    chunks,
                });
            }
        }
        Ok(Self { entities, relations })
    }

    pub(super) fn titles(&self) -> impl Iterator<Item = (&EntityKey, &str)> {
        self.entities.iter().map(|row| (&row.entity.key, row.title.as_str()))
    }

    fn entities_table(&self) -> Vec<Column> {
        let rows = &self.entities;
        let integers = |number: fn(&Entity) -> u32| {
            Values::Integers(rows.iter().map(|row| number(&row.entity).into()).collect())
        };
        vec![
            column("id", texts(rows, |row| row.entity.key.to_string())),
            numbers(rows.len()),
            column("title", texts(rows, |row| row.title.clone())),
            column("type", texts(rows, |row| row.entity.kind.clone())),
            column("description", texts(rows, |row| row.entity.description.clone())),
            column("text_unit_ids", Values::TextLists(rows.iter().map(|row| ids(&row.chunks)).collect())),
            column("frequency", integers(|entity| entity.mention_count)),
            column("degree", integers(|entity| entity.degree)),
        ]
    }

    fn relations_table(&self) -> Vec<Column> {
        let rows = &self.relations;
        vec![
            column("id", texts(rows, |row| row.relation.key.to_string())),
            numbers(rows.len()),
            column("source", texts(rows, |row| row.source.clone())),
            column("target", texts(rows, |row| row.target.clone())),
            column("description", texts(rows, |row| row.relation.description.clone())),
            column("weight", Values::Numbers(rows.iter().map(|row| row.relation.weight).collect())),
            column(
                "combined_degree",
                Values::Integers(rows.iter().map(|row| row.combined_degree.into()).collect()),
            ),
            column("text_unit_ids", Values::TextLists(rows.iter().map(|row| ids(&row.chunks)).collect())),
        ]
    }
}

fn ids(chunks: &[ChunkId]) -> Vec<String> {
    chunks.iter().map(ToString::to_string).collect()
}

/// The communities, coarsest level first.
struct CommunityTree {
    nodes: Vec<LayerNode>,
    numbers: BTreeMap<NodeKey, usize>,
    parents: BTreeMap<NodeKey, usize>,
    /// Entities of each community, including those of its parts.
    entities: Vec<BTreeSet<EntityKey>>,
    /// Whether they are up to date; `None` if there are none.
    current: Option<bool>,
}

impl CommunityTree {
    async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let name = Communities::name();
        let layer = snapshot.layers().await?.into_iter().find(|layer| layer.name == name);
        let mut nodes = match &layer {
            Some(layer) => {
                let nodes = stored::Nodes { layer: layer.name.clone(), level: None };
                snapshot.pages(nodes).all().await?
            }
            None => Vec::new(),
        };
        nodes.sort_by(|one, other| (one.level, &one.key).cmp(&(other.level, &other.key)));
        let numbers: BTreeMap<NodeKey, usize> =
            nodes.iter().enumerate().map(|(number, node)| (node.key.clone(), number)).collect();
        let mut parents = BTreeMap::new();
        let mut entities = vec![BTreeSet::new(); nodes.len()];
        // Parts are on finer levels, so they come later in the list.
        for (number, node) in nodes.iter().enumerate().rev() {
            let mut own = BTreeSet::new();
            for member in &node.members {
                match member {
                    Member::Entity(key) => drop(own.insert(key.clone())),
                    Member::Node(key) => {
                        if let Some(part) = numbers.get(key) {
                            own.extend(entities[*part].iter().cloned());
                            parents.insert(key.clone(), number);
                        }
                    }
                    Member::Chunk(_) => {}
                }
            }
            entities[number] = own;
        }
        let current = layer.map(|layer| layer.is_current(snapshot.graph_revision()));
        Ok(Self { nodes, numbers, parents, entities, current })
    }

    fn parent(&self, node: &LayerNode) -> i64 {
        self.parents.get(&node.key).map_or(NO_PARENT, |parent| *parent as i64)
    }

    fn children(&self, node: &LayerNode) -> Vec<i64> {
        let number = |member: &Member| match member {
            Member::Node(key) => self.numbers.get(key).map(|number| *number as i64),
            Member::Chunk(_) | Member::Entity(_) => None,
        };
        node.members.iter().filter_map(number).collect()
    }

    fn table(&self, graph: &Graph, period: &str) -> Vec<Column> {
        let rows = &self.nodes;
        let count = rows.len();
        let mut relations: Vec<Vec<String>> = vec![Vec::new(); count];
        let mut chunks: Vec<BTreeSet<&ChunkId>> = vec![BTreeSet::new(); count];
        // An entity is in at most one community per level.
        let mut holding: BTreeMap<&EntityKey, Vec<usize>> = BTreeMap::new();
        for (number, entities) in self.entities.iter().enumerate() {
            for entity in entities {
                holding.entry(entity).or_default().push(number);
            }
        }
        for row in &graph.relations {
            let [a, b] = row.relation.key.ends().map(|end| holding.get(end).map_or(&[][..], Vec::as_slice));
            for number in a.iter().copied().filter(|number| b.contains(number)) {
                relations[number].push(row.relation.key.to_string());
                chunks[number].extend(&row.chunks);
            }
        }
        let chunks = chunks.into_iter().map(|chunks| chunks.into_iter().map(ToString::to_string).collect());
        let entities = self.entities.iter().map(|keys| keys.iter().map(ToString::to_string).collect());
        vec![
            column("id", texts(rows, |node| node.key.to_string())),
            numbers(count),
            column("community", Values::Integers((0..count as i64).collect())),
            column("level", Values::Integers(rows.iter().map(|node| node.level.into()).collect())),
            column("parent", Values::Integers(rows.iter().map(|node| self.parent(node)).collect())),
            column("children", Values::IntegerLists(rows.iter().map(|node| self.children(node)).collect())),
            column("title", Values::Texts((0..count).map(|number| format!("Community {number}")).collect())),
            column("entity_ids", Values::TextLists(entities.collect())),
            column("relationship_ids", Values::TextLists(relations)),
            column("text_unit_ids", Values::TextLists(chunks.collect())),
            column("period", texts(rows, |_| period.to_owned())),
            column("size", Values::Integers(self.entities.iter().map(|keys| keys.len() as i64).collect())),
        ]
    }

    /// Returns the number of reports and their table.
    fn reports_table(&self, documents: &Documents, period: &str) -> (u64, Vec<Column>) {
        let rows: Vec<(usize, &LayerNode, Report, Vec<Vec<String>>)> = self
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(number, node)| {
                let report = Report::of(node)?;
                let findings = findings(&report, documents);
                Some((number, node, report, findings))
            })
            .collect();
        let integers = |number: &dyn Fn(usize, &LayerNode) -> i64| {
            Values::Integers(rows.iter().map(|(at, node, ..)| number(*at, node)).collect())
        };
        let json = |node: &LayerNode, report: &Report, findings: &[Vec<String>]| {
            let exact = |finding: &Finding| -> Vec<Value> {
                let references = finding.references.iter();
                let exact = references.map(|Reference { chunk, span, .. }| {
                    json!({ "text_unit": chunk, "start": span.start, "end": span.end })
                });
                exact.collect()
            };
            let findings = findings.iter().zip(&report.findings).map(|(texts, finding)| {
                json!({ "explanation": texts[0], "summary": texts[1], "references": exact(finding) })
            });
            let findings: Vec<Value> = findings.collect();
            json!({
                "by": report.by,
                "title": node.title,
                "summary": report.summary,
                "rating": report.rating,
                "rating_explanation": report.rating_reason,
                "findings": findings,
                "dropped_references": report.dropped_references,
            })
            .to_string()
        };
        let content = |node: &LayerNode, report: &Report, findings: &[Vec<String>]| {
            let findings = findings.iter().map(|finding| format!("\n\n## {}\n\n{}", finding[1], finding[0]));
            format!("# {}\n\n{}{}", node.title, report.summary, findings.collect::<String>())
        };
        let columns = vec![
            column("id", texts(&rows, |(_, node, ..)| format!("{}-report", node.key))),
            column("human_readable_id", integers(&|at, _| at as i64)),
            column("community", integers(&|at, _| at as i64)),
            column("level", integers(&|_, node| node.level.into())),
            column("parent", integers(&|_, node| self.parent(node))),
            column(
                "children",
                Values::IntegerLists(rows.iter().map(|(_, node, ..)| self.children(node)).collect()),
            ),
            column("title", texts(&rows, |(_, node, ..)| node.title.clone())),
            column("summary", texts(&rows, |(_, _, report, _)| report.summary.clone())),
            column("full_content", texts(&rows, |(_, node, report, found)| content(node, report, found))),
            column("rank", Values::Numbers(rows.iter().map(|(_, _, report, _)| report.rating).collect())),
            column("rating_explanation", texts(&rows, |(_, _, report, _)| report.rating_reason.clone())),
            column(
                "findings",
                Values::RecordLists(
                    &["explanation", "summary"],
                    rows.iter().map(|(_, _, _, findings)| findings.clone()).collect(),
                ),
            ),
            column("full_content_json", texts(&rows, |(_, node, report, found)| json(node, report, found))),
            column("period", texts(&rows, |_| period.to_owned())),
            column("size", integers(&|at, _| self.entities[at].len() as i64)),
        ];
        (rows.len() as u64, columns)
    }
}

/// Returns explanation and summary of each finding. References become `[Data: Sources (1, 2)]` with the numbers of text units.
fn findings(report: &Report, documents: &Documents) -> Vec<Vec<String>> {
    let finding = |finding: &Finding| {
        let numbers: BTreeSet<usize> = (finding.references.iter())
            .filter_map(|reference| documents.numbers.get(&reference.chunk).copied())
            .collect();
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let explanation = match numbers.is_empty() {
            true => finding.explanation.clone(),
            false => format!("{} [Data: Sources ({})]", finding.explanation, numbers.join(", ")),
        };
        vec![explanation, finding.summary.clone()]
    };
    report.findings.iter().map(finding).collect()
}
