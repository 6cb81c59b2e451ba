//! Tests of what each mode finds.

use graphloom_core::{CacheKind, Role};

use super::super::{Arm, ChunkPick, Mode, PathStep, QueryError, Question, retrieve, search};
use super::world::{ADA, LONDON, World};
use super::{found, outline, question};

async fn check_mode(mode: Mode, text: &str, high_level: &[&str], low_level: &[&str]) -> String {
    let world = World::library().await;
    outline(&found(&world, &question(mode, text, high_level, low_level)).await)
}

#[tokio::test]
async fn naive_finds_only_chunks() {
    let outline = check_mode(Mode::Naive, "Great Exhibition in London", &["education"], &["Ada"]).await;
    insta::assert_snapshot!(outline, @"
    Vector chunk [1] London hosted
    Vector chunk [2] Charles Babbage
    [1] london.md
    [2] ada.md
    ");
}

#[tokio::test]
async fn local_goes_from_entities_to_their_relations_and_chunks() {
    let outline =
        check_mode(Mode::Local, "Who was she?", &["education"], &["Ada Lovelace mathematician"]).await;
    insta::assert_snapshot!(outline, @"
    entity Ada Lovelace
    relation Ada Lovelace - Analytical Engine
    relation Ada Lovelace - Mary Somerville
    Entity chunk [1] Ada Lovelace
    Entity chunk [2] Mary Somerville
    [1] ada.md
    [2] london.md
    ");
}

#[tokio::test]
async fn global_goes_from_relations_to_their_ends_and_chunks() {
    let outline =
        check_mode(Mode::Global, "Who taught?", &["education", "tutored"], &["Analytical Engine"]).await;
    insta::assert_snapshot!(outline, @"
    entity Ada Lovelace
    entity Mary Somerville
    relation Ada Lovelace - Mary Somerville
    Entity chunk [1] Mary Somerville
    Entity chunk [2] Ada Lovelace
    [1] london.md
    [2] ada.md
    ");
}

#[tokio::test]
async fn hybrid_takes_turns_between_local_and_global() {
    let outline =
        check_mode(Mode::Hybrid, "Who?", &["education", "tutored"], &["London", "City on the Thames"]).await;
    insta::assert_snapshot!(outline, @"
    entity London
    entity Ada Lovelace
    entity Mary Somerville
    relation Ada Lovelace - Mary Somerville
    relation Charles Babbage - London
    Entity chunk [1] London hosted
    Entity chunk [2] Ada Lovelace
    Entity chunk [2] Charles Babbage
    Entity chunk [1] Mary Somerville
    [1] london.md
    [2] ada.md
    ");
}

#[tokio::test]
async fn mix_takes_turns_between_chunks_entities_and_relations() {
    let outline = check_mode(
        Mode::Mix,
        "Great Exhibition in London",
        &["education", "tutored"],
        &["Ada Lovelace mathematician"],
    )
    .await;
    insta::assert_snapshot!(outline, @"
    entity Ada Lovelace
    entity Mary Somerville
    relation Ada Lovelace - Analytical Engine
    relation Ada Lovelace - Mary Somerville
    Vector chunk [1] London hosted
    Entity chunk [2] Ada Lovelace
    Vector chunk [2] Charles Babbage
    Entity chunk [1] Mary Somerville
    [1] london.md
    [2] ada.md
    ");
}

#[tokio::test]
async fn bypass_finds_nothing_and_calls_no_model() {
    let world = World::library().await;
    let retrieval = found(&world, &question(Mode::Bypass, "Ada Lovelace?", &[], &[])).await;
    assert_eq!(outline(&retrieval), "");
    assert!(retrieval.cost.calls.is_empty() && world.embedder.texts.lock().expect("unpoisoned").is_empty());
}

#[tokio::test]
async fn an_empty_workspace_gives_an_empty_retrieval_and_calls_no_model() {
    let mut world = World::empty();
    let keywords = world.finding_keywords(&[]);
    for mode in [Mode::Naive, Mode::Local, Mode::Global, Mode::Hybrid, Mode::Mix, Mode::Bypass] {
        let asked = Question { text: "Ada?".to_owned(), mode, ..Question::default() };
        let retrieval = found(&world, &asked).await;
        assert!(retrieval.context.is_empty() && retrieval.cost.calls.is_empty());
    }
    assert_eq!(keywords.calls(), 0);
}

#[tokio::test]
async fn a_mode_without_the_keywords_it_needs_finds_nothing() {
    assert_eq!(check_mode(Mode::Local, "Ada Lovelace?", &["education"], &[]).await, "");
    assert_eq!(check_mode(Mode::Global, "education?", &[], &["Ada Lovelace"]).await, "");
}

#[tokio::test]
async fn without_keywords_a_short_question_is_searched_as_is_and_a_long_one_finds_nothing() {
    let nothing = r#"{"high_level_keywords": [], "low_level_keywords": []}"#;
    let mut world = World::library().await;
    world.finding_keywords(&[nothing, nothing, nothing]);
    let asked = |text: &str, mode| Question { text: text.to_owned(), mode, ..Question::default() };
    let short = found(&world, &asked("Ada Lovelace", Mode::Local)).await;
    assert_eq!(short.keywords.low_level, ["Ada Lovelace"]);
    assert!(!short.entities.is_empty());
    let global = found(&world, &asked("Ada Lovelace?", Mode::Global)).await;
    assert_eq!(outline(&global), "");
    let long = found(&world, &asked(&"Ada Lovelace ".repeat(5), Mode::Local)).await;
    assert_eq!(outline(&long), "");
}

#[tokio::test]
async fn keywords_and_question_are_embedded_in_one_call_and_repeats_need_none() {
    let mut world = World::library().await;
    let model = world.finding_keywords(&[
        r#"{"high_level_keywords": ["education", "art"], "low_level_keywords": ["Ada"]}"#,
    ]);
    let asked = Question { text: " Who taught Ada? ".to_owned(), mode: Mode::Mix, ..Question::default() };
    let first = found(&world, &asked).await;
    assert_eq!(
        first.cost.calls.iter().map(|call| call.role).collect::<Vec<_>>(),
        [Role::Keywords, Role::Embed]
    );
    let texts = ["Who taught Ada?", "Ada", "education, art"].map(str::to_owned).to_vec();
    assert_eq!(*world.embedder.texts.lock().expect("unpoisoned"), std::slice::from_ref(&texts));

    let mut again = found(&world, &asked).await;
    assert!(again.cost.calls.is_empty());
    assert_eq!(again.cost.cached, [CacheKind::Keywords, CacheKind::Vector]);
    again.cost = first.cost.clone();
    // Storing the calls of the first question was a commit.
    again.revision = first.revision;
    assert_eq!(again, first);
    assert_eq!(model.calls(), 1);
    assert_eq!(*world.embedder.texts.lock().expect("unpoisoned"), [texts]);
}

#[tokio::test]
async fn the_question_is_embedded_only_if_chunks_are_picked_by_similarity() {
    let world = World::library().await;
    let mut asked = question(Mode::Local, "Who?", &["unused"], &["Ada Lovelace"]);
    asked.chunk_pick = ChunkPick::Weight;
    found(&world, &asked).await;
    assert_eq!(*world.embedder.texts.lock().expect("unpoisoned"), [["Ada Lovelace".to_owned()]]);
}

#[tokio::test]
async fn a_missing_chunk_vector_switches_picking_to_polling() {
    let build = async |forget: bool| {
        let mut world = World::empty();
        world.document("ada.md", &ADA);
        world.document("london.md", &LONDON);
        world.entity("Ada Lovelace", "Person", "Mathematician", &[ADA[0], ADA[1], LONDON[0], LONDON[1]]);
        if forget {
            world.forget_vector(LONDON[1]);
        }
        world.commit().await;
        found(&world, &question(Mode::Local, "Great Exhibition visitors", &[], &["Ada Lovelace"])).await
    };
    let by_vector = build(false).await;
    assert_eq!(by_vector.chunks.len(), 2, "half of five, rounded down");
    assert_eq!(by_vector.chunks[0].chunk.text, LONDON[1]);
    assert_eq!(build(true).await.chunks.len(), 4, "up to five of one entity");
}

#[tokio::test]
async fn a_line_that_fits_exactly_is_kept_and_dropped_with_one_token_less() {
    let world = World::library().await;
    let mut asked = question(Mode::Local, "Who?", &[], &["Ada Lovelace mathematician"]);
    let all = found(&world, &asked).await;
    let lines = |section: &str| -> Vec<u32> {
        let start = all.context.find(section).expect("the section is there");
        let json = all.context[start..].split("```").nth(1).expect("a fence").trim_start_matches("json\n");
        json.split_inclusive('\n').map(|line| world.engine.tokenizer.count(line)).collect()
    };
    let (entities, relations) = (lines("## Entities"), lines("## Relations"));
    assert_eq!((entities.len(), relations.len()), (all.entities.len(), all.relations.len()));

    asked.max_entity_tokens = entities.iter().sum();
    asked.max_relation_tokens = relations.iter().sum();
    let exact = found(&world, &asked).await;
    assert_eq!(outline(&exact), outline(&all));

    asked.max_entity_tokens -= 1;
    asked.max_relation_tokens -= 1;
    let less = found(&world, &asked).await;
    assert_eq!(
        (less.entities.len(), less.relations.len()),
        (all.entities.len() - 1, all.relations.len() - 1)
    );
}

#[tokio::test]
async fn the_whole_prompt_stays_within_its_budget_and_uses_it() {
    let mut world = World::empty();
    let paragraphs: Vec<String> =
        (0..40).map(|n| format!("Item {n}:\n{}", "\"ships\"\tsailed\n\n- north \\ ".repeat(n + 3))).collect();
    world.document("log.md", &paragraphs.iter().map(String::as_str).collect::<Vec<_>>());
    world.commit().await;
    for max_total_tokens in [0, 400, 700, 900, 2000, 5000, 30_000] {
        let mut asked = question(Mode::Naive, "Which item ships sailed north?", &[], &[]);
        asked.max_total_tokens = max_total_tokens;
        let retrieval = found(&world, &asked).await;
        let prompt = super::super::prompt_of(&world.engine, &asked, &retrieval);
        let tokens: u32 = prompt.iter().map(|message| world.engine.tokenizer.count(&message.content)).sum();
        assert!(retrieval.chunks.is_empty() || tokens <= max_total_tokens, "{tokens} of {max_total_tokens}");
        assert!(retrieval.chunks.len() == 20 || max_total_tokens < 800 || tokens * 2 > max_total_tokens);
    }
}

#[tokio::test]
async fn equal_texts_from_different_documents_appear_once() {
    let mut world = World::empty();
    world.document("one.md", &["The lighthouse was lit.", "Another day."]);
    world.document("two.md", &["The lighthouse was lit."]);
    world.commit().await;
    let retrieval = found(&world, &question(Mode::Naive, "When was the lighthouse lit?", &[], &[])).await;
    assert_eq!(retrieval.chunks.len(), 1);
    assert_eq!(retrieval.references.len(), 1);
}

#[tokio::test]
async fn documents_are_numbered_by_chunk_count_and_then_by_appearance() {
    let mut world = World::empty();
    world.document("b.md", &["red fox jumps", "grey owl"]);
    world.document("c.md", &["red fox runs away", "red fox sleeps at home"]);
    world.document("a.md", &["red fox eats some cheese here"]);
    world.commit().await;
    let retrieval = found(&world, &question(Mode::Naive, "red fox jumps", &[], &[])).await;
    let order: Vec<_> = retrieval.references.iter().map(|r| (r.number, r.source.as_str())).collect();
    assert_eq!(order, [(1, "c.md"), (2, "b.md"), (3, "a.md")]);
    assert_eq!(retrieval.chunks[0].reference, 2);
}

#[tokio::test]
async fn an_empty_question_and_a_foreign_workspace_are_refused() {
    let world = World::library().await;
    let empty = retrieve(&world.engine, &Question { text: " \n".to_owned(), ..Question::default() }).await;
    assert!(matches!(empty, Err(QueryError::Empty)));

    let mut world = World::library().await;
    world.engine.models.embedder = std::sync::Arc::new(Other);
    let refused = retrieve(&world.engine, &question(Mode::Mix, "Ada?", &[], &["Ada"])).await;
    let message = refused.expect_err("another embedder").to_string();
    assert_eq!(
        message,
        "the workspace was embedded with word-hashes (256 dimensions), the question with other"
    );
}

struct Other;

#[async_trait::async_trait]
impl graphloom_core::Embedder for Other {
    fn name(&self) -> &str {
        "other"
    }

    async fn dimensions(&self) -> Result<u32, graphloom_core::ModelError> {
        Ok(3)
    }

    async fn embed(
        &self,
        _: graphloom_core::Purpose,
        _: &[String],
    ) -> Result<graphloom_core::Embeddings, graphloom_core::ModelError> {
        panic!("nothing may be embedded for a foreign workspace")
    }
}

#[tokio::test]
async fn searching_fuses_full_text_and_vectors() {
    let world = World::library().await;
    let hits = search(&world.engine, "Analytical Engine", 2, None).await.expect("searching succeeds");
    assert_eq!(hits.passages.len(), 2);
    assert!(hits.passages.iter().all(|hit| hit.source == "ada.md" && hit.chunk.text.contains("Engine")));
    assert_eq!(hits.passages.iter().map(|hit| hit.lines).max(), Some((3, 3)));
    assert_eq!(hits.entities[0].entity.name, "Analytical Engine");
    assert!(hits.relations.iter().all(|hit| hit.ends.contains(&"Analytical Engine".to_owned())));
    assert!(hits.passages[0].score >= hits.passages[1].score);

    let nothing = search(&World::empty().engine, "Ada", 5, None).await.expect("searching succeeds");
    assert!(nothing.passages.is_empty() && nothing.entities.is_empty() && nothing.relations.is_empty());
}

#[tokio::test]
async fn a_walk_reaches_passages_without_common_words_and_shows_the_path() {
    let world = World::library().await;
    let near_nothing = Question {
        cosine_threshold: 0.99,
        ..question(Mode::Ppr, "What is the Analytical Engine?", &[], &[])
    };
    let retrieval = found(&world, &near_nothing).await;
    let last = retrieval.chunks.iter().find(|found| found.chunk.text == LONDON[0]).expect("reached");
    assert_eq!(last.arm, Arm::PageRank);
    let path = retrieval.paths.iter().find(|path| path.chunk == last.chunk.id).expect("it says how");
    let entities: Vec<&str> = path.steps.iter().filter_map(entity_of).collect();
    assert_eq!(entities, ["ANALYTICAL_ENGINE", "ADA_LOVELACE"]);
    assert_eq!(path.steps.last(), Some(&PathStep::Chunk(last.chunk.id.clone())));
    assert!(retrieval.entities.iter().any(|found| found.entity.key.as_str() == "ADA_LOVELACE"));
}

#[tokio::test]
async fn a_walk_needs_no_keywords_and_makes_no_llm_call() {
    let mut world = World::library().await;
    let keywords = world.finding_keywords(&[]);
    for mode in [Mode::Auto, Mode::Ppr] {
        let asked = Question {
            text: "Who wrote notes on the Analytical Engine?".to_owned(),
            mode,
            ..Question::default()
        };
        let retrieval = found(&world, &asked).await;
        assert_eq!(retrieval.chunks.first().map(|found| found.chunk.text.as_str()), Some(ADA[0]));
        assert!(retrieval.cost.calls.iter().all(|call| call.role != Role::Keywords));
    }
    assert_eq!(keywords.calls(), 0);
}

#[tokio::test]
async fn a_walk_starts_at_the_given_names() {
    let world = World::library().await;
    let given =
        Question { cosine_threshold: 0.99, ..question(Mode::Ppr, "Who else?", &[], &["Mary Somerville"]) };
    let retrieval = found(&world, &given).await;
    assert_eq!(retrieval.chunks.first().map(|found| found.chunk.text.as_str()), Some(LONDON[0]));
    assert_eq!(retrieval.keywords.low_level, ["Mary Somerville"]);
    assert_eq!(retrieval.entities.first().map(|found| found.entity.name.as_str()), Some("Mary Somerville"));
}

#[tokio::test]
async fn a_name_outside_the_filter_hides_no_other_name() {
    const PAPER: &str = "The New York Times prints at night.";
    const CITY: &str = "New York is a city.";
    let mut world = World::empty();
    world.document("paper.md", &[PAPER]);
    world.document("city.md", &[CITY]);
    world.entity("New York Times", "Organization", "A paper.", &[PAPER]);
    world.entity("New York", "Location", "A city.", &[CITY]);
    world.commit().await;
    let filter = serde_json::from_str(r#"{"sources":["city.md"]}"#).expect("a filter");
    let near_nothing = question(Mode::Ppr, "Is the New York Times old?", &[], &[]);
    let asked = Question { cosine_threshold: 0.99, filter: Some(filter), ..near_nothing };
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.chunks.first().map(|found| found.chunk.text.as_str()), Some(CITY));
}

#[tokio::test]
async fn keyword_hits_count_in_auto_and_not_in_ppr() {
    let world = World::library().await;
    let of = |mode| Question { cosine_threshold: 0.99, ..question(mode, "workshop", &[], &[]) };
    assert!(found(&world, &of(Mode::Ppr)).await.chunks.is_empty());
    let by_words = found(&world, &Question { text: "exhibition".to_owned(), ..of(Mode::Auto) }).await;
    assert_eq!(by_words.chunks.first().map(|found| found.chunk.text.as_str()), Some(LONDON[1]));
}

#[tokio::test]
async fn a_walk_finds_a_chunk_that_is_not_in_the_graph_yet() {
    let mut world = World::empty();
    world.document("new.md", &["Steam turns the great wheel."]);
    world.commit().await;
    let retrieval = found(&world, &question(Mode::Auto, "What turns the great wheel?", &[], &[])).await;
    assert_eq!(retrieval.chunks.len(), 1);
    assert!(retrieval.paths.is_empty());
}

fn entity_of(step: &PathStep) -> Option<&str> {
    match step {
        PathStep::Entity(key) => Some(key.as_str()),
        PathStep::Relation(_) | PathStep::Chunk(_) => None,
    }
}
