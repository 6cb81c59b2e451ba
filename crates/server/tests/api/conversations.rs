//! Conversations: stored, listed and searched, separate for each credential, and without the words of removed documents.

use graphloom_server::Right;
use serde_json::{Value, json};

use crate::support::{Request, Running};

const QUESTION: &str = "Who directs Weir Station?";

/// Asks in a conversation; returns the data of the event `done`.
async fn ask(server: &Running, body: Value, key: Option<&str>) -> Value {
    let mut request = Request::post("/query/events", body);
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    let answer = server.send(request).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let done = answer.body.split("event: done\ndata: ").nth(1).unwrap_or_else(|| panic!("{answer:?}"));
    serde_json::from_str(done.lines().next().expect("a line")).expect("JSON")
}

fn question(text: &str, conversation: &str) -> Value {
    json!({ "query": text, "mode": "naive", "conversation": conversation })
}

async fn remove(server: &Running, name: &str) {
    let listed = server.post("/documents/paginated", json!({})).await.ok();
    let all = listed["documents"].as_array().expect("documents");
    let document = all.iter().find(|document| document["file_path"] == name).expect("the document");
    let ids = json!({ "doc_ids": [document["id"]] });
    server.send(Request::delete("/documents/delete_document", ids)).await.ok();
}

#[tokio::test]
async fn conversations_keep_their_order_and_can_be_found_renamed_and_deleted() {
    let server = Running::start().await;
    server.add("", "station.md", "Tobias Renn directs Weir Station. Maren Oskoldt lives in Weirholm.").await;
    let first = ask(&server, question(QUESTION, "new"), None).await;
    let id = first["kept"]["conversation"].as_str().expect("an id").to_owned();
    assert_eq!(first["kept"], json!({ "conversation": id, "exchange": 0 }));
    let second = ask(&server, question("Where does Maren Oskoldt live?", &id), None).await;
    assert_eq!(second["kept"]["exchange"], 1);
    let again = json!({ "query": QUESTION, "mode": "mix", "conversation": id, "exchange": 0 });
    assert_eq!(ask(&server, again, None).await["kept"]["exchange"], 0);
    for (place, conversation, status) in [(2, id.as_str(), 404), (199, id.as_str(), 404), (0, "new", 422)] {
        let nowhere = json!({ "query": QUESTION, "conversation": conversation, "exchange": place });
        let why = server.post("/query/events", nowhere).await.problem(status);
        assert!(why.contains("exchange") || why.contains(&format!("at place {place}")), "{why}");
    }

    let kept = server.get(&format!("/conversations/{id}")).await.ok();
    assert_eq!((&kept["title"], &kept["exchanges"][0]["mode"]), (&json!(QUESTION), &json!("mix")));
    assert_eq!(kept["exchanges"].as_array().map(Vec::len), Some(2));
    let answer = &kept["exchanges"][1]["answer"];
    assert!(answer["done"]["response"].as_str().expect("text").contains("Weirholm"), "{kept}");
    assert_eq!(answer["citations"][0]["file_path"], "station.md");
    assert!(answer["context"]["chunks"][0]["chunk_id"].is_string(), "{kept}");

    let other = ask(&server, question("Is radium warm?", "new"), None).await;
    let all = server.get("/conversations").await.ok();
    assert_eq!((&all["total"], &all["conversations"][0]["title"]), (&json!(2), &json!("Is radium warm?")));
    let found = server.get("/conversations?search=WEIRHOLM").await.ok();
    assert_eq!((&found["total"], &found["conversations"][0]["id"]), (&json!(1), &json!(id)));
    assert!(found["conversations"][0]["excerpt"].as_str().expect("text").contains("Weirholm"), "{found}");
    assert_eq!(server.get("/conversations?limit=1&offset=1").await.ok()["conversations"][0]["id"], json!(id));

    let path = format!("/conversations/{id}");
    assert_eq!(server.post(&path, json!({ "title": " The\nstation " })).await.ok()["title"], "The station");
    assert!(server.post(&path, json!({ "title": " " })).await.problem(422).contains("1 to 200"));
    assert_eq!(server.send(Request::delete(&path, json!({}))).await.ok()["deleted"], 1);
    server.get(&path).await.problem(404);
    assert!(server.post("/query/events", question(QUESTION, &id)).await.problem(404).contains(&id));
    assert_eq!(server.send(Request::delete("/conversations", json!({}))).await.ok()["deleted"], 1);
    server
        .get(&format!("/conversations/{}", other["kept"]["conversation"].as_str().expect("an id")))
        .await
        .problem(404);
}

#[tokio::test]
async fn only_the_route_that_stores_answers_accepts_a_conversation() {
    let server = Running::start().await;
    server.add("", "station.md", "Tobias Renn directs Weir Station.").await;
    for (path, status) in [("/query", 422), ("/query/stream", 422), ("/query/data", 400)] {
        assert!(server.post(path, question(QUESTION, "new")).await.problem(status).contains("/query/events"));
    }
    let stray = json!({ "query": QUESTION, "exchange": 3 });
    assert!(server.post("/query/events", stray).await.problem(422).contains("without conversation"));
    server.get("/conversations?limit=0").await.problem(422);
}

#[tokio::test]
async fn each_credential_sees_its_own_conversations() {
    let server = Running::start().await;
    server.add("", "station.md", "Tobias Renn directs Weir Station.").await;
    let (one, other) = (server.key_of("one", Right::Read, &[]), server.key_of("other", Right::Admin, &[]));
    let kept = ask(&server, question(QUESTION, "new"), Some(&one)).await;
    let id = kept["kept"]["conversation"].as_str().expect("an id").to_owned();
    let path = format!("/conversations/{id}");
    let with = |request: Request, key: &str| request.header("x-api-key", key);
    server.send(with(Request::get(&path), &one)).await.ok();
    assert_eq!(server.send(with(Request::get("/conversations"), &other)).await.ok()["total"], 0);
    server.send(with(Request::get(&path), &other)).await.problem(404);
    server.send(with(Request::post(&path, json!({ "title": "Mine" })), &other)).await.problem(404);
    server.send(with(Request::delete(&path, json!({})), &other)).await.problem(404);
    server.send(with(Request::post("/query/events", question(QUESTION, &id)), &other)).await.problem(404);
    assert_eq!(
        server.send(with(Request::delete("/conversations", json!({})), &other)).await.ok()["deleted"],
        0
    );
    assert_eq!(server.send(with(Request::get("/conversations"), &one)).await.ok()["total"], 1);
}

#[tokio::test]
async fn removing_or_replacing_a_document_removes_the_answers_that_rest_on_it_and_later_ones() {
    let server = Running::start().await;
    server.add("", "secret.md", "Zilphacanary directs Weir Station.").await;
    server.add("", "other.md", "Maren Oskoldt lives in Ostwick.").await;
    let apart = ask(&server, question("Where does Maren Oskoldt live?", "new"), None).await;
    let first = ask(&server, question(QUESTION, "new"), None).await;
    let id = first["kept"]["conversation"].as_str().expect("an id").to_owned();
    ask(&server, question("Where does Maren Oskoldt live?", &id), None).await;
    let path = format!("/conversations/{id}");
    let before = server.get(&path).await;
    assert!(before.body.contains("Zilphacanary"), "{before:?}");
    assert_eq!(server.get("/conversations?search=zilphacanary").await.ok()["total"], 1);

    remove(&server, "secret.md").await;
    let after = server.get(&path).await;
    assert!(!after.body.contains("Zilphacanary"), "{after:?}");
    let after = after.ok();
    assert_eq!(after["exchanges"][0]["question"], QUESTION);
    assert_eq!(
        (&after["exchanges"][0]["answer"], &after["exchanges"][1]["answer"]),
        (&Value::Null, &Value::Null)
    );
    for path in ["/conversations?search=zilphacanary", "/conversations", "/export?format=jsonl"] {
        let answer = server.get(path).await;
        assert!(answer.status == 200 && !answer.body.contains("Zilphacanary"), "{path}: {answer:?}");
    }
    // The history of the next question consists of what is still stored.
    let next = ask(&server, question("And who directs it?", &id), None).await;
    assert!(!next.to_string().contains("Zilphacanary"), "{next}");

    let kept = format!("/conversations/{}", apart["kept"]["conversation"].as_str().expect("an id"));
    assert!(server.get(&kept).await.ok()["exchanges"][0]["answer"].is_object());
    let next = json!({ "text": "Maren Oskoldt left.", "file_source": "other.md", "replace": true });
    let added = server.post("/documents/text", next).await.ok();
    server.wait_for("", added["track_id"].as_str().expect("a track")).await;
    assert_eq!(server.get(&kept).await.ok()["exchanges"][0]["answer"], Value::Null);
}
