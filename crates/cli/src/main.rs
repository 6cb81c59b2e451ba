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

/// Gives memory back to the system once a large document is done, which the allocator of many systems does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    args::parse().and_then(commands::run).unwrap_or_else(|error| fault::report(&error)).into()
}
