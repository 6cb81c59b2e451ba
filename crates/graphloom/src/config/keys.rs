//! Every configuration key: its name, default, and what it is for.

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name in files and with `--set`; `GRAPHLOOM_` and the upper-case name in the environment.
    pub name: &'static str,
    /// Its value where nobody says otherwise; `None` means unset.
    pub default: Option<&'static str>,
    /// Variables of other products that are respected too, after our own, in this order.
    pub foreign: &'static [&'static str],
    /// Never printed.
    pub secret: bool,
    /// What it is for.
    pub about: &'static str,
}

impl Key {
    /// The key's environment variable.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_uppercase())
    }
}

/// What the environment variables of all keys start with.
pub const PREFIX: &str = "GRAPHLOOM_";

/// Variables of ours that are not keys: which configuration file to read, and what to log.
pub const OTHER_VARIABLES: [&str; 2] = ["GRAPHLOOM_CONFIG", "GRAPHLOOM_LOG"];

/// All keys, in the order in which `config show` prints them.
pub const KEYS: &[Key] = &[
    key(
        "data_dir",
        Some(".graphloom"),
        "folder that holds the workspaces; where unset, that of the project around the current folder",
    ),
    key("workspace", Some("default"), "workspace inside the data folder"),
    key(
        "llm",
        Some("none"),
        "language model of every role: none, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL",
    ),
    key(
        "context_llm",
        None,
        "model that situates chunks where contextual is model; like extract_llm where unset",
    ),
    key("extract_llm", None, "model that reads entities and relations from chunks; like llm where unset"),
    key("keywords_llm", None, "model that finds search keywords in questions; like llm where unset"),
    key("summarize_llm", None, "model that joins long descriptions; like llm where unset"),
    key("answer_llm", None, "model that answers; like llm where unset"),
    key("judge_llm", None, "model that judges answers for `eval`; like llm where unset"),
    Key {
        foreign: &["OPENAI_BASE_URL"],
        ..key("base_url", Some("https://api.openai.com/v1"), "address of the OpenAI-compatible service")
    },
    secret("api_key", &["OPENAI_API_KEY"], "key of the OpenAI-compatible service"),
    Key {
        foreign: &["ANTHROPIC_BASE_URL"],
        ..key("anthropic_base_url", Some("https://api.anthropic.com"), "address of Anthropic")
    },
    secret("anthropic_api_key", &["ANTHROPIC_API_KEY"], "key of Anthropic"),
    key(
        "gemini_base_url",
        Some("https://generativelanguage.googleapis.com/v1beta"),
        "address of the Gemini API",
    ),
    secret("gemini_api_key", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], "key of the Gemini API"),
    Key {
        foreign: &["OLLAMA_HOST"],
        ..key("ollama_host", Some("http://127.0.0.1:11434"), "address of Ollama")
    },
    key(
        "embedder",
        Some("builtin"),
        "builtin, local:NAME, openai:MODEL, gemini:MODEL or ollama:MODEL; where unset, a workspace keeps its own",
    ),
    key("reranker", Some("none"), "puts passages in order for an answer: none, cohere:MODEL or jina:MODEL"),
    key(
        "cohere_base_url",
        Some("https://api.cohere.com/v2"),
        "address of Cohere, or of what reranks like it",
    ),
    secret("cohere_api_key", &["COHERE_API_KEY", "CO_API_KEY"], "key of Cohere"),
    key("jina_base_url", Some("https://api.jina.ai/v1"), "address of Jina, or of what reranks like it"),
    secret("jina_api_key", &["JINA_API_KEY"], "key of Jina"),
    key("models_dir", None, "folder of local models; graphloom/models in the user's data folder where unset"),
    key("chunk_strategy", Some("auto"), "auto, headings, recursive or token_window"),
    key("chunk_tokens", None, "most tokens of a chunk; where unset 1200, or 600 for long documents"),
    key("chunk_overlap", Some("100"), "tokens that neighbouring chunks share"),
    key(
        "contextual",
        Some("off"),
        "what situates chunks in their documents for both indexes: off, headings (title and headings) or model",
    ),
    key(
        "gleaning",
        Some("auto"),
        "when chunks are asked about again: auto (where names were missed), or a number of passes",
    ),
    key(
        "structured_output",
        Some("off"),
        "on: extraction models answer in JSON whose shape their service promises; off: in lines",
    ),
    key("entity_types", None, "entity types offered to the extraction model, separated by commas"),
    key(
        "entity_guidance",
        None,
        "what the entity types mean and what to leave out, in words for the extraction model",
    ),
    key("entity_guidance_file", None, "file with those words, in place of entity_guidance"),
    key(
        "language",
        None,
        "language of descriptions, summaries and answers, such as French; where unset, that of the text or question",
    ),
    key(
        "prompts_dir",
        None,
        "folder of prompts of your own, in place of the built-in ones of the same names",
    ),
    key(
        "prices",
        None,
        "prices of a million tokens: MODEL=INPUT/OUTPUT/CACHED, separated by commas, or a table in a file",
    ),
    key("user_prompt_prefix", None, "instructions for the answer model, before those of every question"),
    key("query_cache", Some("true"), "whether what models say to questions is remembered: true or false"),
    key("max_concurrent_calls", Some("4"), "calls in flight to each model service"),
    key("max_concurrent_documents", Some("16"), "documents worked on at once"),
    key(
        "memory_mb",
        Some("2048"),
        "twice the memory, in MiB, that the readers of large and complicated documents may take together",
    ),
    key("max_documents", None, "most documents of a workspace; more are refused"),
    key(
        "max_workspace_mb",
        None,
        "MiB of a workspace's file from which on new documents are refused; those that wait are still indexed",
    ),
    key(
        "requests_per_minute",
        None,
        "most requests a minute to each model service, such as 500,anthropic=50",
    ),
    key("tokens_per_minute", None, "most tokens a minute to each model service, such as 90000,embed=1000000"),
    key("host", Some("127.0.0.1"), "address that the server listens on"),
    key("port", Some("9621"), "port that the server listens on"),
    key("cors_origins", None, "origins of web pages that may ask the server, separated by commas"),
    key(
        "trusted_proxies",
        None,
        "addresses and networks of proxies that are believed about their clients, separated by commas",
    ),
    key("max_concurrent_questions", Some("32"), "questions that the server works on at once"),
    key(
        "rate_limit",
        Some("1200"),
        "requests a minute of one key or user from other machines; 0 is no limit",
    ),
    key("rate_limit_unknown", Some("120"), "the same of one address without a good credential"),
    key("queue_timeout_s", Some("10"), "how long a request waits for its turn before it is refused"),
    key("body_timeout_s", Some("120"), "how long the body of a request may take; a file five times as long"),
    key("drain_s", Some("0"), "how long the server still serves once it is asked to stop"),
    key("stop_timeout_s", Some("10"), "how long requests under way may take after that"),
    key("max_pause_s", Some("900"), "how long indexing waits for a model service that is down"),
    key("first_byte_timeout_s", Some("600"), "how long a model may take to begin its answer"),
    key("idle_timeout_s", Some("60"), "how long a model may be silent inside an answer"),
];

const fn key(name: &'static str, default: Option<&'static str>, about: &'static str) -> Key {
    Key { name, default, foreign: &[], secret: false, about }
}

const fn secret(name: &'static str, foreign: &'static [&'static str], about: &'static str) -> Key {
    Key { name, default: None, foreign, secret: true, about }
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
