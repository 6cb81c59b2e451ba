//! API keys never reach errors, debug output or traces.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::common::{KEY, deltas, http, quick};
use graphloom_providers::openai::{OpenAiChat, OpenAiChatConfig, OutputLimitField};
use graphloom_providers::testing::{Reply, ScriptedServer};
use graphloom_providers::{Endpoint, Secret};

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_key_repeated_by_the_provider_is_masked_everywhere() {
    let captured = LogBuffer::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let repeated = format!(r#"{{"error":{{"message":"{KEY} failed; header {KEY} and p4ssw0rd seen"}}}}"#);
    let server = ScriptedServer::replies([Reply::json(500, &*repeated), Reply::json(401, repeated)]);
    let base_url = format!("{}?key={KEY}", server.url().replace("http://", "http://me:p4ssw0rd@"));
    let endpoint = Endpoint {
        headers: vec![("api-key".to_owned(), Secret::new(KEY))],
        ..Endpoint::new("x", base_url).with_key(Some(Secret::new(KEY)))
    };
    let config = OpenAiChatConfig {
        endpoint,
        model: "m".to_owned(),
        temperature: None,
        output_limit_field: OutputLimitField::Auto,
    };
    let debugged = format!("{config:?}");
    let model = OpenAiChat::new(http(quick()), config).unwrap();
    let error = deltas(&model, false).await.1.unwrap_err();
    assert_eq!(error.to_string(), "model x:m rejected the API key: *** failed; header *** and *** seen");

    let traced = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
    assert!(traced.contains("retrying"), "the subscriber saw nothing: {traced}");
    assert!(!debugged.contains("sk-very-secret-0123456789\")"), "{debugged}");
    for shown in [format!("{model:?}"), format!("{error:?}"), traced] {
        assert!(!shown.contains(KEY) && !shown.contains("p4ssw0rd"), "{shown}");
    }
}
