//! Cuts the passages to the token budget of the whole prompt.

use std::collections::BTreeSet;

use super::chunks::Passage;
use super::context::{LineCounter, frame_tokens, passage_line, reference_line};
use super::plan::Plan;
use super::truncate::FittedGraph;
use super::{Question, history, respond};
use crate::prompt::Prompts;

/// Tokens reserved for headings and the list of documents. If these need more, the passages get less.
const RESERVED_TOKENS: u32 = 200;

/// Assumed maximum of tokens that one escaped character adds to a chunk's text in a JSON line: a one-letter escape costs
/// about one token, and the word around it may split into more tokens.
const ESCAPE_TOKENS: u32 = 2;

/// The same for control characters, which JSON writes as `\u0000`.
const CONTROL_ESCAPE_TOKENS: u32 = 6;

/// A reference number with as many digits as real ones have at most, for counting.
const WIDE_NUMBER: u32 = 1000;

/// Returns the longest head of `passages` whose lines fit into `max_total_tokens` together with instructions, graph, question
/// and the latest `history_messages` of the conversation.
///
/// A passage is charged its known token count plus an allowance for JSON escapes, which needs no tokenization. Its real line
/// is counted only if that estimate does not fit.
pub(super) fn fit(
    prompts: &Prompts,
    question: &Question,
    history_messages: usize,
    graph: &FittedGraph,
    mut passages: Vec<Passage>,
    counter: &LineCounter<'_>,
) -> Vec<Passage> {
    let instructions = respond::instructions(prompts, question, Plan::of(question.mode), "");
    let history_tokens: u32 = (history::latest(question, history_messages).iter())
        .map(|message| counter.tokenizer.count(&message.content))
        .sum();
    let question_tokens = counter.tokenizer.count(question.text.trim());
    let spent = counter.tokens(&instructions) + history_tokens + question_tokens + graph.tokens;
    let budget = question.max_total_tokens.saturating_sub(spent.saturating_add(RESERVED_TOKENS));
    let line_tokens = counter.tokens(&passage_line(WIDE_NUMBER, ""));

    let mut documents = BTreeSet::new();
    let mut extras = frame_tokens(counter);
    let mut used: u32 = 0;
    let mut kept = 0;
    for passage in &passages {
        if documents.insert(&passage.document.id) {
            extras += counter.tokens(&reference_line(WIDE_NUMBER, &passage.document.source));
        }
        let room = budget.saturating_sub(extras.saturating_sub(RESERVED_TOKENS)).saturating_sub(used);
        let mut tokens = allowance(passage).saturating_add(line_tokens);
        if tokens > room {
            tokens = counter.tokens(&passage_line(WIDE_NUMBER, &passage.chunk.text));
        }
        if tokens > room {
            break;
        }
        used += tokens;
        kept += 1;
    }
    if kept < passages.len() {
        tracing::debug!(chunks = passages.len() - kept, "left out for the token budget");
    }
    passages.truncate(kept);
    passages
}

/// Returns an upper estimate of the tokens of a passage's text in its line, without tokenizing it.
fn allowance(passage: &Passage) -> u32 {
    let escapes: u32 = passage
        .chunk
        .text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => ESCAPE_TOKENS,
            0..0x20 => CONTROL_ESCAPE_TOKENS,
            _ => 0,
        })
        .sum();
    passage.chunk.token_count.saturating_add(escapes)
}
