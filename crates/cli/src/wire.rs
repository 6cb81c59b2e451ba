//! Puts the parts together: the only place that names concrete stores and providers. Each command gets what it needs
//! and no more, so that `status` loads no model.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use graphloom_core::{Batch, Call, Clock, Embedder, EmbeddingSpec, LanguageModel, Store, Timestamp};
use graphloom_engine::index::IndexConfig;
use graphloom_engine::parse::format_by_name;
use graphloom_engine::query::QueryCaches;
use graphloom_engine::text::Tokenizer;
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_providers::http::{HttpClient, HttpConfig};
use graphloom_providers::local::LocalEmbedder;
use graphloom_providers::models::ModelStore;
use graphloom_providers::ollama::{
    DEFAULT_CONTEXT_TOKENS, OllamaChat, OllamaChatConfig, OllamaEmbedder, OllamaEmbedderConfig,
    base_url_from_host,
};
use graphloom_providers::openai::{OpenAiChat, OpenAiChatConfig, OpenAiEmbedder, OpenAiEmbedderConfig};
use graphloom_providers::{Endpoint, Secret};
use graphloom_storage::sqlite::SqliteStore;
use graphloom_storage::workers::{self, Worker};

use crate::commands::App;
use crate::config::{Config, EmbedderChoice, ModelChoice, RoleModels};
use crate::fault::Fault;

/// Which models a query may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// The embedder alone.
    Embedder,
    /// Also the model that finds keywords.
    Keywords,
    /// Also the model that answers.
    Answer,
}

/// The file of the configured workspace.
pub(crate) fn workspace_file(config: &Config) -> PathBuf {
    config.data_dir.join(format!("{}.graphloom", config.workspace))
}

/// An error where the workspace does not exist yet: only `add` makes one.
pub(crate) fn require_workspace(config: &Config) -> anyhow::Result<()> {
    if workspace_file(config).is_file() {
        return Ok(());
    }
    let message = format!("no workspace {} in {}", config.workspace, config.data_dir.display());
    Err(Fault::failed(message).help("`graphloom add PATH` makes one; --data-dir names another folder").into())
}

/// The workspace's store; an error where it does not exist.
pub(crate) fn open_store(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    require_workspace(config)?;
    Ok(open_or_create(config)?)
}

fn open_or_create(config: &Config) -> anyhow::Result<Arc<SqliteStore>> {
    let store = SqliteStore::open(&config.data_dir, config.workspace.clone())
        .with_context(|| format!("opening workspace {}", config.workspace))?;
    Ok(Arc::new(store))
}

/// This process as a worker; makes the data folder where it is missing.
pub(crate) fn register_worker(config: &Config) -> anyhow::Result<Worker> {
    let folder = &config.data_dir;
    std::fs::create_dir_all(folder).with_context(|| format!("creating data folder {}", folder.display()))?;
    Worker::register(folder).with_context(|| format!("registering in data folder {}", folder.display()))
}

/// A test of whether the worker of a name has ended.
pub(crate) fn gone(config: &Config) -> impl Fn(&str) -> bool + Send + Sync + use<> {
    let folder = config.data_dir.clone();
    move |name| workers::is_gone(&folder, name)
}

/// What `add` and `retry` work with; makes the workspace where it is missing.
pub(crate) async fn indexing(app: &App, worker: &Worker) -> anyhow::Result<Indexing> {
    let roles = RoleModels { keywords: None, answer: None, ..app.config.models.clone() };
    // Before the workspace is made: a wrong model must not leave an empty one behind.
    let providers = Providers::new(&app.config);
    let chat = providers.chat_models(&roles)?;
    if let Some(choice) = &app.config.embedder {
        providers.embedder(choice)?;
    }
    let store = open_or_create(&app.config)?;
    let mut engine = engine(app, store.clone(), chat, &providers).await?;
    engine.index.worker = worker.name().to_owned();
    Ok(Indexing { engine, store })
}

/// An engine that indexes, and the store behind it.
pub(crate) struct Indexing {
    /// The engine.
    pub(crate) engine: Engine,
    store: Arc<SqliteStore>,
}

impl Indexing {
    /// Brings the indexes beside the store up to date, so that the next search need not wait for it. They are caches:
    /// where it fails, the search does it, and says why it cannot.
    pub(crate) async fn catch_up(&self) {
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || store.catch_up()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the full-text index could not be brought up to date"),
            Err(error) => tracing::warn!(%error, "the full-text index could not be brought up to date"),
        }
    }
}

/// What `rm` works with: summaries that change are made again.
pub(crate) async fn deleting_engine(app: &App) -> anyhow::Result<Engine> {
    let roles = RoleModels { extract: None, keywords: None, answer: None, ..app.config.models.clone() };
    existing(app, &roles).await
}

/// What `ask` and `search` work with.
pub(crate) async fn query_engine(app: &App, asks: Asks) -> anyhow::Result<Engine> {
    let models = app.config.models.clone();
    let none = RoleModels { extract: None, keywords: None, summarize: None, answer: None };
    let roles = match asks {
        Asks::Embedder => none,
        Asks::Keywords => RoleModels { keywords: models.keywords, ..none },
        Asks::Answer => RoleModels { keywords: models.keywords, answer: models.answer, ..none },
    };
    existing(app, &roles).await
}

async fn existing(app: &App, roles: &RoleModels) -> anyhow::Result<Engine> {
    require_workspace(&app.config)?;
    let providers = Providers::new(&app.config);
    let chat = providers.chat_models(roles)?;
    let store = open_store(&app.config)?;
    engine(app, store, chat, &providers).await
}

async fn engine(
    app: &App,
    store: Arc<dyn Store>,
    chat: ChatModels,
    providers: &Providers<'_>,
) -> anyhow::Result<Engine> {
    let config = &app.config;
    let space = store.snapshot().await?.embedding().await?;
    let embedder = providers.embedder_of(space.as_ref())?;
    let mut index = IndexConfig {
        chunk: config.chunk.clone(),
        max_concurrent_calls: config.max_concurrent_calls,
        max_concurrent_documents: config.max_concurrent_documents,
        ..IndexConfig::default()
    };
    index.extract.gleaning = config.gleaning;
    if let Some(types) = &config.entity_types {
        index.extract.entity_types.clone_from(types);
    }
    let ChatModels { extract, keywords, summarize, answer } = chat;
    Ok(Engine {
        store,
        models: Models { extract, keywords, summarize, answer, embedder, reranker: None },
        clock: Arc::new(SystemClock),
        tokenizer: Tokenizer,
        index,
        caches: QueryCaches::default(),
    })
}

/// Appends ledger rows of calls that changed nothing else.
pub(crate) async fn record_calls(
    engine: &Engine,
    calls: impl IntoIterator<Item = &Call>,
) -> anyhow::Result<()> {
    let append_calls: Vec<Call> = calls.into_iter().cloned().collect();
    if !append_calls.is_empty() {
        let batch = Batch { append_calls, ..Batch::default() };
        engine.store.commit(batch).await.context("recording model calls")?;
    }
    Ok(())
}

/// The store of local models.
pub(crate) fn model_store(config: &Config) -> ModelStore {
    ModelStore::new(&config.models_dir)
}

/// Whether a file is a document by its name.
pub(crate) fn is_supported(path: &Path) -> bool {
    path.to_str().is_some_and(|name| format_by_name(name).is_some())
}

/// The chat model of each role.
pub(crate) struct ChatModels {
    extract: Option<Arc<dyn LanguageModel>>,
    keywords: Option<Arc<dyn LanguageModel>>,
    summarize: Option<Arc<dyn LanguageModel>>,
    answer: Option<Arc<dyn LanguageModel>>,
}

/// Makes models; those of one service share its client and so its limits.
pub(crate) struct Providers<'a> {
    config: &'a Config,
    openai: Arc<HttpClient>,
    ollama: Arc<HttpClient>,
}

impl<'a> Providers<'a> {
    /// Nothing is connected yet.
    pub(crate) fn new(config: &'a Config) -> Self {
        let http = HttpConfig {
            first_byte_timeout: config.first_byte_timeout,
            idle_timeout: config.idle_timeout,
            max_concurrent: config.max_concurrent_calls,
            requests_per_minute: config.requests_per_minute,
            tokens_per_minute: config.tokens_per_minute,
            ..HttpConfig::default()
        };
        let client = || Arc::new(HttpClient::new(http.clone()));
        Self { config, openai: client(), ollama: client() }
    }

    fn chat_models(&self, roles: &RoleModels) -> anyhow::Result<ChatModels> {
        let model =
            |choice: &Option<ModelChoice>| choice.as_ref().map(|choice| self.chat(choice)).transpose();
        Ok(ChatModels {
            extract: model(&roles.extract)?,
            keywords: model(&roles.keywords)?,
            summarize: model(&roles.summarize)?,
            answer: model(&roles.answer)?,
        })
    }

    /// A chat model; an error where it cannot work as configured.
    pub(crate) fn chat(&self, choice: &ModelChoice) -> anyhow::Result<Arc<dyn LanguageModel>> {
        let setting_up = || format!("setting up model {choice}");
        Ok(match choice {
            ModelChoice::OpenAi(model) => {
                let config = OpenAiChatConfig {
                    endpoint: self.openai_endpoint(choice)?,
                    model: model.clone(),
                    temperature: None,
                    output_limit_field: Default::default(),
                };
                Arc::new(OpenAiChat::new(self.openai.clone(), config).with_context(setting_up)?)
            }
            ModelChoice::Ollama(model) => {
                let config = OllamaChatConfig {
                    endpoint: self.ollama_endpoint(),
                    model: model.clone(),
                    temperature: None,
                    context_tokens: DEFAULT_CONTEXT_TOKENS,
                    think: None,
                };
                Arc::new(OllamaChat::new(self.ollama.clone(), config).with_context(setting_up)?)
            }
        })
    }

    /// The workspace's embedder: the configured one if it is the workspace's, else an error; the workspace's own
    /// where none is configured; the built-in one for a new workspace.
    pub(crate) fn embedder_of(&self, space: Option<&EmbeddingSpec>) -> anyhow::Result<Arc<dyn Embedder>> {
        let choice = match (&self.config.embedder, space) {
            (Some(choice), _) => choice.clone(),
            (None, None) => EmbedderChoice::Builtin,
            (None, Some(space)) => EmbedderChoice::of_space(&space.model).ok_or_else(|| {
                Fault::failed(format!("the workspace was embedded with {}, which is not known", space.model))
                    .help("use the release that it was made with, or a new --workspace")
            })?,
        };
        let embedder = self.embedder(&choice)?;
        match space {
            Some(space) if space.model != embedder.name() => {
                let (theirs, ours) = (&space.model, embedder.name());
                Err(Fault::failed(format!("the workspace was embedded with {theirs}, not with {ours}"))
                    .help("leave --embedder out to use the workspace's own, or choose a new --workspace")
                    .into())
            }
            _ => Ok(embedder),
        }
    }

    /// An embedder; an error where it cannot work as configured.
    pub(crate) fn embedder(&self, choice: &EmbedderChoice) -> anyhow::Result<Arc<dyn Embedder>> {
        let setting_up = || format!("setting up embedder {choice}");
        Ok(match choice {
            EmbedderChoice::Builtin => Arc::new(BuiltinEmbedder),
            EmbedderChoice::Local(name) => {
                let model = model_store(self.config).open(name).with_context(setting_up)?;
                Arc::new(LocalEmbedder::open(model.config()).with_context(setting_up)?)
            }
            EmbedderChoice::OpenAi(model) => {
                let config = OpenAiEmbedderConfig {
                    endpoint: self.openai_endpoint(choice)?,
                    model: model.clone(),
                    dimensions: None,
                    batching: Default::default(),
                };
                Arc::new(OpenAiEmbedder::new(self.openai.clone(), config).with_context(setting_up)?)
            }
            EmbedderChoice::Ollama(model) => {
                let endpoint = self.ollama_endpoint();
                let config =
                    OllamaEmbedderConfig { endpoint, model: model.clone(), batching: Default::default() };
                Arc::new(OllamaEmbedder::new(self.ollama.clone(), config).with_context(setting_up)?)
            }
        })
    }

    fn openai_endpoint(&self, model: &dyn std::fmt::Display) -> anyhow::Result<Endpoint> {
        let Config { base_url, api_key, .. } = self.config;
        // Servers of one's own mostly need no key, OpenAI always does.
        if api_key.is_none() && base_url.contains("://api.openai.com") {
            return Err(Fault::usage(format!("{model} needs a key and none is set"))
                .help("set OPENAI_API_KEY, or GRAPHLOOM_BASE_URL for another service")
                .into());
        }
        let key = api_key.as_ref().map(|key| Secret::new(key.reveal()));
        Ok(Endpoint::new("openai", base_url).with_key(key))
    }

    fn ollama_endpoint(&self) -> Endpoint {
        Endpoint::new("ollama", base_url_from_host(&self.config.ollama_host))
    }
}

/// The wall clock.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }
}
