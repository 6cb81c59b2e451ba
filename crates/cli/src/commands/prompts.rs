//! `graphloom prompts`: lists, prints, exports and checks prompts.

use std::path::Path;

use anyhow::Context;
use graphloom::nearest;
use graphloom_engine::prompt::{ALL, Prompt};
use serde::Serialize;

use super::App;
use crate::args::PromptsCommand;
use crate::fault::{Exit, Fault};
use crate::output::render::count;
use graphloom::wording::{self, Wording};

#[derive(Serialize)]
struct PromptRow {
    name: &'static str,
    purpose: &'static str,
    variables: Vec<&'static str>,
    /// Variables that a custom version must contain.
    needs: Vec<&'static str>,
    /// The custom version in use; `null` for the built-in one.
    file: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(app: &App, command: &PromptsCommand) -> anyhow::Result<Exit> {
    match command {
        PromptsCommand::List => list(app),
        PromptsCommand::Show { name, built_in } => show(app, name, *built_in),
        PromptsCommand::Export { folder, names, force } => export(app, folder, names, *force),
        PromptsCommand::Check { folder } => check(app, folder.as_deref()),
    }
}

fn list(app: &App) -> anyhow::Result<Exit> {
    let own = match &app.config.prompts_dir {
        Some(folder) => wording::read_folder(folder)?.1,
        None => Vec::new(),
    };
    let listed = ALL.iter().map(|prompt| PromptRow {
        name: prompt.name(),
        purpose: prompt.purpose(),
        variables: prompt.variables().collect(),
        needs: prompt.needs().collect(),
        file: own.iter().find(|(it, _)| it == prompt).map(|(_, path)| path.display().to_string()),
    });
    if app.output.json {
        app.output.json(&listed.collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for PromptRow { name, purpose, file, .. } in listed {
        let origin = file.unwrap_or_else(|| "built in".to_owned());
        app.output.line(format_args!("{name:<18} {purpose} {}", app.output.faint(&format!("({origin})"))))?;
    }
    Ok(Exit::Done)
}

fn show(app: &App, name: &str, built_in: bool) -> anyhow::Result<Exit> {
    let prompt = known(name)?;
    let own =
        app.config.prompts_dir.as_ref().filter(|_| !built_in).map(|folder| wording::file_of(folder, prompt));
    let text = match own.filter(|file| file.exists()) {
        Some(file) => {
            std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?
        }
        None => prompt.file().to_owned(),
    };
    if app.output.json {
        app.output.json(&serde_json::json!({ "name": prompt.name(), "text": text }))?;
    } else {
        app.output.line(text.trim_end())?;
    }
    Ok(Exit::Done)
}

fn export(app: &App, folder: &Path, names: &[String], force: bool) -> anyhow::Result<Exit> {
    let prompts: Vec<Prompt> = match names {
        [] => ALL.to_vec(),
        names => names.iter().map(|name| known(name)).collect::<anyhow::Result<_>>()?,
    };
    let files: Vec<_> = prompts.iter().map(|prompt| (prompt, wording::file_of(folder, *prompt))).collect();
    if let Some((_, taken)) = files.iter().find(|(_, file)| !force && file.exists()) {
        let fault = Fault::failed(format!("{} already exists", taken.display()));
        return Err(fault.help("--force replaces it; nothing was written").into());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    for (prompt, file) in &files {
        std::fs::write(file, prompt.file()).with_context(|| format!("writing {}", file.display()))?;
    }
    if app.output.json {
        let files: Vec<String> = files.iter().map(|(_, file)| file.display().to_string()).collect();
        app.output.json(&serde_json::json!({ "files": files }))?;
    } else {
        app.output.line(format_args!(
            "{} written to {}",
            count(files.len() as u64, "prompt"),
            folder.display()
        ))?;
        app.output.note(format_args!(
            "change what you want, remove the rest, and set prompts_dir = {:?}",
            folder.display().to_string()
        ));
    }
    Ok(Exit::Done)
}

fn check(app: &App, folder: Option<&Path>) -> anyhow::Result<Exit> {
    let Some(folder) = folder.or(app.config.prompts_dir.as_deref()) else {
        return Err(Fault::usage("no folder for prompts is configured")
            .help("name a folder, or set prompts_dir")
            .into());
    };
    let own = wording::read_folder(folder)?.1;
    if Some(folder) == app.config.prompts_dir.as_deref() {
        Wording::read(&app.config)?;
    }
    if app.output.json {
        let names: Vec<&str> = own.iter().map(|(prompt, _)| prompt.name()).collect();
        app.output.json(&serde_json::json!({ "folder": folder.display().to_string(), "prompts": names }))?;
    } else {
        app.output.line(format_args!("{}: {} valid", folder.display(), count(own.len() as u64, "prompt")))?;
    }
    Ok(Exit::Done)
}

fn known(name: &str) -> anyhow::Result<Prompt> {
    Prompt::find(name.strip_suffix(".md").unwrap_or(name)).ok_or_else(|| {
        let fault = Fault::usage(format!("unknown prompt {name:?}"));
        match nearest(name, ALL.iter().map(|prompt| prompt.name()), 1).first() {
            Some(near) => fault.help(format!("did you mean {near:?}?")),
            None => fault.help("`graphloom prompts list` lists all prompts"),
        }
        .into()
    })
}
