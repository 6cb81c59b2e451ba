//! All configuration keys with their defaults and descriptions.

use std::collections::BTreeMap;
use std::path::Path;

use super::Service;

/// A configuration key.
#[derive(Debug)]
pub struct Key {
    /// Name in files and with `--set`. The environment variable is `GRAPHLOOM_` followed by the name in upper case.
    pub name: &'static str,
    /// Default value; `None` means unset.
    pub default: Option<&'static str>,
    /// Environment variables of other products, read in this order if ours is unset.
    pub foreign: &'static [&'static str],
    /// Whether the value must never be printed.
    pub secret: bool,
    /// Description.
    pub about: &'static str,
}

impl Key {
    /// Returns the key's environment variable.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_uppercase())
    }

    /// Makes a value relative to `folder` if the values of this key are paths.
    pub(super) fn read_path_from(&self, folder: &Path, value: &mut String) {
        if PATHS.contains(&self.name) {
            *value = folder.join(&*value).display().to_string();
        }
    }

    /// True for the API key and the address of a model service.
    fn is_of_service(&self) -> bool {
        Service::ALL
            .iter()
            .any(|service| service.address_key() == self.name || service.secret_key() == Some(self.name))
    }
}

/// Keys whose values are paths.
const PATHS: [&str; 4] = ["data_dir", "models_dir", "prompts_dir", "entity_guidance_file"];

/// Prefix of the environment variables of all keys.
pub const PREFIX: &str = "GRAPHLOOM_";

/// Graphloom's variables that are not keys: the configuration file to read, and the log filter.
pub const OTHER_VARIABLES: [&str; 2] = ["GRAPHLOOM_CONFIG", "GRAPHLOOM_LOG"];

/// All keys, in the order of `config show`.
pub const KEYS: &[Key] = &[
    key("data_dir", Some(".graphloom"), "folder of the workspaces; default: the project's .graphloom folder"),
    secret(
        "store",
        &[],
        "postgres://USER:PASSWORD@HOST/DATABASE to keep the workspaces in a PostgreSQL database; default: files in data_dir",
    ),
    key("workspace", Some("default"), "workspace in the data folder or database"),
    key(
        "llm",
        Some("none"),
        "LLM for every role: none, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL",
    ),
    key(
        "context_llm",
        None,
        "LLM that writes the context of chunks if contextual is model; default: extract_llm",
    ),
    key("extract_llm", None, "LLM that extracts entities and relations from chunks; default: llm"),
    key("keywords_llm", None, "LLM that finds search keywords in questions; default: llm"),
    key("summarize_llm", None, "LLM that summarizes long descriptions; default: llm"),
    key("answer_llm", None, "LLM that answers questions; default: llm"),
    key("judge_llm", None, "LLM that judges answers for `eval`; default: llm"),
    Key {
        foreign: &["OPENAI_BASE_URL"],
        ..key("base_url", Some("https://api.openai.com/v1"), "address of the OpenAI-compatible service")
    },
    secret("api_key", &["OPENAI_API_KEY"], "API key of the OpenAI-compatible service"),
    Key {
        foreign: &["ANTHROPIC_BASE_URL"],
        ..key("anthropic_base_url", Some("https://api.anthropic.com"), "address of Anthropic")
    },
    secret("anthropic_api_key", &["ANTHROPIC_API_KEY"], "API key of Anthropic"),
    key(
        "gemini_base_url",
        Some("https://generativelanguage.googleapis.com/v1beta"),
        "address of the Gemini API",
    ),
    secret("gemini_api_key", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], "API key of the Gemini API"),
    Key {
        foreign: &["OLLAMA_HOST"],
        ..key("ollama_host", Some("http://127.0.0.1:11434"), "address of Ollama")
    },
    key(
        "embedder",
        Some("builtin"),
        "builtin, static:NAME, local:NAME, openai:MODEL, gemini:MODEL or ollama:MODEL; default: the one the workspace was built with, or builtin",
    ),
    key(
        "sentence_scorer",
        Some("auto"),
        "model that scores sentences for answers without an LLM: none, local:all-minilm-l6-v2, local:multilingual-e5-small, or auto: the embedder's model if it can, otherwise multilingual-e5-small if it is downloaded",
    ),
    key("reranker", Some("none"), "reranker for the passages of an answer: none, cohere:MODEL or jina:MODEL"),
    key(
        "cohere_base_url",
        Some("https://api.cohere.com/v2"),
        "address of Cohere or a compatible reranking service",
    ),
    secret("cohere_api_key", &["COHERE_API_KEY", "CO_API_KEY"], "API key of Cohere"),
    key("jina_base_url", Some("https://api.jina.ai/v1"), "address of Jina or a compatible reranking service"),
    secret("jina_api_key", &["JINA_API_KEY"], "API key of Jina"),
    key("models_dir", None, "folder of local models; default: graphloom/models in the user's data folder"),
    key("chunk_strategy", Some("auto"), "auto, headings, recursive or token_window"),
    key("chunk_tokens", None, "maximum tokens per chunk; default: 1200, or 600 for long documents"),
    key("chunk_overlap", Some("100"), "tokens that neighbouring chunks share"),
    key(
        "contextual",
        Some("off"),
        "context to index with each chunk: off, headings (title and headings) or model",
    ),
    key(
        "derive",
        Some("none"),
        "layers to derive after indexing, separated by commas: none, communities, tree",
    ),
    key("tree_clustering", Some("agglomerative"), "how the tree groups passages: agglomerative or soft"),
    key(
        "community_weights",
        Some("facts"),
        "edge weights for communities: facts, or pmi (mutual information, weak edges and rare entities pruned)",
    ),
    key(
        "gleaning",
        Some("auto"),
        "when to ask again about a chunk: auto (if names were missed), or a number of passes",
    ),
    key(
        "claims",
        Some("false"),
        "true: ask the extraction model for dated claims too, with one more call per chunk; without a model, rules find them",
    ),
    key(
        "structured_output",
        Some("off"),
        "on: extraction models answer in JSON that follows a schema; off: in plain lines",
    ),
    key("entity_types", None, "entity types for the extraction model, separated by commas"),
    key(
        "entity_guidance",
        None,
        "instructions for the extraction model: what the entity types mean and what to leave out",
    ),
    key("entity_guidance_file", None, "file with these instructions, instead of entity_guidance"),
    key(
        "language",
        None,
        "language of descriptions, summaries and answers, such as French; default: the language of the text or question",
    ),
    key("prompts_dir", None, "folder of custom prompts, which replace the built-in prompts of the same name"),
    key(
        "prices",
        None,
        "prices per million tokens: MODEL=INPUT/OUTPUT/CACHED, separated by commas, or a table in a file",
    ),
    key(
        "user_prompt_prefix",
        None,
        "instructions for the answer model, put before the user prompt of every question",
    ),
    key("query_cache", Some("true"), "cache keywords, answers and vectors of questions: true or false"),
    key("max_concurrent_calls", Some("4"), "maximum concurrent calls per model service"),
    key("max_concurrent_documents", Some("16"), "maximum documents indexed at once"),
    key(
        "memory_mb",
        Some("2048"),
        "memory in MiB; readers of large and complex documents may together use half of it",
    ),
    key("max_documents", None, "maximum documents per workspace; more are rejected"),
    key(
        "max_workspace_mb",
        None,
        "maximum size of a workspace's file in MiB; beyond it new documents are rejected, queued ones still indexed",
    ),
    key(
        "max_original_mb",
        Some("50"),
        "maximum size in MiB of PDF files that are kept to show their pages; 0 keeps none",
    ),
    key(
        "requests_per_minute",
        None,
        "maximum requests per minute to each model service, such as 500,anthropic=50",
    ),
    key(
        "tokens_per_minute",
        None,
        "maximum tokens per minute to each model service, such as 90000,embed=1000000",
    ),
    key("host", Some("127.0.0.1"), "address the server listens on"),
    key("port", Some("9621"), "port the server listens on"),
    key("cors_origins", None, "origins of web pages that may send requests (CORS), separated by commas"),
    key(
        "trusted_proxies",
        None,
        "addresses and networks of proxies whose forwarded client addresses are trusted, separated by commas",
    ),
    key("max_concurrent_questions", Some("32"), "maximum questions the server answers at once"),
    key(
        "rate_limit",
        Some("1200"),
        "maximum requests per minute of one key or user from other machines; 0 means no limit",
    ),
    key(
        "rate_limit_unknown",
        Some("120"),
        "maximum requests per minute of one address without valid credentials; 0 means no limit",
    ),
    key("queue_timeout_s", Some("10"), "seconds a request waits for its turn before it is rejected"),
    key(
        "body_timeout_s",
        Some("120"),
        "seconds to receive a request body; for a file upload five times as many",
    ),
    key(
        "workers",
        None,
        "maximum workspaces that the server or a worker indexes at once; 0 leaves queued documents to workers",
    ),
    key("drain_s", Some("0"), "seconds the server keeps serving after a stop request"),
    key("stop_timeout_s", Some("10"), "seconds that running requests and model calls may then still take"),
    key("max_pause_s", Some("900"), "seconds that indexing waits for a model service that is down"),
    key("first_byte_timeout_s", Some("600"), "seconds until a model must start its answer"),
    key("idle_timeout_s", Some("60"), "seconds a model may pause within an answer"),
];

const fn key(name: &'static str, default: Option<&'static str>, about: &'static str) -> Key {
    Key { name, default, foreign: &[], secret: false, about }
}

const fn secret(name: &'static str, foreign: &'static [&'static str], about: &'static str) -> Key {
    Key { name, default: None, foreign, secret: true, about }
}

/// Removes our variables from an environment, except for API keys and addresses of model services.
pub fn keep_services(environment: &mut BTreeMap<String, String>) {
    let services: Vec<String> = KEYS.iter().filter(|key| key.is_of_service()).map(Key::variable).collect();
    environment.retain(|name, _| !name.starts_with(PREFIX) || services.contains(name));
}

/// Looks up a key by name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_only_keys_and_addresses_of_model_services_from_the_environment() {
        let variables = [
            ("GRAPHLOOM_API_KEY", true),
            ("GRAPHLOOM_OLLAMA_HOST", true),
            ("GRAPHLOOM_BASE_URL", true),
            ("OPENAI_API_KEY", true),
            ("OLLAMA_HOST", true),
            ("HOME", true),
            ("GRAPHLOOM_LLM", false),
            ("GRAPHLOOM_STORE", false),
            ("GRAPHLOOM_CONFIG", false),
            ("GRAPHLOOM_NO_SUCH_KEY", false),
        ];
        let mut environment = variables.map(|(name, _)| (name.to_owned(), String::new())).into();
        keep_services(&mut environment);
        for (name, is_kept) in variables {
            assert_eq!(environment.contains_key(name), is_kept, "{name}");
        }
    }
}
