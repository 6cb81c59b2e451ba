//! Settings that are stored in a workspace when it is built. They apply unless configured otherwise.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use graphloom_core::ContentHash;
use graphloom_engine::index::{BuildSettings, EMBEDDER};
use graphloom_engine::prompt::{ALL, Prompt, Prompts};
use graphloom_providers::without_credentials;

use super::layers::{Origin, Settings};
use super::{Config, Contextual, EmbedderChoice, ModelChoice, Service, keys};
use crate::project::DATA_DIR;
use crate::wording::Wording;

/// Model keys by role. The key `llm` takes precedence over the stored model of a role.
const ROLES: [&str; 5] = ["extract_llm", "summarize_llm", "context_llm", "keywords_llm", "answer_llm"];
/// Keys that determine how documents are split and embedded, with or without an LLM.
const CHUNKING: [&str; 4] = ["chunk_strategy", "chunk_tokens", "chunk_overlap", "contextual"];
/// Keys that determine what the extraction model is asked for.
const EXTRACTION: [&str; 4] = ["gleaning", "claims", "structured_output", "entity_types"];
/// Hash of the custom prompts that affect the graph. Not a configuration key.
const PROMPTS: &str = "prompts";
/// The key of the folder with custom prompts.
const PROMPTS_DIR: &str = "prompts_dir";
/// Begin of a stored path that is relative to the folder around the data folder.
const AROUND: &str = "../";
/// Name prefixes of prompts that do not affect the graph.
const QUERY_PROMPTS: [&str; 5] = ["answer", "decompose", "filter", "judge", "keywords"];

/// Uses settings stored in the workspace for keys that are not set otherwise. Only the keys listed here are
/// used, so that a workspace file cannot, for example, redirect an API key or change the budget.
pub(super) fn offer(settings: &mut Settings, remembered: &BTreeMap<String, String>) {
    let sets_llm = settings.decides("llm");
    let sets_guidance = settings.decides("entity_guidance_file");
    let addresses = Service::ALL.map(Service::address_key);
    for (name, value) in remembered.iter().filter(|(_, value)| !value.is_empty()) {
        let name = name.as_str();
        let is_taken = match name {
            EMBEDDER | "language" | PROMPTS_DIR => true,
            "entity_guidance" => !sets_guidance,
            name if ROLES.contains(&name) => !sets_llm,
            name => CHUNKING.contains(&name) || EXTRACTION.contains(&name) || addresses.contains(&name),
        };
        match keys::find(name).filter(|_| is_taken) {
            Some(key) if is_of_a_program(name, value) => settings.note_absent(key, value),
            Some(key) if name == PROMPTS_DIR => {
                let data_dir = settings.get("data_dir").map_or(DATA_DIR, |setting| setting.value.as_str());
                let folder = from_data_dir(Path::new(data_dir), value).display().to_string();
                settings.offer_remembered(key, &folder);
            }
            Some(key) => settings.offer_remembered(key, value),
            None => {}
        }
    }
}

/// True if a stored model has a name that cannot be configured: a program passed its own implementation.
fn is_of_a_program(key: &str, model: &str) -> bool {
    match key {
        EMBEDDER => EmbedderChoice::parse(model).is_none(),
        key => ROLES.contains(&key) && model != "none" && ModelChoice::parse(model).is_none(),
    }
}

/// Returns the settings that a workspace stores. They include neither API keys nor credentials in addresses.
///
/// - `embedder`: the name of the embedder in use.
/// - `own_llm`: the name of the model that the calling program provides for roles without a configured model.
pub fn of(
    config: &Config,
    settings: &Settings,
    wording: &Wording,
    embedder: &str,
    own_llm: Option<&str>,
) -> BuildSettings {
    let configured = |name: &str| settings.get(name).map(|setting| setting.value.trim().to_owned());
    let models = &config.models;
    let model = |key: &str, choice: &Option<ModelChoice>| match choice {
        Some(choice) => Some(choice.to_string()),
        None => own_llm.filter(|_| settings.get(key).is_none()).map(str::to_owned),
    };
    let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "none".to_owned());
    let (extract, summarize) =
        (model("extract_llm", &models.extract), model("summarize_llm", &models.summarize));
    let choice = EmbedderChoice::of_space(embedder);
    let mut kept = BuildSettings::default();
    let mut decisive = |name: &str, value: Option<String>| {
        kept.decisive.insert(name.to_owned(), value.unwrap_or_default());
    };
    decisive(EMBEDDER, Some(choice.as_ref().map_or(embedder.to_owned(), ToString::to_string)));
    decisive("extract_llm", Some(name(&extract)));
    decisive("summarize_llm", Some(name(&summarize)));
    for name in CHUNKING {
        decisive(name, configured(name));
    }
    if config.contextual == Contextual::Model {
        decisive("context_llm", Some(name(&model("context_llm", &models.context))));
    }
    if extract.is_some() {
        for name in EXTRACTION {
            decisive(name, configured(name));
        }
        decisive("entity_guidance", wording.guidance.clone());
    }
    if extract.is_some() || summarize.is_some() || models.context.is_some() {
        decisive("language", config.language.clone());
        decisive(PROMPTS, hash_of_own(&wording.prompts));
    }
    let mut other = |name: &str, value: String| {
        kept.others.insert(name.to_owned(), value);
    };
    other("keywords_llm", name(&model("keywords_llm", &models.keywords)));
    other("answer_llm", name(&model("answer_llm", &models.answer)));
    if let Some(folder) = &config.prompts_dir {
        other(PROMPTS_DIR, to_data_dir(&config.data_dir, folder));
    }
    let used = used_services(config, choice.as_ref());
    for key in used.iter().map(|service| service.address_key()) {
        if let Some(setting) = settings.get(key).filter(|setting| setting.origin != Origin::Default) {
            other(key, without_credentials(&setting.value));
        }
    }
    let absent = settings.absent_models.iter().filter(|(key, _)| kept.decisive.contains_key(**key));
    kept.absent = absent.map(|(key, model)| ((*key).to_owned(), model.clone())).collect();
    kept
}

/// Returns the services of the models in use.
fn used_services(config: &Config, embedder: Option<&EmbedderChoice>) -> Vec<Service> {
    let models = &config.models;
    let roles = [&models.context, &models.extract, &models.keywords, &models.summarize, &models.answer];
    let chat = roles.into_iter().flatten().map(ModelChoice::service);
    let mut services: Vec<Service> = chat.chain(embedder.and_then(EmbedderChoice::service)).collect();
    services.sort_unstable();
    services.dedup();
    services
}

/// Returns the hash of the custom prompts that affect the graph; `None` if there are none.
fn hash_of_own(prompts: &Prompts) -> Option<String> {
    let builds = |prompt: &Prompt| !QUERY_PROMPTS.iter().any(|begin| prompt.name().starts_with(begin));
    let own: Vec<String> = ALL
        .iter()
        .filter(|prompt| prompts.is_own(**prompt) && builds(prompt))
        .map(|prompt| format!("{}\0{}\0", prompt.name(), prompts.body(*prompt)))
        .collect();
    (!own.is_empty()).then(|| ContentHash::of(own.concat().as_bytes()).as_str().to_owned())
}

/// Returns the path under which a workspace stores a folder: relative to the data folder if it is inside the data folder or its
/// project, so that both can be moved together; otherwise absolute.
fn to_data_dir(data_dir: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (data_dir, folder) = (absolute(data_dir), absolute(folder));
    let project = data_dir.parent().filter(|_| data_dir.file_name().is_some_and(|name| name == DATA_DIR));
    let relative = |path: &Path| path.display().to_string().replace(std::path::MAIN_SEPARATOR, "/");
    match (folder.strip_prefix(&data_dir), project.map(|project| folder.strip_prefix(project))) {
        (Ok(inside), _) => relative(inside),
        (Err(_), Some(Ok(beside))) => format!("{AROUND}{}", relative(beside)),
        (Err(_), Some(Err(_)) | None) => folder.display().to_string(),
    }
}

/// Returns the folder of a path that [`to_data_dir`] made, or an older release, which stored absolute paths.
fn from_data_dir(data_dir: &Path, stored: &str) -> PathBuf {
    match (stored.strip_prefix(AROUND), data_dir.parent()) {
        (Some(beside), Some(project)) => project.join(beside),
        _ => data_dir.join(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_inside_the_project_or_the_data_folder_is_found_after_a_move() {
        for (data_dir, folder, stored, moved_to, moved) in [
            ("/p/.graphloom", "/p/own", "../own", "/q/.graphloom", "/q/own"),
            ("/p/.graphloom", "/p/.graphloom/own", "own", "/q/.graphloom", "/q/.graphloom/own"),
            ("/data", "/data/own/a", "own/a", "/disk/data", "/disk/data/own/a"),
            ("/data", "/own", "/own", "/disk/data", "/own"),
            ("/p/.graphloom", "/own", "/own", "/q/.graphloom", "/own"),
        ] {
            assert_eq!(to_data_dir(Path::new(data_dir), Path::new(folder)), stored);
            assert_eq!(from_data_dir(Path::new(moved_to), stored), Path::new(moved));
        }
        assert_eq!(from_data_dir(Path::new(".graphloom"), "../own"), Path::new("own"));
    }
}
