//! Opening a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphloom_core::{Embedder, LanguageModel, Patience, Progress};
use graphloom_providers::http::{ServiceListener, ServiceNotice};

use crate::Graphloom;
use crate::config::{Surroundings, keys};
use crate::error::{Fault, Result};
use crate::project::{DATA_DIR, Here};
use crate::reading::{ReaderProgram, Readers};
use crate::setup;

/// The file extension of a workspace.
const ENDING: &str = "graphloom";

/// An LLM: given by name, such as `"openai:gpt-4o-mini"`, or your own implementation.
#[derive(Clone)]
pub enum Llm {
    /// `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `ollama:MODEL`.
    Named(String),
    /// Any implementation of the trait.
    Own(Arc<dyn LanguageModel>),
}

impl From<&str> for Llm {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl<M: LanguageModel + 'static> From<Arc<M>> for Llm {
    fn from(model: Arc<M>) -> Self {
        Self::Own(model)
    }
}

/// Receives progress events of indexing.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// The options for opening a workspace. [`Graphloom::open`] creates them, and [`build`](Self::build) opens the workspace.
#[must_use = "nothing is opened before `build`"]
pub struct Builder {
    data_dir: PathBuf,
    workspace: Option<String>,
    project: Option<PathBuf>,
    config_file: Option<PathBuf>,
    settings: Vec<(String, String)>,
    llm: Option<Arc<dyn LanguageModel>>,
    embedder: Option<Arc<dyn Embedder>>,
    reads_environment: bool,
    must_exist: bool,
    readers: ReaderProgram,
    on_progress: OnProgress,
}

impl Builder {
    pub(crate) fn new(path: &Path) -> Self {
        let is_file = path.extension().is_some_and(|ending| ending == ENDING);
        let (data_dir, workspace) = match (is_file, path.file_stem().and_then(|stem| stem.to_str())) {
            (true, Some(name)) => (path.parent().unwrap_or(Path::new("")).to_owned(), Some(name.to_owned())),
            _ => (path.to_owned(), None),
        };
        Self {
            data_dir: if data_dir.as_os_str().is_empty() { PathBuf::from(".") } else { data_dir },
            workspace,
            project: None,
            config_file: None,
            settings: Vec::new(),
            llm: None,
            embedder: None,
            reads_environment: false,
            must_exist: false,
            readers: ReaderProgram::InProcess,
            on_progress: Arc::new(|_| {}),
        }
    }

    /// Selects the workspace with this name instead of the one given by the path, or `default`.
    pub fn workspace(mut self, name: impl Into<String>) -> Self {
        self.workspace = Some(name.into());
        self
    }

    /// Sets the LLM that extracts, summarizes and answers. Without one, rules extract and answers consist of
    /// verbatim sentences.
    ///
    /// The API key of an LLM given by name comes from the environment, for example from `OPENAI_API_KEY`.
    pub fn llm(mut self, llm: impl Into<Llm>) -> Self {
        match llm.into() {
            Llm::Named(name) => return self.setting("llm", name),
            Llm::Own(model) => self.llm = Some(model),
        }
        self
    }

    /// Sets the embedder: `builtin`, `static:NAME`, `local:NAME`, `openai:MODEL`, `gemini:MODEL` or `ollama:MODEL`.
    pub fn embedder(self, name: impl Into<String>) -> Self {
        self.setting("embedder", name)
    }

    /// Sets your own embedder. Its name is stored with the workspace, which later refuses a different embedder.
    pub fn own_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// Sets any configuration key, such as `("chunk_tokens", "600")`. It takes precedence over the environment, files and what
    /// the workspace was built with. An empty value unsets the key.
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// Reads `graphloom.toml` and `.env` from a folder, or from the project around it, and the environment, as the command
    /// line does in the current folder. Source names are paths relative to the project. Without this call, no file is read,
    /// source names are relative to the current folder, and of the environment only API keys and addresses of model services
    /// count.
    pub fn project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.project = Some(folder.into());
        self
    }

    /// Reads every setting from the environment, such as `GRAPHLOOM_LLM`. Without this call and without
    /// [`project`](Self::project), only API keys and addresses of model services come from there, such as `OPENAI_API_KEY`
    /// and `OLLAMA_HOST`, so that a variable for the command line does not change your program.
    pub fn environment(mut self) -> Self {
        self.reads_environment = true;
        self
    }

    /// Fails with [`Error::NoWorkspace`](crate::Error::NoWorkspace) instead of creating a workspace that does not exist.
    pub fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// Reads this configuration file.
    pub fn config_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.config_file = Some(file.into());
        self
    }

    /// Reads PDF, Office and large documents in a separate process, so that a crash or excessive memory use
    /// of a reader affects only that document. Without this call, documents are read in this process.
    ///
    /// - `program`: the `graphloom` command.
    pub fn isolated_readers(mut self, program: impl Into<PathBuf>) -> Self {
        self.readers = ReaderProgram::Graphloom(program.into());
        self
    }

    /// Sets a listener for progress events of indexing.
    pub fn on_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Arc::new(listener);
        self
    }

    /// Opens the workspace and creates it if it is missing, unless it [must exist](Self::must_exist). A workspace stores the
    /// models and settings that it is built with.
    ///
    /// # Errors
    ///
    /// Fails if a setting is invalid, if the workspace cannot be opened, or if it was built with other models or settings.
    pub async fn build(self) -> Result<Graphloom> {
        let is_set: BTreeSet<String> = self.settings.iter().map(|(key, _)| key.clone()).collect();
        let mut flags: Vec<(String, String, String)> = self
            .settings
            .into_iter()
            .map(|(key, value)| (key.clone(), value, format!("setting {key}")))
            .collect();
        let unset = crate::config::take_unset(&mut flags);
        let mut flag =
            |key: &str, value: String| flags.insert(0, (key.to_owned(), value, format!("the {key}")));
        flag("data_dir", text_of(&self.data_dir)?);
        // A model provided by the program replaces the one stored in the workspace.
        let is_set = |key: &str| is_set.contains(key);
        if self.llm.is_some() && !is_set("llm") {
            flag("llm", "none".to_owned());
        }
        if self.embedder.is_some() && !is_set("embedder") {
            flag("embedder", "builtin".to_owned());
        }
        if let Some(workspace) = self.workspace {
            flag("workspace", workspace);
        }
        let current_dir = match &self.project {
            Some(folder) => folder.canonicalize()?,
            None => std::env::current_dir()?,
        };
        let mut environment: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        if self.project.is_none() && !self.reads_environment {
            keys::keep_services(&mut environment);
        }
        let mut surroundings = Surroundings {
            flags,
            unset,
            environment,
            current_dir: current_dir.clone(),
            config_file: self.config_file,
            without_files: self.project.is_none(),
            ..Surroundings::default()
        };
        let (config, settings) = setup::configured(&mut surroundings).await?;
        let here = match self.project {
            Some(_) => settings.here(&current_dir),
            None => Here { folder: current_dir.clone(), root: current_dir },
        };
        if self.must_exist {
            setup::require_workspace(&config).await?;
        }
        let own = setup::OwnModels { llm: self.llm, embedder: self.embedder };
        let worker = setup::register_server(&config).await?;
        let listener = listener(Arc::clone(&self.on_progress));
        let engines =
            setup::engines(&config, &settings, &own, worker.as_ref(), Patience::Endless, listener).await?;
        let readers = Readers::new(config.memory_mb, self.readers);
        Ok(Graphloom { engines, _worker: worker, config, here, readers, on_progress: self.on_progress })
    }
}

/// Reports services that are down as progress events.
fn listener(on_progress: OnProgress) -> ServiceListener {
    Arc::new(move |notice| {
        on_progress(match notice {
            ServiceNotice::Paused { service, reason, retry_in } => {
                let retry_in_ms = u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX);
                Progress::Paused { service, reason, retry_in_ms }
            }
            ServiceNotice::Resumed { service } => Progress::Resumed { service },
        });
    })
}

fn text_of(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Fault::usage(format!("the path {} is not valid Unicode", path.display())).into()),
    }
}

impl Graphloom {
    /// Opens the workspace at `path`: its file, such as `notes.graphloom`, or a folder of workspaces, such as
    /// [`.graphloom`](crate::project::DATA_DIR), with the workspace `default`.
    ///
    /// A workspace that does not exist is created. So that a misspelled path is an error instead, call
    /// [`must_exist`](Builder::must_exist).
    pub fn open(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// Opens the workspace of the project around the current folder, as the command line does.
    pub fn open_project() -> Builder {
        Builder::new(Path::new(DATA_DIR)).project(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_workspace_or_a_folder_of_workspaces() {
        for (path, folder, workspace) in [
            ("notes.graphloom", ".", Some("notes")),
            ("data/notes.graphloom", "data", Some("notes")),
            (".graphloom", ".graphloom", None),
            ("data", "data", None),
        ] {
            let builder = Builder::new(Path::new(path));
            assert_eq!(
                (builder.data_dir.as_path(), builder.workspace.as_deref()),
                (Path::new(folder), workspace)
            );
        }
    }
}
