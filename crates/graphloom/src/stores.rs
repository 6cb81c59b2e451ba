//! Where workspaces are stored: files in the data folder, a PostgreSQL database, or a separate database for single workspaces.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graphloom_core::{Patience, SchemaVersion, WorkspaceId, Workspaces};
use graphloom_storage::sqlite::FileWorkspaces;

use crate::config::{Config, Secret};
use crate::error::Result;

/// Returns the place of the configured workspace, with all workspaces stored there. The first call connects
/// to a database and migrates it.
///
/// # Errors
///
/// Fails if a database does not answer within seconds or cannot hold workspaces.
pub fn workspaces(config: &Config) -> Result<Arc<dyn Workspaces>> {
    match &config.store {
        None => Ok(Arc::new(FileWorkspaces::new(&config.data_dir))),
        Some(address) => database::workspaces(config, address.reveal()),
    }
}

/// Returns the place of a workspace, whichever workspace the configuration is for.
///
/// # Errors
///
/// The errors of [`workspaces`].
pub fn place_of(config: &Config, workspace: &WorkspaceId) -> Result<Arc<dyn Workspaces>> {
    match config.stores.get(workspace) {
        Some(address) => database::workspaces(config, address.reveal()),
        None => general(config),
    }
}

/// Returns the workspaces of all places, by name. A workspace whose own database cannot be reached is listed, with a warning.
///
/// # Errors
///
/// Fails if the general place cannot be read.
pub async fn list(config: &Config) -> Result<Vec<WorkspaceId>> {
    let mut names: BTreeSet<WorkspaceId> = general(config)?.list().await?.into_iter().collect();
    names.retain(|name| !config.stores.contains_key(name));
    for (name, address) in &config.stores {
        let exists = match separate_database(config, address.reveal()) {
            Ok(place) => place.exists(name).await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        if exists.unwrap_or_else(|error| {
            tracing::warn!(workspace = %name, error, "its database cannot be reached");
            true
        }) {
            names.insert(name.clone());
        }
    }
    Ok(names.into_iter().collect())
}

/// Returns the workspaces of all places in which a worker would find work, by name; `None` if each would have
/// to be opened to find out.
///
/// # Errors
///
/// Fails if the general place cannot be read. A database of single workspaces that cannot be reached is
/// skipped, with a warning.
pub async fn with_work(config: &Config) -> Result<Option<Vec<WorkspaceId>>> {
    let Some(mut names) = general(config)?.with_work().await? else { return Ok(None) };
    names.retain(|name| !config.stores.contains_key(name));
    let addresses: BTreeSet<&str> = config.stores.values().map(Secret::reveal).collect();
    for address in addresses {
        let found = match separate_database(config, address) {
            Ok(place) => place.with_work().await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => {
                let is_here = |name: &WorkspaceId| {
                    config.stores.get(name).is_some_and(|placed| placed.reveal() == address)
                };
                names.extend(found.into_iter().flatten().filter(is_here));
            }
            Err(error) => tracing::warn!(error, "documents in a database that cannot be reached wait"),
        }
    }
    names.sort();
    Ok(Some(names))
}

/// Returns the schema versions of all places: one per database, and one per workspace file. Changes nothing.
///
/// # Errors
///
/// Fails if a place cannot be read.
pub async fn schema_versions(config: &Config) -> Result<Vec<SchemaVersion>> {
    let mut versions = match &config.general_store {
        None => FileWorkspaces::new(&config.data_dir).schema_versions().await?,
        Some(address) => vec![database::schema_version(address.reveal())?],
    };
    for address in own_databases(config) {
        versions.push(database::schema_version(address)?);
    }
    Ok(versions)
}

/// Migrates the tables of all places to this release, as opening each of them does.
///
/// # Errors
///
/// Fails if a place cannot be opened. The places before it are migrated.
pub async fn migrate(config: &Config) -> Result<()> {
    let general = general(config)?;
    if config.general_store.is_none() {
        for workspace in general.list().await? {
            general.open(&workspace, Patience::Endless).await?;
        }
    }
    own_databases(config).into_iter().try_for_each(|address| database::workspaces(config, address).map(drop))
}

/// Returns the database addresses of single workspaces, each once.
fn own_databases(config: &Config) -> BTreeSet<&str> {
    let general = config.general_store.as_ref().map(Secret::reveal);
    config.stores.values().map(Secret::reveal).filter(|address| Some(*address) != general).collect()
}

/// Returns the place of workspaces that do not have their own database.
fn general(config: &Config) -> Result<Arc<dyn Workspaces>> {
    match &config.general_store {
        None => Ok(Arc::new(FileWorkspaces::new(&config.data_dir))),
        Some(address) => database::workspaces(config, address.reveal()),
    }
}

/// Returns a database of single workspaces. One that could not be opened is tried again after [`RETRY_AFTER`].
fn separate_database(config: &Config, address: &str) -> Result<Arc<dyn Workspaces>, String> {
    let now = Instant::now();
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    failed.retain(|_, (at, _)| now.duration_since(*at) < RETRY_AFTER);
    if let Some((_, error)) = failed.get(address) {
        return Err(error.clone());
    }
    database::workspaces(config, address).map_err(|error| {
        failed.insert(address.to_owned(), (now, error.to_string()));
        error.to_string()
    })
}

/// Databases that could not be opened, with time and error.
static FAILED: Mutex<BTreeMap<String, (Instant, String)>> = Mutex::new(BTreeMap::new());
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Returns all workspaces at an address: a data folder, also written as `sqlite:FOLDER`, or a database,
/// written as `postgres://...`.
///
/// # Errors
///
/// The errors of [`workspaces`].
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

    use graphloom_core::{SchemaVersion, Workspaces};
    use graphloom_postgres::{Database, PostgresWorkspaces};
    use graphloom_storage::workers::LockFiles;

    use crate::config::Config;
    use crate::error::Result;

    /// The databases that this process has opened, by address. A database has threads and connections, so all stores share it.
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

    pub(super) fn schema_version(address: &str) -> Result<SchemaVersion> {
        Ok(Database::schema_version(address)?)
    }
}

#[cfg(not(feature = "postgres"))]
mod database {
    use std::sync::Arc;

    use graphloom_core::{SchemaVersion, Workspaces};

    use crate::config::Config;
    use crate::error::{Fault, Result};

    pub(super) fn workspaces(_: &Config, _: &str) -> Result<Arc<dyn Workspaces>> {
        missing()
    }

    pub(super) fn schema_version(_: &str) -> Result<SchemaVersion> {
        missing()
    }

    fn missing<T>() -> Result<T> {
        let fault = Fault::usage(
            "store selects a PostgreSQL database, but this program was built without PostgreSQL",
        );
        Err(fault.help("remove the key store, or build with the feature `postgres`").into())
    }
}
