//! One document: its text, its chunks, and spans of it.

use serde_json::{Value, json};

use crate::support::{Request, Running};

const STATION: &str = "# Weir Station\n\nMaren Oskoldt directed Weir Station until 1994.\nTobias Renn succeeded Maren \
                       Oskoldt as director of Weir Station in 1995. Für Öl.\n";

async fn station() -> (Running, String) {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    let listed = server.post("/documents/paginated", json!({})).await.ok();
    let id = listed["documents"][0]["id"].as_str().expect("an id").to_owned();
    (server, id)
}

#[tokio::test]
async fn a_document_is_returned_with_its_text() {
    let (server, id) = station().await;
    let document = server.get(&format!("/documents/{id}")).await.ok();
    assert_eq!((&document["file_path"], &document["format"]), (&json!("station.md"), &json!("markdown")));
    assert_eq!((&document["status"], &document["title"]), (&json!("processed"), &json!("Weir Station")));
    assert!(document["entities"].as_u64().expect("a number") >= 3, "{document}");
    assert_eq!(document["track_ids"].as_array().map(Vec::len), Some(1));
    assert_eq!((&document["staged"], &document["failed_chunks"]), (&json!(false), &json!([])));
    let text = server.get(&format!("/documents/{id}/text")).await;
    assert_eq!((text.status, text.headers["content-type"].as_str()), (200, "text/plain; charset=utf-8"));
    assert_eq!(text.body, STATION);
    for path in ["/documents/doc-0", "/documents/doc-0/text", "/documents/doc-0/chunks", "/chunks/chunk-0"] {
        server.get(path).await.problem(404);
    }
    server.get("/documents/doc-0/passage?start=0&end=1").await.problem(404);
}

#[tokio::test]
async fn every_citation_can_be_looked_up_and_has_the_same_text() {
    let (server, id) = station().await;
    let ask = json!({ "query": "Who succeeded Maren Oskoldt as director?" });
    let answer = server.post("/query", ask).await.ok();
    let citations = answer["citations"].as_array().expect("citations");
    assert!(!citations.is_empty(), "{answer}");
    for citation in citations {
        let (start, end) = (&citation["span"][0], &citation["span"][1]);
        let passage = server.get(&format!("/documents/{id}/passage?start={start}&end={end}")).await.ok();
        let mut expected = citation.clone();
        expected.as_object_mut().expect("an object").remove("number");
        assert_eq!(passage, expected);
    }
    let oel = STATION.find('Ö').expect("an umlaut");
    for (start, end) in [(oel + 1, oel + 3), (oel, oel + 1), (5, 5), (6, 5), (0, 100_000), (0, 2 << 20)] {
        let path = format!("/documents/{id}/passage?start={start}&end={end}");
        server.get(&path).await.problem(422);
    }
    server.get(&format!("/documents/{id}/passage?start=-1&end=5")).await.problem(422);
    server.get(&format!("/documents/{id}/passage")).await.problem(422);
}

#[tokio::test]
async fn chunks_are_listed_page_by_page_with_their_entities() {
    let server = Running::start().await;
    let sentence = |number: usize| format!("Person{number} Oskoldt lives in Town{number}. ");
    let text: String = (0..900).map(sentence).collect();
    server.add("", "long.txt", &text).await;
    let listed = server.post("/documents/paginated", json!({})).await.ok();
    let id = listed["documents"][0]["id"].as_str().expect("an id").to_owned();
    let (mut chunks, mut from): (Vec<Value>, Value) = (Vec::new(), json!(0));
    while !from.is_null() {
        let page = server.get(&format!("/documents/{id}/chunks?from={from}&limit=3")).await.ok();
        assert_eq!(page["total_count"], listed["documents"][0]["chunks_count"]);
        chunks.extend(page["chunks"].as_array().expect("chunks").iter().cloned());
        from = page["next"].clone();
    }
    assert!(chunks.len() > 3, "{}", chunks.len());
    let mut end = 0;
    for (ordinal, chunk) in chunks.iter().enumerate() {
        let span = [0, 1].map(|at| chunk["span"][at].as_u64().expect("a number") as usize);
        assert!(span[0] <= end, "no gap: {chunk}");
        end = span[1];
        assert_eq!((&chunk["ordinal"], &chunk["extraction"]), (&json!(ordinal), &json!("done")));
        assert_eq!(chunk["quote"], text[span[0]..span[1]]);
    }
    assert_eq!(end, text.trim_end().len());
    let path = format!("/chunks/{}", chunks[1]["id"].as_str().expect("an id"));
    let chunk = server.get(&path).await.ok();
    assert_eq!((&chunk["id"], &chunk["quote"]), (&chunks[1]["id"], &chunks[1]["quote"]));
    assert!(!chunk["entities"].as_array().expect("names").is_empty(), "{chunk}");
    for limit in ["0", "101", "x"] {
        server.get(&format!("/documents/{id}/chunks?limit={limit}")).await.problem(422);
    }
    let beyond = server.get(&format!("/documents/{id}/chunks?from=99999")).await.ok();
    assert_eq!((&beyond["chunks"], &beyond["next"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn a_search_returns_passages_entities_and_relations_with_their_places() {
    let (server, id) = station().await;
    let found = server.post("/search", json!({ "query": "Tobias Renn", "top_k": 5 })).await.ok();
    let passage = &found["passages"][0];
    assert_eq!((&passage["document"], &passage["file_path"]), (&json!(id), &json!("station.md")));
    assert!(passage["content"].as_str().expect("text").contains("Tobias Renn"), "{found}");
    let names = found["entities"].as_array().expect("entities");
    assert!(names.iter().any(|entity| entity["entity_name"] == "Tobias Renn"), "{found}");
    assert!(found["relationships"][0]["src_id"].is_string(), "{found}");
    let filter = json!({ "sources": ["other.md"] });
    server.post("/search", json!({ "query": "Tobias", "filter": filter })).await.problem(422);
    for body in [
        json!({ "query": " " }),
        json!({ "query": "a", "top_k": 0 }),
        json!({ "query": "a", "top_k": 201 }),
        json!({ "query": "a".repeat(65_537) }),
        json!({}),
    ] {
        server.post("/search", body).await.problem(422);
    }
    server.send(Request::new("POST", "/search").body("{}")).await.problem(415);
}
