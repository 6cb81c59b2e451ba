//! `graphloom-torture`: random histories of the built program under kills, stops and faults, compared with a model.

#[cfg(unix)]
use graphloom_torture::main as run;

#[cfg(not(unix))]
fn run() -> std::process::ExitCode {
    eprintln!("error: the torture suite sends signals, so it runs only on Unix");
    std::process::ExitCode::from(2)
}

fn main() -> std::process::ExitCode {
    run()
}
