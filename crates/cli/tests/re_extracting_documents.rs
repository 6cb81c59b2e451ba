//! A document is extracted again with another model; questions use the old extraction until that is done.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::{ScriptedModel, with_things};
use crate::common::serving::{PATIENCE, Serving};

const NAMES: [&str; 2] = ["ThingA", "ThingB"];
const RE_EXTRACT: [&str; 4] = ["re-extract", "docs/ThingA.md", "--set", "extract_llm=openai:second"];

fn asked(model: &ScriptedModel) -> usize {
    model.asked().values().sum()
}

/// Writes two documents without adding them.
fn unread(model: &ScriptedModel) -> Graphloom {
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    for name in NAMES {
        graphloom.write(&format!("docs/{name}.md"), format!("{name} stands beside ThingZ.\n"));
    }
    graphloom
}

/// Adds two documents with one model, and a third with the model that the workspace switches to.
fn extracted_by_two_models(model: &ScriptedModel) -> Graphloom {
    let graphloom = unread(model);
    graphloom.ok(&["add", "docs", "--llm", "openai:scripted"]);
    graphloom.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    graphloom.ok(&["add", "docs/ThingC.md", "--switch", "--llm", "openai:second"]);
    graphloom
}

#[test]
fn one_document_can_be_re_extracted_with_another_model() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 0, 500]);
    let graphloom = with_things(&model, &NAMES);
    graphloom.ok(&["add", "docs"]);
    assert_eq!(asked(&model), 2);
    let estimating: Vec<&str> = RE_EXTRACT.iter().copied().chain(["--estimate"]).collect();
    let estimate = graphloom.json(&estimating);
    assert_eq!((&estimate["documents"], &estimate["chunks"]), (&json!(1), &json!(1)));
    assert_eq!(estimate["steps"][0]["model"], "openai:second");
    let short: Vec<&str> = RE_EXTRACT.iter().copied().chain(["--budget", "100tokens"]).collect();
    graphloom.run(&short).exits(5);
    assert_eq!(asked(&model), 2, "neither an estimate nor a small budget causes calls");
    graphloom.run(&["status"]).exits(0).says("re-extraction by openai:second: 0 of 1 chunk");

    graphloom.run(&[&["-v"], &RE_EXTRACT[..]].concat()).exits(0).says("status --track re-extract-");
    assert_eq!(asked(&model), 3);
    graphloom.run(&RE_EXTRACT).exits(0).says("1 document already extracted by this model");
    graphloom.run(&["add", "docs"]).exits(0).says("2 unchanged");
    assert_eq!(asked(&model), 3, "existing chunks cause no calls");

    let plain = with_things(&model, &NAMES);
    plain.ok(&["add", "docs/ThingA.md", "--set", "extract_llm=openai:second"]);
    plain.ok(&["add", "docs/ThingB.md", "--switch"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[test]
fn a_chunk_that_fails_keeps_its_old_extraction_and_is_listed() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &NAMES);
    graphloom.ok(&["add", "docs"]);
    model.refuse(Some("ThingA"));
    let ran = graphloom.run(&RE_EXTRACT).exits(3);
    ran.says("failed: docs/ThingA.md chunk 0: ").says("`graphloom re-extract` retries the failures");
    graphloom.run(&["status"]).exits(0).says("chunk 0 keeps its old extraction");
    assert!(graphloom.ok(&["graph", "ThingA"]).contains("docs/ThingA.md:1"));
    graphloom.run(&["check"]).exits(0);

    let before = graphloom.hash();
    let done = graphloom.json(&["cancel", "docs/ThingA.md"]);
    assert_eq!(done["kept"][0]["source"], "docs/ThingA.md");
    assert_ne!(graphloom.hash(), before, "a failed re-extraction is part of the state until it is given up");
    let plain = with_things(&model, &NAMES);
    model.refuse(None);
    plain.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[test]
fn documents_outside_the_graph_are_not_re_extracted() {
    let model = ScriptedModel::start();
    let graphloom = with_things(&model, &NAMES);
    graphloom.ok(&["add", "docs", "--no-wait"]);
    graphloom.run(&RE_EXTRACT).exits(1).says("none of these documents is in the graph yet");
    graphloom.run(&["re-extract", "docs/none.md"]).exits(1).says("no document");
    graphloom.run(&["re-extract"]).exits(2);
}

#[cfg(unix)]
#[test]
fn the_server_re_extracts_documents_that_another_model_extracted() {
    let model = ScriptedModel::start();
    let graphloom = extracted_by_two_models(&model);
    let count = asked(&model);
    let serving = Serving::start(&graphloom, &[]);
    let listed = serving.ok("POST", "/documents/paginated", "", &json!({}));
    let documents = listed["documents"].as_array().expect("documents");
    let ids =
        json!({ "doc_ids": documents.iter().map(|document| document["id"].clone()).collect::<Vec<_>>() });
    let estimate = |serving: &Serving| serving.ok("POST", "/documents/re_extract/estimate", "", &ids);
    let before = estimate(&serving);
    assert_eq!((&before["documents"], &before["unchanged"]), (&json!(2), &json!(1)), "{before}");
    assert_eq!(asked(&model), count, "an estimate calls no model");

    let begun = serving.ok("POST", "/documents/re_extract", "", &ids);
    assert_eq!(begun["status"], "re_extraction_started");
    let until = Instant::now() + PATIENCE;
    while estimate(&serving)["unchanged"] != 3 {
        assert!(Instant::now() < until, "not re-extracted");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(asked(&model) > count);
    let (status, said) =
        serving.send("POST", "/documents/re_extract", "", &json!({ "doc_ids": ["doc-none"] }));
    assert_eq!(status, 404, "{said}");
    serving.stop();
    graphloom.run(&["check"]).exits(0);

    let plain = unread(&model);
    plain.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    plain.ok(&["add", "docs", "--llm", "openai:second"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[cfg(unix)]
#[test]
fn waiting_re_extractions_resume_after_a_server_restart() {
    let model = ScriptedModel::start();
    let graphloom = extracted_by_two_models(&model);
    let count = asked(&model);
    graphloom.ok(&["pause"]);
    let serving = Serving::start(&graphloom, &[]);
    let listed = serving.ok("POST", "/documents/paginated", "", &json!({}));
    let documents = listed["documents"].as_array().expect("documents");
    let ids =
        json!({ "doc_ids": documents.iter().map(|document| document["id"].clone()).collect::<Vec<_>>() });
    let begun = serving.ok("POST", "/documents/re_extract", "", &ids);
    assert_eq!(begun["message"], "2 chunks of 2 documents are extracted again, 1 are by this model already");
    serving.stop();
    assert_eq!(asked(&model), count, "the queue is paused");

    graphloom.ok(&["resume"]);
    let serving = Serving::start(&graphloom, &[]);
    let until = Instant::now() + PATIENCE;
    while serving.ok("POST", "/documents/re_extract/estimate", "", &ids)["unchanged"] != 3 {
        assert!(Instant::now() < until, "not re-extracted");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(asked(&model), count + 2);
    serving.stop();
    graphloom.run(&["check"]).exits(0);
}
