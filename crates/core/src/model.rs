//! Ports to models: chat, embeddings and reranking.

use core::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::AnswerShape;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// Instructions.
    System,
    /// The caller.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who says it.
    pub role: ChatRole,
    /// The words.
    pub content: String,
}

impl ChatMessage {
    /// A message of `role`.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// One request to a chat model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, ending with the user's turn.
    pub messages: Vec<ChatMessage>,
    /// Output limit in tokens; the provider's own where `None`.
    pub max_output_tokens: Option<u32>,
    /// Texts at which the answer ends, none of them part of it. Not every service knows all of them, so callers cut too.
    pub stop: Vec<String>,
    /// Sampling temperature; the provider's own where `None`.
    pub temperature: Option<f32>,
    /// Whether the answer must be a JSON object.
    pub json_object: bool,
    /// The shape that the answer must have, as JSON; a service that cannot promise it refuses the request.
    pub shape: Option<Arc<AnswerShape>>,
    /// Bytes at the start of the first message that further requests begin with too, so that a provider's cache can keep
    /// them; 0 where none are known.
    pub shared_prefix_bytes: usize,
    /// Whether deltas should arrive as they are made. Without it one delta carries the whole answer.
    pub stream: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// The output limit.
    Length,
    /// Something else, such as a content filter.
    Other,
}

/// Tokens of one call as the provider counted them; 0 where it did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, those read from the provider's prompt cache included.
    pub prompt_tokens: u64,
    /// Of these, tokens read from the provider's prompt cache, which cost less.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Tokens received, those of thoughts included where they are paid for.
    pub completion_tokens: u64,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// HTTP attempts, retries included.
    pub attempts: u32,
}

/// A piece of an answer: any number of deltas, then exactly one `Done`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEvent {
    /// More text.
    Delta(String),
    /// The end.
    Done(Completion),
}

/// An answer as it arrives; dropping it cancels the call.
pub type ChatStream = BoxStream<'static, Result<ChatEvent, ModelError>>;

/// A chat model.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// The model's identity in cache keys, ledger and labels, such as `openai:gpt-4o-mini`.
    fn name(&self) -> &str;

    /// Starts one answer. Retries happen before the first delta, never after.
    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError>;
}

/// Asks and waits for the whole answer.
pub async fn complete(
    model: &dyn LanguageModel,
    request: ChatRequest,
) -> Result<(String, Completion), ModelError> {
    let mut stream = model.chat(request).await?;
    let mut text = String::new();
    while let Some(event) = stream.next().await {
        match event? {
            ChatEvent::Delta(delta) => text.push_str(&delta),
            ChatEvent::Done(completion) => return Ok((text, completion)),
        }
    }
    Err(ModelError::Malformed { model: model.name().to_owned(), what: "the answer has no end".to_owned() })
}

/// What a text is embedded for; asymmetric models prefix the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To be found.
    Document,
    /// To find.
    Query,
}

/// Vectors of a list of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// One unit-length vector per text, in order, all of the embedder's dimension.
    pub vectors: Vec<Vec<f32>>,
    /// What it cost.
    pub usage: Usage,
    /// HTTP attempts, retries included; 0 for models in process.
    pub attempts: u32,
}

/// An embedding model.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model's identity, prefixes included: vectors of different names never meet.
    fn name(&self) -> &str;

    /// Length of the vectors; learned by a probe where the model does not declare it.
    async fn dimensions(&self) -> Result<u32, ModelError>;

    /// Vectors of `texts`, any number of them; the embedder batches as it likes best.
    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError>;
}

/// How well each of a list of passages answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranking {
    /// One finite score per passage, in order; higher is better. Scores of different models do not compare.
    pub scores: Vec<f32>,
    /// What it cost.
    pub usage: Usage,
    /// HTTP attempts, retries included; 0 for models in process.
    pub attempts: u32,
}

/// A model that reads query and passage together and says how well they fit.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// The model's identity in ledger and labels, such as `cohere:rerank-v3.5`.
    fn name(&self) -> &str;

    /// Scores of `passages`, any number of them; the reranker batches as it likes best. What is longer than the model
    /// reads is cut by the service, so callers split it before.
    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError>;
}

/// Why a model did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelError {
    /// Nothing listens, or the connection broke.
    #[error("reaching model {model} at {url}: {what}")]
    Unreachable {
        /// The model.
        model: String,
        /// Where it was looked for.
        url: String,
        /// What the network said.
        what: String,
    },
    /// Nothing came for too long.
    #[error("model {model} was silent for {idle_ms} ms")]
    Timeout {
        /// The model.
        model: String,
        /// The idle limit.
        idle_ms: u64,
    },
    /// Asked too often; tries are used up.
    #[error("model {model} refused for its rate limit: {what}")]
    RateLimited {
        /// The model.
        model: String,
        /// What the provider said.
        what: String,
        /// When to come back, if it said so.
        retry_after_ms: Option<u64>,
    },
    /// The key is missing or wrong.
    #[error("model {model} refused the key: {what}")]
    Unauthorized {
        /// The model.
        model: String,
        /// What the provider said.
        what: String,
    },
    /// The request itself was refused.
    #[error("model {model} refused the request (status {status}): {what}")]
    Refused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// What the provider said.
        what: String,
    },
    /// The service or the model cannot promise answers of a given shape.
    #[error("model {model} takes no JSON schema (status {status}): {what}")]
    ShapeRefused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// What the provider said.
        what: String,
    },
    /// The provider failed; tries are used up.
    #[error("model {model} failed (status {status}): {what}")]
    Server {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// What the provider said.
        what: String,
    },
    /// The answer was not what the protocol promises.
    #[error("model {model} answered nonsense: {what}")]
    Malformed {
        /// The model.
        model: String,
        /// What was wrong.
        what: String,
    },
    /// The call was not sent, for it might have passed the budget.
    #[error("asking model {model} might pass the budget: {what}")]
    OverBudget {
        /// The model.
        model: String,
        /// What is spent, and what the call may cost.
        what: String,
    },
    /// The model in process failed.
    #[error("running model {model}: {what}")]
    Local {
        /// The model.
        model: String,
        /// What went wrong.
        what: String,
    },
}

impl ModelError {
    /// Whether the same call can succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Malformed { .. } => true,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::ShapeRefused { .. }
            | Self::OverBudget { .. }
            | Self::Local { .. } => false,
        }
    }

    /// What the user can do about it, where something can be said.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Unreachable { model, url, .. } => {
                let address = variables_of(model).address;
                Some(match is_on_this_network(url) {
                    true => format!("start the model server at {url}, or name another with {address}"),
                    false => format!(
                        "check the network and the proxy between this machine and {url}, or name another address with \
                         {address}"
                    ),
                })
            }
            Self::Unauthorized { model, .. } => Some(format!("set {}", variables_of(model).key)),
            Self::RateLimited { .. } => {
                Some("wait and run `graphloom retry`, or set a lower rate limit".to_owned())
            }
            Self::OverBudget { .. } => {
                Some("run it again with a larger budget, or with none, to go on".to_owned())
            }
            Self::ShapeRefused { .. } => Some(
                "set structured_output = \"off\", or choose a model that offers structured output".to_owned(),
            ),
            Self::Timeout { .. } | Self::Refused { .. } | Self::Server { .. } => None,
            Self::Malformed { .. } | Self::Local { .. } => None,
        }
    }
}

/// Whether the host of an address is this machine, or one that people start a model server on: a private address, or a name
/// without a domain.
fn is_on_this_network(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified()
        }
        Err(_) => {
            let of_this_network = [".local", ".lan", ".internal", ".localhost", ".home.arpa"];
            !host.contains('.') || of_this_network.iter().any(|end| host.ends_with(end))
        }
    }
}

/// The environment variables that set a provider up.
struct Variables {
    address: &'static str,
    key: &'static str,
}

/// The variables of the provider that a model's name begins with.
fn variables_of(model: &str) -> Variables {
    let (address, key) = match model.split(':').next() {
        Some("anthropic") => ("GRAPHLOOM_ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        Some("gemini") => ("GRAPHLOOM_GEMINI_BASE_URL", "GEMINI_API_KEY"),
        Some("cohere") => ("GRAPHLOOM_COHERE_BASE_URL", "COHERE_API_KEY"),
        Some("jina") => ("GRAPHLOOM_JINA_BASE_URL", "JINA_API_KEY"),
        Some("ollama") => ("OLLAMA_HOST", "the key that the server before Ollama wants"),
        _ => ("GRAPHLOOM_BASE_URL", "OPENAI_API_KEY, or the key of the provider you chose"),
    };
    Variables { address, key }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(model: &str, url: &str) -> String {
        let (model, url, what) = (model.to_owned(), url.to_owned(), "no route".to_owned());
        ModelError::Unreachable { model, url, what }.remedy().expect("a remedy")
    }

    #[test]
    fn only_servers_that_people_start_themselves_are_to_be_started() {
        for url in [
            "http://127.0.0.1:11434",
            "http://localhost:8000/v1",
            "http://[::1]:8000",
            "http://192.168.1.7/v1",
            "http://gpu-box:8000/v1",
            "http://box.local/v1",
        ] {
            assert!(remedy("ollama:m", url).starts_with("start the model server"), "{url}");
        }
        for url in ["https://api.openai.com/v1", "https://me:pw@models.example:8443/v1", "https://8.8.8.8/v1"]
        {
            let remedy = remedy("openai:m", url);
            assert!(
                remedy.starts_with("check the network") && remedy.contains("GRAPHLOOM_BASE_URL"),
                "{url}"
            );
        }
    }
}
