//! Errors with a remedy and an exit code, and how they are printed.

use std::process::ExitCode;

use clap::error::ErrorKind;
pub(crate) use graphloom::Fault;
use graphloom_core::{ModelError, StoreError};
use graphloom_engine::index::IndexError;
use graphloom_engine::query::QueryError;

use crate::args::PlaceOptions;
use crate::output::{is_closed_stdout, tell, tell_json};
use crate::remedies;

/// The exit code of a command. The numbers are documented and must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Done = 0,
    /// An error, or `check` or `doctor` found a problem.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Finished, but some items failed or were refused.
    Partly = 3,
    /// The documents do not contain an answer.
    NothingFound = 4,
    /// Stopped by the budget; the same command continues.
    OverBudget = 5,
    /// Documents are waiting because the workspace is paused.
    Paused = 6,
    /// Stopped by Ctrl-C; the same command continues.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Converts an error of the command-line parser.
pub(crate) fn of_command_line(error: &clap::Error) -> Fault {
    let text = error.render().to_string();
    let (message, help) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
    // Without a subcommand the text is the help, which begins with what the command does.
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing",
        _ => message.strip_prefix("error: ").unwrap_or(message).trim(),
    };
    let fault = Fault::usage(message);
    if help.trim().is_empty() { fault } else { fault.help(help.trim()) }
}

/// Prints `error: …` with its causes and, if there is a remedy, a `help: …` line. Returns the exit code.
///
/// A closed stdout (`graphloom dump | head`) is not an error.
///
/// - `json`: print the error as a JSON object on one line.
/// - `place`: options that the commands of the remedy repeat.
pub(crate) fn report(error: &anyhow::Error, json: bool, place: &PlaceOptions) -> Exit {
    if error.chain().any(is_closed_stdout) {
        return Exit::Done;
    }
    let exit = error.chain().find_map(exit_of).unwrap_or(Exit::Failed);
    let help = remedy(error).map(|help| place.in_hint(&help));
    print(&format!("{error:#}"), help.as_deref(), exit, json);
    exit
}

fn print(message: &str, help: Option<&str>, exit: Exit, json: bool) {
    if json {
        tell_json(
            &serde_json::json!({ "event": "error", "error": message, "help": help, "exit_code": exit as u8 }),
        );
        return;
    }
    tell(format_args!("error: {message}"));
    if let Some(help) = help {
        tell(format_args!("help: {help}"));
    }
}

fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    let library = cause.downcast_ref::<graphloom::Error>();
    let question = cause.downcast_ref().or_else(|| library?.question());
    match question {
        Some(QueryError::NothingAllowed | QueryError::NothingNamed { .. }) => {
            return Some(Exit::NothingFound);
        }
        Some(QueryError::Empty) => return Some(Exit::Usage),
        _ => {}
    }
    if let Some(IndexError::OtherSettings(_) | IndexError::AbsentModels(_)) = cause.downcast_ref() {
        return Some(Exit::Usage);
    }
    if let Some(ModelError::OverBudget { .. }) = cause.downcast_ref() {
        return Some(Exit::OverBudget);
    }
    if let Some(fault) = cause.downcast_ref::<Fault>() {
        return Some(if fault.is_usage() { Exit::Usage } else { Exit::Failed });
    }
    library?.is_usage().then_some(Exit::Usage)
}

/// Returns the remedy of the first cause that has one.
pub(crate) fn remedy(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| match cause.downcast_ref::<Fault>() {
        Some(fault) => fault.remedy().map(str::to_owned),
        None => remedies::of(cause),
    })
}

/// Returns the store error among the causes of an error.
pub(crate) fn of_store(error: &anyhow::Error) -> Option<&StoreError> {
    error.chain().find_map(|cause| {
        let wrapped = || cause.downcast_ref::<graphloom::Error>()?.store();
        cause.downcast_ref::<StoreError>().or_else(wrapped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn causes_are_joined_and_the_remedy_comes_from_the_cause_that_has_one() {
        let cause = ModelError::Unauthorized { model: "openai:x".to_owned(), what: "401".to_owned() };
        let error = Err::<(), _>(cause).context("indexing \"q3.pdf\"").expect_err("made to fail");
        assert_eq!(format!("{error:#}"), "indexing \"q3.pdf\": model openai:x rejected the API key: 401");
        assert!(remedy(&error).is_some_and(|help| help.contains("OPENAI_API_KEY")));
    }

    #[test]
    fn a_call_beyond_the_budget_ends_the_command_with_the_budget_exit_code() {
        let cause = ModelError::OverBudget { model: "openai:x".to_owned(), what: "9 of 10".to_owned() };
        let error = anyhow::Error::from(IndexError::Model(cause));
        assert_eq!(report(&error, false, &PlaceOptions::default()), Exit::OverBudget);
        assert!(remedy(&error).is_some_and(|help| help.contains("--budget")));
    }

    #[test]
    fn a_broken_pipe_other_than_stdout_is_an_error() {
        let error =
            anyhow::Error::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe)).context("asking");
        assert_eq!(report(&error, false, &PlaceOptions::default()), Exit::Failed);
    }

    #[test]
    fn a_question_about_nothing_in_the_graph_ends_with_the_same_exit_code_in_every_wrapping() {
        let nothing = || QueryError::NothingNamed { about: "x".to_owned() };
        let wrapped = || graphloom::Error::from(nothing());
        let doing = graphloom::Error::While { what: "asking".to_owned(), source: Box::new(wrapped()) };
        let errors: [anyhow::Error; 3] = [nothing().into(), wrapped().into(), doing.into()];
        for error in errors {
            assert_eq!(report(&error, false, &PlaceOptions::default()), Exit::NothingFound);
        }
    }
}
