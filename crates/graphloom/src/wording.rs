//! Prompts as configured: custom prompts, guidance on entity types, and language.

use std::io;
use std::path::{Path, PathBuf};

use graphloom_engine::prompt::{
    ALL, ANSWER, ANSWER_NAIVE, MAX_PROMPT_BYTES, Prompt, PromptError, Prompts, SUMMARIZE,
};

use crate::config::{Config, Guidance};
use crate::error::{Error, Fault, Result};
use crate::nearest::nearest;

/// The checked prompts and guidance.
#[derive(Clone)]
pub struct Wording {
    /// The prompts in use.
    pub prompts: Prompts,
    /// Guidance on the entity types, if configured.
    pub guidance: Option<String>,
}

impl Wording {
    /// Reads and checks the prompts and guidance.
    pub fn read(config: &Config) -> Result<Self> {
        Ok(Self { prompts: prompts(config)?, guidance: guidance(config)? })
    }
}

/// Reads the prompts. A configured value that a custom prompt does not use is an error, because it would have no effect.
fn prompts(config: &Config) -> Result<Prompts> {
    let mut prompts = match &config.prompts_dir {
        Some(folder) => read_folder(folder)?.0,
        None => Prompts::default(),
    };
    let set = |value: bool, key: &'static str, variable: &'static str, in_prompts: &[Prompt]| {
        let deaf = in_prompts.iter().find(|prompt| value && !prompts.uses(**prompt, variable));
        match (deaf, &config.prompts_dir) {
            (Some(prompt), Some(folder)) => {
                let file = file_of(folder, *prompt);
                let what = format!("{key} is set, but {} does not use it", file.display());
                let help = format!("insert {{{{{variable}}}}} into the prompt, or unset {key}");
                Err(Error::from(Fault::usage(what).help(help)))
            }
            _ => Ok(()),
        }
    };
    let system = config.form.system_prompt();
    set(config.entity_types.is_some(), "entity_types", "entity_types", &[system])?;
    set(config.entity_guidance.is_some(), "entity_guidance", "guidance", &[system])?;
    let in_a_language = [system, SUMMARIZE, ANSWER, ANSWER_NAIVE];
    set(config.language.is_some(), "language", "language", &in_a_language)?;
    if let Some(language) = &config.language {
        prompts.set_language(language);
    }
    Ok(prompts)
}

/// Returns the text of the guidance.
fn guidance(config: &Config) -> Result<Option<String>> {
    let words = match &config.entity_guidance {
        None => return Ok(None),
        Some(Guidance::Words(words)) => words.clone(),
        Some(Guidance::File(file)) => {
            read_text(file).map_err(|error| unreadable("entity_guidance_file", file, &error))?
        }
    };
    match words.trim() {
        "" => Err(Fault::usage("the entity guidance is empty")
            .help("write the guidance, or unset the key")
            .into()),
        words => Ok(Some(words.to_owned())),
    }
}

/// Reads custom prompts from a folder. Returns all prompts and the list of custom ones.
pub fn read_folder(folder: &Path) -> Result<(Prompts, Vec<(Prompt, PathBuf)>)> {
    let entries = std::fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()
    });
    let mut paths = entries.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::NoPromptsFolder { folder: folder.to_owned() },
        _ => unreadable("prompts_dir", folder, &error).into(),
    })?;
    paths.sort();
    let (mut prompts, mut own) = (Prompts::default(), Vec::new());
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name.eq_ignore_ascii_case("README.md") {
            continue;
        }
        let stem = name.strip_suffix(".md").unwrap_or(&name);
        let Some(prompt) = Prompt::find(stem).filter(|_| name.ends_with(".md")) else {
            let nearest = nearest(stem, ALL.iter().map(|prompt| prompt.name()), 1).first().copied();
            return Err(Error::UnknownPrompt { path, nearest });
        };
        let text = read_text(&path).map_err(|error| unreadable("prompt", &path, &error))?;
        prompts.replace(prompt, &text).map_err(|PromptError { line, what, remedy }| {
            Fault::usage(format!("{}:{line}: {what}", path.display())).help(remedy)
        })?;
        own.push((prompt, path));
    }
    Ok((prompts, own))
}

/// Returns the file of a prompt in a folder.
pub fn file_of(folder: &Path, prompt: Prompt) -> PathBuf {
    folder.join(format!("{}.md", prompt.name()))
}

fn unreadable(what: &str, path: &Path, error: &io::Error) -> Fault {
    Fault::usage(format!("reading {what} {}: {error}", path.display()))
}

fn read_text(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if metadata.len() > MAX_PROMPT_BYTES as u64 {
        return Err(io::Error::other(format!(
            "it has {} bytes, more than {MAX_PROMPT_BYTES}",
            metadata.len()
        )));
    }
    std::fs::read_to_string(path)
}
