//! What `--help` shows: commands in groups, the options of all commands once, and what is meant by words that are no command.

use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::fault::{Fault, of_command_line};

/// The commands of the help, in groups.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Documents",
        &[
            "add",
            "status",
            "show",
            "rm",
            "retry",
            "work",
            "cancel",
            "pause",
            "resume",
            "re-extract",
            "situate",
        ],
    ),
    ("Ask", &["ask", "search"]),
    ("Graph", &["graph", "export"]),
    ("Serve", &["serve", "mcp", "key", "user"]),
    ("Evaluate", &["eval"]),
    (
        "Operate",
        &[
            "doctor",
            "config",
            "model",
            "prompts",
            "cost",
            "cache",
            "check",
            "repair",
            "dump",
            "parse",
            "completions",
            "help",
        ],
    ),
];

/// Words that people type and that are no command, with what does it.
const MEANT: [(&[&str], &str); 6] = [
    (
        &["chat", "talk"],
        "`graphloom ask \"QUESTION\"` answers a question; `ask --history FILE` goes on from a conversation",
    ),
    (&["init", "new", "create"], "nothing is to be set up: `graphloom add PATH` makes the workspace"),
    (
        &["update", "sync", "refresh", "reindex"],
        "`graphloom add PATH` again takes up what changed; `--watch` goes on doing so",
    ),
    (&["start", "run", "server", "web", "ui"], "`graphloom serve` answers over HTTP until Ctrl-C"),
    (
        &["backup", "restore", "save"],
        "a workspace is one file: `graphloom status` names it, and a copy of it is a backup",
    ),
    (
        &["clear", "reset", "purge"],
        "`graphloom rm DOC` removes documents; a workspace is removed with its file, which `graphloom status` names",
    ),
];

/// The first line of the help of a command, before its own words; its own options, and where the others stand.
const OF_A_COMMAND: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}

Options of all commands, such as --workspace, --llm and --json: graphloom --help";

/// The command line, as parsed and as shown.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let globals: Vec<clap::Arg> =
        command.get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.clone().hide(true)).collect();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{options}}{{after-help}}",
        groups(&command)
    );
    command.help_template(template).mut_subcommands(|sub| with_hidden(sub, &globals))
}

/// Parses what was typed; help and the version end the process as clap does, and usage errors where they are not to be told as
/// `json`.
///
/// An error for words that are no command and that are known to mean one.
pub(crate) fn parse(json: bool) -> anyhow::Result<Cli> {
    match command().try_get_matches() {
        Ok(matches) => Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())),
        Err(error) => match meant(&error) {
            Some((word, help)) => {
                Err(Fault::usage(format!("there is no command \"{word}\"")).help(help).into())
            }
            None if json && error.use_stderr() => Err(of_command_line(&error).into()),
            None => error.exit(),
        },
    }
}

fn meant(error: &clap::Error) -> Option<(String, &'static str)> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (_, help) = MEANT.iter().find(|(words, _)| words.contains(&word.as_str()))?;
    Some((word.clone(), help))
}

/// A command, and those inside it, that takes the options of all commands without listing them.
fn with_hidden(command: Command, globals: &[clap::Arg]) -> Command {
    let command = command.args(globals).mut_subcommands(|sub| with_hidden(sub, globals));
    // Where commands are inside, the template of clap lists them.
    command.help_template(OF_A_COMMAND)
}

/// The groups as the help shows them, and the heading of the options.
fn groups(command: &Command) -> String {
    let styles = Styles::default();
    let (bold, plain) =
        (styles.get_header().render().to_string(), styles.get_header().render_reset().to_string());
    let (literal, end) =
        (styles.get_literal().render().to_string(), styles.get_literal().render_reset().to_string());
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{bold}{group}:{plain}\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => "Print this, or the help of a command".to_owned(),
            };
            text.push_str(&format!("  {literal}{name:<12}{end}{about}\n"));
        }
        text.push('\n');
    }
    text.push_str(&format!("{bold}Global options:{plain}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn words_that_mean_a_command_are_not_commands_themselves() {
        let command = Cli::command();
        for word in MEANT.iter().flat_map(|(words, _)| words.iter()) {
            assert!(command.find_subcommand(word).is_none(), "{word}");
        }
    }
}
