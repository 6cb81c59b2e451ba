//! Tests of questions answered by PageRank: their parts, and what else PageRank may start at and walk over.

use graphloom_core::{ChatMessage, ChatRole, Role};

use super::super::{Decompose, Mode, PageRankOptions, QueryError, QueryNote, Question, QuestionForm};
use super::world::{LONDON, World};
use super::{found, question};

fn auto(text: &str) -> Question {
    question(Mode::Auto, text, &[], &[])
}

fn with_options(question: Question, pagerank: PageRankOptions) -> Question {
    Question { pagerank, ..question }
}

/// Returns the texts that were embedded for the latest question.
fn embedded(world: &World) -> Vec<String> {
    world.embedder.texts.lock().expect("unpoisoned").last().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_comparison_searches_each_thing_separately_and_says_so() {
    let mut world = World::library().await;
    let model = world.finding_keywords(&[]);
    let asked = "Who was born first, Ada Lovelace or Mary Somerville?";
    let retrieval = found(&world, &auto(asked)).await;
    let route = retrieval.route.expect("auto says how it went about it");
    assert_eq!((route.form, route.model), (QuestionForm::Compared, None));
    assert!(route.reason.contains("compares"), "{}", route.reason);
    let parts = ["Who was born first, Ada Lovelace", "Who was born first, Mary Somerville"];
    assert_eq!(route.parts, parts);
    assert_eq!(embedded(&world), [&[asked], &parts[..]].concat(), "all in one request");
    assert_eq!(model.calls(), 0, "its form shows it");
}

#[tokio::test]
async fn only_a_rare_name_leaves_the_ranking_to_the_walk_alone() {
    let world = World::library().await;
    let trust = async |text: &str| {
        let route = found(&world, &auto(text)).await.route.expect("auto says how it went about it");
        route.pagerank.expect("and how far it trusted PageRank")
    };
    let named = trust("Who taught Mary Somerville?").await;
    assert_eq!((named.share, named.looseness, named.passages), (1.0, 0.0, 1));
    assert!(named.reason().starts_with("PageRank decides: 1 passage mentions"), "{}", named.reason());
    let nothing = trust("How does one take notes?").await;
    assert_eq!((nothing.share, nothing.looseness, nothing.name.clone()), (1.0 - 0.7, 1.0, None));
    assert!(nothing.reason().contains("names nothing"), "{}", nothing.reason());
}

#[tokio::test]
async fn only_the_walk_ranks_if_direct_ranking_is_off() {
    let world = World::library().await;
    let asked = |direct| {
        with_options(
            auto("How does one take notes?"),
            PageRankOptions { direct, ..PageRankOptions::default() },
        )
    };
    let trust = found(&world, &asked(0.0)).await.route.and_then(|route| route.pagerank).expect("trust");
    assert_eq!((trust.share, trust.looseness), (1.0, 1.0));
}

#[tokio::test]
async fn a_part_of_a_question_finds_what_the_whole_question_does_not() {
    let world = World::library().await;
    let text =
        "In which year was the show of inventions, as friends of hers who went said, that London hosted?";
    let near_only = |parts| {
        let options = PageRankOptions {
            parts,
            facts: 0.0,
            names: 0.0,
            passage_words: 0.0,
            ..PageRankOptions::default()
        };
        with_options(Question { cosine_threshold: 0.4, ..auto(text) }, options)
    };
    assert!(found(&world, &near_only(0.0)).await.chunks.is_empty());
    let retrieval = found(&world, &near_only(0.5)).await;
    assert_eq!(retrieval.chunks.first().map(|found| found.chunk.text.as_str()), Some(LONDON[1]));
}

#[tokio::test]
async fn one_call_decomposes_a_follow_up_and_makes_it_standalone() {
    let mut world = World::library().await;
    let answer = r#"{"standalone_question": "Who taught the writer of the notes?", "form": "steps",
        "sub_questions": ["Who wrote the notes?", "Who taught Ada Lovelace?"]}"#;
    let model = world.finding_keywords(&[answer]);
    let by_model = PageRankOptions { decompose: Decompose::Model, ..PageRankOptions::default() };
    let history = vec![ChatMessage::new(ChatRole::User, "Who wrote the notes?")];
    let asked = with_options(Question { history, ..auto("Who taught that writer?") }, by_model);
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.standalone_question.as_deref(), Some("Who taught the writer of the notes?"));
    let route = retrieval.route.expect("auto says how it went about it");
    assert_eq!((route.form, route.model.as_deref()), (QuestionForm::Steps, Some("test:keywords")));
    assert_eq!(route.parts, ["Who wrote the notes?", "Who taught Ada Lovelace?"]);
    let roles: Vec<Role> = retrieval.cost.calls.iter().map(|call| call.role).collect();
    assert_eq!((roles, model.calls()), (vec![Role::Keywords, Role::Embed], 1));
    let prompt = &model.requests()[0].messages[1].content;
    assert!(
        prompt.contains("User: Who wrote the notes?")
            && prompt.ends_with("Question: Who taught that writer?")
    );
}

#[tokio::test]
async fn rules_decompose_a_question_if_the_model_did_not() {
    let mut world = World::library().await;
    world.finding_keywords(&["I would rather not."]);
    let by_model = PageRankOptions { decompose: Decompose::Model, ..PageRankOptions::default() };
    let retrieval =
        found(&world, &with_options(auto("Who is older, Ada Lovelace or Mary Somerville?"), by_model)).await;
    let route = retrieval.route.expect("auto says how it went about it");
    assert_eq!((route.form, route.model), (QuestionForm::Compared, None));
}

#[tokio::test]
async fn options_without_effect_are_reported() {
    let world = World::library().await;
    let options = PageRankOptions {
        filter_facts: true,
        damping: 0.7,
        passage_words: 0.2,
        ..PageRankOptions::default()
    };
    let unused = async |mode: Mode| {
        let asked = with_options(question(mode, "Who wrote the notes?", &[], &["Ada"]), options.clone());
        match &found(&world, &asked).await.notes[..] {
            [QueryNote::PageRankOptionsUnused { options }] => options.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(unused(Mode::Auto).await, ["filter_facts"]);
    assert_eq!(unused(Mode::Ppr).await, ["passage_words", "filter_facts"]);
    assert_eq!(unused(Mode::Naive).await, ["damping", "passage_words", "filter_facts"]);
    let plain = question(Mode::Auto, "Who wrote the notes?", &[], &[]);
    assert_eq!(found(&world, &plain).await.notes, []);
}

#[tokio::test]
async fn no_other_mode_decomposes_a_question() {
    let world = World::library().await;
    for mode in [Mode::Ppr, Mode::Naive, Mode::Mix] {
        let retrieval =
            found(&world, &question(mode, "Who is older, Ada Lovelace or Mary Somerville?", &[], &["Ada"]))
                .await;
        assert_eq!(retrieval.route, None);
    }
}

#[tokio::test]
async fn a_walk_starts_at_the_near_facts_that_a_model_chose() {
    let mut world = World::library().await;
    let model = world.finding_keywords(&[r#"{"relevant": [1]}"#, r#"{"relevant": []}"#, "None of them."]);
    let only_facts =
        PageRankOptions { filter_facts: true, passages: 0.0, names: 0.0, ..PageRankOptions::default() };
    let asked = |text: &str| with_options(question(Mode::Ppr, text, &[], &[]), only_facts.clone());
    let retrieval = found(&world, &asked("She described its programs, he drew its plans?")).await;
    let prompt = &model.requests()[0].messages[1].content;
    let (first, second) = ("1. ADA_LOVELACE, ANALYTICAL_ENGINE: She described", "\n2. ");
    assert!(prompt.contains(first) && prompt.contains(second), "{prompt}");
    let began: Vec<&str> =
        retrieval.relations.iter().map(|found| found.relation.description.as_str()).collect();
    assert_eq!(began.first(), Some(&"She described its programs."));
    assert!(!began.contains(&"He drew its plans."), "{began:?}");

    let none_helps = found(&world, &asked("He drew its plans, she described its programs?")).await;
    assert!(none_helps.chunks.is_empty() && none_helps.notes.is_empty());

    let unclear = found(&world, &asked("He drew its plans and she described its programs?")).await;
    assert!(!unclear.chunks.is_empty());
    assert_eq!(unclear.notes, [QueryNote::FactsNotFiltered { model: "test:keywords".to_owned() }]);
}

#[tokio::test]
async fn synonyms_lead_from_one_spelling_to_the_passages_of_the_other() {
    const ONE: &str = "A wheel turns.";
    const OTHER: &str = "Steam rises.";
    let mut world = World::empty();
    world.document("one.md", &[ONE]);
    world.document("other.md", &[OTHER]);
    world.entity("Lovelace Mill", "Place", "A mill on the river Wye near the old bridge.", &[ONE]);
    world.entity("Mill Lovelace", "Place", "A mill on the river Wye near the old bridge.", &[OTHER]);
    world.commit().await;
    let asked = |synonyms| {
        let options = PageRankOptions { synonyms, ..PageRankOptions::default() };
        let far =
            Question { cosine_threshold: 0.99, ..question(Mode::Ppr, "How old is Lovelace Mill?", &[], &[]) };
        with_options(far, options)
    };
    assert_eq!(found(&world, &asked(None)).await.chunks.len(), 1);
    let linked = found(&world, &asked(Some(0.8))).await;
    let texts: Vec<&str> = linked.chunks.iter().map(|found| found.chunk.text.as_str()).collect();
    assert_eq!(texts, [ONE, OTHER]);
}

#[tokio::test]
async fn an_option_of_the_walk_out_of_range_is_refused_with_its_range() {
    let world = World::empty();
    let refused = with_options(auto("Who?"), PageRankOptions { damping: 1.5, ..PageRankOptions::default() });
    let error = super::super::retrieve(&world.engine, &refused).await.expect_err("refused");
    assert!(matches!(error, QueryError::OutOfRange { .. }));
    assert_eq!(error.to_string(), "pagerank.damping: 1.5 is not between 0 and 0.99");
    assert!(serde_json::from_str::<Question>(r#"{"pagerank": {"dampng": 0.5}}"#).is_err());
}

#[tokio::test]
async fn if_memory_cannot_hold_all_links_the_walk_uses_those_around_the_question() {
    let world = World::library().await;
    let questions =
        ["Who taught Mary Somerville?", "How does one take notes?", "Where did the inventor live?"];
    for mode in [Mode::Auto, Mode::Ppr] {
        for text in questions {
            world.store.limit_links(usize::MAX);
            let whole = found(&world, &question(mode, text, &[], &[])).await;
            world.store.limit_links(0);
            let around = found(&world, &question(mode, text, &[], &[])).await;
            let found = whole.chunks.iter().zip(&around.chunks);
            assert_eq!(around.chunks.len(), whole.chunks.len(), "everything is near: {text}");
            for (one, other) in found {
                let [one_score, other_score] = [one, other].map(|found| found.score.unwrap_or_default());
                assert_eq!(one.chunk.id, other.chunk.id, "{text}");
                // PageRank stops at a precision that depends on the order of links.
                assert!((one_score - other_score).abs() < 0.001, "{one_score} {other_score}: {text}");
            }
            assert_eq!(around.route, whole.route, "{text}");
        }
    }
}
