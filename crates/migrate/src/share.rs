//! Divides the description of an entity or relation among its documents.

use std::collections::BTreeSet;

use graphloom_engine::graph::SUMMARY_FRAGMENTS;
use graphloom_text::sentences;

/// Longest description that is divided, in bytes. The parts of a longer description would need a summary by a model.
const MAX_DIVIDED_BYTES: usize = 4_000;

/// Returns the part of `description` for each document.
///
/// A system that merges descriptions does not record which document a sentence comes from. Each sentence goes to the document
/// whose passages share the most words with it, ties to the first, so that removing a document also removes its sentences. If
/// there is only one document, or if a division would make more parts than can be joined without a model, each document gets
/// the whole description.
///
/// - `passages`: for each document, the passages that the description is based on.
pub(crate) fn share(description: &str, passages: &[Vec<&str>]) -> Vec<String> {
    let whole = || vec![description.to_owned(); passages.len()];
    if passages.len() < 2 || description.len() > MAX_DIVIDED_BYTES {
        return whole();
    }
    let known: Vec<BTreeSet<String>> =
        passages.iter().map(|texts| texts.iter().flat_map(|text| words(text)).collect()).collect();
    let mut parts = vec![Vec::new(); passages.len()];
    for line in description.lines() {
        for range in sentences(line) {
            let sentence = line[range].trim();
            let words: BTreeSet<String> = words(sentence).collect();
            let shared = |known: &BTreeSet<String>| words.intersection(known).count();
            let best = (0..known.len()).rev().max_by_key(|at| shared(&known[*at])).unwrap_or(0);
            parts[best].push(sentence);
        }
    }
    let parts: Vec<String> = parts.into_iter().map(|sentences| sentences.join(" ")).collect();
    match parts.iter().filter(|part| !part.is_empty()).count() {
        0 => whole(),
        divided if divided >= SUMMARY_FRAGMENTS => whole(),
        _ => parts,
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_assigned_to_the_document_that_supports_it() {
        let description = "Ada built a bridge over the Lind. She taught chemistry in Kelm.";
        let passages = [vec!["Chemistry was taught in Kelm by Ada."], vec!["The bridge crosses the Lind."]];
        let parts = share(description, &passages);
        assert_eq!(parts, ["She taught chemistry in Kelm.", "Ada built a bridge over the Lind."]);
        // Parts joined line by line are divided into the same parts.
        let mut joined = parts.clone();
        joined.sort_by_key(|part| std::cmp::Reverse(part.len()));
        assert_eq!(share(&joined.join("\n"), &passages), parts);
        assert_eq!(share(description, &passages[..1]), [description]);
    }
}
