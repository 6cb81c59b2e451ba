//! Model names in the form `provider:name`, and the services behind them.

use std::fmt;

/// A service reached over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// OpenAI, or a service with the same API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// The Gemini API.
    Gemini,
    /// Ollama.
    Ollama,
    /// Cohere, or a service with the same rerank API.
    Cohere,
    /// Jina, or a service with the same rerank API.
    Jina,
}

impl Service {
    /// All services, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama, Self::Cohere, Self::Jina];

    /// Returns the prefix before the colon in a model's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Cohere => "cohere",
            Self::Jina => "jina",
        }
    }

    /// Returns the configuration key for the service's address.
    pub fn address_key(self) -> &'static str {
        match self {
            Self::OpenAi => "base_url",
            Self::Anthropic => "anthropic_base_url",
            Self::Gemini => "gemini_base_url",
            Self::Ollama => "ollama_host",
            Self::Cohere => "cohere_base_url",
            Self::Jina => "jina_base_url",
        }
    }

    /// Returns the configuration key for the service's API key, if it uses one.
    pub fn secret_key(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("api_key"),
            Self::Anthropic => Some("anthropic_api_key"),
            Self::Gemini => Some("gemini_api_key"),
            Self::Ollama => None,
            Self::Cohere => Some("cohere_api_key"),
            Self::Jina => Some("jina_api_key"),
        }
    }

    /// True if it offers chat models.
    pub fn chats(self) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini | Self::Ollama => true,
            Self::Cohere | Self::Jina => false,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }
}

/// A chat model and its service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model of OpenAI or a compatible service.
    OpenAi(String),
    /// A model of Anthropic.
    Anthropic(String),
    /// A model of the Gemini API.
    Gemini(String),
    /// A model of Ollama.
    Ollama(String),
}

impl ModelChoice {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &str = "none, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL";

    /// Parses names such as `openai:MODEL`.
    pub fn parse(text: &str) -> Option<Self> {
        match named(text)? {
            (Service::OpenAi, name) => Some(Self::OpenAi(name)),
            (Service::Anthropic, name) => Some(Self::Anthropic(name)),
            (Service::Gemini, name) => Some(Self::Gemini(name)),
            (Service::Ollama, name) => Some(Self::Ollama(name)),
            (Service::Cohere | Service::Jina, _) => None,
        }
    }
}

impl ModelChoice {
    /// Returns the model's service.
    pub fn service(&self) -> Service {
        match self {
            Self::OpenAi(_) => Service::OpenAi,
            Self::Anthropic(_) => Service::Anthropic,
            Self::Gemini(_) => Service::Gemini,
            Self::Ollama(_) => Service::Ollama,
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Anthropic(name) => write!(f, "anthropic:{name}"),
            Self::Gemini(name) => write!(f, "gemini:{name}"),
            Self::Ollama(name) => write!(f, "ollama:{name}"),
        }
    }
}

/// An embedder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbedderChoice {
    /// The built-in embedder.
    Builtin,
    /// A model in the model store.
    Local(String),
    /// The token table of a model in the model store.
    Static(String),
    /// A model of OpenAI or a compatible service.
    OpenAi(String),
    /// A model of the Gemini API.
    Gemini(String),
    /// A model of Ollama.
    Ollama(String),
}

impl EmbedderChoice {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &str = "builtin, static:NAME, local:NAME, openai:MODEL, gemini:MODEL or ollama:MODEL";

    /// Parses `builtin` and names such as `local:NAME` or `openai:MODEL`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "builtin" {
            return Some(Self::Builtin);
        }
        if let Some(name) = text.strip_prefix("local:").filter(|name| !name.is_empty()) {
            return Some(Self::Local(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix("static:").filter(|name| !name.is_empty()) {
            return Some(Self::Static(name.to_owned()));
        }
        match named(text)? {
            (Service::OpenAi, name) => Some(Self::OpenAi(name)),
            (Service::Gemini, name) => Some(Self::Gemini(name)),
            (Service::Ollama, name) => Some(Self::Ollama(name)),
            (Service::Anthropic | Service::Cohere | Service::Jina, _) => None,
        }
    }

    /// True if the embedder runs in this process, free of charge.
    pub fn is_in_process(&self) -> bool {
        match self {
            Self::Builtin | Self::Local(_) | Self::Static(_) => true,
            Self::OpenAi(_) | Self::Gemini(_) | Self::Ollama(_) => false,
        }
    }

    /// Returns the embedder's service; `None` if it runs in this process.
    pub fn service(&self) -> Option<Service> {
        match self {
            Self::Builtin | Self::Local(_) | Self::Static(_) => None,
            Self::OpenAi(_) => Some(Service::OpenAi),
            Self::Gemini(_) => Some(Service::Gemini),
            Self::Ollama(_) => Some(Service::Ollama),
        }
    }

    /// Returns the embedder of an embedding space, as far as the space's name identifies it.
    pub fn of_space(name: &str) -> Option<Self> {
        match Self::parse(name) {
            // The stored name of a local model continues with hashes of its weights and prefixes.
            Some(Self::Local(marked)) => marked.split('@').next().map(|name| Self::Local(name.to_owned())),
            Some(Self::Static(marked)) => marked.split('@').next().map(|name| Self::Static(name.to_owned())),
            Some(choice) => Some(choice),
            None => name.starts_with("builtin").then_some(Self::Builtin),
        }
    }
}

impl fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("builtin"),
            Self::Local(name) => write!(f, "local:{name}"),
            Self::Static(name) => write!(f, "static:{name}"),
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Gemini(name) => write!(f, "gemini:{name}"),
            Self::Ollama(name) => write!(f, "ollama:{name}"),
        }
    }
}

/// A reranker and its service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerankerChoice {
    /// A model of Cohere or a compatible service.
    Cohere(String),
    /// A model of Jina or a compatible service.
    Jina(String),
}

impl RerankerChoice {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &str = "none, cohere:MODEL or jina:MODEL";

    /// Parses `cohere:MODEL` or `jina:MODEL`.
    pub fn parse(text: &str) -> Option<Self> {
        match named(text)? {
            (Service::Cohere, name) => Some(Self::Cohere(name)),
            (Service::Jina, name) => Some(Self::Jina(name)),
            (Service::OpenAi | Service::Anthropic | Service::Gemini | Service::Ollama, _) => None,
        }
    }
}

impl fmt::Display for RerankerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cohere(name) => write!(f, "cohere:{name}"),
            Self::Jina(name) => write!(f, "jina:{name}"),
        }
    }
}

/// The model that scores sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScorerChoice {
    /// The embedder's model, if it is a local one that can score sentences; otherwise the default scorer, if it is downloaded.
    Auto,
    /// The local model with this name.
    Local(String),
}

impl ScorerChoice {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &str = "auto, none, local:all-minilm-l6-v2 or local:multilingual-e5-small";

    /// Parses `auto` or `local:NAME`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "auto" {
            return Some(Self::Auto);
        }
        let name = text.strip_prefix("local:").filter(|name| !name.is_empty())?;
        Some(Self::Local(name.to_owned()))
    }
}

impl fmt::Display for ScorerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Local(name) => write!(f, "local:{name}"),
        }
    }
}

fn named(text: &str) -> Option<(Service, String)> {
    let (service, name) = text.split_once(':').filter(|(_, name)| !name.is_empty())?;
    Some((Service::of_name(service)?, name.to_owned()))
}
