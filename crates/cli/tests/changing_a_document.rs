//! The same source with other content is a new version of the document.

use crate::common::Graphloom;

#[test]
fn a_changed_file_replaces_its_old_version() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.write("docs/b.md", "Grace Hopper found a moth in Harvard.\n");
    graphloom.ok(&["add", "docs"]);
    graphloom.write("docs/a.md", "Alan Turing broke a cipher in Bletchley.\n");
    graphloom.run(&["add", "docs"]).exits(0).says("1 document accepted, 1 as a new version, 1 unchanged");
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
    graphloom.run(&["graph", "Ada Lovelace"]).exits(1).says("no entity");
    assert!(graphloom.ok(&["graph", "Alan Turing"]).contains("docs/a.md:1"));

    let plain = Graphloom::new();
    plain.write("docs/a.md", "Alan Turing broke a cipher in Bletchley.\n");
    plain.write("docs/b.md", "Grace Hopper found a moth in Harvard.\n");
    plain.ok(&["add", "docs"]);
    assert_eq!(graphloom.hash(), plain.hash());
}

#[test]
fn restoring_the_old_content_restores_the_old_state() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "a.md"]);
    let before = graphloom.hash();
    graphloom.write("a.md", "Alan Turing broke a cipher in Bletchley.\n");
    graphloom.ok(&["add", "a.md"]);
    assert_ne!(graphloom.hash(), before);
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "a.md"]);
    assert_eq!(graphloom.hash(), before);
}
