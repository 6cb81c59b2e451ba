//! Tests of questions to a small library, mode by mode.

mod answering;
mod conformance;
mod following_up;
mod pagerank;
mod prompting;
mod remembering;
mod reporting;
mod reranking;
mod retrieving;
mod suggesting;
mod world;

use self::world::World;
use super::{Answer, Mode, Question, Retrieval, answer, retrieve};

/// Returns a question with given keywords.
fn question(mode: Mode, text: &str, high_level: &[&str], low_level: &[&str]) -> Question {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (hl_keywords, ll_keywords) = (owned(high_level), owned(low_level));
    Question { text: text.to_owned(), mode, hl_keywords, ll_keywords, ..Question::default() }
}

async fn found(world: &World, question: &Question) -> Retrieval {
    retrieve(&world.engine, question).await.expect("retrieving succeeds")
}

/// Returns the answer and the text that was streamed.
async fn answered(world: &World, question: &Question, retrieval: &Retrieval) -> (Answer, String) {
    let mut streamed = String::new();
    let mut on_delta = |delta: &str| streamed.push_str(delta);
    let answer = answer(&world.engine, question, retrieval, &mut on_delta).await.expect("answering succeeds");
    (answer, streamed)
}

/// Summarizes a retrieval, one line per item: entities, then relations, then chunks with arm and reference, then documents.
fn outline(retrieval: &Retrieval) -> String {
    let mut lines = Vec::new();
    lines.extend(retrieval.entities.iter().map(|found| format!("entity {}", found.entity.name)));
    lines.extend(
        retrieval.relations.iter().map(|found| format!("relation {} - {}", found.ends[0], found.ends[1])),
    );
    for found in &retrieval.chunks {
        let words: Vec<&str> = found.chunk.text.split(' ').take(2).collect();
        lines.push(format!("{:?} chunk [{}] {}", found.arm, found.reference, words.join(" ")));
    }
    lines.extend(
        retrieval.references.iter().map(|reference| format!("[{}] {}", reference.number, reference.source)),
    );
    lines.join("\n")
}
