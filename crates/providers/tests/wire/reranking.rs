//! Reranking over the route that Cohere and Jina share.

use crate::common::{KEY, endpoint, http, quick};
use graphloom_core::{ModelError, Reranker};
use graphloom_providers::rerank::{HttpReranker, RerankDialect, RerankerConfig};
use graphloom_providers::testing::{Reply, ScriptedServer};

fn reranker(server: &ScriptedServer, label: &str, dialect: RerankDialect) -> HttpReranker {
    let config = RerankerConfig { endpoint: endpoint(label, server), model: "r".to_owned(), dialect };
    HttpReranker::new(http(quick()), config).unwrap()
}

fn passages(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("passage {n}")).collect()
}

#[tokio::test]
async fn cohere_has_its_own_request_and_response_format() {
    let body = r#"{"id":"1","results":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}],
        "meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1},"tokens":{"input_tokens":12}}}"#;
    let server = ScriptedServer::replies([Reply::json(200, body)]);
    let reranker = reranker(&server, "cohere", RerankDialect::Cohere);
    let reranking = reranker.rerank("q", &passages(2)).await.unwrap();
    assert_eq!((reranker.name(), reranking.scores), ("cohere:r", vec![0.25, 0.75]));
    assert_eq!((reranking.usage.prompt_tokens, reranking.attempts), (12, 1));
    let asked = &server.recorded()[0];
    assert_eq!(
        (asked.path.as_str(), asked.headers["authorization"].as_str()),
        ("/rerank", &*format!("Bearer {KEY}"))
    );
    assert_eq!(asked.body, r#"{"model":"r","query":"q","documents":["passage 0","passage 1"]}"#);
}

#[tokio::test]
async fn jina_is_told_not_to_repeat_the_passages() {
    let body = r#"{"model":"r","object":"list","usage":{"total_tokens":38},
        "results":[{"index":0,"relevance_score":0.5}]}"#;
    let server = ScriptedServer::replies([Reply::json(200, body)]);
    let reranker = reranker(&server, "jina", RerankDialect::Jina);
    let reranking = reranker.rerank("q", &passages(1)).await.unwrap();
    assert_eq!((reranking.scores, reranking.usage.prompt_tokens), (vec![0.5], 38));
    assert_eq!(
        server.recorded()[0].body,
        r#"{"model":"r","query":"q","documents":["passage 0"],"return_documents":false}"#
    );
}

#[tokio::test]
async fn many_passages_are_sent_in_several_requests_and_keep_their_order() {
    let server = ScriptedServer::start(|_, request| {
        let documents = request.json()["documents"].as_array().unwrap().clone();
        let score = |text: &str| text.trim_start_matches("passage ").parse::<f32>().unwrap();
        let results: Vec<_> = documents
            .iter()
            .enumerate()
            .rev()
            .map(|(index, text)| serde_json::json!({"index": index, "relevance_score": score(text.as_str().unwrap())}))
            .collect();
        Reply::json(200, serde_json::json!({"results": results}).to_string())
    });
    let reranking = reranker(&server, "jina", RerankDialect::Jina).rerank("q", &passages(600)).await.unwrap();
    assert_eq!(reranking.scores, (0..600u16).map(f32::from).collect::<Vec<f32>>());
    assert_eq!((reranking.attempts, server.recorded().len()), (3, 3));
    let none = reranker(&server, "jina", RerankDialect::Jina).rerank("q", &[]).await.unwrap();
    assert!(none.scores.is_empty() && server.recorded().len() == 3);
}

#[tokio::test]
async fn errors_are_mapped_as_for_other_providers() {
    let server = ScriptedServer::replies([Reply::json(401, r#"{"message":"invalid api token"}"#)]);
    let reranker = reranker(&server, "cohere", RerankDialect::Cohere);
    let error = reranker.rerank("q", &passages(1)).await.unwrap_err();
    assert!(matches!(error, ModelError::Unauthorized { .. }), "{error}");
    assert_eq!(error.remedy().as_deref(), Some("set COHERE_API_KEY"));
}
