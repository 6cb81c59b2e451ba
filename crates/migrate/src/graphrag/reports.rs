//! Community reports: their subjects, and the references of their findings.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkId, EntityKey, RelationKey, Span};
use graphloom_engine::derive::{About, ImportedFinding, ImportedReport, RULES, Reference};
use graphloom_engine::index::ImportedDocument;
use serde_json::Value;

use super::layout::Layout;
use super::{Documents, Graph, ORIGIN};
use crate::table::Row;

/// Reports of an import.
#[derive(Debug, Default)]
pub struct Reports {
    rows: Vec<ReportRow>,
    /// Whether reports by rules were left out. If so, Graphloom itself had found the communities.
    pub(crate) without_rules: bool,
    /// Places where each entity is mentioned: documents and spans.
    mentions: BTreeMap<EntityKey, BTreeSet<(usize, Span)>>,
}

#[derive(Debug)]
struct ReportRow {
    members: BTreeSet<EntityKey>,
    level: u32,
    by: String,
    title: String,
    summary: String,
    rating: f64,
    rating_reason: String,
    findings: Vec<FindingRow>,
    dropped_references: u32,
}

#[derive(Debug)]
struct FindingRow {
    summary: String,
    explanation: String,
    about: Vec<Target>,
}

/// What a finding refers to.
#[derive(Debug, Clone)]
enum Target {
    Entity(EntityKey),
    Relation(RelationKey),
    Unit(usize, Span),
    /// A span of a document's text in a text unit.
    Sentence(usize, Span, Span),
}

impl Reports {
    pub(super) fn new(
        layout: &Layout,
        graph: &Graph,
        documents: &Documents,
        missing: &mut Vec<String>,
    ) -> Self {
        let targets = Targets::of(layout, graph, documents);
        let (mut rows, mut without_members, mut without_rules) = (Vec::new(), 0, false);
        for row in &layout.reports {
            let members: Option<BTreeSet<EntityKey>> =
                layout.communities.get(&row.text("community")).map(|entities| {
                    let key = |entity: &String| {
                        let by_title = || super::named(entity).map(|(_, key)| key);
                        graph.entity_ids.get(entity).cloned().or_else(by_title)
                    };
                    entities.iter().filter_map(key).collect()
                });
            let Some(members) = members.filter(|members| !members.is_empty()) else {
                without_members += 1;
                continue;
            };
            let report = ReportRow::of(row, members, &targets);
            // Reports by rules can be made again at no cost.
            match report.by == RULES {
                true => without_rules = true,
                false => rows.push(report),
            }
        }
        if without_members > 0 && !layout.communities.is_empty() {
            missing.push(format!("reports about communities without a row, left out: {without_members}"));
        }
        let mentions =
            graph.entities.iter().map(|(key, entity)| (key.clone(), documents.places_of(&entity.units)));
        Self { rows, without_rules, mentions: mentions.collect() }
    }

    /// Returns the reports with references to the chunks of `documents`.
    pub(crate) fn of(&self, documents: &[ImportedDocument]) -> Vec<ImportedReport> {
        let mut ids: BTreeMap<(usize, Span), ChunkId> = BTreeMap::new();
        for (number, document) in documents.iter().enumerate() {
            for (chunk, id) in document.chunks.iter().zip(document.chunk_ids()) {
                ids.entry((number, chunk.span)).or_insert(id);
            }
        }
        let chunks = |places: &BTreeSet<(usize, Span)>| -> BTreeSet<ChunkId> {
            places.iter().filter_map(|place| ids.get(place).cloned()).collect()
        };
        let report = |row: &ReportRow| ImportedReport {
            members: row.members.clone(),
            level: row.level,
            evidence: row
                .members
                .iter()
                .filter_map(|member| Some((member.clone(), chunks(self.mentions.get(member)?))))
                .collect(),
            by: row.by.clone(),
            title: row.title.clone(),
            summary: row.summary.clone(),
            rating: row.rating,
            rating_reason: row.rating_reason.clone(),
            findings: row
                .findings
                .iter()
                .map(|finding| ImportedFinding {
                    summary: finding.summary.clone(),
                    explanation: finding.explanation.clone(),
                    about: finding.about.iter().filter_map(|it| it.resolve(&ids, documents)).collect(),
                })
                .collect(),
            dropped_references: row.dropped_references,
        };
        self.rows.iter().map(report).collect()
    }
}

impl Target {
    fn resolve(
        &self,
        ids: &BTreeMap<(usize, Span), ChunkId>,
        documents: &[ImportedDocument],
    ) -> Option<About> {
        match self {
            Self::Sentence(document, unit, span) => {
                let chunk = ids.get(&(*document, *unit))?.clone();
                let document = documents.get(*document)?.id();
                Some(About::Sentence(Reference { document, chunk, span: *span }))
            }
            Self::Entity(key) => Some(About::Entity(key.clone())),
            Self::Relation(key) => Some(About::Relation(key.clone())),
            Self::Unit(document, span) => ids.get(&(*document, *span)).cloned().map(About::Chunk),
        }
    }
}

/// The rows that numbers in reports refer to.
struct Targets {
    entities: BTreeMap<String, EntityKey>,
    relations: BTreeMap<String, RelationKey>,
    units: BTreeMap<String, (usize, Span)>,
    /// Text units by id.
    unit_ids: BTreeMap<String, (usize, Span)>,
}

impl Targets {
    fn of(layout: &Layout, graph: &Graph, documents: &Documents) -> Self {
        let place = |id: &str| documents.places.get(id).and_then(|places| places.first().copied());
        let units = layout.units_in_order();
        Self {
            entities: graph.entity_numbers.clone(),
            relations: graph.relation_numbers.clone(),
            units: units.filter_map(|(id, unit)| Some((unit.number.clone(), place(id)?))).collect(),
            unit_ids: layout
                .units_in_order()
                .filter_map(|(id, _)| Some((id.to_owned(), place(id)?)))
                .collect(),
        }
    }

    /// Parses a reference in the form that our export writes in addition to the marks.
    fn sentence(&self, reference: &Value) -> Option<Target> {
        let (document, unit) = *self.unit_ids.get(reference.get("text_unit")?.as_str()?)?;
        let byte = |name| reference.get(name).and_then(Value::as_u64);
        Some(Target::Sentence(document, unit, Span { start: byte("start")?, end: byte("end")? }))
    }

    fn find(&self, Mark { table, number }: &Mark) -> Option<Target> {
        match table.as_str() {
            "entities" | "entity" => self.entities.get(number).cloned().map(Target::Entity),
            "relationships" | "relationship" => self.relations.get(number).cloned().map(Target::Relation),
            "sources" | "source" | "text units" => {
                self.units.get(number).map(|(document, span)| Target::Unit(*document, *span))
            }
            _ => None,
        }
    }
}

impl ReportRow {
    fn of(row: &Row, members: BTreeSet<EntityKey>, targets: &Targets) -> Self {
        let json: Value = serde_json::from_str(&row.text("full_content_json")).unwrap_or_default();
        let from_json = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let mut findings: Vec<(String, String)> = row
            .records("findings")
            .iter()
            .map(|finding| (finding.text("summary"), finding.text("explanation")))
            .collect();
        if findings.is_empty() {
            let listed = json.get("findings").and_then(Value::as_array);
            findings = listed
                .into_iter()
                .flatten()
                .map(|finding| match finding.as_str() {
                    Some(text) => (text.to_owned(), String::new()),
                    None => (from_json(finding, "summary"), from_json(finding, "explanation")),
                })
                .collect();
        }
        let exact = |number: usize| {
            let references = json.get("findings")?.get(number)?.get("references")?.as_array()?;
            references.iter().map(|reference| targets.sentence(reference)).collect::<Option<Vec<Target>>>()
        };
        let finding = |(number, (summary, explanation)): (usize, (String, String))| {
            let (summary, mut marks) = without_marks(&summary);
            let (explanation, more) = without_marks(&explanation);
            marks.extend(more);
            let by_marks = || marks.iter().filter_map(|mark| targets.find(mark)).collect();
            let about = exact(number).unwrap_or_else(by_marks);
            FindingRow { summary, explanation, about }
        };
        let by = from_json(&json, "by");
        Self {
            members,
            level: row.number("level").map_or(0, |level| level as u32),
            by: if by.is_empty() { ORIGIN.to_owned() } else { by },
            title: row.text("title"),
            summary: without_marks(&row.text("summary")).0,
            rating: row.number("rank").unwrap_or_default(),
            rating_reason: without_marks(&row.first_text(&["rating_explanation", "rank_explanation"])).0,
            findings: findings.into_iter().enumerate().map(finding).collect(),
            dropped_references: json.get("dropped_references").and_then(Value::as_u64).unwrap_or(0) as u32,
        }
    }
}

/// A reference of a report: the number of a row.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    /// Name of the table, in lower case.
    table: String,
    number: String,
}

/// Returns the text without marks such as `[Data: Entities (1, 2); Relationships (3, +more)]`, and the rows that the marks name.
fn without_marks(text: &str) -> (String, Vec<Mark>) {
    let (mut kept, mut marks) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(open) = rest.find("[Data:") {
        let Some(close) = rest[open..].find(']').map(|length| open + length) else { break };
        kept.push_str(rest[..open].trim_end());
        for list in rest[open + "[Data:".len()..close].split(';') {
            let Some((table, numbers)) = list.split_once('(') else { continue };
            let numbers = numbers.trim_end().trim_end_matches(')').split(',').map(str::trim);
            let numbers = numbers.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
            let table = table.trim().to_lowercase();
            marks.extend(
                numbers
                    .filter(|number| !number.is_empty())
                    .map(|number| Mark { table: table.clone(), number: number.to_owned() }),
            );
        }
        rest = &rest[close + 1..];
    }
    kept.push_str(rest);
    (kept.trim().to_owned(), marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citation_marks_become_references_and_other_brackets_stay() {
        let text = "Ada led it [Data: Entities (0, 7); Relationships (904, +more)]. See [sic] [Data: broken";
        let (kept, marks) = without_marks(text);
        assert_eq!(kept, "Ada led it. See [sic] [Data: broken");
        let marks: Vec<(&str, &str)> =
            marks.iter().map(|mark| (mark.table.as_str(), mark.number.as_str())).collect();
        assert_eq!(marks, [("entities", "0"), ("entities", "7"), ("relationships", "904")]);
    }
}
