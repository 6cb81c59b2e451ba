//! Where workspaces are kept: the one choice between files of the data folder and a PostgreSQL database.

use std::sync::Arc;

use graphloom_core::Workspaces;
use graphloom_storage::sqlite::FileWorkspaces;

use crate::config::Config;
use crate::error::Result;

/// All workspaces of one configuration. A database is connected to by the first call and brought up to date.
///
/// # Errors
///
/// A database that does not answer within seconds, or cannot hold workspaces.
pub fn workspaces(config: &Config) -> Result<Arc<dyn Workspaces>> {
    match &config.store {
        None => Ok(Arc::new(FileWorkspaces::new(&config.data_dir))),
        Some(address) => database::workspaces(config, address.reveal()),
    }
}

/// All workspaces at an address: a data folder, also as `sqlite:FOLDER`, or a database as `postgres://...`.
///
/// # Errors
///
/// Those of [`workspaces`].
pub fn workspaces_at(config: &Config, address: &str) -> Result<Arc<dyn Workspaces>> {
    match address.starts_with("postgres://") || address.starts_with("postgresql://") {
        true => database::workspaces(config, address),
        false => Ok(Arc::new(FileWorkspaces::new(address.strip_prefix("sqlite:").unwrap_or(address)))),
    }
}

#[cfg(feature = "postgres")]
mod database {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex, PoisonError};

    use graphloom_core::Workspaces;
    use graphloom_postgres::{Database, PostgresWorkspaces};
    use graphloom_storage::workers::LockFiles;

    use crate::config::Config;
    use crate::error::Result;

    /// The databases this process has opened, by address. Each has threads and connections, so one serves all stores.
    static DATABASES: Mutex<BTreeMap<String, Database>> = Mutex::new(BTreeMap::new());

    pub(super) fn workspaces(config: &Config, address: &str) -> Result<Arc<dyn Workspaces>> {
        let mut opened = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match opened.get(address) {
            Some(database) => database.clone(),
            None => {
                let database = Database::open(address)?;
                opened.insert(address.to_owned(), database.clone());
                database
            }
        };
        let workers = Arc::new(LockFiles::of_host(&config.data_dir));
        Ok(Arc::new(PostgresWorkspaces::new(database, workers)))
    }
}

#[cfg(not(feature = "postgres"))]
mod database {
    use std::sync::Arc;

    use graphloom_core::Workspaces;

    use crate::config::Config;
    use crate::error::{Fault, Result};

    pub(super) fn workspaces(_: &Config, _: &str) -> Result<Arc<dyn Workspaces>> {
        let fault =
            Fault::usage("store is the address of a database, and this program is built without PostgreSQL");
        Err(fault.help("leave store out, or build with the feature `postgres`").into())
    }
}
