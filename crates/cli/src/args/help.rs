//! The layout of `--help`: commands in groups, global options listed once, and hints for words that are not
//! commands.

use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::fault::{Fault, of_command_line};
use crate::output::terminal;
use graphloom::nearest;

/// Command groups in the help.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Documents",
        &[
            "add",
            "import",
            "status",
            "show",
            "rm",
            "retry",
            "work",
            "cancel",
            "pause",
            "resume",
            "re-extract",
            "contextualize",
            "re-embed",
        ],
    ),
    ("Ask", &["ask", "search", "suggest"]),
    ("Graph", &["graph", "claims", "communities", "tree", "derive", "export"]),
    ("Serve", &["serve", "worker", "mcp", "key", "user"]),
    ("Evaluate", &["eval"]),
    (
        "Operate",
        &[
            "doctor",
            "config",
            "model",
            "prompts",
            "cost",
            "budget",
            "cache",
            "check",
            "repair",
            "migrate",
            "workspace",
            "copy",
            "backup",
            "restore",
            "dump",
            "parse",
            "completions",
            "help",
        ],
    ),
];

/// Words that people type by mistake, with a hint to the right command.
const HINTS: [(&[&str], &str); 12] = [
    (
        &["chat", "talk"],
        "`graphloom ask \"QUESTION\"` answers a question; `ask --history FILE` continues a conversation",
    ),
    (&["init", "new", "create"], "no setup is needed: `graphloom add PATH` creates the workspace"),
    (
        &["update", "sync", "refresh", "reindex"],
        "run `graphloom add PATH` again to add what changed; `--watch` keeps doing so",
    ),
    (
        &["start", "run", "server", "web", "ui"],
        "`graphloom serve` serves the web UI and the HTTP API until Ctrl-C",
    ),
    (&["watch"], "`graphloom add PATH --watch` keeps adding what changes until Ctrl-C"),
    (&["verify"], "`graphloom check` checks the store; `graphloom restore FOLDER --verify` checks a backup"),
    (
        &["documents", "docs", "info"],
        "`graphloom status` lists the documents and shows the state of the workspace",
    ),
    (
        &["labels", "entities", "nodes"],
        "`graphloom graph labels` lists entities; `graphloom graph NAME` shows one",
    ),
    (
        &["relations", "edges"],
        "`graphloom graph NAME` shows the relations of an entity; `graphloom export` prints all",
    ),
    (&["version"], "`graphloom --version` prints the version"),
    (
        &["save", "archive"],
        "`graphloom backup FOLDER` copies all workspaces while they are in use; `graphloom restore` brings them back",
    ),
    (
        &["clear", "reset", "purge"],
        "`graphloom rm DOC` removes documents, `graphloom workspace delete NAME` a whole workspace",
    ),
];

/// Maximum width of help texts, as clap's.
const MAX_COLUMNS: usize = 100;

/// Options that people type for `add` by mistake.
const RECURSIVE: [&str; 3] = ["-r", "-R", "--recursive"];

/// Help template of a command; global options are only referred to.
const OF_A_COMMAND: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}

Options of all commands, such as --workspace, --llm and --json: graphloom --help";

/// The option that may be repeated before and after a command; all its values count.
const SET: &str = "set";

/// Returns the command line with our help layout. Every command also accepts the global options.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let globals = command.get_arguments().filter(|arg| arg.is_global_set() || arg.get_id() == SET);
    let globals: Vec<clap::Arg> = globals.map(|arg| arg.clone().hide(true)).collect();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{options}}{{after-help}}",
        groups(&command)
    );
    command.help_template(template).mut_subcommands(|sub| with_hidden(sub, &globals))
}

/// Parses the command line. Help and version exit the process as in clap, and so do usage errors unless `json` is set.
///
/// Returns an error for the words in [`HINTS`], which are not commands, for other words that are spelled like a command, and for
/// [`RECURSIVE`].
pub(crate) fn parse(json: bool) -> anyhow::Result<Cli> {
    match command().try_get_matches() {
        Ok(matches) => {
            let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
            cli.global.set = settings(&matches);
            Ok(cli)
        }
        Err(error) => match hint(&error) {
            Some(fault) => Err(fault.into()),
            None if json && error.use_stderr() => Err(of_command_line(&error).into()),
            None => error.exit(),
        },
    }
}

/// Returns the values of `--set` before and after each command, in the order they were typed.
fn settings(matches: &ArgMatches) -> Vec<(String, String)> {
    let own = matches.try_get_many(SET).ok().flatten().into_iter().flatten().cloned();
    let of_command = matches.subcommand().map(|(_, matches)| settings(matches));
    own.chain(of_command.into_iter().flatten()).collect()
}

/// Returns the error with a hint, if there is a hint for the word that is wrong.
fn hint(error: &clap::Error) -> Option<Fault> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word)), _) => {
            let hint = HINTS.iter().find(|(words, _)| words.contains(&word.as_str()));
            let help = match hint {
                Some((_, help)) => (*help).to_owned(),
                None if is_of(error, "[OPTIONS]") => {
                    format!("did you mean `graphloom {}`?", meant(word, &Cli::command())?)
                }
                None => return None,
            };
            Some(Fault::usage(format!("unknown command \"{word}\"")).help(help))
        }
        (ErrorKind::UnknownArgument, _, Some(ContextValue::String(option)))
            if RECURSIVE.contains(&option.as_str()) && is_of(error, "add") =>
        {
            let fault = Fault::usage(format!("`add` has no option {option}"));
            Some(fault.help("leave it out: folders are read with everything below them"))
        }
        _ => None,
    }
}

/// Returns the subcommand of `command` whose spelling is nearest to a word that is none.
fn meant(word: &str, command: &Command) -> Option<String> {
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = visible.flat_map(Command::get_name_and_visible_aliases).collect();
    nearest(word, names, 1).first().map(|name| (*name).to_owned())
}

/// Returns the subcommand of `graphloom graph` that a word may be meant for.
pub(crate) fn meant_for_graph(word: &str) -> Option<String> {
    meant(word, Cli::command().find_subcommand("graph")?)
}

/// True if `word` follows the program in the usage line of an error, such as `Usage: graphloom add …`.
fn is_of(error: &clap::Error, word: &str) -> bool {
    let text = error.to_string();
    let mut usage = text.lines().filter_map(|line| line.strip_prefix("Usage: "));
    usage.any(|usage| usage.split(' ').nth(1) == Some(word))
}

/// Adds the hidden global options to a command and its subcommands.
fn with_hidden(command: Command, globals: &[clap::Arg]) -> Command {
    let command = command.args(globals).mut_subcommands(|sub| with_hidden(sub, globals));
    // `{all-args}` also lists subcommands.
    command.help_template(OF_A_COMMAND)
}

/// Returns the command groups, followed by the heading of the global options.
fn groups(command: &Command) -> String {
    let styles = Styles::default();
    let (bold, plain) =
        (styles.get_header().render().to_string(), styles.get_header().render_reset().to_string());
    let (literal, end) =
        (styles.get_literal().render().to_string(), styles.get_literal().render_reset().to_string());
    // As wide as the help of a command.
    let columns = terminal::terminal_columns_of_stdout().unwrap_or(MAX_COLUMNS).min(MAX_COLUMNS);
    let mut text = String::new();
    for (group, names) in GROUPS {
        text.push_str(&format!("{bold}{group}:{plain}\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None if *name == "help" => "Print this help or the help of a command".to_owned(),
                None => continue, // a program that is built without the feature for it
            };
            let line = terminal::wrapped_lines(&format!("  {literal}{name:<15}{end}{about}"), columns);
            text.push_str(&line);
            text.push('\n');
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
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut grouped: Vec<&str> =
            grouped.filter(|name| cfg!(feature = "local") || *name != "model").collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
    }

    #[test]
    fn help_describes_each_command_in_its_own_words() {
        let text = groups(&Cli::command());
        assert_eq!(text.matches("Print this help").count(), 1, "{text}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn hints_for_unknown_commands_are_not_commands_themselves() {
        let command = Cli::command();
        for word in HINTS.iter().flat_map(|(words, _)| words.iter()) {
            assert!(command.find_subcommand(word).is_none(), "{word}");
        }
    }
}
