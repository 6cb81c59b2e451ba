//! GraphRAG: reads the tables of releases 0.x to 3.x, and writes the tables of 3.x.
//!
//! GraphRAG merges the records of all text units into entities and relationships, and keeps for each of these the list of its
//! text units. The import turns this into one extraction per text unit: the entities and relationships that list it. It divides
//! weights among the text units, and descriptions among the documents.

mod claims;
mod covariates;
mod layout;
mod reports;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use graphloom_core::{ClaimRecord, EntityKey, EntityRecord, Records, RelationKey, RelationRecord, Span};
use graphloom_engine::index::{ImportedChunk, ImportedDocument, recorded};
use graphloom_text::{clean_name, entity_key, sanitize};

use crate::locate::Text;
use crate::share::share;
use crate::{FolderContents, Import, MigrateError, Vectors};
use layout::{EntityRow, Layout, RelationRow};
pub use reports::Reports;
pub use write::{ExportCounts, TABLES, write};

/// Name under which imported extractions and reports are stored.
pub const ORIGIN: &str = "graphrag";
/// Type of an entity that only relationships name.
const UNKNOWN_KIND: &str = graphloom_engine::graph::UNKNOWN_KIND;
/// Weights are divided into multiples of this value, so that their sum is exact.
const WEIGHT_STEP: f64 = 1.0 / 1024.0;

/// Reads a project folder of GraphRAG, or its folder of tables.
///
/// - `prefix`: text before the documents' titles in their sources, such as `input/`.
pub fn read(folder: &Path, prefix: &str) -> Result<Import, MigrateError> {
    let layout = Layout::read(folder)?;
    let mut missing = layout.missing.clone();
    let mut found = FolderContents {
        chunks: layout.units.len() as u64,
        reports: layout.reports.len() as u64,
        claims: layout.claims.len() as u64,
        ..FolderContents::default()
    };
    let mut documents = Documents::of(&layout, prefix);
    found.documents = documents.read;
    found.verbatim = documents.verbatim;
    let elsewhere = documents.elsewhere;
    if elsewhere > 0 {
        missing.push(format!(
            "text units that are not in the text of their document, kept as documents SOURCE#text-units: {elsewhere}"
        ));
    }
    let graph = Graph::of(&layout, &mut missing);
    found.entities = graph.names.len() as u64;
    found.relations = graph.relations.len() as u64;
    let unplaced = graph.place(&mut documents);
    if unplaced.entities > 0 {
        missing.push(format!("entities without an existing text unit, left out: {}", unplaced.entities));
    }
    if unplaced.relations > 0 {
        missing
            .push(format!("relationships without an existing text unit, left out: {}", unplaced.relations));
    }
    let reports = Reports::new(&layout, &graph, &documents, &mut missing);
    found.claims_taken = claims::place(&layout, &mut documents, &mut missing);
    let mut vectors = Vectors::default();
    for unit in layout.units.values() {
        if let Some(vector) = &unit.vector {
            vectors.add(&sanitize(&unit.text), vector.clone());
        }
    }
    let documents: Vec<ImportedDocument> = documents.list.into_iter().map(Document::finish).collect();
    let chunks = documents.iter().flat_map(|document| &document.chunks);
    found.extracted = chunks.filter(|chunk| chunk.extraction.is_ok()).count() as u64;
    Ok(Import { documents, reports, vectors, found, missing, ..Import::default() })
}

/// A document that is being imported.
struct Document {
    source: String,
    text: String,
    meta: BTreeMap<String, String>,
    /// Text units by span, each with its records.
    units: BTreeMap<Span, UnitRecords>,
    /// Whether units without a record count as extracted.
    has_graph: bool,
}

/// The entities, relations and claims of a text unit.
#[derive(Default)]
struct UnitRecords {
    entities: BTreeMap<EntityKey, EntityRecord>,
    relations: BTreeMap<RelationKey, RelationRecord>,
    claims: Vec<ClaimRecord>,
}

impl Document {
    fn finish(self) -> ImportedDocument {
        let Self { source, text, meta, units, has_graph } = self;
        let chunks = units.into_iter().map(|(span, UnitRecords { entities, relations, claims })| {
            let records = Records {
                entities: entities.into_values().collect(),
                relations: relations.into_values().collect(),
                claims,
                ..Records::default()
            };
            let extraction = match has_graph {
                true => Ok(recorded(ORIGIN, span.slice(&text).unwrap_or_default(), records)),
                false => Err("the folder holds no entities".to_owned()),
            };
            ImportedChunk { span, extraction }
        });
        let chunks = chunks.collect();
        let lines_match_source = source.ends_with(".txt") || source.ends_with(".md");
        ImportedDocument { source, text, lines_match_source, meta, chunks, remarks: Vec::new() }
    }
}

/// The documents, and the places of the text units in them.
struct Documents {
    list: Vec<Document>,
    /// Places of each text unit: documents and spans. A text that two documents share is one text unit.
    places: BTreeMap<String, Vec<(usize, Span)>>,
    /// Number of documents in the table.
    read: u64,
    /// Number of text units that their document contains verbatim.
    verbatim: u64,
    /// Number of text units that no document contains.
    elsewhere: u64,
}

impl Documents {
    fn of(layout: &Layout, prefix: &str) -> Self {
        let mut documents =
            Self { list: Vec::new(), places: BTreeMap::new(), read: 0, verbatim: 0, elsewhere: 0 };
        let mut titles: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &layout.documents {
            *titles.entry(&row.title).or_default() += 1;
        }
        let mut listed: BTreeSet<&str> = BTreeSet::new();
        for row in &layout.documents {
            documents.read += 1;
            let name = match titles.get(row.title.as_str()) {
                Some(1) if !row.title.is_empty() => row.title.clone(),
                _ if row.title.is_empty() => row.id.clone(),
                _ => format!("{}#{}", row.title, row.id.chars().take(12).collect::<String>()),
            };
            listed.extend(row.units.iter().map(String::as_str));
            let source = format!("{prefix}{name}");
            documents.add(source, &row.text, row.meta.clone(), &row.units, layout);
        }
        // Text units of documents that no table lists.
        let mut orphans: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (id, unit) in layout.units_in_order() {
            if !listed.contains(id) {
                orphans.entry(&unit.document).or_default().push(id.to_owned());
            }
        }
        for (document, units) in orphans {
            documents.read += 1;
            let name = if document.is_empty() { "text-units" } else { document };
            documents.add(format!("{prefix}{name}"), "", BTreeMap::new(), &units, layout);
        }
        documents
    }

    fn add(
        &mut self,
        source: String,
        text: &str,
        meta: BTreeMap<String, String>,
        units: &[String],
        layout: &Layout,
    ) {
        let has_graph = layout.has_graph;
        let text = sanitize(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned();
        let mut places = Text::new(&text);
        let mut document = Document {
            source: source.clone(),
            text: String::new(),
            meta: meta.clone(),
            units: BTreeMap::new(),
            has_graph,
        };
        let mut behind = 0;
        let mut rest: Vec<(&str, String)> = Vec::new();
        for id in units {
            let Some(unit) = layout.units.get(id) else { continue };
            let unit = sanitize(&unit.text).replace('\u{feff}', "");
            match places.find(&unit, behind) {
                Some(located) => {
                    behind = located.span.start as usize + 1;
                    self.verbatim += u64::from(located.verbatim);
                    document.units.entry(located.span).or_default();
                    self.places.entry(id.clone()).or_default().push((self.list.len(), located.span));
                }
                None if !unit.trim().is_empty() => rest.push((id, unit)),
                None => {}
            }
        }
        let has_text = !text.trim().is_empty();
        document.text = text;
        if has_text {
            self.list.push(document);
            if !rest.is_empty() {
                self.elsewhere += rest.len() as u64;
                self.join(format!("{source}#text-units"), meta, &rest, has_graph);
            }
        } else if !rest.is_empty() {
            // A document without a text of its own consists of its text units.
            self.verbatim += rest.len() as u64;
            self.join(source, meta, &rest, has_graph);
        }
    }

    /// Adds a document that consists of text units, one after the other.
    fn join(
        &mut self,
        source: String,
        meta: BTreeMap<String, String>,
        units: &[(&str, String)],
        has_graph: bool,
    ) {
        let mut document = Document { source, text: String::new(), meta, units: BTreeMap::new(), has_graph };
        for (id, unit) in units {
            if !document.text.is_empty() {
                document.text.push_str("\n\n");
            }
            let span = Span::new(document.text.len(), document.text.len() + unit.len());
            document.text.push_str(unit);
            document.units.entry(span).or_default();
            self.places.entry((*id).to_owned()).or_default().push((self.list.len(), span));
        }
        self.list.push(document);
    }

    /// Returns the places of these text units, in order, each once.
    fn places_of(&self, units: &BTreeSet<String>) -> BTreeSet<(usize, Span)> {
        units.iter().filter_map(|unit| self.places.get(unit)).flatten().copied().collect()
    }

    fn records(&mut self, (document, span): (usize, Span)) -> Option<&mut UnitRecords> {
        self.list.get_mut(document)?.units.get_mut(&span)
    }

    /// Returns the description, divided among the documents of these places.
    fn share(&self, description: &str, places: &BTreeSet<(usize, Span)>) -> BTreeMap<usize, String> {
        let mut passages: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (document, span) in places {
            let passage = span.slice(&self.list[*document].text).unwrap_or_default();
            passages.entry(*document).or_default().push(passage);
        }
        // Sorted by source, because this order survives an export and another import.
        let mut order: Vec<usize> = passages.keys().copied().collect();
        order.sort_by(|one, other| self.list[*one].source.cmp(&self.list[*other].source));
        let texts: Vec<Vec<&str>> =
            order.iter().map(|document| passages.remove(document).unwrap_or_default()).collect();
        order.into_iter().zip(share(description, &texts)).collect()
    }
}

/// An entity: all rows whose titles have the same key.
#[derive(Default)]
struct Entity {
    kinds: BTreeMap<String, f64>,
    descriptions: Vec<String>,
    units: BTreeSet<String>,
}

/// A relation: all rows about the same pair, in both directions.
#[derive(Default)]
struct Relation {
    /// Weight of each direction: source and target.
    directions: BTreeMap<(EntityKey, EntityKey), f64>,
    descriptions: Vec<String>,
    weight: f64,
    units: BTreeSet<String>,
}

/// Entities and relations by key.
struct Graph {
    /// The name of every entity, including those that only relationships name.
    names: BTreeMap<EntityKey, String>,
    entities: BTreeMap<EntityKey, Entity>,
    relations: BTreeMap<RelationKey, Relation>,
    /// Keys of entities and relations by their ids, and by the numbers that reports refer to.
    entity_ids: BTreeMap<String, EntityKey>,
    entity_numbers: BTreeMap<String, EntityKey>,
    relation_numbers: BTreeMap<String, RelationKey>,
}

/// Items without a place in any document.
struct UnplacedItems {
    entities: usize,
    relations: usize,
}

impl Graph {
    fn of(layout: &Layout, missing: &mut Vec<String>) -> Self {
        let mut graph = Self {
            names: BTreeMap::new(),
            entities: BTreeMap::new(),
            relations: BTreeMap::new(),
            entity_ids: BTreeMap::new(),
            entity_numbers: BTreeMap::new(),
            relation_numbers: BTreeMap::new(),
        };
        let mut votes: BTreeMap<EntityKey, BTreeMap<String, f64>> = BTreeMap::new();
        let (mut unnamed, mut rows) = (0, 0);
        for row in &layout.entities {
            let EntityRow { id, number, title, kind, description, units, frequency } = row;
            let Some((name, key)) = named(title) else {
                unnamed += 1;
                continue;
            };
            rows += 1;
            *votes.entry(key.clone()).or_default().entry(name).or_default() += frequency;
            let entity = graph.entities.entry(key.clone()).or_default();
            *entity.kinds.entry(kind.clone()).or_default() += frequency;
            push_distinct(&mut entity.descriptions, description);
            entity.units.extend(units.iter().cloned());
            graph.entity_ids.insert(id.clone(), key.clone());
            graph.entity_numbers.insert(number.clone(), key);
        }
        let merged = rows - graph.entities.len();
        let (mut ends_without_row, mut selfish) = (BTreeSet::new(), 0);
        for row in &layout.relations {
            let RelationRow { number, source, target, description, weight, units } = row;
            let (Some((source, a)), Some((target, b))) = (named(source), named(target)) else {
                unnamed += 1;
                continue;
            };
            let Some(key) = RelationKey::new(a.clone(), b.clone()) else {
                selfish += 1;
                continue;
            };
            for (name, key) in [(source, &a), (target, &b)] {
                if !graph.entities.contains_key(key) {
                    ends_without_row.insert(key.clone());
                    *votes.entry(key.clone()).or_default().entry(name).or_default() += weight;
                }
            }
            let relation = graph.relations.entry(key.clone()).or_default();
            *relation.directions.entry((a, b)).or_default() += weight;
            push_distinct(&mut relation.descriptions, description);
            relation.weight += weight;
            relation.units.extend(units.iter().cloned());
            graph.relation_numbers.insert(number.clone(), key);
        }
        graph.names = votes.into_iter().filter_map(|(key, votes)| Some((key, heaviest(votes)?))).collect();
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                missing.push(format!("{what}: {count}"));
            }
        };
        note(unnamed, "rows whose name has no letter or digit, left out");
        note(merged, "entity rows that are other spellings of an entity, merged with it");
        note(selfish, "relationships of an entity with itself, left out");
        note(ends_without_row.len(), "entities without a row, known by their relationships alone");
        graph
    }

    /// Assigns the records to their text units; returns the number of items without a place.
    fn place(&self, documents: &mut Documents) -> UnplacedItems {
        let mut unplaced = UnplacedItems { entities: 0, relations: 0 };
        for (key, entity) in &self.entities {
            let places = documents.places_of(&entity.units);
            let kind = heaviest(entity.kinds.clone()).filter(|kind| !kind.is_empty());
            let kind = kind.unwrap_or_else(|| UNKNOWN_KIND.to_owned());
            if places.is_empty() {
                unplaced.entities += usize::from(kind != UNKNOWN_KIND);
                continue;
            }
            let Some(name) = self.names.get(key) else { continue };
            let mut parts = documents.share(&entity.descriptions.join("\n"), &places);
            for place in places {
                let description = parts.entry(place.0).or_default().clone();
                if let Some(records) = documents.records(place) {
                    let record = EntityRecord { name: name.clone(), kind: kind.clone(), description };
                    records.entities.insert(key.clone(), record);
                }
            }
        }
        for (key, relation) in &self.relations {
            let mut places = documents.places_of(&relation.units);
            if places.is_empty() {
                // Use the text units that name both ends, if these are known.
                let units = |end: &EntityKey| self.entities.get(end).map(|entity| &entity.units);
                if let (Some(a), Some(b)) = (units(key.a()), units(key.b())) {
                    places = documents.places_of(&a.intersection(b).cloned().collect());
                }
            }
            let direction = heaviest(relation.directions.clone());
            let (Some((source, target)), false) = (direction, places.is_empty()) else {
                unplaced.relations += 1;
                continue;
            };
            let (Some(source), Some(target)) = (self.names.get(&source), self.names.get(&target)) else {
                continue;
            };
            let mut parts = documents.share(&relation.descriptions.join("\n"), &places);
            let weights = divided(relation.weight, places.len());
            for (place, weight) in places.into_iter().zip(weights) {
                let record = RelationRecord {
                    source: source.clone(),
                    target: target.clone(),
                    keywords: Vec::new(),
                    description: parts.entry(place.0).or_default().clone(),
                    weight,
                };
                if let Some(records) = documents.records(place) {
                    records.relations.insert(key.clone(), record);
                }
            }
        }
        unplaced
    }
}

/// Returns the name as it is stored and its key; `None` if the title is not a name.
fn named(title: &str) -> Option<(String, EntityKey)> {
    let name = clean_name(title)?;
    let key = entity_key(&name)?;
    Some((name, key))
}

fn push_distinct(list: &mut Vec<String>, text: &str) {
    let text = sanitize(text).trim().to_owned();
    if !text.is_empty() && !list.contains(&text) {
        list.push(text);
    }
}

/// Returns the value with the highest weight; ties go to the smallest value.
fn heaviest<T: Ord>(votes: BTreeMap<T, f64>) -> Option<T> {
    votes.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(value, _)| value)
}

/// Divides `weight` into `parts` weights whose sum is exactly `weight`.
fn divided(weight: f64, parts: usize) -> Vec<f64> {
    let part = (weight / parts as f64 / WEIGHT_STEP).floor() * WEIGHT_STEP;
    let part = if part > 0.0 { part } else { weight / parts as f64 };
    let mut weights = vec![part; parts];
    if let Some(first) = weights.first_mut() {
        *first = weight - part * (parts - 1) as f64;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values, write};

    fn texts(name: &'static str, values: &[&str]) -> Column {
        Column { name, values: Values::Texts(values.iter().map(|&value| value.to_owned()).collect()) }
    }

    fn lists(name: &'static str, values: &[&[&str]]) -> Column {
        let list = |list: &&[&str]| list.iter().map(|&it| it.to_owned()).collect();
        Column { name, values: Values::TextLists(values.iter().map(list).collect()) }
    }

    /// Writes tables in the layout of 0.x, for a run and an earlier run.
    fn old_project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (run, town) in [("20240701-101010", "LIND"), ("20240801-101010", "KELM")] {
            let artifacts = folder.path().join("output").join(run).join("artifacts");
            std::fs::create_dir_all(&artifacts).expect("a folder");
            let put = |name: &str, columns: &[Column]| {
                write(&artifacts.join(format!("create_final_{name}.parquet")), columns).expect("written");
            };
            put(
                "documents",
                &[
                    texts("id", &["d"]),
                    texts("title", &["a.txt"]),
                    texts("raw_content", &["Ada Lind lives in a town. It is old."]),
                ],
            );
            put(
                "text_units",
                &[
                    texts("id", &["u", "v"]),
                    texts("text", &["Ada Lind lives in a town.", "It is old."]),
                    lists("document_ids", &[&["d"], &["d"]]),
                ],
            );
            put(
                "entities",
                &[
                    texts("id", &["e", "f"]),
                    texts("name", &["\"ADA LIND\"", town]),
                    texts("type", &["PERSON", "GEO"]),
                    lists("text_unit_ids", &[&["u"], &["u", "v"]]),
                ],
            );
            put(
                "relationships",
                &[
                    texts("source", &["ADA LIND"]),
                    texts("target", &[town]),
                    texts("text_unit_ids", &["['u', 'v']"]),
                    Column { name: "weight", values: Values::Numbers(vec![3.0]) },
                ],
            );
            put("nodes", &[texts("title", &["ADA LIND", town]), texts("community", &["7", "7"])]);
            put(
                "community_reports",
                &[
                    texts("community", &["7"]),
                    texts("title", &["A town"]),
                    texts("rank_explanation", &["It is old."]),
                    texts("full_content_json", &[r#"{"findings": [{"summary": "S", "explanation": "E"}]}"#]),
                ],
            );
        }
        folder
    }

    #[test]
    fn the_last_run_of_an_old_release_is_read_from_its_own_columns() {
        let folder = old_project();
        let import = read(folder.path(), "docs/").expect("a project");
        let document = &import.documents[0];
        assert_eq!((document.source.as_str(), import.documents.len()), ("docs/a.txt", 1));
        let found = FolderContents {
            documents: 1,
            chunks: 2,
            verbatim: 2,
            extracted: 2,
            entities: 2,
            relations: 1,
            reports: 1,
            claims: 0,
            claims_taken: 0,
        };
        assert_eq!((&import.found, &import.missing), (&found, &Vec::new()));
        let records = |number: usize| {
            let extraction = document.chunks[number].extraction.as_ref().expect("extracted");
            let names: Vec<&str> =
                extraction.records.entities.iter().map(|entity| entity.name.as_str()).collect();
            (names, extraction.records.relations.iter().map(|relation| relation.weight).collect::<Vec<_>>())
        };
        assert_eq!(records(0), (vec!["ADA LIND", "KELM"], vec![1.5]));
        assert_eq!(records(1), (vec!["KELM"], vec![1.5]));
        let reports = import.reports();
        assert_eq!((reports[0].members.len(), reports[0].findings.len()), (2, 1));
        assert_eq!(reports[0].rating_reason, "It is old.");
    }

    #[test]
    fn a_folder_with_only_text_units_becomes_documents_and_says_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("text_units.parquet");
        write(&path, &[texts("id", &["u"]), texts("text", &["Ada."]), texts("document_id", &["d"])])
            .expect("written");
        let import = read(folder.path(), "").expect("a project");
        assert_eq!((import.documents[0].source.as_str(), import.documents[0].text.as_str()), ("d", "Ada."));
        assert!(import.documents[0].chunks[0].extraction.is_err());
        assert_eq!(import.missing.len(), 4, "{:?}", import.missing);
    }

    #[test]
    fn the_parts_of_a_weight_add_up_to_the_weight() {
        for (weight, parts) in [(20.0, 3), (8.5, 7), (1.0, 1), (2.0, 41)] {
            let divided = divided(weight, parts);
            assert_eq!((divided.len(), divided.iter().sum::<f64>()), (parts, weight), "{divided:?}");
            assert!(divided.iter().all(|part| *part > 0.0), "{divided:?}");
        }
    }
}
