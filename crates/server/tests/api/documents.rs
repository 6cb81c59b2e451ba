//! Adding, listing and removing documents.

use std::time::Duration;

use serde_json::json;

use crate::support::{Request, Running};

#[tokio::test]
async fn a_file_can_be_uploaded_indexed_listed_and_removed() {
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
async fn texts_are_added_all_or_nothing() {
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
    // The source of a text without a name is derived from its content.
    let unnamed = json!({ "text": "Polonium decays." });
    server.post("/documents/text", unnamed.clone()).await.ok();
    server.post("/documents/text", unnamed).await.ok();
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 3);
}

#[tokio::test]
async fn pages_contain_every_document_once_in_both_directions() {
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
async fn the_queue_can_be_viewed_emptied_and_filled_again() {
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

#[tokio::test]
async fn a_refused_request_creates_no_workspace() {
    let server = Running::start().await;
    let json = |path: &str, body: &str| {
        Request::new("POST", path).header("content-type", "application/json").body(body)
    };
    for request in [
        json("/w/nope/documents/text", "garbage"),
        json("/w/nope/documents/text", r#"{"text": " "}"#),
        json("/w/nope/documents/text", r#"{"text": "x", "file_source": "../x"}"#),
        json("/w/nope/documents/texts", r#"{"texts": []}"#),
        Request::new("POST", "/w/nope/documents/upload").body("x"),
        Request::new("POST", "/w/nope/documents/upload").file("a.unknown", "x"),
        Request::new("POST", "/w/nope/documents/upload").file("a.pdf", "no PDF"),
    ] {
        let path = request.path().to_owned();
        assert!([400, 415, 422].contains(&server.send(request).await.status), "{path}");
        server.get("/w/nope/documents/status_counts").await.problem(404);
    }
    server.get("/w/nope/health").await.problem(404);
    server.get("/w/Nope/health").await.problem(422);
    server.send(Request::new("POST", "/w/nope/documents/upload").file("a.md", "Radium glows.")).await.ok();
    assert_eq!(server.get("/w/nope/documents/status_counts").await.ok()["status_counts"]["all"], 1);
}

#[tokio::test]
async fn every_text_is_counted_and_waiting_documents_are_found_by_their_run() {
    let server = Running::start().await;
    server.pause().await;
    let add = async |texts: &[&str]| {
        let added = server.post("/documents/texts", json!({ "texts": texts })).await.ok();
        let track = added["track_id"].as_str().expect("a track").to_owned();
        let found = server.get(&format!("/documents/track_status/{track}")).await.ok();
        let words = added["message"].as_str().expect("words").to_owned();
        (added["status"].clone(), words, found["total_count"].clone())
    };
    let (status, words, found) = add(&["Radium glows.", "Radium glows."]).await;
    assert_eq!((status, found), (json!("partial_success"), json!(1)));
    assert!(words.starts_with("1 accepted; 1 duplicates within the request"), "{words}");
    let (status, words, found) = add(&["Radium glows.", "Radon does not."]).await;
    assert_eq!((status, found), (json!("partial_success"), json!(2)));
    assert!(
        words.starts_with("1 accepted; 1 already known with the same content and still waiting"),
        "{words}"
    );
    let jobs = server.get("/jobs").await.ok();
    for job in jobs["jobs"].as_array().expect("jobs") {
        let id = job["id"].as_str().expect("an id");
        server.send(Request::new("POST", &format!("/jobs/{id}/cancel"))).await.ok();
    }
    let (status, words, found) = add(&["Radium glows."]).await;
    assert_eq!(
        (status, found),
        (json!("success"), json!(0)),
        "nothing is left to do, so the run has no documents"
    );
    assert_eq!(words, "0 accepted; 1 already known with the same content");
}

#[tokio::test]
async fn an_upload_form_has_exactly_one_file_with_a_readable_name() {
    let server = Running::start().await;
    let part = |parameters: &[u8]| {
        [
            b"--edge\r\ncontent-disposition: form-data; name=\"file\"; ".as_slice(),
            parameters,
            b"\r\n\r\nRadium glows.\r\n",
        ]
        .concat()
    };
    let form = |parts: &[Vec<u8>]| {
        let body = [parts.concat(), b"--edge--\r\n".to_vec()].concat();
        let request = Request::new("POST", "/documents/upload");
        server.send(request.header("content-type", "multipart/form-data; boundary=edge").body(body))
    };
    let two = form(&[part(b"filename=\"a.md\""), part(b"filename=\"b.md\"")]).await;
    assert!(two.problem(422).contains("more than one field"));
    assert!(form(&[part(b"filename=\"\xe4.md\"")]).await.problem(422).contains("not valid UTF-8"));
    assert_eq!(server.get("/documents/status_counts").await.ok()["status_counts"]["all"], 0);
    form(&[part(b"filename=\"a.md\"; filename*=UTF-8''%C3%84rger.md")]).await.ok();
    let listed = server.post("/documents/paginated", json!({})).await.ok();
    assert_eq!(listed["documents"][0]["file_path"], "Ärger.md");
}

#[tokio::test]
async fn a_wrong_body_is_refused_with_the_path_of_the_field_and_the_expected_type() {
    let server = Running::start().await;
    let raw = |path: &str, body: &str| {
        server.send(Request::new("POST", path).header("content-type", "application/json").body(body))
    };
    for (path, body, place, words) in [
        ("/query", r#"{"query": "Who?", "top_k": "3"}"#, json!(["body", "top_k"]), "a whole number"),
        ("/query", r#"{"query": "Who?", "mode": 5}"#, json!(["body", "mode"]), "the number 5"),
        ("/query", r#"["Who?"]"#, json!(["body"]), "expected an object"),
        ("/graph/entities/merge", r#"["Heavy 1"]"#, json!(["body"]), "expected an object"),
        ("/search", r#"{"query": "Who?", "limit": 0}"#, json!(["body", "limit"]), "unknown field `limit`"),
        (
            "/documents/paginated",
            r#"{"status_filters": [1]}"#,
            json!(["body", "status_filters", 0]),
            "the number 1",
        ),
    ] {
        let answer = raw(path, body).await;
        let said = answer.problem(422);
        assert!(said.contains(words), "{body}: {said}");
        assert!(
            !said.contains("struct") && !said.contains("usize") && !said.contains("not valid JSON"),
            "{body}: {said}"
        );
        assert_eq!(answer.json()["detail"][0]["loc"], place, "{body}");
    }
    assert!(raw("/query", "{").await.problem(422).contains("not valid JSON"));
    assert_eq!(raw("/documents/text", "\u{feff}{\"text\": \"Radium glows.\"}").await.status, 200);
    assert!(server.get("/jobs?limt=1").await.problem(422).contains("limt"));
    assert!(server.get("/jobs?limit=x").await.problem(422).contains("a whole number"));
}

#[tokio::test]
async fn documents_can_be_searched_sorted_and_selected_and_their_removal_previewed() {
    let server = Running::start().await;
    for (name, text) in [
        ("alpha.md", "Tobias Renn lives in Weirholm."),
        ("beta.txt", "Tobias Renn directs Weir Station. Maren Oskoldt works there, too."),
        ("Alpine.md", "Radium."),
    ] {
        server.add("", name, text).await;
    }
    let page = async |body: serde_json::Value| {
        let page = server.post("/documents/paginated", body).await.ok();
        let names: Vec<String> = page["documents"]
            .as_array()
            .expect("documents")
            .iter()
            .map(|document| document["file_path"].as_str().expect("a name").to_owned())
            .collect();
        (names, page["pagination"]["total_count"].clone())
    };
    let by_name = json!({ "search": "ALP", "sort_field": "file_path", "sort_direction": "asc" });
    assert_eq!(page(by_name).await, (vec!["Alpine.md".to_owned(), "alpha.md".to_owned()], json!(2)));
    let by_size = json!({ "sort_field": "content_length", "sort_direction": "asc" });
    assert_eq!(page(by_size).await.0, ["Alpine.md", "alpha.md", "beta.txt"]);
    assert_eq!(page(json!({ "search": "alp", "status_filters": ["failed"] })).await, (vec![], json!(0)));
    assert_eq!(page(json!({ "sort_field": "status" })).await.0.len(), 3);
    // LightRAG's statuses that never occur select nothing.
    for sort_field in ["id", "content_length"] {
        let parsing = json!({ "status_filters": ["parsing"], "sort_field": sort_field });
        assert_eq!(page(parsing).await, (vec![], json!(0)));
    }
    let parsing = server.post("/documents/select", json!({ "status_filters": ["parsing"] })).await.ok();
    assert_eq!(parsing["total"], 0);
    server.post("/documents/paginated", json!({ "search": "x".repeat(201) })).await.problem(422);

    let selected = server.post("/documents/select", json!({ "search": ".txt" })).await.ok();
    assert_eq!(selected["total"], 1);
    let ids = json!({ "doc_ids": selected["ids"] });
    let preview = server.post("/documents/removal_preview", ids.clone()).await.ok();
    let before = server.get("/graph/label/list").await.ok().as_array().map_or(0, Vec::len);
    assert_eq!(
        (&preview["documents"], &preview["chunks"], &preview["answers"]),
        (&json!(1), &json!(1), &json!(0))
    );
    server.send(Request::delete("/documents/delete_document", ids.clone())).await.ok();
    let after = server.get("/graph/label/list").await.ok().as_array().map_or(0, Vec::len);
    assert_eq!(preview["graph"]["entities"], json!(before - after), "{preview}");
    assert_eq!(server.post("/documents/removal_preview", ids).await.ok()["documents"], 0);
    server.post("/documents/removal_preview", json!({ "doc_ids": [] })).await.problem(422);
}
