//! `copy` copies complete workspaces to another place.

use serde_json::json;

use crate::common::{Graphloom, copy_lab};

/// A folder with the samples in a workspace, an edit, and a question whose answer is in the cache.
fn origin() -> Graphloom {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    graphloom.ok(&["graph", "edit", "Edda Corrin", "--description", "Chief executive since 2019."]);
    graphloom.ok(&["derive", "tree"]);
    graphloom
}

#[test]
fn a_copy_has_the_hash_and_the_answers_of_its_source() {
    let graphloom = origin();
    graphloom.ok(&["rm", "docs/staff.csv"]);
    let hash = graphloom.hash();
    graphloom.run(&["copy", ".graphloom", "elsewhere"]).exits(0).says("0 already there").says(&hash);
    let there = ["--data-dir", "elsewhere"];
    let run = |arguments: &[&str]| graphloom.run(&[&there, arguments].concat());
    assert_eq!(run(&["dump", "--hash"]).exits(0).stdout.trim(), hash);
    run(&["check"]).exits(0).says("no contradictions");
    let question = ["ask", "Who wrote the newsletter in winter 2018?"];
    assert_eq!(run(&question).exits(0).stdout, graphloom.run(&question).exits(0).stdout);
    run(&["tree"]).exits(0);
    run(&["graph", "show", "Edda Corrin"]).exits(0).says("Chief executive since 2019.");
}

#[test]
fn copying_again_copies_only_what_was_added_since() {
    let graphloom = origin();
    graphloom.ok(&["copy", ".graphloom", "elsewhere"]);
    let again = graphloom.json(&["copy", ".graphloom", "elsewhere"]);
    assert_eq!(again["copied"], json!(0), "{again}");
    graphloom.write("docs/harbour.md", "Ilse Maar runs the harbour of Kelm.\n");
    graphloom.run(&["add", "docs/harbour.md"]).exits(0);
    let more = graphloom.run(&["copy", ".graphloom", "elsewhere"]);
    more.exits(0);
    assert_eq!(graphloom.run(&["--data-dir", "elsewhere", "dump", "--hash"]).stdout.trim(), graphloom.hash());
}

#[test]
fn a_workspace_with_other_documents_is_not_overwritten() {
    let graphloom = origin();
    graphloom.write("other.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["--data-dir", "elsewhere", "add", "other.md"]);
    let before = graphloom.run(&["--data-dir", "elsewhere", "dump", "--hash"]).exits(0).stdout;
    graphloom
        .run(&["copy", ".graphloom", "elsewhere"])
        .exits(1)
        .says("the target holds documents that the source does not have")
        .says("delete it there first");
    let after = graphloom.run(&["--data-dir", "elsewhere", "dump", "--hash"]).exits(0).stdout;
    assert_eq!(after, before);
    graphloom.run(&["copy", "nowhere", "elsewhere"]).exits(1).says("no workspace default in nowhere");
    assert!(!graphloom.path("nowhere").exists());
}

#[test]
fn all_workspaces_are_copied_at_once() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    for workspace in ["one", "two"] {
        graphloom.ok(&["--workspace", workspace, "add", "a.md"]);
    }
    graphloom
        .run(&["copy", "--all", "sqlite:.graphloom", "elsewhere"])
        .exits(0)
        .says("one: 1 document")
        .says("two: 1 document");
    graphloom
        .run(&["copy", "--all", "nowhere", "elsewhere"])
        .exits(2)
        .says("there are no workspaces in nowhere")
        .says("such as PROJECT/.graphloom");
}
