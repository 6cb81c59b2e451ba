//! LightRAG: reads file-based working folders in old and new layouts.
//!
//! The answers in LightRAG's cache of model calls become extractions, parsed like answers of our own models. If a chunk has no
//! answer, its records come from the graph file. If the graph file does not mention it either, the chunk waits for a model.

mod cache;
mod graph;
mod vdb;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use graphloom_core::{EntityKey, EntityRecord, GraphKey, Records, RelationKey, RelationRecord, Span};
use graphloom_engine::extract::{extract_from_answers, records::parse};
use graphloom_engine::graph::KnownDescriptions;
use graphloom_engine::index::{ImportedChunk, ImportedDocument, recorded};
use graphloom_text::{clean_name, entity_key, sanitize};
use serde_json::{Map, Value};

use crate::locate::Text;
use crate::share::share;
use crate::{FolderContents, Import, MigrateError, Vectors};
use cache::Answers;
use graph::GraphFile;

/// Name under which imported extractions are stored.
pub const ORIGIN: &str = "lightrag";
/// Remedy if nothing was found.
const REMEDY: &str = "name the folder that LightRAG calls WORKING_DIR, or one of its workspaces, with \
                      kv_store_text_chunks.json and others; what LightRAG keeps in databases is not read";
/// Separator of the parts of a field with several values.
const SEPARATOR: &str = "<SEP>";
/// Names that LightRAG gives to documents without one.
const NO_NAMES: [&str; 4] = ["", "unknown_source", "no-file-path", "custom_kg"];
/// Prefix of the text of a document whose structure is in other files.
const STRUCTURED: &str = "{{LRdoc}}";
/// Why a chunk has no extraction.
const NO_ANSWER: &str = "the imported folder holds no answer about this chunk";

const FULL_DOCS: &str = "kv_store_full_docs.json";
const TEXT_CHUNKS: &str = "kv_store_text_chunks.json";
const DOC_STATUS: &str = "kv_store_doc_status.json";
const LLM_CACHE: &str = "kv_store_llm_response_cache.json";
const GRAPH: &str = "graph_chunk_entity_relation.graphml";
const VECTORS: [&str; 3] = ["vdb_chunks.json", "vdb_entities.json", "vdb_relationships.json"];

/// Reads a working folder of LightRAG.
///
/// - `prefix`: text before the names of the documents in their sources, such as `docs/`.
pub fn read(folder: &Path, prefix: &str) -> Result<Import, MigrateError> {
    let files = Files::find(folder)?;
    let mut missing = Vec::new();
    let chunks = files.chunks(&mut missing)?;
    let mut documents = files.documents(&chunks, prefix, &mut missing)?;
    let mut answers = match files.json(LLM_CACHE)? {
        Some(rows) => Answers::of(rows, &chunks),
        None => {
            missing.push(format!("no {LLM_CACHE}; extractions come from the graph file alone"));
            Answers::default()
        }
    };
    if answers.unlinked > 0 {
        missing.push(format!(
            "cached answers that do not say which chunk they are about, left out: {}",
            answers.unlinked
        ));
    }
    let graph = match files.path(GRAPH) {
        Some(path) => GraphFile::read(&path)?,
        None => {
            missing.push(format!("no {GRAPH}"));
            GraphFile::default()
        }
    };
    let mut vectors = Vectors::default();
    for file in VECTORS {
        if let Some(rows) = files.json(file)? {
            vdb::add(&rows, &mut vectors);
        }
    }
    let mut found = FolderContents {
        documents: documents.len() as u64,
        chunks: chunks.len() as u64,
        ..FolderContents::default()
    };
    let mut from_graph = GraphRecords::of(&graph, &chunks, &answers);
    let (mut entities, mut relations) = (BTreeSet::new(), BTreeSet::new());
    let mut fragments: BTreeMap<GraphKey, BTreeSet<String>> = BTreeMap::new();
    let (mut recorded_chunks, mut without) = (0, 0);
    let mut read: Vec<ImportedDocument> = Vec::new();
    for document in documents.values_mut() {
        let mut imported: BTreeMap<Span, ImportedChunk> = BTreeMap::new();
        for (id, span) in &document.chunks {
            let text = span.slice(&document.text).unwrap_or_default();
            let extraction = match (answers.take(id), from_graph.by_chunk.remove(id)) {
                (Some(answers), _) => Ok(extract_from_answers(ORIGIN, text, answers)),
                (None, Some(records)) => {
                    recorded_chunks += 1;
                    Ok(recorded(ORIGIN, text, records))
                }
                (None, None) => {
                    without += 1;
                    Err(NO_ANSWER.to_owned())
                }
            };
            if let Ok(extraction) = &extraction {
                found.extracted += 1;
                let records = &extraction.records;
                for entity in &records.entities {
                    let Some(key) = key_of(&entity.name) else { continue };
                    entities.insert(key.clone());
                    fragments.entry(GraphKey::Entity(key)).or_default().insert(entity.description.clone());
                }
                for relation in &records.relations {
                    let (source, target) = (key_of(&relation.source), key_of(&relation.target));
                    let Some((source, target)) = source.zip(target) else { continue };
                    entities.extend([source.clone(), target.clone()]);
                    let Some(key) = RelationKey::new(source, target) else { continue };
                    relations.insert(key.clone());
                    fragments
                        .entry(GraphKey::Relation(key))
                        .or_default()
                        .insert(relation.description.clone());
                }
            }
            imported.entry(*span).or_insert(ImportedChunk { span: *span, extraction });
        }
        found.verbatim += document.verbatim;
        let name = &document.source;
        read.push(ImportedDocument {
            source: name.clone(),
            text: std::mem::take(&mut document.text),
            lines_match_source: name.ends_with(".txt") || name.ends_with(".md"),
            meta: BTreeMap::new(),
            chunks: imported.into_values().collect(),
            remarks: Vec::new(),
        });
    }
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            missing.push(format!("{what}: {count}"));
        }
    };
    note(recorded_chunks, "chunks without a cached answer, which use the records of the graph file");
    note(without, "chunks with neither an answer nor a place in the graph, left for a model");
    note(
        graph.nodes.keys().filter_map(|name| key_of(name)).filter(|key| !entities.contains(key)).count(),
        "entities of the graph file that are in no answer and no existing chunk, left out",
    );
    found.entities = entities.len() as u64;
    found.relations = relations.len() as u64;
    let descriptions = summaries(&graph, &chunks, fragments);
    Ok(Import { documents: read, vectors, descriptions, found, missing, ..Import::default() })
}

/// Returns the descriptions in the graph file that a model summarized, if all their chunks exist.
///
/// - `fragments`: the descriptions of each entity and relation in the answers.
fn summaries(
    graph: &GraphFile,
    chunks: &BTreeMap<String, Chunk>,
    mut fragments: BTreeMap<GraphKey, BTreeSet<String>>,
) -> KnownDescriptions {
    let mut known = KnownDescriptions::default();
    let mut add = |owner: Option<GraphKey>, description: &str, sources: &[String]| {
        // LightRAG joins descriptions that it does not summarize.
        let is_summary = !description.trim().is_empty() && !description.contains(SEPARATOR);
        if !is_summary || !sources.iter().all(|id| chunks.contains_key(id)) {
            return;
        }
        let Some((owner, mut made_of)) = owner.and_then(|owner| fragments.remove_entry(&owner)) else {
            return;
        };
        made_of.remove("");
        known.add(owner, description.trim().to_owned(), made_of);
    };
    for (name, node) in &graph.nodes {
        add(key_of(name).map(GraphKey::Entity), &node.description, &node.sources);
    }
    for edge in &graph.edges {
        let ends = key_of(&edge.source).zip(key_of(&edge.target));
        let key = ends.and_then(|(source, target)| RelationKey::new(source, target));
        add(key.map(GraphKey::Relation), &edge.description, &edge.sources);
    }
    known
}

/// Returns the key of a name from an answer or the graph file.
fn key_of(name: &str) -> Option<EntityKey> {
    entity_key(&clean_name(name)?)
}

/// A chunk in LightRAG's store.
struct Chunk {
    text: String,
    document: String,
    order: i64,
    file: String,
    /// Keys of its answers in the cache, in order.
    answers: Vec<String>,
}

/// A document that is being imported.
struct Document {
    source: String,
    text: String,
    /// Ids and spans of its chunks.
    chunks: Vec<(String, Span)>,
    /// Number of chunks that the text contains verbatim.
    verbatim: u64,
}

/// The files of one workspace.
struct Files(PathBuf);

impl Files {
    fn find(folder: &Path) -> Result<Self, MigrateError> {
        let holds = |folder: &Path| [TEXT_CHUNKS, FULL_DOCS].iter().any(|file| folder.join(file).is_file());
        if holds(folder) {
            return Ok(Self(folder.to_owned()));
        }
        // Workspaces are subfolders of the working folder.
        let entries = std::fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>())
            .unwrap_or_default();
        let mut workspaces: Vec<PathBuf> = entries.into_iter().filter(|path| holds(path)).collect();
        workspaces.sort();
        match workspaces.as_slice() {
            [one] => Ok(Self(one.clone())),
            [] => Err(MigrateError::Foreign {
                folder: folder.to_owned(),
                what: "working folder of LightRAG",
                remedy: REMEDY,
            }),
            several => {
                let name =
                    |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let names = several.iter().map(name).collect();
                Err(MigrateError::Several { folder: folder.to_owned(), names })
            }
        }
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.join(name)).filter(|path| path.is_file())
    }

    /// Returns the rows of a key-value file, by key; `None` if there is no such file.
    fn json(&self, name: &str) -> Result<Option<Map<String, Value>>, MigrateError> {
        let Some(path) = self.path(name) else { return Ok(None) };
        let file = File::open(&path).map_err(|source| MigrateError::Read { path: path.clone(), source })?;
        let rows: Result<Map<String, Value>, _> = serde_json::from_reader(BufReader::new(file));
        rows.map(Some).map_err(|error| MigrateError::Damaged { path, what: error.to_string() })
    }

    fn chunks(&self, missing: &mut Vec<String>) -> Result<BTreeMap<String, Chunk>, MigrateError> {
        let Some(rows) = self.json(TEXT_CHUNKS)? else {
            missing
                .push(format!("no {TEXT_CHUNKS}; documents are split here, and no answer fits their chunks"));
            return Ok(BTreeMap::new());
        };
        let chunk = |(id, row): (String, Value)| {
            let text = sanitize(&text_of(&row, "content")).into_owned();
            let answers = row.get("llm_cache_list").and_then(Value::as_array);
            let answers = answers.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
            let chunk = Chunk {
                text,
                document: text_of(&row, "full_doc_id"),
                order: row.get("chunk_order_index").and_then(Value::as_i64).unwrap_or(i64::MAX),
                file: text_of(&row, "file_path"),
                answers: answers.collect(),
            };
            (id, chunk)
        };
        Ok(rows.into_iter().map(chunk).filter(|(_, chunk)| !chunk.text.trim().is_empty()).collect())
    }

    /// Returns the documents by id, with their chunks located in their texts.
    fn documents(
        &self,
        chunks: &BTreeMap<String, Chunk>,
        prefix: &str,
        missing: &mut Vec<String>,
    ) -> Result<BTreeMap<String, Document>, MigrateError> {
        let full = self.json(FULL_DOCS)?;
        if full.is_none() {
            missing.push(format!("no {FULL_DOCS}; the texts of documents are put together from chunks"));
        }
        let full = full.unwrap_or_default();
        let status = self.json(DOC_STATUS)?.unwrap_or_default();
        let mut of_document: BTreeMap<&str, Vec<(&str, &Chunk)>> = BTreeMap::new();
        for (id, chunk) in chunks {
            of_document.entry(&chunk.document).or_default().push((id, chunk));
        }
        let ids: BTreeSet<&str> =
            full.keys().map(String::as_str).chain(of_document.keys().copied()).collect();
        // A document that was added twice has a row without a text.
        let is_repeated = |id: &str| id.starts_with("dup-") || id.starts_with("error-");
        let lost = status.keys().filter(|id| !ids.contains(id.as_str()) && !is_repeated(id)).count();
        if lost > 0 {
            missing.push(format!("documents with a status but no text, left out: {lost}"));
        }
        let mut names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for id in &ids {
            let rows = [full.get(*id), status.get(*id)];
            let named = rows.into_iter().flatten().map(|row| text_of(row, "file_path"));
            let by_chunk = of_document.get(id).and_then(|chunks| chunks.first());
            let mut named = named.chain(by_chunk.map(|(_, chunk)| chunk.file.clone()));
            let name = named.find(|name| !NO_NAMES.contains(&name.as_str()));
            names.entry(name.unwrap_or_else(|| (*id).to_owned())).or_default().push(id);
        }
        let mut documents = BTreeMap::new();
        for (name, ids) in &names {
            for id in ids {
                let name = if ids.len() == 1 { name.clone() } else { format!("{name}#{id}") };
                let text = full.get(*id).map(|row| text_of(row, "content")).unwrap_or_default();
                let mut chunks = of_document.remove(id).unwrap_or_default();
                chunks.sort_by_key(|(id, chunk)| (chunk.order, *id));
                let sources = located(format!("{prefix}{name}"), &text, &chunks);
                if let [_, apart] = sources.as_slice() {
                    missing.push(format!(
                        "chunks that are not in the text of {name}, kept as the document {}: {}",
                        apart.source,
                        apart.chunks.len()
                    ));
                }
                for (number, document) in sources.into_iter().enumerate() {
                    documents.insert(format!("{id}#{number}"), document);
                }
            }
        }
        Ok(documents)
    }
}

/// Returns the document with its chunks. If its text does not contain some of them, these form a second document.
fn located(source: String, text: &str, chunks: &[(&str, &Chunk)]) -> Vec<Document> {
    let text = text.strip_prefix(STRUCTURED).unwrap_or(text);
    let text = sanitize(text.strip_prefix('\u{feff}').unwrap_or(text)).into_owned();
    let mut places = Text::new(&text);
    let (mut found, mut apart, mut behind, mut verbatim) = (Vec::new(), Vec::new(), 0, 0);
    for (id, chunk) in chunks {
        match places.find(&chunk.text, behind) {
            Some(located) => {
                behind = located.span.start as usize + 1;
                verbatim += u64::from(located.verbatim);
                found.push(((*id).to_owned(), located.span));
            }
            None => apart.push((*id, *chunk)),
        }
    }
    let has_text = !text.trim().is_empty();
    let mut documents = Vec::new();
    if has_text {
        documents.push(Document { source: source.clone(), text, chunks: found, verbatim });
    }
    if !apart.is_empty() {
        let source = if has_text { format!("{source}#chunks") } else { source };
        let mut joined = Document { source, text: String::new(), chunks: Vec::new(), verbatim: 0 };
        for (id, chunk) in apart {
            if !joined.text.is_empty() {
                joined.text.push_str("\n\n");
            }
            let span = Span::new(joined.text.len(), joined.text.len() + chunk.text.len());
            joined.text.push_str(&chunk.text);
            joined.chunks.push((id.to_owned(), span));
        }
        joined.verbatim = if has_text { 0 } else { joined.chunks.len() as u64 };
        documents.push(joined);
    }
    documents
}

/// Records from the graph file for chunks that have no answer.
#[derive(Default)]
struct GraphRecords {
    by_chunk: BTreeMap<String, Records>,
}

impl GraphRecords {
    fn of(graph: &GraphFile, chunks: &BTreeMap<String, Chunk>, answers: &Answers) -> Self {
        let mut recorded = Self::default();
        for (name, node) in &graph.nodes {
            let parts = parts(&node.description, &node.sources, chunks);
            for id in node.sources.iter().filter(|id| chunks.contains_key(*id) && !answers.has(id)) {
                let description = parts.get(chunks[id].document.as_str()).cloned().unwrap_or_default();
                let record = EntityRecord { name: name.clone(), kind: node.kind.clone(), description };
                recorded.by_chunk.entry(id.clone()).or_default().entities.push(record);
            }
        }
        for edge in &graph.edges {
            let parts = parts(&edge.description, &edge.sources, chunks);
            let weight = edge.weight / edge.sources.len().max(1) as f64;
            for id in edge.sources.iter().filter(|id| chunks.contains_key(*id) && !answers.has(id)) {
                let record = RelationRecord {
                    source: edge.source.clone(),
                    target: edge.target.clone(),
                    keywords: edge.keywords.clone(),
                    description: parts.get(chunks[id].document.as_str()).cloned().unwrap_or_default(),
                    weight,
                };
                recorded.by_chunk.entry(id.clone()).or_default().relations.push(record);
            }
        }
        recorded
    }
}

/// Returns the description, divided among the documents of these chunks.
fn parts<'a>(
    description: &str,
    sources: &[String],
    chunks: &'a BTreeMap<String, Chunk>,
) -> BTreeMap<&'a str, String> {
    let mut passages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for chunk in sources.iter().filter_map(|id| chunks.get(id)) {
        passages.entry(&chunk.document).or_default().push(&chunk.text);
    }
    let texts: Vec<Vec<&str>> = passages.values().cloned().collect();
    let description = description.replace(SEPARATOR, "\n");
    passages.into_keys().zip(share(&description, &texts)).collect()
}

/// True if an answer contains a record or is a complete answer without records.
fn says_something(answer: &str) -> bool {
    let parsed = parse(answer, false);
    parsed.complete || !parsed.found.is_empty()
}

fn text_of(row: &Value, field: &str) -> String {
    row.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
