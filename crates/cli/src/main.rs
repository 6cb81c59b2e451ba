//! The `graphloom` command.

mod args;
mod commands;
mod documents;
mod fault;
mod folders;
mod interrupt;
mod output;
mod serve_config;
#[cfg(feature = "otel")]
mod telemetry;
mod wire;

use std::process::ExitCode;

/// Gives memory back to the system once a large document is done, which the allocator of many systems does not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A command line that cannot be read says it too.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    args::parse(json).and_then(commands::run).unwrap_or_else(|error| fault::report(&error, json)).into()
}
