//! Asking, in LightRAG's three ways.

use serde_json::{Value, json};

use crate::jobs::events;
use crate::support::{PANICKING, REFUSED, Request, Running};

const STATION: &str = "# Weir Station\n\nMaren Oskoldt directed Weir Station until 1994. Tobias Renn succeeded Maren \
                       Oskoldt as director of Weir Station in 1995.";

async fn station() -> Running {
    let server = Running::start().await;
    server.add("", "station.md", STATION).await;
    server
}

#[tokio::test]
async fn an_answer_has_references_and_verified_places() {
    let server = station().await;
    let ask = json!({ "query": "Who succeeded Maren Oskoldt as director?", "mode": "mix" });
    let answer = server.post("/query", ask).await.ok();
    assert!(answer["response"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    assert_eq!(
        answer["references"],
        json!([{ "reference_id": "1", "file_path": "station.md", "content": null }])
    );
    assert_eq!(answer["llm_generated"], false);
    assert!(answer["response_time"].is_number());
    let quote = answer["citations"][0]["quote"].as_str().expect("a quote");
    assert!(STATION.contains(quote), "{quote}");

    let ask = json!({ "query": "Who succeeded Maren Oskoldt?", "include_references": false, "include_citations": false });
    let answer = server.post("/query", ask).await.ok();
    assert_eq!((&answer["references"], answer.get("citations")), (&Value::Null, None));
    let ask = json!({ "query": "Who succeeded Maren Oskoldt?", "include_chunk_content": true });
    let answer = server.post("/query", ask).await.ok();
    assert!(
        answer["references"][0]["content"][0].as_str().expect("a passage").contains("Tobias"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_stream_begins_with_references_and_its_pieces_form_the_answer() {
    let server = station().await;
    let question = "Who succeeded Maren Oskoldt as director?";
    let whole = server.post("/query", json!({ "query": question })).await.ok();
    let answer = server.post("/query/stream", json!({ "query": question })).await;
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    let lines = answer.lines();
    assert_eq!(lines[0]["references"], json!([{ "reference_id": "1", "file_path": "station.md" }]));
    let [_, pieces @ .., last] = lines.as_slice() else { panic!("{lines:?}") };
    let joined: String = pieces.iter().map(|line| line["response"].as_str().expect("a piece")).collect();
    assert_eq!((&whole["response"], last), (&json!(joined), &json!({ "answer_kind": "answer" })));

    let lines = server.post("/query/stream", json!({ "query": question, "stream": false })).await.lines();
    assert_eq!((lines.len(), &lines[0]["response"]), (1, &whole["response"]));
    assert_eq!(lines[0]["references"][0]["reference_id"], "1");

    let ask = json!({ "query": question, "include_progress": true, "include_citations": true });
    let lines = server.post("/query/stream", ask).await.lines();
    assert_eq!(lines[0], json!({ "progress": "extracting_keywords" }));
    assert!(lines.last().expect("a line")["response_time"].is_number(), "{lines:?}");
    assert!(lines.iter().any(|line| line["citations"][0]["quote"].is_string()), "{lines:?}");
}

#[tokio::test]
async fn events_report_an_answer_from_its_context_to_its_end() {
    let server = station().await;
    let ask = json!({ "query": "Who succeeded Maren Oskoldt as director?", "mode": "mix" });
    let whole = server.post("/query", ask.clone()).await.ok();
    for stream in [true, false] {
        let mut ask = ask.clone();
        ask["stream"] = json!(stream);
        let events = events(&server.post("/query/events", ask).await);
        let (first, last) = (&events[0], events.last().expect("an end"));
        assert_eq!((first.name.as_str(), last.name.as_str()), ("context", "done"));
        assert_eq!(first.data["references"], json!([{ "reference_id": "1", "file_path": "station.md" }]));
        assert!(first.data["chunks"][0]["chunk_id"].is_string(), "{first:?}");
        let named = |name: &str| -> Vec<&Value> {
            events.iter().filter(|event| event.name == name).map(|event| &event.data).collect()
        };
        let joined: String = named("delta").iter().filter_map(|delta| delta["text"].as_str()).collect();
        assert_eq!((&last.data["response"], &last.data["llm_generated"]), (&json!(joined), &json!(false)));
        assert_eq!(last.data["response"], whole["response"]);
        let citations: Vec<Value> = named("citation").into_iter().cloned().collect();
        assert_eq!(json!(citations), whole["citations"]);
        let marks = last.data["marks"].as_array().expect("marks");
        assert!(!marks.is_empty(), "{last:?}");
        for mark in marks {
            let [start, end] = ["start", "end"].map(|at| mark[at].as_u64().expect("a byte") as usize);
            let cited = mark["citations"][0].as_u64().expect("a citation") as usize;
            assert_eq!(joined[start..end], format!("[{}]", citations[cited]["number"]));
        }
        assert_eq!(
            named("usage"),
            [&json!({ "calls": 0, "prompt_tokens": 0, "cached_prompt_tokens": 0,
            "completion_tokens": 0, "cost": 0.0 })]
        );
    }
}

#[tokio::test]
async fn a_failed_answer_ends_with_an_error_and_nothing_after_it() {
    let server = station().await;
    for (text, status) in [(REFUSED, 502), (PANICKING, 500)] {
        let answer = server.post("/query/events", json!({ "query": format!("What is {text}?") })).await;
        let events = events(&answer);
        let last = events.last().expect("an end");
        assert_eq!((last.name.as_str(), &last.data["status"]), ("error", &json!(status)), "{events:?}");
        assert!(events.iter().all(|event| event.name != "done"), "{events:?}");
    }
    server.post("/query/events", json!({ "query": "" })).await.problem(422);
}

#[tokio::test]
async fn citations_of_closest_passages_point_to_the_passages() {
    let server = station().await;
    let events = events(
        &server.post("/query/events", json!({ "query": "Which town was Maren Oskoldt born in?" })).await,
    );
    let done = &events.last().expect("an end").data;
    assert_eq!(done["answer_kind"], "closest", "{events:?}");
    let marks = done["marks"].as_array().expect("marks");
    assert!(!marks.is_empty() && marks.iter().all(|mark| mark["citations"][0].is_u64()), "{done}");
}

#[tokio::test]
async fn query_results_name_their_sources() {
    let server = station().await;
    let found = server
        .post("/query/data", json!({ "query": "Who directed Weir Station?", "mode": "hybrid" }))
        .await
        .ok();
    assert_eq!((&found["status"], &found["metadata"]["query_mode"]), (&json!("success"), &json!("hybrid")));
    let entities = found["data"]["entities"].as_array().expect("entities");
    let station =
        entities.iter().find(|entity| entity["entity_name"] == "Weir Station").expect("the station");
    assert_eq!(station["file_path"], "station.md");
    assert!(station["source_id"].as_str().expect("ids").starts_with("chunk-"), "{station}");
    assert!(found["data"]["relationships"][0]["src_id"].is_string(), "{found}");
    let chunk = &found["data"]["chunks"][0];
    assert_eq!(chunk["reference_id"], "1");
    let document = chunk["document"].as_str().expect("an id");
    let [start, end] = [0, 1].map(|at| &chunk["span"][at]);
    let passage = server.get(&format!("/documents/{document}/passage?start={start}&end={end}")).await.ok();
    assert_eq!(passage["quote"], chunk["content"]);
    assert_eq!(found["data"]["references"][0]["file_path"], "station.md");
    assert_eq!(found["metadata"]["route"], json!(null));

    let asked = json!({ "query": "Who directed Weir Station?", "mode": "auto", "pagerank": { "filter_facts": true } });
    let found = server.post("/query/data", asked).await.ok();
    assert_eq!(found["metadata"]["route"]["form"], "whole");
    let (path, chunk) = (&found["metadata"]["paths"][0], &found["data"]["chunks"][0]["chunk_id"]);
    assert_eq!(
        (&path["chunk"], path["steps"].as_array().expect("steps").last()),
        (chunk, Some(&json!({ "chunk": chunk })))
    );
    assert!(found["metadata"]["notes"][0].as_str().expect("a note").contains("filter_facts"), "{found}");

    let filter = json!({ "sources": ["other.md"] });
    server.post("/query/data", json!({ "query": "Who directed it?", "filter": filter })).await.problem(400);
    for wrong in [json!({}), json!({ "query": "Hi" }), json!({ "query": "Who?", "mode": "best" })] {
        server.post("/query/data", wrong.clone()).await.problem(400);
        server.post("/query", wrong).await.problem(422);
    }
}

#[tokio::test]
async fn an_empty_workspace_says_that_it_has_no_answer() {
    let server = Running::start().await;
    let answer = server.post("/query", json!({ "query": "Who directed Weir Station?" })).await.ok();
    assert_eq!((&answer["references"], &answer["llm_generated"]), (&json!([]), &json!(false)));
    let found = server.post("/query/data", json!({ "query": "Who directed it?" })).await.ok();
    assert_eq!((&found["status"], &found["data"]), (&json!("failure"), &json!({})));
}

#[tokio::test]
async fn an_unreadable_question_is_refused_with_a_list_of_errors_and_their_paths() {
    let server = Running::start().await;
    let history = json!([{ "role": "user", "content": "a" }, { "role": "user" }]);
    for (path, body, kind, loc) in [
        ("/query", json!({}), "missing", json!(["body", "query"])),
        ("/query", json!({ "query": "a?", "top_k": "x" }), "value_error", json!(["body", "top_k"])),
        (
            "/query",
            json!({ "query": "a?", "conversation_history": history }),
            "missing",
            json!(["body", "conversation_history", 1, "content"]),
        ),
        ("/documents/text", json!(1), "value_error", json!(["body"])),
    ] {
        let answer = server.post(path, body).await;
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        let fault = &answer.json()["detail"][0];
        assert_eq!((answer.status, &fault["type"], &fault["loc"]), (422, &json!(kind), &loc), "{answer:?}");
    }
    for (path, kind, loc) in [
        ("/graphs", "missing", json!(["query", "label"])),
        ("/graphs?label=*&max_depth=x", "value_error", json!(["query", "max_depth"])),
    ] {
        let answer = server.get(path).await;
        let fault = &answer.json()["detail"][0];
        assert_eq!((answer.status, &fault["type"], &fault["loc"]), (422, &json!(kind), &loc), "{answer:?}");
    }
    let broken = Request::new("POST", "/query").header("content-type", "application/json");
    for body in ["{\"query\":", "{\"query\":\"a?\"} more", "", "\u{1}"] {
        let answer = server.send(broken.clone().body(body)).await;
        let fault = &answer.json()["detail"][0];
        assert_eq!((answer.status, &fault["type"]), (422, &json!("json_invalid")), "{body}: {answer:?}");
    }
}

#[tokio::test]
async fn an_invalid_question_is_an_error_with_its_reason() {
    let server = Running::start().await;
    for (body, why) in [
        (json!({}), "missing field `query`"),
        (json!({ "query": "" }), "the question is empty"),
        (json!({ "query": "Who?", "mode": "worst" }), "unknown variant"),
        (json!({ "query": "Who?", "top_k": -1 }), "the number -1"),
        (json!({ "query": "a".repeat(65_537) }), "65537, the limit is 65536"),
        (json!({ "query": "Who?", "mode": "bypass" }), "no"),
    ] {
        let said = server.post("/query", body.clone()).await.problem(422);
        assert!(said.contains(why), "{said}");
        let said = server.post("/query/stream", body.clone()).await;
        // Errors before the first line are a status; errors after it are a line.
        let told = said.status == 422 || said.lines().iter().any(|line| line["error"].is_string());
        assert!(told, "{said:?}");
    }
    let broken =
        Request::new("POST", "/query").header("content-type", "application/json").body("{\"query\":");
    server.send(broken).await.problem(422);
    let large = json!({ "query": "Who?", "padding": "x".repeat(1 << 20) });
    server.post("/query", large).await.problem(413);
    server.get("/query").await.problem(405);
    server.get("/nowhere").await.problem(404);
}

#[tokio::test]
async fn a_question_without_the_communities_it_needs_names_the_route_that_derives_them() {
    let server = station().await;
    let answer = server.post("/query", json!({ "query": "What are the themes?", "mode": "drift" })).await;
    assert_eq!(answer.problem(409), "there are no communities to answer from");
    assert_eq!(answer.json()["remedy"], "POST /layers/communities/derive derives them");
}

#[tokio::test]
async fn if_no_passage_fits_the_context_the_answer_does_not_claim_that_none_exists() {
    let server = Running::start().await;
    server.add("", "town.md", "Tobias Renn lives in Weirholm.").await;
    for mode in ["naive", "mix", "auto"] {
        let ask = |budget: u32| json!({ "query": "Where does Tobias Renn live?", "mode": mode, "max_total_tokens": budget });
        let answer = server.post("/query", ask(1)).await.ok();
        let (response, notes) = (answer["response"].to_string(), answer["notes"].to_string());
        assert!(response.contains("does not fit") && notes.contains("max_total_tokens"), "{mode}: {answer}");
        server.post("/query", ask(0)).await.problem(422);
    }
}

#[tokio::test]
async fn a_quoted_sentence_cannot_load_an_image_of_its_document() {
    let server = Running::start().await;
    let text = "Tobias Renn ![seen](https://evil.example/p.png?q=1) succeeded Maren Oskoldt as director of Weir Station.";
    // Plain text keeps what Markdown would read as an image.
    server.add("", "station.txt", text).await;
    let question = "Who succeeded Maren Oskoldt as director?";
    let chat = json!({ "model": "default", "messages": [{ "role": "user", "content": question }] });
    for (path, ask) in [
        ("/query", json!({ "query": question })),
        ("/query/stream", json!({ "query": question })),
        ("/v1/chat/completions", chat.clone()),
        ("/api/chat", chat),
    ] {
        let answer = server.post(path, ask).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        // In JSON, the backslash is escaped.
        assert!(answer.body.contains(r"!\\[seen](https://evil.example"), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn suggested_questions_include_the_sentence_that_answers_them() {
    let server = Running::start().await;
    let text =
        "Isambard Brunel built the Clifton Bridge in Bristol. Charles Babbage built the Analytical Engine.";
    server.add("", "bridge.md", text).await;
    let suggested = server.get("/suggestions?limit=3").await.ok();
    assert_eq!((&suggested["model"], &suggested["dropped"]), (&Value::Null, &json!(0)));
    let questions = suggested["questions"].as_array().expect("questions");
    assert!((1..=3).contains(&questions.len()), "{suggested}");
    for suggestion in questions {
        assert_eq!(suggestion["file_path"], "bridge.md");
        let bytes = |place: usize| suggestion["span"][place].as_u64().expect("a byte") as usize;
        assert_eq!(json!(text[bytes(0)..bytes(1)]), suggestion["quote"], "{suggestion}");
        let answer = server.post("/query", json!({ "query": suggestion["question"] })).await.ok();
        assert_eq!(answer["answer_kind"], "answer", "{suggestion}: {answer}");
    }
    let about = server.get("/suggestions?about=Charles%20Babbage").await.ok();
    let about = about["questions"].as_array().expect("questions");
    assert!(
        !about.is_empty() && about.iter().all(|it| it["quote"].to_string().contains("Babbage")),
        "{about:?}"
    );
    for path in ["/suggestions?limit=0", "/suggestions?limit=51", "/suggestions?limit=x"] {
        server.get(path).await.problem(422);
    }
    server.get("/suggestions?about=Atlantis").await.problem(422);
}
