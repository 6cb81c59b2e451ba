//! The workspaces of a database behind the port.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use graphloom_core::{
    Finding, Patience, Repairs, StoreError, StoreSize, Upkeep, Workers, WorkspaceId, WorkspaceStore,
    Workspaces,
};

use crate::connect::Database;
use crate::store::PostgresStore;

/// The workspaces of a database.
pub struct PostgresWorkspaces {
    database: Database,
    workers: Arc<dyn Workers>,
}

impl PostgresWorkspaces {
    /// - `workers`: the processes of this host. A database does not know which of them run.
    pub fn new(database: Database, workers: Arc<dyn Workers>) -> Self {
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

    /// A commit waits as long as the database's own limits say.
    async fn open(
        &self,
        workspace: &WorkspaceId,
        _: Patience,
    ) -> Result<Arc<dyn WorkspaceStore>, StoreError> {
        Ok(Arc::new(self.database.open_or_create(workspace.clone()).await?))
    }

    async fn delete(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        self.database.delete(workspace).await
    }

    fn workers(&self) -> &dyn Workers {
        self.workers.as_ref()
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

    async fn maintain(&self, upkeep: Upkeep) -> Result<(), StoreError> {
        match upkeep {
            Upkeep::Probe => self.probe().await,
            // Indexes are part of each commit.
            Upkeep::CatchUp => Ok(()),
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
