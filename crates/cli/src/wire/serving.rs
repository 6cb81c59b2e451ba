//! Provides the server with workspaces, engines and readers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use graphloom::setup::{self, Engines, OwnModels, embeds_by_service, gone};
use graphloom::stores::workspaces;
use graphloom_core::{Patience, SharedTexts, Worker, WorkspaceId};
use graphloom_engine::index::{Source, SourceText};
use graphloom_engine::readers::ParseLimits;
use graphloom_providers::http::ServiceNotice;
use graphloom_server::{Host, HostError, IfMissing, OpenWorkspace, Pauses};

use crate::commands::App;
use crate::fault;

/// How long a change waits while another process writes before it fails with an error that can be retried.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Opens workspaces with their configuration, including settings for one workspace.
pub(crate) struct ServingHost {
    app: App,
    worker: Arc<dyn Worker>,
    shared_texts: Option<Arc<dyn SharedTexts>>,
}

impl ServingHost {
    /// - `worker`: this process; its runs hold leases under this name.
    pub(crate) fn new(app: &App, worker: Arc<dyn Worker>) -> anyhow::Result<Self> {
        let shared_texts = workspaces(&app.config)?.shared_texts();
        Ok(Self { app: app.clone(), worker, shared_texts })
    }

    /// The app of a workspace.
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
        let pauses = Arc::new(Pauses::default());
        let listener = {
            let pauses = Arc::clone(&pauses);
            Arc::new(move |notice| note(&pauses, notice))
        };
        let patience = Patience::Limited(WRITE_PATIENCE);
        let own = OwnModels::default();
        let Engines { asking, indexing, store } =
            setup::engines(config, &app.settings, &own, self.worker.as_ref(), patience, listener).await?;
        if let Err(error) = self.worker.try_again() {
            tracing::debug!(%error, "the workspace is read-only");
        }
        Ok(Some(OpenWorkspace {
            user_prompt_prefix: config.user_prompt_prefix.clone(),
            prices: config.prices.clone(),
            embeds_by_service: embeds_by_service(&asking),
            asking,
            indexing,
            gone: Arc::new(gone(config)?),
            worker: Arc::clone(&self.worker),
            store,
            pauses,
        }))
    }
}

#[async_trait]
impl Host for ServingHost {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError> {
        let listed = async { anyhow::Ok(workspaces(&self.app.config)?.list().await?) };
        listed.await.map_err(|error| said(&error))
    }

    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>> {
        self.shared_texts.clone()
    }

    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, HostError> {
        let found = async { anyhow::Ok(workspaces(&self.app.config)?.with_work().await?) };
        found.await.map_err(|error| said(&error))
    }

    async fn open(
        &self,
        workspace: &WorkspaceId,
        missing: IfMissing,
    ) -> Result<Option<OpenWorkspace>, HostError> {
        self.opened(workspace, missing).await.map_err(|error| said(&error))
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

fn said(error: &anyhow::Error) -> HostError {
    let is_of_store = fault::of_store(error).is_some();
    HostError { message: format!("{error:#}"), remedy: fault::remedy(error), is_of_store }
}
