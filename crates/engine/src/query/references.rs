//! Numbers the documents of the context.

use std::collections::BTreeMap;

use graphloom_core::DocumentId;

use super::chunks::Passage;
use super::{FoundChunk, Reference};

/// Documents with most passages first, ties by first appearance, numbered from 1; and the passages with the number of
/// their document.
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
        })
        .collect();
    (references, chunks)
}
