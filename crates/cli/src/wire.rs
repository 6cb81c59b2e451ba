//! Puts the parts together: the only place that names concrete stores and providers. Each command gets what it needs
//! and no more, so that `status` loads no model.

mod providers;
pub(crate) mod serving;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use graphloom_core::{Clock, Embedder, LanguageModel, Reranker, Store, Timestamp, TrackId};
use graphloom_engine::index::{self, IndexConfig, Quota};
use graphloom_engine::money::{Budget, Limit, NoPrice, WhenShort};
use graphloom_engine::parse::format_by_name;
use graphloom_engine::query::{self, QueryCaches, Spent};
use graphloom_engine::situate::Situator;
use graphloom_engine::text::Tokenizer;
use graphloom_engine::{Engine, Models};
use graphloom_providers::http::ServiceListener;
use graphloom_providers::models::ModelStore;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::private;
use graphloom_storage::sqlite::{self, Patience, SqliteStore};
use graphloom_storage::workers::{self, Worker};

use self::providers::ChatModels;
pub(crate) use self::providers::Providers;
use crate::commands::App;
use crate::config::{Config, Contextual, EmbedderChoice, RoleModels, Settings, Surroundings, remembered};
use crate::fault::Fault;
use crate::here::DATA_DIR;
use crate::wording::Wording;

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
    if sqlite::exists(&config.data_dir, &config.workspace) {
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

pub(crate) fn open_or_create(config: &Config) -> anyhow::Result<Arc<SqliteStore>> {
    // A command waits for others as long as they write: it says so, and Ctrl-C ends it.
    open_patiently(config, Patience::Endless)
}

fn open_patiently(config: &Config, patience: Patience) -> anyhow::Result<Arc<SqliteStore>> {
    make_data_dir(config)?;
    let store = SqliteStore::open_patiently(&config.data_dir, config.workspace.clone(), patience)
        .with_context(|| format!("opening workspace {}", config.workspace))?;
    Ok(Arc::new(store))
}

/// Makes the data folder where it is missing. One that holds nothing else than workspaces, which are not for version control,
/// tells git to leave it alone.
fn make_data_dir(config: &Config) -> anyhow::Result<()> {
    let folder = &config.data_dir;
    let is_ours = !folder.exists() || folder.file_name().is_some_and(|name| name == DATA_DIR);
    private::create_folder(folder).with_context(|| format!("creating data folder {}", folder.display()))?;
    let ignore = folder.join(".gitignore");
    if is_ours
        && !ignore.exists()
        && let Err(error) = std::fs::write(&ignore, "# Made by graphloom\n*\n")
    {
        // The disk may be full or read-only, where the workspace can still be read.
        tracing::debug!(%error, file = %ignore.display(), "not written");
    }
    Ok(())
}

/// This process as a worker; makes the data folder where it is missing.
pub(crate) fn register_worker(config: &Config) -> anyhow::Result<Worker> {
    make_data_dir(config)?;
    Ok(Worker::register(&config.data_dir)?)
}

/// The same for what serves questions too, which it does also where nothing can be written.
pub(crate) fn register_server(config: &Config) -> anyhow::Result<Worker> {
    make_data_dir(config)?;
    Ok(Worker::register_if_writable(&config.data_dir)?)
}

/// The name of a run of this process that was given none.
pub(crate) fn track_of(what: &str, worker: &Worker) -> TrackId {
    TrackId::of_run(what, now(), worker.name())
}

/// The time.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// A test of whether the worker of a name has ended.
pub(crate) fn gone(config: &Config) -> impl Fn(&str) -> bool + Send + Sync + use<> {
    let folder = config.data_dir.clone();
    move |name| workers::is_gone(&folder, name)
}

/// The configuration in `surroundings`, with what the workspace remembers of its own.
///
/// # Errors
///
/// Those of the configuration. A workspace that cannot be read remembers nothing here; whatever builds compares with what
/// it stores once it is open.
pub(crate) fn configured(surroundings: &mut Surroundings) -> anyhow::Result<(Config, Settings)> {
    surroundings.remembered.clear();
    let (config, settings) = crate::config::load(surroundings)?;
    match sqlite::settings_of(&config.data_dir, &config.workspace) {
        Ok(remembered) if remembered.is_empty() => Ok((config, settings)),
        Ok(remembered) => {
            surroundings.remembered = remembered;
            crate::config::load(surroundings)
        }
        Err(error) => {
            tracing::debug!(%error, "what the workspace is built with could not be read");
            Ok((config, settings))
        }
    }
}

/// With which models and settings a command builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltWith {
    /// Those of the workspace; others are refused.
    Its,
    /// Those of the command, and the workspace keeps them.
    New,
    /// Those of the command, this time.
    Any,
}

impl BuiltWith {
    /// Of a command that goes on with the workspace.
    ///
    /// - `switch`: whether the workspace is to keep what the command says.
    pub(crate) fn of(switch: bool) -> Self {
        if switch { Self::New } else { Self::Its }
    }

    /// Of a command that is there to build documents otherwise.
    pub(crate) fn once(switch: bool) -> Self {
        if switch { Self::New } else { Self::Any }
    }
}

/// What `add`, `retry`, `work`, `situate` and `re-extract` work with; makes the workspace where it is missing.
///
/// - `listener`: hears of model services that are down, which indexing waits for.
/// - `limit`: what the run may spend on all of its models.
/// - `built_with`: whether its models and settings must be those of the workspace.
pub(crate) async fn indexing(
    app: &App,
    worker: &Worker,
    listener: ServiceListener,
    limit: Option<Limit>,
    built_with: BuiltWith,
) -> anyhow::Result<Indexing> {
    let roles = RoleModels { keywords: None, answer: None, ..app.config.models.clone() };
    // Before the workspace is made: a wrong model or prompt must not leave an empty one behind.
    require_context_model(&app.config)?;
    let wording = Wording::read(&app.config)?;
    let providers = Providers::patient(&app.config, listener);
    let budget = limit.map(|limit| Budget::new(limit, app.config.prices.clone()));
    let mut chat = providers.chat_models(&roles)?;
    if let Some(budget) = &budget {
        chat = budgeted(chat, budget)?;
    }
    if let Some(choice) = &app.config.embedder {
        let embedder = providers.embedder(choice)?;
        budget.as_ref().map(|budget| budgeted_embedder(embedder, budget)).transpose()?;
    }
    let store = open_or_create(&app.config)?;
    let mut engine = engine(app, store.clone(), chat, &providers, wording).await?;
    if let Some(budget) = &budget {
        engine.models.embedder = budgeted_embedder(engine.models.embedder, budget)?;
    }
    match built_with {
        BuiltWith::Its => index::require_settings(&engine).await?,
        BuiltWith::New => {
            for switched in index::switch_settings(&engine).await? {
                app.output.note(format_args!("from now on the workspace is built with {}", switched.here()));
            }
        }
        BuiltWith::Any => engine.index.settings = None,
    }
    engine.index.worker = worker.name().to_owned();
    // A document is not taken away from who waits for a service; a lease whose process has ended is void anyway.
    let pause_ms = u64::try_from(app.config.max_pause.as_millis()).unwrap_or(u64::MAX);
    engine.index.lease_ms = engine.index.lease_ms.saturating_add(pause_ms.saturating_mul(2));
    Ok(Indexing { engine, store, budget })
}

/// What `add --estimate` works with: the workspace as it is, or an empty one in memory where there is none, so that
/// nothing is left behind.
pub(crate) async fn estimating(app: &App) -> anyhow::Result<Engine> {
    let roles = RoleModels { keywords: None, answer: None, ..app.config.models.clone() };
    require_context_model(&app.config)?;
    let providers = Providers::new(&app.config);
    let chat = providers.chat_models(&roles)?;
    let store: Arc<dyn Store> = match workspace_file(&app.config).is_file() {
        true => open_or_create(&app.config)?,
        false => Arc::new(MemoryStore::new(app.config.workspace.clone())),
    };
    engine(app, store, chat, &providers, Wording::read(&app.config)?).await
}

/// An error where chunks are to be situated by a model and there is none.
fn require_context_model(config: &Config) -> anyhow::Result<()> {
    if config.contextual == Contextual::Model && config.models.context.is_none() {
        let fault = Fault::usage("contextual is \"model\", and no model is configured");
        return Err(fault.help("set context_llm or --llm, or take --contextual headings").into());
    }
    Ok(())
}

/// Whether an embedder's calls go to a service; those of models in process cost nothing.
pub(crate) fn embeds_by_service(engine: &Engine) -> bool {
    EmbedderChoice::of_space(engine.models.embedder.name()).is_some_and(|choice| !choice.is_in_process())
}

/// The models, with a budget that pays for their calls.
fn budgeted(chat: ChatModels, budget: &Arc<Budget>) -> anyhow::Result<ChatModels> {
    let model = |model: Option<Arc<dyn LanguageModel>>,
                 when_short|
     -> anyhow::Result<Option<Arc<dyn LanguageModel>>> {
        let Some(model) = model else { return Ok(None) };
        Ok(Some(Arc::new(budget.model(model, when_short).map_err(unpriced)?)))
    };
    let ChatModels { context, extract, keywords, summarize, answer } = chat;
    Ok(ChatModels {
        context: model(context, WhenShort::Wait)?,
        // Nothing that an extraction in flight waits for needs the budget, so it may wait for others to end.
        extract: model(extract, WhenShort::Wait)?,
        keywords: model(keywords, WhenShort::Refuse)?,
        summarize: model(summarize, WhenShort::Refuse)?,
        answer: model(answer, WhenShort::Refuse)?,
    })
}

fn budgeted_embedder(embedder: Arc<dyn Embedder>, budget: &Arc<Budget>) -> anyhow::Result<Arc<dyn Embedder>> {
    if EmbedderChoice::of_space(embedder.name()).is_none_or(|choice| choice.is_in_process()) {
        return Ok(embedder);
    }
    Ok(Arc::new(budget.embedder(embedder).map_err(unpriced)?))
}

fn unpriced(error: NoPrice) -> anyhow::Error {
    let NoPrice { model } = &error;
    let help = format!(
        "set one, such as --set prices={model}=INPUT/OUTPUT for a million tokens, or limit tokens, such as 2M"
    );
    Fault::usage(format!("a budget of money: {error}")).help(help).into()
}

/// An engine that indexes, and the store behind it.
pub(crate) struct Indexing {
    /// The engine.
    pub(crate) engine: Engine,
    /// What the run may spend.
    pub(crate) budget: Option<Arc<Budget>>,
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
    let roles = RoleModels {
        context: None,
        extract: None,
        keywords: None,
        answer: None,
        ..app.config.models.clone()
    };
    existing(app, &roles).await
}

/// What `ask` and `search` work with.
pub(crate) async fn query_engine(app: &App, asks: Asks) -> anyhow::Result<Engine> {
    let models = app.config.models.clone();
    let none = RoleModels {
        context: None,
        extract: None,
        keywords: None,
        summarize: None,
        answer: None,
        judge: None,
    };
    let roles = match asks {
        Asks::Embedder => none,
        Asks::Keywords => RoleModels { keywords: models.keywords, ..none },
        Asks::Answer => RoleModels { keywords: models.keywords, answer: models.answer, ..none },
    };
    existing(app, &roles).await
}

/// The model that judges answers; an error where none is configured.
pub(crate) fn judge(app: &App) -> anyhow::Result<Arc<dyn LanguageModel>> {
    match &app.config.models.judge {
        Some(choice) => Providers::new(&app.config).chat(choice),
        None => Err(Fault::usage("judging needs a language model and none is configured")
            .help("set judge_llm, such as --set judge_llm=openai:MODEL; a model that did not write the answers judges more fairly")
            .into()),
    }
}

/// The configured reranker.
pub(crate) fn reranker(app: &App) -> anyhow::Result<Option<Arc<dyn Reranker>>> {
    let providers = Providers::new(&app.config);
    app.config.reranker.as_ref().map(|choice| providers.reranker(choice)).transpose()
}

async fn existing(app: &App, roles: &RoleModels) -> anyhow::Result<Engine> {
    require_workspace(&app.config)?;
    let providers = Providers::new(&app.config);
    let chat = providers.chat_models(roles)?;
    let store = open_store(&app.config)?;
    engine(app, store, chat, &providers, Wording::read(&app.config)?).await
}

async fn engine(
    app: &App,
    store: Arc<dyn Store>,
    chat: ChatModels,
    providers: &Providers<'_>,
    wording: Wording,
) -> anyhow::Result<Engine> {
    let config = &app.config;
    let space = store.snapshot().await?.embedding().await?;
    let embedder = providers.embedder_of(space.as_ref())?;
    let mut index = IndexConfig {
        chunk: config.chunk.clone(),
        quota: quota(config),
        max_concurrent_calls: config.max_concurrent_calls,
        max_concurrent_documents: config.max_concurrent_documents,
        ..IndexConfig::default()
    };
    index.settings = Some(remembered::of(config, &app.settings, &wording, space.as_ref()));
    index.extract.gleaning = config.gleaning;
    index.extract.form = config.form;
    index.extract.entity_guidance = wording.guidance;
    if let Some(types) = &config.entity_types {
        index.extract.entity_types.clone_from(types);
    }
    let ChatModels { context, extract, keywords, summarize, answer } = chat;
    let situator = match (config.contextual, context) {
        (Contextual::Headings, _) => Situator::Headings,
        (Contextual::Model, Some(model)) => Situator::Model(model),
        // Only what indexes situates, and that has its model.
        (Contextual::Off, _) | (Contextual::Model, None) => Situator::Off,
    };
    Ok(Engine {
        store,
        models: Models { extract, situator, keywords, summarize, answer, embedder, reranker: None },
        clock: Arc::new(SystemClock),
        tokenizer: Tokenizer,
        prompts: wording.prompts,
        index,
        caches: if config.query_cache { QueryCaches::default() } else { QueryCaches::off() },
    })
}

/// How much the workspace may hold. Its file and the write-ahead log beside it are what it takes.
fn quota(config: &Config) -> Quota {
    let file = workspace_file(config);
    let log = file.with_extension("graphloom-wal");
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    Quota {
        max_documents: config.max_documents,
        max_bytes: config.max_workspace_mb.map(|most| most.saturating_mul(1 << 20)),
        stored_bytes: Some(Arc::new(move || bytes(&file) + bytes(&log))),
    }
}

/// Stores what a question cost and what is to be remembered of it. The answer is there already and does not depend on
/// it, so a store that is busy or cannot be written is no more than a warning.
pub(crate) async fn record(app: &App, engine: &Engine, spent: impl IntoIterator<Item = &Spent>) {
    if let Err(error) = query::record(engine, spent).await {
        let error = anyhow::Error::from(error);
        app.output.warn(format_args!("warning: what this question cost and found was not stored: {error:#}"));
    }
}

/// The store of local models.
pub(crate) fn model_store(config: &Config) -> ModelStore {
    ModelStore::new(&config.models_dir)
}

/// Whether a file is a document by its name.
pub(crate) fn is_supported(path: &Path) -> bool {
    path.to_str().is_some_and(|name| format_by_name(name).is_some())
}

/// The wall clock.
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }
}
