//! Custom prompts, guidance about entity types, and languages, for all workspaces or one.

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

const TEXT: &str = "Thing1 stands beside Thing2.";

fn with_model(model: &ScriptedModel) -> Graphloom {
    Graphloom::new().with("GRAPHLOOM_LLM", "openai:scripted").with("OPENAI_BASE_URL", &model.base_url())
}

/// Returns the extraction prompts that were received, joined.
fn asked(model: &ScriptedModel) -> String {
    model.asked().into_keys().collect::<Vec<_>>().join("\n")
}

fn calls(model: &ScriptedModel) -> usize {
    model.asked().into_values().sum()
}

#[test]
fn a_custom_prompt_is_used_and_only_a_changed_one_causes_new_calls() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model).with("GRAPHLOOM_PROMPTS_DIR", "prompts");
    graphloom.write("a.txt", TEXT);
    graphloom.ok(&["prompts", "export", "prompts"]);
    graphloom.ok(&["add", "a.txt"]);
    let before = calls(&model);
    assert!(!asked(&model).contains("A chunk of mine"));

    // The same text in another document, and a changed prompt of another step, cause no new extraction calls.
    graphloom.write("prompts/answer.md", "Answer from: {{additions}} {{context}} {{language}}");
    graphloom.write("b.txt", TEXT);
    graphloom.ok(&["add", "b.txt"]);
    assert_eq!(calls(&model), before);

    graphloom.write("prompts/extract_user.md", "A chunk of mine:\n{{text}}\n");
    graphloom.write("c.txt", TEXT);
    graphloom.run(&["add", "c.txt"]).exits(2).says("the workspace is built with prompts").says("--switch");
    graphloom.ok(&["add", "--switch", "c.txt"]);
    assert_eq!(calls(&model), before + 1);
    assert!(asked(&model).contains("A chunk of mine:\nThing1 stands"), "{}", asked(&model));
}

#[test]
fn an_invalid_prompt_stops_the_command_before_anything_is_created() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model).with("GRAPHLOOM_PROMPTS_DIR", "prompts");
    graphloom.write("a.txt", TEXT);
    for (file, content, says, help) in [
        ("extract.md", "x", "prompts/extract.md is not named like a prompt", "did you mean extract_"),
        ("keywords.txt", "x", "prompts/keywords.txt is not named like a prompt", "did you mean keywords.md?"),
        (
            "extract_user.md",
            "Read\n{{chunk}}",
            "extract_user.md:2: unknown variable {{chunk}}",
            "section, text",
        ),
        ("extract_user.md", "Read.", "extract_user.md:1: {{text}} is missing", "insert {{text}}"),
        (
            "extract_system.md",
            "Records!",
            "extract_system.md:1: <|COMPLETE|> is missing",
            "insert <|COMPLETE|>",
        ),
        (
            "summarize.md",
            "---\nwhat: x\n---\ny",
            "summarize.md:2: \"what: x\" is not a header line",
            "purpose",
        ),
    ] {
        graphloom.write(&format!("prompts/{file}"), content);
        graphloom.run(&["add", "a.txt"]).exits(2).says(says).says("help: ").says(help);
        graphloom.run(&["prompts", "check"]).exits(2).says(says);
        graphloom.run(&["doctor"]).exits(1).says(says);
        std::fs::remove_file(graphloom.path("prompts").join(file)).expect("removed");
    }
    assert!(!graphloom.path(".graphloom/default.graphloom").exists());
    graphloom.write("prompts/extract_system.md", "Write records. <|COMPLETE|>");
    graphloom.ok(&["prompts", "check"]);
    graphloom
        .run(&["add", "a.txt", "--set", "language=French"])
        .exits(2)
        .says("language is set, but")
        .says("insert {{language}}");
    assert_eq!(calls(&model), 0);
}

#[test]
fn each_workspace_uses_the_types_guidance_and_language_of_its_table() {
    let model = ScriptedModel::start();
    let graphloom = with_model(&model);
    graphloom.write("a.txt", TEXT);
    graphloom.write("types.md", "Widget: a thing that stands.\nLeave out dates.\n");
    graphloom.write(
        "graphloom.toml",
        "entity_types = [\"Concept\"]\n[workspaces.lab]\nentity_types = [\"Widget\"]\n\
         entity_guidance_file = \"types.md\"\nlanguage = \"French\"\n",
    );
    graphloom.ok(&["add", "a.txt"]);
    let general = asked(&model);
    assert!(general.contains("one of Concept;") && !general.contains("French"), "{general}");
    graphloom.ok(&["--workspace", "lab", "add", "a.txt"]);
    let both = asked(&model);
    for part in [
        "one of Widget;",
        "Widget: a thing that stands.",
        "Write in French,",
        "proper names in the passage's language",
    ] {
        assert!(both.contains(part), "{part}: {both}");
    }
    let shown = graphloom.ok(&["--workspace", "lab", "config", "show", "--origin"]);
    assert!(shown.contains("[workspaces.lab]"), "{shown}");
    graphloom
        .run(&["--workspace", "lab", "add", "a.txt", "--set", "entity_guidance_file=gone.md"])
        .exits(2)
        .says("entity_guidance_file gone.md");
}

#[test]
fn prompts_can_be_listed_shown_and_exported_without_overwriting_files() {
    let graphloom = Graphloom::new();
    let listed = graphloom.json(&["prompts", "list"]);
    let listed = listed.as_array().expect("a list");
    assert!(listed.iter().any(|it| it["name"] == "extract_user" && it["needs"][0] == "{{text}}"));
    graphloom.ok(&["prompts", "export", "mine", "summarize", "answer"]);
    graphloom.run(&["prompts", "export", "mine", "answer"]).exits(1).says("--force");
    graphloom.ok(&["prompts", "export", "mine", "answer", "--force"]);
    graphloom.ok(&["prompts", "check", "mine"]);
    graphloom.write("mine/summarize.md", "Join:\n{{descriptions}}");
    let own = graphloom.ok(&["--set", "prompts_dir=mine", "prompts", "show", "summarize"]);
    assert_eq!(own.trim(), "Join:\n{{descriptions}}");
    let ours = graphloom.ok(&["--set", "prompts_dir=mine", "prompts", "show", "summarize", "--built-in"]);
    assert!(ours.contains("purpose:") && ours.contains("{{max_words}}"));
    graphloom.run(&["prompts", "show", "sumarize"]).exits(2).says("did you mean \"summarize\"?");
}
