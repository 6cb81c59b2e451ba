//! Exports the graph for other programs as a stream of entities, relations, chunks and claims.
//!
//! Only one page of rows is in memory, so the size of the graph does not matter. Claims are the exception: they are merged in
//! memory. Staged documents are left out.

mod csv;
mod cypher;
mod graphml;
mod jsonl;

use std::io::Write;
use std::sync::Arc;

use futures::future::BoxFuture;
use graphloom_core::{
    Chunk, Decisions, Document, Entity, EntityKey, FilteredIds, GraphKey, Relation, Snapshot, StoreError,
    Visibility, table,
};
use serde::Serialize;

use crate::claims::{ListedClaim, all_claims, with_words};
use crate::filtered::FilteredSnapshot;
use graphloom_text::Tokenizer;

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON object per line.
    JsonLines,
    /// Comma-separated values, one table per part.
    Csv,
    /// XML for graph programs.
    GraphMl,
    /// Statements for graph databases, one per line.
    Cypher,
}

/// A part of the graph to export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportPart {
    /// Entities.
    Entities,
    /// Relations.
    Relations,
    /// Chunks, with the entities that they mention.
    Chunks,
    /// Claims, with their quotes and the quotes that retired them.
    Claims,
}

impl ExportPart {
    /// All parts, in the order in which they are written.
    pub const ALL: [Self; 4] = [Self::Entities, Self::Relations, Self::Chunks, Self::Claims];

    /// Returns the part's name in output and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entities => "entities",
            Self::Relations => "relations",
            Self::Chunks => "chunks",
            Self::Claims => "claims",
        }
    }
}

impl ExportFormat {
    /// Returns the parts that the format can hold: graph formats have no place for claims.
    pub fn parts(self) -> &'static [ExportPart] {
        match self {
            Self::JsonLines | Self::Csv => &ExportPart::ALL,
            Self::GraphMl | Self::Cypher => {
                &[ExportPart::Entities, ExportPart::Relations, ExportPart::Chunks]
            }
        }
    }
}

/// How much was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ExportCounts {
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Chunks.
    pub chunks: u64,
    /// Claims.
    pub claims: u64,
}

/// Claims whose quotes are read at a time.
const PAGE: usize = 1000;

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store failed.
    #[error("reading the workspace")]
    Store(#[from] StoreError),
    /// The output failed.
    #[error("writing the export")]
    Write(#[from] std::io::Error),
}

/// Writes `parts` of the graph, always in the order of [`ExportPart::ALL`], and within a part by key. The same snapshot gives the
/// same bytes. Parts that the format cannot hold are left out.
///
/// With `allowed`, only what those documents contain: entities and relations are described by these documents alone.
pub fn export<'a>(
    snapshot: &'a dyn Snapshot,
    allowed: Option<Arc<FilteredIds>>,
    format: ExportFormat,
    parts: &'a [ExportPart],
    out: &'a mut (dyn Write + Send),
) -> BoxFuture<'a, Result<ExportCounts, ExportError>> {
    Box::pin(async move {
        let mut writer: Box<dyn GraphWriter + '_> = match format {
            ExportFormat::JsonLines => Box::new(jsonl::JsonLines(out)),
            ExportFormat::Csv => Box::new(csv::Csv::new(out)),
            ExportFormat::GraphMl => Box::new(graphml::GraphMl(out)),
            ExportFormat::Cypher => Box::new(cypher::Cypher(out)),
        };
        let scope = &FilteredSnapshot::new(snapshot, allowed, Tokenizer).await?;
        let mut exported = ExportCounts::default();
        writer.begin()?;
        for part in format.parts().iter().copied().filter(|part| parts.contains(part)) {
            writer.part(part)?;
            match part {
                ExportPart::Entities => export_entities(scope, &mut *writer, &mut exported.entities).await?,
                ExportPart::Relations => {
                    export_relations(scope, &mut *writer, &mut exported.relations).await?
                }
                ExportPart::Chunks => export_chunks(scope, &mut *writer, &mut exported.chunks).await?,
                ExportPart::Claims => export_claims(scope, &mut *writer, &mut exported.claims).await?,
            }
        }
        writer.end()?;
        Ok(exported)
    })
}

/// Writes one format.
trait GraphWriter: Send {
    fn begin(&mut self) -> std::io::Result<()>;
    /// Starts a part.
    fn part(&mut self, part: ExportPart) -> std::io::Result<()>;
    fn entity(&mut self, entity: &Entity) -> std::io::Result<()>;
    fn relation(&mut self, relation: &RelationRow<'_>) -> std::io::Result<()>;
    fn chunk(&mut self, chunk: &ChunkRow<'_>) -> std::io::Result<()>;
    /// Called only for formats that can hold claims.
    fn claim(&mut self, claim: &ListedClaim) -> std::io::Result<()>;
    fn end(&mut self) -> std::io::Result<()>;
}

/// A relation with the names of its ends, in key order.
struct RelationRow<'a> {
    relation: &'a Relation,
    names: [&'a str; 2],
}

/// A chunk with its document and the entities that it mentions.
struct ChunkRow<'a> {
    chunk: &'a Chunk,
    document: &'a Document,
    entities: Vec<EntityKey>,
}

async fn export_entities(
    scope: &FilteredSnapshot<'_>,
    writer: &mut (dyn GraphWriter + '_),
    count: &mut u64,
) -> Result<(), ExportError> {
    let mut pages = scope.snapshot.pages(table::Entities);
    while let Some(page) = pages.next().await? {
        for entity in scope.shown_entities(page).await? {
            writer.entity(&entity)?;
            *count += 1;
        }
    }
    Ok(())
}

async fn export_relations(
    scope: &FilteredSnapshot<'_>,
    writer: &mut (dyn GraphWriter + '_),
    count: &mut u64,
) -> Result<(), ExportError> {
    let mut pages = scope.snapshot.pages(table::Relations);
    while let Some(page) = pages.next().await? {
        let page = scope.shown_relations(page).await?;
        let ends: Vec<EntityKey> =
            page.iter().flat_map(|relation| relation.key.ends().map(EntityKey::clone)).collect();
        let entities = scope.entities(&ends).await?;
        let names: Vec<&str> = (entities.iter().zip(&ends))
            .map(|(entity, key)| entity.as_ref().map_or(key.as_str(), |entity| &entity.name))
            .collect();
        for (relation, names) in page.iter().zip(names.chunks_exact(2)) {
            writer.relation(&RelationRow { relation, names: [names[0], names[1]] })?;
            *count += 1;
        }
    }
    Ok(())
}

async fn export_chunks(
    scope: &FilteredSnapshot<'_>,
    writer: &mut (dyn GraphWriter + '_),
    count: &mut u64,
) -> Result<(), ExportError> {
    let snapshot = scope.snapshot;
    let mut pages = snapshot.pages(table::Chunks);
    while let Some(page) = pages.next().await? {
        let owners: Vec<_> = page.iter().map(|chunk| chunk.document.clone()).collect();
        let documents = snapshot.documents(&owners).await?;
        for (chunk, document) in page.iter().zip(&documents) {
            let shown = |it: &&Document| it.visibility == Visibility::Live && scope.holds(&chunk.id);
            let Some(document) = document.as_ref().filter(shown) else {
                continue;
            };
            let keys = snapshot.graph_keys_of(std::slice::from_ref(&chunk.id)).await?;
            let entities = keys.into_iter().filter_map(|key| match key {
                GraphKey::Entity(key) => Some(key),
                GraphKey::Relation(_) => None,
            });
            writer.chunk(&ChunkRow { chunk, document, entities: entities.collect() })?;
            *count += 1;
        }
    }
    Ok(())
}

async fn export_claims(
    scope: &FilteredSnapshot<'_>,
    writer: &mut (dyn GraphWriter + '_),
    count: &mut u64,
) -> Result<(), ExportError> {
    let decisions = Decisions::read(scope.snapshot).await?;
    let claims = all_claims(scope, &decisions).await?;
    for page in claims.chunks(PAGE) {
        for claim in with_words(scope.snapshot, page.to_vec()).await? {
            writer.claim(&claim)?;
            *count += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use graphloom_core::{
        ChunkExtraction, ChunkId, ContentHash, DocumentId, Format, RelationKey, Span, Timestamp,
    };

    use super::*;

    fn entity() -> Entity {
        Entity {
            key: EntityKey::from_stored("ADA_\"A\"_O'NEIL"),
            name: "Ada \"A\" O'Neil".to_owned(),
            kind: "Person".to_owned(),
            description: "First, <second> & \\third\\\nline\u{1}".to_owned(),
            mention_count: 2,
            degree: 1,
            inputs_hash: ContentHash::of(b""),
        }
    }

    /// Returns what a format writes for one entity, one relation and one chunk, full of characters that are special in it.
    fn check_format(new: impl FnOnce(&mut Vec<u8>, &dyn Fn(&mut dyn GraphWriter))) -> String {
        let key = RelationKey::new(entity().key, EntityKey::from_stored("BO")).expect("two ends");
        let relation = Relation {
            key,
            keywords: vec!["one".to_owned(), "two".to_owned()],
            description: "knows; 'well'".to_owned(),
            weight: 1.5,
            fact_count: 1,
            inputs_hash: ContentHash::of(b""),
        };
        let text = "Ada, \"Bo\"\nand <tags>";
        let id = DocumentId::new("a.md", &ContentHash::of(text.as_bytes()));
        let document = Document {
            id: id.clone(),
            source: "a.md".to_owned(),
            title: "A & B".to_owned(),
            content_hash: ContentHash::of(text.as_bytes()),
            text_bytes: text.len() as u64,
            format: Format::Text,
            encoding: "UTF-8".to_owned(),
            lines_match_source: true,
            parts: Vec::new(),
            remarks: Vec::new(),
            meta: BTreeMap::new(),
            visibility: Visibility::Live,
            added_at: Timestamp(0),
        };
        let chunk = Chunk {
            id: ChunkId::from_stored("chunk-1"),
            document: id,
            ordinal: 0,
            span: Span::new(0, text.len()),
            token_count: 9,
            breadcrumb: vec!["Top".to_owned()],
            text: text.to_owned(),
            extraction: ChunkExtraction::Pending,
        };
        let write = |writer: &mut dyn GraphWriter| {
            writer.begin().expect("memory does not fail");
            writer.part(ExportPart::Entities).expect("memory does not fail");
            writer.entity(&entity()).expect("memory does not fail");
            writer.part(ExportPart::Relations).expect("memory does not fail");
            let row = RelationRow { relation: &relation, names: ["Ada \"A\" O'Neil", "Bo"] };
            writer.relation(&row).expect("memory does not fail");
            writer.part(ExportPart::Chunks).expect("memory does not fail");
            let entities = vec![entity().key];
            writer
                .chunk(&ChunkRow { chunk: &chunk, document: &document, entities })
                .expect("memory does not fail");
            writer.end().expect("memory does not fail");
        };
        let mut out = Vec::new();
        new(&mut out, &write);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn json_lines_are_objects_with_their_kind() {
        let text = check_format(|out, write| write(&mut jsonl::JsonLines(out)));
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(rows.iter().map(|row| &row["kind"]).collect::<Vec<_>>(), ["entity", "relation", "chunk"]);
        assert_eq!(rows[0]["description"], "First, <second> & \\third\\\nline\u{1}");
        assert_eq!(rows[2]["entities"][0], "ADA_\"A\"_O'NEIL");
    }

    #[test]
    fn csv_values_survive_a_round_trip() {
        let text = check_format(|out, write| write(&mut csv::Csv::new(out)));
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let rows: Vec<::csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
        assert_eq!(&rows[1][3], "First, <second> & \\third\\\nline\u{1}");
        assert_eq!((&rows[3][2], &rows[3][4]), ("Ada \"A\" O'Neil", "one, two"));
        assert_eq!(rows[5].get(9), Some("Ada, \"Bo\"\nand <tags>"));
    }

    #[test]
    fn exported_values_cannot_break_out_of_statements_or_markup() {
        insta::assert_snapshot!("cypher", check_format(|out, write| write(&mut cypher::Cypher(out))));
        insta::assert_snapshot!("graphml", check_format(|out, write| write(&mut graphml::GraphMl(out))));
    }
}
