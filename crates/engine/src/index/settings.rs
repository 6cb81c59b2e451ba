//! The models and settings that a workspace is built with. They are stored with its first document, and compared before anything
//! else is built.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use graphloom_core::{Batch, Require, Revision, Role, Snapshot, StoreError, table};

use super::IndexError;
use crate::Engine;
use crate::commit::Retries;

/// Name of the setting that [`super::re_embed`] changes.
pub const EMBEDDER: &str = "embedder";

/// Name of the setting with a model of the workspace that its service does not have.
pub const MISSING_MODEL: &str = "missing_model";

/// Why a change of the settings was not committed.
const CHANGING: &str = "other processes changed the settings of the workspace";

/// The models and settings of an engine, by name. Apart from [`EMBEDDER`], the caller decides what the names mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildSettings {
    /// Settings that decide what is built. A workspace is built with one value of each; an empty value means unset.
    pub decisive: BTreeMap<String, String>,
    /// Other settings that the workspace stores, such as the model that answers.
    pub others: BTreeMap<String, String>,
    /// Models of the workspace that this process does not have, by setting. Nothing is built without them.
    pub absent: BTreeMap<String, String>,
}

impl BuildSettings {
    fn stored(&self) -> BTreeMap<String, String> {
        self.decisive.iter().chain(&self.others).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns what differs from `stored`. A setting missing there, as in workspaces of older releases, does not count.
    fn differences(&self, stored: &BTreeMap<String, String>) -> Vec<OtherSetting> {
        let differing = self.decisive.iter().filter_map(|(name, here)| {
            let workspace = stored.get(name).filter(|workspace| *workspace != here)?;
            let (name, workspace, here) = (name.clone(), workspace.clone(), here.clone());
            Some(OtherSetting { name, workspace, here })
        });
        differing.collect()
    }

    /// Returns the models in `stored` that this process does not have.
    fn absent_from(&self, stored: &BTreeMap<String, String>) -> BTreeSet<String> {
        let absent = self.absent.iter().filter(|(name, model)| stored.get(*name) == Some(*model));
        absent.map(|(_, model)| model.clone()).collect()
    }
}

/// A setting whose value differs from that of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSetting {
    /// Its name.
    pub name: String,
    /// Its value in the workspace; empty if unset.
    pub workspace: String,
    /// Its value in this engine; empty if unset.
    pub here: String,
}

impl OtherSetting {
    /// Returns its name and its value in this engine, for display.
    pub fn here(&self) -> String {
        format!("{} {}", self.name, shown(&self.here))
    }
}

/// Formats a value for display.
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

/// Maximum number of characters of a value to show.
const MAX_SHOWN_CHARS: usize = 60;

/// Rejects an engine whose models or settings differ from those that the workspace was built with, or that lacks one of its
/// models. A workspace without documents accepts any. Another model may replace one that its service does not have, see
/// [`MISSING_MODEL`].
///
/// # Errors
///
/// [`IndexError::OtherSettings`], [`IndexError::AbsentModels`], and errors of the store.
pub async fn require_settings(engine: &Engine) -> Result<(), IndexError> {
    require_settings_at(engine, engine.store.snapshot().await?.as_ref()).await
}

/// Rejects an engine that lacks a model that the workspace was built with, even if it may use other models and settings. A
/// workspace without documents accepts any.
///
/// # Errors
///
/// [`IndexError::AbsentModels`], and errors of the store.
pub async fn require_models(engine: &Engine) -> Result<(), IndexError> {
    let Some(settings) = &engine.index.settings else { return Ok(()) };
    let snapshot = engine.store.snapshot().await?;
    let absent = settings.absent_from(&snapshot.settings().await?);
    if absent.is_empty() || has_no_documents(snapshot.as_ref()).await? {
        return Ok(());
    }
    Err(IndexError::AbsentModels(absent))
}

/// Same as [`require_settings`], for a snapshot.
pub(super) async fn require_settings_at(engine: &Engine, snapshot: &dyn Snapshot) -> Result<(), IndexError> {
    let Some(settings) = &engine.index.settings else { return Ok(()) };
    let stored = snapshot.settings().await?;
    let (absent, mut differences) = (settings.absent_from(&stored), settings.differences(&stored));
    if !differences.is_empty()
        && let Some(missing) = unused_missing_model(snapshot, &stored).await?
    {
        differences.retain(|difference| difference.workspace != missing);
    }
    if (absent.is_empty() && differences.is_empty()) || has_no_documents(snapshot).await? {
        return Ok(());
    }
    match absent.is_empty() {
        true => Err(IndexError::OtherSettings(differences)),
        false => Err(IndexError::AbsentModels(absent)),
    }
}

/// Makes `batch` store the engine's settings if it adds the first documents or the workspace has none stored.
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

/// Notes that a service does not have a model of the workspace. Until a model of its kind answers, another may replace it.
pub(super) async fn note_missing_model(engine: &Engine, model: &str) -> Result<(), StoreError> {
    let mut retries = Retries::new(CHANGING);
    loop {
        let stored = engine.store.snapshot().await?.settings().await?;
        let mut noted = stored.clone();
        if stored.values().any(|value| value == model) {
            noted.insert(MISSING_MODEL.to_owned(), model.to_owned());
        }
        if noted == stored || retries.is_done(replace(engine, stored, noted).await)? {
            return Ok(());
        }
    }
}

/// Stores the engine's models and settings if [`require_settings`] accepted another model instead of a missing one.
pub(super) async fn replace_missing_model(engine: &Engine) -> Result<(), StoreError> {
    let Some(settings) = &engine.index.settings else { return Ok(()) };
    let mut retries = Retries::new(CHANGING);
    loop {
        let stored = engine.store.snapshot().await?.settings().await?;
        let Some(missing) = stored.get(MISSING_MODEL) else { return Ok(()) };
        let wanted = settings.stored();
        if wanted.values().any(|value| value == missing)
            || retries.is_done(replace(engine, stored, wanted).await)?
        {
            return Ok(());
        }
    }
}

/// Returns the model that a service does not have, if no model of its kind, LLM or embedder, has answered in this workspace.
async fn unused_missing_model(
    snapshot: &dyn Snapshot,
    stored: &BTreeMap<String, String>,
) -> Result<Option<String>, StoreError> {
    let Some(missing) = stored.get(MISSING_MODEL) else { return Ok(None) };
    let embeds = stored.get(EMBEDDER) == Some(missing);
    let mut pages = snapshot.pages(table::Calls);
    while let Some(calls) = pages.next().await? {
        if calls.iter().any(|call| call.is_answered() && (call.role == Role::Embed) == embeds) {
            return Ok(None);
        }
    }
    Ok(Some(missing.clone()))
}

/// Replaces the settings of the workspace if they are still `stored`.
async fn replace(
    engine: &Engine,
    stored: BTreeMap<String, String>,
    wanted: BTreeMap<String, String>,
) -> Result<Revision, StoreError> {
    let require = vec![Require::SettingsAre(stored)];
    engine.store.commit(Batch { require, set_settings: Some(wanted), ..Batch::default() }).await
}

/// Makes the workspace use the engine's models and settings from now on. Existing content stays as it is. Returns what
/// changed.
pub async fn switch_settings(engine: &Engine) -> Result<Vec<OtherSetting>, StoreError> {
    let Some(settings) = &engine.index.settings else { return Ok(Vec::new()) };
    let mut retries = Retries::new(CHANGING);
    loop {
        let stored = engine.store.snapshot().await?.settings().await?;
        let differences = settings.differences(&stored);
        let wanted = settings.stored();
        if stored == wanted {
            return Ok(differences);
        }
        if retries.is_done(replace(engine, stored, wanted).await)? {
            return Ok(differences);
        }
    }
}

/// Makes `batch`, which replaces the vectors, store the engine's embedder instead of the workspace's, together with the settings
/// that it needs.
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
