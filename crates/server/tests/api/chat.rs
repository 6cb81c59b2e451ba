//! The protocols of OpenAI and Ollama.

use graphloom_server::Right;
use serde_json::{Value, json};

use crate::support::{Answer, Request, Running};

const QUESTION: &str = "Who succeeded Maren Oskoldt as director?";

async fn station() -> Running {
    let server = Running::start().await;
    let text = "Maren Oskoldt directed Weir Station until 1994. Tobias Renn succeeded Maren Oskoldt as director of Weir \
                Station in 1995.";
    server.add("", "station.md", text).await;
    server
}

fn user(content: &str) -> Value {
    json!([{ "role": "user", "content": content }])
}

/// Returns the values of server-sent events; the last event must be the end.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.headers["content-type"], "text/event-stream", "{answer:?}");
    let mut events: Vec<&str> = answer
        .body
        .split_terminator("\n\n")
        .map(|event| event.strip_prefix("data: ").expect("data"))
        .collect();
    assert_eq!(events.pop(), Some("[DONE]"));
    events.into_iter().map(|event| serde_json::from_str(event).expect("JSON")).collect()
}

#[tokio::test]
async fn a_completion_contains_its_sources_and_a_stream_has_the_same_text() {
    let server = station().await;
    let ask = json!({ "model": "default:mix", "messages": user(QUESTION), "temperature": 0.3 });
    let answer = server.post("/v1/chat/completions", ask.clone()).await.ok();
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("default:mix")));
    let message = &answer["choices"][0]["message"];
    let content = message["content"].as_str().expect("text");
    assert!(
        content.contains("Tobias Renn")
            && content.contains("Sources:\n[1] station.md, line 1\n\nAnswered without an LLM"),
        "{content}"
    );
    let annotation = &message["annotations"][0]["url_citation"];
    let (start, end) = (annotation["start_index"].as_u64(), annotation["end_index"].as_u64());
    let (start, end) = (start.expect("a place") as usize, end.expect("a place") as usize);
    let marked: String = content.chars().skip(start).take(end - start).collect();
    assert_eq!(marked, "[1]");
    assert_eq!(answer["usage"], json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 }));
    assert_eq!(answer["answer_kind"], "answer");

    let mut streamed = ask;
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_usage": true });
    let events = events(&server.post("/v1/chat/completions", streamed).await);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let joined: String =
        events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(joined, content);
    let [.., finish, usage] = events.as_slice() else { panic!("{events:?}") };
    let end = (&finish["choices"][0]["finish_reason"], &finish["answer_kind"]);
    assert_eq!(end, (&json!("stop"), &json!("answer")));
    assert!(usage["usage"]["total_tokens"].is_number() && usage["choices"] == json!([]), "{usage}");
    assert!(events.iter().all(|event| event["id"] == finish["id"]), "{events:?}");
}

#[tokio::test]
async fn models_are_the_workspaces_and_modes_that_the_caller_can_access() {
    let server = station().await;
    server.add("/w/beta", "b.md", "Radon decays.").await;
    let key = server.key(Right::Read, &["beta"]);
    let send = |request: Request| server.send(request.header("authorization", &format!("Bearer {key}")));
    let models = send(Request::get("/v1/models")).await.ok();
    let ids: Vec<&str> =
        models["data"].as_array().expect("models").iter().filter_map(|it| it["id"].as_str()).collect();
    assert!(ids.contains(&"beta:auto") && ids.iter().all(|id| id.starts_with("beta:")), "{ids:?}");
    let tags = send(Request::get("/api/tags")).await.ok();
    assert_eq!(tags["models"].as_array().expect("models").len(), ids.len());
    for path in [
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/embeddings",
        "/api/chat",
        "/api/generate",
        "/api/show",
        "/api/embed",
        "/api/embeddings",
    ] {
        let ask = |model: &str| {
            let input = json!({ "model": model, "messages": user("Who?"), "prompt": "Who?", "input": "Who?", "stream": false });
            send(Request::post(path, input))
        };
        for other in ["default:auto", "default", "graphloom", "gamma:auto"] {
            ask(other).await.problem(403);
        }
        for unknown in ["beta:best", "", "BETA", "a/b:auto"] {
            ask(unknown).await.problem(404);
        }
        let status = ask("beta").await.status;
        // Without an answer model, nothing can be asked directly.
        assert!(status == 200 || (path == "/api/generate" && status == 422), "{path}: {status}");
    }
    let without =
        server.post("/v1/chat/completions", json!({ "model": "beta", "messages": user("Who?") })).await;
    without.problem(401);
    assert_eq!(without.headers["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn ollamas_chat_takes_a_mode_before_the_question() {
    let server = station().await;
    let ask = |content: &str, stream: bool| {
        let body = json!({ "model": "graphloom:latest", "messages": user(content), "stream": stream });
        // Ollama's own client sends no content type.
        server.send(Request::new("POST", "/api/chat").body(body.to_string()))
    };
    let whole = ask(&format!("/local {QUESTION}"), false).await.ok();
    let content = whole["message"]["content"].as_str().expect("text");
    assert!(content.contains("Tobias Renn") && content.contains("[1] station.md"), "{content}");
    assert_eq!((&whole["done"], &whole["done_reason"]), (&json!(true), &json!("stop")));
    assert!(whole["total_duration"].is_number() && whole["eval_count"].is_number(), "{whole}");

    let lines = ask(&format!("/local {QUESTION}"), true).await.lines();
    let joined: String = lines.iter().filter_map(|line| line["message"]["content"].as_str()).collect();
    assert_eq!(joined, content);
    assert_eq!(lines.last().expect("a line")["done"], true);

    let context = ask(&format!("/naivecontext {QUESTION}"), false).await.ok();
    let context = context["message"]["content"].as_str().expect("text");
    assert!(context.contains("directed Weir Station until 1994"), "{context}");
    // There is no model to ask directly, and the response says so.
    assert!(ask("/bypass Who?", false).await.problem(422).contains("mode bypass"));
    assert_eq!(server.get("/api/version").await.ok(), json!({ "version": "0.9.3" }));
}

#[tokio::test]
async fn vectors_are_returned_as_numbers_or_base64() {
    let server = station().await;
    let ask =
        |format: &str| json!({ "model": "default", "input": ["radium", "radon"], "encoding_format": format });
    let numbers = server.post("/v1/embeddings", ask("float")).await.ok();
    assert_eq!((&numbers["data"][1]["index"], &numbers["model"]), (&json!(1), &json!("builtin-v1")));
    let vector: Vec<f64> = serde_json::from_value(numbers["data"][0]["embedding"].clone()).expect("numbers");
    let length: f64 = vector.iter().map(|number| number * number).sum();
    assert!((length - 1.0).abs() < 1e-3, "{length}");
    let bytes = server.post("/v1/embeddings", ask("base64")).await.ok();
    let encoded = bytes["data"][0]["embedding"].as_str().expect("text");
    assert_eq!(encoded.len(), (vector.len() * 4).div_ceil(3) * 4);
    server.post("/v1/embeddings", ask("hex")).await.problem(422);
    for input in [json!([]), json!(""), json!([[1, 2]]), json!(vec!["a"; 513])] {
        server.post("/v1/embeddings", json!({ "model": "default", "input": input })).await.problem(422);
    }
}

#[tokio::test]
async fn unreadable_conversations_are_refused_with_the_reason() {
    let server = station().await;
    for (messages, why) in [
        (json!([{ "role": "assistant", "content": "Hi" }]), "the last message must have the role user"),
        (json!([{ "role": "user", "content": [{ "type": "image_url" }] }]), "only text is supported"),
        (json!([{ "role": "user", "content": "Who?", "images": ["aGk="] }]), "only text is supported"),
        (json!([{ "role": "user", "content": 7 }]), "expected text or a list of parts"),
        (user(""), "the question is empty"),
    ] {
        let ask = json!({ "model": "default", "messages": messages });
        for path in ["/v1/chat/completions", "/api/chat"] {
            let said = server.post(path, ask.clone()).await.problem(422);
            assert!(said.contains(why), "{said}");
        }
    }
    for (path, field, value) in [
        ("/v1/chat/completions", "n", json!(2)),
        ("/v1/chat/completions", "tool_choice", json!("required")),
        ("/v1/chat/completions", "tool_choice", json!({ "type": "function" })),
        ("/v1/chat/completions", "response_format", json!({ "type": "json_object" })),
        ("/api/chat", "format", json!("json")),
        ("/api/generate", "format", json!({ "type": "object" })),
        ("/api/generate", "images", json!(["aGk="])),
        ("/v1/embeddings", "dimensions", json!(7)),
    ] {
        let mut ask =
            json!({ "model": "default", "messages": user("Who?"), "prompt": "Who?", "input": "Who?" });
        ask[field] = value;
        assert!(server.post(path, ask).await.problem(422).contains(field), "{path} {field}");
    }
    let mut plain =
        json!({ "model": "default", "messages": user(QUESTION), "tool_choice": "auto", "stream": null });
    plain["response_format"] = json!({ "type": "text" });
    plain["stream_options"] = json!({ "include_usage": null });
    server.post("/v1/chat/completions", plain).await.ok();
    // Predictable failures are reported with a status, before a stream opens.
    let bypass = json!({ "model": "default:bypass", "messages": user("Who?"), "stream": true });
    server.post("/v1/chat/completions", bypass.clone()).await.problem(422);
    server.post("/api/generate", json!({ "model": "default", "prompt": "Who?" })).await.problem(422);
    for path in ["/query/stream", "/query/events"] {
        server.post(path, json!({ "query": "Who?", "mode": "bypass" })).await.problem(422);
    }
}

#[tokio::test]
async fn a_request_without_a_prompt_confirms_that_the_model_is_loaded() {
    let server = station().await;
    for (path, ask) in [
        ("/api/generate", json!({ "model": "default" })),
        ("/api/generate", json!({ "model": "default", "prompt": "", "stream": null })),
        ("/api/chat", json!({ "model": "default" })),
        ("/api/chat", json!({ "model": "default", "messages": [] })),
    ] {
        let loaded = server.post(path, ask).await.ok();
        assert_eq!((&loaded["done"], &loaded["done_reason"]), (&json!(true), &json!("load")), "{loaded}");
        server.post(path, json!({ "model": "nowhere" })).await.problem(404);
    }
}

#[tokio::test]
async fn a_workspace_named_like_the_product_is_reachable_only_by_its_path_prefix() {
    let server = station().await;
    let ask = |path: &str, model: &str| {
        Request::post(
            path,
            json!({ "model": model, "messages": user("Who lives in Karst?"), "stream": false }),
        )
    };
    for name in ["graphloom", "lightrag"] {
        let before = server.get("/v1/models").await.ok();
        server.add(&format!("/w/{name}"), "karst.md", &format!("Zilpha{name} lives in Karst.")).await;
        let person = format!("Zilpha{name}");
        for model in [name.to_owned(), format!("{name}:mix"), format!("{name}:latest")] {
            for path in ["/v1/chat/completions", "/api/chat"] {
                let others = server.send(ask(path, &model)).await.ok().to_string();
                assert!(!others.contains(&person), "{model} is the workspace of the request: {others}");
                let own = server.send(ask(&format!("/w/{name}{path}"), &model)).await.ok().to_string();
                assert!(own.contains(&person), "{own}");
            }
        }
        // A name that stands for another workspace is not in the list.
        assert_eq!(server.get("/v1/models").await.ok(), before);
        let own = server.get(&format!("/w/{name}/v1/models")).await.ok().to_string();
        assert!(own.contains(&format!("\"{name}:mix\"")), "{own}");
    }
    let own = server.send(ask("/w/graphloom/v1/chat/completions", "lightrag:mix")).await.ok().to_string();
    assert!(own.contains("Zilphagraphloom"), "{own}");
    // If path and model name different workspaces, neither takes precedence.
    server.send(ask("/w/graphloom/api/chat", "default")).await.problem(422);
    server
        .send(ask("/v1/chat/completions", "default").header("lightrag-workspace", "graphloom"))
        .await
        .problem(422);

    let model = server.get("/v1/models/graphloom:mix").await.ok();
    assert_eq!((&model["id"], &model["object"]), (&json!("graphloom:mix"), &json!("model")));
    let unknown = server.get("/v1/models/gpt-4o").await;
    unknown.problem(404);
    assert!(unknown.json()["remedy"].as_str().expect("a remedy").contains("default:auto"), "{unknown:?}");
}

#[tokio::test]
async fn token_ids_are_refused_as_input() {
    let server = station().await;
    for input in [json!([1, 2, 3]), json!([[1, 2], [3]])] {
        let asked = server.post("/v1/embeddings", json!({ "model": "default", "input": input })).await;
        assert!(asked.problem(422).contains("token ids"));
    }
}

#[tokio::test]
async fn errors_have_the_format_of_each_protocol() {
    let server = Running::start().await;
    let ask = json!({ "model": "nowhere:auto", "messages": user("Who?") });
    let openai = server.post("/v1/chat/completions", ask.clone()).await;
    openai.problem(404);
    let message = openai.json()["error"]["message"].clone();
    assert!(
        message.as_str().expect("words").starts_with("no model \"nowhere:auto\"; models are named"),
        "{message}"
    );
    assert_eq!(openai.json()["error"]["type"], "invalid_request_error");
    let ollama = server.post("/api/chat", ask).await;
    ollama.problem(404);
    assert_eq!(ollama.json()["error"], message);
    server.key(Right::Read, &[]);
    let stranger = server.send(Request::get("/v1/models")).await;
    stranger.problem(401);
    assert_eq!(stranger.json()["error"]["type"], "authentication_error");
    let ours = server.send(Request::get("/documents/status_counts")).await;
    ours.problem(403);
    assert_eq!(ours.json().get("error"), None);
}
