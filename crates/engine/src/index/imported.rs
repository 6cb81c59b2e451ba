//! Accepts documents that another system has indexed, with its chunks and the extraction of each.
//!
//! The extractions become evidence under the name of that system. So imported documents are merged, cited, replaced and removed
//! like any other, and nothing is paid for again.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use graphloom_core::{
    Chunk, ChunkExtraction, ChunkId, ContentHash, Document, DocumentId, Extraction, ExtractionKey, Format,
    Records, Span, TrackId, Visibility,
};

use super::accept::{Arrival, Refusal, accept_arrivals};
use super::{Acceptance, IndexError};
use crate::Engine;
use crate::chunk::chunk;
use graphloom_readers::ParsedDocument;

/// Why a chunk that no imported chunk covers has no extraction.
const NOT_COVERED: &str = "the imported chunks do not cover this part of the text";

/// A document indexed by another system.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedDocument {
    /// The name; new content under the same name is a new version.
    pub source: String,
    /// Its text, which the spans refer to.
    pub text: String,
    /// Whether line `n` of the text is line `n` of the source.
    pub lines_match_source: bool,
    /// Key-value pairs.
    pub meta: BTreeMap<String, String>,
    /// Its chunks, by span.
    pub chunks: Vec<ImportedChunk>,
    /// Notes for users on how it was read.
    pub remarks: Vec<String>,
}

/// A chunk of an imported document.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedChunk {
    /// Its position in the text.
    pub span: Span,
    /// What was extracted from it, or why nothing was. Chunks without an extraction count as failed: their document is
    /// incomplete, and [`super::retry`] asks about them.
    pub extraction: Result<Extraction, String>,
}

impl ImportedDocument {
    /// Sorts the chunks by span and adds chunks for the parts of the text that they do not cover, split like new documents. The
    /// added chunks have no extraction.
    pub fn cover(&mut self, engine: &Engine) {
        self.chunks.sort_by_key(|chunk| (chunk.span.start, chunk.span.end));
        let mut gaps = Vec::new();
        let mut end = 0;
        for span in self.chunks.iter().map(|chunk| chunk.span) {
            if span.start > end {
                gaps.push(Span { start: end, end: span.start });
            }
            end = end.max(span.end);
        }
        gaps.push(Span { start: end, end: self.text.len() as u64 });
        for gap in gaps {
            let Some(text) = gap.slice(&self.text).filter(|text| !text.trim().is_empty()) else { continue };
            let parsed = ParsedDocument {
                text: text.to_owned(),
                format: Format::Text,
                encoding: String::new(),
                title: None,
                headings: Vec::new(),
                lines_match_source: false,
                parts: Vec::new(),
                boilerplate: Vec::new(),
                remarks: Vec::new(),
            };
            let pieces = chunk(&parsed, &engine.index.chunk, engine.tokenizer);
            self.chunks.extend(pieces.into_iter().map(|piece| ImportedChunk {
                span: gap.within(piece.span),
                extraction: Err(NOT_COVERED.to_owned()),
            }));
        }
        self.chunks.sort_by_key(|chunk| (chunk.span.start, chunk.span.end));
    }

    /// Returns the id of the document. A document added from a file with the same source and text has the same id, so adding the
    /// unchanged file later changes nothing.
    pub fn id(&self) -> DocumentId {
        DocumentId::new(&self.source, &ContentHash::of(self.text.as_bytes()))
    }

    /// Returns the ids of its chunks, in order; final after [`cover`](Self::cover).
    pub fn chunk_ids(&self) -> Vec<ChunkId> {
        let id = self.id();
        let spans = self.chunks.iter().map(|chunk| chunk.span).enumerate();
        spans.map(|(ordinal, span)| ChunkId::new(&id, ordinal as u32, span.start, span.end)).collect()
    }

    fn arrive(self, engine: &Engine) -> Result<Arrival, Refusal> {
        if self.text.trim().is_empty() {
            return Err(Refusal { reason: "it has no text".to_owned(), remedy: None });
        }
        let (id, ids) = (self.id(), self.chunk_ids());
        let Self { source, text, lines_match_source, meta, chunks: imported, remarks } = self;
        let (mut chunks, mut extractions) = (Vec::new(), BTreeMap::new());
        for (ordinal, (ImportedChunk { span, extraction }, chunk_id)) in
            imported.into_iter().zip(ids).enumerate()
        {
            let Some(slice) = span.slice(&text) else {
                let reason = format!("chunk {ordinal} is not within its text");
                return Err(Refusal { reason, remedy: None });
            };
            let state = match extraction {
                Ok(extraction) => {
                    let key = extraction.key.clone();
                    extractions.insert(key.clone(), extraction);
                    ChunkExtraction::Done { key }
                }
                Err(reason) => ChunkExtraction::Failed { reason, attempts: 0 },
            };
            chunks.push(Chunk {
                id: chunk_id,
                document: id.clone(),
                ordinal: ordinal as u32,
                span,
                token_count: engine.tokenizer.count(slice),
                breadcrumb: Vec::new(),
                text: String::new(),
                extraction: state,
            });
        }
        let document = Document {
            id,
            title: source.trim_end_matches('/').rsplit('/').next().unwrap_or(&source).to_owned(),
            source,
            content_hash: ContentHash::of(text.as_bytes()),
            text_bytes: text.len() as u64,
            format: Format::Text,
            encoding: "UTF-8".to_owned(),
            lines_match_source,
            parts: Vec::new(),
            remarks: remarks.clone(),
            meta,
            visibility: Visibility::Live,
            added_at: engine.clock.now(),
        };
        let extractions = extractions.into_values().collect();
        Ok(Arrival { document, text, chunks, extractions, remarks, original: None })
    }
}

/// Stores imported documents durably and returns the outcome of each, in order, as [`super::accept`] does with files.
/// [`super::run`] then adds them to the graph and calls no LLM about their chunks.
pub fn accept_imported<'a>(
    engine: &'a Engine,
    documents: Vec<ImportedDocument>,
    track: Option<&'a TrackId>,
) -> BoxFuture<'a, Result<Vec<Acceptance>, IndexError>> {
    Box::pin(async move {
        let arrivals = documents.into_iter().map(|document| document.arrive(engine)).collect();
        accept_arrivals(engine, arrivals, track).await
    })
}

/// Builds the extraction of a chunk from ready-made records.
///
/// - `origin`: where they come from; used as the model name. The key is a hash of origin, text and records, because there was no
///   prompt.
pub fn recorded(origin: &str, text: &str, records: Records) -> Extraction {
    // Plain data without map keys that JSON cannot represent.
    let json = serde_json::to_string(&records).unwrap_or_default();
    let key = ExtractionKey::new(&[origin, text, &json]);
    Extraction { key, model: origin.to_owned(), responses: Vec::new(), records, rejects: Vec::new() }
}
