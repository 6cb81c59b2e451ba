//! Commands in hints and errors repeat the options that select the workspace, so that they can be copied.

use crate::common::{Graphloom, copy_lab};

const PLACE: [&str; 4] = ["--data-dir", "my data", "--workspace", "notes"];
const REPEATED: &str = "`graphloom --data-dir 'my data' --workspace notes ";

/// Checks that the command prints the hint and repeats the options in every hint; `hint` is without them.
fn check_hint(graphloom: &Graphloom, arguments: &[&str], hint: &str) {
    let ran = graphloom.run(&[&PLACE, arguments].concat());
    let printed = ran.stdout + &ran.stderr;
    let expected = hint.replace("`graphloom ", REPEATED);
    assert!(printed.contains(&expected), "{arguments:?}: nothing about {expected:?} in\n{printed}");
    let hints = printed.matches("`graphloom ").count();
    assert_eq!(printed.matches(REPEATED).count(), hints, "{arguments:?}: options are missing in\n{printed}");
    assert_eq!(
        printed.matches("--workspace").count(),
        hints,
        "{arguments:?}: options occur twice in\n{printed}"
    );
}

#[test]
fn hints_on_both_streams_and_errors_repeat_the_options_that_select_the_workspace() {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    for (arguments, hint) in [
        (&["status"][..], "`graphloom add PATH` creates it"),
        (&["doctor"], "does not exist yet; `graphloom add PATH` creates it"),
        (&["add", "a.md", "--no-wait"], "`graphloom work` indexes the queued documents"),
        (&["re-embed"], "`graphloom add` creates the first"),
        (&["ask", "Who is Grace Hopper?"], "not indexed yet; `graphloom work` indexes them"),
        (&["contextualize"], "`graphloom work` and `graphloom retry` add the context"),
        (&["-v", "pause"], "`graphloom resume` resumes indexing"),
        (&["status"], "indexing is paused; `graphloom resume` resumes it"),
        (&["work"], "run `graphloom resume` and then `graphloom work`"),
        (&["resume"], "`graphloom work` indexes the queued documents"),
        (
            &["cancel", "--all"],
            "`graphloom retry DOC` queues a document again, `graphloom rm DOC` removes it",
        ),
        (&["add", "a.md"], "cancelled earlier: `graphloom retry --cancelled` queues them again"),
        (&["-v", "add", "docs"], "Next: `graphloom ask \"YOUR QUESTION\"`"),
        (&["tree"], "no tree yet; `graphloom derive tree` builds it"),
        (&["export", "graphrag", "tables"], "no communities yet; `graphloom derive communities` finds them"),
        (&["graph", "create", "Weir Lock", "--description", "A lock."], "`graphloom graph undo "),
        (&["show", "missing.md"], "`graphloom status` lists all documents"),
        (&["--quiet", "status", "--track", "missing"], "`graphloom add` prints the name of its run"),
    ] {
        check_hint(&graphloom, arguments, hint);
    }
    graphloom.ok(&[&PLACE[..], &["derive", "communities"]].concat());
    graphloom.ok(&[&PLACE[..], &["rm", "docs/founding-charter.md"]].concat());
    check_hint(&graphloom, &["status"], "out of date; `graphloom derive communities` updates it");
}
