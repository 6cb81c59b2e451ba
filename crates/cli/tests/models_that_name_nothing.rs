//! `add`, `status` and the server report a model that names nothing.

use serde_json::Value;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;
use crate::common::serving::Serving;

/// Writes `empty` documents in which the scripted model names nothing, and `others` in which it does.
fn documents(model: &ScriptedModel, empty: usize, others: usize) -> Graphloom {
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_GLEANING", "0");
    for number in 0..empty {
        graphloom.write(&format!("docs/empty{number}.md"), format!("Nobody stands at place {number}.\n"));
    }
    for number in 0..others {
        graphloom.write(&format!("docs/other{number}.md"), format!("Thing{number} stands beside ThingZ.\n"));
    }
    graphloom
}

#[test]
fn chunks_without_records_are_counted_and_cause_a_warning_if_they_are_the_majority() {
    let model = ScriptedModel::start();
    let graphloom = documents(&model, 3, 1);
    let added = graphloom.run(&["add", "docs"]).exits(0);
    let added = added.says("4 documents in the graph, nothing named in 3 of 4 chunks");
    assert!(added.stderr.contains("warning: in 3 of 4 chunks no entity was named"), "{}", added.stderr);
    graphloom.run(&["status"]).exits(0).says("empty       in 3 of 4 chunks no entity was named");
    assert_eq!(graphloom.json(&["status"])["empty_extractions"], 3);
    // The same text is read once.
    graphloom.write("docs/copy.md", "Nobody stands at place 0.\n");
    graphloom.run(&["add", "docs"]).exits(0);
    graphloom.run(&["status"]).exits(0).says("empty       in 3 of 4 different chunks no entity was named");
}

#[test]
fn a_few_empty_chunks_are_counted_without_a_warning() {
    let model = ScriptedModel::start();
    let graphloom = documents(&model, 1, 3);
    let ran = graphloom.run(&["--json", "add", "docs"]).exits(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let summary: Value = serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!(summary["run"]["report"]["empty_chunks"], 1);
}

#[test]
fn a_server_reports_how_many_extractions_are_empty() {
    let model = ScriptedModel::start();
    let graphloom = documents(&model, 2, 1);
    graphloom.run(&["add", "docs"]).exits(0);
    let server = Serving::start(&graphloom, &[]);
    let status = server.ok("GET", "/documents/pipeline_status", "", &Value::Null);
    assert_eq!(status["empty_extractions"], 2);
    let (code, metrics) = server.send("GET", "/metrics", "", &Value::Null);
    assert_eq!(code, 200);
    assert!(metrics.contains("graphloom_extractions_empty{workspace=\"default\"} 2"), "{metrics}");
}
