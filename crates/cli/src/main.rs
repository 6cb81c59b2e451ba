//! The `graphloom` command.

use std::process::ExitCode;

/// Returns memory to the system after a large document; the allocators of many systems do not.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    graphloom_cli::run()
}
