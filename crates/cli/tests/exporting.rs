//! Exports of the graph for other programs.

use serde_json::{Value, json};

use crate::common::{Graphloom, copy_lab};

fn with_lab() -> Graphloom {
    let graphloom = Graphloom::new();
    copy_lab(&graphloom);
    graphloom.ok(&["add", "docs"]);
    graphloom
}

#[test]
fn every_entity_relation_and_chunk_is_a_line_of_json() {
    let graphloom = with_lab();
    let counts = graphloom.json(&["status"])["counts"].clone();
    let text = graphloom.ok(&["export"]);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let count = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!(
        (json!(count("entity")), json!(count("relation")), json!(count("chunk"))),
        (counts["entities"].clone(), counts["relations"].clone(), counts["chunks"].clone())
    );
    let known = |key: &Value| rows.iter().any(|row| row["kind"] == "entity" && row["key"] == *key);
    for row in &rows {
        for key in row["entities"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(row["kind"].eq("relation").then(|| &row["target"]))
        {
            assert!(known(key), "{key} is exported");
        }
    }
    assert_eq!(graphloom.ok(&["export"]), text, "the same graph gives the same bytes");
}

#[test]
fn tables_are_exported_to_a_folder_or_one_at_a_time() {
    let graphloom = with_lab();
    graphloom.run(&["export", "--format", "csv"]).exits(2).says("--only");
    let one = graphloom.ok(&["export", "--format", "csv", "--only", "relations"]);
    assert!(one.starts_with("source,target,source_name,"), "{one}");
    let summary = graphloom.json(&["export", "--format", "csv", "--output", "tables"]);
    let entities = std::fs::read_to_string(graphloom.path("tables/entities.csv")).expect("written");
    assert!(entities.starts_with("key,name,type,"));
    assert_eq!(summary["entities"], graphloom.json(&["status"])["counts"]["entities"]);
    graphloom.run(&["export", "--format", "csv", "--output", "tables"]).exits(1).says("--force");
    graphloom.ok(&["export", "--format", "csv", "--output", "tables", "--force"]);
    assert!(!graphloom.path("tables/entities.csv.partial").exists());
}

#[test]
fn exports_for_graph_programs_and_databases_have_nodes_and_edges() {
    let graphloom = with_lab();
    let counts = graphloom.json(&["status"])["counts"].clone();
    graphloom.ok(&["export", "--format", "graphml", "--only", "entities,relations", "-o", "lab.graphml"]);
    let xml = std::fs::read_to_string(graphloom.path("lab.graphml")).expect("written");
    assert_eq!(json!(xml.matches("<node ").count()), counts["entities"]);
    assert_eq!(json!(xml.matches("<edge ").count()), counts["relations"]);
    let statements = graphloom.ok(&["export", "--format", "cypher"]);
    assert!(statements.lines().all(|line| line.starts_with("MERGE (") && line.ends_with(';')));
    assert_eq!(json!(statements.matches("[r:RELATED]").count()), counts["relations"]);
    graphloom.run(&["--json", "export", "--format", "cypher"]).exits(2).says("--output");
}

#[test]
fn claims_are_exported_with_their_quotes_and_what_retired_them() {
    let graphloom = Graphloom::new();
    let text = "Ada Kern was the chief executive officer of Velora from 2012 to 2019. \
        In 2019, Bo Lind took over as chief executive officer of Velora.";
    std::fs::write(graphloom.path("velora.txt"), text).expect("written");
    graphloom.ok(&["add", "velora.txt"]);
    let listed = graphloom.json(&["claims"]);
    let lines = graphloom.ok(&["export", "--only", "claims"]);
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(json!(rows.len()), listed["total"]);
    let first = rows.iter().find(|row| row["subject_name"] == "Ada Kern").expect("exported");
    assert_eq!((&first["start"], &first["retired"]["at"]), (&json!("2012"), &json!("2019")));
    assert!(text.contains(first["quotes"][0]["text"].as_str().expect("a text")));
    let table = graphloom.ok(&["export", "--only", "claims", "--format", "csv"]);
    assert!(table.starts_with("subject,object,subject_name,"), "{table}");
    assert_eq!(table.matches("velora.txt:").count(), rows.len());
    graphloom.run(&["export", "--only", "claims", "--format", "graphml"]).exits(2).says("cannot hold claims");
    graphloom.ok(&["export", "--format", "graphml"]);
}
