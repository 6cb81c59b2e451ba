//! Exploring and editing the graph.

use serde_json::{Value, json};

use crate::support::{Request, Running};

async fn town() -> Running {
    let server = Running::start().await;
    server.add("", "town.md", "Tobias Renn lives in Weirholm. Maren Oskoldt lives in Weirholm.").await;
    server
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name")).collect()
}

#[tokio::test]
async fn entities_can_be_listed_found_and_shown_with_their_neighbours() {
    let server = town().await;
    let all = server.get("/graph/label/list").await.ok();
    assert!(names(&all).contains(&"Tobias Renn") && names(&all).contains(&"Weirholm"), "{all}");
    assert_eq!(names(&server.get("/graph/label/popular?limit=1").await.ok()).len(), 1);
    let found = server.get("/graph/label/search?q=renn&limit=1").await.ok();
    assert_eq!(names(&found), ["Tobias Renn"]);
    assert_eq!(server.get("/graph/entity/exists?name=weirholm").await.ok(), json!({ "exists": true }));
    assert_eq!(server.get("/graph/entity/exists?name=Atlantis").await.ok(), json!({ "exists": false }));

    let graph = server.get("/graphs?label=Weirholm&max_depth=1").await.ok();
    assert_eq!(graph["nodes"][0]["id"], "Weirholm");
    assert_eq!(graph["nodes"][0]["properties"]["file_path"], "town.md");
    assert!(
        graph["edges"].as_array().expect("edges").iter().all(|edge| edge["type"] == "DIRECTED"),
        "{graph}"
    );
    let nothing = server.get("/graphs?label=Atlantis").await.ok();
    assert_eq!(nothing, json!({ "nodes": [], "edges": [], "is_truncated": false }));
    for path in [
        "/graph/label/popular?limit=0",
        "/graph/label/popular?limit=1001",
        "/graph/label/search",
        "/graph/label/search?q=a&limit=101",
        "/graphs",
        "/graphs?label=a&max_depth=0",
        "/graphs?label=a&max_nodes=x",
    ] {
        server.get(path).await.problem(422);
    }
}

#[tokio::test]
async fn entities_and_relations_can_be_created_edited_merged_and_deleted() {
    let server = town().await;
    let made = json!({ "entity_name": "Ada Quist", "entity_data": { "description": "A pilot.", "entity_type": "Person" } });
    let answer = server.post("/graph/entity/create", made.clone()).await.ok();
    assert_eq!(answer["data"]["graph_data"]["description"], "A pilot.");
    assert!(answer["decisions"][0].as_str().expect("an id").starts_with("dec-"), "{answer}");
    server.post("/graph/entity/create", made).await.problem(400);

    let related = json!({
        "source_entity": "Ada Quist", "target_entity": "Weirholm",
        "relation_data": { "description": "Flies over it.", "keywords": "flight, air", "weight": 2.0 },
    });
    let answer = server.post("/graph/relation/create", related.clone()).await.ok();
    assert_eq!(answer["data"]["graph_data"]["keywords"], "air,flight");
    server.post("/graph/relation/create", related).await.problem(400);
    let edit = json!({ "source_id": "Weirholm", "target_id": "Ada Quist", "updated_data": { "description": "Left." } });
    let answer = server.post("/graph/relation/edit", edit).await.ok();
    assert_eq!(answer["data"]["graph_data"]["description"], "Left.");

    let rename = |allow: bool| {
        json!({
            "entity_name": "Ada Quist", "allow_rename": allow,
            "updated_data": { "entity_name": "Ada Quist-Renn", "description": "A pilot and painter." },
        })
    };
    server.post("/graph/entity/edit", rename(false)).await.problem(400);
    let answer = server.post("/graph/entity/edit", rename(true)).await.ok();
    assert_eq!(answer["operation_summary"]["renamed"], true);
    assert_eq!(answer["data"]["graph_data"]["description"], "A pilot and painter.");
    let unknown = json!({ "entity_name": "Weirholm", "updated_data": { "source_id": "chunk-1" } });
    server.post("/graph/entity/edit", unknown).await.problem(400);

    let merge = json!({ "entities_to_change": ["Ada Quist-Renn"], "entity_to_change_into": "Maren Oskoldt" });
    let answer = server.post("/graph/entities/merge", merge).await.ok();
    assert_eq!(answer["data"]["entity_name"], "Maren Oskoldt");
    let remove = |name: &str| Request::delete("/graph/entity/delete", json!({ "entity_name": name }));
    assert_eq!(server.send(remove("Tobias Renn")).await.ok()["status"], "success");
    server.send(remove("Tobias Renn")).await.problem(404);
    let part = json!({ "source_entity": "Maren Oskoldt", "target_entity": "Weirholm" });
    assert_eq!(
        server.send(Request::delete("/graph/relation/delete", part.clone())).await.ok()["status_code"],
        200
    );
    server.send(Request::delete("/graph/relation/delete", part)).await.problem(404);
    let left = server.get("/graph/label/list").await.ok();
    assert!(!names(&left).contains(&"Tobias Renn") && !names(&left).contains(&"Ada Quist-Renn"), "{left}");
}

#[tokio::test]
async fn an_edit_that_cannot_be_applied_completely_changes_nothing() {
    let server = town().await;
    let before = server.get("/dump/hash").await.ok();
    let rename = |data: Value| {
        let body = json!({ "entity_name": "Tobias Renn", "updated_data": data, "allow_rename": true, "allow_merge": true });
        server.post("/graph/entity/edit", body)
    };
    for data in [
        json!({ "entity_name": "Tobias Rinn", "description": "" }),
        json!({ "entity_name": "Tobias Rinn", "entity_type": "x".repeat(300) }),
        json!({ "entity_name": "Maren Oskoldt", "description": " " }),
        json!({ "entity_name": "T".repeat(300) }),
    ] {
        rename(data).await.problem(400);
        assert_eq!(server.get("/dump/hash").await.ok(), before);
    }
    let renamed = rename(json!({ "entity_name": "Tobias Rinn", "description": "A director." })).await.ok();
    assert_eq!(renamed["decisions"].as_array().expect("ids").len(), 2);
    assert_eq!(renamed["data"]["graph_data"]["description"], "A director.");
    assert_eq!(renamed["operation_summary"]["final_entity"], "Tobias Rinn");
    let merged =
        json!({ "entity_name": "Maren Oskoldt", "entity_type": "Pair", "description": "Two directors." });
    let body = json!({ "entity_name": "Tobias Rinn", "updated_data": merged, "allow_rename": true, "allow_merge": true });
    let merged = server.post("/graph/entity/edit", body).await.ok();
    assert_eq!(
        (&merged["operation_summary"]["merged"], &merged["data"]["entity_name"]),
        (&json!(true), &json!("Maren Oskoldt"))
    );
    assert_eq!(merged["data"]["graph_data"]["description"], "Two directors.");
    assert_eq!(merged["data"]["graph_data"]["entity_type"], "Pair");
    let long = json!({ "entity_name": "T".repeat(300), "entity_data": { "description": "Long." } });
    assert!(server.post("/graph/entity/create", long).await.problem(400).contains("256"));
}

#[tokio::test]
async fn weights_stay_small_enough_to_be_added_up() {
    let server = town().await;
    let relate = |source: &str, weight: f64| {
        let data = json!({ "description": "Heavy.", "weight": weight });
        let body = json!({ "source_entity": source, "target_entity": "Karst", "relation_data": data });
        server.post("/graph/relation/create", body)
    };
    let karst = json!({ "entity_name": "Karst", "entity_data": { "description": "A town." } });
    server.post("/graph/entity/create", karst).await.ok();
    for weight in [1.7e308, 1.1e9, -1.0] {
        assert!(relate("Tobias Renn", weight).await.problem(400).contains("1000000000"));
    }
    relate("Tobias Renn", 1e9).await.ok();
    relate("Maren Oskoldt", 1e9).await.ok();
    let merge = json!({ "entities_to_change": ["Tobias Renn"], "entity_to_change_into": "Maren Oskoldt" });
    server.post("/graph/entities/merge", merge).await.ok();
}

#[tokio::test]
async fn communities_are_shown_with_the_sentences_behind_their_reports() {
    let server = town().await;
    let none = server.get("/communities").await.ok();
    assert_eq!(none, json!({ "current": false, "levels": [], "communities": [] }));
    server.derive_communities().await;
    let listed = server.get("/communities?level=0&limit=1").await.ok();
    assert_eq!(listed["current"], json!(true), "{listed}");
    let community = &listed["communities"][0];
    assert_eq!(community["by"], json!("rules"));
    let id = community["id"].as_str().expect("an id");
    let report = server.get(&format!("/communities/{id}")).await.ok();
    assert_eq!(report["title"], community["title"]);
    let reference = &report["findings"][0]["references"][0];
    assert_eq!((&reference["source"], &reference["lines"]), (&json!("town.md"), &json!([1, 1])));
    let quote = reference["quote"].as_str().expect("a quote");
    assert!(quote.ends_with("lives in Weirholm."), "{quote}");
    assert!(names(&report["members"]).contains(&"WEIRHOLM"), "{report}");
    server.get("/communities?limit=0").await.problem(422);
    server.get("/communities/communities-none").await.problem(404);
    server.add("", "more.md", "Ada Vell lives in Weirholm.").await;
    assert_eq!(server.get("/communities").await.ok()["current"], json!(false));
}

#[tokio::test]
async fn a_path_joins_two_entities_by_as_few_relations_as_possible() {
    let server = Running::start().await;
    server.add("", "a.md", "Radium glows.").await;
    for name in ["Ada", "Bob", "Cem", "Dan", "Hub", "Alone"] {
        let entity = json!({ "entity_name": name, "entity_data": { "description": "A person." } });
        server.post("/graph/entity/create", entity).await.ok();
    }
    for (one, other) in
        [("Ada", "Bob"), ("Bob", "Cem"), ("Cem", "Dan"), ("Ada", "Hub"), ("Hub", "Dan"), ("Hub", "Cem")]
    {
        let relation = json!({ "description": "They met.", "weight": 1.0 });
        let body = json!({ "source_entity": one, "target_entity": other, "relation_data": relation });
        server.post("/graph/relation/create", body).await.ok();
    }
    let path = async |from: &str, to: &str, most: u32| {
        let found = server.get(&format!("/graph/path?from={from}&to={to}&max_length={most}")).await.ok();
        let nodes = found["path"]["nodes"].as_array().map(|nodes| {
            nodes.iter().map(|node| node["id"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        });
        (nodes, found["is_limited"] == json!(true))
    };
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(path("Ada", "dan", 8).await, (names(&["Ada", "Hub", "Dan"]), false));
    // Of two paths of the same length, the one through the entity with fewer relations.
    assert_eq!(path("Ada", "Cem", 8).await, (names(&["Ada", "Bob", "Cem"]), false));
    assert_eq!(path("Ada", "Dan", 1).await, (None, true));
    assert_eq!(path("Ada", "Alone", 8).await, (None, false));
    assert_eq!(path("Ada", "Ada", 8).await, (names(&["Ada"]), false));
    let found = server.get("/graph/path?from=Ada&to=Cem").await.ok();
    assert_eq!(found["path"]["edges"].as_array().map(Vec::len), Some(2));
    assert!(server.get("/graph/path?from=Ada&to=Nobody").await.problem(404).contains("Nobody"));
    server.get("/graph/path?from=Ada&to=Bob&max_length=9").await.problem(422);
}
