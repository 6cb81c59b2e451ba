//! Filters select the documents to list, ask, export and remove.

use serde_json::Value;

use crate::common::Graphloom;

/// Two reports and a memo, in two folders, added with their own metadata.
fn library() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("reports/2021.md", "Maren Oskoldt directs the Larkfen Laboratory in Kellmere.");
    graphloom.write("reports/2024.md", "Ivo Tarn directs the Larkfen Laboratory in Kellmere.");
    graphloom.write("memos/plan.md", "Sunniva Holt plans the Eel Ladder of the Larkfen Laboratory.");
    for (path, project, year) in [
        ("reports/2021.md", "weir", "2021"),
        ("reports/2024.md", "weir", "2024"),
        ("memos/plan.md", "eel", "2024"),
    ] {
        let (project, year) = (format!("project={project}"), format!("year={year}"));
        graphloom.ok(&["add", path, "--meta", &project, "--meta", &year]);
    }
    graphloom
}

fn sources(status: &Value) -> Vec<&str> {
    let documents = status["documents"].as_array().expect("a list");
    documents.iter().map(|document| document["source"].as_str().expect("a source")).collect()
}

#[test]
fn a_question_with_a_filter_reads_only_the_documents_that_match() {
    let graphloom = library();
    let ask = ["ask", "--full", "Who directs the Larkfen Laboratory?"];
    let answer = |conditions: &[&str]| graphloom.json(&[&ask[..], conditions].concat());
    let answered = answer(&["--meta", "year<=2021"]);
    let retrieval = answered["retrieval"].to_string();
    assert!(answered["answer"].as_str().is_some_and(|answer| answer.contains("Maren Oskoldt")), "{answered}");
    for word in ["Ivo Tarn", "Sunniva", "Eel Ladder", "reports/2024.md", "memos"] {
        assert!(!retrieval.contains(word), "{word} in {retrieval}");
    }
    assert!(
        answer(&["--source", "reports/2024.md"])["answer"].as_str().is_some_and(|it| it.contains("Ivo Tarn"))
    );
    let found = graphloom.json(&["search", "Larkfen Laboratory", "--document", "memos/plan.md"]);
    assert_eq!(found["passages"].as_array().map(Vec::len), Some(1));
    assert!(!found.to_string().contains("Tarn"), "{found}");
}

#[test]
fn a_filter_without_matches_says_so() {
    let graphloom = library();
    for command in [&["ask", "Who?"][..], &["search", "Larkfen"], &["export"]] {
        let ran = graphloom.run(&[command, &["--source", "letters/**"]].concat()).exits(4);
        ran.says("no document matches the filter").says("help: ");
    }
    graphloom
        .run(&["ask", "Who?", "--document", "reports/2020.md"])
        .exits(1)
        .says("did you mean reports/2021.md");
    graphloom.run(&["ask", "Who?", "--meta", "year>=new"]).exits(2).says("can be compared");
    graphloom.run(&["ask", "Who?", "--after", "May"]).exits(2).says("2024-05-31");
    graphloom.run(&["status", "--status", "done"]).exits(2).says("incomplete");
    graphloom
        .run(&["ask", "Who?", "--mode", "bypass", "--meta", "year"])
        .exits(2)
        .says("a filter has no effect");
}

#[test]
fn status_lists_matching_documents_page_by_page_in_the_requested_order() {
    let graphloom = library();
    let status = |conditions: &[&str]| graphloom.json(&[&["status"], conditions].concat());
    assert_eq!(
        sources(&status(&["--sort", "source"])),
        ["memos/plan.md", "reports/2021.md", "reports/2024.md"]
    );
    let weir = status(&["--meta", "project=weir", "--status", "ready,waiting", "--sort", "date"]);
    assert_eq!(sources(&weir), ["reports/2024.md", "reports/2021.md"]);
    assert_eq!((&weir["matching"], &weir["by_status"]["ready"]), (&2.into(), &2.into()));
    assert_eq!(weir["documents"][0]["meta"]["year"], "2024");
    assert_eq!(sources(&status(&["--before", "2020"])), [""; 0]);

    let first = status(&["--sort", "source", "--limit", "2"]);
    assert_eq!(sources(&first), ["memos/plan.md", "reports/2021.md"]);
    let next = first["next"].as_str().expect("there is more");
    let rest = status(&["--sort", "source", "--limit", "2", "--next", next]);
    assert_eq!((sources(&rest), &rest["next"]), (vec!["reports/2024.md"], &Value::Null));
    graphloom.run(&["status", "--limit", "1"]).exits(0).says("--next doc-");
}

#[test]
fn removal_by_conditions_needs_confirmation() {
    let graphloom = library();
    let before = graphloom.hash();
    let conditions = ["rm", "--meta", "year=2024", "--source", "reports/"];
    graphloom.run(&[&conditions[..], &["--dry-run"]].concat()).exits(0).says("would remove reports/2024.md");
    graphloom.run(&conditions).exits(2).says("the conditions match 1 document").says("--yes");
    graphloom.run(&["rm", "memos/plan.md", "--dry-run"]).exits(0).says("would remove memos/plan.md");
    graphloom.run(&["rm"]).exits(2);
    graphloom.run(&["rm", "--yes"]).exits(2);
    assert_eq!(graphloom.hash(), before, "nothing was removed");
    let removed = graphloom.json(&[&conditions[..], &["--yes"]].concat());
    assert_eq!(
        (removed["documents"].as_array().map(Vec::len), &removed["removal"]["documents"]),
        (Some(1), &1.into())
    );
    assert_eq!(
        sources(&graphloom.json(&["status", "--sort", "source"])),
        ["memos/plan.md", "reports/2021.md"]
    );
    graphloom.run(&[&conditions[..], &["--yes"]].concat()).exits(0).says("0 documents");
}

#[test]
fn an_export_with_a_filter_contains_only_matching_documents() {
    let graphloom = library();
    let exported = graphloom.ok(&["export", "--meta", "project=eel"]);
    let rows: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!(of("chunk"), 1);
    assert!(of("entity") >= 2 && of("relation") >= 1, "{exported}");
    assert!(
        !exported.contains("Tarn") && !exported.contains("Oskoldt") && !exported.contains("Kellmere"),
        "{exported}"
    );
}

#[test]
fn status_says_how_many_documents_follow_and_if_none_match() {
    let graphloom = Graphloom::new();
    for number in 0..5 {
        graphloom.write(&format!("docs/{number}.md"), format!("Ada Lovelace wrote program {number}.\n"));
    }
    graphloom.ok(&["add", "docs"]);
    graphloom.run(&["status", "--limit", "2"]).exits(0).says("  and 3 more; --next doc-");
    graphloom.run(&["status", "--source", "nothing*"]).exits(0).says("no document matches");
}
