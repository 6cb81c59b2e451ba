//! The tables of GraphRAG in the layouts of its releases.
//!
//! - 2.0 to 3.x: `entities.parquet` and so on. Since 3.0, a text unit names one document; before, a list of documents.
//! - 0.x to 1.x: `create_final_entities.parquet` and so on, in 0.x below `output/TIME/artifacts`. In 0.x, not the communities
//!   but `create_final_nodes` lists the entities.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use graphloom_engine::extract::ClaimFields;

use crate::MigrateError;
use crate::table::{self, Row};

/// Remedy if no tables were found.
const REMEDY: &str = "name the project folder of GraphRAG or its folder `output`, which holds text_units.parquet, \
                      entities.parquet and others; tables in other forms than Parquet are not read";
/// Prefix of the tables of releases before 2.0.
const OLD_PREFIX: &str = "create_final_";

/// Tables of the text units' vectors, written if `snapshots.embeddings` is set: by releases from 3.0 on, and from 1.0 on.
const VECTORS: [&str; 2] = ["embeddings.text_unit_text", "embeddings.text_unit.text"];

/// The contents of the tables.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) documents: Vec<DocumentRow>,
    /// The text units by id.
    pub(super) units: BTreeMap<String, TextUnit>,
    /// Ids of the text units in the order of their table.
    order: Vec<String>,
    pub(super) entities: Vec<EntityRow>,
    pub(super) relations: Vec<RelationRow>,
    /// Ids of the entities of each community, by the community's number; in 0.x the entities' titles.
    pub(super) communities: BTreeMap<String, BTreeSet<String>>,
    pub(super) reports: Vec<Row>,
    pub(super) claims: Vec<ClaimRow>,
    /// Whether there is a table of entities.
    pub(super) has_graph: bool,
    /// Remarks about what is missing.
    pub(super) missing: Vec<String>,
}

#[derive(Debug)]
pub(super) struct DocumentRow {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) units: Vec<String>,
    pub(super) meta: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct TextUnit {
    pub(super) text: String,
    /// Id of its document.
    pub(super) document: String,
    /// The number that reports refer to.
    pub(super) number: String,
    pub(super) vector: Option<Vec<f32>>,
}

#[derive(Debug)]
pub(super) struct EntityRow {
    pub(super) id: String,
    pub(super) number: String,
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) units: Vec<String>,
    pub(super) frequency: f64,
}

#[derive(Debug)]
pub(super) struct RelationRow {
    pub(super) number: String,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) description: String,
    pub(super) weight: f64,
    pub(super) units: Vec<String>,
}

#[derive(Debug)]
pub(super) struct ClaimRow {
    /// Id of its text unit.
    pub(super) unit: String,
    pub(super) fields: ClaimFields,
}

impl Layout {
    /// Reads all tables below `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self, MigrateError> {
        let tables = Tables::find(folder)?;
        let mut layout = Self::default();
        layout.read_documents(&tables)?;
        layout.read_units(&tables)?;
        layout.read_graph(&tables)?;
        layout.read_communities(&tables)?;
        layout.read_claims(&tables)?;
        let nothing = layout.documents.is_empty() && layout.units.is_empty();
        if nothing {
            return Err(foreign(folder));
        }
        Ok(layout)
    }

    /// Returns the text units with their ids, in the order of their table.
    pub(super) fn units_in_order(&self) -> impl Iterator<Item = (&str, &TextUnit)> {
        self.order.iter().filter_map(|id| Some((id.as_str(), self.units.get(id)?)))
    }

    fn read_documents(&mut self, tables: &Tables) -> Result<(), MigrateError> {
        const COLUMNS: [&str; 9] = [
            "id",
            "title",
            "text",
            "raw_content",
            "text_unit_ids",
            "creation_date",
            "raw_data",
            "metadata",
            "attributes",
        ];
        let Some(rows) = tables.read("documents", &COLUMNS)? else {
            self.missing
                .push("no table of documents; their texts are put together from text units".to_owned());
            return Ok(());
        };
        for row in rows {
            let mut meta: BTreeMap<String, String> =
                ["attributes", "metadata", "raw_data"].iter().flat_map(|column| row.pairs(column)).collect();
            for own in ["text", "title", "id"] {
                meta.remove(own);
            }
            if !row.text("creation_date").is_empty() {
                meta.insert("creation_date".to_owned(), row.text("creation_date"));
            }
            self.documents.push(DocumentRow {
                id: row.text("id"),
                title: row.text("title"),
                text: row.first_text(&["text", "raw_content"]),
                units: row.texts("text_unit_ids"),
                meta,
            });
        }
        Ok(())
    }

    fn read_units(&mut self, tables: &Tables) -> Result<(), MigrateError> {
        let columns =
            ["id", "human_readable_id", "text", "chunk", "document_id", "document_ids", "text_embedding"];
        let Some(rows) = tables.read("text_units", &columns)? else {
            self.missing.push(
                "no table of text units; documents are split here, and the folder's records about them are left out"
                    .to_owned(),
            );
            return Ok(());
        };
        let mut vectors = BTreeMap::new();
        for name in VECTORS {
            let rows = tables.read(name, &["id", "embedding"])?.unwrap_or_default();
            vectors.extend(rows.iter().filter_map(|row| Some((row.text("id"), row.vector("embedding")?))));
        }
        for row in rows {
            let id = row.text("id");
            let vector = vectors.remove(&id).or_else(|| row.vector("text_embedding"));
            let document = match row.text("document_id") {
                id if id.is_empty() => row.texts("document_ids").into_iter().next().unwrap_or_default(),
                id => id,
            };
            let (text, number) = (row.first_text(&["text", "chunk"]), row.text("human_readable_id"));
            if self.units.insert(id.clone(), TextUnit { text, document, number, vector }).is_none() {
                self.order.push(id);
            }
        }
        if self.units.values().all(|unit| unit.vector.is_none())
            && let Some(remedy) = tables.vectors_elsewhere()
        {
            self.missing.push(remedy);
        }
        // In some releases, only the table of text units says which document a text unit belongs to.
        let mut of_document: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for id in &self.order {
            of_document.entry(&self.units[id].document).or_default().push(id.clone());
        }
        for document in &mut self.documents {
            if document.units.is_empty() {
                document.units = of_document.remove(document.id.as_str()).unwrap_or_default();
            }
        }
        let lost = self.documents.iter().flat_map(|document| &document.units);
        let lost = lost.filter(|unit| !self.units.contains_key(*unit)).count();
        if lost > 0 {
            self.missing.push(format!("text units that documents list and that have no row: {lost}"));
        }
        Ok(())
    }

    fn read_graph(&mut self, tables: &Tables) -> Result<(), MigrateError> {
        let columns =
            ["id", "human_readable_id", "title", "name", "type", "description", "text_unit_ids", "frequency"];
        match tables.read("entities", &columns)? {
            None => self.missing.push("no table of entities".to_owned()),
            Some(rows) => {
                self.has_graph = true;
                self.entities = rows
                    .into_iter()
                    .map(|row| {
                        let units = row.texts("text_unit_ids");
                        EntityRow {
                            id: row.text("id"),
                            number: row.text("human_readable_id"),
                            title: row.first_text(&["title", "name"]),
                            kind: row.text("type"),
                            description: row.text("description"),
                            frequency: row.number("frequency").unwrap_or(units.len() as f64),
                            units,
                        }
                    })
                    .collect();
            }
        }
        let columns =
            ["id", "human_readable_id", "source", "target", "description", "weight", "text_unit_ids"];
        match tables.read("relationships", &columns)? {
            None => self.missing.push("no table of relationships".to_owned()),
            Some(rows) => {
                self.relations = rows
                    .into_iter()
                    .map(|row| RelationRow {
                        number: row.text("human_readable_id"),
                        source: row.text("source"),
                        target: row.text("target"),
                        description: row.text("description"),
                        weight: row.number("weight").unwrap_or(1.0).max(0.0),
                        units: row.texts("text_unit_ids"),
                    })
                    .collect();
            }
        }
        Ok(())
    }

    fn read_communities(&mut self, tables: &Tables) -> Result<(), MigrateError> {
        const REPORT_COLUMNS: [&str; 10] = [
            "community",
            "level",
            "title",
            "summary",
            "rank",
            "rating_explanation",
            "rank_explanation",
            "findings",
            "full_content",
            "full_content_json",
        ];
        let Some(reports) = tables.read("community_reports", &REPORT_COLUMNS)? else {
            self.missing.push("no table of community reports".to_owned());
            return Ok(());
        };
        self.reports = reports;
        let columns = ["id", "community", "entity_ids"];
        for row in tables.read("communities", &columns)?.unwrap_or_default() {
            let entities = row.texts("entity_ids");
            if !entities.is_empty() {
                let number = row.first_text(&["community", "id"]);
                self.communities.entry(number).or_default().extend(entities);
            }
        }
        if self.communities.is_empty() {
            for row in tables.read("nodes", &["title", "community"])?.unwrap_or_default() {
                let number = row.text("community");
                if !number.is_empty() {
                    self.communities.entry(number).or_default().insert(row.text("title"));
                }
            }
        }
        if self.communities.is_empty() && !self.reports.is_empty() {
            self.missing
                .push("no table says which entities a community has; its reports are left out".to_owned());
        }
        Ok(())
    }
}

impl Layout {
    fn read_claims(&mut self, tables: &Tables) -> Result<(), MigrateError> {
        const COLUMNS: [&str; 9] = [
            "subject_id",
            "object_id",
            "type",
            "status",
            "start_date",
            "end_date",
            "description",
            "source_text",
            "text_unit_id",
        ];
        for row in tables.read("covariates", &COLUMNS)?.unwrap_or_default() {
            let fields = ClaimFields {
                subject: row.text("subject_id"),
                object: row.text("object_id"),
                kind: row.text("type"),
                status: row.text("status"),
                start: row.text("start_date"),
                end: row.text("end_date"),
                description: row.text("description"),
                quote: row.text("source_text"),
            };
            self.claims.push(ClaimRow { unit: row.text("text_unit_id"), fields });
        }
        Ok(())
    }
}

/// The folder with the tables.
struct Tables(PathBuf);

impl Tables {
    fn find(folder: &Path) -> Result<Self, MigrateError> {
        let mut places = vec![folder.to_owned()];
        for below in [folder.join("output"), folder.to_owned()] {
            places.extend([below.clone(), below.join("artifacts")]);
            // Releases 0.x write each run into its own folder, named by its time; the last run counts.
            let mut runs: Vec<PathBuf> = std::fs::read_dir(&below)
                .map(|entries| entries.flatten().map(|entry| entry.path().join("artifacts")).collect())
                .unwrap_or_default();
            runs.sort();
            places.extend(runs.into_iter().rev());
        }
        let holds = |place: &PathBuf| {
            let tables = Self(place.clone());
            ["documents", "text_units", "entities"].iter().any(|name| tables.path(name).is_some())
        };
        places.into_iter().find(holds).map(Self).ok_or_else(|| foreign(folder))
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        [format!("{name}.parquet"), format!("{OLD_PREFIX}{name}.parquet")]
            .iter()
            .map(|file| self.0.join(file))
            .find(|path| path.is_file())
    }

    /// Returns how to write the text units' vectors into a table; `None` if they are not in LanceDB.
    fn vectors_elsewhere(&self) -> Option<String> {
        let project = self.0.parent().unwrap_or(&self.0);
        [self.0.join("lancedb"), project.join("lancedb")].iter().find_map(|lancedb| {
            let tables = std::fs::read_dir(lancedb).ok()?.flatten();
            let names = tables.filter_map(|table| Some(table.file_name().to_str()?.strip_suffix(".lance")?.to_owned()));
            // `text_unit_text`; before release 3.0 `default-text_unit-text`.
            let name = names.filter(|name| name.contains("text_unit")).min()?;
            let to = self.0.join(format!("{}.parquet", VECTORS[0]));
            Some(format!(
                "vectors are in LanceDB, which is not read. To use them again if your embedder is the same model, write them into \
                 a table with the Python that GraphRAG runs in, before you import: python -c 'import lancedb; \
                 t = lancedb.connect(\"{}\").open_table(\"{name}\").to_pandas(); \
                 t[[\"id\", \"vector\"]].rename(columns={{\"vector\": \"embedding\"}}).to_parquet(\"{}\")'",
                lancedb.display(),
                to.display(),
            ))
        })
    }

    /// Returns the rows of a table; `None` if there is no such table.
    fn read(&self, name: &str, columns: &[&str]) -> Result<Option<Vec<Row>>, MigrateError> {
        self.path(name).map(|path| table::read(&path, columns)).transpose()
    }
}

fn foreign(folder: &Path) -> MigrateError {
    MigrateError::Foreign { folder: folder.to_owned(), what: "tables of GraphRAG", remedy: REMEDY }
}
