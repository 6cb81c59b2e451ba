//! Measures the store on PostgreSQL: commits compared with SQLite, and vector searches with and without an index.
//!
//! `graphloom-bench-database --url postgres://... [--commits 200] [--vectors 2000,10000,50000]`. The database must not contain
//! workspaces whose names begin with `bench-`; these are removed at the end.
//!
//! - Commits: documents of about 150 rows, one after another, to both stores in turn. Prints the median of each and the ratio.
//! - Vectors: 256 dimensions, around 200 centres, so that vectors have neighbours like those of texts. For each number of vectors, prints
//!   the median time of a search for 20 without and with the index, how many of the true nearest the index finds (recall@20), and the time
//!   to build the index.

use std::time::Instant;

use anyhow::{Context, bail};
use futures::executor::block_on;
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, EmbeddingSpec, Entity,
    EntityKey, Format, ItemKey, ItemKind, Mention, NewDocument, Relation, RelationKey, SearchRequest, Span,
    Store, Timestamp, VectorEntry, VectorRow, Visibility, WorkspaceId,
};
use graphloom_postgres::{Database, PostgresStore, SearchMemory};
use graphloom_storage::sqlite::SqliteStore;

const DIMENSIONS: usize = 256;
/// Number of centres of the vectors, and the distance of a vector from its centre as a share of the centre's length.
const CENTRES: u64 = 200;
const SPREAD: f32 = 0.7;
/// Vectors per commit while a workspace is filled.
const VECTORS_A_COMMIT: u64 = 2000;
const QUESTIONS: u64 = 200;
const HITS: usize = 20;
/// Rows of a document, besides the document itself and its text.
const CHUNKS: u64 = 10;
const ENTITIES: u64 = 30;
const USAGE: &str = "usage: graphloom-bench-database --url postgres://... [--commits N] [--vectors N,N,...]";

fn main() -> anyhow::Result<()> {
    let (mut url, mut commits, mut sizes) = (None, 200, vec![2000, 5000, 10_000, 20_000, 50_000]);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().context(USAGE)?;
        match argument.as_str() {
            "--url" => url = Some(value),
            "--commits" => commits = value.parse().context(USAGE)?,
            "--vectors" => {
                sizes = value.split(',').map(str::parse).collect::<Result<_, _>>().context(USAGE)?
            }
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    let database = Database::open(&url.context(USAGE)?)?;
    measure_commits(&database, commits)?;
    println!("vectors  exact p50 ms  index p50 ms  exact/index  recall@{HITS}  build s");
    for size in sizes {
        measure_vectors(&database, size)?;
    }
    Ok(())
}

fn measure_commits(database: &Database, commits: u64) -> anyhow::Result<()> {
    let name = WorkspaceId::new("bench-commits")?;
    let folder = std::env::temp_dir().join(format!("graphloom-bench-database-{}", std::process::id()));
    block_on(database.delete(&name))?;
    let there = block_on(database.open_or_create(name.clone()))?;
    let here = SqliteStore::open(&folder, name.clone())?;
    let (mut there_ms, mut here_ms) = (Vec::new(), Vec::new());
    for number in 0..commits {
        let batch = document(number)?;
        let before = Instant::now();
        block_on(here.commit(batch.clone()))?;
        here_ms.push(before.elapsed().as_secs_f64() * 1e3);
        let before = Instant::now();
        block_on(there.commit(batch))?;
        there_ms.push(before.elapsed().as_secs_f64() * 1e3);
    }
    let (here_ms, there_ms) = (at(&mut here_ms, 0.5), at(&mut there_ms, 0.5));
    println!(
        "one commit of a document, p50 of {commits}: SQLite {here_ms:.1} ms, PostgreSQL {there_ms:.1} ms, ratio {:.1}",
        there_ms / here_ms
    );
    drop(here);
    std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    block_on(database.delete(&name))?;
    Ok(())
}

fn measure_vectors(database: &Database, size: u64) -> anyhow::Result<()> {
    let name = WorkspaceId::new("bench-vectors")?;
    block_on(database.delete(&name))?;
    let store = block_on(database.open_or_create(name.clone()))?;
    store.set_search_memory(SearchMemory::Never);
    block_on(store.commit(Batch { embedding: Some(space()), ..Batch::default() }))?;
    for from in (0..size).step_by(VECTORS_A_COMMIT as usize) {
        let mut batch = Batch::default();
        for number in from..(from + VECTORS_A_COMMIT).min(size) {
            let entity = entity(&format!("E{number}"));
            batch.put_vectors.push(vector_of(ItemKey::Entity(entity.key.clone()), number));
            batch.put_entities.push(entity);
        }
        block_on(store.commit(batch))?;
    }
    let (mut exact_ms, exact) = ask(&store)?;
    let before = Instant::now();
    block_on(store.index_vectors([1, 1]))?;
    let build_s = before.elapsed().as_secs_f64();
    let (mut index_ms, indexed) = ask(&store)?;
    let found = exact
        .iter()
        .zip(&indexed)
        .flat_map(|(exact, indexed)| exact.iter().filter(|id| indexed.contains(id)));
    let (found, all) = (found.count(), exact.iter().map(Vec::len).sum::<usize>());
    let (exact_ms, index_ms) = (at(&mut exact_ms, 0.5), at(&mut index_ms, 0.5));
    println!(
        "{size:7}  {exact_ms:12.1}  {index_ms:12.1}  {:11.1}  {:9.3}  {build_s:7.1}",
        exact_ms / index_ms,
        found as f64 / all as f64
    );
    block_on(database.delete(&name))?;
    Ok(())
}

/// Returns the time of each question in ms, and the ids found.
fn ask(store: &PostgresStore) -> anyhow::Result<(Vec<f64>, Vec<Vec<String>>)> {
    let (mut times_ms, mut found) = (Vec::new(), Vec::new());
    let snapshot = block_on(store.snapshot())?;
    for number in 0..QUESTIONS {
        let request = [SearchRequest::by_vector(ItemKind::Entity, vector(number + 10_000_000), HITS, -1.0)];
        let before = Instant::now();
        let hits = block_on(snapshot.search(&request))?.remove(0);
        times_ms.push(before.elapsed().as_secs_f64() * 1e3);
        found.push(hits.into_iter().map(|hit| hit.item.id().into_owned()).collect());
    }
    Ok((times_ms, found))
}

/// Returns the quantile `share` of the values.
fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}

/// Returns the batch of a document with chunks, mentions, and the entities and relations that it changes.
fn document(number: u64) -> anyhow::Result<Batch> {
    let mut random = Random(number + 1);
    let text: String = (0..CHUNKS * 60).map(|_| format!("w{} ", random.below(5000))).collect();
    let (source, content_hash) = (format!("{number}.md"), ContentHash::of(text.as_bytes()));
    let document = Document {
        id: DocumentId::new(&source, &content_hash),
        title: source.clone(),
        source,
        content_hash,
        text_bytes: text.len() as u64,
        format: Format::Markdown,
        encoding: "UTF-8".to_owned(),
        lines_match_source: true,
        parts: Vec::new(),
        remarks: Vec::new(),
        meta: std::collections::BTreeMap::new(),
        visibility: Visibility::Live,
        added_at: Timestamp(number),
    };
    let mut batch = Batch { embedding: Some(space()), ..Batch::default() };
    let length = text.len() / CHUNKS as usize;
    let mut chunks = Vec::new();
    for ordinal in 0..CHUNKS {
        let span = Span::new(ordinal as usize * length, (ordinal as usize + 1) * length);
        let chunk = Chunk {
            id: ChunkId::new(&document.id, ordinal as u32, span.start, span.end),
            document: document.id.clone(),
            ordinal: ordinal as u32,
            span,
            token_count: 60,
            breadcrumb: Vec::new(),
            text: span.slice(&text).context("a span of the text")?.to_owned(),
            extraction: ChunkExtraction::Pending,
        };
        batch.put_vectors.push(vector_of(ItemKey::Chunk(chunk.id.clone()), number * CHUNKS + ordinal));
        chunks.push(chunk.id.clone());
        batch.put_chunks.push(chunk);
    }
    // Other documents name the same entities.
    let names: Vec<String> =
        (0..ENTITIES).map(|place| format!("E{}", (number * 7 + place * 13) % 2000)).collect();
    for (place, name) in names.iter().enumerate() {
        let entity = entity(name);
        batch.put_mentions.push(Mention {
            chunk: chunks[place % chunks.len()].clone(),
            ordinal: place as u32,
            entity: entity.key.clone(),
            name: name.clone(),
            kind: "Person".to_owned(),
            description: format!("{name} is one of many."),
            span: None,
            set_aside: false,
        });
        batch.put_vectors.push(vector_of(ItemKey::Entity(entity.key.clone()), number + place as u64));
        batch.put_entities.push(entity);
    }
    for pair in names.windows(2).filter(|pair| pair[0] != pair[1]) {
        let (one, other) = (EntityKey::from_stored(&pair[0]), EntityKey::from_stored(&pair[1]));
        let description = format!("{} knows {}.", pair[0], pair[1]);
        batch.put_relations.push(Relation {
            key: RelationKey::new(one, other).context("two entities")?,
            keywords: vec!["knows".to_owned()],
            inputs_hash: ContentHash::of(description.as_bytes()),
            description,
            weight: 1.0,
            fact_count: 1,
        });
    }
    batch.put_documents.push(NewDocument { document, text });
    Ok(batch)
}

fn entity(name: &str) -> Entity {
    Entity {
        key: EntityKey::from_stored(name),
        name: name.to_owned(),
        kind: "Person".to_owned(),
        description: format!("{name} is one of many."),
        mention_count: 1,
        degree: 1,
        inputs_hash: ContentHash::of(name.as_bytes()),
    }
}

fn space() -> EmbeddingSpec {
    EmbeddingSpec { model: "random".to_owned(), dimensions: DIMENSIONS as u32 }
}

fn vector_of(item: ItemKey, number: u64) -> VectorRow {
    let inputs_hash = ContentHash::of(&number.to_le_bytes());
    VectorRow { entry: VectorEntry { item, inputs_hash }, vector: vector(number) }
}

fn vector(number: u64) -> Vec<f32> {
    let mut own = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut centre = Random((own.below(CENTRES) + 1) * 0x2545_f491);
    (0..DIMENSIONS).map(|_| centre.unit() + SPREAD * own.unit()).collect()
}

/// A random number generator with the same sequence in every run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    /// Returns a number from -1 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
