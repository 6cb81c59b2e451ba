//! The cost of indexing is estimated before, limited while it runs, and read from the ledger afterwards.

use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

const PRICES: &str = "openai:scripted=1.00/2.00/0.50";

fn with_model(model: &ScriptedModel) -> Graphloom {
    Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_MAX_CONCURRENT_CALLS", "1")
}

fn write_things(graphloom: &Graphloom, names: &[&str]) {
    for name in names {
        graphloom.write(&format!("docs/{name}.md"), format!("{name} stands beside ThingZ.\n"));
    }
}

fn asked(model: &ScriptedModel) -> usize {
    model.asked().values().sum()
}

#[test]
fn an_estimate_sends_and_stores_nothing_and_matches_what_adding_sends() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model).with("GRAPHLOOM_PRICES", PRICES);
    write_things(&graphloom, &["ThingA", "ThingB", "ThingC"]);
    let estimate = graphloom.json(&["add", "docs", "--estimate"]);
    assert_eq!(asked(&model), 0);
    assert!(!graphloom.path(".graphloom").exists(), "an estimate leaves nothing behind");
    assert_eq!(
        (&estimate["documents"], &estimate["chunks"], &estimate["reused"]),
        (&json!(3), &json!(3), &json!(0))
    );
    let extract = &estimate["steps"][0];
    assert_eq!((&extract["step"], &extract["calls"]), (&json!("extract"), &json!({ "low": 3, "high": 3 })));
    assert_eq!(extract["input_tokens"]["low"], extract["input_tokens"]["high"]);
    let price = |end: &str| extract["price"][end].as_f64().expect("a price");
    assert!(price("low") > 0.0 && price("high") > price("low"));

    graphloom.ok(&["add", "docs", "--gleaning", "0"]);
    assert_eq!(asked(&model), 3, "the calls match the estimate");
}

#[test]
fn existing_documents_and_chunks_cost_nothing_again() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model);
    write_things(&graphloom, &["ThingA", "ThingB"]);
    graphloom.ok(&["add", "docs"]);
    graphloom.write("docs/copy.md", "ThingA stands beside ThingZ.\n");
    let estimate = graphloom.json(&["add", "docs", "--estimate"]);
    assert_eq!((&estimate["documents"], &estimate["unchanged"]), (&json!(1), &json!(2)));
    assert_eq!((&estimate["chunks"], &estimate["reused"]), (&json!(1), &json!(1)));
    assert_eq!(estimate["steps"], json!([]));
    let before = asked(&model);
    graphloom.ok(&["add", "docs"]);
    assert_eq!(asked(&model), before, "the copy caused a call despite the estimate");
}

#[test]
fn a_model_without_a_price_is_named() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model);
    write_things(&graphloom, &["ThingA"]);
    let ran = graphloom.run(&["add", "docs", "--estimate"]).exits(0);
    ran.says("no price configured for openai:scripted").says("nothing was sent");
    let ran = graphloom.run(&["add", "docs", "--budget", "1.50"]).exits(2);
    ran.says("no price is configured for openai:scripted").says("set prices to openai:scripted=");
    assert!(!graphloom.path(".graphloom/default.graphloom").exists());
}

#[test]
fn a_budget_stops_before_the_call_that_would_exceed_it_and_a_later_run_resumes() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 0, 500]);
    let graphloom = with_model(&model);
    let names = ["ThingA", "ThingB", "ThingC", "ThingD", "ThingE"];
    write_things(&graphloom, &names);
    // Each call reserves its prompt and 4,096 tokens, and then costs 2,500. So three calls fit into 10,000, and a fourth does not.
    let ran = graphloom.run(&["add", "docs", "--budget", "10k"]).exits(5);
    ran.says("stopped by the budget: 7500 of 10000 tokens are spent")
        .says("each run starts with a full --budget");
    assert_eq!(asked(&model), 3);
    let calls = graphloom.json(&["cost"])["total"].clone();
    assert_eq!((&calls["calls"], &calls["failed"]), (&json!(3), &json!(0)), "unsent requests are not calls");
    let status = graphloom.json(&["status"]);
    assert_eq!((&status["by_status"]["ready"], &status["by_status"]["failed"]), (&json!(3), &Value::Null));

    graphloom.run(&["add", "docs", "--budget", "10k"]).exits(0);
    assert_eq!(asked(&model), 5, "nothing is paid for twice");
    let whole = with_model(&model);
    write_things(&whole, &names);
    whole.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), whole.hash(), "a budget leaves no trace");
}

#[test]
fn a_gleaning_call_beyond_the_budget_leaves_its_chunk_to_a_later_run() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 0, 500]);
    let once_more = |model| with_model(model).with("GRAPHLOOM_GLEANING", "1");
    let graphloom = once_more(&model);
    write_things(&graphloom, &["ThingA", "ThingB"]);
    graphloom.run(&["add", "docs", "--budget", "6k"]).exits(5);
    assert_eq!(asked(&model), 1);
    assert_eq!(graphloom.json(&["cost"])["total"]["calls"], 1, "paid calls are in the ledger");
    graphloom.run(&["retry"]).exits(0);
    let whole = once_more(&model);
    write_things(&whole, &["ThingA", "ThingB"]);
    whole.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), whole.hash());
}

#[test]
fn a_money_budget_uses_the_configured_prices() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 1000, 500]);
    let graphloom = with_model(&model).with("GRAPHLOOM_PRICES", PRICES);
    write_things(&graphloom, &["ThingA", "ThingB", "ThingC"]);
    // A call costs .0025 and reserves about .0085.
    graphloom.run(&["add", "docs", "--budget", "0.0120"]).exits(5).says("0.0050 of 0.0120 are spent");
    assert_eq!(asked(&model), 2);
    graphloom.run(&["retry", "--budget", "0.0001"]).exits(5).says("with a larger --budget");
    graphloom.run(&["retry", "--budget", "1.0"]).exits(0).says("used 0.0025 of the budget of 1.0000");
    assert_eq!(asked(&model), 3);
}

#[test]
fn the_budget_of_a_workspace_limits_every_command_and_is_copied_with_it() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 1000, 500]);
    let graphloom = with_model(&model).with("GRAPHLOOM_PRICES", PRICES);
    write_things(&graphloom, &["ThingA", "ThingB", "ThingC"]);
    graphloom.run(&["budget"]).exits(1).says("no workspace");
    assert!(graphloom.ok(&["budget", "0.0120"]).starts_with("0.0000 of 0.0120 spent since "));
    graphloom.run(&["add", "docs"]).exits(5).says("the workspace has spent 0.0050 of its budget of 0.0120");
    graphloom.run(&["work"]).exits(5).says("raise the budget of the workspace");
    let status = graphloom.json(&["status"]);
    assert_eq!((&status["waits_for"], &status["budget"]["spent"]), (&json!("budget"), &json!(0.005)));
    let status = graphloom.ok(&["status"]);
    assert!(status.contains("budget      0.0050 of 0.0120 spent since "), "{status}");
    assert!(status.contains("waits       for a larger budget"), "{status}");
    assert_eq!(asked(&model), 2);
    let budget = graphloom.json(&["budget"])["budget"].clone();
    assert_eq!(
        (&budget["unit"], &budget["spent"], &budget["amount"]),
        (&json!("money"), &json!(0.005), &json!(0.012))
    );
    // A budget of the run applies in addition.
    graphloom.ok(&["budget", "1.0"]);
    graphloom.run(&["retry", "--budget", "0.0001"]).exits(5).says("0.0000 of 0.0001 are spent");
    assert_eq!(asked(&model), 2);
    graphloom.ok(&["retry"]);
    assert_eq!(graphloom.json(&["budget"])["budget"]["spent"], json!(0.0075));
    graphloom.ok(&["copy", ".graphloom", "elsewhere"]);
    assert_eq!(graphloom.json(&["budget", "--data-dir", "elsewhere"])["budget"]["spent"], json!(0.0075));
    assert_eq!(
        graphloom.json(&["budget", "5k"])["budget"]["spent"],
        json!(0.0),
        "another unit counts from 0"
    );
    graphloom.ok(&["budget", "none"]);
    assert_eq!(graphloom.json(&["budget"])["budget"], Value::Null);
    graphloom
        .run(&["budget", "1.0", "--set", "prices=other=1"])
        .exits(2)
        .says("no price is configured for openai:scripted");
    graphloom.run(&["budget", "500"]).exits(2).says("tokens with a unit");
}

#[test]
fn a_budget_without_a_clear_unit_is_refused() {
    let graphloom = Graphloom::new();
    graphloom.run(&["add", "docs", "--budget", "500"]).exits(2).says("tokens with a unit");
}

#[test]
fn the_ledger_is_grouped_as_requested() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 1000, 500]);
    let graphloom = with_model(&model).with("GRAPHLOOM_PRICES", PRICES);
    write_things(&graphloom, &["ThingA", "ThingB"]);
    graphloom.ok(&["add", "docs"]);
    let cost = graphloom.json(&["cost"]);
    let row = &cost["rows"][0];
    assert_eq!((&row["role"], &row["model"]), (&json!("extract"), &json!("openai:scripted")));
    assert_eq!((&row["prompt_tokens"], &row["cached_prompt_tokens"]), (&json!(4000), &json!(2000)));
    assert_eq!((&row["completion_tokens"], &row["cost"]), (&json!(1000), &json!(0.005)));
    let by_document = graphloom.json(&["cost", "--by", "document"]);
    let documents: Vec<&Value> =
        by_document["rows"].as_array().expect("rows").iter().map(|row| &row["document"]).collect();
    assert_eq!(documents, [&json!("docs/ThingA.md"), &json!("docs/ThingB.md")]);
    assert!(graphloom.ok(&["cost", "--by", "day,role"]).contains("extract: 2 calls, 4000 tokens in"));
    let unpriced = graphloom.run(&["cost", "--set", "prices=other=1"]).exits(0);
    unpriced.says("no price configured for openai:scripted");
}

#[test]
fn calls_of_a_service_that_reports_no_tokens_are_never_shown_as_free() {
    let model = ScriptedModel::start();
    model.report_usage(false);
    let graphloom = with_model(&model).with("GRAPHLOOM_PRICES", PRICES);
    write_things(&graphloom, &["ThingA", "ThingB"]);
    graphloom.ok(&["add", "docs"]);
    let unknown = "2 calls, unknown tokens, because the service reports none";
    assert!(graphloom.ok(&["status"]).contains(unknown));
    assert!(graphloom.ok(&["cost"]).contains(&format!("total: {unknown}, costs unknown")));
    graphloom.run(&["doctor"]).exits(0).says("openai:scripted answers; it reports no tokens");
    for (command, at) in [("status", "/calls/0"), ("cost", "/rows/0"), ("cost", "/total")] {
        let printed = graphloom.json(&[command]);
        assert_eq!(printed.pointer(at).map(|calls| &calls["uncounted_calls"]), Some(&json!(2)));
    }

    model.report_usage(true);
    graphloom.write("docs/ThingC.md", "ThingC stands beside ThingZ.\n");
    graphloom.ok(&["add", "docs"]);
    let tokens = "3 calls, 10 tokens in, 5 tokens out, and unknown tokens in 2 calls";
    assert!(graphloom.ok(&["status"]).contains(tokens));
    assert!(graphloom.ok(&["cost"]).contains(&format!("{tokens}, costs more than <0.0001")));
}

#[test]
fn a_budget_counts_the_tokens_itself_if_the_service_reports_none() {
    let model = ScriptedModel::start();
    model.report_usage(false);
    let graphloom = with_model(&model);
    write_things(&graphloom, &["ThingA"]);
    graphloom.ok(&["budget", "1M"]);
    graphloom.ok(&["add", "docs"]);
    assert!(graphloom.json(&["budget"])["budget"]["spent"].as_f64().expect("a number") > 100.0);
}

#[test]
fn prices_can_come_from_a_table_in_a_configuration_file() {
    let model = ScriptedModel::start();
    model.count_tokens([2000, 1000, 500]);
    let graphloom = with_model(&model);
    graphloom.write(
        "graphloom.toml",
        "[prices]\n\"openai:scripted\" = { input = 1, output = 2.0, cached_input = 0.5 }\nother = 3\n",
    );
    write_things(&graphloom, &["ThingA"]);
    graphloom.ok(&["add", "docs"]);
    assert_eq!(graphloom.json(&["cost"])["total"]["cost"], json!(0.0025));
    graphloom.write("graphloom.toml", "[prices]\n\"openai:scripted\" = { inptu = 1 }\n");
    graphloom.run(&["cost"]).exits(2).says("prices");
}

#[test]
fn a_chunk_is_gleaned_again_only_for_missed_names() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model);
    // The model extracts things but no people.
    graphloom.write("people.md", "ThingA was built by Maren Oskoldt and Tobias Wren for Ilse Brandt.\n");
    graphloom.write("things.md", "ThingB stands beside ThingC.\n");
    graphloom.ok(&["add", "people.md", "things.md"]);
    let asked = model.asked();
    assert_eq!(asked.values().sum::<usize>(), 3, "{:?}", asked.keys());
    let again =
        asked.keys().find(|prompt| prompt.contains("Missed in the last extraction")).expect("asked again");
    for part in ["Maren Oskoldt", "Tobias Wren", "Ilse Brandt", "Already written: ThingA"] {
        assert!(again.contains(part), "{part} in {again}");
    }
}
