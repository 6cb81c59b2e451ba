//! Implements the `Workspaces` port for the workspaces of a database.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{
    BudgetChange, BudgetOutcome, Clock, Finding, HeldWorkspace, Patience, Repairs, SharedTexts, StoreError,
    StoreSize, Upkeep, Workers, WorkspaceBudget, WorkspaceId, WorkspaceStore, Workspaces,
};

use crate::connect::{Database, HeldRow};
use crate::nearest_index::INDEXED;
use crate::store::PostgresStore;
use crate::workers::{DatabaseClock, DatabaseWorkers};

/// The workspaces of a database.
pub struct PostgresWorkspaces {
    database: Database,
    workers: DatabaseWorkers,
}

impl PostgresWorkspaces {
    /// - `of_host`: the workers on this host, about which more is known than about others.
    pub fn new(database: Database, of_host: Arc<dyn Workers>) -> Self {
        let workers = DatabaseWorkers::new(&database, of_host);
        Self { database, workers }
    }
}

#[async_trait]
impl Workspaces for PostgresWorkspaces {
    fn place(&self) -> String {
        self.database.name().to_owned()
    }

    async fn list(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        self.database.list().await
    }

    async fn exists(&self, workspace: &WorkspaceId) -> Result<bool, StoreError> {
        self.database.exists(workspace).await
    }

    async fn settings_of(&self, workspace: &WorkspaceId) -> Result<BTreeMap<String, String>, StoreError> {
        self.database.settings_of(workspace).await
    }

    /// Ignores `Patience`: a commit waits as long as the database's own limits allow.
    async fn open(
        &self,
        workspace: &WorkspaceId,
        _: Patience,
    ) -> Result<Arc<dyn WorkspaceStore>, StoreError> {
        Ok(Arc::new(self.database.open_or_create(workspace.clone()).await?))
    }

    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, StoreError> {
        self.database.with_work().await.map(Some)
    }

    async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        self.database.delete(workspace).await
    }

    async fn hold(&self, workspace: &WorkspaceId) -> Result<Box<dyn HeldWorkspace>, StoreError> {
        Ok(Box::new(self.database.hold(workspace).await?))
    }

    fn shared_texts(&self) -> Option<Arc<dyn SharedTexts>> {
        Some(Arc::new(self.database.clone()))
    }

    fn limits(&self) -> Arc<dyn SharedTexts> {
        Arc::new(self.database.clone())
    }

    fn workers(&self) -> &dyn Workers {
        &self.workers
    }

    fn repairs(&self) -> Option<&dyn Repairs> {
        None
    }
}

#[async_trait]
impl WorkspaceStore for PostgresStore {
    fn place(&self) -> String {
        self.database_name().to_owned()
    }

    fn size(&self) -> Option<StoreSize> {
        None
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(self.database_clock())
    }

    async fn budget(&self) -> Result<Option<WorkspaceBudget>, StoreError> {
        self.read_budget().await
    }

    async fn change_budget(&self, change: BudgetChange) -> Result<BudgetOutcome, StoreError> {
        self.apply_to_budget(change).await
    }

    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError> {
        match upkeep {
            Upkeep::Probe => self.probe().await,
            Upkeep::CatchUp => self.index_vectors(INDEXED).await,
            Upkeep::Rest => {
                self.rest();
                Ok(())
            }
        }
    }

    async fn verify(&self) -> Result<Vec<Finding>, StoreError> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl SharedTexts for Database {
    fn place(&self) -> String {
        self.name().to_owned()
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Some(Arc::new(DatabaseClock(Arc::clone(&self.shared))))
    }

    async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        self.shared_text(name).await
    }

    async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError> {
        self.replace_shared_text(name, version, text).await
    }
}

#[async_trait]
impl HeldWorkspace for HeldRow {
    async fn delete(self: Box<Self>) -> Result<(), StoreError> {
        HeldRow::delete(*self).await
    }
}
