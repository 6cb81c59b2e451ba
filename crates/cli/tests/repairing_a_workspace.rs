//! A workspace that lost what was committed says so, and begins again only where that is wanted.

mod common;

use common::Graphloom;

const STORE: &str = ".graphloom/default.graphloom";

fn with_a_document() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("a.txt", "Ada Lovelace met Charles Babbage in London.");
    graphloom.ok(&["add", "a.txt"]);
    graphloom
}

#[test]
fn a_workspace_whose_file_was_cut_short_is_refused_until_the_loss_is_accepted() {
    for length in [None, Some(0), Some(1)] {
        let graphloom = with_a_document();
        match length {
            None => std::fs::remove_file(graphloom.path(STORE)).expect("removed"),
            Some(length) => graphloom.write(STORE, vec![0; length]),
        }
        for command in [&["status"][..], &["add", "a.txt"], &["check"], &["ask", "Whom did Ada meet?"]] {
            let refused = graphloom.run(command).exits(1);
            assert!(refused.stderr.contains("was committed to it"), "{}", refused.stderr);
            assert!(refused.stderr.contains("graphloom repair"), "{}", refused.stderr);
        }
        let refused = graphloom.run(&["repair"]).exits(1);
        assert!(refused.stderr.contains("--accept-loss"), "{}", refused.stderr);
        graphloom.run(&["repair", "--accept-loss"]).exits(3).says("lost");
        graphloom.ok(&["add", "a.txt"]);
        graphloom.run(&["check"]).exits(0);
    }
}

#[test]
fn an_older_backup_is_taken_once_the_loss_is_accepted() {
    let graphloom = with_a_document();
    let (backup, hash) = (std::fs::read(graphloom.path(STORE)).expect("a backup"), graphloom.hash());
    graphloom.write("b.txt", "Bob met Cleo in Paris.");
    graphloom.ok(&["add", "b.txt"]);
    graphloom.write(STORE, &backup);
    graphloom.run(&["dump", "--hash"]).exits(1);
    let repaired: serde_json::Value =
        serde_json::from_str(&graphloom.run(&["--json", "repair", "--accept-loss"]).exits(3).stdout)
            .expect("one JSON value");
    assert!(repaired["lost"]["revision"].as_u64() < repaired["lost"]["committed"].as_u64(), "{repaired}");
    let copy = repaired["copies"][0].as_str().expect("a copy");
    assert_eq!(std::fs::read(copy).expect("the copy"), backup);
    assert_eq!(graphloom.hash(), hash);
    graphloom.run(&["repair"]).exits(0).says("nothing is lost");
}
