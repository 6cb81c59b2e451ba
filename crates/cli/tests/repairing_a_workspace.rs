//! A workspace that lost commits is refused unless the loss is accepted. A damaged workspace is repaired from its intact rows,
//! and the repair lists what is lost.

use crate::common::Graphloom;

const STORE: &str = ".graphloom/default.graphloom";

fn with_a_document() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("a.txt", "Ada Lovelace met Charles Babbage in London.");
    graphloom.ok(&["add", "a.txt"]);
    graphloom
}

#[test]
fn a_truncated_workspace_file_is_refused_until_the_loss_is_accepted() {
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
fn an_older_backup_is_used_once_the_loss_is_accepted() {
    let graphloom = with_a_document();
    let (backup, hash) = (std::fs::read(graphloom.path(STORE)).expect("a backup"), graphloom.hash());
    graphloom.write("b.txt", "Bob met Cleo in Paris.");
    graphloom.ok(&["add", "b.txt"]);
    graphloom.write(STORE, &backup);
    graphloom.run(&["dump", "--hash"]).exits(1);
    let printed = graphloom.run(&["--json", "repair", "--accept-loss"]).exits(3).stdout;
    let repaired =
        printed.lines().next().expect("a line for the repair, before the one for the work after it");
    let repaired: serde_json::Value = serde_json::from_str(repaired).expect("JSON");
    assert!(repaired["lost"]["revision"].as_u64() < repaired["lost"]["committed"].as_u64(), "{repaired}");
    let copy = repaired["copies"][0].as_str().expect("a copy");
    assert_eq!(std::fs::read(graphloom.path(copy)).expect("the copy"), backup);
    assert_eq!(graphloom.hash(), hash);
    graphloom.run(&["repair"]).exits(0).says("nothing is damaged or lost");
}

#[test]
fn a_changed_bit_is_harmless_or_found_and_repaired_or_reported() {
    let graphloom = Graphloom::new();
    for number in 0..4 {
        let text =
            format!("Ada Lovelace met Charles Babbage in London in {}. They built an engine.", 1830 + number);
        graphloom.write(&format!("docs/{number}.txt"), text);
    }
    graphloom.ok(&["add", "docs"]);
    let (whole, hash) = (std::fs::read(graphloom.path(STORE)).expect("the store"), graphloom.hash());
    let (mut found, mut place) = (0, 1u64);
    for _ in 0..30 {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut bytes = whole.clone();
        bytes[(place >> 33) as usize % whole.len()] ^= 1 << (place >> 30 & 7);
        // Start fresh: no log, mark or index of the previous round.
        std::fs::remove_dir_all(graphloom.path(".graphloom")).expect("removed");
        graphloom.write(STORE, bytes);
        if graphloom.run(&["check"]).code == Some(0) {
            assert_eq!(graphloom.hash(), hash, "place {place}");
            continue;
        }
        found += 1;
        let repaired = graphloom.run(&["repair"]);
        match repaired.code {
            Some(0) => assert_eq!(graphloom.hash(), hash, "place {place}: {}", repaired.stdout),
            Some(3) => assert!(repaired.stdout.contains("lost "), "place {place}: {}", repaired.stdout),
            _ => {
                assert!(repaired.stderr.contains("backup"), "place {place}: {}", repaired.stderr);
                continue;
            }
        }
        graphloom.run(&["check"]).exits(0);
        assert!(graphloom.path(&format!("{STORE}.damaged-1")).exists());
    }
    assert!(found > 0, "no place was used");
}

#[test]
fn check_finds_a_damaged_index_and_searches_return_the_same_hits() {
    let graphloom = with_a_document();
    let hits = graphloom.ok(&["--json", "search", "Babbage"]);
    let index = graphloom.path(".graphloom/default.projections/full_text");
    for entry in std::fs::read_dir(&index).expect("the index") {
        let path = entry.expect("an entry").path();
        let mut bytes = std::fs::read(&path).expect("a file");
        if let Some(byte) = bytes.first_mut() {
            *byte ^= 1;
            std::fs::write(&path, bytes).expect("written");
        }
    }
    graphloom.run(&["check"]).exits(1).says("projection");
    assert_eq!(graphloom.ok(&["--json", "search", "Babbage"]), hits);
    graphloom.run(&["check"]).exits(0);
}
