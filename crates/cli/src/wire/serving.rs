//! Provides the server with workspaces, engines and readers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use graphloom::config::{Config, Latest, Secret};
use graphloom::setup::{self, Engines, OwnModels, embeds_by_service, gone};
use graphloom::stores::{self, workspaces};
use graphloom_core::{Patience, SharedTexts, Worker, WorkspaceId};
use graphloom_engine::index::{Source, SourceText};
use graphloom_providers::http::ServiceNotice;
use graphloom_readers::ParseLimits;
use graphloom_server::{Host, HostError, IfMissing, OpenWorkspace, Pauses};
use tokio::sync::Mutex;

use crate::commands::App;
use crate::fault;

/// How long a change waits for another process that writes before it fails with a transient error.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Opens workspaces with their configuration, including settings for one workspace.
pub(crate) struct ServingHost {
    app: App,
    worker: Arc<dyn Worker>,
    /// This process as a worker of the databases of single workspaces, by their address.
    workers_elsewhere: Mutex<BTreeMap<String, Arc<dyn Worker>>>,
    shared_texts: Option<Arc<dyn SharedTexts>>,
    /// The current configuration, read again when its files change: a workspace may have moved.
    latest: Latest,
}

impl ServingHost {
    /// - `worker`: this process; its runs hold leases under this name.
    pub(crate) fn new(app: &App, worker: Arc<dyn Worker>) -> anyhow::Result<Self> {
        let shared_texts = workspaces(&app.config)?.shared_texts();
        let latest = Latest::new(app.surroundings.clone());
        Ok(Self { app: app.clone(), worker, workers_elsewhere: Mutex::default(), shared_texts, latest })
    }

    /// Returns this process as a worker of the place of a workspace, which is where its leases are.
    async fn worker_at(&self, config: &Config) -> anyhow::Result<Arc<dyn Worker>> {
        let address = |store: &Option<Secret>| store.as_ref().map(|store| store.reveal().to_owned());
        let (own, there) = (address(&self.app.config.store), address(&config.store));
        let Some(there) = there.filter(|there| own.as_ref() != Some(there)) else {
            return Ok(Arc::clone(&self.worker));
        };
        let mut elsewhere = self.workers_elsewhere.lock().await;
        if let Some(worker) = elsewhere.get(&there) {
            return Ok(Arc::clone(worker));
        }
        let worker = setup::register_server(config).await?;
        elsewhere.insert(there, Arc::clone(&worker));
        Ok(worker)
    }

    /// Returns the app for a workspace.
    async fn app_of(&self, workspace: &WorkspaceId) -> anyhow::Result<App> {
        let mut surroundings = self.app.surroundings.clone();
        // If a key is set twice, the first wins.
        let flag = ("workspace".to_owned(), workspace.to_string(), "the workspace of a request".to_owned());
        surroundings.flags.insert(0, flag);
        let (config, settings) = setup::configured(&mut surroundings).await?;
        Ok(App { config, settings, surroundings, ..self.app.clone() })
    }

    async fn opened(
        &self,
        workspace: &WorkspaceId,
        missing: IfMissing,
    ) -> anyhow::Result<Option<OpenWorkspace>> {
        let app = &self.app_of(workspace).await?;
        let config = &app.config;
        if missing == IfMissing::Leave && !setup::exists(config).await? {
            return Ok(None);
        }
        for key in ["answer_llm", "embedder"] {
            if let Some(model) = app.settings.absent_model(key) {
                tracing::warn!(
                    %workspace,
                    model,
                    "built with a model that only its program has: questions are answered without it, and documents \
                     are refused"
                );
            }
        }
        let pauses = Arc::new(Pauses::default());
        let listener = {
            let pauses = Arc::clone(&pauses);
            Arc::new(move |notice| note(&pauses, notice))
        };
        let patience = Patience::Limited(WRITE_PATIENCE);
        let worker = self.worker_at(config).await?;
        let own = OwnModels::default();
        let Engines { asking, indexing, store } =
            setup::engines(config, &app.settings, &own, worker.as_ref(), patience, listener).await?;
        if let Err(error) = worker.try_again() {
            tracing::debug!(%error, "the workspace is read-only");
        }
        Ok(Some(OpenWorkspace {
            user_prompt_prefix: config.user_prompt_prefix.clone(),
            prices: config.prices.clone(),
            embeds_by_service: embeds_by_service(&asking),
            asking,
            indexing,
            gone: Arc::new(gone(config)?),
            worker,
            store,
            pauses,
        }))
    }
}

#[async_trait]
impl Host for ServingHost {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError> {
        let listed = async { anyhow::Ok(stores::list(self.latest.get()?.as_ref()).await?) };
        listed.await.map_err(|error| host_error(&error))
    }

    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>> {
        self.shared_texts.clone()
    }

    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, HostError> {
        let found = async { anyhow::Ok(stores::with_work(self.latest.get()?.as_ref()).await?) };
        found.await.map_err(|error| host_error(&error))
    }

    async fn open(
        &self,
        workspace: &WorkspaceId,
        missing: IfMissing,
    ) -> Result<Option<OpenWorkspace>, HostError> {
        self.opened(workspace, missing).await.map_err(|error| host_error(&error))
    }

    async fn read(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<SourceText> {
        self.app.readers.read_all(sources, limits).await
    }
}

/// Counts and logs the waits for model services.
fn note(pauses: &Pauses, notice: ServiceNotice) {
    match notice {
        ServiceNotice::Paused { service, reason, .. } => {
            pauses.pause(&service);
            tracing::warn!(service, reason, "model service down; indexing waits");
        }
        ServiceNotice::Resumed { service } => {
            pauses.resume(&service);
            tracing::info!(service, "model service available again");
        }
    }
}

fn host_error(error: &anyhow::Error) -> HostError {
    let is_of_store = fault::of_store(error).is_some();
    HostError { message: format!("{error:#}"), remedy: fault::remedy(error), is_of_store }
}
