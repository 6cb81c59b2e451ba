//! Sorts passages by the scores of a reranker.

use graphloom_core::{ModelError, Reranker, Role, indexed_text};

use super::calls::{QueryCost, Timer};
use super::chunks::Passage;
use super::{QueryNote, Question};
use crate::Engine;
use crate::chunk_context::MAX_CONTEXT_TOKENS;
use graphloom_text::Tokenizer;

/// Maximum number of passages that are read for a reranker.
pub(super) const MAX_RERANKED: usize = 500;

/// Tokens of one piece that a reranker scores. Most rerankers read 512, including the question.
const WINDOW_TOKENS: u32 = 480;

/// Tokens that neighbouring pieces share.
const OVERLAP_TOKENS: usize = 32;

/// Returns how many passages to read: all candidates if a reranker chooses among them, otherwise as many as are kept.
pub(super) fn passages_to_read(reranker: Option<&dyn Reranker>, chunk_top_k: usize) -> usize {
    match reranker {
        Some(_) => MAX_RERANKED,
        None => chunk_top_k,
    }
}

/// Returns the best `chunk_top_k` of `passages` (all if that is 0), best first, ties in their original order. Leaves out
/// passages below `min_rerank_score`, unless that is 0.
///
/// A passage is scored in pieces of [`WINDOW_TOKENS`], and its score is that of its best piece. If the reranker fails, the
/// order stays, no passage is left out for its score, and a note reports the failure.
pub(super) async fn rerank(
    engine: &Engine,
    reranker: &dyn Reranker,
    question: &Question,
    mut passages: Vec<Passage>,
    cost: &mut QueryCost,
    notes: &mut Vec<QueryNote>,
) -> Vec<Passage> {
    // A single passage needs no sorting.
    let is_needed = passages.len() > 1 || (!passages.is_empty() && question.min_rerank_score != 0.0);
    if is_needed {
        match scores(engine, reranker, question, &passages, cost).await {
            Ok(scores) => sort(&mut passages, &scores, question.min_rerank_score),
            Err(error) => {
                tracing::warn!(model = reranker.name(), %error, "the reranker failed; passages keep their order");
                notes.push(QueryNote::NotReranked {
                    reranker: reranker.name().to_owned(),
                    reason: error.to_string(),
                    remedy: error.remedy(),
                });
            }
        }
    }
    if question.chunk_top_k > 0 {
        passages.truncate(question.chunk_top_k);
    }
    passages
}

/// Returns one score per passage, from one call.
async fn scores(
    engine: &Engine,
    reranker: &dyn Reranker,
    question: &Question,
    passages: &[Passage],
    cost: &mut QueryCost,
) -> Result<Vec<f32>, ModelError> {
    let mut pieces: Vec<String> = Vec::new();
    let mut counts = Vec::with_capacity(passages.len());
    for passage in passages {
        let before = pieces.len();
        let Passage { chunk, context, .. } = passage;
        let context = context.as_deref().unwrap_or_default();
        pieces.extend(split(engine.tokenizer, context, &chunk.text, chunk.token_count));
        counts.push(pieces.len() - before);
    }
    let timer = Timer::start(engine, Role::Rerank, reranker.name());
    let reranking = match reranker.rerank(question.text.trim(), &pieces).await {
        Ok(reranking) => reranking,
        Err(error) => {
            cost.calls.push(timer.failed(error.to_string()));
            return Err(error);
        }
    };
    // Models in this process make no requests, so they have no calls in the ledger.
    if reranking.attempts > 0 {
        cost.calls.push(timer.counted(reranking.usage, reranking.attempts));
    }
    if reranking.scores.len() != pieces.len() {
        let what = format!("{} scores came for {} passages", reranking.scores.len(), pieces.len());
        return Err(ModelError::Malformed { model: reranker.name().to_owned(), what });
    }
    let mut rest = reranking.scores.as_slice();
    let best = counts.into_iter().map(|count| {
        let (own, others) = rest.split_at(count);
        rest = others;
        own.iter().copied().max_by(f32::total_cmp).unwrap_or(f32::NEG_INFINITY)
    });
    Ok(best.collect())
}

/// Splits `text` into pieces that a reranker can read whole, each after the context; `tokens` is the token count of `text`.
/// Returns at least one piece.
fn split(tokenizer: Tokenizer, context: &str, text: &str, tokens: u32) -> Vec<String> {
    let context = tokenizer.truncate(context, MAX_CONTEXT_TOKENS);
    let own = WINDOW_TOKENS - if context.is_empty() { 0 } else { tokenizer.count(context) };
    let piece = |text: &str| indexed_text(Some(context), text).into_owned();
    if tokens <= own {
        return vec![piece(text)];
    }
    let windows = tokenizer.map(text).windows(text, 0..text.len(), own as usize, OVERLAP_TOKENS);
    windows.into_iter().map(|window| piece(text[window].trim())).collect()
}

/// Sets the scores and sorts by them, best first. Drops passages below `least`, unless that is 0.
fn sort(passages: &mut Vec<Passage>, scores: &[f32], least: f32) {
    for (passage, score) in passages.iter_mut().zip(scores) {
        passage.rerank_score = Some(*score);
    }
    let found = passages.len();
    if least != 0.0 {
        passages.retain(|passage| passage.rerank_score.is_some_and(|score| score >= least));
    }
    let score = |passage: &Passage| passage.rerank_score.unwrap_or(f32::NEG_INFINITY);
    passages.sort_by(|one, other| score(other).total_cmp(&score(one)));
    if passages.len() < found {
        tracing::debug!(chunks = found - passages.len(), least, "left out for their rerank score");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_are_split_into_overlapping_pieces() {
        let words: Vec<String> = (0..700).map(|n| format!("w{n}")).collect();
        let text = words.join(" ");
        let tokens = Tokenizer.count(&text);
        let pieces = split(Tokenizer, "", &text, tokens);
        assert!(pieces.len() > 2 && pieces.len() <= tokens as usize / 440 + 1, "{}", pieces.len());
        assert!(pieces.iter().all(|piece| Tokenizer.count(piece) <= WINDOW_TOKENS));
        for pair in pieces.windows(2) {
            let start: Vec<&str> = pair[1].split(' ').take(5).collect();
            assert!(pair[0].contains(&start[1..].join(" ")), "{start:?}");
        }
        assert!(pieces[0].starts_with("w0 ") && pieces.last().is_some_and(|last| last.ends_with("w699")));
        assert_eq!(split(Tokenizer, "", "short", 1), ["short"]);
        assert_eq!(split(Tokenizer, "", "", 0), [""]);
        let contextualized = split(Tokenizer, "Report → 2023", &text, tokens);
        assert!(contextualized.iter().all(|piece| piece.starts_with("Report → 2023\n\n")));
        assert!(contextualized.iter().all(|piece| Tokenizer.count(piece) <= WINDOW_TOKENS + 2));
    }
}
