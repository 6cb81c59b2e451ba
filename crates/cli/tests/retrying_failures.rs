//! A failed chunk does not affect other chunks, is listed, and is retried alone.

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

#[test]
fn a_failed_chunk_is_listed_and_retried_alone() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_GLEANING", "0");
    for name in ["ThingA", "ThingB", "ThingC"] {
        graphloom.write(&format!("docs/{name}.md"), format!("{name} stands beside ThingZ.\n"));
    }
    model.refuse(Some("ThingB"));
    let ran = graphloom.run(&["add", "docs"]).exits(3);
    ran.says("failed: docs/ThingB.md chunk 0: ").says("`graphloom retry` retries the failures");
    let status = graphloom.json(&["status"]);
    assert_eq!(status["by_status"]["ready"], 2);
    assert_eq!(status["by_status"]["incomplete"], 1);
    graphloom.run(&["add", "docs"]).exits(0).says("earlier failures: `graphloom retry` retries them");

    model.refuse(None);
    let asked_before: usize = model.asked().values().sum();
    graphloom.run(&["retry"]).exits(0);
    let asked_after: usize = model.asked().values().sum();
    assert_eq!(asked_after - asked_before, 1, "only the failed chunk causes a call");
    assert_eq!(graphloom.json(&["status"])["by_status"]["ready"], 3);
    assert!(graphloom.ok(&["graph", "ThingB"]).contains("docs/ThingB.md:1"));
}
