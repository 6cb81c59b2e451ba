//! Accepts sources: reads, parses and chunks them, and stores documents and jobs in one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use graphloom_core::{
    Batch, Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, DocumentStatus, Extraction,
    ExtractionKey, Format, Job, JobState, NewDocument, OriginalStamp, Require, SetOriginal, Snapshot,
    StoreError, TrackId, Visibility,
};

use serde::{Deserialize, Serialize};

use super::quota::Room;
use super::settings::{require_settings_at, store_with_documents};
use super::{Acceptance, IndexError, Source, states_of};
use crate::Engine;
use crate::chunk::chunk;
use crate::commit::{Retries, commit_in_turn};
use crate::extract::of_boilerplate;
use graphloom_readers::{ParseError, ParseLimits, ParsedDocument, format_of, parse};

/// A source after reading, ready to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// Name of the source.
    pub name: String,
    /// Key-value pairs from the user.
    pub meta: BTreeMap<String, String>,
    /// The parsed text, or why it could not be read.
    pub outcome: Result<ParsedDocument, Refusal>,
    /// The bytes of the file, if it is kept; see [`keeps_original`].
    pub original: Option<Arc<Vec<u8>>>,
}

/// True if the original file is kept beside its text: it has pages that a browser can show, and at most `max_bytes`.
pub fn keeps_original(format: Format, bytes: usize, max_bytes: usize) -> bool {
    format.has_pages() && bytes <= max_bytes
}

/// Why a source was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, as shown to users.
    pub reason: String,
    /// What to do about it, if anything.
    pub remedy: Option<String>,
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        Self { reason: error.to_string(), remedy: Some(error.remedy().to_owned()) }
    }
}

/// Reads a source. This only uses the CPU. Callers that read untrusted files do so where they can stop it, and pass the result to
/// [`accept_read`].
pub fn read(source: Source, limits: &ParseLimits) -> SourceText {
    let format = source.format.unwrap_or_else(|| format_of(&source.name, &source.bytes));
    let is_kept = keeps_original(format, source.bytes.len(), limits.max_original_bytes);
    let original = is_kept.then(|| Arc::new(source.bytes.clone()));
    let outcome = parse(&source.name, source.bytes, source.format, limits).map_err(Refusal::from);
    SourceText { name: source.name, meta: source.meta, outcome, original }
}

/// Stores `sources` durably and returns the outcome of each, in order. When this returns, every accepted document and its job are
/// on disk; [`super::run`] does the rest.
///
/// If two sources have the same name, the later one is the version that stays. The whole list is one commit, so callers must
/// bound its size.
pub fn accept<'a>(
    engine: &'a Engine,
    sources: Vec<Source>,
) -> BoxFuture<'a, Result<Vec<Acceptance>, IndexError>> {
    Box::pin(async move {
        let readings = sources.into_iter().map(|source| read(source, &engine.index.limits)).collect();
        accept_read(engine, readings, None).await
    })
}

/// Same as [`accept`], for sources that have been read. Accepted documents, and known ones that are not finished, are recorded as
/// queued by the run `track`.
pub fn accept_read<'a>(
    engine: &'a Engine,
    readings: Vec<SourceText>,
    track: Option<&'a TrackId>,
) -> BoxFuture<'a, Result<Vec<Acceptance>, IndexError>> {
    Box::pin(async move {
        let arrivals = readings.into_iter().map(|reading| Arrival::of(engine, reading)).collect();
        accept_arrivals(engine, arrivals, track).await
    })
}

/// Same as [`accept`], for documents built by the caller.
pub(super) async fn accept_arrivals(
    engine: &Engine,
    arrivals: Vec<Result<Arrival, Refusal>>,
    track: Option<&TrackId>,
) -> Result<Vec<Acceptance>, IndexError> {
    let mut retries = Retries::new("other processes changed the same sources");
    loop {
        let snapshot = engine.store.snapshot().await?;
        let mut room = Room::left(&engine.index.quota, snapshot.as_ref()).await?;
        require_settings_at(engine, snapshot.as_ref()).await?;
        let (mut batch, acceptances) = decide(snapshot.as_ref(), &arrivals, &mut room).await?;
        store_with_documents(engine, snapshot.as_ref(), &mut batch).await?;
        drop(snapshot);
        if let Some(track) = track {
            let queued = queued_by(&acceptances, &batch);
            batch.put_tracks.extend(queued.into_iter().map(|document| (track.clone(), document)));
        }
        if retries.is_done(commit_in_turn(engine.store.as_ref(), batch).await)? {
            return Ok(acceptances);
        }
    }
}

/// Returns the documents that a run which accepts these works on. Versions that a later one in the same list replaces are not
/// stored.
fn queued_by(acceptances: &[Acceptance], batch: &Batch) -> BTreeSet<DocumentId> {
    let queued = acceptances.iter().filter_map(|acceptance| match acceptance {
        Acceptance::Accepted { document, .. } => {
            batch.put_jobs.iter().any(|job| job.document == *document).then_some(document)
        }
        Acceptance::Unchanged { document, status } => {
            let waits = match status {
                DocumentStatus::Waiting | DocumentStatus::Indexing { .. } => true,
                DocumentStatus::Ready { .. }
                | DocumentStatus::Incomplete { .. }
                | DocumentStatus::Failed { .. }
                | DocumentStatus::Cancelled { .. } => false,
            };
            (waits && !batch.remove_documents.contains(document)).then_some(document)
        }
        Acceptance::Refused { .. } => None,
    });
    queued.cloned().collect()
}

/// Returns the remark on a document that is too long for the rules.
fn rules_read(chunks: usize, read: u32) -> String {
    format!(
        "it has {chunks} chunks; without a model, entities and relations are made from the first {read}, and all are found \
         by their words and meaning"
    )
}

/// Returns the batch that would accept `readings` at `snapshot`, and the outcome for each.
pub(super) async fn preview(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    readings: Vec<SourceText>,
) -> Result<(Batch, Vec<Acceptance>), StoreError> {
    let arrivals: Vec<Result<Arrival, Refusal>> =
        readings.into_iter().map(|reading| Arrival::of(engine, reading)).collect();
    let mut room = Room::left(&engine.index.quota, snapshot).await?;
    decide(snapshot, &arrivals, &mut room).await
}

/// A readable source.
pub(super) struct Arrival {
    pub(super) document: Document,
    pub(super) text: String,
    /// Without texts, which are slices of `text`; they are copied only for the commit.
    pub(super) chunks: Vec<Chunk>,
    /// Extractions of chunks that need no model.
    pub(super) extractions: Vec<Extraction>,
    /// Notes for users on how it was read.
    pub(super) remarks: Vec<String>,
    /// The bytes of the file, if it is kept.
    pub(super) original: Option<Arc<Vec<u8>>>,
}

impl Arrival {
    fn of(engine: &Engine, reading: SourceText) -> Result<Self, Refusal> {
        let SourceText { name, meta, outcome, original } = reading;
        let parsed = outcome?;
        let content_hash = ContentHash::of(parsed.text.as_bytes());
        let id = DocumentId::new(&name, &content_hash);
        let pieces = chunk(&parsed, &engine.index.chunk, engine.tokenizer);
        let mut extractions: BTreeMap<ExtractionKey, Extraction> = BTreeMap::new();
        let chunks = pieces.into_iter().enumerate().map(|(ordinal, piece)| Chunk {
            id: ChunkId::new(&id, ordinal as u32, piece.span.start, piece.span.end),
            document: id.clone(),
            ordinal: ordinal as u32,
            span: piece.span,
            token_count: piece.token_count,
            breadcrumb: piece.breadcrumb,
            text: String::new(),
            extraction: match piece.is_boilerplate {
                true => {
                    let nothing = of_boilerplate(piece.span.slice(&parsed.text).unwrap_or_default());
                    let key = nothing.key.clone();
                    extractions.insert(key.clone(), nothing);
                    ChunkExtraction::Done { key }
                }
                false => ChunkExtraction::Pending,
            },
        });
        let chunks: Vec<Chunk> = chunks.collect();
        let extractions = extractions.into_values().collect();
        let mut remarks = parsed.remarks;
        if engine.models.extract.is_none() && chunks.len() > engine.index.max_rule_chunks as usize {
            remarks.push(rules_read(chunks.len(), engine.index.max_rule_chunks));
        }
        let file_name = name.trim_end_matches('/').rsplit('/').next().unwrap_or(&name);
        let document = Document {
            id,
            title: parsed.title.unwrap_or_else(|| file_name.to_owned()),
            source: name,
            content_hash,
            text_bytes: parsed.text.len() as u64,
            format: parsed.format,
            encoding: parsed.encoding,
            lines_match_source: parsed.lines_match_source,
            parts: parsed.parts,
            remarks: remarks.clone(),
            meta,
            visibility: Visibility::Live,
            added_at: engine.clock.now(),
        };
        Ok(Self { document, text: parsed.text, chunks, extractions, remarks, original })
    }
}

impl Arrival {
    fn chunks_with_texts(&self) -> impl Iterator<Item = Chunk> {
        self.chunks.iter().map(|chunk| {
            // The spans were cut from this same text, at character boundaries.
            let text = chunk.span.slice(&self.text).unwrap_or_default().to_owned();
            Chunk { text, ..chunk.clone() }
        })
    }
}

/// Returns the batch that accepts the arrivals at `snapshot`, and the outcome for each.
async fn decide(
    snapshot: &dyn Snapshot,
    arrivals: &[Result<Arrival, Refusal>],
    room: &mut Room<'_>,
) -> Result<(Batch, Vec<Acceptance>), StoreError> {
    let readable: Vec<&Arrival> = arrivals.iter().filter_map(|arrival| arrival.as_ref().ok()).collect();
    let names: Vec<String> = readable.iter().map(|arrival| arrival.document.source.clone()).collect();
    let hashes: Vec<ContentHash> =
        readable.iter().map(|arrival| arrival.document.content_hash.clone()).collect();
    // All documents of each source, updated as the list is processed.
    let mut of_source: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    let mut batch = Batch::default();
    for (name, documents) in names.iter().zip(snapshot.documents_of_sources(&names).await?) {
        if !of_source.contains_key(name) {
            batch.require.push(Require::SourceIs { source: name.clone(), documents: documents.clone() });
            of_source.insert(name.clone(), documents);
        }
    }
    let mut of_content: BTreeMap<ContentHash, Vec<String>> = BTreeMap::new();
    for (hash, documents) in hashes.iter().zip(snapshot.documents_of_contents(&hashes).await?) {
        of_content.insert(hash.clone(), documents.into_iter().map(|document| document.source).collect());
    }

    let mut acceptances = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        let arrival = match arrival {
            Ok(arrival) => arrival,
            Err(Refusal { reason, remedy }) => {
                let (reason, remedy) = (reason.clone(), remedy.clone());
                acceptances.push(Acceptance::Refused { reason, remedy });
                continue;
            }
        };
        let same_source = of_source.entry(arrival.document.source.clone()).or_default();
        let acceptance = match same_source.iter().find(|known| known.id == arrival.document.id) {
            Some(known) => unchanged(snapshot, known.clone(), same_source, arrival, &mut batch).await?,
            None => {
                if let Err(Refusal { reason, remedy }) = room.take(same_source.is_empty()) {
                    acceptances.push(Acceptance::Refused { reason, remedy });
                    continue;
                }
                let same_content = of_content.entry(arrival.document.content_hash.clone()).or_default();
                let mut same_content_as: Vec<String> = same_content
                    .iter()
                    .filter(|source| **source != arrival.document.source)
                    .cloned()
                    .collect();
                same_content_as.sort();
                same_content_as.dedup();
                same_content.push(arrival.document.source.clone());
                new_version(same_source, arrival, same_content_as, &mut batch)
            }
        };
        acceptances.push(acceptance);
    }
    Ok((batch, acceptances))
}

/// Handles a version that is already stored. A version staged over it is dropped, because the source has gone back to this one.
/// New metadata is stored, and so are new page positions, which another layout of the same text gives.
async fn unchanged(
    snapshot: &dyn Snapshot,
    known: Document,
    same_source: &mut Vec<Document>,
    arrival: &Arrival,
    batch: &mut Batch,
) -> Result<Acceptance, StoreError> {
    if known.visibility == Visibility::Live {
        same_source.retain(|document| {
            let stays = document.id == known.id;
            if !stays {
                drop_version(batch, &document.id);
            }
            stays
        });
    }
    let new = batch.put_documents.iter().any(|new| new.document.id == known.id);
    let other_meta = known.meta != arrival.document.meta && !arrival.document.meta.is_empty();
    let Document { meta, parts, remarks, .. } = &arrival.document;
    if !new && (other_meta || known.parts != *parts || known.remarks != *remarks) {
        let meta = if other_meta { meta.clone() } else { known.meta.clone() };
        let document = Document { meta, parts: parts.clone(), remarks: remarks.clone(), ..known.clone() };
        batch.put_documents.push(NewDocument { document, text: arrival.text.clone() });
    }
    if !new {
        keep_original(snapshot, &known, arrival, batch).await?;
    }
    let states = states_of(snapshot, std::slice::from_ref(&known.id)).await?;
    let status = match states.into_iter().next().flatten() {
        Some(state) => state.status,
        None => DocumentStatus::Waiting,
    };
    Ok(Acceptance::Unchanged { document: known.id, status })
}

/// Stores the original file of a known version: the one that matches its page positions.
async fn keep_original(
    snapshot: &dyn Snapshot,
    known: &Document,
    arrival: &Arrival,
    batch: &mut Batch,
) -> Result<(), StoreError> {
    if !known.format.has_pages() {
        return Ok(());
    }
    let stored = snapshot.original_stamps(std::slice::from_ref(&known.id)).await?.pop().flatten();
    let differs = match &arrival.original {
        Some(bytes) => stored != Some(OriginalStamp::of(bytes)),
        None => stored.is_some() && known.parts != arrival.document.parts,
    };
    if differs {
        let bytes = arrival.original.clone();
        batch.set_originals.push(SetOriginal { document: known.id.clone(), bytes });
    }
    Ok(())
}

/// Handles a new version. It goes live immediately if the source is new; otherwise it is staged beside the live version. An older
/// staged version is dropped.
fn new_version(
    same_source: &mut Vec<Document>,
    arrival: &Arrival,
    same_content_as: Vec<String>,
    batch: &mut Batch,
) -> Acceptance {
    let live =
        same_source.iter().find(|known| known.visibility == Visibility::Live).map(|known| known.id.clone());
    // A live version added by this same list is replaced before anyone saw it.
    let unseen =
        live.as_ref().is_some_and(|live| batch.put_documents.iter().any(|new| new.document.id == *live));
    let replaces = live.filter(|_| !unseen);
    same_source.retain(|known| {
        let stays = Some(&known.id) == replaces.as_ref();
        if !stays {
            drop_version(batch, &known.id);
        }
        stays
    });
    let visibility = if replaces.is_some() { Visibility::Staged } else { Visibility::Live };
    let document = Document { visibility, ..arrival.document.clone() };
    same_source.push(document.clone());
    batch.put_jobs.push(Job {
        document: document.id.clone(),
        state: JobState::Accepted,
        lease: None,
        attempts: 0,
        created_at: document.added_at,
    });
    batch.put_chunks.extend(arrival.chunks_with_texts());
    batch.put_extractions.extend(arrival.extractions.iter().cloned());
    let acceptance = Acceptance::Accepted {
        document: document.id.clone(),
        encoding: document.encoding.clone(),
        same_content_as,
        remarks: arrival.remarks.clone(),
        replaces,
    };
    if let Some(bytes) = &arrival.original {
        let original = SetOriginal { document: document.id.clone(), bytes: Some(Arc::clone(bytes)) };
        batch.set_originals.push(original);
    }
    batch.put_documents.push(NewDocument { document, text: arrival.text.clone() });
    acceptance
}

/// Removes a version from the store, or from the batch that was about to add it.
fn drop_version(batch: &mut Batch, id: &DocumentId) {
    let put = batch.put_documents.len();
    batch.put_documents.retain(|new| new.document.id != *id);
    if batch.put_documents.len() == put {
        batch.remove_documents.push(id.clone());
    } else {
        batch.set_originals.retain(|set| set.document != *id);
        batch.put_jobs.retain(|job| job.document != *id);
        batch.put_chunks.retain(|chunk| chunk.document != *id);
        let chunks = &batch.put_chunks;
        batch.put_extractions.retain(|extraction| {
            let done = ChunkExtraction::Done { key: extraction.key.clone() };
            chunks.iter().any(|chunk| chunk.extraction == done)
        });
    }
}
