//! `graphloom completions`: a completion script for a shell.

use std::io::Write;

use crate::args::CompletionsArgs;
use crate::fault::Exit;
use crate::output::Stdout;

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::command(), "graphloom", &mut script);
    Stdout.write_all(&script)?;
    Ok(Exit::Done)
}
