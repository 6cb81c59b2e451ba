//! The activity of processes: processor time, and the state and stack of every thread.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::world::Process;

/// Maximum bytes of the stacks of one process.
const MAX_STACKS: usize = 40_000;

/// Clock ticks used by a process; `None` if unknown.
pub(crate) fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; fields 14 and 15 are needed.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// How long the most delayed thread of a process has waited for a processor.
pub(crate) fn starved(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waited = threads.filter_map(|thread| {
        let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split_whitespace().nth(1)?.parse().ok()
    });
    Duration::from_nanos(waited.max().unwrap_or(0))
}

/// The state of every thread of these processes, with stacks if gdb is available.
pub(crate) fn of(processes: &[Arc<Process>]) -> String {
    let mut text = String::new();
    for process in processes {
        let seconds = process.started.elapsed().as_secs();
        let used = ticks(process.pid).unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "-- {} (pid {}, {seconds} s, {used} ticks)", process.what, process.pid);
        for thread in fs::read_dir(format!("/proc/{}/task", process.pid)).into_iter().flatten().flatten() {
            let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let state = read("stat").rsplit_once(')').map(|(_, rest)| rest.chars().nth(1).unwrap_or('?'));
            let (name, waits) = (read("comm"), read("wchan"));
            let _ = writeln!(text, "   {} {} {}", name.trim_end(), state.unwrap_or('?'), waits);
        }
        let gdb = Command::new("gdb")
            .args([
                "-batch",
                "-nx",
                "-ex",
                "set debuginfod enabled off",
                "-ex",
                "thread apply all backtrace 24",
                "-p",
            ])
            .arg(process.pid.to_string())
            .output();
        if let Ok(output) = gdb {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let frames: Vec<&str> =
                stdout.lines().filter(|line| line.starts_with('#') || line.starts_with("Thread")).collect();
            let mut frames = frames.join("\n");
            frames.truncate(frames.floor_char_boundary(MAX_STACKS));
            text.push_str(&frames);
            text.push('\n');
        }
    }
    text
}
