//! Builds for each command only the engine it needs, so that `status` loads no model.

pub(crate) mod serving;

use std::sync::Arc;

use graphloom::BuildWith;
use graphloom::config::{Config, RoleModels};
use graphloom::providers::Providers;
use graphloom_core::{LanguageModel, Patience, Reranker, TrackId, Worker, WorkspaceStore};
use graphloom_engine::Engine;
use graphloom_engine::money::Limit;
use graphloom_engine::query::QueryCost;
use graphloom_providers::http::ServiceListener;

pub(crate) use graphloom::setup::{
    Indexing, embeds_by_service, exists, gone, now, register_server, register_worker, require_workspace,
};

#[cfg(feature = "local")]
pub(crate) use graphloom::setup::model_store;

use crate::commands::App;
use crate::fault::Fault;
use crate::output::render::plain;

/// The models a query may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryModels {
    /// Only the embedder.
    Embedder,
    /// Also the keyword model.
    Keywords,
    /// Also the answer model.
    Answer,
}

/// Opens the workspace's store; fails if the workspace does not exist.
pub(crate) async fn open_store(config: &Config) -> anyhow::Result<Arc<dyn WorkspaceStore>> {
    Ok(graphloom::setup::open_store(config).await?)
}

/// Opens the workspace's store; creates the workspace if it does not exist. A write waits while another process writes: it
/// prints that it waits, and Ctrl-C ends it.
pub(crate) async fn open_or_create(config: &Config) -> anyhow::Result<Arc<dyn WorkspaceStore>> {
    Ok(graphloom::setup::open_or_create(config, Patience::Endless).await?)
}

/// Returns a generated name for a run of this process.
pub(crate) fn track_of(what: &str, worker: &dyn Worker) -> TrackId {
    TrackId::of_run(what, now(), worker.name())
}

/// Returns whose models and settings a command uses that adds to the workspace: the workspace's, or the command's.
///
/// - `switch`: use those of the command, and keep them for the workspace.
pub(crate) fn build_on(switch: bool) -> BuildWith {
    if switch { BuildWith::Switch } else { BuildWith::Workspace }
}

/// Like [`build_on`], for a command that always uses its own models and settings; the workspace keeps them only with `switch`.
pub(crate) fn build_once(switch: bool) -> BuildWith {
    if switch { BuildWith::Switch } else { BuildWith::Once }
}

/// Returns the context of `add`, `retry`, `work`, `contextualize` and `re-extract`; creates the workspace if it does not exist.
///
/// - `listener`: is called when indexing waits for a model service that is down.
/// - `limit`: budget of the run for all its models.
pub(crate) async fn indexing(
    app: &App,
    worker: &dyn Worker,
    listener: ServiceListener,
    limit: Option<Limit>,
    build_with: BuildWith,
) -> anyhow::Result<Indexing> {
    let App { config, settings, .. } = app;
    let indexing = graphloom::setup::indexing(config, settings, worker, listener, limit, build_with).await?;
    for switched in &indexing.switched {
        app.output.note(format_args!("the workspace is now built with {}", switched.here()));
    }
    Ok(indexing)
}

/// Returns the engine for estimates such as `add --estimate`.
pub(crate) async fn estimating(app: &App) -> anyhow::Result<Engine> {
    Ok(graphloom::setup::estimating(&app.config, &app.settings).await?)
}

/// Returns the engine for `rm` and edits, which can summarize descriptions again.
pub(crate) async fn deleting_engine(app: &App) -> anyhow::Result<Engine> {
    let roles = RoleModels { summarize: app.config.models.summarize.clone(), ..RoleModels::default() };
    let engine = existing(app, &roles).await?;
    graphloom::setup::require_embedder(&engine)?;
    Ok(engine)
}

/// Returns the engine for `ask` and `search`.
pub(crate) async fn query_engine(app: &App, asks: QueryModels) -> anyhow::Result<Engine> {
    let models = app.config.models.clone();
    let none = RoleModels::default();
    let roles = match asks {
        QueryModels::Embedder => none,
        QueryModels::Keywords => RoleModels { keywords: models.keywords, ..none },
        QueryModels::Answer => RoleModels { keywords: models.keywords, answer: models.answer, ..none },
    };
    let mut engine = existing(app, &roles).await?;
    if matches!(asks, QueryModels::Answer) && engine.models.answer.is_none() {
        engine.models.sentence_scorer =
            Providers::new(&app.config).sentence_scorer(Some(engine.models.embedder.name()))?;
    }
    note_absent_models(app, asks);
    Ok(engine)
}

/// Notes which models of the workspace a question goes without, because only the program that built it has them.
fn note_absent_models(app: &App, asks: QueryModels) {
    let absent = |key: &str| app.settings.absent_model(key).map(plain);
    let llm = match asks {
        QueryModels::Embedder => None,
        QueryModels::Keywords => absent("keywords_llm"),
        QueryModels::Answer => absent("answer_llm").or_else(|| absent("keywords_llm")),
    };
    if let Some(llm) = llm {
        app.output.note(format_args!(
            "the workspace is built with the model {llm}, which only its program has; rules replace it here"
        ));
    }
    if let Some(embedder) = absent("embedder") {
        app.output.note(format_args!(
            "the workspace is built with the embedder {embedder}, which only its program has; passages are found by their \
             words, not by their vectors"
        ));
    }
}

async fn existing(app: &App, roles: &RoleModels) -> anyhow::Result<Engine> {
    Ok(graphloom::setup::existing(&app.config, &app.settings, roles).await?)
}

/// Returns the model that judges answers; fails if none is configured.
pub(crate) fn judge(app: &App) -> anyhow::Result<Arc<dyn LanguageModel>> {
    match &app.config.models.judge {
        Some(choice) => Ok(Providers::new(&app.config).chat(choice)?),
        None => Err(Fault::usage("judging needs an LLM, but none is configured")
            .help("set judge_llm, such as --set judge_llm=openai:MODEL; prefer a model that did not write the answers")
            .into()),
    }
}

/// Returns the configured reranker.
pub(crate) async fn reranker(app: &App) -> anyhow::Result<Option<Arc<dyn Reranker>>> {
    match app.config.reranker {
        Some(_) => Ok(graphloom::setup::reranker(&app.config, &open_store(&app.config).await?)?),
        None => Ok(None),
    }
}

/// Warns once if the cost and cache entries of a question could not be stored. The answer is still valid.
pub(crate) fn warn_if_unstored(app: &App, costs: &[&QueryCost]) {
    if let Some(reason) = costs.iter().find_map(|cost| cost.unstored.as_ref()) {
        app.output.warn(format_args!(
            "warning: storing the cost and cache entries of this question failed: {reason}"
        ));
    }
}
