//! Errors with a remedy and an exit code, and how errors are printed.

use std::process::ExitCode;

pub(crate) use graphloom::Fault;
use graphloom_core::{ModelError, StoreError};
use graphloom_engine::edit::EditError;
use graphloom_engine::index::{IndexError, ReadyGraphError};
use graphloom_engine::query::QueryError;
use graphloom_eval::journal::JournalError;
use graphloom_eval::judge::JudgeError;
use graphloom_eval::set::SetError;
use graphloom_providers::models::ModelStoreError;
use graphloom_server::{AccessError, McpError, ServeError};

use crate::output::tell;

/// How a command ended; the numbers are documented and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything that was asked for was done.
    Done = 0,
    /// An error stopped it, or `check` or `doctor` found a fault.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Finished, but some items failed or were refused.
    Partly = 3,
    /// The documents hold nothing to answer from.
    NothingFound = 4,
    /// Stopped by the budget; running the same command goes on.
    OverBudget = 5,
    /// Something waits, for the workspace is paused; it goes on once it is resumed.
    Paused = 6,
    /// Stopped by Ctrl-C; running the same command goes on.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The command line cannot be read, in the words of its parser.
pub(crate) fn of_command_line(error: &clap::Error) -> Fault {
    let text = error.render().to_string();
    let (message, help) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
    let fault = Fault::usage(message.strip_prefix("error: ").unwrap_or(message).trim());
    if help.trim().is_empty() { fault } else { fault.help(help.trim()) }
}

/// Prints `error: …` with its causes and, where one is known, a `help: …` line; says how the process should exit.
///
/// A reader that went away (`graphloom dump | head`) is no error.
///
/// - `json`: whether it is printed as a JSON object on one line.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> Exit {
    if is_broken_pipe(error) {
        return Exit::Done;
    }
    let exit = error.chain().find_map(exit_of).unwrap_or(Exit::Failed);
    print(&format!("{error:#}"), remedy(error).as_deref(), exit, json);
    exit
}

fn print(message: &str, help: Option<&str>, exit: Exit, json: bool) {
    if json {
        tell(
            serde_json::json!({ "event": "error", "error": message, "help": help, "exit_code": exit as u8 }),
        );
        return;
    }
    tell(format_args!("error: {message}"));
    if let Some(help) = help {
        tell(format_args!("help: {help}"));
    }
}

/// What to do where a command would build with other models or settings than the workspace.
const OTHER_SETTINGS: &str = "leave them out to go on as before (`graphloom config show --origin` says where each is set); \
                              --switch builds with them from now on, and leaves what is in the graph as it is";

fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if let Some(QueryError::NothingAllowed) = cause.downcast_ref() {
        return Some(Exit::NothingFound);
    }
    if let Some(IndexError::OtherSettings(_)) = cause.downcast_ref() {
        return Some(Exit::Usage);
    }
    let of_fault = |fault: &Fault| if fault.is_usage() { Exit::Usage } else { Exit::Failed };
    if let Some(fault) = cause.downcast_ref::<Fault>() {
        return Some(of_fault(fault));
    }
    match cause.downcast_ref::<graphloom::Error>()? {
        graphloom::Error::Fault(fault) => Some(of_fault(fault)),
        graphloom::Error::Index(IndexError::OtherSettings(_)) => Some(Exit::Usage),
        graphloom::Error::Query(QueryError::NothingAllowed) => Some(Exit::NothingFound),
        _ => None,
    }
}

/// What the user can do about an error, from the first cause that knows.
pub(crate) fn remedy(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(fault) = cause.downcast_ref::<Fault>() {
            return fault.remedy().map(str::to_owned);
        }
        match cause.downcast_ref::<graphloom::Error>() {
            Some(graphloom::Error::NoWorkspace { .. }) => {
                return Some("`graphloom add PATH` makes one; --data-dir names another folder".to_owned());
            }
            Some(graphloom::Error::OtherEmbedder { .. }) => {
                let help = "leave --embedder out to use the workspace's own, or choose a new --workspace";
                return Some(help.to_owned());
            }
            Some(graphloom::Error::Index(IndexError::OtherSettings(_))) => {
                return Some(OTHER_SETTINGS.to_owned());
            }
            Some(error) => return error.remedy(),
            None => {}
        }
        if let Some(store) = cause.downcast_ref::<StoreError>() {
            return store.remedy();
        }
        if let Some(IndexError::OtherSettings(_)) = cause.downcast_ref() {
            return Some(OTHER_SETTINGS.to_owned());
        }
        if let Some(models) = cause.downcast_ref::<ModelStoreError>() {
            return models.remedy().map(str::to_owned);
        }
        if let Some(mcp) = cause.downcast_ref::<McpError>() {
            return mcp.remedy().map(str::to_owned);
        }
        if let Some(serve) = cause.downcast_ref::<ServeError>() {
            return serve.remedy();
        }
        if let Some(access) = cause.downcast_ref::<AccessError>() {
            return access.remedy().map(str::to_owned);
        }
        if let Some(edit) = cause.downcast_ref::<EditError>() {
            return edit.remedy();
        }
        if let Some(graph) = cause.downcast_ref::<ReadyGraphError>() {
            return Some(graph.remedy().to_owned());
        }
        if let Some(query) = cause.downcast_ref::<QueryError>() {
            return query.remedy();
        }
        if let Some(set) = cause.downcast_ref::<SetError>() {
            return set.remedy();
        }
        if let Some(judge) = cause.downcast_ref::<JudgeError>() {
            return judge.remedy().map(str::to_owned);
        }
        if let Some(journal) = cause.downcast_ref::<JournalError>() {
            return journal.remedy().map(str::to_owned);
        }
        cause.downcast_ref::<ModelError>().and_then(ModelError::remedy)
    })
}

/// The error of the store behind an error.
pub(crate) fn of_store(error: &anyhow::Error) -> Option<&StoreError> {
    error.chain().find_map(|cause| {
        let wrapped = || cause.downcast_ref::<graphloom::Error>()?.store();
        cause.downcast_ref::<StoreError>().or_else(wrapped)
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn causes_are_joined_and_the_remedy_comes_from_the_cause_that_knows() {
        let cause = ModelError::Unauthorized { model: "openai:x".to_owned(), what: "401".to_owned() };
        let error = Err::<(), _>(cause).context("indexing \"q3.pdf\"").expect_err("made to fail");
        assert_eq!(format!("{error:#}"), "indexing \"q3.pdf\": model openai:x refused the key: 401");
        assert!(remedy(&error).is_some_and(|help| help.contains("OPENAI_API_KEY")));
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let error =
            anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe)).context("writing");
        assert_eq!(report(&error, false), Exit::Done);
    }
}
