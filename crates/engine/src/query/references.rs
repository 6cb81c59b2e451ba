//! Numbers the documents of the context.

use std::collections::BTreeMap;

use graphloom_core::DocumentId;
use serde::Serialize;

use super::chunks::Passage;
use super::{FoundChunk, Question, Reference, Retrieval};

/// A document of the context, in the shape of LightRAG's reference lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedDocument {
    /// Number of the document.
    pub reference_id: String,
    /// Source of the document.
    pub file_path: String,
    /// Title of the document.
    pub title: String,
    /// Its passages in the context, best first, if the question asks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<String>>,
}

/// Returns the documents of the context by number, cited or not; `None` if the question does not ask for them.
pub fn references(question: &Question, retrieval: &Retrieval) -> Option<Vec<ListedDocument>> {
    if !question.include_references {
        return None;
    }
    let passages_of = |number: u32| {
        let own = retrieval.chunks.iter().filter(|found| found.reference == number);
        own.map(|found| found.chunk.text.clone()).collect()
    };
    let listed = |reference: &Reference| ListedDocument {
        reference_id: reference.number.to_string(),
        file_path: reference.source.clone(),
        title: reference.title.clone(),
        content: question.include_chunk_content.then(|| passages_of(reference.number)),
    };
    Some(retrieval.references.iter().map(listed).collect())
}

/// Numbers the documents from 1, those with most passages first, ties by first appearance. Returns them, and the passages
/// with the numbers of their documents.
pub(super) fn number(passages: Vec<Passage>) -> (Vec<Reference>, Vec<FoundChunk>) {
    let mut counts: BTreeMap<&DocumentId, usize> = BTreeMap::new();
    let mut order = Vec::new();
    for passage in &passages {
        let count = counts.entry(&passage.document.id).or_default();
        *count += 1;
        if *count == 1 {
            order.push(&passage.document);
        }
    }
    order.sort_by_key(|document| std::cmp::Reverse(counts[&document.id]));
    let references: Vec<Reference> = (1u32..)
        .zip(order)
        .map(|(number, document)| Reference {
            number,
            document: document.id.clone(),
            source: document.source.clone(),
            title: document.title.clone(),
        })
        .collect();
    let numbers: BTreeMap<&DocumentId, u32> =
        references.iter().map(|reference| (&reference.document, reference.number)).collect();
    let chunks = passages
        .into_iter()
        .map(|passage| FoundChunk {
            reference: numbers[&passage.document.id],
            chunk: passage.chunk,
            arm: passage.arm,
            score: passage.score,
            rerank_score: passage.rerank_score,
            evidence: Vec::new(),
        })
        .collect();
    (references, chunks)
}
