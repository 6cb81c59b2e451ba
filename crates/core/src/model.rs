//! Model traits: chat, embeddings and reranking.

use core::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::AnswerShape;

/// The author of a message.
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
    /// Its author.
    pub role: ChatRole,
    /// The text.
    pub content: String,
}

impl ChatMessage {
    /// Creates a message with this role.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// One request to a chat model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, ending with the user's turn.
    pub messages: Vec<ChatMessage>,
    /// Output limit in tokens; `None` for the provider's default.
    pub max_output_tokens: Option<u32>,
    /// Texts at which the answer ends; the answer does not include them. Not every service supports them all,
    /// so callers truncate too.
    pub stop: Vec<String>,
    /// Sampling temperature; `None` for the provider's default.
    pub temperature: Option<f32>,
    /// Whether the answer must be a JSON object.
    pub json_object: bool,
    /// The JSON schema of the answer. A service that cannot guarantee it rejects the request.
    pub shape: Option<Arc<AnswerShape>>,
    /// Length in bytes of the part of the first message that it shares with other requests, for the
    /// provider's prompt cache; 0 if unknown.
    pub shared_prefix_bytes: usize,
    /// Whether to stream deltas as they are generated. If false, one delta carries the whole answer.
    pub stream: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The output limit was reached.
    Length,
    /// Another reason, such as a content filter.
    Other,
}

/// Token counts of one call, as reported by the provider; 0 if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, including those read from the provider's prompt cache.
    pub prompt_tokens: u64,
    /// Tokens sent that the provider read from its prompt cache. They cost less.
    #[serde(default)]
    pub cached_prompt_tokens: u64,
    /// Tokens received, including thinking tokens if they are billed.
    pub completion_tokens: u64,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Why it ended.
    pub finish: FinishReason,
    /// Its token usage.
    pub usage: Usage,
    /// HTTP attempts, including retries.
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

/// An answer as it arrives. Dropping the stream cancels the call.
pub type ChatStream = BoxStream<'static, Result<ChatEvent, ModelError>>;

/// A chat model.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Returns the model's identity in cache keys, ledger and labels, such as `openai:gpt-4o-mini`.
    fn name(&self) -> &str;

    /// Starts one answer. The call may be retried before the first delta, but never after it.
    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError>;
}

/// Sends a request and waits for the complete answer.
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

/// What a text is embedded for. Asymmetric models use a different prefix for each purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A text to be found.
    Document,
    /// A search text.
    Query,
}

/// Vectors of a list of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// One unit-length vector per text, in order, with the embedder's dimensions.
    pub vectors: Vec<Vec<f32>>,
    /// Token usage.
    pub usage: Usage,
    /// HTTP attempts, including retries; 0 for a model in this process.
    pub attempts: u32,
}

/// An embedding model.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the model's identity, including prefixes. Vectors of models with different names are never compared.
    fn name(&self) -> &str;

    /// Returns the length of the vectors. If the model does not declare it, a trial call determines it.
    async fn dimensions(&self) -> Result<u32, ModelError>;

    /// True if texts have similar vectors because they share words: the vectors come from hashed or looked-up
    /// words, not from a neural network that read the texts. Such vectors add less to a keyword search.
    fn is_lexical(&self) -> bool {
        false
    }

    /// Embeds any number of texts. The embedder chooses the batch size.
    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError>;
}

/// Scores of passages for a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranking {
    /// One finite score per passage, in order; higher is better. Scores of different models are not comparable.
    pub scores: Vec<f32>,
    /// Token usage.
    pub usage: Usage,
    /// HTTP attempts, including retries; 0 for a model in this process.
    pub attempts: u32,
}

/// A reranker: a model that scores how well a passage answers a query.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Returns the model's identity in ledger and labels, such as `cohere:rerank-v3.5`.
    fn name(&self) -> &str;

    /// Scores any number of passages. The reranker chooses the batch size. The service truncates passages
    /// that are too long for the model, so callers split them.
    async fn rerank(&self, query: &str, passages: &[String]) -> Result<Reranking, ModelError>;
}

/// A model that scores how well sentences answer a question, for answers without an LLM.
#[async_trait]
pub trait SentenceScorer: Send + Sync {
    /// Returns the model's identity in labels, such as `local:all-minilm-l6-v2`.
    fn name(&self) -> &str;

    /// True if it also scores sentences in other languages than English.
    fn is_multilingual(&self) -> bool;

    /// Returns the log odds that each sentence answers the question, in order.
    ///
    /// - `windows`: each contains consecutive sentences of one text.
    async fn score(&self, question: &str, windows: &[Vec<String>]) -> Result<Vec<Vec<f32>>, ModelError>;
}

/// Why a model call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelError {
    /// The connection failed or broke.
    #[error("reaching model {model} at {url}: {what}")]
    Unreachable {
        /// The model.
        model: String,
        /// Its address.
        url: String,
        /// The network error.
        what: String,
    },
    /// The model sent nothing for too long.
    #[error("model {model} sent nothing for {idle_ms} ms")]
    Timeout {
        /// The model.
        model: String,
        /// The idle limit.
        idle_ms: u64,
    },
    /// The service still limited the rate after all retries.
    #[error("model {model} is rate limited: {what}")]
    RateLimited {
        /// The model.
        model: String,
        /// The provider's message.
        what: String,
        /// When to retry, if the provider says so.
        retry_after_ms: Option<u64>,
    },
    /// The API key is missing or wrong.
    #[error("model {model} rejected the API key: {what}")]
    Unauthorized {
        /// The model.
        model: String,
        /// The provider's message.
        what: String,
    },
    /// The service does not allow the account to use the model, for example in its country or plan.
    #[error("the service does not allow the use of model {model} (status 403): {what}")]
    Forbidden {
        /// The model.
        model: String,
        /// The provider's message.
        what: String,
    },
    /// The request was rejected.
    #[error("model {model} rejected the request (status {status}): {what}")]
    Refused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        what: String,
    },
    /// The service or model does not support structured output.
    #[error("model {model} does not support JSON schemas (status {status}): {what}")]
    ShapeRefused {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        what: String,
    },
    /// The provider still failed after all retries.
    #[error("model {model} failed (status {status}): {what}")]
    Server {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        what: String,
    },
    /// The response does not follow the protocol.
    #[error("invalid response from model {model}: {what}")]
    Malformed {
        /// The model.
        model: String,
        /// What is invalid.
        what: String,
    },
    /// The call was not sent because it might exceed the budget.
    #[error("a call to model {model} might exceed the budget: {what}")]
    OverBudget {
        /// The model.
        model: String,
        /// The amount spent, and the possible cost of the call.
        what: String,
    },
    /// The work that made the call was asked to stop.
    #[error("{}", stopped(model, *in_flight))]
    Stopped {
        /// The model.
        model: String,
        /// HTTP attempts so far.
        attempts: u32,
        /// Whether the call was in flight, so that it may be billed. Otherwise it was waiting to be sent.
        in_flight: bool,
    },
    /// The service does not have the model.
    #[error("the service has no model {model} (status {status}): {what}")]
    NoSuchModel {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        what: String,
    },
    /// The quota or the credit of the account is used up.
    #[error("the quota for model {model} is used up (status {status}): {what}")]
    QuotaUsedUp {
        /// The model.
        model: String,
        /// HTTP status.
        status: u16,
        /// The provider's message.
        what: String,
    },
    /// What answers at the address is not the service.
    #[error("no service for model {model} at {url} (status {status}): {what}")]
    WrongAddress {
        /// The model.
        model: String,
        /// The address of the request.
        url: String,
        /// HTTP status.
        status: u16,
        /// What came instead of an answer.
        what: String,
    },
    /// The model in this process failed.
    #[error("running model {model}: {what}")]
    Local {
        /// The model.
        model: String,
        /// The error.
        what: String,
    },
}

impl ModelError {
    /// True if the same call can succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Malformed { .. } => true,
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::Refused { .. }
            | Self::ShapeRefused { .. }
            | Self::OverBudget { .. }
            | Self::NoSuchModel { .. }
            | Self::QuotaUsedUp { .. }
            | Self::WrongAddress { .. }
            | Self::Stopped { .. }
            | Self::Local { .. } => false,
        }
    }

    /// True if the call was not sent or not waited for, so that its failure says nothing about the model or the text.
    pub fn is_postponed(&self) -> bool {
        matches!(self, Self::OverBudget { .. } | Self::Stopped { .. })
    }

    /// Returns a remedy, if one is known, that does not refer to any user interface.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Unreachable { model, url, .. } => {
                let address = variables_of(model).address;
                Some(match is_on_this_network(url) {
                    true => format!("start the model server at {url}, or set another address with {address}"),
                    false => format!(
                        "check the network and the proxy between this machine and {url}, or set another address with \
                         {address}"
                    ),
                })
            }
            Self::Unauthorized { model, .. } => Some(format!("set {}", variables_of(model).key)),
            Self::Forbidden { .. } => Some(
                "check which models, countries and networks the service allows for the account, or choose another model"
                    .to_owned(),
            ),
            Self::RateLimited { .. } => Some("try again later, or set a lower rate limit".to_owned()),
            Self::OverBudget { .. } => Some("to continue, use a larger budget or none".to_owned()),
            Self::ShapeRefused { .. } => Some(
                "set structured_output = \"off\", or choose a model that supports structured output"
                    .to_owned(),
            ),
            Self::NoSuchModel { model, .. } => Some(match model.strip_prefix("ollama:") {
                Some(name) => format!("download it with `ollama pull {name}`, or choose another model"),
                None => "check the name of the model, and that the API key may use it".to_owned(),
            }),
            Self::QuotaUsedUp { model, .. } => {
                let key = variables_of(model).key;
                Some(format!("check the plan and the billing of the account, or set another key with {key}"))
            }
            Self::WrongAddress { model, .. } => {
                let address = variables_of(model).address;
                Some(format!(
                    "check the base URL in {address}, which ends in /v1 for most services, and any proxy or firewall before it"
                ))
            }
            Self::Timeout { .. } | Self::Refused { .. } | Self::Server { .. } => None,
            Self::Malformed { .. } | Self::Stopped { .. } | Self::Local { .. } => None,
        }
    }
}

fn stopped(model: &str, in_flight: bool) -> String {
    match in_flight {
        true => format!("gave up waiting for model {model}; the call may be billed"),
        false => format!("a call to model {model} was not sent, because the work was asked to stop"),
    }
}

/// True if an address probably belongs to a local model server: on this machine, in a private address range,
/// or a host name without a domain.
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

/// The environment variables of a provider.
struct Variables {
    address: &'static str,
    key: &'static str,
}

/// Returns the variables of the provider in a model's name.
fn variables_of(model: &str) -> Variables {
    let (address, key) = match model.split(':').next() {
        Some("anthropic") => ("GRAPHLOOM_ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        Some("gemini") => ("GRAPHLOOM_GEMINI_BASE_URL", "GEMINI_API_KEY"),
        Some("cohere") => ("GRAPHLOOM_COHERE_BASE_URL", "COHERE_API_KEY"),
        Some("jina") => ("GRAPHLOOM_JINA_BASE_URL", "JINA_API_KEY"),
        Some("ollama") => ("OLLAMA_HOST", "the key that the proxy in front of Ollama requires"),
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
    fn only_local_and_private_servers_get_the_advice_to_start_them() {
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
