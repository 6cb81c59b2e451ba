//! What the server is served with: a workspace with its engines, and the readers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use graphloom_core::{StoreError, WorkspaceId};
use graphloom_engine::index::{Reading, Source};
use graphloom_engine::parse::ParseLimits;
use graphloom_providers::http::ServiceNotice;
use graphloom_server::{Host, HostError, Missing, Opened, Pauses};
use graphloom_storage::sqlite::{Patience, exists, list_workspaces};
use graphloom_storage::workers::Worker;

use super::{Providers, embeds_by_service, engine, gone, open_patiently, reranker, workspace_file};
use crate::commands::App;
use crate::config::RoleModels;
use crate::fault;
use crate::wording::Wording;

/// How long a change waits while another process writes, before it is refused as one that can be tried again.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Opens workspaces as they are configured, each with what is configured for it alone.
pub(crate) struct ServingHost {
    app: App,
    worker: Arc<Worker>,
}

impl ServingHost {
    /// - `worker`: this process, whose leases its runs hold.
    pub(crate) fn new(app: &App, worker: Worker) -> Self {
        Self { app: app.clone(), worker: Arc::new(worker) }
    }

    /// The configuration of a workspace.
    fn app_of(&self, workspace: &WorkspaceId) -> anyhow::Result<App> {
        let mut surroundings = self.app.surroundings.clone();
        // Of a key said twice the first counts.
        let flag = ("workspace".to_owned(), workspace.to_string(), "the workspace of a request".to_owned());
        surroundings.flags.insert(0, flag);
        let (config, settings) = super::configured(&mut surroundings)?;
        Ok(App { config, settings, surroundings, ..self.app.clone() })
    }

    async fn opened(&self, workspace: &WorkspaceId, missing: Missing) -> anyhow::Result<Option<Opened>> {
        let app = &self.app_of(workspace)?;
        let config = &app.config;
        if missing == Missing::Leave && !exists(&config.data_dir, &config.workspace) {
            return Ok(None);
        }
        // Before the workspace is made: a wrong model or prompt must not leave an empty one behind.
        super::require_context_model(config)?;
        let wording = Wording::read(config)?;
        let impatient = Providers::new(config);
        let pauses = Arc::new(Pauses::default());
        let told = Arc::clone(&pauses);
        let patient = Providers::patient(config, Arc::new(move |notice| note(&told, notice)));
        let models = config.models.clone();
        let asking = RoleModels { context: None, extract: None, summarize: None, ..models.clone() };
        let indexing = RoleModels { keywords: None, answer: None, ..models };
        let (asking, indexing) = (impatient.chat_models(&asking)?, patient.chat_models(&indexing)?);
        let reranker = reranker(app)?;
        let store = open_patiently(config, Patience::Limited(WRITE_PATIENCE))?;
        if let Err(error) = self.worker.try_again() {
            tracing::debug!(%error, "the workspace is only read");
        }
        let mut asking = engine(app, store.clone(), asking, &impatient, wording.clone()).await?;
        asking.models.reranker = reranker;
        let mut indexing = engine(app, store.clone(), indexing, &patient, wording).await?;
        let embeds_by_service = embeds_by_service(&asking);
        if !embeds_by_service {
            // A model in this process takes its memory once.
            indexing.models.embedder = asking.models.embedder.clone();
        }
        self.worker.name().clone_into(&mut indexing.index.worker);
        // A document is not taken away from who waits for a service; a lease whose process has ended is void anyway.
        let pause_ms = u64::try_from(config.max_pause.as_millis()).unwrap_or(u64::MAX);
        indexing.index.lease_ms = indexing.index.lease_ms.saturating_add(pause_ms.saturating_mul(2));
        Ok(Some(Opened {
            asking,
            indexing,
            user_prompt_prefix: config.user_prompt_prefix.clone(),
            prices: config.prices.clone(),
            embeds_by_service,
            gone: Arc::new(gone(config)),
            file: Some(workspace_file(config)),
            pauses,
            probe: Arc::new({
                let (store, worker) = (store.clone(), Arc::clone(&self.worker));
                move || {
                    store.probe()?;
                    worker.try_again()
                }
            }),
            catch_up: Arc::new(move || store.catch_up()),
        }))
    }
}

#[async_trait]
impl Host for ServingHost {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError> {
        list_workspaces(&self.app.config.data_dir).map_err(|error| said(&error.into()))
    }

    async fn open(&self, workspace: &WorkspaceId, missing: Missing) -> Result<Option<Opened>, HostError> {
        self.opened(workspace, missing).await.map_err(|error| said(&error))
    }

    async fn read(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<Reading> {
        self.app.readers.read_all(sources, limits).await
    }
}

/// A model service that is waited for is counted, and belongs into the log.
fn note(pauses: &Pauses, notice: ServiceNotice) {
    match notice {
        ServiceNotice::Paused { service, reason, .. } => {
            pauses.pause(&service);
            tracing::warn!(service, reason, "a model service is down; indexing waits for it");
        }
        ServiceNotice::Resumed { service } => {
            pauses.resume(&service);
            tracing::info!(service, "a model service answers again");
        }
    }
}

fn said(error: &anyhow::Error) -> HostError {
    let is_of_store = error.chain().any(|cause| cause.downcast_ref::<StoreError>().is_some());
    HostError { message: format!("{error:#}"), remedy: fault::remedy(error), is_of_store }
}
