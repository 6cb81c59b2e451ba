//! Requests of OpenAI's and Ollama's clients, as recorded, and the parts of the responses that they read.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::jobs::events as events_of;
use crate::support::{REFUSED, Request, Running, UNREACHABLE};

const QUESTION: &str = "Who succeeded Maren Oskoldt as director?";

async fn station() -> Running {
    let server = Running::start().await;
    let text = "Maren Oskoldt directed Weir Station until 1994. Tobias Renn succeeded Maren Oskoldt as director of Weir \
                Station in 1995.";
    server.add("", "station.md", text).await;
    server
}

/// Returns the data of an event stream that ends with `[DONE]`.
fn pieces_of(body: &str) -> Vec<Value> {
    let mut data: Vec<&str> =
        body.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").expect("data")).collect();
    assert_eq!(data.pop(), Some("[DONE]"));
    data.into_iter().map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[tokio::test]
async fn a_response_contains_its_sources_and_says_that_it_is_not_stored() {
    let server = station().await;
    // openai 2 for Python, `responses.create(model=..., input=...)`.
    let ask = json!({ "input": QUESTION, "model": "default:mix" });
    let answer = server.post("/v1/responses", ask).await.ok();
    assert_eq!((&answer["object"], &answer["status"]), (&json!("response"), &json!("completed")));
    assert_eq!((&answer["store"], &answer["error"]), (&json!(false), &Value::Null));
    let message = &answer["output"][0];
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")));
    let part = &message["content"][0];
    let text = part["text"].as_str().expect("text");
    assert!(text.contains("Tobias Renn") && text.contains("Sources:\n[1] station.md"), "{text}");
    let mark = &part["annotations"][0];
    assert_eq!((&mark["type"], &mark["title"]), (&json!("url_citation"), &json!("station.md")));
    let (start, end) = (mark["start_index"].as_u64().expect("a place"), mark["end_index"].as_u64());
    let marked: String =
        text.chars().skip(start as usize).take((end.expect("a place") - start) as usize).collect();
    assert_eq!(marked, "[1]");
    assert_eq!(answer["usage"]["total_tokens"], 0);

    // `@ai-sdk/openai` 2, whose texts are parts; and langchain-openai with use_responses_api.
    let parts = json!({
        "model": "default:mix",
        "input": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "input_text", "text": "Who was Maren Oskoldt?" }] },
            { "role": "assistant", "content": [{ "type": "output_text", "text": "A director." }], "id": "msg_1" },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": QUESTION }] },
        ],
        "temperature": 0.2, "reasoning": {}, "include": null, "tools": [], "tool_choice": "auto",
        "text": { "format": { "type": "text" } }, "store": false, "metadata": { "run": "7" },
    });
    let answer = server.post("/v1/responses", parts).await.ok();
    assert!(answer["output"][0]["content"][0]["text"].as_str().expect("text").contains("Tobias Renn"));
    assert_eq!(answer["metadata"]["run"], "7");
}

#[tokio::test]
async fn a_streamed_response_has_the_events_that_openais_clients_read() {
    let server = station().await;
    let ask = json!({ "model": "default:mix", "input": QUESTION });
    let whole = server.post("/v1/responses", ask.clone()).await.ok();
    let mut streamed = ask;
    streamed["stream"] = json!(true);
    let events = events_of(&server.post("/v1/responses", streamed).await);
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.annotation.added",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, event) in events.iter().enumerate() {
        assert_eq!(
            (&event.data["type"], &event.data["sequence_number"]),
            (&json!(event.name), &json!(number))
        );
    }
    let text = &whole["output"][0]["content"][0]["text"];
    let joined: String = events.iter().filter_map(|event| event.data["delta"].as_str()).collect();
    assert_eq!(&json!(joined), text);
    let last = &events.last().expect("an end").data["response"];
    assert_eq!(&last["output"][0]["content"][0]["text"], text);
    assert_eq!(last["id"], events[0].data["response"]["id"]);
    assert_eq!(last["output"][0]["id"], events[2].data["item"]["id"]);

    let failing = json!({ "model": "default", "input": format!("What is {REFUSED}?"), "stream": true });
    let events = events_of(&server.post("/v1/responses", failing).await);
    let last = events.last().expect("an end");
    assert_eq!((last.name.as_str(), &last.data["response"]["status"]), ("response.failed", &json!("failed")));
    let message = last.data["response"]["error"]["message"].as_str().expect("why");
    assert!(message.starts_with("the embed model builtin-v1 rejected the request"), "{message}");
}

#[tokio::test]
async fn unsupported_fields_of_a_response_request_are_refused_by_name() {
    let server = station().await;
    let tool = json!([{ "type": "function", "name": "f", "parameters": {} }]);
    let shape = json!({ "format": { "type": "json_schema", "name": "a", "schema": {} } });
    for (field, value) in [
        ("tools", tool),
        ("tool_choice", json!("required")),
        ("text", shape),
        ("previous_response_id", json!("resp_1")),
        ("conversation", json!("conv_1")),
        ("prompt", json!({ "id": "pmpt_1" })),
        ("store", json!(true)),
        ("background", json!(true)),
    ] {
        let mut ask = json!({ "model": "default", "input": QUESTION });
        ask[field] = value;
        let refused = server.post("/v1/responses", ask).await;
        assert!(refused.problem(422).contains(field), "{refused:?}");
        assert!(refused.json()["error"]["message"].as_str().expect("words").contains(field), "{refused:?}");
    }
    for (input, why) in [
        (json!([{ "type": "item_reference", "id": "msg_1" }]), "\"item_reference\""),
        (
            json!([{ "type": "function_call_output", "call_id": "1", "output": "x" }]),
            "\"function_call_output\"",
        ),
        (json!([{ "content": "Who?" }]), "no role"),
        (json!([{ "role": "user", "content": [{ "type": "input_image" }] }]), "\"input_image\""),
        (json!([]), "the last message must have the role user"),
        (json!(7), "text or a list of messages"),
    ] {
        let refused = server.post("/v1/responses", json!({ "model": "default", "input": input })).await;
        assert!(refused.problem(422).contains(why), "{refused:?}");
    }
}

#[tokio::test]
async fn a_text_completion_is_an_answer_whole_or_streamed() {
    let server = station().await;
    // openai 2 for Python, `completions.create`; LiteLLM and llama-index send a list of one.
    let ask = json!({ "model": "default:mix", "prompt": [QUESTION], "temperature": 0 });
    let answer = server.post("/v1/completions", ask.clone()).await.ok();
    let choice = &answer["choices"][0];
    assert_eq!((&answer["object"], &choice["finish_reason"]), (&json!("text_completion"), &json!("stop")));
    assert!(choice["text"].as_str().expect("text").contains("Tobias Renn"), "{answer}");
    assert_eq!((&choice["logprobs"], &answer["usage"]["total_tokens"]), (&Value::Null, &json!(0)));
    let mut streamed = ask;
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_usage": true });
    let pieces = pieces_of(&server.post("/v1/completions", streamed).await.body);
    let joined: String = pieces.iter().filter_map(|piece| piece["choices"][0]["text"].as_str()).collect();
    assert_eq!(json!(joined), choice["text"]);
    let [.., finish, usage] = pieces.as_slice() else { panic!("{pieces:?}") };
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert!(usage["usage"]["total_tokens"].is_number() && usage["choices"] == json!([]), "{usage}");

    for (field, value, why) in [
        ("n", json!(2), "n must be 1"),
        ("best_of", json!(3), "best_of"),
        ("echo", json!(true), "echo"),
        ("suffix", json!("end"), "suffix"),
        ("logprobs", json!(1), "logprobs"),
        ("prompt", json!(["Who?", "When?"]), "one text"),
        ("prompt", json!([1, 2, 3]), "token ids"),
    ] {
        let mut ask = json!({ "model": "default", "prompt": QUESTION });
        ask[field] = value;
        let said = server.post("/v1/completions", ask).await.problem(422);
        assert!(said.contains(why), "{field}: {said}");
    }
}

/// Returns the types that the values of a response name, in any framing.
fn kinds_in(body: &str) -> Vec<Value> {
    let values = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let values = values.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let kinds =
        values.flat_map(|value| [value["answer_kind"].clone(), value["response"]["answer_kind"].clone()]);
    kinds.filter(|kind| !kind.is_null()).collect()
}

#[tokio::test]
async fn every_response_format_names_the_kind_of_its_answer_once() {
    let server = station().await;
    let mut kinds = BTreeSet::new();
    for text in [QUESTION, "Hello!", "What are the documents about?", "Who painted the Zanzibar ceiling?"] {
        let query = json!({ "query": text, "mode": "naive" });
        let kind = server.post("/query", query.clone()).await.ok()["answer_kind"].clone();
        kinds.insert(kind.to_string());
        let messages = json!([{ "role": "user", "content": text }]);
        for (path, ask) in [
            ("/v1/chat/completions", json!({ "model": "default:naive", "messages": messages })),
            ("/v1/completions", json!({ "model": "default:naive", "prompt": text })),
            ("/v1/responses", json!({ "model": "default:naive", "input": text })),
            ("/api/chat", json!({ "model": "default:naive", "messages": messages })),
            ("/query/stream", query.clone()),
            ("/query/events", query.clone()),
        ] {
            for stream in [false, true] {
                let mut ask = ask.clone();
                ask["stream"] = json!(stream);
                let answer = server.post(path, ask).await;
                assert_eq!(kinds_in(&answer.body), std::slice::from_ref(&kind), "{path}: {answer:?}");
            }
        }
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
}

#[tokio::test]
async fn an_answer_ends_at_the_clients_stops_and_limits_and_says_why() {
    let server = station().await;
    let messages = json!([{ "role": "user", "content": QUESTION }]);
    for limit in ["max_tokens", "max_completion_tokens"] {
        let mut ask = json!({ "model": "default:mix", "messages": messages });
        ask[limit] = json!(3);
        let choice = server.post("/v1/chat/completions", ask).await.ok()["choices"][0].clone();
        assert_eq!(choice["finish_reason"], "length", "{choice}");
        let content = choice["message"]["content"].as_str().expect("text");
        assert!(content.len() < 30 && !content.contains("Sources"), "{content}");
    }
    for stop in [json!(" succeeded"), json!(["", " succeeded"])] {
        let ask = json!({ "model": "default:mix", "messages": messages, "stop": stop, "stream": true });
        let pieces = pieces_of(&server.post("/v1/chat/completions", ask).await.body);
        let text: String =
            pieces.iter().filter_map(|piece| piece["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(text, "Tobias Renn");
        assert_eq!(pieces.last().expect("an end")["choices"][0]["finish_reason"], "stop");
    }
    let ask = json!({ "model": "default:mix", "prompt": QUESTION, "max_tokens": 3 });
    assert_eq!(server.post("/v1/completions", ask).await.ok()["choices"][0]["finish_reason"], "length");
    let ask = json!({ "model": "default:mix", "input": QUESTION, "max_output_tokens": 3 });
    let cut = server.post("/v1/responses", ask).await.ok();
    assert_eq!((&cut["status"], &cut["max_output_tokens"]), (&json!("incomplete"), &json!(3)));
    assert_eq!(cut["incomplete_details"]["reason"], "max_output_tokens");
    let options = json!({ "num_predict": 3, "stop": ["END"], "temperature": 0.1 });
    let ask = json!({ "model": "default:mix", "messages": messages, "stream": false, "options": options });
    assert_eq!(server.post("/api/chat", ask.clone()).await.ok()["done_reason"], "length");
    let mut unlimited = ask;
    unlimited["options"] = json!({ "num_predict": -1 });
    assert_eq!(server.post("/api/chat", unlimited).await.ok()["done_reason"], "stop");

    let many = json!({ "model": "default", "messages": messages, "stop": vec!["a"; 17] });
    assert!(server.post("/v1/chat/completions", many).await.problem(422).contains("16"));
    let none = json!({ "model": "default", "messages": messages, "max_tokens": 0 });
    assert!(server.post("/v1/chat/completions", none).await.problem(422).contains("must be at least 1"));
}

#[tokio::test]
async fn ollamas_clients_get_vectors_from_the_same_embedder() {
    let server = station().await;
    let input = json!({ "model": "default", "input": ["radium", "radon"] });
    let theirs = server.post("/v1/embeddings", input.clone()).await.ok();
    // ollama for Python, `embed`.
    let made = server.post("/api/embed", input).await.ok();
    let numbers = |value: &Value| -> Vec<f32> { serde_json::from_value(value.clone()).expect("numbers") };
    let expected = |number: usize| numbers(&theirs["data"][number]["embedding"]);
    for number in 0..2 {
        assert_eq!(numbers(&made["embeddings"][number]), expected(number));
    }
    assert_eq!(made["model"], "default");
    assert!(made["total_duration"].is_number() && made["prompt_eval_count"].is_number(), "{made}");
    let one = server.post("/api/embed", json!({ "model": "default", "input": "radium" })).await.ok();
    assert_eq!(numbers(&one["embeddings"][0]), expected(0));
    let old = server.post("/api/embeddings", json!({ "model": "default", "prompt": "radium" })).await.ok();
    assert_eq!(numbers(&old["embedding"]), expected(0));
    // A client that loads a model sends nothing to embed.
    assert_eq!(server.post("/api/embed", json!({ "model": "default" })).await.ok()["embeddings"], json!([]));
    assert_eq!(
        server.post("/api/embeddings", json!({ "model": "default", "prompt": "" })).await.ok()["embedding"],
        json!([])
    );
    server
        .post("/api/embed", json!({ "model": "default", "input": "a", "dimensions": 3 }))
        .await
        .problem(422);
    server.post("/api/embed", json!({ "model": "default", "input": vec!["a"; 513] })).await.problem(422);
    server.post("/api/embed", json!({ "model": "nowhere", "input": "a" })).await.problem(404);
}

/// What Open WebUI 0.6 sends for the title of a chat.
const TITLE: &str = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\nJSON \
                     format: { \"title\": \"your concise title here\" }\n### Chat History:\n<chat_history>\nUSER: Who succeeded \
                     Maren Oskoldt as director?\nASSISTANT: Tobias Renn [1]\n</chat_history>";

#[tokio::test]
async fn open_webuis_own_prompts_go_directly_to_the_answer_model_on_every_route() {
    let server = station().await;
    let messages = json!([{ "role": "user", "content": TITLE }]);
    for (path, ask) in [
        ("/v1/chat/completions", json!({ "model": "default:auto", "messages": messages, "stream": true })),
        ("/v1/responses", json!({ "model": "default:auto", "input": TITLE })),
        ("/v1/completions", json!({ "model": "default:auto", "prompt": TITLE })),
        ("/api/chat", json!({ "model": "default:auto", "messages": messages })),
    ] {
        // There is no answer model here, so the error shows that no documents are searched.
        assert!(server.post(path, ask).await.problem(422).contains("answer model"), "{path}");
    }
}

#[tokio::test]
async fn answers_of_lightrags_routes_list_their_sources_unless_the_client_opts_out() {
    let server = station().await;
    let list = "\n\n### References\n\n* [1] station.md";
    let answer = server.post("/query", json!({ "query": QUESTION })).await.ok();
    let text = answer["response"].as_str().expect("text");
    assert!(text.contains("Tobias Renn") && text.ends_with(list), "{text}");
    let lines = server.post("/query/stream", json!({ "query": QUESTION })).await.lines();
    let joined: String = lines.iter().filter_map(|line| line["response"].as_str()).collect();
    assert_eq!(joined, text);
    let without = json!({ "query": QUESTION, "include_references": false });
    let plain = server.post("/query", without).await.ok();
    assert_eq!(plain["response"].as_str().expect("text").to_owned() + list, text);
    let nothing = server.post("/query", json!({ "query": "Who painted the Zanzibar ceiling?" })).await.ok();
    assert!(!nothing["response"].as_str().expect("text").contains("References"), "{nothing}");
    // A name is text, whatever it looks like.
    server.add("", "[x](javascript:alert).md", "Quillon Astrabe founded Port Brae in 1801.").await;
    let answer = server.post("/query", json!({ "query": "Who founded Port Brae?" })).await.ok();
    assert!(answer["response"].as_str().expect("text").contains(r"\[x\](javascript:alert).md"), "{answer}");
}

#[tokio::test]
async fn callers_learn_which_model_failed_but_not_what_its_service_said() {
    let server = station().await;
    for (text, what) in [(REFUSED, "rejected the request"), (UNREACHABLE, "could not be reached")] {
        let question = format!("What is {text}?");
        let ask = json!({ "model": "default", "messages": [{ "role": "user", "content": question }] });
        for (path, ask) in [("/query", json!({ "query": question })), ("/v1/chat/completions", ask)] {
            let answer = server.post(path, ask).await;
            let said = answer.problem(502);
            assert_eq!(said, format!("the embed model builtin-v1 {what}"), "{path}");
            assert!(answer.json()["remedy"].as_str().expect("a remedy").contains("log"), "{answer:?}");
            assert!(!answer.body.contains("127.0.0.1") && !answer.body.contains("injected by the test"));
        }
    }
}

#[tokio::test]
async fn an_unknown_path_or_method_is_refused_in_the_format_of_its_protocol() {
    let server = Running::start().await;
    for (method, path, status) in [
        ("GET", "/v1/files", 404),
        ("POST", "/w/default/v1/moderations", 404),
        ("GET", "/v1", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/w/default/v1/models", 405),
    ] {
        let answer = server.send(Request::new(method, path)).await;
        let detail = answer.problem(status);
        let error = &answer.json()["error"];
        assert_eq!(error["type"], "invalid_request_error", "{method} {path}: {answer:?}");
        assert_eq!(error["message"], json!(detail), "{method} {path}");
    }
    for (method, path, status) in [
        ("POST", "/api/pull", 404),
        ("GET", "/w/default/api/blobs/sha256:0", 404),
        ("GET", "/api/chat", 405),
        ("POST", "/api/tags", 405),
    ] {
        let answer = server.send(Request::new(method, path)).await;
        let detail = answer.problem(status);
        assert_eq!(answer.json()["error"], json!(detail), "{method} {path}: {answer:?}");
    }
    // Other paths have no second error format, even if they begin alike.
    for path in ["/nowhere", "/v10/models", "/apis"] {
        let answer = server.get(path).await;
        answer.problem(404);
        assert!(answer.json().get("error").is_none(), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn errors_tell_a_wrong_key_from_a_wrong_token_and_an_unknown_model() {
    let server = station().await;
    server.user("ada", "correct-horse");
    let key = server.key(graphloom_server::Right::Read, &["default"]);
    let ask = |bearer: &str| {
        let body = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": QUESTION }] });
        Request::post("/v1/chat/completions", body).header("authorization", &format!("Bearer {bearer}"))
    };
    for wrong in ["sk-wrong", "glk_0123456789ab_x"] {
        let answer = server.send(ask(wrong)).await;
        assert_eq!(answer.problem(401), "Invalid API Key");
    }
    let answer = server.send(ask("a.b.c")).await;
    assert_eq!(answer.problem(401), "Invalid token. Please login again.");
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("Please login again; send an API key"), "{message}");

    let answer = server.send(ask(&key)).await;
    assert_eq!(answer.problem(403), "this credential has no access to model \"gpt-4o\"");
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("such as default:auto"), "{message}");
}

#[tokio::test]
async fn requests_for_token_probabilities_are_refused_instead_of_ignored() {
    let server = station().await;
    let chat = json!({ "model": "default", "messages": [{ "role": "user", "content": QUESTION }] });
    let response = json!({ "model": "default", "input": QUESTION });
    for (path, ask, field, value) in [
        ("/v1/chat/completions", &chat, "logprobs", json!(true)),
        ("/v1/chat/completions", &chat, "top_logprobs", json!(3)),
        ("/v1/responses", &response, "top_logprobs", json!(3)),
        ("/v1/responses", &response, "include", json!(["message.output_text.logprobs"])),
    ] {
        let mut with = ask.clone();
        with[field] = value;
        assert!(
            server.post(path, with).await.problem(422).contains("probabilities are not available"),
            "{path} {field}"
        );
    }
    let mut without = chat;
    (without["logprobs"], without["top_logprobs"]) = (json!(false), json!(0));
    assert_eq!(server.post("/v1/chat/completions", without).await.status, 200);
}
