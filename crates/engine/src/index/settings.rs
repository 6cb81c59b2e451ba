//! The models and settings that a workspace is built with: stored with its first document, and compared before anything
//! more is built.

use std::collections::BTreeMap;
use std::fmt;

use graphloom_core::{Batch, Require, Snapshot, StoreError, table};

use super::IndexError;
use crate::Engine;
use crate::commit::Retries;

/// The name of the setting that [`super::re_embed`] changes.
pub const EMBEDDER: &str = "embedder";

/// The models and settings of an engine, by name. Except for [`EMBEDDER`], what the names mean is the caller's matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildSettings {
    /// Those that decide what is built. A workspace is built with one value of each; empty for none.
    pub decisive: BTreeMap<String, String>,
    /// Others that the workspace keeps, such as the model that answers.
    pub others: BTreeMap<String, String>,
}

impl BuildSettings {
    fn stored(&self) -> BTreeMap<String, String> {
        self.decisive.iter().chain(&self.others).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What differs from `stored`. A setting that a workspace did not store, as of an older release, does not.
    fn differences(&self, stored: &BTreeMap<String, String>) -> Vec<OtherSetting> {
        let differing = self.decisive.iter().filter_map(|(name, here)| {
            let workspace = stored.get(name).filter(|workspace| *workspace != here)?;
            let (name, workspace, here) = (name.clone(), workspace.clone(), here.clone());
            Some(OtherSetting { name, workspace, here })
        });
        differing.collect()
    }
}

/// A setting with which a workspace is not built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSetting {
    /// Its name.
    pub name: String,
    /// Its value in the workspace; empty for none.
    pub workspace: String,
    /// Its value here; empty for none.
    pub here: String,
}

impl OtherSetting {
    /// Its name and its value here, for people.
    pub fn here(&self) -> String {
        format!("{} {}", self.name, shown(&self.here))
    }
}

/// A value for people.
fn shown(value: &str) -> String {
    match value.chars().count() {
        0 => "(unset)".to_owned(),
        1..=MAX_SHOWN_CHARS => value.to_owned(),
        _ => value.chars().take(MAX_SHOWN_CHARS).chain(['…']).collect(),
    }
}

impl fmt::Display for OtherSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, not {}", self.name, shown(&self.workspace), shown(&self.here))
    }
}

/// Characters of a value that are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// Refuses an engine that would build with other models and settings than the workspace was built with. A workspace
/// without documents may be built with any.
///
/// # Errors
///
/// [`IndexError::OtherSettings`], and errors of the store.
pub async fn require_settings(engine: &Engine) -> Result<(), IndexError> {
    require_settings_at(engine, engine.store.snapshot().await?.as_ref()).await
}

/// As [`require_settings`], at a snapshot.
pub(super) async fn require_settings_at(engine: &Engine, snapshot: &dyn Snapshot) -> Result<(), IndexError> {
    let Some(settings) = &engine.index.settings else { return Ok(()) };
    let differences = settings.differences(&snapshot.settings().await?);
    if differences.is_empty() || has_no_documents(snapshot).await? {
        return Ok(());
    }
    Err(IndexError::OtherSettings(differences))
}

/// Lets `batch` store the engine's settings where it brings the first documents, or the workspace stores none.
pub(super) async fn store_with_documents(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    batch: &mut Batch,
) -> Result<(), StoreError> {
    let Some(settings) = engine.index.settings.as_ref().filter(|_| !batch.put_documents.is_empty()) else {
        return Ok(());
    };
    let stored = snapshot.settings().await?;
    if stored.is_empty() || has_no_documents(snapshot).await? {
        batch.require.push(Require::SettingsAre(stored));
        batch.set_settings = Some(settings.stored());
    }
    Ok(())
}

/// Builds the workspace with the engine's models and settings from now on. What is there stays as it is. Says what
/// changed.
pub async fn switch_settings(engine: &Engine) -> Result<Vec<OtherSetting>, StoreError> {
    let Some(settings) = &engine.index.settings else { return Ok(Vec::new()) };
    let mut retries = Retries::new("other processes changed the settings of the workspace");
    loop {
        let stored = engine.store.snapshot().await?.settings().await?;
        let differences = settings.differences(&stored);
        let wanted = settings.stored();
        if stored == wanted {
            return Ok(differences);
        }
        let require = vec![Require::SettingsAre(stored)];
        let batch = Batch { require, set_settings: Some(wanted), ..Batch::default() };
        if retries.is_done(engine.store.commit(batch).await)? {
            return Ok(differences);
        }
    }
}

/// Lets `batch`, which replaces the vectors, store the engine's embedder in place of the workspace's, and what it needs to be
/// reached.
pub(super) async fn store_embedder(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    batch: &mut Batch,
) -> Result<(), StoreError> {
    let Some(settings) = &engine.index.settings else { return Ok(()) };
    let mut stored = snapshot.settings().await?;
    if let Some((embedder, known)) = settings.decisive.get(EMBEDDER).zip(stored.get_mut(EMBEDDER)) {
        known.clone_from(embedder);
        for (name, value) in &settings.others {
            stored.entry(name.clone()).or_insert_with(|| value.clone());
        }
        batch.set_settings = Some(stored);
    }
    Ok(())
}

async fn has_no_documents(snapshot: &dyn Snapshot) -> Result<bool, StoreError> {
    Ok(snapshot.scan(table::Documents, None, 1).await?.is_empty())
}
