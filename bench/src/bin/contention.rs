//! Measures how long commits take while others read continuously.
//!
//! `graphloom-bench-contention [--readers 32] [--seconds 20] [--documents 2000] [--pause-ms 200] [--hold]`. Each
//! reader repeatedly takes a snapshot, searches it by vector and full text, and reads the chunks it found. One
//! writer adds a document after every pause. With `--hold`, one more snapshot stays open all the time, like that
//! of a dump with a slow reader. Prints the durations of commits, the number of reads, and the maximum size of the
//! write-ahead log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::executor::block_on;
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, EmbeddingSpec, Format,
    ItemKey, ItemKind, Job, JobState, NewDocument, SearchRequest, Span, Store, Timestamp, VectorEntry,
    VectorRow, Visibility, WorkspaceId,
};
use graphloom_storage::sqlite::SqliteStore;

const DIMENSIONS: usize = 256;
/// Number of different words in texts.
const VOCABULARY: u64 = 5000;
const WORDS_A_TEXT: usize = 120;
/// Documents per commit while the store is built.
const DOCUMENTS_A_COMMIT: usize = 200;
/// Hits per search.
const HITS: usize = 20;
const USAGE: &str =
    "usage: graphloom-bench-contention [--readers N] [--seconds N] [--documents N] [--pause-ms N] [--hold]";

struct Arguments {
    readers: usize,
    seconds: u64,
    documents: usize,
    pause_ms: u64,
    hold: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    let folder = std::env::temp_dir().join(format!("graphloom-bench-contention-{}", std::process::id()));
    let measured = measure(&arguments, &folder);
    std::fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    let Timings { mut commits_ms, reads, log_bytes } = measured?;
    commits_ms.sort_by(f64::total_cmp);
    let at = |share: f64| commits_ms[((commits_ms.len() - 1) as f64 * share) as usize];
    println!(
        "{} readers{}: {} commits, p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms; {reads} reads; log up to {:.1} MiB",
        arguments.readers,
        if arguments.hold { " and a snapshot that stays open" } else { "" },
        commits_ms.len(),
        at(0.5),
        at(0.99),
        at(1.0),
        log_bytes as f64 / f64::from(1 << 20),
    );
    Ok(())
}

fn arguments() -> anyhow::Result<Arguments> {
    let mut parsed = Arguments { readers: 32, seconds: 20, documents: 2000, pause_ms: 200, hold: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|value| value.parse::<u64>().ok()).context(USAGE);
        match argument.as_str() {
            "--readers" => parsed.readers = usize::try_from(number()?)?,
            "--seconds" => parsed.seconds = number()?,
            "--documents" => parsed.documents = usize::try_from(number()?)?,
            "--pause-ms" => parsed.pause_ms = number()?,
            "--hold" => parsed.hold = true,
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    Ok(parsed)
}

struct Timings {
    commits_ms: Vec<f64>,
    reads: u64,
    log_bytes: u64,
}

fn measure(arguments: &Arguments, folder: &Path) -> anyhow::Result<Timings> {
    let store = SqliteStore::open(folder, WorkspaceId::default())?;
    for first in (0..arguments.documents).step_by(DOCUMENTS_A_COMMIT) {
        let mut batch = Batch::default();
        (first..(first + DOCUMENTS_A_COMMIT).min(arguments.documents))
            .for_each(|number| put(number, &mut batch));
        block_on(store.commit(batch))?;
    }
    store.catch_up()?;
    let log = folder.join(format!("{}.graphloom-wal", WorkspaceId::default()));
    let held = if arguments.hold { Some(block_on(store.snapshot())?) } else { None };
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut commits_ms, mut log_bytes) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let (store, stop, reads) = (&store, &stop, &reads);
        let readers: Vec<_> = (0..arguments.readers)
            .map(|reader| {
                scope.spawn(move || {
                    let mut random = Random(reader as u64 + 1);
                    while !stop.load(Ordering::Relaxed) {
                        block_on(read(store, &mut random))?;
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        let (mut number, started) = (arguments.documents, Instant::now());
        let mut written = Ok(());
        while written.is_ok() && started.elapsed() < Duration::from_secs(arguments.seconds) {
            std::thread::sleep(Duration::from_millis(arguments.pause_ms));
            let mut batch = Batch::default();
            put(number, &mut batch);
            number += 1;
            let before = Instant::now();
            written = block_on(store.commit(batch)).map(drop);
            commits_ms.push(before.elapsed().as_secs_f64() * 1e3);
            log_bytes = log_bytes.max(std::fs::metadata(&log).map_or(0, |metadata| metadata.len()));
        }
        stop.store(true, Ordering::Relaxed);
        written?;
        for reader in readers {
            reader.join().map_err(|_| anyhow::anyhow!("a reader panicked"))??;
        }
        anyhow::Ok(())
    })?;
    drop(held);
    Ok(Timings { commits_ms, reads: reads.load(Ordering::Relaxed), log_bytes })
}

/// Reads what one question needs.
async fn read(store: &SqliteStore, random: &mut Random) -> anyhow::Result<()> {
    let snapshot = store.snapshot().await?;
    let text = format!("{} {} {}", random.word(), random.word(), random.word());
    let requests = [
        SearchRequest::by_vector(ItemKind::Chunk, vector(random), HITS, -1.0),
        SearchRequest::by_words(ItemKind::Chunk, text, HITS),
    ];
    let hits = snapshot.search(&requests).await?.into_iter().flatten();
    let ids: Vec<ChunkId> = hits.filter_map(|hit| hit.item.into_chunk()).collect();
    snapshot.chunks(&ids).await?;
    Ok(())
}

fn put(number: usize, batch: &mut Batch) {
    let mut random = Random(number as u64 + 1000);
    let words: Vec<String> = (0..WORDS_A_TEXT).map(|_| random.word()).collect();
    let (text, source) = (words.join(" "), format!("{number}.md"));
    let content_hash = ContentHash::of(text.as_bytes());
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
        added_at: Timestamp(number as u64),
    };
    let chunk = Chunk {
        id: ChunkId::new(&document.id, 0, 0, text.len() as u64),
        document: document.id.clone(),
        ordinal: 0,
        span: Span::new(0, text.len()),
        token_count: WORDS_A_TEXT as u32,
        breadcrumb: Vec::new(),
        text: text.clone(),
        extraction: ChunkExtraction::Pending,
    };
    let entry =
        VectorEntry { item: ItemKey::Chunk(chunk.id.clone()), inputs_hash: document.content_hash.clone() };
    batch.embedding = Some(EmbeddingSpec { model: "random".to_owned(), dimensions: DIMENSIONS as u32 });
    batch.put_vectors.push(VectorRow { entry, vector: vector(&mut random) });
    batch.put_jobs.push(Job {
        document: document.id.clone(),
        state: JobState::Chunked,
        lease: None,
        attempts: 0,
        created_at: Timestamp(number as u64),
    });
    batch.put_chunks.push(chunk);
    batch.put_documents.push(NewDocument { document, text });
}

fn vector(random: &mut Random) -> Vec<f32> {
    (0..DIMENSIONS).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect()
}

/// A random number generator with the same sequence in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn word(&mut self) -> String {
        format!("w{}", self.below(VOCABULARY))
    }
}
