//! Tests of reranking: it changes the order and selection of passages, and nothing if the reranker fails.

use graphloom_core::{CallOutcome, Role};

use super::super::{Mode, QueryNote, Question};
use super::world::{LONDON, World};
use super::{found, question};

/// Returns a question in mode naive that finds two passages about London.
fn asked() -> Question {
    question(Mode::Naive, "Great Exhibition in London", &[], &[])
}

/// Returns the first two words of each passage with its rerank score.
fn check_passages(retrieval: &super::Retrieval) -> Vec<(String, Option<f32>)> {
    let head = |text: &str| text.split(' ').take(2).collect::<Vec<_>>().join(" ");
    retrieval.chunks.iter().map(|found| (head(&found.chunk.text), found.rerank_score)).collect()
}

fn passage(head: &str, score: Option<f32>) -> (String, Option<f32>) {
    (head.to_owned(), score)
}

#[tokio::test]
async fn passages_come_in_the_rerankers_order_with_its_scores() {
    let mut world = World::library().await;
    let reranker = world.reranking_by(Some("Engine"));
    let retrieval = found(&world, &asked()).await;
    assert_eq!(
        check_passages(&retrieval),
        [passage("Charles Babbage", Some(1.0)), passage("London hosted", Some(0.0))]
    );
    assert!(retrieval.notes.is_empty());
    let (query, pieces) = reranker.asked.lock().expect("unpoisoned")[0].clone();
    assert_eq!((query.as_str(), pieces.len()), ("Great Exhibition in London", 2));
    assert_eq!(retrieval.references[0].source, "ada.md");
    let call = retrieval.cost.calls.last().expect("a call");
    assert_eq!((call.role, call.model.as_str(), call.prompt_tokens), (Role::Rerank, "test:reranker", 5));
}

#[tokio::test]
async fn the_reranker_sees_more_passages_than_are_kept() {
    let mut world = World::library().await;
    let asked = Question { chunk_top_k: 1, mode: Mode::Mix, ..asked() };
    let without = found(&world, &asked).await;
    assert_eq!(check_passages(&without), [passage("London hosted", None)]);
    world.reranking_by(Some("Somerville"));
    let asked =
        Question { chunk_top_k: 1, ..question(Mode::Mix, &asked.text, &["education"], &["Ada Lovelace"]) };
    let with = found(&world, &asked).await;
    assert_eq!(check_passages(&with), [passage("Mary Somerville", Some(1.0))]);
}

#[tokio::test]
async fn passages_below_the_lowest_score_are_dropped() {
    let mut world = World::library().await;
    world.reranking_by(Some("Engine"));
    let retrieval = found(&world, &Question { min_rerank_score: 0.5, ..asked() }).await;
    assert_eq!(check_passages(&retrieval), [passage("Charles Babbage", Some(1.0))]);
    let nothing = found(&world, &Question { min_rerank_score: 5.0, ..asked() }).await;
    assert!(nothing.chunks.is_empty() && nothing.context.is_empty());
}

#[tokio::test]
async fn a_question_can_turn_the_reranker_off() {
    let mut world = World::library().await;
    let reranker = world.reranking_by(Some("Engine"));
    let retrieval = found(&world, &Question { rerank: false, min_rerank_score: 5.0, ..asked() }).await;
    assert_eq!(
        check_passages(&retrieval),
        [passage("London hosted", None), passage("Charles Babbage", None)]
    );
    assert!(reranker.asked.lock().expect("unpoisoned").is_empty());
}

#[tokio::test]
async fn a_single_passage_needs_no_reranker_call() {
    let mut world = World::empty();
    world.document("london.md", &LONDON[1..]);
    world.commit().await;
    let reranker = world.reranking_by(Some("London"));
    assert_eq!(check_passages(&found(&world, &asked()).await), [passage("London hosted", None)]);
    assert!(reranker.asked.lock().expect("unpoisoned").is_empty());
    let scored = found(&world, &Question { min_rerank_score: 0.5, ..asked() }).await;
    assert_eq!(check_passages(&scored), [passage("London hosted", Some(1.0))]);
}

#[tokio::test]
async fn if_the_reranker_fails_the_order_stays_and_a_note_says_so() {
    let mut world = World::library().await;
    world.reranking_by(None);
    let retrieval = found(&world, &Question { min_rerank_score: 0.5, ..asked() }).await;
    assert_eq!(
        check_passages(&retrieval),
        [passage("London hosted", None), passage("Charles Babbage", None)]
    );
    let [note @ QueryNote::NotReranked { reranker, .. }] = retrieval.notes.as_slice() else {
        panic!("one note: {:?}", retrieval.notes)
    };
    assert_eq!(reranker, "test:reranker");
    assert_eq!(
        note.to_string(),
        "passages are in the order of the search, not reranked: model test:reranker rejected the API key: no such key"
    );
    let call = retrieval.cost.calls.last().expect("a call");
    assert!(matches!(&call.outcome, CallOutcome::Failed { reason } if reason.contains("no such key")));
}

#[tokio::test]
async fn a_long_passage_scores_as_its_best_piece() {
    let mut world = World::empty();
    let filler =
        |n: usize| format!("London {}", (0..n).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" "));
    let (plain, hidden) = (format!("{} needle", filler(9)), format!("{} needle needle", filler(600)));
    world.document("a.md", &[&plain]);
    world.document("b.md", &[&hidden]);
    world.commit().await;
    let reranker = world.reranking_by(Some("needle"));
    let question = Question { cosine_threshold: -1.0, ..asked() };
    let retrieval = found(&world, &question).await;
    let scores: Vec<Option<f32>> = retrieval.chunks.iter().map(|found| found.rerank_score).collect();
    assert_eq!(scores, [Some(2.0), Some(1.0)]);
    assert_eq!(retrieval.chunks[0].chunk.text, hidden);
    assert!(reranker.asked.lock().expect("unpoisoned")[0].1.len() > 3);
}
