//! Configuration: one typed value from flags, environment, `.env`, files and defaults, with the origin of each.

mod choice;
pub(crate) mod keys;
pub(crate) mod layers;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use graphloom_core::{Role, WorkspaceId};
use graphloom_engine::chunk::{ChunkConfig, ChunkStrategy};

pub(crate) use self::choice::{EmbedderChoice, ModelChoice};
pub(crate) use self::layers::{Origin, Setting, Settings, Surroundings};
use crate::fault::Fault;

/// Everything that can be configured, checked.
#[derive(Debug)]
pub(crate) struct Config {
    /// The folder of the workspaces.
    pub(crate) data_dir: PathBuf,
    /// The workspace.
    pub(crate) workspace: WorkspaceId,
    /// The model of each role that has one.
    pub(crate) models: RoleModels,
    /// The OpenAI-compatible service.
    pub(crate) base_url: String,
    /// Its key.
    pub(crate) api_key: Option<Secret>,
    /// Where Ollama listens.
    pub(crate) ollama_host: String,
    /// What makes vectors; `None` where nobody chose, so that a workspace keeps its own.
    pub(crate) embedder: Option<EmbedderChoice>,
    /// The folder of local models.
    pub(crate) models_dir: PathBuf,
    /// How texts are split.
    pub(crate) chunk: ChunkConfig,
    /// Extra extraction passes.
    pub(crate) gleaning: u32,
    /// Entity types; `None` for the engine's own.
    pub(crate) entity_types: Option<Vec<String>>,
    /// Extraction calls in flight.
    pub(crate) max_concurrent_calls: usize,
    /// Documents worked on at once.
    pub(crate) max_concurrent_documents: usize,
    /// Most requests a minute.
    pub(crate) requests_per_minute: Option<u32>,
    /// Most tokens a minute.
    pub(crate) tokens_per_minute: Option<u32>,
    /// How long a model may take to begin its answer.
    pub(crate) first_byte_timeout: Duration,
    /// How long a model may be silent inside an answer.
    pub(crate) idle_timeout: Duration,
}

/// The model of each role; `None` is the offline default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleModels {
    pub(crate) extract: Option<ModelChoice>,
    pub(crate) keywords: Option<ModelChoice>,
    pub(crate) summarize: Option<ModelChoice>,
    pub(crate) answer: Option<ModelChoice>,
}

impl RoleModels {
    /// Each role with its model, in order.
    pub(crate) fn by_role(&self) -> [(Role, Option<&ModelChoice>); 4] {
        [
            (Role::Extract, self.extract.as_ref()),
            (Role::Keywords, self.keywords.as_ref()),
            (Role::Summarize, self.summarize.as_ref()),
            (Role::Answer, self.answer.as_ref()),
        ]
    }
}

/// A value that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The value, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Reads and checks everything.
pub(crate) fn load(surroundings: &Surroundings) -> anyhow::Result<(Config, Settings)> {
    let settings = layers::read(surroundings)?;
    Ok((check(&settings, surroundings)?, settings))
}

fn check(settings: &Settings, surroundings: &Surroundings) -> anyhow::Result<Config> {
    let text = |key: &str| settings.get(key).map(|setting| setting.value.clone()).unwrap_or_default();
    let llm: Option<ModelChoice> = model(settings, "llm")?.flatten();
    let role = |key: &str| -> anyhow::Result<Option<ModelChoice>> {
        Ok(model(settings, key)?.unwrap_or_else(|| llm.clone()))
    };
    let models = RoleModels {
        extract: role("extract_llm")?,
        keywords: role("keywords_llm")?,
        summarize: role("summarize_llm")?,
        answer: role("answer_llm")?,
    };
    let seconds = |key: &str| -> anyhow::Result<Duration> {
        Ok(number(settings, key, 1)?.map_or(Duration::MAX, Duration::from_secs))
    };
    let embedder = match settings.get("embedder") {
        Some(setting) if setting.origin != Origin::Default => {
            let expected = "builtin, local:NAME, openai:MODEL or ollama:MODEL";
            let choice = EmbedderChoice::parse(&setting.value)
                .ok_or_else(|| invalid("embedder", setting, expected))?;
            Some(choice)
        }
        _ => None,
    };
    let workspace = WorkspaceId::new(&text("workspace")).map_err(|error| Fault::usage(error.to_string()))?;
    let max_chunk_tokens = number::<u32>(settings, "chunk_tokens", 16)?;
    let overlap_tokens = number::<u32>(settings, "chunk_overlap", 0)?.unwrap_or(0);
    if let Some(most) = max_chunk_tokens.filter(|most| overlap_tokens >= *most) {
        return Err(Fault::usage(format!(
            "chunk_overlap ({overlap_tokens}) must be below chunk_tokens ({most})"
        ))
        .into());
    }
    let types: Vec<String> = text("entity_types")
        .split(',')
        .map(|kind| kind.trim().to_owned())
        .filter(|kind| !kind.is_empty())
        .collect();
    Ok(Config {
        data_dir: PathBuf::from(text("data_dir")),
        workspace,
        models,
        base_url: text("base_url"),
        api_key: settings.get("api_key").map(|setting| Secret(setting.value.clone())),
        ollama_host: text("ollama_host"),
        embedder,
        models_dir: models_dir(settings, surroundings)?,
        chunk: ChunkConfig { strategy: strategy(settings)?, max_chunk_tokens, overlap_tokens },
        gleaning: number(settings, "gleaning", 0)?.unwrap_or(0),
        entity_types: (!types.is_empty()).then_some(types),
        max_concurrent_calls: number(settings, "max_concurrent_calls", 1)?.unwrap_or(1),
        max_concurrent_documents: number(settings, "max_concurrent_documents", 1)?.unwrap_or(1),
        requests_per_minute: number(settings, "requests_per_minute", 1)?,
        tokens_per_minute: number(settings, "tokens_per_minute", 1)?,
        first_byte_timeout: seconds("first_byte_timeout_s")?,
        idle_timeout: seconds("idle_timeout_s")?,
    })
}

fn invalid(key: &str, setting: &Setting, expected: &str) -> anyhow::Error {
    let Setting { value, origin } = setting;
    Fault::usage(format!("{key} is {value:?} ({origin}) but must be {expected}")).into()
}

/// `None` where unset, `Some(None)` for `none`.
fn model(settings: &Settings, key: &str) -> anyhow::Result<Option<Option<ModelChoice>>> {
    let Some(setting) = settings.get(key) else { return Ok(None) };
    if setting.value == "none" {
        return Ok(Some(None));
    }
    match ModelChoice::parse(&setting.value) {
        Some(choice) => Ok(Some(Some(choice))),
        None => Err(invalid(key, setting, "none, openai:MODEL or ollama:MODEL")),
    }
}

fn number<N: FromStr + PartialOrd + fmt::Display>(
    settings: &Settings,
    key: &str,
    least: N,
) -> anyhow::Result<Option<N>> {
    let Some(setting) = settings.get(key) else { return Ok(None) };
    match setting.value.trim().parse::<N>() {
        Ok(value) if value >= least => Ok(Some(value)),
        _ => Err(invalid(key, setting, &format!("a whole number of at least {least}"))),
    }
}

fn strategy(settings: &Settings) -> anyhow::Result<ChunkStrategy> {
    let Some(setting) = settings.get("chunk_strategy") else { return Ok(ChunkStrategy::Auto) };
    match setting.value.as_str() {
        "auto" => Ok(ChunkStrategy::Auto),
        "headings" => Ok(ChunkStrategy::Headings),
        "recursive" => Ok(ChunkStrategy::Recursive),
        "token_window" => Ok(ChunkStrategy::TokenWindow),
        _ => Err(invalid("chunk_strategy", setting, "auto, headings, recursive or token_window")),
    }
}

fn models_dir(settings: &Settings, surroundings: &Surroundings) -> anyhow::Result<PathBuf> {
    if let Some(setting) = settings.get("models_dir") {
        return Ok(PathBuf::from(&setting.value));
    }
    let environment = &surroundings.environment;
    let base = layers::set(environment, "XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| layers::set(environment, "LOCALAPPDATA").map(PathBuf::from))
        .or_else(|| layers::set(environment, "HOME").map(|home| Path::new(home).join(".local/share")))
        // Without a home there is still the data folder's neighbour.
        .unwrap_or_else(|| surroundings.current_dir.join(".graphloom"));
    Ok(base.join("graphloom").join("models"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_flags(flags: &[(&str, &str)]) -> Result<Config, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = flags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned(), format!("--{k}"))).collect();
        let around = Surroundings { flags, current_dir: folder.path().to_owned(), ..Surroundings::default() };
        load(&around).map(|(config, _)| config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_in_the_environment_alone_chooses_no_model() {
        let config = check_flags(&[("api_key", "sk-x")]).expect("valid");
        assert_eq!(config.models.answer, None);
        assert!(!format!("{config:?}").contains("sk-x"));
    }

    #[test]
    fn a_role_follows_the_model_of_all_unless_it_has_its_own() {
        let config =
            check_flags(&[("llm", "openai:big"), ("extract_llm", "ollama:small"), ("keywords_llm", "none")]);
        let models = config.expect("valid").models;
        assert_eq!(models.answer, ModelChoice::parse("openai:big"));
        assert_eq!(models.extract, ModelChoice::parse("ollama:small"));
        assert_eq!(models.keywords, None);
    }

    #[test]
    fn a_wrong_value_names_its_origin_and_what_was_expected() {
        let error = check_flags(&[("llm", "gpt-4o")]).expect_err("no provider");
        assert_eq!(error, "llm is \"gpt-4o\" (flag --llm) but must be none, openai:MODEL or ollama:MODEL");
        assert!(check_flags(&[("chunk_tokens", "many")]).is_err());
        assert!(check_flags(&[("chunk_tokens", "100"), ("chunk_overlap", "100")]).is_err());
        assert!(check_flags(&[("workspace", "../x")]).is_err());
    }
}
