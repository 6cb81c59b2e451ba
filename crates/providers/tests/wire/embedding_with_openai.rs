//! Embeddings over OpenAI's API: base64 and numbers, batches, order and refusals.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{endpoint, http, quick};
use graphloom_core::{Embedder, ModelError, Purpose};
use graphloom_providers::openai::{OpenAiEmbedder, OpenAiEmbedderConfig};
use graphloom_providers::testing::{
    OpenAiScript, ReceivedRequest, Reply, ScriptedOpenAi, ScriptedServer, base64_of, letter_counts,
};
use graphloom_providers::{EmbedBatching, Endpoint};

fn embedder(endpoint: Endpoint, batching: EmbedBatching) -> OpenAiEmbedder {
    let config = OpenAiEmbedderConfig { endpoint, model: "e".to_owned(), dimensions: None, batching };
    OpenAiEmbedder::new(http(quick()), config).unwrap()
}

fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|n| format!("text {}", "abcdefgh".chars().cycle().skip(n).take(n + 1).collect::<String>()))
        .collect()
}

fn unit(text: &str, dimensions: usize) -> Vec<f32> {
    let vector = letter_counts(text, dimensions);
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

fn assert_close(found: &[Vec<f32>], texts: &[String]) {
    assert_eq!(found.len(), texts.len());
    for (vector, text) in found.iter().zip(texts) {
        assert!(vector.iter().zip(unit(text, vector.len())).all(|(a, b)| (a - b).abs() < 1e-5), "{text}");
    }
}

fn inputs(request: &ReceivedRequest) -> Vec<String> {
    serde_json::from_value(request.json()["input"].clone()).unwrap()
}

#[tokio::test]
async fn batches_run_concurrently_and_keep_the_order() {
    let server = ScriptedOpenAi::start(OpenAiScript::default());
    let batching = EmbedBatching { max_batch_texts: 3, ..EmbedBatching::default() };
    let embedder = embedder(Endpoint::new("vllm", server.base_url()), batching);
    let texts = texts(20);
    let embedded = embedder.embed(Purpose::Document, &texts).await.unwrap();
    assert_close(&embedded.vectors, &texts);
    assert_eq!((embedder.name(), embedded.attempts, server.embeddings().len()), ("vllm:e", 7, 7));
    assert!(server.embeddings().iter().all(|request| request.json()["encoding_format"] == "base64"));
}

#[tokio::test]
async fn the_dimension_is_probed_once() {
    let server = ScriptedOpenAi::start(OpenAiScript { dimensions: 48, ..OpenAiScript::default() });
    let embedder = embedder(Endpoint::new("vllm", server.base_url()), EmbedBatching::default());
    assert_eq!(embedder.dimensions().await.unwrap(), 48);
    assert_eq!(embedder.dimensions().await.unwrap(), 48);
    assert_eq!(server.embeddings().len(), 1);
}

fn floats_only(request: &ReceivedRequest) -> Reply {
    if request.json()["encoding_format"] == "base64" {
        return Reply::json(400, r#"{"error":{"message":"encoding_format must be float"}}"#);
    }
    let rows: Vec<String> = inputs(request)
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| format!(r#"{{"index":{index},"embedding":{:?}}}"#, letter_counts(text, 8)))
        .collect();
    Reply::json(200, format!(r#"{{"data":[{}]}}"#, rows.join(",")))
}

#[tokio::test]
async fn requests_in_flight_refused_for_base64_are_sent_again_with_floats() {
    let both_arrived = Barrier::new(2);
    let server = ScriptedServer::start(move |_, request| {
        if request.json()["encoding_format"] == "base64" {
            both_arrived.wait();
        }
        floats_only(request)
    });
    let batching = EmbedBatching { max_batch_texts: 2, ..EmbedBatching::default() };
    let embedder = embedder(endpoint("x", &server), batching);
    let texts = texts(4);
    assert_close(&embedder.embed(Purpose::Document, &texts).await.unwrap().vectors, &texts);
    assert_eq!(server.recorded().len(), 4);
}

#[tokio::test]
async fn a_server_that_refuses_base64_is_asked_for_floats() {
    let server = ScriptedServer::start(|_, request| floats_only(request));
    let embedder = embedder(endpoint("x", &server), EmbedBatching::default());
    let texts = texts(3);
    assert_close(&embedder.embed(Purpose::Document, &texts).await.unwrap().vectors, &texts);
    assert_close(&embedder.embed(Purpose::Document, &texts).await.unwrap().vectors, &texts);
    assert_eq!(server.recorded().len(), 3);
}

#[tokio::test]
async fn a_batch_too_large_for_the_server_halves_all_later_batches() {
    let server = ScriptedServer::start(|_, request| {
        let texts = inputs(request);
        if texts.len() > 4 {
            return Reply::json(413, r#"{"error":"batch size 10 > maximum allowed batch size 4"}"#);
        }
        let rows: Vec<String> = texts
            .iter()
            .map(|text| format!(r#"{{"embedding":"{}"}}"#, base64_of(&letter_counts(text, 8))))
            .collect();
        Reply::json(200, format!(r#"{{"data":[{}]}}"#, rows.join(",")))
    });
    let embedder = embedder(endpoint("x", &server), EmbedBatching::default());
    let texts = texts(10);
    assert_close(&embedder.embed(Purpose::Document, &texts).await.unwrap().vectors, &texts);
    let asked = server.recorded().len();
    assert_close(&embedder.embed(Purpose::Document, &texts).await.unwrap().vectors, &texts);
    assert_eq!(server.recorded().len() - asked, 5);
}

#[tokio::test]
async fn only_the_failed_batch_is_retried() {
    let failed = AtomicBool::new(false);
    let server = ScriptedServer::start(move |_, request| {
        if inputs(request).len() == 1 && !failed.swap(true, Ordering::SeqCst) {
            return Reply::json(500, "oops");
        }
        let rows: Vec<String> = inputs(request).iter().map(|_| r#"{"embedding":[1,0]}"#.to_owned()).collect();
        Reply::json(200, format!(r#"{{"data":[{}]}}"#, rows.join(",")))
    });
    let batching = EmbedBatching { max_batch_texts: 2, ..EmbedBatching::default() };
    let embedded =
        embedder(endpoint("x", &server), batching).embed(Purpose::Document, &texts(5)).await.unwrap();
    assert_eq!((embedded.vectors.len(), embedded.attempts, server.recorded().len()), (5, 4, 4));
}

async fn check_refused(body: &str) -> String {
    let server = ScriptedServer::replies([Reply::json(200, body)]);
    let embedder = embedder(endpoint("x", &server), EmbedBatching::default());
    match embedder.embed(Purpose::Document, &texts(2)).await.unwrap_err() {
        ModelError::Malformed { what, .. } => what,
        other => other.to_string(),
    }
}

#[tokio::test]
async fn impossible_vectors_are_refused() {
    assert_eq!(check_refused(r#"{"data":[{"embedding":[1]}]}"#).await, "1 vectors for 2 texts");
    let twice = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
    assert_eq!(check_refused(twice).await, "vector 0 of 2 twice or out of range");
    let uneven = r#"{"data":[{"embedding":[1,2]},{"embedding":[1]}]}"#;
    assert_eq!(check_refused(uneven).await, "a vector with 1 dimensions, expected 2");
    let zero = r#"{"data":[{"embedding":[0,0]},{"embedding":[1,0]}]}"#;
    assert_eq!(check_refused(zero).await, "a zero vector");
    assert_eq!(check_refused(r#"{"error":"no"}"#).await, "model x:e failed (status 500): no");
}

#[tokio::test]
async fn no_texts_need_no_request() {
    let server = ScriptedServer::replies([]);
    let embedded =
        embedder(endpoint("x", &server), EmbedBatching::default()).embed(Purpose::Query, &[]).await.unwrap();
    assert!(embedded.vectors.is_empty() && server.recorded().is_empty());
}
