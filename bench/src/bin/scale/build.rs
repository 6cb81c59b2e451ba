//! Builds the store of a world with the product's commits, and continues where an earlier run stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, Embedder, EmbeddingSpec,
    Entity, EntityKey, EntityRecord, Extraction, ExtractionKey, Fact, Format, ItemKey, Job, JobState,
    Mention, NewDocument, Records, Relation, RelationKey, RelationRecord, Span, Store, Timestamp,
    VectorEntry, VectorRow, Visibility,
};
use graphloom_text::entity_key;

use crate::Arguments;
use crate::world::{CHUNKS_A_DOCUMENT, DIMENSIONS, StatedRelation, TOPIC, World, name};

/// Documents, entities or relations per commit.
const DOCUMENTS_A_COMMIT: usize = 1000;
const VIEWS_A_COMMIT: usize = 10_000;
/// Number of parts into which metadata divides the documents.
pub(crate) const PARTS: usize = 100;
const DESCRIPTION: &str = "is told of in the chronicle of its town";

/// Seconds spent building, over all runs; the file exists from the start.
pub(crate) struct Stopwatch {
    file: PathBuf,
    before: f64,
    started: Instant,
}

impl Stopwatch {
    pub(crate) fn file(folder: &Path) -> PathBuf {
        folder.join("build_seconds")
    }

    /// Continues from the time of earlier runs.
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        let (file, started) = (Self::file(folder), Instant::now());
        let before = if file.exists() { std::fs::read_to_string(&file)?.trim().parse()? } else { 0.0 };
        Ok(Self { file, before, started })
    }

    /// Saves the time so far.
    pub(crate) fn note(&self) -> anyhow::Result<f64> {
        let seconds = self.before + self.started.elapsed().as_secs_f64();
        std::fs::write(&self.file, format!("{seconds:.1}"))?;
        Ok(seconds)
    }

    fn progress(&self, what: &str, done: usize, all: usize) -> anyhow::Result<()> {
        eprintln!("  {done}/{all} {what} after {:.0} s", self.note()?);
        Ok(())
    }
}

/// Stores everything that the store does not have yet. Only a share of the relations has vectors.
pub(crate) async fn build(
    world: &World,
    store: &dyn Store,
    arguments: &Arguments,
    time: &Stopwatch,
) -> anyhow::Result<()> {
    let done = store.snapshot().await?.counts().await?;
    let spec = EmbeddingSpec { model: Embedder::name(world).to_owned(), dimensions: DIMENSIONS as u32 };
    let documents = world.chunks / CHUNKS_A_DOCUMENT;
    let mut first = usize::try_from(done.documents)?;
    while first < documents {
        let last = (first + DOCUMENTS_A_COMMIT).min(documents);
        let mut batch = Batch { embedding: Some(spec.clone()), ..Batch::default() };
        (first..last).try_for_each(|document| put_document(world, document, arguments.graph, &mut batch))?;
        store.commit(batch).await?;
        first = last;
        time.progress("documents", first, documents)?;
    }
    if !arguments.graph {
        return Ok(());
    }
    let views = Views::of(world);
    let mut first = usize::try_from(done.entities)?;
    let entities: Vec<(usize, (u32, u32))> = views.entities.iter().map(|(&e, &counts)| (e, counts)).collect();
    while first < entities.len() {
        let last = (first + VIEWS_A_COMMIT).min(entities.len());
        let mut batch = Batch::default();
        for &(entity, (mention_count, degree)) in &entities[first..last] {
            let (key, name) = (key(entity)?, name(entity));
            let text = format!("{name}\n{DESCRIPTION}");
            let inputs_hash = ContentHash::of(text.as_bytes());
            batch.put_vectors.push(vector(world, ItemKey::Entity(key.clone()), entity / TOPIC, &text));
            let (kind, description) = ("UNKNOWN".to_owned(), DESCRIPTION.to_owned());
            batch.put_entities.push(Entity {
                key,
                name,
                kind,
                description,
                mention_count,
                degree,
                inputs_hash,
            });
        }
        store.commit(batch).await?;
        first = last;
        time.progress("entities", first, entities.len())?;
    }
    let mut first = usize::try_from(done.relations)?;
    let relations: Vec<((usize, usize), u32)> = views
        .relations
        .chunk_by(|one, other| one == other)
        .map(|same| (same[0], same.len() as u32))
        .collect();
    while first < relations.len() {
        let last = (first + VIEWS_A_COMMIT).min(relations.len());
        let mut batch = Batch::default();
        for &((from, to), fact_count) in &relations[first..last] {
            let key = RelationKey::new(key(from)?, key(to)?).context("two entities")?;
            let description = format!("{} and {} are told of together", name(from), name(to));
            let text = format!("met\t{}\n{}\n{description}", name(from), name(to));
            let inputs_hash = ContentHash::of(text.as_bytes());
            let topic = from / TOPIC;
            if (topic as f64 + 0.5) / (world.topics() as f64) < arguments.relation_vectors {
                batch.put_vectors.push(vector(world, ItemKey::Relation(key.clone()), topic, &text));
            }
            let (keywords, weight) = (vec!["met".to_owned()], f64::from(fact_count));
            batch.put_relations.push(Relation {
                key,
                keywords,
                description,
                weight,
                fact_count,
                inputs_hash,
            });
        }
        store.commit(batch).await?;
        first = last;
        time.progress("relations", first, relations.len())?;
    }
    Ok(())
}

/// The views computed from the facts of all chunks.
struct Views {
    /// Number of mentions and relations of each entity.
    entities: BTreeMap<usize, (u32, u32)>,
    /// One pair per fact, sorted.
    relations: Vec<(usize, usize)>,
}

impl Views {
    fn of(world: &World) -> Self {
        let mut entities: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
        let mut relations = Vec::new();
        for chunk in 0..world.chunks / CHUNKS_A_DOCUMENT * CHUNKS_A_DOCUMENT {
            let facts = world.facts(chunk);
            mentioned(&facts).into_iter().for_each(|entity| entities.entry(entity).or_default().0 += 1);
            relations.extend(facts.into_iter().map(|(from, _, to)| (from.min(to), from.max(to))));
        }
        relations.sort_unstable();
        for pair in relations.chunk_by(|one, other| one == other) {
            for end in [pair[0].0, pair[0].1] {
                entities.entry(end).or_default().1 += 1;
            }
        }
        Self { entities, relations }
    }
}

fn mentioned(facts: &[StatedRelation]) -> Vec<usize> {
    let mut entities: Vec<usize> = facts.iter().flat_map(|&(from, _, to)| [from, to]).collect();
    entities.sort_unstable();
    entities.dedup();
    entities
}

fn key(entity: usize) -> anyhow::Result<EntityKey> {
    entity_key(&name(entity)).context("a name has a key")
}

fn vector(world: &World, item: ItemKey, topic: usize, text: &str) -> VectorRow {
    let inputs_hash = ContentHash::of(text.as_bytes());
    let entry = VectorEntry { item, inputs_hash };
    VectorRow { entry, vector: world.vector(topic, text) }
}

/// Adds the document with this number to the batch, with its job, chunks, extractions, records and vectors.
fn put_document(world: &World, number: usize, graph: bool, batch: &mut Batch) -> anyhow::Result<()> {
    let numbers = number * CHUNKS_A_DOCUMENT..(number + 1) * CHUNKS_A_DOCUMENT;
    let texts: Vec<String> = numbers.clone().map(|chunk| world.text(chunk)).collect();
    let text = texts.join("\n");
    let content_hash = ContentHash::of(text.as_bytes());
    let source = format!("synthetic-{number}.txt");
    let id = DocumentId::new(&source, &content_hash);
    let mut start = 0;
    for (ordinal, (chunk, text)) in numbers.zip(texts).enumerate() {
        let (ordinal, end) = (u32::try_from(ordinal)?, start + text.len() as u64);
        let span = Span { start, end };
        let chunk_id = ChunkId::new(&id, ordinal, start, end);
        let facts = world.facts(chunk);
        let extraction = ExtractionKey::new(&[chunk_id.as_str()]);
        if graph {
            put_records(chunk_id.clone(), &facts, batch)?;
        }
        batch.put_extractions.push(stated_extraction(extraction.clone(), if graph { &facts } else { &[] }));
        batch.put_vectors.push(vector(world, ItemKey::Chunk(chunk_id.clone()), world.topic(chunk), &text));
        batch.put_chunks.push(Chunk {
            id: chunk_id,
            document: id.clone(),
            ordinal,
            span,
            token_count: u32::try_from(text.len() / 4)?,
            breadcrumb: Vec::new(),
            text,
            extraction: ChunkExtraction::Done { key: extraction },
        });
        start = end + 1;
    }
    let added_at = Timestamp(1_700_000_000_000 + number as u64);
    let document = Document {
        id: id.clone(),
        title: source.clone(),
        source,
        content_hash,
        text_bytes: text.len() as u64,
        format: Format::Text,
        encoding: "UTF-8".to_owned(),
        lines_match_source: true,
        parts: Vec::new(),
        remarks: Vec::new(),
        meta: BTreeMap::from([("part".to_owned(), (number % PARTS).to_string())]),
        visibility: Visibility::Live,
        added_at,
    };
    batch.put_documents.push(NewDocument { document, text });
    let state = JobState::Merged;
    batch.put_jobs.push(Job { document: id, state, lease: None, attempts: 1, created_at: added_at });
    Ok(())
}

fn put_records(chunk: ChunkId, facts: &[StatedRelation], batch: &mut Batch) -> anyhow::Result<()> {
    for (ordinal, entity) in mentioned(facts).into_iter().enumerate() {
        batch.put_mentions.push(Mention {
            chunk: chunk.clone(),
            ordinal: u32::try_from(ordinal)?,
            entity: key(entity)?,
            name: name(entity),
            kind: "UNKNOWN".to_owned(),
            description: DESCRIPTION.to_owned(),
            span: None,
            set_aside: false,
        });
    }
    for (ordinal, &(from, verb, to)) in facts.iter().enumerate() {
        let relation = RelationKey::new(key(from)?, key(to)?).context("two entities")?;
        batch.put_facts.push(Fact {
            chunk: chunk.clone(),
            ordinal: u32::try_from(ordinal)?,
            source: name(from),
            target: name(to),
            source_is_a: *relation.a() == key(from)?,
            relation,
            keywords: vec![verb.to_owned()],
            description: format!("{} {verb} {}", name(from), name(to)),
            weight: 1.0,
            set_aside: false,
        });
    }
    Ok(())
}

fn stated_extraction(key: ExtractionKey, facts: &[StatedRelation]) -> Extraction {
    let entities = mentioned(facts).into_iter().map(|entity| EntityRecord {
        name: name(entity),
        kind: "UNKNOWN".to_owned(),
        description: DESCRIPTION.to_owned(),
    });
    let relations = facts.iter().map(|&(from, verb, to)| RelationRecord {
        source: name(from),
        target: name(to),
        keywords: vec![verb.to_owned()],
        description: format!("{} {verb} {}", name(from), name(to)),
        weight: 1.0,
    });
    let records =
        Records { entities: entities.collect(), relations: relations.collect(), ..Records::default() };
    Extraction { key, model: "bench".to_owned(), responses: Vec::new(), records, rejects: Vec::new() }
}
