//! `graphloom completions`: a completion script for a shell.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::fault::Exit;

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "graphloom", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}
