//! Tests of questions that are answered from reports of communities.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use graphloom_core::{
    ChatEvent, ChatMessage, ChatRequest, ChatStream, Completion, DocumentFilter, FinishReason, LanguageModel,
    ModelError, Usage,
};
use serde_json::json;

use super::super::{
    AnswerKind, Arm, QueryError, QueryNote, QuestionForm, RateReports, ReportOptions, Retrieval,
};
use super::world::{ADA, World};
use super::*;
use crate::derive::{Communities, derive};
use crate::prompt::{ANSWER_POINTS, DRIFT_POINTS, MAP_POINTS, RATE_REPORTS};

const THEMES: &str = "What are the main themes?";

/// Returns a library with several communities and their reports by rules.
async fn world() -> World {
    let mut world = World::empty();
    add(&mut world);
    world.commit().await;
    derive(&world.engine, &Communities, &|_| {}, &|_| true).await.expect("the store works");
    world
}

const TRADES: [&str; 6] = ["Smith", "Baker", "Miller", "Weaver", "Mason", "Cooper"];

/// Adds six towns, each with a trade that three of its people practise.
fn add(world: &mut World) {
    for (number, trade) in (1..).zip(TRADES) {
        let town = format!("Town{number}");
        let people: Vec<String> = ["Ann", "Bob", "Cid"].map(|name| format!("{name}{number}")).to_vec();
        let text = format!("{} and {} and {} of {town} work as {trade}.", people[0], people[1], people[2]);
        let long = "with a history that goes back a long way and is told on winter evenings ".repeat(3);
        world.document(&format!("{town}.md"), &[&text]);
        world.entity(&town, "Place", &format!("A town known for its {trade} {long}."), &[&text]);
        for person in &people {
            world.entity(person, "Person", &format!("A {trade} from {town} {long}."), &[&text]);
            world.relation(person, &town, "work", &format!("Works there as {trade}."), 1.0, &[&text]);
        }
        world.relation(&people[0], &people[1], "colleagues", "They work together.", 1.0, &[&text]);
    }
}

/// Answers according to the prompt: maps, ratings, follow-ups or answers. Refuses maps that contain certain words.
#[derive(Default)]
struct Analyst {
    refuses: Vec<&'static str>,
    follow_up: Option<&'static str>,
    asked: Mutex<Vec<(&'static str, ChatRequest)>>,
}

impl Analyst {
    fn in_world(self, world: &mut World) -> Arc<Self> {
        let analyst = Arc::new(self);
        world.engine.models.answer = Some(analyst.clone());
        world.engine.models.keywords = Some(analyst.clone());
        analyst
    }

    fn asked(&self, what: &str) -> Vec<String> {
        let asked = self.asked.lock().expect("no test panics here");
        let of_kind = asked.iter().filter(|(kind, _)| *kind == what);
        of_kind.map(|(_, request)| request.messages[1].content.clone()).collect()
    }

    /// Returns all messages of the first request of a kind.
    fn first_prompt(&self, what: &str) -> String {
        let asked = self.asked.lock().expect("no test panics here");
        let (_, request) = asked.iter().find(|(kind, _)| *kind == what).expect("it was asked");
        let message = |message: &ChatMessage| format!("<<{:?}>>\n{}", message.role, message.content);
        request.messages.iter().map(message).collect::<Vec<_>>().join("\n")
    }
}

#[async_trait]
impl LanguageModel for Analyst {
    fn name(&self) -> &str {
        "test:analyst"
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let system = &request.messages[0].content;
        let starts = |prompt: crate::prompt::Prompt| system.starts_with(&prompt.body()[..40]);
        let (kind, answer) = if starts(ANSWER_POINTS) {
            let first = system.split_once("\"point\":\"").map_or("", |(_, rest)| rest);
            let point = first.split('"').next().unwrap_or_default();
            let number = first.split_once("reference_ids\":[\"").map_or("9", |(_, rest)| &rest[..1]);
            ("answer", format!("{point} [{number}]"))
        } else if starts(RATE_REPORTS) {
            let lines = request.messages[1].content.lines().filter(|line| line.contains(". "));
            let rating = |line: &str| {
                let number = line.split('.').next().unwrap_or_default().to_owned();
                (number, json!(u32::from(line.contains("Weaver")) * 4))
            };
            let ratings: serde_json::Map<_, _> = lines.map(rating).collect();
            ("rate", json!({ "ratings": ratings }).to_string())
        } else {
            let kind = if starts(MAP_POINTS) { "map" } else { "drift" };
            assert!(kind == "map" || starts(DRIFT_POINTS), "an unknown prompt: {system}");
            let data = &request.messages[1].content;
            let ids = data.lines().filter_map(|line| line.strip_prefix('[')?.split_once(']'));
            let point = |(place, (id, said)): (usize, (&str, &str))| json!({ "point": said.trim(), "score": 90 - place, "sources": [id] });
            let points: Vec<_> = ids.enumerate().take(3).map(point).collect();
            let follow_ups: Vec<_> = self.follow_up.into_iter().collect();
            (kind, json!({ "points": points, "follow_ups": follow_ups }).to_string())
        };
        let refused =
            kind != "answer" && self.refuses.iter().any(|word| request.messages[1].content.contains(word));
        self.asked.lock().expect("no test panics here").push((kind, request));
        if refused {
            return Err(ModelError::Timeout { model: self.name().to_owned(), idle_ms: 5 });
        }
        let usage = Usage { prompt_tokens: 10, completion_tokens: 3, ..Usage::default() };
        let done = ChatEvent::Done(Completion { finish: FinishReason::Stop, usage, attempts: 1 });
        let events = [ChatEvent::Delta(answer), done].map(Ok);
        Ok(futures::stream::iter(events).boxed())
    }
}

fn asking(mode: Mode, text: &str) -> Question {
    question(mode, text, &[], &[])
}

/// Returns a question that reads every town's report in its own call.
fn in_small_calls(text: &str) -> Question {
    let reports =
        ReportOptions { level: Some(0), call_tokens: 500, max_calls: 50, ..ReportOptions::default() };
    Question { reports, ..asking(Mode::CommunityGlobal, text) }
}

fn map_failures(retrieval: &Retrieval) -> Option<(usize, usize)> {
    retrieval.notes.iter().find_map(|note| match note {
        QueryNote::MapCallsFailed { failed, calls, .. } => Some((*failed, *calls)),
        _ => None,
    })
}

#[tokio::test]
async fn points_of_all_reports_become_an_answer_that_cites_sentences() {
    let mut world = world().await;
    let analyst = Analyst::default().in_world(&mut world);
    let asked = asking(Mode::CommunityGlobal, THEMES);
    let retrieval = found(&world, &asked).await;
    assert_eq!((analyst.asked("map").len(), retrieval.notes.len()), (1, 0), "{:?}", retrieval.notes);
    assert_eq!(retrieval.reports.len(), TRADES.len());
    assert!(retrieval.points.is_sorted_by(|one, other| one.score >= other.score));
    assert!(retrieval.points.iter().all(|point| !point.references.is_empty()), "{:?}", retrieval.points);
    assert!(retrieval.chunks.iter().all(|found| found.arm == Arm::Report && !found.evidence.is_empty()));
    let (answer, streamed) = answered(&world, &asked, &retrieval).await;
    assert_eq!(answer.text, streamed);
    assert_eq!((answer.citations.len(), answer.dropped_citations), (1, 0), "{}", answer.text);
    let cited = &answer.citations[0];
    let quoted = &retrieval.chunks.iter().find(|found| found.chunk.document == cited.document);
    let evidence = &quoted.expect("a passage").evidence;
    assert!(evidence.iter().any(|evidence| evidence.span == cited.span), "{cited:?} {evidence:?}");
}

#[tokio::test]
async fn a_failed_map_call_is_counted_and_the_others_give_the_answer() {
    let mut world = world().await;
    let analyst = Analyst { refuses: vec!["Town2", "Town5"], ..Analyst::default() }.in_world(&mut world);
    let asked = in_small_calls(THEMES);
    let retrieval = found(&world, &asked).await;
    let calls = analyst.asked("map").len();
    assert!(calls >= 3, "{calls}");
    let (failed, of) = map_failures(&retrieval).expect("a note");
    assert!(failed >= 1 && failed < of && of == calls, "{failed} of {of}, {calls} calls");
    let note = retrieval.notes[0].to_string();
    assert!(note.starts_with(&format!("{failed} of {of} map calls failed")), "{note}");
    assert!(!retrieval.points.is_empty());
    assert_eq!(answered(&world, &asked, &retrieval).await.0.kind, AnswerKind::Answer);
}

#[tokio::test]
async fn if_every_map_call_fails_the_question_fails() {
    let mut world = world().await;
    Analyst { refuses: vec!["Question"], ..Analyst::default() }.in_world(&mut world);
    let error = retrieve(&world.engine, &in_small_calls(THEMES)).await.expect_err("an error");
    assert!(matches!(error, QueryError::Model { .. }), "{error:?}");
}

#[tokio::test]
async fn calls_are_bounded_and_the_answer_says_what_was_not_read() {
    let mut world = world().await;
    let analyst = Analyst::default().in_world(&mut world);
    let mut asked = in_small_calls(THEMES);
    asked.reports.max_calls = 2;
    let retrieval = found(&world, &asked).await;
    assert_eq!(analyst.asked("map").len(), 1);
    let left_out = retrieval
        .notes
        .iter()
        .any(|note| matches!(note, QueryNote::ReportsLeftOut { left_out, reports: 6 } if *left_out > 0));
    assert!(left_out, "{:?}", retrieval.notes);
}

#[tokio::test]
async fn a_question_about_one_topic_reads_the_reports_about_it() {
    let mut world = world().await;
    let asked = asking(Mode::CommunityGlobal, "What do people who are Weaver do in Town4?");
    let retrieval = found(&world, &asked).await;
    let titles: Vec<&str> = retrieval.reports.iter().map(|report| report.title.as_str()).collect();
    assert!(titles[0].contains("Town4") && titles.len() < TRADES.len(), "{titles:?}");
    let analyst = Analyst::default().in_world(&mut world);
    let by_model =
        Question { reports: ReportOptions { rate: RateReports::Model, ..asked.reports.clone() }, ..asked };
    let retrieval = found(&world, &by_model).await;
    assert_eq!((analyst.asked("rate").len(), retrieval.reports.len()), (1, 1), "{:?}", retrieval.reports);
    assert!(retrieval.reports[0].title.contains("Town4"));
}

#[tokio::test]
async fn a_failed_rating_keeps_the_reports_and_is_reported() {
    let mut world = world().await;
    Analyst { refuses: vec!["1. "], ..Analyst::default() }.in_world(&mut world);
    let mut asked = asking(Mode::CommunityGlobal, "Who is a Weaver?");
    asked.reports.rate = RateReports::Model;
    asked.only_need_context = true;
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.reports.len(), TRADES.len());
    let note = QueryNote::RatingCallsFailed { failed: 1, calls: 1, reason: String::new() }.to_string();
    assert!(retrieval.notes.iter().any(|said| said.to_string().starts_with(&note)), "{:?}", retrieval.notes);
}

#[tokio::test]
async fn without_an_llm_the_best_reports_are_quoted() {
    let world = world().await;
    let asked = asking(Mode::CommunityGlobal, THEMES);
    let retrieval = found(&world, &asked).await;
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.kind, answer.model.as_deref()), (AnswerKind::Overview, None));
    assert_eq!(answer.citations.len(), TRADES.len(), "{}", answer.text);
    assert!(answer.text.starts_with("Overview of 6 documents: 6 of 6 communities"), "{}", answer.text);
}

#[tokio::test]
async fn auto_answers_a_question_about_everything_from_reports_if_any_exist() {
    let world = world().await;
    for text in [THEMES, "Was sind die wichtigsten Themen?", "这些文件讲的是什么？"] {
        let retrieval = found(&world, &asking(Mode::Auto, text)).await;
        assert_eq!(retrieval.mode, Mode::CommunityGlobal, "{text}");
        assert_eq!(retrieval.route.expect("a route").form, QuestionForm::Documents, "{text}");
    }
    let ordinary = found(&world, &asking(Mode::Auto, "Who works in Town4?")).await;
    assert_eq!(ordinary.mode, Mode::Auto);
    let filter: DocumentFilter = serde_json::from_value(json!({ "sources": ["Town1*"] })).expect("a filter");
    let filtered = Question { filter: Some(filter.clone()), ..asking(Mode::Auto, THEMES) };
    assert_eq!(found(&world, &filtered).await.mode, Mode::Auto, "reports are written from all documents");
    let refused = Question { filter: Some(filter), ..asking(Mode::CommunityGlobal, THEMES) };
    let error = retrieve(&world.engine, &refused).await.expect_err("an error");
    assert!(matches!(error, QueryError::ReportsOfAll { .. }), "{error:?}");
}

#[tokio::test]
async fn missing_and_outdated_communities_are_reported() {
    let plain = World::library().await;
    let retrieval = found(&plain, &asking(Mode::Auto, THEMES)).await;
    assert_eq!(retrieval.mode, Mode::Auto);
    assert!(matches!(retrieval.notes[..], [QueryNote::NoLayer { .. }]), "{:?}", retrieval.notes);
    for mode in [Mode::CommunityGlobal, Mode::CommunityLocal] {
        let error = retrieve(&plain.engine, &asking(mode, THEMES)).await.expect_err("an error");
        assert!(matches!(error, QueryError::NoLayer { .. }), "{error:?}");
    }
    let mut world = world().await;
    world.document("ada.md", &ADA);
    world.entity("Ada Lovelace", "Person", "Mathematician who wrote notes.", &[ADA[0]]);
    world.commit().await;
    let retrieval = found(&world, &asking(Mode::CommunityGlobal, THEMES)).await;
    assert!(matches!(retrieval.notes[..], [QueryNote::LayerOutdated { .. }]), "{:?}", retrieval.notes);
}

#[tokio::test]
async fn local_search_gathers_reports_entities_relations_and_passages() {
    let mut world = world().await;
    let asked = asking(Mode::CommunityLocal, "What does Ann4 of Town4 work as?");
    let retrieval = found(&world, &asked).await;
    assert!(retrieval.reports[0].title.contains("Town4"), "{:?}", retrieval.reports);
    assert_eq!(retrieval.chunks[0].chunk.text, "Ann4 and Bob4 and Cid4 of Town4 work as Weaver.");
    for heading in ["## Reports", "## Entities", "## Relations", "## Passages", "## Documents"] {
        assert!(retrieval.context.contains(heading), "{heading}: {}", retrieval.context);
    }
    let mut small = asked.clone();
    small.reports.call_tokens = 500;
    let less = found(&world, &small).await;
    let tokens = world.engine.tokenizer.count(&less.context);
    assert!(tokens <= 500 + 300 && less.context.len() < retrieval.context.len(), "{tokens}");
    let model = world.answering(&[&["Ann4 works as Weaver [1]."]]);
    let retrieval = found(&world, &asked).await;
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!((model.calls(), answer.citations.len()), (1, 1));
}

#[tokio::test]
async fn drift_looks_up_follow_up_questions_within_its_calls() {
    let mut world = world().await;
    let asked = asking(Mode::Drift, "How do the Weaver people of Town4 live?");
    let refused = retrieve(&world.engine, &asked).await.expect_err("an error");
    assert!(matches!(refused, QueryError::NoAnswerModel { mode: Mode::Drift }), "{refused:?}");
    let analyst =
        Analyst { follow_up: Some("Who works in Town4?"), ..Analyst::default() }.in_world(&mut world);
    let retrieval = found(&world, &asked).await;
    assert_eq!(retrieval.follow_ups, ["Who works in Town4?"], "each question is asked once");
    let steps = analyst.asked("drift");
    assert_eq!(steps.len(), 2);
    assert!(
        steps[1].contains("This step: Who works in Town4?") && steps[1].contains("[P1] "),
        "{}",
        steps[1]
    );
    let (answer, _) = answered(&world, &asked, &retrieval).await;
    assert_eq!((answer.citations.len(), answer.dropped_citations), (1, 0), "{}", answer.text);
    let mut short = asked.clone();
    short.reports.max_calls = 2;
    short.cache = false;
    let retrieval = found(&world, &short).await;
    assert!(retrieval.follow_ups.is_empty());
    assert!(
        matches!(retrieval.notes[..], [QueryNote::FollowUpsLeftOut { left_out: 1 }]),
        "{:?}",
        retrieval.notes
    );
}

#[tokio::test]
async fn the_prompts_for_points_render_as_reviewed() {
    let mut world = World::library().await;
    derive(&world.engine, &Communities, &|_| {}, &|_| true).await.expect("the store works");
    let mut asked = asking(Mode::CommunityGlobal, THEMES);
    asked.only_need_prompt = true;
    let retrieval = found(&world, &asked).await;
    let prompt = crate::query::prompt_of(&world.engine, &asked, &retrieval);
    insta::assert_snapshot!("map_prompt", prompt[1].content);
    asked.only_need_prompt = false;
    Analyst { follow_up: Some("Who was Ada?"), ..Analyst::default() }.in_world(&mut world);
    let retrieval = found(&world, &asked).await;
    insta::assert_snapshot!("points_context", retrieval.context);
    let local = found(&world, &asking(Mode::CommunityLocal, "Who wrote notes?")).await;
    insta::assert_snapshot!("local_context", local.context);
}

#[tokio::test]
async fn the_prompts_for_ratings_steps_and_answers_render_as_reviewed() {
    let mut world = World::library().await;
    derive(&world.engine, &Communities, &|_| {}, &|_| true).await.expect("the store works");
    let analyst = Analyst { follow_up: Some("Who was Ada?"), ..Analyst::default() }.in_world(&mut world);
    let mut asked = asking(Mode::CommunityGlobal, "What did Charles Babbage do in London?");
    asked.reports.rate = RateReports::Model;
    found(&world, &asked).await;
    let asked = asking(Mode::Drift, "How do the people of London live?");
    let retrieval = found(&world, &asked).await;
    answered(&world, &asked, &retrieval).await;
    for kind in ["rate", "drift", "answer"] {
        insta::assert_snapshot!(format!("{kind}_prompt"), analyst.first_prompt(kind));
    }
}
