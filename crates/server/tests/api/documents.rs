//! Adding, listing and removing documents.

use std::time::Duration;

use serde_json::json;

use crate::support::{Request, Running};

#[tokio::test]
async fn a_file_is_uploaded_indexed_listed_and_removed() {
    let server = Running::start().await;
    let upload = Request::new("POST", "/documents/upload")
        .file("notes.md", "# Notes\n\nTobias Renn lives in Weirholm.");
    let added = server.send(upload.clone()).await.ok();
    assert_eq!(added["status"], "success");
    let track = added["track_id"].as_str().expect("a track").to_owned();
    let document = loop {
        let status = server.get(&format!("/documents/track_status/{track}")).await.ok();
        assert_eq!(status["total_count"], 1);
        if status["documents"][0]["status"] == "processed" {
            break status["documents"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((&document["file_path"], &document["chunks_count"]), (&json!("notes.md"), &json!(1)));
    assert!(document["content_summary"].as_str().expect("text").starts_with("# Notes"), "{document}");
    assert!(document["created_at"].as_str().expect("a time").ends_with("+00:00"), "{document}");

    assert!(server.send(upload.clone()).await.problem(409).contains("notes.md"));
    let replace =
        Request::new("POST", "/documents/upload?replace=true").file("notes.md", "Tobias Renn left.");
    assert_eq!(server.send(replace).await.ok()["status"], "success");

    let listed = server.post("/documents/paginated", json!({ "sort_field": "file_path" })).await.ok();
    let ids: Vec<String> = listed["documents"]
        .as_array()
        .expect("documents")
        .iter()
        .map(|document| document["id"].as_str().expect("an id").to_owned())
        .collect();
    let removed =
        server.send(Request::delete("/documents/delete_document", json!({ "doc_ids": ids }))).await.ok();
    assert_eq!(removed["status"], "deletion_started");
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 0);
    assert_eq!(server.get("/graph/label/list").await.ok(), json!([]));
}

#[tokio::test]
async fn texts_are_added_all_or_none() {
    let server = Running::start().await;
    let texts = |texts: &[&str], names: &[&str]| json!({ "texts": texts, "file_sources": names });
    for (body, status) in [
        (texts(&["a"], &["a.md", "b.md"]), 422),
        (texts(&[], &[]), 422),
        (texts(&["a", " "], &["a.md", "b.md"]), 422),
        (texts(&["a", "b"], &["a.md", "a.md"]), 409),
        (texts(&["a", "b"], &["a.md", "../b.md"]), 400),
        (json!({ "texts": vec!["a"; 257] }), 413),
        (json!({ "texts": ["a"], "chunking": { "strategy": "F" } }), 422),
    ] {
        server.post("/documents/texts", body).await.problem(status);
    }
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 0);
    server
        .post("/documents/texts", texts(&["Radium glows.", "Radon does not."], &["a.md", "b.md"]))
        .await
        .ok();
    server.post("/documents/texts", texts(&["New.", "Old."], &["c.md", "a.md"])).await.problem(409);
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 2);
    // A text without a name is known by its content.
    let unnamed = json!({ "text": "Polonium decays." });
    server.post("/documents/text", unnamed.clone()).await.ok();
    server.post("/documents/text", unnamed).await.ok();
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 3);
}

#[tokio::test]
async fn pages_hold_every_document_once_in_both_directions() {
    let server = Running::start().await;
    let names: Vec<String> = (0..23).map(|number| format!("{number:02}.txt")).collect();
    let texts: Vec<String> = names.iter().map(|name| format!("The document {name}.")).collect();
    server.post("/documents/texts", json!({ "texts": texts, "file_sources": names })).await.ok();
    for direction in ["asc", "desc"] {
        let mut seen = Vec::new();
        for page in 1..=3 {
            let wanted = json!({
                "page": page, "page_size": 10, "sort_field": "file_path", "sort_direction": direction,
            });
            let listed = server.post("/documents/paginated", wanted).await.ok();
            let pagination = &listed["pagination"];
            assert_eq!((&pagination["total_count"], &pagination["total_pages"]), (&json!(23), &json!(3)));
            assert_eq!(pagination["has_next"], page < 3);
            let documents = listed["documents"].as_array().expect("documents");
            seen.extend(documents.iter().map(|it| it["file_path"].as_str().expect("a name").to_owned()));
        }
        let mut expected = names.clone();
        if direction == "desc" {
            expected.reverse();
        }
        assert_eq!(seen, expected);
    }
    let listed = server.post("/documents/paginated", json!({ "status_filters": ["failed"] })).await.ok();
    assert_eq!((&listed["documents"], &listed["status_counts"]["all"]), (&json!([]), &json!(23)));
    server.post("/documents/paginated", json!({ "page_size": 9 })).await.problem(422);
    server.post("/documents/paginated", json!({ "page": u64::MAX })).await.ok();
}

#[tokio::test]
async fn the_queue_can_be_looked_at_emptied_and_filled_again() {
    let server = Running::start().await;
    server.add("", "a.md", "Tobias Renn lives in Weirholm.").await;
    let status = server.get("/documents/pipeline_status").await.ok();
    assert!(status["history_messages"].as_array().expect("messages").len() > 1, "{status}");
    assert_eq!((&status["recovery_required"], &status["paused"]), (&json!(false), &json!(false)));
    let cancelled = server.send(Request::new("POST", "/documents/cancel_pipeline")).await.ok();
    assert_eq!(cancelled["status"], "not_busy");
    let again = server.send(Request::new("POST", "/documents/reprocess_failed")).await.ok();
    assert_eq!((&again["status"], &again["track_id"]), (&json!("reprocessing_started"), &json!("")));
    let scan = server.send(Request::new("POST", "/documents/scan")).await.ok();
    assert_eq!(scan["status"], "scanning_started");
    assert!(scan["track_id"].as_str().expect("a track").starts_with("scan-"), "{scan}");
    assert_eq!(server.post("/documents/clear_cache", json!({})).await.ok()["status"], "success");
    let types = server.get("/documents/supported_file_types").await.ok();
    let all = types["supported_extensions"].as_array().expect("a list");
    assert!(all.contains(&json!(".md")) && all.contains(&json!(".pdf")), "{types}");
    assert_eq!(server.send(Request::new("DELETE", "/documents")).await.ok()["status"], "success");
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 0);
}
