//! The final check: ends all faults, indexes everything queued, and compares the store with the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::process::{Command, Output};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::act::{export, judge_and_note};
use crate::edit;
use crate::history::{History, What};
use crate::http;
use crate::judge::{self, Operation};
use crate::model::{WriteEnd, Wrong};
use crate::provider;
use crate::report::{self, Kind};
use crate::stacks;
use crate::text;
use crate::weather::Spell;
use crate::world::{ProcessEnd, World};

/// How long the number of waiting documents may stay the same.
const UNTIL_STUCK: Duration = Duration::from_secs(60);
/// Time for a server to stop.
const UNTIL_ENDED: Duration = Duration::from_secs(40);
/// Concurrent calls of one process.
const CALLS_IN_FLIGHT: u64 = 4;
/// Maximum lines of a difference in a finding.
const MAX_LINES: usize = 24;
/// Minimum number of writes for a meaningful 99th percentile.
const MIN_WRITES: usize = 100;
/// Maximum files in one command.
const MAX_FILES: usize = 200;

/// Brings the world to rest and compares.
pub(crate) fn compare(world: &World, history: &History) -> io::Result<()> {
    world.heal();
    for process in world.running() {
        process.signal("CONT");
    }
    world.setup.provider.heal();
    if world.is_over() {
        return Ok(());
    }
    judge_pace(world);
    let exists = world.root.join(".graphloom/default.graphloom").exists();
    if exists {
        look_for_cancelled(world)?;
        settle(world, history)?;
    }
    stop_servers(world);
    if world.is_over() || !exists {
        return Ok(());
    }
    // The first model extracts each document once, and again for each re-extraction.
    let once = |model: &str| u64::from(model == provider::MODEL);
    let paid_twice = world.setup.provider.paid_twice(|model| once(model) + world.model().renewals(model));
    count_paid_twice(world, history, paid_twice);

    let there = read_state(world)?;
    let wrong = world.model().compare(&there);
    for (source, kind, what) in wrong {
        let mut tally = world.tally();
        let kind = match kind {
            Wrong::Lost => {
                tally.lost += 1;
                Kind::Lost
            }
            Wrong::Ghost => {
                tally.ghosts += 1;
                Kind::Ghost
            }
        };
        drop(tally);
        world.find(kind, None, format!("{}: {what}", text::file(source)));
    }
    // A search rebuilds damaged parts of the full-text index; afterwards it must be correct too.
    let searched = run(world, &["--json", "search", text::NAMES[0]])?;
    judge_and_note(world, Operation::Read, &searched);
    let check = run(world, &["check"])?;
    if check.code != Some(0) {
        world.find(Kind::Check, None, judge::quoted(&check));
    }
    compare_with_plain_build(world, &there)
}

/// Compares the 99th percentile of undelayed writes with the limit.
fn judge_pace(world: &World) {
    let mut write_ms = world.tally().write_ms.clone();
    write_ms.sort_unstable();
    let (p99, limit) = (report::p99(&write_ms), world.settings.p99_write_ms);
    if write_ms.len() >= MIN_WRITES && p99 > limit {
        let what = format!("p99 of {} writes is {p99} ms, more than {limit}", write_ms.len());
        world.find(Kind::Slow, None, what);
    }
}

/// Checks that cancelled sources still are, since nothing was queued again.
fn look_for_cancelled(world: &World) -> io::Result<()> {
    let out: Vec<u32> = world.model().out_of_queue().collect();
    if out.is_empty() {
        return Ok(());
    }
    let ran = run(world, &["--json", "status"])?;
    judge_and_note(world, Operation::Read, &ran);
    let status: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    for source in out {
        let file = text::file(source);
        let of_source = status["documents"].as_array().into_iter().flatten();
        let mut of_source = of_source.filter(|document| document["source"] == *file);
        if !of_source.any(|document| document["status"] == "cancelled") {
            world.find(Kind::Lost, None, format!("{file} was cancelled, but is not listed as cancelled"));
        }
    }
    Ok(())
}

fn run(world: &World, arguments: &[&str]) -> io::Result<ProcessEnd> {
    world.run(0, arguments)
}

/// Number of documents by status; empty if there are none.
fn status(world: &World) -> io::Result<BTreeMap<String, u64>> {
    let ran = run(world, &["--json", "status"])?;
    judge_and_note(world, Operation::Read, &ran);
    let status: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let mut counts = BTreeMap::new();
    for (name, count) in status["by_status"].as_object().into_iter().flatten() {
        counts.insert(name.clone(), count.as_u64().unwrap_or(0));
    }
    let stale = status["counts"]["stale"].as_u64().unwrap_or(0);
    if stale > 0 {
        counts.insert("stale".to_owned(), stale);
    }
    Ok(counts)
}

/// Indexes until every document is ready and extracted by the first model; running servers take part.
fn settle(world: &World, history: &History) -> io::Result<()> {
    let resumed = run(world, &["resume"])?;
    judge_and_note(world, Operation::Queue, &resumed);
    world.weather.end(Spell::Paused);
    let mut to_renew = history.steps.iter().any(|step| matches!(step.what, What::Renew { .. }));
    let mut last: Option<(BTreeMap<String, u64>, u64)> = None;
    let mut changed = Instant::now();
    loop {
        for server in world.all_servers() {
            // Wakes a worker that pauses after failures. The documents are judged, not this answer.
            let _ = http::send(&server.address, "POST", "/documents/reprocess_failed", "{}");
        }
        let before = status(world)?;
        if before.keys().any(|status| matches!(status.as_str(), "failed" | "incomplete" | "cancelled")) {
            let ran = run(world, &["--json", "retry", "--cancelled"])?;
            judge_and_note(world, Operation::Work, &ran);
        }
        let ran = run(world, &["--json", "work"])?;
        judge_and_note(world, Operation::Work, &ran);
        to_renew = to_renew && !renew(world)?;
        let now = (status(world)?, world.setup.provider.calls().0);
        if world.is_over() || !to_renew && now.0.keys().all(|status| status == "ready") {
            return Ok(());
        }
        if last.as_ref() != Some(&now) {
            changed = Instant::now();
        }
        if changed.elapsed() > UNTIL_STUCK {
            let servers = world.running();
            let what = format!("documents wait forever: {:?}\n{}", now.0, stacks::of(&servers));
            world.find(Kind::Standstill, None, what);
            world.over.store(true, Ordering::Relaxed);
            return Ok(());
        }
        last = Some(now);
        thread::sleep(Duration::from_millis(200));
    }
}

/// Re-extracts with the first model what another one extracted; returns whether all of it was done.
fn renew(world: &World) -> io::Result<bool> {
    let ran = run(world, &["--json", "status"])?;
    judge_and_note(world, Operation::Read, &ran);
    let status: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let documents = status["documents"].as_array().into_iter().flatten();
    let sources: BTreeSet<&str> = documents.filter_map(|document| document["source"].as_str()).collect();
    if sources.is_empty() {
        return Ok(true);
    }
    let arguments: Vec<&str> = ["--json", "re-extract"].into_iter().chain(sources).collect();
    world.model().renews(provider::MODEL);
    let ran = run(world, &arguments)?;
    Ok(judge_and_note(world, Operation::Renew, &ran) == WriteEnd::Done)
}

fn stop_servers(world: &World) {
    for server in world.all_servers() {
        let from = Instant::now();
        server.process.signal("TERM");
        while server.process.poll().is_none() && !world.is_over() {
            if from.elapsed() > UNTIL_ENDED {
                let what = format!("{} does not end\n{}", server.process.what, stacks::of(&world.running()));
                world.find(Kind::Standstill, Some(server.process.step), what);
                world.over.store(true, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(10));
        }
        let ran = world.wait(&server.process);
        judge_and_note(world, Operation::Serve, &ran);
    }
}

/// Each kill and each failed write may lose the answers in flight; nothing else may.
fn count_paid_twice(world: &World, history: &History, paid_twice: u64) {
    let mut tally = world.tally();
    tally.paid_twice += paid_twice;
    let allowed = CALLS_IN_FLIGHT * tally.calls_lost;
    drop(tally);
    if paid_twice > allowed {
        let what = format!("{paid_twice} calls were paid for twice, {allowed} may be ({})", history.name);
        world.find(Kind::PaidTwice, None, what);
    }
}

/// The versions of each source in the store. Canaries of other versions are ghosts.
fn read_state(world: &World) -> io::Result<BTreeMap<u32, BTreeSet<u32>>> {
    let chunks = run(world, &["export", "--only", "chunks"])?;
    judge_and_note(world, Operation::Read, &chunks);
    let there = export::versions(&chunks.stdout);
    let dump = run(world, &["dump"])?;
    judge_and_note(world, Operation::Read, &dump);
    let export = run(world, &["export"])?;
    judge_and_note(world, Operation::Read, &export);
    let mut ghosts = BTreeSet::new();
    for (what, output) in [("dump", &dump.stdout), ("export", &export.stdout)] {
        for (source, version) in text::canaries(output) {
            if !there.get(&source).is_some_and(|versions| versions.contains(&version)) {
                ghosts.insert((source, version, what));
            }
        }
    }
    for (source, version, what) in ghosts {
        world.tally().ghosts += 1;
        let canary = text::canary(source, version);
        world.find(Kind::Ghost, None, format!("the {what} shows {canary}, whose document does not exist"));
    }
    Ok(there)
}

/// Builds the remaining documents in a new folder, makes the same decisions, and compares.
fn compare_with_plain_build(world: &World, there: &BTreeMap<u32, BTreeSet<u32>>) -> io::Result<()> {
    let plain = world.root.join("plain");
    fs::create_dir_all(plain.join("home"))?;
    // Its own folder of workspaces: without one the program finds that of the history, in the folder above.
    fs::create_dir_all(plain.join(".graphloom"))?;
    let command = |arguments: &[&str]| -> io::Result<Output> {
        let mut command = Command::new(&world.setup.binary);
        command.env_clear().envs(world.environment(&plain)).current_dir(&plain).args(arguments).output()
    };
    let mut files = Vec::new();
    let anchor = world.settings.anchor.then_some((text::ANCHOR, 0));
    let versions =
        there.iter().flat_map(|(source, versions)| versions.iter().map(|version| (*source, *version)));
    for (source, version) in anchor.into_iter().chain(versions) {
        fs::write(plain.join(text::file(source)), text::text(source, version, world.settings.shape))?;
        files.push(text::file(source));
    }
    for some in files.chunks(MAX_FILES) {
        let arguments: Vec<&str> =
            ["--quiet", "add"].into_iter().chain(some.iter().map(String::as_str)).collect();
        let added = command(&arguments)?;
        if !added.status.success() {
            let stderr = String::from_utf8_lossy(&added.stderr).into_owned();
            world.find(Kind::Suite, None, format!("the plain build failed: {stderr}"));
            return Ok(());
        }
    }
    let listed = run(world, &["--json", "graph", "history", "--limit", "10000"])?;
    judge_and_note(world, Operation::Read, &listed);
    let mut decisions: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap_or_default();
    decisions.sort_by_key(|decision| decision["order"].as_u64());
    let known: BTreeSet<&str> = decisions.iter().filter_map(|decision| decision["id"].as_str()).collect();
    let lost: Vec<String> =
        world.model().decisions.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
    if !lost.is_empty() {
        world.tally().lost += lost.len() as u64;
        world.find(Kind::Lost, None, format!("acknowledged decisions are missing: {}", lost.join(", ")));
    }
    for decision in &decisions {
        let Some(arguments) = edit::of_decision(decision) else {
            world.find(Kind::Suite, None, format!("a decision that the suite does not make: {decision}"));
            return Ok(());
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let edited = command(&arguments)?;
        if !edited.status.success() {
            let stderr = String::from_utf8_lossy(&edited.stderr).into_owned();
            world.find(Kind::Suite, None, format!("repeating {arguments:?} failed: {stderr}"));
            return Ok(());
        }
    }
    let ours = run(world, &["dump", "--hash"])?;
    if judge_and_note(world, Operation::Read, &ours) != WriteEnd::Done {
        return Ok(());
    }
    let theirs = command(&["dump", "--hash"])?;
    if !theirs.status.success() && files.is_empty() {
        return Ok(());
    }
    let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
    if ours.stdout.trim() != theirs.trim() {
        let dumped = run(world, &["dump"])?.stdout;
        let of_plain = String::from_utf8_lossy(&command(&["dump"])?.stdout).into_owned();
        world.find(
            Kind::Hash,
            None,
            format!("the state is not that of a plain build\n{}", difference(&dumped, &of_plain)),
        );
    }
    Ok(())
}

/// Lines that occur in only one of two dumps.
fn difference(ours: &str, plain: &str) -> String {
    let (of_ours, of_plain): (BTreeSet<&str>, BTreeSet<&str>) =
        (ours.lines().collect(), plain.lines().collect());
    let cut = |line: &str| line.chars().take(300).collect::<String>();
    let more = of_ours.difference(&of_plain).map(|line| format!("+ {}", cut(line)));
    let less = of_plain.difference(&of_ours).map(|line| format!("- {}", cut(line)));
    let lines: Vec<String> = more.take(MAX_LINES).chain(less.take(MAX_LINES)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_lists_lines_of_only_one_side() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), "+ a\n- c");
    }
}
