//! A workspace as a whole: estimate, cost, export, hash, decisions.

use serde_json::{Value, json};

use crate::support::{Request, Running};

const STATION: &str = "Maren Oskoldt directed Weir Station until 1994. Tobias Renn succeeded Maren Oskoldt.";

#[tokio::test]
async fn a_graph_can_be_exported_in_every_format_and_in_parts() {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    for (query, kind, word) in [
        ("", "application/x-ndjson", "\"kind\":\"chunk\""),
        ("?format=jsonl&only=entities", "application/x-ndjson", "\"kind\":\"entity\""),
        ("?format=csv&only=relations", "text/csv; charset=utf-8", ","),
        ("?format=graphml", "application/xml", "<graphml"),
        ("?format=cypher", "text/plain; charset=utf-8", "MERGE"),
    ] {
        let export = server.get(&format!("/export{query}")).await;
        assert_eq!((export.status, export.headers["content-type"].as_str()), (200, kind), "{query}");
        assert!(export.headers["content-disposition"].contains("attachment; filename=\"default."));
        assert!(export.body.contains(word), "{query}: {}", export.body);
        assert_eq!(export.body.contains("\"kind\":\"relation\""), query.is_empty(), "{query}");
    }
    for query in ["?format=csv", "?format=pdf", "?only=vectors", "?only="] {
        server.get(&format!("/export{query}")).await.problem(422);
    }
}

#[tokio::test]
async fn the_hash_depends_on_the_state_and_not_on_its_history() {
    let server = Running::start().await;
    let hash = async |name: &str| server.get(&format!("/w/{name}/dump/hash")).await.ok();
    server.add("/w/one", "a.md", STATION).await;
    server.add("/w/two", "b.md", "Weirholm lies at the sea.").await;
    server.add("/w/two", "a.md", STATION).await;
    assert_ne!(hash("one").await, hash("two").await);
    let listed = server.post("/w/two/documents/paginated", json!({ "sort_field": "file_path" })).await.ok();
    let ids = listed["documents"].as_array().expect("documents");
    let other = ids.iter().find(|document| document["file_path"] == "b.md").expect("listed");
    let delete = Request::delete("/w/two/documents/delete_document", json!({ "doc_ids": [other["id"]] }));
    server.send(delete).await.ok();
    assert_eq!(hash("one").await, hash("two").await);
}

#[tokio::test]
async fn costs_are_grouped_as_requested() {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    let cost = server.get("/cost").await.ok();
    assert_eq!((&cost["rows"], &cost["total"]["calls"]), (&json!([]), &json!(0)), "rules cost nothing");
    server.get("/cost?by=day,document").await.ok();
    for by in ["", "colour", "day,colour"] {
        server.get(&format!("/cost?by={by}")).await.problem(422);
    }
}

#[tokio::test]
async fn a_budget_can_be_set_shown_and_removed() {
    let server = Running::start().await;
    let budget = |answer: Value| answer["budget"].clone();
    for body in
        [json!({}), json!({ "amount": "much" }), json!({ "amount": "5" }), json!({ "amount": "19000000.5" })]
    {
        server.post("/budget", body).await.problem(422);
    }
    let set = budget(server.post("/budget", json!({ "amount": "2M" })).await.ok());
    assert_eq!((&set["unit"], &set["amount"]), (&json!("tokens"), &json!(2_000_000.0)));
    assert_eq!((&set["spent"], &set["left"]), (&json!(0.0), &json!(2_000_000.0)));
    assert_eq!(budget(server.get("/budget").await.ok()), set);
    server.add("", "station.md", STATION).await;
    assert_eq!(budget(server.get("/budget").await.ok()), set, "rules cost nothing");
    let money = budget(server.post("/budget", json!({ "amount": "1.5", "restart": true })).await.ok());
    assert_eq!((&money["unit"], &money["amount"]), (&json!("money"), &json!(1.5)));
    let removed = server.send(Request::new("DELETE", "/budget")).await.ok();
    assert_eq!((budget(removed), budget(server.get("/budget").await.ok())), (Value::Null, Value::Null));
}

#[tokio::test]
async fn an_estimate_stores_nothing() {
    let server = Running::start().await;
    let texts = json!({ "texts": [STATION, "Weirholm lies at the sea."], "file_sources": ["a.md", "b.md"] });
    let estimate = server.post("/documents/texts/estimate", texts.clone()).await.ok();
    assert_eq!((&estimate["documents"], &estimate["chunks"]), (&json!(2), &json!(2)));
    assert_eq!((&estimate["steps"], &estimate["unpriced"]), (&json!([]), &json!([])), "rules cost nothing");
    let file = Request::new("POST", "/documents/upload/estimate").file("notes.md", STATION);
    assert_eq!(server.send(file).await.ok()["documents"], 1);
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 0);
    server.add("", "a.md", STATION).await;
    let estimate = server.post("/documents/texts/estimate", texts).await.ok();
    assert_eq!((&estimate["documents"], &estimate["unchanged"]), (&json!(1), &json!(1)));
    let pdf = Request::new("POST", "/documents/upload/estimate").file("broken.pdf", "no PDF");
    let refused = server.send(pdf).await.ok();
    assert_eq!(refused["refused"][0]["file_path"], "broken.pdf", "{refused}");
    let file = Request::new("POST", "/documents/upload/estimate").file("x.exe", "x");
    server.send(file).await.problem(400);
    server.post("/documents/texts/estimate", json!({ "texts": [] })).await.problem(422);
}

#[tokio::test]
async fn edits_can_be_listed_and_undone() {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    let before = server.get("/dump/hash").await.ok();
    let edit = json!({ "entity_name": "Tobias Renn", "updated_data": { "description": "A director." } });
    server.post("/graph/entity/edit", edit).await.ok();
    let delete = json!({ "entity_name": "Maren Oskoldt" });
    server.send(Request::delete("/graph/entity/delete", delete)).await.ok();

    let decisions = server.get("/graph/decisions").await.ok();
    let actions: Vec<&Value> =
        decisions["decisions"].as_array().expect("decisions").iter().map(|it| &it["action"]).collect();
    assert_eq!(actions, ["delete_entity", "edit_entity"]);
    assert_eq!(decisions["decisions"][1]["details"]["description"], "A director.");
    let edited = decisions["decisions"][1]["id"].clone();
    for unclear in
        [json!({}), json!({ "id": "nope" }), json!({ "latest": false }), json!({ "decision": null })]
    {
        server.post("/graph/decisions/undo", unclear).await.problem(422);
    }
    server.post("/graph/decisions/undo", json!({ "decision": edited, "latest": true })).await.problem(422);
    assert_eq!(server.get("/graph/decisions").await.ok(), decisions, "an unclear request undoes nothing");
    let undone = server.post("/graph/decisions/undo", json!({ "latest": true })).await.ok();
    assert_eq!(undone["undone"], decisions["decisions"][0]["id"]);
    assert!(undone["entities"].as_array().expect("names").contains(&json!("Maren Oskoldt")), "{undone}");
    server.post("/graph/decisions/undo", json!({ "decision": edited })).await.ok();

    let decisions = server.get("/graph/decisions?limit=2&skip=2").await.ok();
    assert_eq!((&decisions["total_count"], &decisions["decisions"][1]["id"]), (&json!(4), &edited));
    assert!(decisions["decisions"].as_array().expect("two").iter().all(|it| it["undone_by"].is_string()));
    let description = server.get("/graphs?label=Tobias%20Renn").await.body;
    assert!(!description.contains("A director."), "{description}");
    assert_eq!(server.get("/dump/hash").await.ok(), before, "undone edits leave no trace");
    server.post("/graph/decisions/undo", json!({ "decision": "dec-0" })).await.problem(400);
    server.get("/graph/decisions?limit=0").await.problem(422);
}
