//! Answers are scored against gold answers, split into claims, and compared with those of another run.

use std::fs;
#[cfg(unix)]
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

/// Returns the program with a scripted model for answers and verdicts, and the question set `set`.
fn with_set(model: &ScriptedModel) -> Graphloom {
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    graphloom.write(
        "set/corpus.jsonl",
        r#"{"id": "p1", "title": "Marie Curie", "text": "Marie Curie discovered radium in Paris."}"#,
    );
    graphloom.write(
        "set/questions.jsonl",
        "{\"id\": \"q1\", \"question\": \"Who discovered radium?\", \"answers\": [\"Marie Curie\"]}\n\
         {\"id\": \"q2\", \"question\": \"Where was radium discovered?\", \"answers\": [\"Paris\", \"in Paris\"]}\n\
         {\"id\": \"q3\", \"question\": \"Who likes radium?\"}\n",
    );
    graphloom
}

const ANSWERS: [&str; 7] =
    ["--set", "answer_llm=openai:scripted", "eval", "answers", "--data", "set", "--mode=naive"];

/// Writes the answers of one run to `name`.
fn answers(graphloom: &Graphloom, model: &ScriptedModel, answer: &str, name: &str) {
    model.answer_with(answer);
    graphloom.run(&[ANSWERS.as_slice(), &["--out", name]].concat()).exits(0);
    graphloom.ok(&["--workspace", "eval-set", "cache", "clear"]);
}

fn read(graphloom: &Graphloom, name: &str) -> Value {
    serde_json::from_slice(&fs::read(graphloom.path(name)).expect("there")).expect("JSON")
}

#[test]
fn answers_are_scored_without_markup_citations_and_references() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    model.answer_with("**Marie Curie** [1]\n\n### References\n* [1] p1");
    let ran =
        graphloom.run(&[ANSWERS.as_slice(), &["--out", "run.json", "--ragchecker", "check.json"]].concat());
    let ran = ran.exits(0).says("2 answers for `graphloom eval ragchecker check.json`");
    assert!(ran.stdout.contains("set: 3 questions, answered by openai:scripted"), "{}", ran.stdout);
    let group = read(&graphloom, "run.json")["groups"][0].clone();
    let mean = |figure: &str| group[figure]["mean"].as_f64();
    assert_eq!((mean("exact_match"), mean("f1"), mean("contained")), (Some(0.5), Some(0.5), Some(0.5)));
    assert_eq!((group["questions"].as_u64(), group["scored"].as_u64()), (Some(3), Some(2)));
    let check = read(&graphloom, "check.json");
    assert_eq!(check["results"][0]["response"], "**Marie Curie**");
    assert_eq!(check["results"][1]["gt_answer"], "Paris");
    assert_eq!(check["results"][0]["retrieved_context"][0]["doc_id"], "p1");
    let prompt_asked = [ANSWERS.as_slice(), &["--resume", "--out", "run.json"]].concat();
    graphloom.run(&prompt_asked).exits(0).says("3 of 3 questions already asked");
}

#[test]
fn without_a_model_verbatim_sentences_are_scored_and_labelled() {
    let graphloom = with_set(&ScriptedModel::start());
    let ran = graphloom.run(&["eval", "answers", "--data", "set", "--mode", "naive"]).exits(0);
    let ran = ran.says("no LLM is configured: scoring verbatim sentences");
    assert!(
        ran.stdout.contains("answered by verbatim sentences") && ran.stdout.contains("contained"),
        "{}",
        ran.stdout
    );
}

/// Returns claims with fixed labels: passage 1 states both correct claims, passage 2 none.
fn labelled() -> Value {
    json!({ "results": [{
        "query_id": "1", "query": "Who and where?", "gt_answer": "Curie in Paris.", "response": "Curie in Rome, in 1898.",
        "retrieved_context": [{ "doc_id": "a", "text": "Curie, Paris." }, { "doc_id": "b", "text": "Rome." }],
        "response_claims": ["It was Curie", ["It", "was in", "Rome"], "It was in 1898"],
        "gt_answer_claims": ["It was Curie", "It was in Paris"],
        "answer2response": ["Entailment", "Contradiction", "Neutral"],
        "response2answer": ["Entailment", "Contradiction"],
        "retrieved2response": [["Entailment", "Neutral"], ["Neutral", "Entailment"], ["Neutral", "Neutral"]],
        "retrieved2answer": [["Entailment", "Neutral"], ["Entailment", "Neutral"]],
    }]})
}

#[test]
fn metrics_from_stored_labels_need_no_judge() {
    let graphloom = Graphloom::new();
    graphloom.write("labels.json", labelled().to_string());
    let ran = graphloom.run(&["eval", "ragchecker", "labels.json", "--out", "judged.json"]).exits(0);
    for part in ["overall", "retriever", "generator", "claim_recall", "100.0", "33.3"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let file = read(&graphloom, "judged.json");
    let expected = json!({
        "overall": { "precision": 33.3, "recall": 50.0, "f1": 40.0 },
        "retriever": { "claim_recall": 100.0, "context_precision": 50.0 },
        "generator": {
            "context_utilization": 50.0, "noise_sensitivity_in_relevant": 0.0, "noise_sensitivity_in_irrelevant": 33.3,
            "hallucination": 33.3, "self_knowledge": 0.0, "faithfulness": 66.7,
        },
    });
    assert_eq!(file["metrics"], expected);
    assert_eq!(file["results"][0]["metrics"]["precision"], 1.0 / 3.0);
    assert_eq!(file["results"][0]["response_claims"][1], json!(["It", "was in", "Rome"]));
}

#[test]
fn unjudged_answers_need_a_judge_and_are_judged_once() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    let mut file = labelled();
    for key in ["response_claims", "answer2response", "retrieved2response"] {
        file["results"][0].as_object_mut().expect("an object").remove(key);
    }
    graphloom.write("answers.json", file.to_string());
    let judged = ["eval", "ragchecker", "answers.json", "--out", "judged.json"];
    graphloom.run(&judged).exits(2).says("needs an LLM, but none is configured").says("help: set judge_llm");
    // The same text is read as a list of claims and as a list of labels.
    model.answer_with(r#"["Entailment"]"#);
    let with_judge = [&["--set", "judge_llm=openai:scripted"], judged.as_slice()].concat();
    graphloom.run(&with_judge).exits(0).says("judged by openai:scripted: 4 calls").says("0 cached");
    let metrics = read(&graphloom, "judged.json")["metrics"].clone();
    assert_eq!(
        (&metrics["overall"]["precision"], &metrics["overall"]["recall"]),
        (&json!(100.0), &json!(50.0))
    );
    graphloom.run(&with_judge).exits(0).says("0 calls").says("4 cached");
    graphloom.write("broken.json", r#"{"results": [{"query_id": 1}]}"#);
    graphloom
        .run(&["eval", "ragchecker", "broken.json"])
        .exits(2)
        .says("is not a file of answers in RAGChecker's layout");
}

#[test]
fn two_runs_are_compared_in_both_orders() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    answers(&graphloom, &model, "Marie Curie [1]", "one.json");
    answers(&graphloom, &model, "Somebody", "other.json");
    let pairwise = ["eval", "pairwise", "one.json", "other.json", "--out", "verdicts.json"];
    graphloom.run(&pairwise).exits(2).says("help: set judge_llm");
    let first = r#"{"reason": "it stands first", "winner": "Answer 1"}"#;
    model.answer_with(&format!(
        r#"{{"comprehensiveness": {first}, "diversity": {first}, "empowerment": {first}, "overall": {first}}}"#
    ));
    let with_judge = [&["--set", "judge_llm=openai:scripted"], pairwise.as_slice()].concat();
    let ran = graphloom.run(&with_judge).exits(0).says("6 calls");
    assert!(ran.stdout.contains("naive against naive: 3 questions"), "{}", ran.stdout);
    let report = read(&graphloom, "verdicts.json");
    let overall = &report["criteria"][3];
    assert_eq!((overall["ties"].as_u64(), overall["for_answer_1"].as_f64()), (Some(3), Some(1.0)));
    assert_eq!(report["rows"][0]["verdicts"][0]["reasons"][1], "it stands first");
    graphloom.run(&with_judge).exits(0).says("0 calls").says("6 cached");
    graphloom
        .run(&[with_judge.as_slice(), &["--arm", "naive=mix"]].concat())
        .exits(2)
        .says("other.json has no arm mix");
}

#[test]
fn without_judgements_there_are_no_figures_and_the_next_run_asks_again() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    answers(&graphloom, &model, "Marie Curie", "one.json");
    answers(&graphloom, &model, "Somebody", "other.json");
    let mut file = labelled();
    for key in ["response_claims", "answer2response", "retrieved2response"] {
        file["results"][0].as_object_mut().expect("an object").remove(key);
    }
    graphloom.write("answers.json", file.to_string());
    let judge = ["--set", "judge_llm=openai:scripted", "eval"];
    let pairwise =
        [judge.as_slice(), &["pairwise", "one.json", "other.json", "--out", "verdicts.json"]].concat();
    let ragchecker = [judge.as_slice(), &["ragchecker", "answers.json", "--out", "judged.json"]].concat();
    model.answer_with("I would rather not.");
    for (command, says) in
        [(&pairwise, "judging failed: 3 pairs failed"), (&ragchecker, "judging failed: 1 answer failed")]
    {
        let ran = graphloom.run(command).exits(1).says(says).says("invalid verdict from judge");
        let ran = ran.says("help: run it again; if that does not help, choose another judge_llm");
        assert_eq!(ran.stdout, "");
    }
    assert!(!graphloom.path("verdicts.json").exists() && !graphloom.path("judged.json").exists());
    let tie = r#"{"Reason": "even", "Winner": "Tie"}"#;
    model.answer_with(&format!(
        r#"{{"Comprehensiveness": {tie}, "Diversity": {tie}, "Empowerment": {tie}, "Overall Winner": {tie}}}"#
    ));
    model.refuse(Some("Who likes radium?"));
    graphloom
        .run(&pairwise)
        .exits(3)
        .says("4 calls")
        .says("1 pair could not be judged, left out; run the same command to try again");
    model.refuse(None);
    graphloom.run(&pairwise).exits(0).says("2 calls").says("4 cached");
    model.answer_with(r#"["Entailment"]"#);
    graphloom.run(&ragchecker).exits(0).says("4 calls").says("0 cached");
}

#[test]
fn if_no_question_could_be_asked_there_are_no_figures() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    model.answer_with("Paris");
    let ask = || graphloom.run(&[ANSWERS.as_slice(), &["--resume", "--out", "run.json"]].concat());
    model.refuse(Some("radium"));
    let ran = ask().exits(1).says("all questions failed, the last in arm naive");
    assert!(ran.stdout.is_empty() && !graphloom.path("run.json").exists(), "{}", ran.stdout);
    model.refuse(Some("Who likes radium?"));
    ask().exits(3).says("1 question failed, counted as wrong; --resume tries again");
    model.refuse(None);
    ask().exits(0).says("2 of 3 questions already asked");
}

#[test]
fn changed_prompts_cause_the_questions_to_be_asked_again() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    model.answer_with("Marie Curie");
    graphloom.run(&[ANSWERS.as_slice(), &["--out", "run.json"]].concat()).exits(0);
    let again = |own: &[&str]| {
        graphloom.run(&[own, ANSWERS.as_slice(), &["--resume", "--out", "run.json"]].concat()).exits(0)
    };
    again(&[]).says("3 of 3 questions already asked");
    for prompt in ["answer_naive", "decompose", "filter_facts"] {
        let ours = graphloom.ok(&["prompts", "show", prompt]);
        graphloom.write(&format!("{prompt}/{prompt}.md"), format!("{ours}\nBe brief.\n"));
        again(&["--set", &format!("prompts_dir={prompt}")])
            .says("0 of 3 questions already asked")
            .says("run.json.rows.jsonl has results only for another set, workspace or configuration");
    }
    again(&["--set", "prompts_dir=decompose"]).says("3 of 3 questions already asked");
    again(&["--set", "language=French"]).says("0 of 3 questions already asked");
}

#[test]
fn errors_in_a_file_of_answers_name_the_id_of_the_answer() {
    let graphloom = Graphloom::new();
    let check = |change: &dyn Fn(&mut Value), code: i32, says: &str| {
        let mut file = labelled();
        change(&mut file["results"][0]);
        graphloom.write("labels.json", file.to_string());
        graphloom.run(&["eval", "ragchecker", "labels.json"]).exits(code).says(says)
    };
    check(
        &|answer| answer["answer2response"][1] = json!("Maybe"),
        2,
        "labels.json is not a file of answers in RAGChecker's layout: answer 1: answer2response: \"Maybe\" is not a label; \
         the labels are Entailment, Neutral, Contradiction, Abstain",
    )
    .says("help: correct the label, or remove that member of the answer");
    check(&|answer| answer["query"] = json!(7), 2, "answer 1: invalid type");
    check(
        &|answer| answer["answer2response"] = json!([]),
        1,
        "labels.json: answer 1: answer2response has 0 labels, expected 3",
    );
    check(&|answer| answer["response"] = json!(""), 0, "warning: answer 1: response is empty but has claims");
}

#[test]
fn an_output_that_is_a_folder_is_refused_before_anything_is_asked() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    graphloom.write("folder/file", "");
    for option in ["--out", "--ragchecker"] {
        graphloom
            .run(&[ANSWERS.as_slice(), &[option, "folder"]].concat())
            .exits(2)
            .says(&format!("{option} folder is a folder"))
            .says("help: name a file");
    }
    graphloom.write("labels.json", labelled().to_string());
    graphloom
        .run(&["eval", "ragchecker", "labels.json", "--out", "folder"])
        .exits(2)
        .says("--out folder is a folder");
    assert!(!graphloom.path(".graphloom").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_evaluation_keeps_the_answers_of_calls_in_flight() {
    let model = ScriptedModel::start();
    let graphloom = with_set(&model);
    model.answer_with("Marie Curie [1]");
    let command = [ANSWERS.as_slice(), &["--concurrency", "1", "--out", "run.json"]].concat();
    model.allow(0);
    let mut asking = graphloom.command(&command);
    let asking = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    model.wait_for_held();
    let sent = Command::new("kill").args(["-INT", &asking.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    model.answer_held();
    assert_eq!(asking.wait_with_output().expect("it ends").status.code(), Some(130));
    let resumed = graphloom.run(&[command.as_slice(), &["--resume"]].concat()).exits(0);
    resumed.says("1 of 3 questions already asked");
}
