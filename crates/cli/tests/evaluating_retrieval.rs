//! Questions with known answers are asked in several modes, and the results are scored, saved and compared.

use std::fs;

use serde_json::Value;

use crate::common::{CommandResult, Graphloom};

const CORPUS: &str = r#"{"id": "p1", "title": "Ada Lovelace", "text": "Ada Lovelace wrote the first program for the Analytical Engine."}
{"id": "p2", "title": "Charles Babbage", "text": "Charles Babbage designed the Analytical Engine in London."}
{"id": "p3", "title": "Marie Curie", "text": "Marie Curie discovered radium in Paris."}
{"id": 4, "title": "Tea", "text": "Tea is made of leaves and hot water."}
"#;

const QUESTIONS: &str = r#"{"id": "q1", "question": "Who discovered radium?", "answers": ["Marie Curie"], "type": "one", "gold": ["p3"]}
{"id": "q2", "question": "Who designed the Analytical Engine that Ada Lovelace wrote the first program for?", "answers": ["Charles Babbage"], "type": "two", "gold": ["p1", "p2"]}
{"id": "q3", "question": "What is said about nothing at all?"}
"#;

/// Returns the program with the question set `docs-set`.
fn with_set() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("docs-set/corpus.jsonl", CORPUS);
    graphloom.write("docs-set/questions.jsonl", QUESTIONS);
    graphloom
}

fn retrieval(graphloom: &Graphloom, more: &[&str]) -> CommandResult {
    graphloom.run(&[&["eval", "retrieval", "--data", "docs-set", "--k", "1,2"], more].concat())
}

#[test]
fn a_set_is_indexed_once_asked_in_every_mode_and_reported_as_text_and_json() {
    let graphloom = with_set();
    let ran = retrieval(&graphloom, &["--modes", "naive,ppr", "--out", "run.json", "--html", "run.html"]);
    let ran =
        ran.exits(0).says("workspace eval-docs-set: 4 passages to index").says("1 question without gold");
    for part in [
        "docs-set: 2 questions, 4 passages",
        "recall@2",
        "ndcg@1",
        "mrr",
        "recall@2 by type",
        "p50 / p90 / p99 ms",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let report: Value =
        serde_json::from_slice(&fs::read(graphloom.path("run.json")).expect("there")).expect("JSON");
    assert_eq!(report["run"]["workspace"], "eval-docs-set");
    assert_eq!(report["rows"].as_array().map(Vec::len), Some(4));
    let row = &report["rows"][0];
    assert_eq!(
        (row["arm"].as_str(), row["id"].as_str(), &row["ranked"][0]),
        (Some("naive"), Some("q1"), &"p3".into())
    );
    assert_eq!(report["groups"][0]["metrics"]["recall@2"]["mean"], 1.0);
    let page = fs::read_to_string(graphloom.path("run.html")).expect("there");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg") && !page.contains("http"));

    let ran = retrieval(&graphloom, &["--json", "--modes", "auto"])
        .exits(0)
        .says("0 passages to index, 4 unchanged");
    let report: Value = serde_json::from_str(&ran.stdout).expect("one JSON value on stdout");
    assert_eq!(report["arms"][0]["name"], "auto");
}

#[test]
fn a_run_resumes_where_it_stopped_and_repeats_changed_questions() {
    let graphloom = with_set();
    let arms = ["--modes", "naive", "--out", "run.json"];
    retrieval(&graphloom, &arms).exits(0);
    let rows = graphloom.path("run.json.rows.jsonl");
    let kept = fs::read_to_string(&rows).expect("kept");
    let first = kept.lines().next().expect("a row");
    // As after `kill -9`: one complete row and the beginning of another.
    fs::write(&rows, format!("{first}\n{{\"key\": \"")).expect("written");
    let with = |more: &[&str]| retrieval(&graphloom, &[arms.as_slice(), &["--resume"], more].concat());
    with(&[])
        .exits(0)
        .says("1 of 2 questions already asked")
        .says("1 line of run.json.rows.jsonl cannot be read");
    with(&[]).exits(0).says("2 of 2 questions already asked");
    with(&["--arm", r#"few={"mode": "naive", "chunk_top_k": 1}"#])
        .exits(0)
        .says("2 of 4 questions already asked");
    graphloom.write("docs-set/corpus.jsonl", CORPUS.replace("hot water", "boiling water"));
    with(&[]).exits(0).says("1 passage to index, 3 unchanged").says("0 of 2 questions already asked");
}

#[test]
fn a_result_with_other_timing_options_is_not_reused() {
    let graphloom = with_set();
    let with = |more: &[&str]| {
        retrieval(&graphloom, &[&["--modes", "naive", "--out", "run.json", "--resume"], more].concat())
            .exits(0)
    };
    with(&[]).says("0 of 2 questions already asked");
    with(&["--timed", "2"])
        .says("0 of 2 questions already asked")
        .says("run.json.rows.jsonl has results only for");
    with(&["--concurrency", "3"]).says("0 of 2 questions already asked");
    with(&["--timed", "2", "--concurrency", "3"]).says("0 of 2 questions already asked");
    with(&["--timed", "2"]).says("2 of 2 questions already asked");
    with(&[]).says("2 of 2 questions already asked");
}

#[test]
fn spaces_between_ranks_and_modes_are_allowed() {
    let graphloom = with_set();
    let ran = graphloom.run(&[
        "eval",
        "retrieval",
        "--data",
        "docs-set",
        "--k",
        "2, 1",
        "--modes",
        "naive, ppr",
        "--json",
    ]);
    let report: Value = serde_json::from_str(&ran.exits(0).stdout).expect("one JSON value on stdout");
    assert_eq!(
        (&report["ks"], report["arms"].as_array().map(Vec::len)),
        (&serde_json::json!([1, 2]), Some(2))
    );
    graphloom
        .run(&["eval", "retrieval", "--data", "docs-set", "--k", "2,x"])
        .exits(2)
        .says("invalid value 'x' for '--k");
}

#[test]
fn runs_and_the_arms_of_one_run_are_compared_question_by_question() {
    let graphloom = with_set();
    let few = r#"few={"mode": "naive", "chunk_top_k": 1}"#;
    retrieval(&graphloom, &["--modes", "naive", "--arm", few, "--out", "run.json"]).exits(0);
    let same = graphloom.run(&["eval", "compare", "run.json", "run.json"]).exits(0);
    assert!(same.stdout.contains("naive: 2 questions") && !same.stdout.contains(">"), "{}", same.stdout);
    let compared = graphloom.json(&["eval", "compare", "run.json", "run.json", "--arm", "naive=few"]);
    let twice = ["eval", "compare", "run.json", "run.json", "--arm", "naive=few", "--arm", "naive=few"];
    assert_eq!(graphloom.json(&twice), compared);
    let worse = compared["arms"][0]["worse"].as_array().expect("a list");
    assert_eq!(
        (worse.len(), &worse[0]["id"], compared["is_worse"].as_bool()),
        (1, &"q2".into(), Some(false))
    );
    graphloom
        .run(&["eval", "compare", "run.json", "run.json", "--arm", "naive=best"])
        .exits(2)
        .says("the second run has no arm best; it has naive, few");
    graphloom.write("not.json", "{}");
    graphloom
        .run(&["eval", "compare", "run.json", "not.json"])
        .exits(2)
        .says("is not a report of `eval retrieval`");
    graphloom.run(&["eval", "compare", "run.json", "none.json"]).exits(1).says("reading none.json");
}

#[test]
fn a_significantly_worse_result_has_its_own_exit_code() {
    let graphloom = with_set();
    retrieval(&graphloom, &["--modes", "naive", "--out", "run.json"]).exits(0);
    let mut report: Value =
        serde_json::from_slice(&fs::read(graphloom.path("run.json")).expect("there")).expect("JSON");
    let row = report["rows"][0].clone();
    let rows = |ranked: &[&str]| {
        let row = |number: usize| {
            let mut row = row.clone();
            row["id"] = format!("q{number}").into();
            row["ranked"] = ranked.into();
            row
        };
        (0..20).map(row).collect::<Vec<Value>>()
    };
    for (name, ranked) in [("good.json", ["p3"].as_slice()), ("bad.json", &[])] {
        report["rows"] = rows(ranked).into();
        graphloom.write(name, report.to_string());
    }
    graphloom.run(&["eval", "compare", "good.json", "bad.json"]).exits(3).says("worse: 20 questions");
    graphloom.run(&["eval", "compare", "bad.json", "good.json"]).exits(0).says("better: 20 questions");
}

#[test]
fn other_documents_of_the_workspace_take_part_only_on_request() {
    let graphloom = with_set();
    graphloom.write("docs/radium.md", "Radium was discovered by Marie Curie.\n");
    graphloom.ok(&["--workspace", "mine", "add", "docs"]);
    let mine =
        |more: &[&str]| retrieval(&graphloom, &[&["--workspace", "mine", "--modes", "naive"], more].concat());
    mine(&[])
        .exits(2)
        .says("workspace mine holds 1 document that is not a passage of docs-set, such as docs/radium.md");
    assert_eq!(
        graphloom.json(&["--workspace", "mine", "status"])["documents"].as_array().map(Vec::len),
        Some(1)
    );
    let ran = mine(&["--with-others", "--json"]).exits(0);
    assert!(ran.stdout.contains("docs/radium.md"), "{}", ran.stdout);
    let ran = mine(&["--prune", "--json"]).exits(0).says("1 other document removed");
    assert!(!ran.stdout.contains("docs/radium.md"), "{}", ran.stdout);
}

#[test]
fn questions_about_existing_documents_need_no_corpus() {
    let graphloom = Graphloom::new();
    graphloom.write(
        "set/questions.jsonl",
        r#"{"id": 1, "question": "Who discovered radium?", "gold": ["docs/radium.md"]}"#,
    );
    graphloom.write("docs/radium.md", "Radium was discovered by Marie Curie.\n");
    let asked = ["eval", "retrieval", "--data", "set", "--modes", "naive"];
    graphloom
        .run(&asked)
        .exits(1)
        .says("set has no corpus.jsonl")
        .says("help: write corpus.jsonl with lines such as");
    graphloom.ok(&["--workspace", "mine", "add", "docs"]);
    let mine = [&["--workspace", "mine"], asked.as_slice()].concat();
    let report = graphloom.json(&mine);
    assert_eq!(report["groups"][0]["metrics"]["mrr"]["mean"], 1.0);

    let with = |more: &[&str]| graphloom.run(&[mine.as_slice(), more].concat());
    with(&["--prune"])
        .exits(2)
        .says("--prune removes documents that are not passages of the set, but set has no corpus.jsonl")
        .says("help: remove --prune");
    with(&["--resume", "--with-others", "--budget", "2M"])
        .exits(0)
        .says("1 of 1 question already asked")
        .says("--with-others has no effect")
        .says("--budget has no effect: set has no corpus.jsonl to index");
    // Arms may filter by metadata.
    graphloom.ok(&["--workspace", "mine", "add", "docs", "--meta", "kind=note"]);
    with(&["--resume"]).exits(0).says("0 of 1 question already asked");
    graphloom.write(
        "set/questions.jsonl",
        r#"{"id": 1, "question": "Who discovered radium?", "gold": ["docs/radium.md", "docs/none.md"]}"#,
    );
    let ran = with(&[]).exits(0);
    let ran = ran.says(
        "question 1 needs passage docs/none.md, which is not in workspace mine: it counts as not found",
    );
    assert!(!ran.stderr.contains("passage docs/radium.md"), "{}", ran.stderr);
}

#[test]
fn errors_in_a_set_or_an_arm_are_reported_before_anything_is_stored() {
    let graphloom = with_set();
    let check = |more: &[&str], says: &str| {
        retrieval(&graphloom, more).exits(2).says(says);
    };
    check(&["--arm", r#"a={"topk": 1}"#], "arm a: unknown field `topk`");
    check(&["--modes", "naive", "--arm", "naive={}"], "two arms are named naive");
    check(&["--modes", "bypass"], "arm bypass: mode bypass does not search");
    graphloom.write("docs-set/questions.jsonl", "{\"id\": 1}\n");
    retrieval(&graphloom, &[]).exits(1).says("docs-set/questions.jsonl:1:9: missing field `question`");
    graphloom.write("docs-set/questions.jsonl", QUESTIONS);
    graphloom.write("folder/file", "");
    check(&["--out", "folder"], "--out folder is a folder");
    check(&["--html", "folder"], "--html folder is a folder");
    check(&["--out", "run", "--html", "run"], "--out and --html both name run");
    assert!(!graphloom.path(".graphloom").exists());
}
