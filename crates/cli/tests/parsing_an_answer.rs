//! `graphloom parse` shows authors of prompts how an answer is read.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::model::ScriptedModel;
use crate::common::{CommandResult, Graphloom};

const ANSWER: &str = "Here you are:\n\
    entity<|#|>Ada Voss<|#|>Person<|#|>Chemist.\n\
    3. **(\"relationship\"<|>\"Ada Voss\"<|>\"Kelm\"<|>\"Works in Kelm.\"<|>\"nine\")**\n\
    relation<|#|>Ada Voss<|#|>Ada Voss<|#|>self<|#|>Herself.\n\
    entity<|#|>Kelm<|#|>Location<|#|>A to";

fn check_parse(graphloom: &Graphloom, arguments: &[&str], answer: &[u8]) -> CommandResult {
    let mut command = graphloom.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    child.stdin.take().expect("a pipe").write_all(answer).expect("written");
    CommandResult::of(arguments, child.wait_with_output().expect("ends"))
}

#[test]
fn records_and_rejects_are_printed_with_their_places() {
    let graphloom = Graphloom::new();
    let ran = check_parse(&graphloom, &["parse", "--cut"], ANSWER.as_bytes()).exits(0);
    let parsed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(parsed["complete"], false);
    let start = ANSWER.find("entity").expect("a record");
    let entity = json!({
        "entity": { "name": "Ada Voss", "kind": "Person", "description": "Chemist." },
        "span": { "start": start, "end": start + "entity<|#|>Ada Voss<|#|>Person<|#|>Chemist.".len() },
        "repaired": [],
    });
    assert_eq!(parsed["records"][0], entity);
    assert_eq!(parsed["records"][1]["relation"]["weight"], 9.0);
    assert!(
        parsed["records"][1]["repaired"].as_array().is_some_and(|kinds| kinds.contains(&json!("weight")))
    );
    let rejects = parsed["rejects"].as_array().expect("a list");
    let reasons: Vec<&Value> = rejects.iter().map(|reject| &reject["reason"]).collect();
    assert_eq!(reasons, ["prose", "self_relation", "cut"]);
    for reject in rejects {
        let (offset, text) =
            (reject["offset"].as_u64().expect("a place"), reject["text"].as_str().expect("text"));
        assert!(ANSWER[offset as usize..].starts_with(text), "{reject}");
    }
}

#[test]
fn a_file_is_read_without_workspace_and_configuration() {
    let graphloom = Graphloom::new();
    graphloom.write("answer.txt", "{\"entities\": [{\"name\": \"Ada\", \"type\": \"Person\"}]}");
    graphloom.write("graphloom.toml", "no configuration");
    let parsed = graphloom.json(&["parse", "answer.txt"]);
    assert_eq!((&parsed["complete"], &parsed["records"][0]["entity"]["name"]), (&json!(true), &json!("Ada")));
    assert!(!graphloom.path(".graphloom").exists());
    graphloom.run(&["parse", "missing.txt"]).exits(1).says("missing.txt");
}

#[test]
fn invalid_utf_8_is_read_too() {
    let graphloom = Graphloom::new();
    let ran =
        check_parse(&graphloom, &["--json", "parse"], b"\xff\xfe entity<|#|>Ad\xffa\0<|#|>Person<|#|>x\n")
            .exits(0);
    assert!(ran.stderr.contains("not UTF-8"), "{}", ran.stderr);
    assert_eq!(check_parse(&graphloom, &["parse", "-"], b"").exits(0).stderr, "");
}

#[test]
fn status_counts_the_rejects_of_model_answers() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_GLEANING", "0");
    model.set_preamble("Here they are:\nrelation<|#|>ThingA<|#|>ThingA<|#|>self<|#|>Itself.\n");
    graphloom.write("a.md", "ThingA stands beside ThingZ.\n");
    graphloom.ok(&["add", "a.md"]);
    assert_eq!(graphloom.json(&["status"])["rejects"], json!({ "prose": 1, "self_relation": 1 }));
    graphloom.run(&["status"]).exits(0).says("2 pieces of answers: 1 prose, 1 self_relation");
}
