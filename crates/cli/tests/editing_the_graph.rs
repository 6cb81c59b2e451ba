//! Edits of the graph: every edit also applies to documents added later, and can be undone.

use serde_json::{Value, json};

use crate::common::Graphloom;

/// Two chunks about a firm under two names, a founder, and a town.
const GRAPH: &str = r#"{
  "chunks": [
    {"content": "Acme Corp was founded by Ada Vale. It sits in Port Elm.", "source_id": "one"},
    {"content": "ACME Inc builds pumps. Ada Vale left ACME Inc and founded Acme Corp again.", "source_id": "two"}
  ],
  "entities": [
    {"entity_name": "Acme Corp", "entity_type": "Organization", "description": "A firm in Port Elm.", "source_id": "one"},
    {"entity_name": "Ada Vale", "entity_type": "Person", "description": "Founder.", "source_id": "one"},
    {"entity_name": "Port Elm", "entity_type": "Location", "description": "A town.", "source_id": "one"},
    {"entity_name": "ACME Inc", "entity_type": "Organization", "description": "A maker of pumps.", "source_id": "two"},
    {"entity_name": "Ada Vale", "entity_type": "Person", "description": "She left.", "source_id": "two"}
  ],
  "relationships": [
    {"src_id": "Ada Vale", "tgt_id": "Acme Corp", "keywords": "founding", "description": "Ada Vale founded Acme Corp.", "source_id": "one"},
    {"src_id": "Acme Corp", "tgt_id": "Port Elm", "keywords": "seat", "description": "Acme Corp sits in Port Elm.", "source_id": "one"},
    {"src_id": "Ada Vale", "tgt_id": "ACME Inc", "keywords": "leaving", "description": "Ada Vale left ACME Inc.", "weight": 2.5, "source_id": "two"},
    {"src_id": "ACME Inc", "tgt_id": "Acme Corp", "keywords": "history", "description": "One became the other.", "source_id": "two"}
  ]
}"#;

fn with_graph() -> Graphloom {
    let graphloom = Graphloom::new();
    graphloom.write("firm.json", GRAPH);
    graphloom.ok(&["graph", "import", "firm.json"]);
    graphloom
}

/// Returns the names of an entity's neighbours from the output of `graph show`.
fn neighbours(shown: &Value) -> Vec<String> {
    let relations = shown["relations"].as_array().expect("a list");
    let mut names: Vec<String> =
        relations.iter().map(|it| it["with"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

fn check_sound(graphloom: &Graphloom) {
    assert_eq!(graphloom.json(&["check"]), json!([]));
}

#[test]
fn a_merge_can_be_previewed_survives_new_documents_and_is_undone_without_a_trace() {
    let graphloom = with_graph();
    let before = graphloom.hash();
    let merge = ["graph", "merge", "acme inc", "--into", "Acme Corp"];
    let preview = graphloom.json(&[&merge[..], &["--preview"]].concat());
    assert_eq!((&preview["preview"], &preview["removed_entities"]), (&json!(true), &json!(["ACME_INC"])));
    assert_eq!(graphloom.hash(), before, "a preview changes nothing");

    let merged = graphloom.json(&merge);
    let decision = merged["decision"]["id"].as_str().expect("an id").to_owned();
    let shown = graphloom.json(&["graph", "acme inc"]);
    assert_eq!(shown["entity"]["key"], "ACME_CORP", "the old name leads to the merged entity");
    assert_eq!(shown["entity"]["mention_count"], 2);
    assert_eq!(shown["decided"]["merged"], json!(["ACME_INC"]));
    assert_eq!(neighbours(&shown), ["Ada Vale", "Port Elm"], "no relation with itself is left");
    let weights: Vec<f64> = shown["relations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["weight"].as_f64())
        .collect();
    assert_eq!(weights, [3.5, 1.0], "weights of merged relations add up");
    check_sound(&graphloom);

    let more = r#"{"chunks": [{"content": "ACME Inc moved.", "source_id": 1}],
        "entities": [{"entity_name": "ACME Inc", "entity_type": "Organization", "description": "It moved.", "source_id": 1}]}"#;
    graphloom.write("more.json", more);
    graphloom.ok(&["graph", "import", "more.json"]);
    assert_eq!(graphloom.json(&["graph", "show", "Acme Corp"])["entity"]["mention_count"], 3);
    graphloom.ok(&["rm", "more.json"]);
    graphloom.ok(&["graph", "undo", &decision]);
    assert_eq!(graphloom.hash(), before, "undone edits leave no trace");
    check_sound(&graphloom);

    let again = graphloom.run(&["graph", "undo", &decision[..12]]).exits(1);
    let undo = again.stderr.split("was undone by ").nth(1).expect("by which")[..36].to_owned();
    graphloom.ok(&["graph", "undo", &undo]);
    assert_eq!(
        graphloom.json(&["graph", "ACME Inc"])["entity"]["key"],
        "ACME_CORP",
        "the decision applies again"
    );
}

#[test]
fn an_edit_overrides_the_documents_and_is_removed_with_them() {
    let graphloom = with_graph();
    graphloom.ok(&["graph", "edit", "Port Elm", "--description", "A harbour town.", "--type", "Harbour"]);
    let shown = graphloom.json(&["graph", "show", "port elm"]);
    assert_eq!(
        (&shown["entity"]["description"], &shown["entity"]["kind"], &shown["decided"]["edited"]),
        (&json!("A harbour town."), &json!("Harbour"), &json!(["type", "description"]))
    );
    let found = graphloom.json(&["search", "harbour"]);
    assert_eq!(found["entities"][0]["entity"]["key"], "PORT_ELM");
    graphloom.ok(&["rm", "firm.json"]);
    graphloom.run(&["graph", "show", "Port Elm"]).exits(1);
    graphloom.ok(&["graph", "import", "firm.json"]);
    assert_eq!(graphloom.json(&["graph", "Port Elm"])["entity"]["description"], "A harbour town.");
}

#[test]
fn entities_and_relations_can_be_created_edited_and_deleted() {
    let graphloom = with_graph();
    let before = graphloom.hash();
    graphloom.ok(&["graph", "create", "Bo Reed", "--type", "Person", "--description", "A plumber."]);
    let relation =
        ["graph", "create", "Bo Reed", "--relation", "Port Elm", "--description", "Bo Reed lives there."];
    graphloom.ok(&[&relation[..], &["--keywords", "home,town", "--weight", "2"]].concat());
    let shown = graphloom.json(&["graph", "Bo Reed"]);
    assert_eq!((&shown["decided"]["created"], &shown["relations"][0]["weight"]), (&json!(true), &json!(2.0)));
    assert_eq!(shown["relations"][0]["keywords"], json!(["home", "town"]));
    graphloom.run(&relation).exits(1).says("already have a relation").says("graph edit");
    graphloom.ok(&["graph", "edit", "port elm", "--relation", "bo reed", "--weight", "0.5"]);
    assert_eq!(graphloom.json(&["graph", "Bo Reed"])["relations"][0]["weight"], 0.5);
    graphloom.ok(&["graph", "delete", "Bo Reed", "--relation", "Port Elm"]);
    assert_eq!(neighbours(&graphloom.json(&["graph", "Bo Reed"])), [""; 0]);
    graphloom.ok(&["graph", "delete", "Acme Corp"]);
    graphloom.run(&["graph", "Acme Corp"]).exits(1);
    assert_eq!(neighbours(&graphloom.json(&["graph", "Ada Vale"])), ["ACME Inc"]);
    check_sound(&graphloom);
    for _ in 0..5 {
        graphloom.ok(&["graph", "undo"]);
    }
    assert_eq!(graphloom.hash(), before);
    graphloom.run(&["graph", "undo"]).exits(1).says("no decision to undo");
    assert_eq!(graphloom.json(&["graph", "history"]).as_array().map(Vec::len), Some(10));
}

#[test]
fn a_renamed_entity_is_found_under_both_names_and_a_taken_name_needs_a_merge() {
    let graphloom = with_graph();
    graphloom.ok(&["graph", "rename", "Port Elm", "Port Elm Harbour"]);
    assert_eq!(graphloom.json(&["graph", "port elm"])["entity"]["name"], "Port Elm Harbour");
    graphloom.run(&["graph", "rename", "ACME Inc", "Acme Corp"]).exits(1).says("--merge");
    graphloom.ok(&["graph", "rename", "ACME Inc", "Acme Corp", "--merge"]);
    graphloom.ok(&["graph", "rename", "Acme Corp", "ACME CORP"]);
    assert_eq!(graphloom.json(&["graph", "acme corp"])["entity"]["name"], "ACME CORP");
    graphloom.run(&["graph", "create", "ACME Inc", "--description", "x"]).exits(1).says("graph undo dec-");
    check_sound(&graphloom);
}

#[test]
fn passages_can_be_split_off_into_another_entity() {
    let graphloom = with_graph();
    let shown = graphloom.json(&["graph", "Ada Vale"]);
    let passages = shown["passages"].as_array().expect("a list");
    let second = passages.iter().find(|it| it["quote"].as_str().is_some_and(|it| it.contains("pumps")));
    let chunk = second.expect("the second passage")["chunk"].as_str().expect("an id");
    graphloom.ok(&["graph", "split", "Ada Vale", "--into", "Ada Vale (younger)", "--chunk", &chunk[..16]]);
    let younger = graphloom.json(&["graph", "Ada Vale (younger)"]);
    assert_eq!(
        (&younger["entity"]["description"], neighbours(&younger)),
        (&json!("She left."), vec!["ACME Inc".into()])
    );
    assert_eq!(graphloom.json(&["graph", "Ada Vale"])["entity"]["description"], "Founder.");
    graphloom
        .run(&["graph", "split", "Ada Vale", "--into", "Other", "--chunk", chunk])
        .exits(1)
        .says("does not mention");
    graphloom.run(&["graph", "split", "Ada Vale", "--into", "Other"]).exits(2).says("--document");
    check_sound(&graphloom);
}

#[test]
fn a_not_same_decision_undoes_a_merge_and_prevents_it() {
    let graphloom = with_graph();
    graphloom.ok(&["graph", "merge", "ACME Inc", "--into", "Acme Corp"]);
    graphloom.ok(&["graph", "not-same", "ACME Inc", "Acme Corp"]);
    assert_eq!(graphloom.json(&["graph", "ACME Inc"])["entity"]["key"], "ACME_INC");
    graphloom.run(&["graph", "merge", "ACME Inc", "--into", "Acme Corp"]).exits(1).says("keeps them apart");
    graphloom.run(&["graph", "not-same", "Acme Corp", "ACME Inc"]).exits(1).says("already does this");
    check_sound(&graphloom);
}

#[test]
fn merged_fields_follow_the_chosen_strategy() {
    let graphloom = with_graph();
    let merge = |extra: &[&str]| {
        let arguments = ["graph", "merge", "ACME Inc", "--into", "Acme Corp", "--preview"];
        graphloom.json(&[&arguments[..], extra].concat())["entity"]["description"].clone()
    };
    assert_eq!(merge(&[]), "A firm in Port Elm.\nA maker of pumps.");
    assert_eq!(merge(&["--strategy", "description=keep_first"]), "A maker of pumps.");
    assert_eq!(merge(&["--strategy", "description=keep_last"]), "A firm in Port Elm.");
    assert_eq!(merge(&["--description", "Pumps."]), "Pumps.");
    let wrong = ["graph", "merge", "ACME Inc", "--into", "Acme Corp", "--strategy", "description=best"];
    graphloom.run(&wrong).exits(2).says("keep_first");
    let own = ["graph", "merge", "Acme Corp", "--into", "acme corp"];
    graphloom.run(&own).exits(1).says("are the same entity");
}

#[test]
fn labels_are_listed_by_degree_and_search_results_by_match_quality() {
    let graphloom = with_graph();
    let names = |arguments: &[&str]| -> Vec<String> {
        let labels = graphloom.json(&[&["graph", "labels"], arguments].concat());
        let labels = labels.as_array().expect("a list").clone();
        labels.iter().map(|label| label["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&["--limit", "2"]), ["Acme Corp", "ACME Inc"]);
    assert_eq!(names(&["--all"]), ["ACME Inc", "Acme Corp", "Ada Vale", "Port Elm"]);
    assert_eq!(names(&["acme"]), ["ACME Inc", "Acme Corp"]);
    assert_eq!(names(&["elm"]), ["Port Elm"]);
    graphloom.run(&["--json", "graph", "labels", "zzz"]).exits(4);
    graphloom.ok(&["graph", "rename", "Port Elm", "Elm Harbour"]);
    assert_eq!(names(&["port elm"]), ["Elm Harbour"]);
}

#[test]
fn a_subgraph_says_what_it_left_out() {
    let graphloom = with_graph();
    let graph = |arguments: &[&str]| graphloom.json(&[&["graph", "subgraph"], arguments].concat());
    let whole = graph(&["Port Elm"]);
    assert_eq!((whole["nodes"].as_array().map(Vec::len), &whole["truncated"]), (Some(4), &json!(false)));
    assert_eq!(whole["edges"].as_array().map(Vec::len), Some(4));
    let near = graph(&["Port Elm", "--depth", "1"]);
    assert_eq!((&near["truncated_by"], &near["left_out"]), (&json!(["depth"]), &json!(2)));
    let few = graph(&["Port Elm", "--max-nodes", "3"]);
    assert_eq!(
        (&few["truncated_by"], few["nodes"][2]["name"].as_str()),
        (&json!(["nodes"]), Some("ACME Inc"))
    );
    let best = graph(&["--max-nodes", "1"]);
    assert_eq!((&best["nodes"][0]["name"], &best["left_out"]), (&json!("Acme Corp"), &json!(3)));
    graphloom.run(&["graph", "subgraph", "Port Elk"]).exits(1).says("Port Elm");
}

#[test]
fn an_imported_graph_is_a_document_like_any_other() {
    let graphloom = with_graph();
    let before = graphloom.hash();
    let again = graphloom.run(&["graph", "import", "firm.json"]).exits(0);
    again.says("unchanged");
    assert_eq!(graphloom.json(&["ask", "Who founded Acme Corp?"])["citations"][0]["source"], "firm.json");
    graphloom.write("changed.json", GRAPH.replace("A town.", "A city."));
    graphloom.ok(&["graph", "import", "changed.json", "--name", "firm.json"]);
    assert_eq!(graphloom.json(&["graph", "Port Elm"])["entity"]["description"], "A city.");
    graphloom.ok(&["graph", "import", "firm.json"]);
    assert_eq!(graphloom.hash(), before);
    graphloom.ok(&["rm", "firm.json"]);
    assert_eq!(graphloom.json(&["status"])["counts"]["entities"], 0);

    graphloom.write("bad.json", r#"{"entities": [{"entity_name": " "}]}"#);
    graphloom.run(&["graph", "import", "bad.json"]).exits(1).says("entities[0].entity_name");
    graphloom.write(
        "words.json",
        r#"{"relationships": [{"src_id": "Ada", "tgt_id": "Bo", "description": "Friends."}]}"#,
    );
    graphloom.run(&["graph", "import", "words.json"]).exits(0).says("1 record without a chunk");
    assert_eq!(graphloom.json(&["graph", "Ada"])["entity"]["kind"], "UNKNOWN");
    check_sound(&graphloom);
}

#[test]
fn an_unknown_name_is_answered_with_similar_names() {
    let graphloom = with_graph();
    for arguments in [
        vec!["graph", "Port Elk"],
        vec!["graph", "delete", "Port Elk"],
        vec!["graph", "edit", "Port Elk", "--type", "x"],
    ] {
        graphloom.run(&arguments).exits(1).says("no entity \"Port Elk\"").says("Port Elm");
    }
    graphloom.run(&["graph", "edit", "Port Elm"]).exits(1).says("nothing to change");
    graphloom.run(&["graph", "create", "--", "--", "--description", "x"]).exits(2);
    graphloom.run(&["graph", "create", "?!", "--description", ""]).exits(1);
}
