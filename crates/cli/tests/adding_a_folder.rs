//! `add` accepts readable files, lists the others with a reason, and omits nothing silently.

use std::process::Stdio;

use crate::common::Graphloom;

#[test]
fn bad_files_are_refused_with_reasons_and_the_rest_is_added() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/good.md", "# Good\n\nAda Lovelace wrote the first program.\n");
    graphloom.write("docs/binary.txt", b"\x00\x01\x02\x03\xff\xfe\x00binary\x00\x00".as_slice());
    graphloom.write("docs/empty.md", "");
    graphloom.write("docs/picture.png", b"\x89PNG".as_slice());
    let ran = graphloom.run(&["add", "docs"]).exits(3);
    let ran = ran.says("1 document accepted, 2 refused, 1 skipped");
    let ran = ran.says("refused: docs/binary.txt: ").says("refused: docs/empty.md: ");
    ran.says("skipped: docs/picture.png: files of kind .png are not supported");
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 1);
}

#[test]
fn files_of_unsupported_formats_are_reported_on_one_line() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/good.md", "Ada Lovelace wrote the first program.\n");
    for name in ["a.png", "b.png", "c.png", "d.jpg"] {
        graphloom.write(&format!("docs/{name}"), "x");
    }
    let ran = graphloom.run(&["add", "docs"]).exits(0);
    let ran = ran.says("skipped: 4 files of unsupported kinds: 3 .png, 1 .jpg");
    assert_eq!(ran.stdout.matches("skipped: ").count(), 1, "{}", ran.stdout);
}

#[test]
fn a_finished_run_names_the_next_step_and_its_run_name_only_if_verbose() {
    let graphloom = Graphloom::new();
    graphloom.write("a b/one.md", "Ada Lovelace wrote the first program.\n");
    let ran = graphloom.run(&["add", "a b"]).exits(0).says("Next: `graphloom ask \"YOUR QUESTION\"`");
    assert!(!ran.stderr.contains("run add-"), "{}", ran.stderr);
    graphloom.run(&["-v", "add", "a b"]).exits(0).says("run add-");
    let elsewhere = graphloom.run(&["--data-dir", "my data", "--workspace", "notes", "add", "a b"]).exits(0);
    elsewhere.says("Next: `graphloom --data-dir 'my data' --workspace notes ask");
    let unchanged = graphloom.run(&["add", "a b"]).exits(0);
    assert!(!unchanged.stderr.contains("Next:"), "nothing is new: {}", unchanged.stderr);
}

#[test]
fn documents_whose_files_are_gone_are_counted_and_removed_with_prune() {
    let graphloom = Graphloom::new();
    graphloom.write("d/old.md", "Ada Lovelace wrote the first program.\n");
    graphloom.write("d/kept.md", "Grace Hopper found a moth.\n");
    graphloom.write("other/far.md", "Edda Corrin runs the mill.\n");
    graphloom.ok(&["add", "d", "other"]);
    std::fs::rename(graphloom.path("d/old.md"), graphloom.path("d/new.md")).expect("renamed");
    std::fs::remove_file(graphloom.path("other/far.md")).expect("removed");
    let ran = graphloom.run(&["add", "d"]).exits(0);
    ran.says("1 document below d has no file any more; `--prune` removes it");
    let told = graphloom.ok(&["--json", "add", "d"]);
    let summary = told.lines().last().expect("a summary");
    assert!(summary.contains(r#""gone":["d/old.md"],"pruned":false"#), "{summary}");

    let refused = graphloom.run(&["add", "d", "missing", "--prune"]).exits(3);
    refused.says("nothing was removed: a path could not be read");
    graphloom.run(&["add", "https://example.org/", "--prune"]).exits(2).says("--prune needs a folder");
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 4);

    let pruned = graphloom.run(&["add", "d", "--prune"]).exits(0);
    pruned.says("removed 1 document below d that has no file any more");
    graphloom.run(&["show", "d/old.md"]).exits(1);
    graphloom.run(&["show", "other/far.md"]).exits(0);
    let again = graphloom.ok(&["add", "d", "--prune"]);
    assert!(!again.contains("no file any more"), "{again}");
}

#[cfg(unix)]
#[test]
fn a_document_is_pruned_if_a_link_or_a_folder_takes_the_place_of_its_file() {
    use std::os::unix::fs::symlink;
    let graphloom = Graphloom::new();
    for file in ["d/link.md", "d/folder.md", "d/sub/deep.md", "d/named.txt"] {
        graphloom.write(file, format!("Bo Lind leads {file}.\n"));
    }
    graphloom.write("real.md", "Zed Quill leads Ruff.\n");
    symlink("../real.md", graphloom.path("d/own.md")).expect("linked");
    graphloom.ok(&["add", "d", "d/own.md"]);
    std::fs::remove_file(graphloom.path("d/link.md")).expect("removed");
    symlink("../real.md", graphloom.path("d/link.md")).expect("linked");
    std::fs::remove_file(graphloom.path("d/folder.md")).expect("removed");
    graphloom.write("d/folder.md/inner.bin", "");
    std::fs::rename(graphloom.path("d/sub"), graphloom.path("moved")).expect("moved");
    symlink("../moved", graphloom.path("d/sub")).expect("linked");

    let pruned = graphloom.run(&["add", "d", "--prune"]).exits(0);
    let pruned = pruned.says("removed 3 documents below d that have no file any more");
    // This link was added by its own name.
    pruned.says(
        "1 document below d has a file that `add` skips in folders: d/own.md; `graphloom rm` removes it",
    );
    assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
}

#[test]
fn a_document_whose_file_is_ignored_now_stays_and_is_reported() {
    let graphloom = Graphloom::new();
    graphloom.write("d/kept.md", "Grace Hopper found a moth.\n");
    graphloom.write("d/secret.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "d"]);
    graphloom.write("d/.gitignore", "secret.md\n");
    let ran = graphloom.run(&["add", "d", "--prune"]).exits(0);
    ran.says("has a file that `add` skips in folders: d/secret.md; `graphloom rm` removes it");
    let named = graphloom.ok(&["add", "d", "d/secret.md"]);
    assert!(!named.contains("skips in folders"), "{named}");
    let told = graphloom.ok(&["--json", "add", "d"]);
    assert!(told.contains(r#""left_out":["d/secret.md"]"#), "{told}");
}

#[cfg(unix)]
#[test]
fn a_file_name_with_line_ends_is_printed_on_one_line() {
    let graphloom = Graphloom::new();
    graphloom.write("d/one\ntwo\tthree.md", "Grace Hopper found a moth.\n");
    graphloom.ok(&["add", "d"]);
    let one_line = "d/one\u{fffd}two\u{fffd}three.md";
    let source = "d/one\ntwo\tthree.md";
    let commands: [&[&str]; 4] =
        [&["ask", "Who found a moth?"], &["search", "moth"], &["status"], &["show", source]];
    for command in commands {
        graphloom.run(command).exits(0).says(one_line);
    }
    graphloom.run(&["rm", source]).exits(0).says(one_line);
}

#[cfg(unix)]
#[test]
fn nothing_is_pruned_if_a_folder_cannot_be_read() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let graphloom = Graphloom::new();
    graphloom.write("d/a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.write("d/closed/b.md", "Grace Hopper found a moth.\n");
    graphloom.ok(&["add", "d"]);
    std::fs::remove_file(graphloom.path("d/a.md")).expect("removed");
    let closed = graphloom.path("d/closed");
    set_permissions(&closed, Permissions::from_mode(0o000)).expect("closed");
    // The administrator can read every folder.
    let is_readable = std::fs::read_dir(&closed).is_ok();
    let ran = graphloom.run(&["add", "d", "--prune"]);
    set_permissions(&closed, Permissions::from_mode(0o700)).expect("opened");
    if !is_readable {
        ran.exits(3).says("nothing was removed");
        assert_eq!(graphloom.json(&["status"])["counts"]["documents"], 2);
    }
}

#[test]
fn successful_documents_are_listed_one_by_one_only_if_verbose() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/one.md", "Ada Lovelace wrote the first program.\n");
    let ran = graphloom.run(&["add", "docs"]).exits(0);
    assert!(!ran.stderr.contains("docs/one.md"), "{}", ran.stderr);
    graphloom.run(&["--data-dir", "other", "-v", "add", "docs"]).exits(0).says("docs/one.md: done, 1 chunk");
}

#[test]
fn other_encodings_are_read_and_reported() {
    let graphloom = Graphloom::new();
    let latin = b"Das Caf\xe9 an der Stra\xdfe geh\xf6rt Frau M\xfcller. Sie \xf6ffnet es fr\xfch.\n";
    graphloom.write("docs/latin.txt", latin.as_slice());
    let utf16: Vec<u8> = std::iter::once(0xfeff_u16)
        .chain("Grace Hopper found a moth.\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    graphloom.write("docs/wide.txt", utf16);
    let ran = graphloom.run(&["add", "docs"]).exits(0);
    ran.says("not UTF-8: docs/latin.txt: read as windows-1252")
        .says("not UTF-8: docs/wide.txt: read as UTF-16LE");
    assert!(graphloom.ok(&["show", "docs/latin.txt", "--text"]).contains("Café an der Straße"));
    assert!(graphloom.ok(&["show", "docs/wide.txt", "--text"]).contains("Grace Hopper"));
}

#[test]
fn a_file_that_is_too_large_is_refused_without_reading_it() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/good.md", "Ada Lovelace wrote the first program.\n");
    let huge = std::fs::File::create(graphloom.path("docs/huge.txt")).expect("made");
    huge.set_len(60 * 1024 * 1024).expect("sparse");
    graphloom
        .run(&["add", "docs"])
        .exits(3)
        .says("refused: docs/huge.txt: larger than")
        .says("1 document accepted");
}

#[test]
fn a_path_that_does_not_exist_is_refused_and_the_rest_is_added() {
    let graphloom = Graphloom::new();
    graphloom.write("good.md", "Ada Lovelace wrote the first program.\n");
    graphloom.run(&["add", "missing.md", "good.md"]).exits(3).says("refused: missing.md: does not exist");
    assert_eq!(graphloom.json(&["status"])["by_status"]["ready"], 1);
}

#[cfg(unix)]
#[test]
fn links_are_listed_and_not_followed() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/good.md", "Ada Lovelace wrote the first program.\n");
    graphloom.write("secret.md", "Not to be added.\n");
    std::os::unix::fs::symlink(graphloom.path("secret.md"), graphloom.path("docs/link.md")).expect("a link");
    let ran = graphloom.run(&["add", "docs"]).exits(0).says("1 document accepted");
    ran.says("skipped: docs/link.md: symbolic links are not followed");
}

#[test]
fn duplicate_content_is_added_and_reported() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/one.md", "Ada Lovelace wrote the first program.\n");
    graphloom.write("docs/two.md", "Ada Lovelace wrote the first program.\n");
    let ran = graphloom.run(&["add", "docs"]).exits(0).says("2 documents accepted");
    ran.says("same content as another document: docs/two.md: docs/one.md");
}

#[test]
fn adding_again_changes_nothing_regardless_of_how_the_path_is_written() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/one.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "docs"]);
    let before = graphloom.hash();
    graphloom.run(&["add", "./docs/../docs/"]).exits(0).says("0 documents accepted, 1 unchanged");
    let absolute = graphloom.path("docs/one.md");
    graphloom.run(&["add", absolute.to_str().expect("UTF-8")]).exits(0).says("1 unchanged");
    assert_eq!(graphloom.hash(), before);
}

#[test]
fn standard_input_is_a_document_with_a_name() {
    let graphloom = Graphloom::new();
    graphloom.write("note.md", "Little Heron is an array for plastic pipes.\n");
    let mut command = graphloom.command(&["add", "-", "--name", "little-heron.md"]);
    let input = std::fs::File::open(graphloom.path("note.md")).expect("readable");
    let output = command.stdin(Stdio::from(input)).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(graphloom.ok(&["show", "little-heron.md", "--text"]).contains("plastic pipes"));
    graphloom.run(&["add", "-"]).exits(2).says("--name");
}

#[test]
fn an_empty_folder_says_that_nothing_was_found() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/.hidden.md", "Hidden.\n");
    graphloom.run(&["add", "docs"]).exits(0).says("nothing to add: in folders");
}

/// No user, not even root, can create a file in this folder.
#[cfg(target_os = "linux")]
#[test]
fn adding_to_a_read_only_folder_says_so_and_names_a_remedy() {
    let graphloom = Graphloom::new();
    graphloom.write("a.txt", "Ada Lovelace met Charles Babbage in London.");
    let refused = graphloom.run(&["--data-dir", "/sys", "add", "a.txt"]).exits(1);
    assert!(refused.stderr.contains("cannot be written"), "{}", refused.stderr);
    assert!(refused.stderr.contains("help: allow this user to write"), "{}", refused.stderr);
}
