//! `backup` and `restore`: a restored workspace equals the one that was backed up.

use graphloom_postgres::testing::{Server, postgres_folder};
use serde_json::json;

use crate::common::{Graphloom, copy_lab};

/// Returns a folder with the samples, a second workspace, and a key.
fn origin() -> Graphloom {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    graphloom.ok(&["graph", "edit", "Edda Corrin", "--description", "Chief executive since 2019."]);
    graphloom.write("other.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["--workspace", "other", "add", "other.md"]);
    graphloom.ok(&["key", "create", "admin", "--right", "admin"]);
    graphloom
}

#[test]
fn a_backup_is_verified_and_restored_with_keys() {
    let graphloom = origin();
    let hash = graphloom.hash();
    graphloom.run(&["restore", "backup"]).exits(2).says("contains no complete backup");
    graphloom
        .run(&["backup", "backup"])
        .exits(0)
        .says("backed up default")
        .says(&hash)
        .says("backed up other");
    graphloom.run(&["backup", "backup"]).exits(2).says("already contains a complete backup");
    graphloom
        .run(&["restore", "backup", "--verify"])
        .exits(0)
        .says("verified default")
        .says("verified other");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            std::fs::metadata(graphloom.path("backup/access.json")).expect("keys").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let spare = ["--data-dir", "spare"];
    let run = |arguments: &[&str]| graphloom.run(&[&spare, arguments].concat());
    run(&["restore", "backup"]).exits(0).says("restored default").says("restored other");
    assert_eq!(run(&["dump", "--hash"]).exits(0).stdout.trim(), hash);
    run(&["check"]).exits(0);
    run(&["key", "list"]).exits(0).says("admin");
    run(&["restore", "backup"]).exits(0).says("restored default");
    run(&["rm", "docs/staff.csv"]).exits(0);
    run(&["restore", "backup"]).exits(0);
    assert_eq!(run(&["dump", "--hash"]).exits(0).stdout.trim(), hash, "the removed document is restored");
    graphloom.write("more.md", "Ilse Maar runs the harbour of Kelm.\n");
    run(&["add", "more.md"]).exits(0);
    run(&["restore", "backup"]).exits(1).says("the target holds documents that the source does not have");
}

#[test]
fn a_backup_into_the_data_folder_or_among_other_files_is_refused() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.run(&["backup", "saved"]).exits(2).says("there are no workspaces in");
    assert!(!graphloom.path("saved").exists());
    graphloom.ok(&["add", "a.md"]);
    for folder in [".graphloom", ".graphloom/saved", "./.graphloom/more/saved"] {
        graphloom.run(&["backup", folder]).exits(2).says("is the data folder or inside it");
    }
    graphloom.write("full/notes.txt", "mine");
    graphloom
        .run(&["backup", "full"])
        .exits(2)
        .says("contains other files")
        .says("name a new or empty folder");
    std::fs::create_dir(graphloom.path("empty")).expect("made");
    graphloom.run(&["backup", "empty"]).exits(0).says("backed up default");
    // As an interrupted backup leaves it.
    std::fs::rename(graphloom.path("empty/backup.json"), graphloom.path("empty/backup.json.new"))
        .expect("renamed");
    graphloom.run(&["backup", "empty"]).exits(0);
    graphloom.run(&["restore", "empty", "--verify"]).exits(0);
}

#[test]
fn a_damaged_workspace_is_named_and_the_others_are_listed_and_backed_up() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    for workspace in ["one", "two"] {
        graphloom.ok(&["--workspace", workspace, "add", "a.md"]);
    }
    std::fs::write(graphloom.path(".graphloom/one.graphloom"), "no database".repeat(1000)).expect("written");
    let repair = "help: `graphloom --workspace one check` lists the damage";
    graphloom
        .run(&["workspace", "list"])
        .exits(3)
        .says("one: cannot be read")
        .says(repair)
        .says("two: 1 document");
    graphloom
        .run(&["backup", "saved"])
        .exits(3)
        .says("not backed up: one")
        .says(repair)
        .says("backed up two");
    graphloom.run(&["restore", "saved", "--verify"]).exits(0).says("verified two");
    graphloom.run(&["--workspace", "one", "status"]).exits(1).says(repair);
    graphloom.ok(&["workspace", "delete", "two", "--yes"]);
    graphloom.run(&["backup", "none"]).exits(1).says("no workspace was backed up");
}

#[test]
fn an_incremental_backup_copies_only_changes_and_is_restored_with_the_older_ones() {
    let graphloom = origin();
    let other = ["--workspace", "other"];
    let of_other = |arguments: &[&str]| graphloom.ok(&[&other, arguments].concat());
    graphloom.ok(&["backup", "monday"]);
    let tuesday = graphloom.run(&["backup", "tuesday", "--incremental", "monday"]).exits(0);
    tuesday.says("unchanged default").says("unchanged other");
    graphloom.write("more.md", "Ilse Maar runs the harbour of Kelm.\n");
    of_other(&["add", "more.md"]);
    let wednesday = graphloom.run(&["backup", "wednesday", "--incremental", "tuesday"]).exits(0);
    wednesday.says("unchanged default").says("backed up other");
    assert!(!graphloom.path("wednesday/default.graphloom").exists());
    assert!(graphloom.path("wednesday/other.graphloom").exists());
    let verified = graphloom.run(&["restore", "wednesday", "--verify"]).exits(0);
    verified.says("verified default").says("verified other");
    graphloom.ok(&["--data-dir", "spare", "restore", "wednesday"]);
    for workspace in ["default", "other"] {
        let hash =
            |folder: &str| graphloom.ok(&["--data-dir", folder, "--workspace", workspace, "dump", "--hash"]);
        assert_eq!(hash(".graphloom"), hash("spare"), "{workspace}");
    }
    // The same documents in a workspace that was created later.
    graphloom.ok(&["workspace", "delete", "other", "--yes"]);
    of_other(&["add", "other.md"]);
    of_other(&["add", "more.md"]);
    let thursday = graphloom.run(&["backup", "thursday", "--incremental", "wednesday"]).exits(0);
    thursday.says("unchanged default").says("backed up other");
    std::fs::rename(graphloom.path("monday"), graphloom.path("lost")).expect("moved");
    graphloom.run(&["restore", "thursday", "--verify"]).exits(2).says("default is in the older backup");
    let friday = graphloom.run(&["backup", "friday", "--incremental", "thursday"]);
    friday.exits(0).says("backed up default").says("unchanged other");
}

#[test]
fn a_backup_taken_while_documents_are_added_is_consistent() {
    let graphloom = origin();
    for number in 0..30 {
        graphloom
            .write(&format!("more/{number}.md"), format!("Person{number} Oskoldt runs Harbour{number}.\n"));
    }
    let mut adding = graphloom.command(&["add", "more"]).spawn().expect("it runs");
    graphloom.run(&["backup", "backup"]).exits(0);
    assert!(adding.wait().expect("it ends").success());
    graphloom.run(&["restore", "backup", "--verify"]).exits(0);
    let run = |arguments: &[&str]| graphloom.run(&[&["--data-dir", "spare"], arguments].concat());
    run(&["restore", "backup"]).exits(0);
    run(&["check"]).exits(0).says("no contradictions");
    run(&["work"]).exits(0);
}

#[test]
fn a_modified_backup_is_refused() {
    let graphloom = origin();
    graphloom.ok(&["backup", "backup"]);
    graphloom.ok(&["--data-dir", "backup", "rm", "docs/staff.csv"]);
    let refused = graphloom.run(&["restore", "backup", "--verify"]).exits(2);
    refused.says("the backup of default is damaged: its hash is");
    std::fs::remove_file(graphloom.path("backup/other.graphloom")).expect("there");
    graphloom.ok(&["--data-dir", "backup", "workspace", "delete", "default", "--yes"]);
    graphloom.run(&["--data-dir", "spare", "restore", "backup"]).exits(2).says("it is missing");
}

#[cfg(unix)]
#[test]
fn a_database_can_be_backed_up_to_files_and_restored_into_another_one() {
    std::fs::create_dir_all(postgres_folder()).expect("a folder");
    let folders = [(); 2].map(|()| {
        let folder = tempfile::TempDir::new_in(postgres_folder()).expect("a folder");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).expect("readable");
        folder
    });
    let [first, second] = folders.each_ref().map(|folder| Server::start(folder.path(), &["fsync=off"]));
    let here = Graphloom::new().with("GRAPHLOOM_STORE", &first.url());
    copy_lab(&here);
    here.ok(&["add", "docs"]);
    here.ok(&["key", "create", "admin", "--right", "admin"]);
    let backup = here.path("backup");
    let backup = backup.to_str().expect("a path");
    here.run(&["backup", backup]).exits(0).says("backed up default");
    here.run(&["restore", backup, "--verify"]).exits(0);
    let there = Graphloom::new().with("GRAPHLOOM_STORE", &second.url());
    there.run(&["restore", backup]).exits(0).says("restored default");
    assert_eq!(there.hash(), here.hash());
    assert_eq!(there.json(&["key", "list"])[0]["name"], json!("admin"));
    there.run(&["check"]).exits(0).says("no contradictions");
}
