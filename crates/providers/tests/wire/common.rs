//! Shared code of these tests.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
pub(crate) use graphloom_core::complete;
use graphloom_core::{ChatEvent, ChatMessage, ChatRequest, ChatRole, Completion, LanguageModel, ModelError};
use graphloom_providers::http::{HttpClient, HttpConfig};
use graphloom_providers::testing::ScriptedServer;
use graphloom_providers::{Endpoint, Secret};

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

/// Waits milliseconds where real clients would wait seconds.
pub(crate) fn quick() -> HttpConfig {
    HttpConfig {
        max_attempts: 3,
        min_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        ..HttpConfig::default()
    }
}

pub(crate) fn http(config: HttpConfig) -> Arc<HttpClient> {
    Arc::new(HttpClient::new(config))
}

pub(crate) fn endpoint(label: &str, server: &ScriptedServer) -> Endpoint {
    Endpoint::new(label, server.url()).with_key(Some(Secret::new(KEY)))
}

pub(crate) fn request(stream: bool) -> ChatRequest {
    ChatRequest { messages: vec![ChatMessage::new(ChatRole::User, "hi")], stream, ..ChatRequest::default() }
}

/// Returns the deltas of an answer, and its end.
pub(crate) async fn deltas(
    model: &dyn LanguageModel,
    stream: bool,
) -> (Vec<String>, Result<Completion, ModelError>) {
    let mut deltas = Vec::new();
    let mut events = match model.chat(request(stream)).await {
        Ok(events) => events,
        Err(error) => return (deltas, Err(error)),
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(ChatEvent::Delta(delta)) => deltas.push(delta),
            Ok(ChatEvent::Done(completion)) => return (deltas, Ok(completion)),
            Err(error) => return (deltas, Err(error)),
        }
    }
    panic!("a stream without an end");
}
