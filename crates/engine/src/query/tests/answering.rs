//! Tests of answers and of the sentences that their numbers point to.

use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{ModelError, SentenceScorer};

use super::super::{AnswerKind, Mode, QueryError, Question, answer, references};
use super::world::{LONDON, World};
use super::{answered, found, question};

#[tokio::test]
async fn a_models_answer_is_streamed_without_thoughts_and_its_numbers_are_verified() {
    let mut world = World::library().await;
    world.answering(&[&[
        "<thi",
        "nk>Hm [9].</think>\n\nMary Somer",
        "ville taught Ada Lovelace [1]. The Exhibition ",
        "was in 1851 [1, 7].\n\n### References\n\n* [1] london",
    ]]);
    let mut asked = question(Mode::Naive, "Who taught Ada Lovelace mathematics in London?", &[], &[]);
    asked.stream = true;
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.references[0].source, "london.md");
    let (answer, streamed) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.text, streamed);
    assert!(answer.text.starts_with("Mary Somerville taught"));
    let quotes: Vec<_> = answer.citations.iter().map(|c| (c.number, c.quote.as_str(), c.lines)).collect();
    assert_eq!(
        quotes,
        [
            (1, "Mary Somerville taught Ada Lovelace mathematics.", (1, 1)),
            (1, "London hosted the Great Exhibition in 1851.", (3, 3)),
        ]
    );
    assert_eq!(answer.dropped_citations, 1);
    assert_eq!(answer.model.as_deref(), Some("test:answers"));
    assert_eq!((answer.cost.calls.len(), answer.cost.calls[0].prompt_tokens), (1, 10));
}

#[tokio::test]
async fn an_answer_is_the_same_whole_and_streamed() {
    for (stream, deltas) in [(false, 1), (true, 2)] {
        let mut world = World::library().await;
        let model = world.answering(&[&["<think>Hm", "</think>Mary ", "Somerville [1]."]]);
        let asked = Question { stream, ..question(Mode::Naive, "Who taught Ada Lovelace?", &[], &[]) };
        let retrieval = found(&world, &asked).await;
        let mut pieces = Vec::new();
        let mut on_delta = |delta: &str| pieces.push(delta.to_owned());
        let answer = answer(&world.engine, &asked, &retrieval, &mut on_delta).await.expect("an answer");
        assert_eq!(answer.text, pieces.concat());
        assert_eq!((pieces.concat().as_str(), pieces.len()), ("Mary Somerville [1].", deltas));
        assert_eq!(model.requests()[0].stream, stream);
    }
}

#[tokio::test]
async fn context_documents_are_listed_on_request() {
    let world = World::library().await;
    let mut asked = question(Mode::Naive, "Great Exhibition in London", &[], &[]);
    let retrieval = found(&world, &asked).await;
    assert_eq!(references(&asked, &retrieval), None);
    asked.include_references = true;
    let listed = references(&asked, &retrieval).expect("a list");
    let paths: Vec<_> =
        listed.iter().map(|one| (one.reference_id.as_str(), one.file_path.as_str())).collect();
    assert_eq!(paths, [("1", "london.md"), ("2", "ada.md")]);
    assert!(listed[0].content.is_none());
    asked.include_chunk_content = true;
    let listed = references(&asked, &retrieval).expect("a list");
    assert_eq!(listed[0].content.as_deref(), Some(&[LONDON[1].to_owned()][..]));
}

#[tokio::test]
async fn a_citation_of_a_removed_document_is_dropped_and_counted() {
    let mut world = World::library().await;
    world.answering(&[&["Mary Somerville taught Ada [1]."]]);
    let asked = question(Mode::Naive, "Who taught Ada Lovelace mathematics in London?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    world.remove(&retrieval.references[0].document).await;
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert!(answer.citations.is_empty());
    assert_eq!(answer.dropped_citations, 1);
}

#[tokio::test]
async fn citations_are_dropped_if_their_sentence_shares_no_word_with_the_document() {
    let mut world = World::library().await;
    world.answering(&[&["Penguins swim [1]."]]);
    let asked = question(Mode::Naive, "Who taught Ada Lovelace mathematics?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.citations.len(), answer.dropped_citations), (0, 1));
}

#[tokio::test]
async fn without_a_model_the_answer_is_verbatim_sentences_with_numbers() {
    let world = World::library().await;
    let asked =
        question(Mode::Mix, "Who taught Ada Lovelace mathematics?", &["education"], &["Ada Lovelace"]);
    let retrieval = found(&world, &asked).await;
    let (answer, streamed) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.text, streamed);
    assert!(answer.found && answer.model.is_none() && answer.cost.calls.is_empty());
    assert_eq!(answer.kind, AnswerKind::Answer);
    let words: Vec<&str> = answer.matches.iter().filter_map(|span| span.slice(&answer.text)).collect();
    assert!(words.contains(&"taught") && words.contains(&"mathematics"), "{words:?}");
    assert_eq!(answer.dropped_citations, 0);
    assert!(answer.text.contains("Mary Somerville taught Ada Lovelace mathematics. ["), "{}", answer.text);
    for citation in &answer.citations {
        assert!(answer.text.contains(&format!("{} [{}]", citation.quote, citation.number)), "{citation:?}");
    }
}

#[tokio::test]
async fn an_unknown_fact_about_a_known_name_gives_the_closest_passages() {
    let world = World::library().await;
    let asked = question(Mode::Mix, "How tall was Ada Lovelace?", &["height"], &["Ada Lovelace"]);
    let retrieval = found(&world, &asked).await;
    let (answer, streamed) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.kind, answer.found), (AnswerKind::Closest, true));
    assert!(streamed.starts_with("No sentence answers this directly. Closest passages:\n"), "{streamed}");
    assert!(!answer.citations.is_empty() && answer.citations.len() <= 3, "{:?}", answer.citations);
    let words: Vec<&str> = answer.matches.iter().filter_map(|span| span.slice(&answer.text)).collect();
    assert!(words.contains(&"Ada") && words.contains(&"Lovelace"), "{words:?}");
}

/// Gives sentences with a word a high score, and all others a low one.
struct Likes(&'static str);

#[async_trait]
impl SentenceScorer for Likes {
    fn name(&self) -> &str {
        "test:likes"
    }

    fn is_multilingual(&self) -> bool {
        false
    }

    async fn score(&self, _: &str, windows: &[Vec<String>]) -> Result<Vec<Vec<f32>>, ModelError> {
        if self.0.is_empty() {
            return Err(ModelError::Local { model: "test:likes".to_owned(), what: "no weights".to_owned() });
        }
        let score = |sentence: &String| if sentence.contains(self.0) { 6.0 } else { -6.0 };
        Ok(windows.iter().map(|window| window.iter().map(score).collect()).collect())
    }
}

#[tokio::test]
async fn a_sentence_scorer_decides_whether_a_sentence_answers() {
    let mut world = World::library().await;
    let asked = question(Mode::Mix, "How many people saw the Great Exhibition?", &["education"], &["London"]);
    let retrieval = found(&world, &asked).await;
    world.engine.models.sentence_scorer = Some(Arc::new(Likes("Six million")));
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.kind, AnswerKind::Answer, "{}", answer.text);
    assert!(answer.text.contains("Six million visitors came. ["), "{}", answer.text);
    world.engine.models.sentence_scorer = Some(Arc::new(Likes("no such word")));
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.kind, AnswerKind::Closest, "{}", answer.text);
}

#[tokio::test]
async fn a_sentence_scorer_that_fails_is_an_error() {
    let mut world = World::library().await;
    world.engine.models.sentence_scorer = Some(Arc::new(Likes("")));
    let asked = question(Mode::Mix, "How many people saw the Great Exhibition?", &["education"], &["London"]);
    let retrieval = found(&world, &asked).await;
    let error = answer(&world.engine, &asked, &retrieval, &mut |_| ()).await.expect_err("fails");
    assert!(format!("{error:?}").contains("no weights"), "{error:?}");
}

#[tokio::test]
async fn a_greeting_and_an_overview_do_not_count_as_failed_searches() {
    let world = World::library().await;
    let asked = question(Mode::Mix, "Hello!", &[], &[]);
    let (answer, _) = answered(&world, &asked, &found(&world, &asked).await).await;
    assert_eq!((answer.kind, answer.found), (AnswerKind::Greeting, false));
    let asked = question(Mode::Mix, "What are the main themes?", &[], &[]);
    let (answer, _) = answered(&world, &asked, &found(&world, &asked).await).await;
    assert_eq!(answer.kind, AnswerKind::Overview);
    assert!(answer.text.contains("Ada Lovelace: ") && answer.dropped_citations == 0, "{}", answer.text);
    for citation in &answer.citations {
        assert!(answer.text.contains(&format!("{} [{}]", citation.quote, citation.number)), "{citation:?}");
    }
}

#[tokio::test]
async fn without_evidence_no_model_is_called() {
    let mut world = World::library().await;
    let model = world.answering(&[]);
    let asked = question(Mode::Mix, "zebra", &["stripes"], &["zebra"]);
    let retrieval = found(&world, &asked).await;
    let (answer, streamed) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.found, answer.kind), (false, AnswerKind::NotFound));
    assert!(
        streamed.starts_with("Not found in ") && streamed.ends_with("Searched for: zebra."),
        "{streamed}"
    );
    assert_eq!(answer.text, streamed);
    assert_eq!(model.calls(), 0);
}

#[tokio::test]
async fn bypass_asks_only_the_model_and_needs_one() {
    let mut world = World::library().await;
    let asked = question(Mode::Bypass, "Who?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    let refused = answer(&world.engine, &asked, &retrieval, &mut |_| {}).await;
    assert!(matches!(refused, Err(QueryError::NoAnswerModel { .. })));

    let model = world.answering(&[&["I [1] am."]]);
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.text.as_str(), answer.dropped_citations), ("I [1] am.", 0));
    let messages = &model.requests()[0].messages;
    assert_eq!(messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>(), ["Who?"]);
}

#[tokio::test]
async fn answer_limits_are_sent_to_the_model_and_stops_are_enforced_if_it_ignores_them() {
    for stream in [false, true] {
        let mut world = World::library().await;
        let model = world.answering(&[&["Mary Somer", "ville [1]. EN", "D and more [1]."]]);
        let mut asked = question(Mode::Naive, "Who taught Ada Lovelace mathematics?", &[], &[]);
        (asked.stream, asked.max_output_tokens) = (stream, Some(50));
        asked.stop = vec![String::new(), "END".to_owned()];
        let retrieval = found(&world, &asked).await;
        let (answer, streamed) = answered(&world, &asked, &retrieval).await;
        assert_eq!((answer.text.as_str(), answer.cut), ("Mary Somerville [1]. ", false));
        assert_eq!(streamed, answer.text);
        let request = &model.requests()[0];
        assert_eq!((request.max_output_tokens, request.stop.as_slice()), (Some(50), &["END".to_owned()][..]));
    }
}

#[tokio::test]
async fn verbatim_sentences_are_cut_too_and_the_rest_is_not_cited() {
    let world = World::library().await;
    let mut asked = question(Mode::Naive, "Who taught Ada Lovelace mathematics in London?", &[], &[]);
    let retrieval = found(&world, &asked).await;
    let (whole, _) = answered(&world, &asked, &retrieval).await;
    assert!(!whole.cut && !whole.citations.is_empty());
    asked.max_output_tokens = Some(2);
    let (short, streamed) = answered(&world, &asked, &retrieval).await;
    assert!(short.cut && whole.text.starts_with(&short.text) && short.text.len() < whole.text.len());
    assert_eq!((short.citations.len(), short.text), (0, streamed));
    asked.max_output_tokens = None;
    asked.stop = vec![" [".to_owned()];
    let (stopped, _) = answered(&world, &asked, &retrieval).await;
    assert!(!stopped.cut && stopped.citations.is_empty() && !stopped.text.contains('['), "{}", stopped.text);
}
