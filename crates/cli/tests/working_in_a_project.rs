//! Commands work in every folder of a project, leave no files behind if there is nothing to do, and report errors in JSON with
//! `--json`.

use std::process::Command;

use serde_json::Value;

use crate::common::{CommandResult, Graphloom};

/// Runs in a folder inside the project.
fn run_in(graphloom: &Graphloom, folder: &str, arguments: &[&str]) -> CommandResult {
    let mut command: Command = graphloom.command(arguments);
    CommandResult::of(
        arguments,
        command.current_dir(graphloom.path(folder)).output().expect("the program runs"),
    )
}

#[test]
fn a_workspace_is_found_from_a_subfolder_and_names_sources_relative_to_its_own_folder() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.write("docs/old/b.md", "Grace Hopper wrote the first compiler.\n");
    graphloom.ok(&["add", "docs/a.md"]);
    run_in(&graphloom, "docs/old", &["add", "b.md"]).exits(0);
    run_in(&graphloom, "docs", &["add", "."]).exits(0).says("2 unchanged");
    assert!(!graphloom.path("docs/old/.graphloom").exists());
    let asked = run_in(&graphloom, "docs/old", &["ask", "Who wrote the first program?"]).exits(0);
    asked.says("Ada Lovelace").says("docs/a.md");
    run_in(&graphloom, "docs/old", &["show", "b.md"]).exits(0).says("docs/old/b.md");
    run_in(&graphloom, "docs/old", &["rm", "../a.md"]).exits(0);
    let left = graphloom.json(&["status"]);
    assert_eq!(left["documents"][0]["source"], "docs/old/b.md");
    assert_eq!(left["documents"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_given_data_folder_is_relative_to_the_current_folder() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "docs/a.md"]);
    run_in(&graphloom, "docs", &["--data-dir", "store", "add", "a.md"]).exits(0);
    let status = run_in(&graphloom, "docs", &["--data-dir", "store", "status"]).exits(0);
    status.says("  a.md: ready");
    assert!(graphloom.path("docs/store/default.graphloom").is_file());
}

#[test]
fn a_new_data_folder_is_ignored_by_git_and_an_existing_one_is_not_touched() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "a.md"]);
    let ignore = std::fs::read_to_string(graphloom.path(".graphloom/.gitignore")).expect("a file");
    assert!(ignore.lines().any(|line| line == "*"));
    std::fs::create_dir(graphloom.path("mine")).expect("made");
    graphloom.ok(&["--data-dir", "mine", "add", "a.md"]);
    assert!(!graphloom.path("mine/.gitignore").exists());
}

#[test]
fn adding_a_missing_file_creates_no_workspace() {
    let graphloom = Graphloom::new();
    graphloom.run(&["add", "nosuch.txt"]).exits(3).says("refused: nosuch.txt: does not exist");
    graphloom.write("empty/picture.png", "x");
    graphloom.run(&["add", "empty"]).exits(0).says("nothing to add: in folders");
    assert!(!graphloom.path(".graphloom").exists());
    graphloom.run(&["ask", "Who?"]).exits(1).says("no workspace default");
}

#[test]
fn errors_under_json_are_json() {
    let graphloom = Graphloom::new();
    for (arguments, code, error, help) in [
        (vec!["--json", "ask", "Who?"], 1, "no workspace default", "graphloom add PATH"),
        (vec!["--json", "--llm", "gpt-4o", "status"], 2, "llm is \"gpt-4o\"", ""),
        (vec!["ad", "docs", "--json"], 2, "unknown command \"ad\"", "graphloom add"),
        (vec!["ask", "x", "--mode", "best", "--json"], 2, "invalid value 'best'", "naive"),
    ] {
        let ran = graphloom.run(&arguments).exits(code);
        assert_eq!(ran.stdout, "");
        let told: Value = serde_json::from_str(&ran.stderr).expect("one JSON object");
        assert_eq!((&told["event"], &told["exit_code"]), (&"error".into(), &code.into()));
        assert!(told["error"].as_str().is_some_and(|text| text.contains(error)), "{told}");
        assert!(help.is_empty() || told.to_string().contains(help), "{told}");
        assert!(!ran.stderr.contains("error: "), "{told}");
    }
    graphloom.run(&["--json", "--version"]).exits(0).says("graphloom");
}
