//! The `graphloom` command.

mod args;
mod commands;
mod config;
mod documents;
mod fault;
mod files;
mod folders;
mod interrupt;
mod nearest;
mod output;
mod reading;
#[cfg(feature = "otel")]
mod telemetry;
mod wire;
mod wording;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    commands::run(cli).unwrap_or_else(|error| fault::report(&error)).into()
}
