//! Questions with the fields of LightRAG's QueryParam, and questions in a conversation.

use serde_json::json;

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

fn with_documents(graphloom: &Graphloom) {
    graphloom.write("ada.md", "Ada Lovelace wrote the first program. Mary Somerville taught Ada Lovelace.\n");
    graphloom.write("weir.md", "The Weir House stands at the river since 1820.\n");
    graphloom.ok(&["add", "ada.md", "weir.md"]);
}

const HISTORY: &str = r#"[{"role": "user", "content": "Who wrote the first program?"},
    {"role": "assistant", "content": "Ada Lovelace wrote it [1]."}]"#;

#[test]
fn a_follow_up_is_searched_with_names_from_the_conversation() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    graphloom.write("said.json", HISTORY);
    let asked = ["-v", "ask", "Who taught her?", "--history", "said.json"];
    graphloom
        .run(&asked)
        .exits(0)
        .says("searched for: Who taught her? (Ada Lovelace)")
        .says("[1] ada.md:1: matches the question")
        .says("Mary Somerville taught");
    let answer = graphloom.json(&["ask", "Who taught her?", "--history", "said.json"]);
    assert_eq!(answer["standalone_question"], "Who taught her? (Ada Lovelace)");
    let piped =
        graphloom.run_with_input(&["--json", "ask", "Who taught her?", "--history", "-"], HISTORY).exits(0);
    assert!(piped.stdout.contains("(Ada Lovelace)"), "{}", piped.stdout);
    let prompt = graphloom.json(&["ask", "Who taught her?", "--history", "said.json", "--prompt-only"]);
    let said: Vec<_> = prompt.as_array().expect("messages").iter().map(|message| &message["role"]).collect();
    assert_eq!(said, ["system", "user", "assistant", "user"]);
    assert_eq!(prompt[3]["content"], "Who taught her?");
}

#[test]
fn one_call_returns_the_standalone_question_and_its_keywords() {
    let model = ScriptedModel::start();
    model.answer_with(
        r#"{"standalone_question": "Who taught Ada Lovelace?", "high_level_keywords": ["teaching"],
            "low_level_keywords": ["Ada Lovelace"]}"#,
    );
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    with_documents(&graphloom);
    graphloom.write("said.json", HISTORY);
    let ask = ["--set", "keywords_llm=openai:scripted", "ask", "Who taught her?", "--history", "said.json"];
    let answer = graphloom.json(&ask);
    assert_eq!(answer["standalone_question"], "Who taught Ada Lovelace?");
    assert_eq!(answer["calls"].as_array().map(Vec::len), Some(1));
    assert_eq!(answer["calls"][0]["role"], "keywords");
    let again = graphloom.json(&ask);
    assert_eq!((&again["calls"], &again["cached"]), (&json!([]), &json!(["keywords"])));
    assert_eq!(again["answer"], answer["answer"]);
}

#[test]
fn an_invalid_history_is_refused_with_the_expected_shape() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    for (history, says) in [
        ("{}", "expected a list such as"),
        ("[{\"role\": \"robot\", \"content\": \"\"}]", "unknown variant `robot`"),
        ("[{\"role\": \"system\", \"content\": \"Obey.\"}]", "give instructions as user_prompt"),
    ] {
        graphloom.run_with_input(&["ask", "Who?", "--history", "-"], history).exits(2).says(says);
    }
    graphloom
        .run(&["ask", "Who?", "--history", "missing.json"])
        .exits(1)
        .says("reading --history missing.json");
    graphloom.run(&["ask", "--history", "-", "--question-json", "-"]).exits(2).says("standard input");
}

#[test]
fn a_json_question_uses_lightrags_names_and_flags_override_it() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    let question = r#"{"query": "Who wrote the first program?", "mode": "naive", "top_k": 5, "chunk_top_k": 1,
        "only_need_context": true, "include_references": true, "user_prompt": "Be brief."}"#;
    let ask = |more: &[&str]| {
        let arguments = [&["--json", "ask", "--question-json", "-"], more].concat();
        let ran = graphloom.run_with_input(&arguments, question).exits(0);
        serde_json::from_str::<serde_json::Value>(&ran.stdout).expect("JSON")
    };
    let context = ask(&[]);
    assert_eq!((&context["mode"], context["chunks"].as_array().map(Vec::len)), (&json!("naive"), Some(1)));
    assert_eq!(ask(&["--mode", "local"])["mode"], "local");
    let prompt = ask(&["--prompt-only"]);
    let system = prompt[0]["content"].as_str().expect("words");
    assert!(
        system.contains("Be brief.") && prompt[1]["content"] == "Who wrote the first program?",
        "{system}"
    );
    let other = ask(&["--prompt-only", "Where stands the Weir House?"]);
    assert_eq!(other[1]["content"], "Where stands the Weir House?");

    let slip = graphloom.run_with_input(&["ask", "--question-json", "-"], r#"{"query": "Who?", "topk": 3}"#);
    slip.exits(2).says("unknown field `topk`").says("expected an object such as");
}

#[test]
fn context_documents_are_listed_on_request() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    let plain = graphloom.json(&["ask", "Who wrote the first program?"]);
    assert!(plain.get("references").is_none());
    let listed = graphloom.json(&["ask", "Who wrote the first program?", "--references", "--chunk-content"]);
    let first = &listed["references"][0];
    assert_eq!((&first["reference_id"], &first["file_path"]), (&json!("1"), &json!("ada.md")));
    assert!(first["content"][0].as_str().is_some_and(|text| text.contains("Ada Lovelace")), "{first}");
    graphloom.run(&["ask", "Who wrote the first program?", "--references"]).exits(0).says("documents");
}

#[test]
fn configured_instructions_precede_those_of_the_question() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    graphloom.write("graphloom.toml", "user_prompt_prefix = \"Name the sources.\"\n");
    let prompt = |more: &[&str]| {
        let words = ["ask", "Who wrote the first program?", "--prompt-only", "--user-prompt", "Be brief."];
        graphloom.ok(&[&words, more].concat())
    };
    assert!(prompt(&[]).contains("Name the sources.\nBe brief."));
    assert!(!prompt(&["--no-user-prompt-prefix"]).contains("Name the sources."));
}

#[test]
fn given_keywords_are_used_for_the_search() {
    let graphloom = Graphloom::new();
    with_documents(&graphloom);
    let found = graphloom.json(&[
        "ask",
        "Who?",
        "--context-only",
        "--ll-keywords",
        "Weir House,river",
        "--hl-keywords",
        "buildings",
    ]);
    assert_eq!(found["keywords"]["low_level"], json!(["Weir House", "river"]));
    assert_eq!(found["keywords"]["high_level"], json!(["buildings"]));
}

#[test]
fn a_models_thoughts_are_not_in_its_answer() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", &model.base_url());
    with_documents(&graphloom);
    for (n, answer) in ["<think>Hm [1].</think>\nAda Lovelace [1].", "Hm [1].\n</think>\nAda Lovelace [1]."]
        .iter()
        .enumerate()
    {
        model.answer_with(answer);
        let question = format!("Who wrote the first program? {n}");
        let answer = graphloom.json(&["--set", "answer_llm=openai:scripted", "ask", &question]);
        assert_eq!(answer["answer"], "Ada Lovelace [1].");
    }
}
