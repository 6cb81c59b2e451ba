//! Which model: `provider:name` as people write it.

use std::fmt;

/// A chat model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// A model of the OpenAI-compatible service.
    OpenAi(String),
    /// A model of Ollama.
    Ollama(String),
}

impl ModelChoice {
    /// Reads `openai:MODEL` or `ollama:MODEL`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match named(text)? {
            ("openai", name) => Some(Self::OpenAi(name.to_owned())),
            ("ollama", name) => Some(Self::Ollama(name.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Ollama(name) => write!(f, "ollama:{name}"),
        }
    }
}

/// What makes vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EmbedderChoice {
    /// The one inside the program.
    Builtin,
    /// A model folder of the model store.
    Local(String),
    /// A model of the OpenAI-compatible service.
    OpenAi(String),
    /// A model of Ollama.
    Ollama(String),
}

impl EmbedderChoice {
    /// Reads `builtin`, `local:NAME`, `openai:MODEL` or `ollama:MODEL`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "builtin" {
            return Some(Self::Builtin);
        }
        match named(text)? {
            ("local", name) => Some(Self::Local(name.to_owned())),
            ("openai", name) => Some(Self::OpenAi(name.to_owned())),
            ("ollama", name) => Some(Self::Ollama(name.to_owned())),
            _ => None,
        }
    }

    /// The choice that makes vectors of the space of this name, as far as the name tells.
    pub(crate) fn of_space(name: &str) -> Option<Self> {
        match Self::parse(name) {
            // The store's name of a local model is followed by marks of its weights and prefixes.
            Some(Self::Local(marked)) => marked.split('@').next().map(|name| Self::Local(name.to_owned())),
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
            Self::OpenAi(name) => write!(f, "openai:{name}"),
            Self::Ollama(name) => write!(f, "ollama:{name}"),
        }
    }
}

fn named(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(_, name)| !name.is_empty())
}
