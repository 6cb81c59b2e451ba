//! Layers of configuration: flags, environment, `.env`, files and defaults. The first layer with a value wins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use graphloom_core::WorkspaceId;
use graphloom_engine::index::EMBEDDER;

use super::dot_env::{self, DotEnv};
use super::keys::{self, KEYS, Key, OTHER_VARIABLES, PREFIX};
use super::remembered;
use crate::error::{Error, Fault, Result};
use crate::nearest::nearest;
use crate::project::{DATA_DIR, Here, project_of};

/// Configuration file in the current folder. It takes precedence over the user's own file.
pub const PROJECT_FILE: &str = "graphloom.toml";

/// Table in a configuration file with one table per workspace.
const WORKSPACES: &str = "workspaces";
/// Table in a configuration file with the database of each workspace that has its own.
const STORES: &str = "stores";
/// Keys that cannot be set per workspace.
const GLOBAL_KEYS: [&str; 3] = ["data_dir", "store", "workspace"];

/// All inputs of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Values from the command line: key, value, and the flag as typed.
    pub flags: Vec<(String, String, String)>,
    /// Keys to unset, whatever the other layers and the workspace say: key, and the flag as typed.
    pub unset: Vec<(String, String)>,
    /// The process environment.
    pub environment: BTreeMap<String, String>,
    /// The current folder.
    pub current_dir: PathBuf,
    /// The file given with `--config`. It replaces the project's and the user's file.
    pub config_file: Option<PathBuf>,
    /// Whether to read no file except [`config_file`](Self::config_file): neither the project's nor the user's own.
    pub without_files: bool,
    /// Settings stored in the workspace, by key; empty if the workspace does not exist or was not opened.
    pub remembered: BTreeMap<String, String>,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag, as typed.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A variable in a `.env` file.
    DotEnv(String),
    /// A configuration file.
    File(PathBuf),
    /// The table for a workspace in a configuration file.
    Workspace(PathBuf, String),
    /// The project around the current folder.
    Above,
    /// The settings that the workspace was built with.
    Remembered,
    /// The key's default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::DotEnv(variable) => write!(f, ".env {variable}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Workspace(path, name) => write!(f, "file {} [{WORKSPACES}.{name}]", path.display()),
            Self::Above => f.write_str("found above the current folder"),
            Self::Remembered => f.write_str("stored in the workspace"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value as text, with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// The effective value of every key that has one.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<&'static str, Setting>,
    /// Keys that were unset: they have their default, whatever files and the workspace say.
    unset: BTreeSet<&'static str>,
    /// The database addresses of single workspaces.
    pub(super) stores: BTreeMap<WorkspaceId, Setting>,
    /// Models that the workspace is built with and that only the program that built it has, by key.
    pub(super) absent_models: BTreeMap<&'static str, String>,
    /// Problems that are not errors, such as an unknown variable.
    pub warnings: Vec<String>,
    /// Warnings about API keys and user documents that would be sent to an address set in the current folder.
    /// They are always shown.
    pub address_warnings: Vec<String>,
    /// The configuration file of the current folder, if it was found without being given explicitly.
    project_file: Option<PathBuf>,
    /// The project folder, if it is a parent of the current folder.
    project: Option<PathBuf>,
}

impl Settings {
    /// Returns the value of a key, if set.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// Returns the database addresses of single workspaces, which may contain passwords.
    pub fn stores(&self) -> impl Iterator<Item = (&WorkspaceId, &Setting)> {
        self.stores.iter()
    }

    /// Returns the model that the workspace is built with for this key, if only the program that built the workspace has it
    /// and nothing else sets the key.
    pub fn absent_model(&self, key: &str) -> Option<&str> {
        self.absent_models.get(key).map(String::as_str)
    }

    /// Returns all LLMs of which [`absent_model`](Self::absent_model) returns one.
    pub fn absent_llms(&self) -> BTreeSet<&str> {
        let llms = self.absent_models.iter().filter(|(key, _)| **key != EMBEDDER);
        llms.map(|(_, model)| model.as_str()).collect()
    }

    /// Returns the folder that paths and source names are relative to: the project folder if its workspaces
    /// are in use, otherwise the current folder.
    pub fn here(&self, current_dir: &Path) -> Here {
        let is_of_project = self.get("data_dir").is_some_and(|data_dir| match data_dir.origin {
            Origin::Above => true,
            _ => self.is_of_project(data_dir),
        });
        let root = self.project.as_ref().filter(|_| is_of_project).cloned();
        Here { folder: current_dir.to_owned(), root: root.unwrap_or_else(|| current_dir.to_owned()) }
    }

    /// True if the value comes from the current folder rather than from the user.
    pub fn is_of_project(&self, setting: &Setting) -> bool {
        match &setting.origin {
            // The workspace may also be part of a downloaded folder.
            Origin::DotEnv(_) | Origin::Remembered => true,
            Origin::File(path) | Origin::Workspace(path, _) => Some(path) == self.project_file.as_ref(),
            Origin::Flag(_) | Origin::Environment(_) | Origin::Above | Origin::Default => false,
        }
    }

    /// True if a layer that was read so far sets or unsets the key.
    pub(super) fn decides(&self, key: &str) -> bool {
        self.values.contains_key(key) || self.unset.contains(key)
    }

    /// Uses a setting stored in the workspace if no other layer sets the key.
    pub(super) fn offer_remembered(&mut self, key: &'static Key, value: &str) {
        self.offer(key, value.to_owned(), Origin::Remembered);
    }

    /// Notes that only the program that built the workspace has its model for this key, if no other layer sets the key.
    pub(super) fn note_absent(&mut self, key: &'static Key, model: &str) {
        if !self.decides(key.name) {
            self.absent_models.insert(key.name, model.to_owned());
        }
    }

    fn offer(&mut self, key: &'static Key, value: String, origin: Origin) {
        if !self.unset.contains(key.name) {
            self.values.entry(key.name).or_insert(Setting { value, origin });
        }
    }
}

/// Reads all layers. Unknown keys in files and flags are errors. Unknown variables are only warnings, because
/// another release may know them.
pub fn read(surroundings: &Surroundings) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value, flag) in &surroundings.flags {
        settings.offer(known(name, flag)?, value.clone(), Origin::Flag(flag.clone()));
    }
    for (name, flag) in &surroundings.unset {
        let key = known(name, flag)?;
        if GLOBAL_KEYS.contains(&key.name) {
            return Err(Fault::usage(format!("{name} cannot be empty ({flag})"))
                .help("write its value, or leave the option out")
                .into());
        }
        if settings.get(key.name).is_none() {
            settings.unset.insert(key.name);
        }
    }
    read_variables(&mut settings, &surroundings.environment, Origin::Environment);
    let current_dir = surroundings.current_dir.as_path();
    let above =
        project_of(current_dir).filter(|project| *project != current_dir && !surroundings.without_files);
    settings.project = above.map(Path::to_owned);
    // The current folder's own files take precedence over those of the project above it.
    let nearest = |name: &str| match above {
        Some(project) if !current_dir.join(name).is_file() => project,
        _ => current_dir,
    };
    if !surroundings.without_files {
        let folder = nearest(dot_env::FILE);
        let mut dot_env = DotEnv::read(folder)?;
        if folder != current_dir {
            dot_env.read_paths_from(folder);
        }
        read_variables(&mut settings, &dot_env.variables, Origin::DotEnv);
    }
    let named_file = named_file(surroundings);
    let paths: Vec<PathBuf> = match named_file {
        Some(path) => vec![path],
        None if surroundings.without_files => Vec::new(),
        None => {
            let project = nearest(PROJECT_FILE).join(PROJECT_FILE);
            let user = user_config(&surroundings.environment);
            settings.project_file = Some(project.clone());
            std::iter::once(project).chain(user).filter(|path| path.is_file()).collect()
        }
    };
    let mut files = paths.iter().map(|path| read_file(path)).collect::<Result<Vec<_>>>()?;
    let of_above =
        settings.project_file.as_deref().and_then(Path::parent).filter(|folder| *folder != current_dir);
    if let (Some(project), Some(file)) = (of_above, files.first_mut())
        && paths.first() == settings.project_file.as_ref()
    {
        file.read_paths_from(project);
    }
    // Values for one workspace take precedence over general ones, regardless of the file they are in.
    let general = files.iter().flat_map(|file| &file.values).find(|(key, _)| key.name == "workspace");
    let chosen = settings.get("workspace").map(|setting| &setting.value).or(general.map(|(_, value)| value));
    let workspace = chosen
        .map_or(keys::find("workspace").and_then(|key| key.default).unwrap_or_default(), String::as_str)
        .to_owned();
    for (path, file) in paths.iter().zip(&files) {
        for (key, value) in file.workspaces.get(&workspace).into_iter().flatten() {
            settings.offer(key, value.clone(), Origin::Workspace(path.clone(), workspace.clone()));
        }
    }
    for (path, file) in paths.iter().zip(files) {
        for (workspace, value) in file.stores {
            let setting = Setting { value, origin: Origin::File(path.clone()) };
            settings.stores.entry(workspace).or_insert(setting);
        }
        for (key, value) in file.values {
            settings.offer(key, value, Origin::File(path.clone()));
        }
    }
    if let (Some(project), Some(key)) = (above, keys::find("data_dir")) {
        settings.offer(key, project.join(DATA_DIR).display().to_string(), Origin::Above);
    }
    remembered::offer(&mut settings, &surroundings.remembered);
    for key in KEYS {
        if let Some(default) = key.default {
            settings
                .values
                .entry(key.name)
                .or_insert(Setting { value: default.to_owned(), origin: Origin::Default });
        }
    }
    Ok(settings)
}

/// Returns the files that [`read`] may read, whether they exist or not.
pub(super) fn files_of(surroundings: &Surroundings) -> Vec<PathBuf> {
    let current_dir = surroundings.current_dir.as_path();
    let mut folders = vec![current_dir];
    folders.extend(project_of(current_dir).filter(|project| *project != current_dir));
    let in_folders = |name: &str| folders.iter().map(|folder| folder.join(name)).collect::<Vec<_>>();
    let mut files = Vec::new();
    if !surroundings.without_files {
        files.extend(in_folders(dot_env::FILE));
    }
    match named_file(surroundings) {
        Some(path) => files.push(path),
        None if surroundings.without_files => {}
        None => {
            files.extend(in_folders(PROJECT_FILE));
            files.extend(user_config(&surroundings.environment));
        }
    }
    files
}

/// Returns the explicitly given file, which replaces the project's and the user's.
fn named_file(surroundings: &Surroundings) -> Option<PathBuf> {
    let variable = || set(&surroundings.environment, "GRAPHLOOM_CONFIG").map(PathBuf::from);
    surroundings.config_file.clone().or_else(variable)
}

/// Returns the value of a variable; an empty value counts as unset.
pub fn set<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

fn known(name: &str, origin: &str) -> Result<&'static Key> {
    keys::find(name).ok_or_else(|| Error::UnknownKey {
        name: name.to_owned(),
        origin: origin.to_owned(),
        nearest: nearest(name, KEYS.iter().map(|key| key.name), 1).first().copied(),
    })
}

fn read_variables(
    settings: &mut Settings,
    variables: &BTreeMap<String, String>,
    origin: impl Fn(String) -> Origin,
) {
    for key in KEYS {
        let ours = key.variable();
        for variable in std::iter::once(ours.as_str()).chain(key.foreign.iter().copied()) {
            if let Some(value) = set(variables, variable) {
                settings.offer(key, value.to_owned(), origin(variable.to_owned()));
            }
        }
    }
    let known: Vec<String> =
        KEYS.iter().map(Key::variable).chain(OTHER_VARIABLES.map(str::to_owned)).collect();
    for variable in variables.keys().filter(|name| name.starts_with(PREFIX) && !known.contains(name)) {
        let hint = nearest(variable, known.iter().map(String::as_str), 1)
            .first()
            .map(|near| format!("; did you mean {near}?"))
            .unwrap_or_default();
        settings.warnings.push(format!("ignoring unknown variable {variable}{hint}"));
    }
}

fn user_config(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let base = set(environment, "XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set(environment, "APPDATA").map(PathBuf::from))
        .or_else(|| set(environment, "HOME").map(|home| Path::new(home).join(".config")))?;
    Some(base.join("graphloom").join("config.toml"))
}

/// The content of a configuration file.
#[derive(Default)]
struct FileValues {
    /// Values for every workspace.
    values: Vec<(&'static Key, String)>,
    /// Values for one workspace, by workspace name.
    workspaces: BTreeMap<String, Vec<(&'static Key, String)>>,
    /// Database addresses, by workspace.
    stores: BTreeMap<WorkspaceId, String>,
}

impl FileValues {
    /// Makes relative paths relative to the file's folder.
    fn read_paths_from(&mut self, folder: &Path) {
        let values = self.values.iter_mut().chain(self.workspaces.values_mut().flatten());
        values.for_each(|(key, value)| key.read_path_from(folder, value));
    }
}

fn read_file(path: &Path) -> Result<FileValues> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::usage(format!("reading configuration {}: {error}", path.display())))?;
    let mut table: toml::Table = toml::from_str(&text).map_err(|error| {
        // Only the position and the reason: the parser's full message repeats the line, which may contain an API key.
        let before = error.span().map_or("", |span| &text[..span.start]);
        let line = 1 + before.matches('\n').count();
        let what = format!("reading configuration {}: line {line}: {}", path.display(), error.message());
        let fault = Fault::usage(what);
        match text.lines().nth(line - 1).and_then(unquoted) {
            Some((key, value)) => fault.help(format!("put text in quotes: {key} = \"{value}\"")),
            None => fault,
        }
    })?;
    let place = path.display().to_string();
    let mut workspaces = BTreeMap::new();
    match table.remove(WORKSPACES) {
        None => {}
        Some(toml::Value::Table(tables)) => {
            for (name, of_workspace) in tables {
                let place = format!("{place} [{WORKSPACES}.{name}]");
                WorkspaceId::new(&name).map_err(|error| Fault::usage(format!("{place}: {error}")))?;
                let toml::Value::Table(of_workspace) = of_workspace else {
                    return Err(Fault::usage(format!("{place} must be a table of keys")).into());
                };
                let values = values_of(of_workspace, &place)?;
                if let Some((key, _)) = values.iter().find(|(key, _)| GLOBAL_KEYS.contains(&key.name)) {
                    let fault = Fault::usage(format!(
                        "{} cannot be set in {place}, because it selects the workspace",
                        key.name
                    ));
                    return Err(fault.help("set it above the tables").into());
                }
                workspaces.insert(name, values);
            }
        }
        Some(_) => {
            let fault = Fault::usage(format!("{WORKSPACES} in {place} must hold a table for each workspace"));
            return Err(fault.help(format!("write [{WORKSPACES}.NAME] and the keys below it")).into());
        }
    }
    let stores = stores_of(table.remove(STORES), &place)?;
    Ok(FileValues { values: values_of(table, &place)?, workspaces, stores })
}

/// Returns the key and value of a line whose value is text without quotes; `...` for a secret.
fn unquoted(line: &str) -> Option<(&'static str, &str)> {
    let (name, value) = line.split_once('=')?;
    let value = value.split('#').next()?.trim();
    let is_text = value.starts_with(|c: char| !c.is_ascii_digit() && !"\"'[{+-".contains(c));
    let key = keys::find(name.trim()).filter(|_| is_text)?;
    Some((key.name, if key.secret { "..." } else { value }))
}

/// Reads the table of databases of single workspaces.
fn stores_of(table: Option<toml::Value>, place: &str) -> Result<BTreeMap<WorkspaceId, String>> {
    let table = match table {
        None => return Ok(BTreeMap::new()),
        Some(toml::Value::Table(table)) => table,
        Some(_) => {
            let fault = Fault::usage(format!("{STORES} in {place} must be a table of addresses"));
            return Err(fault
                .help(format!("write [{STORES}] and below it NAME = \"postgres://...\""))
                .into());
        }
    };
    let mut stores = BTreeMap::new();
    for (name, address) in table {
        let workspace =
            WorkspaceId::new(&name).map_err(|error| Fault::usage(format!("{place} [{STORES}]: {error}")))?;
        let toml::Value::String(address) = address else {
            return Err(Fault::usage(format!(
                "{name} in {place} [{STORES}] must be the address of a database"
            ))
            .into());
        };
        stores.insert(workspace, address);
    }
    Ok(stores)
}

fn values_of(table: toml::Table, place: &str) -> Result<Vec<(&'static Key, String)>> {
    let value_of = |(name, value): (String, toml::Value)| {
        let key = known(&name, place)?;
        let value = as_text(&value).or_else(|| as_prices(&value)).ok_or_else(|| {
            Fault::usage(format!(
                "{name} in {place} has a value of the wrong type; it must be text, a whole number, true or false, a list of texts, or, for \
                 prices, a table"
            ))
        })?;
        Ok((key, value))
    };
    table.into_iter().map(value_of).collect()
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(value) => Some(value.to_string()),
        toml::Value::Array(items) => {
            items.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// Converts a `[prices]` table with one row per model to the text form of the other layers.
fn as_prices(value: &toml::Value) -> Option<String> {
    let number = |value: &toml::Value| match value {
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    let price = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Table(parts) => {
            let known = ["input", "output", "cached_input"];
            if parts.keys().any(|part| !known.contains(&part.as_str())) {
                return None;
            }
            let part = |name: &str| parts.get(name).map(number);
            let mut text = part("input")??;
            match (part("output"), part("cached_input")) {
                (None, None) => {}
                (output, cached) => {
                    text = format!("{text}/{}", output.unwrap_or_else(|| Some("0".to_owned()))?);
                    if let Some(cached) = cached {
                        text = format!("{text}/{}", cached?);
                    }
                }
            }
            Some(text)
        }
        other => number(other),
    };
    let rows = value.as_table()?.iter().map(|(model, row)| Some(format!("{model}={}", price(row)?)));
    rows.collect::<Option<Vec<_>>>().map(|rows| rows.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(folder: &Path) -> Surroundings {
        Surroundings { current_dir: folder.to_owned(), ..Surroundings::default() }
    }

    fn check_origin(around: &Surroundings, key: &str) -> (String, String) {
        let settings = read(around).expect("readable");
        let setting = settings.get(key).expect("set");
        (setting.value.clone(), setting.origin.to_string())
    }

    #[test]
    fn each_layer_yields_to_the_one_above() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut around = surroundings(folder.path());
        assert_eq!(check_origin(&around, "llm"), ("none".to_owned(), "default".to_owned()));
        std::fs::write(folder.path().join(PROJECT_FILE), "llm = \"ollama:file\"").expect("written");
        assert_eq!(check_origin(&around, "llm").0, "ollama:file");
        std::fs::write(folder.path().join(".env"), "GRAPHLOOM_LLM=ollama:dotenv").expect("written");
        assert_eq!(
            check_origin(&around, "llm"),
            ("ollama:dotenv".to_owned(), ".env GRAPHLOOM_LLM".to_owned())
        );
        around.environment.insert("GRAPHLOOM_LLM".to_owned(), "ollama:environment".to_owned());
        assert_eq!(check_origin(&around, "llm").1, "environment GRAPHLOOM_LLM");
        around.flags.push(("llm".to_owned(), "ollama:flag".to_owned(), "--llm".to_owned()));
        assert_eq!(check_origin(&around, "llm"), ("ollama:flag".to_owned(), "flag --llm".to_owned()));
    }

    #[test]
    fn a_workspaces_own_table_overrides_general_settings_and_yields_to_the_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut around = surroundings(folder.path());
        let home = folder.path().join("home");
        around.environment.insert("XDG_CONFIG_HOME".to_owned(), home.display().to_string());
        std::fs::create_dir_all(home.join("graphloom")).expect("a folder");
        let user = "[workspaces.lab]\nllm = \"ollama:lab\"\nchunk_tokens = 300";
        std::fs::write(home.join("graphloom/config.toml"), user).expect("written");
        std::fs::write(folder.path().join(PROJECT_FILE), "llm = \"ollama:all\"\nworkspace = \"lab\"")
            .expect("written");
        let (value, origin) = check_origin(&around, "llm");
        assert_eq!(value, "ollama:lab");
        assert!(origin.ends_with("config.toml [workspaces.lab]"), "{origin}");
        assert_eq!(check_origin(&around, "chunk_tokens").0, "300");
        around.environment.insert("GRAPHLOOM_WORKSPACE".to_owned(), "other".to_owned());
        assert_eq!(check_origin(&around, "llm").0, "ollama:all");
        around.environment.insert("GRAPHLOOM_WORKSPACE".to_owned(), "lab".to_owned());
        around.environment.insert("GRAPHLOOM_LLM".to_owned(), "ollama:mine".to_owned());
        assert_eq!(check_origin(&around, "llm").0, "ollama:mine");
    }

    #[test]
    fn a_table_of_a_workspace_is_checked_like_the_rest_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, expected) in [
            ("[workspaces.lab]\nlanguge = \"French\"", "unknown configuration key \"languge\""),
            ("[workspaces.lab]\ndata_dir = \"x\"", "data_dir cannot be set in"),
            ("[workspaces.\"../x\"]\nllm = \"none\"", "../x"),
            ("workspaces = \"lab\"", "must hold a table for each workspace"),
            ("[workspaces]\nlab = 1", "must be a table of keys"),
        ] {
            std::fs::write(folder.path().join(PROJECT_FILE), text).expect("written");
            let error = format!("{:#}", read(&surroundings(folder.path())).expect_err("refused"));
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_project_above_the_current_folder_provides_its_workspaces_and_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("docs/old");
        std::fs::create_dir_all(&inner).expect("made");
        let around = surroundings(&inner);
        assert_eq!(check_origin(&around, "data_dir"), (".graphloom".to_owned(), "default".to_owned()));
        std::fs::write(folder.path().join(PROJECT_FILE), "llm = \"ollama:file\"\nprompts_dir = \"own\"")
            .expect("written");
        std::fs::write(folder.path().join(".env"), "GRAPHLOOM_EMBEDDER=ollama:dotenv").expect("written");
        let expected = folder.path().join(".graphloom").display().to_string();
        assert_eq!(
            check_origin(&around, "data_dir"),
            (expected, "found above the current folder".to_owned())
        );
        assert_eq!(check_origin(&around, "llm").0, "ollama:file");
        assert_eq!(check_origin(&around, "prompts_dir").0, folder.path().join("own").display().to_string());
        assert_eq!(check_origin(&around, "embedder").1, ".env GRAPHLOOM_EMBEDDER");
        let settings = read(&around).expect("readable");
        assert_eq!(settings.here(&inner).root, folder.path());
        std::fs::write(inner.join(PROJECT_FILE), "llm = \"ollama:nearer\"").expect("written");
        assert_eq!(check_origin(&around, "llm").0, "ollama:nearer");
        assert_eq!(read(&around).expect("readable").here(&inner).root, inner);
    }

    #[test]
    fn our_variable_overrides_that_of_another_product() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut around = surroundings(folder.path());
        around.environment.insert("OPENAI_BASE_URL".to_owned(), "http://theirs/v1".to_owned());
        assert_eq!(check_origin(&around, "base_url").0, "http://theirs/v1");
        around.environment.insert("GRAPHLOOM_BASE_URL".to_owned(), "http://ours/v1".to_owned());
        assert_eq!(check_origin(&around, "base_url").0, "http://ours/v1");
    }

    #[test]
    fn a_file_can_write_true_and_false_as_text_or_as_toml_values() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(PROJECT_FILE), "claims = true\nquery_cache = \"false\"")
            .expect("written");
        let around = surroundings(folder.path());
        assert_eq!(
            (check_origin(&around, "claims").0, check_origin(&around, "query_cache").0),
            ("true".to_owned(), "false".to_owned())
        );
        std::fs::write(folder.path().join(PROJECT_FILE), "chunk_tokens = 1.5").expect("written");
        let error = read(&around).expect_err("no whole number").to_string();
        assert!(
            error.contains("chunk_tokens in") && error.contains("must be text, a whole number"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_key_suggests_the_nearest_known_one() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(PROJECT_FILE), "embeder = \"builtin\"").expect("written");
        let error = read(&surroundings(folder.path())).expect_err("unknown key");
        assert!(error.to_string().contains("embeder"), "{error}");
        assert_eq!(error.remedy().as_deref(), Some("did you mean \"embedder\"?"));
    }

    #[test]
    fn an_unknown_variable_is_a_warning() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut around = surroundings(folder.path());
        around.environment.insert("GRAPHLOOM_WORKSPCE".to_owned(), "x".to_owned());
        let settings = read(&around).expect("readable");
        assert_eq!(settings.warnings.len(), 1);
        assert!(settings.warnings[0].contains("GRAPHLOOM_WORKSPACE"), "{:?}", settings.warnings);
    }

    #[test]
    fn text_without_quotes_in_a_file_is_an_error_that_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(PROJECT_FILE), "# models\nllm = none # no LLM\n").expect("written");
        let error = read(&surroundings(folder.path())).expect_err("malformed");
        assert!(error.to_string().contains("line 2"), "{error}");
        assert_eq!(error.remedy().as_deref(), Some("put text in quotes: llm = \"none\""));
    }

    #[test]
    fn a_malformed_file_is_reported_without_its_content() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(PROJECT_FILE), "llm = \"none\"\napi_key = sk-very-secret")
            .expect("written");
        let error = format!("{:#}", read(&surroundings(folder.path())).expect_err("malformed"));
        assert!(error.contains("line 2") && !error.contains("very-secret"), "{error}");
    }
}
