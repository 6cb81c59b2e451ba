//! Removing a document leaves the state as if it had never been added.

use crate::common::{Graphloom, copy_lab};

#[test]
fn the_state_after_a_removal_equals_a_build_without_the_document() {
    let plain = Graphloom::new();
    copy_lab(&plain);
    std::fs::remove_file(plain.path("docs/staff.csv")).expect("there");
    plain.ok(&["add", "docs"]);

    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    assert_ne!(graphloom.hash(), plain.hash());
    graphloom.run(&["rm", "docs/staff.csv"]).exits(0).says("removed docs/staff.csv");
    assert_eq!(graphloom.hash(), plain.hash());
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn the_order_of_adding_does_not_matter() {
    let one = Graphloom::new();
    let other = Graphloom::new();
    copy_lab(&one);
    copy_lab(&other);
    one.ok(&["add", "docs"]);
    for name in ["docs/staff.csv", "docs/newsletter-winter-2018.md", "docs"] {
        other.ok(&["add", name]);
    }
    assert_eq!(one.hash(), other.hash());
}

#[test]
fn removing_an_unknown_document_suggests_similar_names_and_removes_nothing() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/charter.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "docs"]);
    let before = graphloom.hash();
    let ran = graphloom.run(&["rm", "docs/charter.md", "docs/chater.md"]).exits(1);
    ran.says("no document \"docs/chater.md\"").says("help: did you mean docs/charter.md?");
    assert_eq!(graphloom.hash(), before);
}

#[test]
fn a_folder_stands_for_the_documents_below_it_and_its_removal_is_confirmed() {
    let graphloom = Graphloom::new();
    for file in ["inner/a.md", "inner/deep/b.md", "inner.md", "outer/c.md"] {
        graphloom.write(file, format!("Ada Lovelace wrote the program {file}.\n"));
    }
    graphloom.ok(&["add", "inner", "inner.md", "outer"]);
    let asked = graphloom.run(&["rm", "inner/"]).exits(2);
    let asked = asked.says("would remove inner/a.md").says("would remove inner/deep/b.md");
    asked.says("nothing was removed: 2 documents are below inner/").says("add --yes");
    graphloom.run(&["show", "inner"]).exits(1).says("--source 'inner/**'` lists its documents");
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 4);

    graphloom.run(&["rm", "inner", "--yes"]).exits(0).says("2 documents,");
    graphloom.run(&["show", "inner.md"]).exits(0);
    graphloom.run(&["rm", ".", "--dry-run"]).exits(0).says("2 documents would be removed");
    graphloom.run(&["rm", "inner"]).exits(1).says("no document \"inner\"");
}
