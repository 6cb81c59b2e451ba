//! Imports a graph as a document: its chunks become the document's chunks, its entities and relations their
//! records.
//!
//! An imported graph is evidence like any other: it is merged with what documents say, cited, replaced by its next version, and
//! removed with its document.
//!
//! Source: LightRAG, `insert_custom_kg`, whose format this reads. Unlike in LightRAG, nothing is overwritten:
//! descriptions of the same entity are added to those from documents.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use graphloom_core::{
    Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, EntityRecord, Extraction, Format,
    Records, RelationRecord, Span, Visibility,
};
use serde::Deserialize;
use serde_json::Value;

use super::accept::{Arrival, accept_arrivals};
use super::imported::recorded;
use super::{Acceptance, IndexError};
use crate::Engine;
use crate::chunk::CHUNK_TOKENS;
use graphloom_text::{clean_name, entity_key, sanitize};

/// The model name recorded for the extractions of imported graphs.
pub const CUSTOM_KG_MODEL: &str = "custom_kg";
/// Maximum number of faults listed for one graph; a malformed graph could have any number.
const MAX_FAULTS: usize = 20;
/// Separates the chunks in the text of the document.
const SEPARATOR: &str = "\n\n";
/// The type of an entity without one, as in LightRAG.
const UNKNOWN_KIND: &str = "UNKNOWN";

/// A validated graph.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyGraph {
    chunks: Vec<ReadyChunk>,
    entities: Vec<(EntityRecord, Option<String>)>,
    relations: Vec<(RelationRecord, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq)]
struct ReadyChunk {
    text: String,
    source_id: Option<String>,
    file_path: Option<String>,
}

/// Why a graph was rejected; nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum ReadyGraphError {
    /// It is not JSON in this shape.
    #[error("reading a ready graph")]
    Json(#[from] serde_json::Error),
    /// Some of its items are invalid.
    #[error("the graph has faults: {}", .faults.join("; "))]
    Faults {
        /// The items, and what is wrong with each.
        faults: Vec<String>,
    },
    /// It is empty.
    #[error("the graph has no chunks, entities or relationships")]
    Empty,
}

impl ReadyGraphError {
    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::Empty => {
                "a graph is one JSON object with lists \"chunks\" (content, source_id), \"entities\" (entity_name, \
                 entity_type, description, source_id) and \"relationships\" (src_id, tgt_id, description, keywords, \
                 weight, source_id)"
            }
            Self::Faults { .. } => "correct the items; nothing was stored",
        }
    }
}

/// The JSON shape of LightRAG's `custom_kg`.
#[derive(Deserialize)]
struct CustomKg {
    #[serde(default)]
    chunks: Vec<CustomChunk>,
    #[serde(default)]
    entities: Vec<CustomEntity>,
    #[serde(default)]
    relationships: Vec<CustomRelationship>,
}

#[derive(Deserialize)]
struct CustomChunk {
    content: String,
    source_id: Option<Value>,
    file_path: Option<String>,
    chunk_order_index: Option<i64>,
}

#[derive(Deserialize)]
struct CustomEntity {
    entity_name: String,
    entity_type: Option<String>,
    description: Option<String>,
    source_id: Option<Value>,
}

#[derive(Deserialize)]
struct CustomRelationship {
    src_id: String,
    tgt_id: String,
    description: Option<String>,
    keywords: Option<Keywords>,
    weight: Option<f64>,
    source_id: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Keywords {
    One(String),
    Many(Vec<String>),
}

impl ReadyGraph {
    /// Reads a graph in LightRAG's `custom_kg` shape and checks all of it. Empty contents and names, relations of an entity with
    /// itself, and weights that are not numbers are faults.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadyGraphError> {
        let CustomKg { mut chunks, entities, relationships } = serde_json::from_slice(bytes)?;
        if chunks.is_empty() && entities.is_empty() && relationships.is_empty() {
            return Err(ReadyGraphError::Empty);
        }
        let mut faults = Faults::default();
        // The sort is stable: chunks without an index keep their order.
        chunks.sort_by_key(|chunk| chunk.chunk_order_index.unwrap_or(i64::MAX));
        let chunks = chunks.into_iter().enumerate().map(|(at, chunk)| {
            let text = sanitize(&chunk.content).trim().to_owned();
            if text.is_empty() {
                faults.add(format!("chunks[{at}].content is empty"));
            }
            let file_path = chunk.file_path.filter(|path| !path.trim().is_empty() && path != CUSTOM_KG_MODEL);
            ReadyChunk { text, source_id: id_text(chunk.source_id), file_path }
        });
        let chunks = chunks.collect();
        let entities = entities.into_iter().enumerate().map(|(at, entity)| {
            let name = faults.name(&entity.entity_name, || format!("entities[{at}].entity_name"));
            let kind = entity.entity_type.map(|kind| sanitize(&kind).trim().to_owned());
            let record = EntityRecord {
                name,
                kind: kind.filter(|kind| !kind.is_empty()).unwrap_or_else(|| UNKNOWN_KIND.to_owned()),
                description: clean(entity.description),
            };
            (record, id_text(entity.source_id))
        });
        let entities = entities.collect();
        let relations = relationships.into_iter().enumerate().map(|(at, relation)| {
            let source = faults.name(&relation.src_id, || format!("relationships[{at}].src_id"));
            let target = faults.name(&relation.tgt_id, || format!("relationships[{at}].tgt_id"));
            if entity_key(&source).is_some_and(|key| Some(key) == entity_key(&target)) {
                faults.add(format!("relationships[{at}] relates {source:?} to itself"));
            }
            let weight = relation.weight.unwrap_or(1.0);
            if !weight.is_finite() || weight < 0.0 {
                faults.add(format!("relationships[{at}].weight {weight} is not a number of at least 0"));
            }
            let keywords = match relation.keywords {
                None => Vec::new(),
                Some(Keywords::One(list)) => list.split([',', '，', '、']).map(str::to_owned).collect(),
                Some(Keywords::Many(list)) => list,
            };
            let keywords = keywords.iter().map(|keyword| sanitize(keyword).trim().to_owned());
            let record = RelationRecord {
                source,
                target,
                keywords: keywords.filter(|keyword| !keyword.is_empty()).collect(),
                description: clean(relation.description),
                weight,
            };
            (record, id_text(relation.source_id))
        });
        let relations = relations.collect();
        if faults.0.is_empty() {
            Ok(Self { chunks, entities, relations })
        } else {
            Err(ReadyGraphError::Faults { faults: faults.0 })
        }
    }

    /// Returns the number of entities and relations whose `source_id` names none of the chunks. New chunks are made from their
    /// own texts.
    pub fn unplaced(&self) -> usize {
        let known =
            |id: &Option<String>| id.is_some() && self.chunks.iter().any(|chunk| chunk.source_id == *id);
        self.entities.iter().filter(|(_, id)| !known(id)).count()
            + self.relations.iter().filter(|(_, id)| !known(id)).count()
    }

    /// Returns the chunks, each with its records.
    fn with_records(self, engine: &Engine) -> Vec<(ReadyChunk, Records)> {
        let mut of_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, chunk) in self.chunks.iter().enumerate() {
            if let Some(id) = &chunk.source_id {
                of_id.entry(id.clone()).or_default().push(at);
            }
        }
        let folded: Vec<String> = self.chunks.iter().map(|chunk| chunk.text.to_lowercase()).collect();
        // If several chunks share an id, the first that contains the name.
        let place = |id: &Option<String>, name: &str| {
            let places = of_id.get(id.as_ref()?)?;
            let name = name.to_lowercase();
            places.iter().find(|at| folded[**at].contains(&name)).or(places.first()).copied()
        };
        let mut chunks: Vec<(ReadyChunk, Records)> =
            self.chunks.iter().map(|chunk| (chunk.clone(), Records::default())).collect();
        let mut own = OwnWords { engine, tokens: 0, chunks: Vec::new() };
        for (record, id) in &self.entities {
            match place(id, &record.name) {
                Some(at) => chunks[at].1.entities.push(record.clone()),
                None => {
                    let words = format!("{} ({}): {}", record.name, record.kind, record.description);
                    own.chunk(&words).entities.push(record.clone());
                }
            }
        }
        for (record, id) in &self.relations {
            match place(id, &record.source) {
                Some(at) => chunks[at].1.relations.push(record.clone()),
                None => {
                    let (source, target) = (&record.source, &record.target);
                    let words = format!("{source} - {target}: {}", record.description);
                    own.chunk(&words).relations.push(record.clone());
                }
            }
        }
        chunks.extend(own.chunks);
        chunks
    }
}

/// Chunks made from the texts of records that belong to no chunk.
struct OwnWords<'a> {
    engine: &'a Engine,
    tokens: u32,
    chunks: Vec<(ReadyChunk, Records)>,
}

impl OwnWords<'_> {
    /// Appends `words` to the last chunk, or to a new one if it is full, and returns its records.
    fn chunk(&mut self, words: &str) -> &mut Records {
        let words = words.trim_end_matches([':', ' ']);
        let tokens = self.engine.tokenizer.count(words) + 1;
        if self.chunks.is_empty() || self.tokens + tokens > CHUNK_TOKENS {
            let chunk = ReadyChunk { text: String::new(), source_id: None, file_path: None };
            self.chunks.push((chunk, Records::default()));
            self.tokens = 0;
        }
        self.tokens += tokens;
        let last = self.chunks.len() - 1;
        let (chunk, records) = &mut self.chunks[last];
        if !chunk.text.is_empty() {
            chunk.text.push('\n');
        }
        chunk.text.push_str(words);
        records
    }
}

/// Stores `graph` durably as the document `name`, as [`super::accept`] does with files. [`super::run`] then adds it to the graph
/// and calls no model except the embedder and, where there are many descriptions, the summarizer.
pub fn accept_graph<'a>(
    engine: &'a Engine,
    name: &'a str,
    graph: ReadyGraph,
    meta: BTreeMap<String, String>,
) -> BoxFuture<'a, Result<Acceptance, IndexError>> {
    Box::pin(async move {
        let arrival = arrival(engine, name, graph, meta);
        // The result has one acceptance per arrival, in order.
        let mut accepted = accept_arrivals(engine, vec![Ok(arrival)], None).await?;
        Ok(accepted.remove(0))
    })
}

fn arrival(engine: &Engine, name: &str, graph: ReadyGraph, meta: BTreeMap<String, String>) -> Arrival {
    let with_records = graph.with_records(engine);
    let texts: Vec<&str> = with_records.iter().map(|(chunk, _)| chunk.text.as_str()).collect();
    let text = texts.join(SEPARATOR);
    let content_hash = ContentHash::of(text.as_bytes());
    let extractions: Vec<Extraction> = with_records
        .iter()
        .map(|(chunk, records)| recorded(CUSTOM_KG_MODEL, &chunk.text, records.clone()))
        .collect();
    // A different graph over the same chunks is another version.
    let version: Vec<&str> =
        std::iter::once(content_hash.as_str()).chain(extractions.iter().map(|it| it.key.as_str())).collect();
    let id = DocumentId::new(name, &ContentHash::of_parts(&version));
    let (mut chunks, mut start) = (Vec::new(), 0);
    for (ordinal, ((chunk, _), extraction)) in with_records.into_iter().zip(&extractions).enumerate() {
        let span = Span::new(start, start + chunk.text.len());
        start += chunk.text.len() + SEPARATOR.len();
        chunks.push(Chunk {
            id: ChunkId::new(&id, ordinal as u32, span.start, span.end),
            document: id.clone(),
            ordinal: ordinal as u32,
            span,
            token_count: engine.tokenizer.count(&chunk.text),
            breadcrumb: chunk.file_path.into_iter().collect(),
            text: chunk.text,
            extraction: ChunkExtraction::Done { key: extraction.key.clone() },
        });
    }
    let document = Document {
        id,
        title: name.rsplit('/').next().unwrap_or(name).to_owned(),
        source: name.to_owned(),
        content_hash,
        text_bytes: text.len() as u64,
        format: Format::Json,
        encoding: "UTF-8".to_owned(),
        lines_match_source: false,
        parts: Vec::new(),
        remarks: Vec::new(),
        meta,
        visibility: Visibility::Live,
        added_at: engine.clock.now(),
    };
    Arrival { document, text, chunks, extractions, remarks: Vec::new(), original: None }
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: String) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(fault);
        }
    }

    /// Returns the cleaned name; adds a fault if it is empty.
    fn name(&mut self, raw: &str, which: impl FnOnce() -> String) -> String {
        let clean = clean_name(raw).filter(|name| entity_key(name).is_some());
        clean.unwrap_or_else(|| {
            self.add(format!("{} {raw:?} is not a name", which()));
            String::new()
        })
    }
}

fn clean(description: Option<String>) -> String {
    description.map(|text| sanitize(&text).trim().to_owned()).unwrap_or_default()
}

/// Returns an id as text, whether it was written as a string or as a number.
fn id_text(id: Option<Value>) -> Option<String> {
    match id? {
        Value::Null => None,
        Value::String(id) => Some(id),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_faults(json: &str, expected: &[&str]) {
        match ReadyGraph::read(json.as_bytes()) {
            Err(ReadyGraphError::Faults { faults }) => assert_eq!(faults, expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_error_is_reported_with_its_path() {
        check_faults(
            r#"{"chunks": [{"content": " "}],
                "entities": [{"entity_name": "Ada"}, {"entity_name": "--"}],
                "relationships": [{"src_id": "The Lab", "tgt_id": "lab"}, {"src_id": "Ada", "tgt_id": "", "weight": -1}]}"#,
            &[
                "chunks[0].content is empty",
                "entities[1].entity_name \"--\" is not a name",
                "relationships[0] relates \"The Lab\" to itself",
                "relationships[1].tgt_id \"\" is not a name",
                "relationships[1].weight -1 is not a number of at least 0",
            ],
        );
        assert!(matches!(ReadyGraph::read(b"{}"), Err(ReadyGraphError::Empty)));
        assert!(matches!(ReadyGraph::read(b"[1]"), Err(ReadyGraphError::Json(_))));
    }

    #[test]
    fn records_without_a_chunk_are_counted_and_ids_may_be_numbers() {
        let graph = ReadyGraph::read(
            br#"{"chunks": [{"content": "Ada met Bo.", "source_id": 7}],
                "entities": [{"entity_name": "Ada", "source_id": "7"}, {"entity_name": "Cy", "source_id": "x"}],
                "relationships": [{"src_id": "Ada", "tgt_id": "Cy", "keywords": "a, b"}]}"#,
        )
        .expect("a sound graph");
        assert_eq!(graph.unplaced(), 2);
        assert_eq!(graph.relations[0].0.keywords, ["a", "b"]);
    }
}
