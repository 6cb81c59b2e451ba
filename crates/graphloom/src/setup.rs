//! Builds an engine from a configuration: the store, the model of each role, and the prompts.
//!
//! [`crate::Graphloom`] is the simple way. Programs that need the parts, such as the command line and its
//! server, use this module.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use graphloom_core::{
    Clock, Embedder, EmbeddingSpec, LanguageModel, Patience, Registration, Reranker, Store, Timestamp,
    Upkeep, Worker, WorkspaceStore,
};
use graphloom_engine::chunk_context::ContextWriter;
use graphloom_engine::index::{self, IndexConfig, OtherSetting, Quota};
use graphloom_engine::money::{Budget, Limit, NoPrice, WhenShort, WorkspaceAccount};
use graphloom_engine::query::QueryCaches;
use graphloom_engine::{Engine, Models};
use graphloom_providers::http::ServiceListener;
#[cfg(feature = "local")]
use graphloom_providers::models::ModelStore;
use graphloom_storage::memory::MemoryStore;
use graphloom_storage::private;

use crate::clock::SystemClock;
use crate::config::{
    Config, Contextual, EmbedderChoice, RoleModels, ScorerChoice, Settings, Surroundings, remembered,
};
use crate::error::{DescribeError, Error, Fault, Result};
use crate::project::DATA_DIR;
use crate::providers::{ChatModels, Providers};
use crate::stores::workspaces;
use crate::wording::Wording;

/// True if the configured workspace exists.
pub async fn exists(config: &Config) -> Result<bool> {
    Ok(workspaces(config)?.exists(&config.workspace).await?)
}

/// Returns an error if the workspace does not exist yet.
pub async fn require_workspace(config: &Config) -> Result<()> {
    let workspaces = workspaces(config)?;
    if workspaces.exists(&config.workspace).await? {
        return Ok(());
    }
    Err(Error::NoWorkspace { workspace: config.workspace.clone(), place: workspaces.place() })
}

/// Opens the workspace's store; an error if it does not exist. Writes wait for other processes that write.
pub async fn open_store(config: &Config) -> Result<Arc<dyn WorkspaceStore>> {
    require_workspace(config).await?;
    open_or_create(config, Patience::Endless).await
}

/// Opens the workspace's store, which is created if it is missing.
///
/// - `patience`: how long a write waits for other processes that write.
pub async fn open_or_create(config: &Config, patience: Patience) -> Result<Arc<dyn WorkspaceStore>> {
    make_data_dir(config)?;
    let opened = async { Ok(workspaces(config)?.open(&config.workspace, patience).await?) };
    let opened: Result<Arc<dyn WorkspaceStore>> = opened.await;
    opened.doing(|| format!("opening workspace {}", config.workspace))
}

/// Creates the data folder if it is missing. A folder that contains only workspaces gets a `.gitignore` that hides it from git.
fn make_data_dir(config: &Config) -> Result<()> {
    let folder = &config.data_dir;
    let is_ours = !folder.exists() || folder.file_name().is_some_and(|name| name == DATA_DIR);
    private::create_folder(folder).doing(|| format!("creating data folder {}", folder.display()))?;
    let ignore = folder.join(".gitignore");
    if is_ours
        && !ignore.exists()
        && let Err(error) = std::fs::write(&ignore, "# Made by graphloom\n*\n")
    {
        // The disk may be full or read-only, but the workspace can still be read.
        tracing::debug!(%error, file = %ignore.display(), "not written");
    }
    Ok(())
}

/// Registers this process as a worker. Creates the data folder if it is missing.
pub async fn register_worker(config: &Config) -> Result<Arc<dyn Worker>> {
    register(config, Registration::Required).await
}

/// Registers this process as a worker that also answers questions. Succeeds even if nothing can be written.
pub async fn register_server(config: &Config) -> Result<Arc<dyn Worker>> {
    register(config, Registration::WhenWritable).await
}

async fn register(config: &Config, registration: Registration) -> Result<Arc<dyn Worker>> {
    make_data_dir(config)?;
    Ok(workspaces(config)?.workers().register(registration).await?)
}

/// Returns the current time.
pub fn now() -> Timestamp {
    SystemClock.now()
}

/// Returns a function that tells whether a worker's process has exited. This is unknown for workers on other
/// hosts; their leases expire instead.
pub fn gone(config: &Config) -> Result<impl Fn(&str) -> bool + Send + Sync + use<>> {
    let workspaces = workspaces(config)?;
    Ok(move |name: &str| workspaces.workers().is_gone(name))
}

/// Returns the configuration in `surroundings`, completed by the settings stored in the workspace.
///
/// # Errors
///
/// Fails if the configuration is invalid. A workspace that cannot be read is ignored here. Commands that
/// build compare their settings with the stored ones when they open it.
pub async fn configured(surroundings: &mut Surroundings) -> Result<(Config, Settings)> {
    surroundings.remembered.clear();
    let (config, settings) = crate::config::load(surroundings)?;
    let remembered = async { Ok(workspaces(&config)?.settings_of(&config.workspace).await?) };
    let remembered: Result<BTreeMap<String, String>> = remembered.await;
    match remembered {
        Ok(remembered) if remembered.is_empty() => Ok((config, settings)),
        Ok(remembered) => {
            surroundings.remembered = remembered;
            crate::config::load(surroundings)
        }
        Err(error) => {
            tracing::debug!(%error, "the settings stored in the workspace could not be read");
            Ok((config, settings))
        }
    }
}

/// The models and settings with which documents are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildWith {
    /// The workspace's own. An engine with others is refused.
    Workspace,
    /// The configured ones, which the workspace then stores.
    Switch,
    /// The configured ones, for this run only. An engine that lacks a model of the workspace is refused, unless the configuration
    /// sets another one.
    Once,
}

/// An engine that indexes, with the data of its run.
pub struct Indexing {
    /// The engine.
    pub engine: Engine,
    /// The budget of the run.
    pub budget: Option<Arc<Budget>>,
    /// The settings that the workspace was switched to.
    pub switched: Vec<OtherSetting>,
    store: Arc<dyn WorkspaceStore>,
}

/// Returns an engine that indexes. Creates the workspace if it is missing.
///
/// - `worker`: the worker that holds the leases of the engine's runs.
/// - `listener`: notified of model services that are down, which indexing waits for.
/// - `limit`: what the run may spend on all of its models.
///
/// # Errors
///
/// Fails if a model, a prompt or a setting is invalid. In that case the workspace is not created.
pub async fn indexing(
    config: &Config,
    settings: &Settings,
    worker: &dyn Worker,
    listener: ServiceListener,
    limit: Option<Limit>,
    build_with: BuildWith,
) -> Result<Indexing> {
    let roles = RoleModels { keywords: None, answer: None, ..config.models.clone() };
    // Checked before the workspace is created: a wrong model or prompt must not leave an empty workspace behind.
    require_context_model(config)?;
    let wording = Wording::read(config)?;
    let providers = Providers::patient(config, listener);
    let budget = limit.map(|limit| Budget::new(limit, config.prices.clone()));
    let mut chat = providers.chat_models(&roles)?;
    if let Some(budget) = &budget {
        chat = budgeted(chat, budget)?;
    }
    if let Some(choice) = &config.embedder {
        let embedder = providers.embedder(choice)?;
        budget.as_ref().map(|budget| budgeted_embedder(embedder, budget)).transpose()?;
    }
    let store = open_or_create(config, Patience::Endless).await?;
    let mut engine = engine(config, settings, SizedStore::of(&store), chat, &providers, wording).await?;
    if let Some(budget) = &budget {
        engine.models.embedder = budgeted_embedder(engine.models.embedder, budget)?;
    }
    if build_with != BuildWith::Workspace {
        require_embedder(&engine)?;
    }
    let mut switched = Vec::new();
    match build_with {
        BuildWith::Workspace => index::require_settings(&engine).await?,
        BuildWith::Switch => switched = index::switch_settings(&engine).await?,
        BuildWith::Once => {
            index::require_models(&engine).await?;
            engine.index.settings = None;
        }
    }
    works_as(&mut engine, worker, config);
    Ok(Indexing { engine, budget, switched, store })
}

/// Returns an engine with the configured embedder, which replaces the vectors of a workspace, and the budget for that.
///
/// # Errors
///
/// Fails if the workspace does not exist, if no embedder is configured, or if the embedder has no price and the limit is in
/// money.
pub async fn re_embedding(
    config: &Config,
    settings: &Settings,
    limit: Option<Limit>,
) -> Result<(Engine, Option<Arc<Budget>>)> {
    let Some(choice) = &config.embedder else {
        let fault = Fault::usage("no new embedder is given");
        return Err(fault.help("choose one, such as static:all-minilm-l6-v2 or openai:MODEL").into());
    };
    let mut embedder = Providers::new(config).embedder(choice)?;
    let budget = limit.map(|limit| Budget::new(limit, config.prices.clone()));
    if let Some(budget) = &budget {
        embedder = budgeted_embedder(embedder, budget)?;
    }
    let store = SizedStore::of(&open_store(config).await?);
    let (own, chat, wording) = (&OwnModels::default(), ChatModels::default(), Wording::read(config)?);
    Ok((Parts { store, chat, embedder, own, wording }.engine(config, settings), budget))
}

/// Makes an engine work in the name of this process.
pub fn works_as(engine: &mut Engine, worker: &dyn Worker, config: &Config) {
    worker.name().clone_into(&mut engine.index.worker);
    // A run keeps its documents while it waits for a service. If its process ends, the lease is void anyway.
    let pause_ms = u64::try_from(config.max_pause.as_millis()).unwrap_or(u64::MAX);
    engine.index.lease_ms = engine.index.lease_ms.saturating_add(pause_ms.saturating_mul(2));
}

/// Returns an engine that estimates the cost of indexing. It uses the workspace, or an empty one in memory if
/// there is none, so that it leaves nothing behind.
pub async fn estimating(config: &Config, settings: &Settings) -> Result<Engine> {
    let roles = RoleModels { keywords: None, answer: None, ..config.models.clone() };
    require_context_model(config)?;
    let providers = Providers::new(config);
    let chat = providers.chat_models(&roles)?;
    let store = match exists(config).await? {
        true => SizedStore::of(&open_or_create(config, Patience::Endless).await?),
        false => SizedStore {
            store: Arc::new(MemoryStore::new(config.workspace.clone())),
            bytes: None,
            clock: Arc::new(SystemClock),
            budgeted: None,
        },
    };
    engine(config, settings, store, chat, &providers, Wording::read(config)?).await
}

/// Returns an error if an LLM should write the context of chunks but none is configured.
pub fn require_context_model(config: &Config) -> Result<()> {
    if config.contextual == Contextual::Model && config.models.context.is_none() {
        let fault = Fault::usage("contextual is \"model\", but no LLM is configured");
        return Err(fault.help("set context_llm or llm, or set contextual to headings").into());
    }
    Ok(())
}

/// Returns an error if only the program that built the workspace has its embedder, so that nothing can be embedded.
pub fn require_embedder(engine: &Engine) -> Result<()> {
    let embedder = engine.models.embedder.name();
    match EmbedderChoice::of_space(embedder) {
        Some(_) => Ok(()),
        None => Err(Error::AbsentEmbedder { embedder: embedder.to_owned() }),
    }
}

/// True if embedding calls a service; models in this process cost nothing.
pub fn embeds_by_service(engine: &Engine) -> bool {
    calls_service(engine.models.embedder.as_ref())
}

/// Wraps the models so that their calls count against a budget.
fn budgeted(chat: ChatModels, budget: &Arc<Budget>) -> Result<ChatModels> {
    paid(chat, |model, when_short| Ok(Arc::new(budget.model(model, when_short).map_err(unpriced)?)))
}

/// Wraps the models so that their calls count against the workspace's budget.
fn paid_by_workspace(chat: ChatModels, account: &Arc<WorkspaceAccount>) -> ChatModels {
    let paid =
        paid(chat, |model, when_short| Ok::<_, Infallible>(Arc::new(account.model(model, when_short))));
    let Ok(paid) = paid;
    paid
}

/// Wraps each model, with the behaviour of its calls if the budget is short.
fn paid<E>(
    chat: ChatModels,
    pay: impl Fn(Arc<dyn LanguageModel>, WhenShort) -> std::result::Result<Arc<dyn LanguageModel>, E>,
) -> std::result::Result<ChatModels, E> {
    let model = |model: Option<Arc<dyn LanguageModel>>, when_short| {
        model.map(|model| pay(model, when_short)).transpose()
    };
    let ChatModels { context, extract, keywords, summarize, answer } = chat;
    Ok(ChatModels {
        context: model(context, WhenShort::Wait)?,
        // Running extractions do not wait for anything that needs the budget, so this call can wait for them to finish.
        extract: model(extract, WhenShort::Wait)?,
        keywords: model(keywords, WhenShort::Refuse)?,
        summarize: model(summarize, WhenShort::Refuse)?,
        answer: model(answer, WhenShort::Refuse)?,
    })
}

fn budgeted_embedder(embedder: Arc<dyn Embedder>, budget: &Arc<Budget>) -> Result<Arc<dyn Embedder>> {
    match calls_service(embedder.as_ref()) {
        true => Ok(Arc::new(budget.embedder(embedder).map_err(unpriced)?)),
        false => Ok(embedder),
    }
}

/// True if an embedder calls a service; models in this process cost nothing.
fn calls_service(embedder: &dyn Embedder) -> bool {
    EmbedderChoice::of_space(embedder.name()).is_some_and(|choice| !choice.is_in_process())
}

fn unpriced(error: NoPrice) -> Error {
    let NoPrice { model } = &error;
    let help = format!(
        "set prices to {model}=INPUT/OUTPUT, in money per million tokens, or limit tokens instead, such as 2M"
    );
    Fault::usage(format!("the budget is in money: {error}")).help(help).into()
}

impl Indexing {
    /// Updates the full-text index now, so that the next search does not have to. The index is only a cache:
    /// if this fails, the next search tries again and reports the error.
    pub async fn catch_up(&self) {
        if let Err(error) = self.store.maintain(Upkeep::CatchUp).await {
            tracing::warn!(%error, "updating the full-text index failed");
        }
    }
}

/// Returns an engine for the existing workspace with the models of these roles.
pub async fn existing(config: &Config, settings: &Settings, roles: &RoleModels) -> Result<Engine> {
    require_workspace(config).await?;
    let providers = Providers::new(config);
    let chat = providers.chat_models(roles)?;
    let store = open_store(config).await?;
    engine(config, settings, SizedStore::of(&store), chat, &providers, Wording::read(config)?).await
}

/// Returns the configured reranker, whose calls count against the workspace's budget.
pub fn reranker(config: &Config, store: &Arc<dyn WorkspaceStore>) -> Result<Option<Arc<dyn Reranker>>> {
    let reranker = unpaid_reranker(config)?;
    Ok(reranker.map(|reranker| paid_reranker(reranker, &account(config, store))))
}

fn unpaid_reranker(config: &Config) -> Result<Option<Arc<dyn Reranker>>> {
    let providers = Providers::new(config);
    config.reranker.as_ref().map(|choice| providers.reranker(choice)).transpose()
}

fn paid_reranker(reranker: Arc<dyn Reranker>, account: &Arc<WorkspaceAccount>) -> Arc<dyn Reranker> {
    Arc::new(account.reranker(reranker))
}

/// Returns the account of this process with the workspace.
fn account(config: &Config, store: &Arc<dyn WorkspaceStore>) -> Arc<WorkspaceAccount> {
    let clock = clock_of(store.as_ref());
    WorkspaceAccount::new(Arc::clone(store), config.prices.clone(), process_name(), clock)
}

/// Returns the store's clock if it has one, because other hosts use it too.
fn clock_of(store: &dyn WorkspaceStore) -> Arc<dyn Clock> {
    store.clock().unwrap_or_else(|| Arc::new(SystemClock))
}

/// Models that the calling program provides in place of configured ones.
#[derive(Clone, Default)]
pub struct OwnModels {
    /// Used for each role whose model the settings do not set.
    pub llm: Option<Arc<dyn LanguageModel>>,
    /// Used in place of the configured embedder.
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl OwnModels {
    /// Returns the models of each role. A model that the settings set stays, and one that they switch off stays off.
    fn fill(&self, chat: ChatModels, settings: &Settings) -> ChatModels {
        let own = |model: Option<Arc<dyn LanguageModel>>, key: &str| {
            model.or_else(|| self.llm.clone().filter(|_| settings.get(key).is_none()))
        };
        ChatModels {
            context: chat.context,
            extract: own(chat.extract, "extract_llm"),
            keywords: own(chat.keywords, "keywords_llm"),
            summarize: own(chat.summarize, "summarize_llm"),
            answer: own(chat.answer, "answer_llm"),
        }
    }
}

/// The engines of a long-running process: one answers, the other indexes.
pub struct Engines {
    /// Answers questions. A call to a service that is down fails.
    pub asking: Engine,
    /// Indexes. It waits for services that are down.
    pub indexing: Engine,
    /// The store of both engines.
    pub store: Arc<dyn WorkspaceStore>,
}

/// Returns both engines for the workspace, which is created if it is missing.
///
/// - `worker`: the worker that holds the leases of the runs.
/// - `patience`: how long a write waits for other processes that write.
/// - `listener`: notified of services that are down.
pub async fn engines(
    config: &Config,
    settings: &Settings,
    own: &OwnModels,
    worker: &dyn Worker,
    patience: Patience,
    listener: ServiceListener,
) -> Result<Engines> {
    // Checked before the workspace is created: a wrong model or prompt must not leave an empty workspace behind.
    require_context_model(config)?;
    let wording = Wording::read(config)?;
    let (impatient, patient) = (Providers::new(config), Providers::patient(config, listener));
    let models = config.models.clone();
    let asking = RoleModels { context: None, extract: None, summarize: None, ..models.clone() };
    let indexing = RoleModels { keywords: None, answer: None, ..models };
    let (asking, indexing) = (impatient.chat_models(&asking)?, patient.chat_models(&indexing)?);
    let reranker = unpaid_reranker(config)?;
    if matches!(config.sentence_scorer, Some(ScorerChoice::Local(_))) {
        impatient.sentence_scorer(None)?;
    }
    let chosen = match (&own.embedder, &config.embedder) {
        (Some(embedder), _) => Some(embedder.clone()),
        (None, Some(choice)) => Some(impatient.embedder(choice)?),
        (None, None) => None,
    };
    let store = open_or_create(config, patience).await?;
    let space = store.snapshot().await?.embedding().await?;
    let embedding = match chosen {
        Some(embedder) => of_space(embedder, space.as_ref())?,
        None => impatient.embedder_of(space.as_ref())?,
    };
    // Both engines share a model in this process, so that it is in memory only once.
    let indexing_embedding = match EmbedderChoice::of_space(embedding.name()) {
        Some(choice) if !choice.is_in_process() && own.embedder.is_none() => {
            patient.embedder_of(space.as_ref())?
        }
        _ => embedding.clone(),
    };
    let part = |chat, embedder| Parts {
        store: SizedStore::of(&store),
        chat: own.fill(chat, settings),
        embedder,
        own,
        wording: wording.clone(),
    };
    let mut asking = part(asking, embedding).engine(config, settings);
    if asking.models.answer.is_none() {
        let embedder = own.embedder.is_none().then(|| asking.models.embedder.name());
        asking.models.sentence_scorer = impatient.sentence_scorer(embedder)?;
    }
    asking.models.reranker = reranker.map(|reranker| paid_reranker(reranker, &account(config, &store)));
    let mut indexing = part(indexing, indexing_embedding).engine(config, settings);
    works_as(&mut indexing, worker, config);
    Ok(Engines { asking, indexing, store })
}

/// Returns the embedder, or an error if the workspace's vectors are from another one.
pub(crate) fn of_space(
    embedder: Arc<dyn Embedder>,
    space: Option<&EmbeddingSpec>,
) -> Result<Arc<dyn Embedder>> {
    match space {
        Some(space) if space.model != embedder.name() => {
            Err(Error::OtherEmbedder { theirs: space.model.clone(), ours: embedder.name().to_owned() })
        }
        _ => Ok(embedder),
    }
}

/// Returns an engine for `store` with the configured embedder.
async fn engine(
    config: &Config,
    settings: &Settings,
    store: SizedStore,
    chat: ChatModels,
    providers: &Providers<'_>,
    wording: Wording,
) -> Result<Engine> {
    let space = store.store.snapshot().await?.embedding().await?;
    let embedder = providers.embedder_of(space.as_ref())?;
    let own = &OwnModels::default();
    Ok(Parts { store, chat, embedder, own, wording }.engine(config, settings))
}

/// A store, with its size and clock.
struct SizedStore {
    store: Arc<dyn Store>,
    /// Bytes in use; `None` if the size is not limited.
    bytes: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
    clock: Arc<dyn Clock>,
    /// The store, if its budget pays for calls.
    budgeted: Option<Arc<dyn WorkspaceStore>>,
}

impl SizedStore {
    fn of(store: &Arc<dyn WorkspaceStore>) -> Self {
        let bytes = store.size().map(|_| {
            let store = Arc::clone(store);
            let bytes: Arc<dyn Fn() -> u64 + Send + Sync> =
                Arc::new(move || store.size().map_or(0, |size| size.data + size.log));
            bytes
        });
        let clock = clock_of(store.as_ref());
        let budgeted = Some(Arc::clone(store));
        Self { store: Arc::clone(store) as Arc<dyn Store>, bytes, clock, budgeted }
    }
}

/// The parts of an engine besides its configuration.
struct Parts<'a> {
    store: SizedStore,
    chat: ChatModels,
    embedder: Arc<dyn Embedder>,
    own: &'a OwnModels,
    wording: Wording,
}

impl Parts<'_> {
    fn engine(self, config: &Config, settings: &Settings) -> Engine {
        let Self { store, mut chat, mut embedder, own, wording } = self;
        if let Some(store) = store.budgeted {
            let account = account(config, &store);
            chat = paid_by_workspace(chat, &account);
            if calls_service(embedder.as_ref()) {
                embedder = Arc::new(account.embedder(embedder));
            }
        }
        let mut index = IndexConfig {
            chunk: config.chunk.clone(),
            layers: config.derive.clone(),
            tree: config.tree_clustering,
            community_weights: config.community_weights,
            quota: quota(config, store.bytes),
            max_concurrent_calls: config.max_concurrent_calls,
            max_concurrent_documents: config.max_concurrent_documents,
            ..IndexConfig::default()
        };
        let own_llm = own.llm.as_ref().map(|model| model.name());
        index.settings = Some(remembered::of(config, settings, &wording, embedder.name(), own_llm));
        index.limits.max_original_bytes = (config.max_original_mb as usize).saturating_mul(1 << 20);
        index.extract.gleaning = config.gleaning;
        index.extract.claims = config.claims;
        index.extract.form = config.form;
        index.extract.entity_guidance = wording.guidance;
        if let Some(types) = &config.entity_types {
            index.extract.entity_types.clone_from(types);
        }
        let ChatModels { context, extract, keywords, summarize, answer } = chat;
        let context_writer = match (config.contextual, context) {
            (Contextual::Headings, _) => ContextWriter::Headings,
            (Contextual::Model, Some(model)) => ContextWriter::Model(model),
            // Only indexing writes contexts, and it always has a model here.
            (Contextual::Off, _) | (Contextual::Model, None) => ContextWriter::Off,
        };
        let models = Models {
            extract,
            context_writer,
            keywords,
            summarize,
            answer,
            embedder,
            reranker: None,
            sentence_scorer: None,
        };
        let caches = if config.query_cache { QueryCaches::default() } else { QueryCaches::off() };
        Engine { prompts: wording.prompts, index, caches, ..Engine::new(store.store, models, store.clock) }
    }
}

/// Returns a name that is unique among processes, on this host and others.
fn process_name() -> String {
    let random = RandomState::new().hash_one(SystemClock.now().0);
    format!("{}-{random:016x}", std::process::id())
}

/// Returns the limits of the workspace.
fn quota(config: &Config, stored_bytes: Option<Arc<dyn Fn() -> u64 + Send + Sync>>) -> Quota {
    Quota {
        max_documents: config.max_documents,
        max_bytes: config.max_workspace_mb.map(|most| most.saturating_mul(1 << 20)),
        stored_bytes,
    }
}

/// Returns the store of local models.
#[cfg(feature = "local")]
pub fn model_store(config: &Config) -> ModelStore {
    ModelStore::new(&config.models_dir)
}
