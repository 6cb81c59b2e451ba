//! Does the steps of a history: one thread for each lane.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde_json::{Value, json};

use crate::history::{DiskFault, Edit, History, Read, Step, Via, Victim, What};
use crate::http;
use crate::judge::{self, Operation};
use crate::model::Ended;
use crate::report::Kind;
use crate::text::{self, NAMES};
use crate::weather::Spell;
use crate::world::{Process, Ran, Role, World};

/// How often a request that is refused as busy is sent again.
const BUSY_RETRIES: u32 = 20;

/// What all lanes share.
struct Lanes {
    meetings: BTreeMap<u32, Barrier>,
    workers: Mutex<Vec<Arc<Process>>>,
    /// Whether crowds of readers are to go home.
    quiet: AtomicBool,
}

/// One lane.
struct Lane<'a> {
    lanes: &'a Lanes,
    world: &'a World,
    /// The source and version that this lane removed or replaced last.
    gone: Option<(u32, u32)>,
    /// The versions that this lane wrote last.
    last: BTreeMap<u32, u32>,
}

/// Does all steps; the `work` processes that were started are waited for and judged.
pub(crate) fn all(world: &World, history: &History) {
    let meetings = history.steps.iter().filter_map(|step| match step.what {
        What::Meet(point) => Some((point, Barrier::new(history.meeting(point)))),
        _ => None,
    });
    let lanes =
        Lanes { meetings: meetings.collect(), workers: Mutex::default(), quiet: AtomicBool::new(false) };
    thread::scope(|scope| {
        for lane in history.lanes() {
            let steps: Vec<&Step> = history.steps.iter().filter(|step| step.lane == lane).collect();
            let lanes = &lanes;
            scope.spawn(move || {
                let mut lane = Lane { lanes, world, gone: None, last: BTreeMap::new() };
                for step in steps {
                    lane.step(step);
                }
            });
        }
    });
    // What is armed still may hit the processes that go on; the end of the history heals.
    for process in lanes.workers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let ran = world.wait(process);
        judge_and_note(world, Operation::Work, &ran);
    }
}

/// Judges the end of a command and notes what is wrong with it.
pub(crate) fn judge_and_note(world: &World, operation: Operation, ran: &Ran) -> Ended {
    if world.is_over() && ran.killed {
        return Ended::Unknown;
    }
    match judge::command(operation, ran, &world.weather) {
        Ok(ended) => ended,
        Err((kind, what)) => {
            world.find(kind, Some(ran.step), what);
            Ended::Unknown
        }
    }
}

/// The sources that `add --json` acknowledged.
fn acknowledged(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter(|line| {
            line["event"] == "source" && line["outcome"] != "refused" && line["outcome"] != "skipped"
        })
        .filter_map(|line| line["source"].as_str().map(str::to_owned))
        .collect()
}

impl Lane<'_> {
    fn step(&mut self, step: &Step) {
        if let What::Meet(point) = step.what {
            // Every lane comes, also when the history is over, so nobody waits for ever.
            self.lanes.quiet.store(true, Ordering::Relaxed);
            if let Some(barrier) = self.lanes.meetings.get(&point) {
                barrier.wait();
            }
            self.lanes.quiet.store(false, Ordering::Relaxed);
            return;
        }
        if self.world.is_over() {
            return;
        }
        thread::sleep(Duration::from_millis(step.after_ms));
        if let Err(error) = self.act(step) {
            self.world.find(Kind::Suite, Some(step.id), format!("{:?}: {error}", step.what));
        }
    }

    fn act(&mut self, step: &Step) -> io::Result<()> {
        let world = self.world;
        match &step.what {
            What::Write { sources, via, wait } => self.write(step.id, sources, *via, *wait),
            What::Remove { source, via } => self.remove(step.id, *source, *via),
            What::Edit(edit) => self.edit(step.id, edit),
            What::Read { read, via } => self.read(step.id, *read, *via),
            What::Work => {
                let process = world.start(Role::Worker, step.id, &["--json", "work"])?;
                self.lanes.workers.lock().unwrap_or_else(PoisonError::into_inner).push(process);
                Ok(())
            }
            What::Serve { slot } => {
                if world.server(*slot).is_none()
                    && let Some(ran) = world.serve(*slot, step.id)?
                {
                    judge_and_note(world, Operation::Serve, &ran);
                }
                Ok(())
            }
            What::Kill(victim) => {
                if let Some(process) = self.victim(*victim) {
                    world.kill(&process);
                }
                Ok(())
            }
            What::Stop { victim, ms } => {
                if let Some(process) = self.victim(*victim) {
                    world.stop_for(&process, Duration::from_millis(*ms));
                }
                Ok(())
            }
            What::Model { fault, calls } => {
                if world.settings.model_ms.is_some() {
                    world.weather.begin(Spell::Model);
                    world.setup.provider.fail(*fault, *calls);
                }
                Ok(())
            }
            What::Disk(fault) => self.disk(step.id, *fault),
            What::Heal => {
                world.heal();
                Ok(())
            }
            What::Clock { offset_s } => {
                if let Some(control) = &world.control {
                    control.clock(*offset_s)?;
                    *world.tally().faults.entry("clock jumps".to_owned()).or_default() += 1;
                }
                Ok(())
            }
            What::Open { workspace, processes } => self.open(step.id, *workspace, *processes),
            What::Crowd { slot, readers, ms } => {
                self.crowd(*slot, *readers, Duration::from_millis(*ms));
                Ok(())
            }
            What::Meet(_) => Ok(()),
        }
    }

    fn victim(&self, victim: Victim) -> Option<Arc<Process>> {
        let (role, number) = match victim {
            Victim::Server(slot) => return self.world.server(slot).map(|server| server.process),
            Victim::Worker(number) => (Role::Worker, number),
            Victim::Command(number) => (Role::Command, number),
        };
        let running: Vec<_> = self.world.running().into_iter().filter(|it| it.role == role).collect();
        running.get(number as usize % running.len().max(1)).cloned()
    }

    fn disk(&self, step: u32, fault: DiskFault) -> io::Result<()> {
        let world = self.world;
        let Some(control) = &world.control else { return Ok(()) };
        world.weather.begin(match fault {
            DiskFault::Full { .. } => Spell::Full,
            DiskFault::DelayLock { .. } | DiskFault::DelayLocks { .. } => Spell::Delayed,
            DiskFault::StopAtWrite { .. } => Spell::Stopped,
            DiskFault::Error { .. } | DiskFault::ShortWrites { .. } | DiskFault::KillAtWrite { .. } => {
                Spell::Disk
            }
        });
        control.arm(step, fault)?;
        if let DiskFault::StopAtWrite { ms, .. } = fault {
            self.wake_after(step, Duration::from_millis(ms));
        }
        Ok(())
    }

    /// Waits until a process has stopped itself, and lets it go on later.
    fn wake_after(&self, step: u32, how_long: Duration) {
        let world = self.world;
        let Some(control) = &world.control else { return };
        let wait_for = |done: &dyn Fn() -> bool, limit: Duration| {
            let until = Instant::now() + limit;
            while !done() && Instant::now() < until && !world.is_over() {
                thread::sleep(Duration::from_millis(5));
            }
        };
        wait_for(&|| control.has_hit(step), Duration::from_secs(5));
        if control.has_hit(step) {
            world.stopped.fetch_add(1, Ordering::Relaxed);
            world.tally().stops += 1;
            wait_for(&|| false, how_long);
            world.stopped.fetch_sub(1, Ordering::Relaxed);
        }
        world.heal();
        for process in world.running() {
            process.signal("CONT");
        }
        world.weather.end(Spell::Stopped);
    }

    /// Notes an acknowledged write and how long it took, unless something held it up on purpose.
    fn noted(&self, ended: Ended, from: Instant) {
        if ended != Ended::Done {
            return;
        }
        let world = self.world;
        let took = from.elapsed().as_millis() as u64;
        let held_up = [Spell::Stopped, Spell::Delayed, Spell::Disk, Spell::Full]
            .into_iter()
            .any(|spell| world.weather.was(spell, from, Duration::from_millis(500)));
        let mut tally = world.tally();
        tally.acknowledged += 1;
        if held_up {
            return;
        }
        tally.write_ms.push(took);
        drop(tally);
        if took > world.settings.slowest_write_ms {
            let limit = world.settings.slowest_write_ms;
            world.find(Kind::Slow, None, format!("a write took {took} ms, more than {limit}"));
        }
    }

    fn write(&mut self, version: u32, sources: &[u32], via: Via, wait: bool) -> io::Result<()> {
        let world = self.world;
        for source in sources {
            let text = text::text(*source, version, world.settings.shape);
            fs::write(world.root.join(text::file(*source)), text)?;
        }
        if let Via::Server(slot) = via
            && world.server(slot).is_some()
        {
            for source in sources {
                let text = text::text(*source, version, world.settings.shape);
                let body = json!({ "text": text, "file_source": text::file(*source), "replace": true });
                let from = Instant::now();
                let ended = self.request(version, slot, Operation::Add, ("POST", "/documents/text"), &body).0;
                self.noted(ended, from);
                self.wrote(*source, version, ended);
            }
            return Ok(());
        }
        let files: Vec<String> = sources.iter().map(|source| text::file(*source)).collect();
        let mut arguments = vec!["--json", "add"];
        if !wait {
            arguments.push("--no-wait");
        }
        arguments.extend(files.iter().map(String::as_str));
        let from = Instant::now();
        let ran = world.run(version, &arguments)?;
        let ended = judge_and_note(world, Operation::Add, &ran);
        if !wait && sources.len() == 1 {
            self.noted(ended, from);
        } else if ended == Ended::Done {
            world.tally().acknowledged += sources.len() as u64;
        }
        let told = acknowledged(&ran);
        for (source, file) in sources.iter().zip(&files) {
            let of_source = if told.contains(file) { Ended::Done } else { ended };
            self.wrote(*source, version, of_source);
        }
        Ok(())
    }

    fn wrote(&mut self, source: u32, version: u32, ended: Ended) {
        self.world.model().wrote(source, version, ended);
        if ended == Ended::Done {
            self.last.insert(source, version);
        }
    }

    fn remove(&mut self, step: u32, source: u32, via: Via) -> io::Result<()> {
        let world = self.world;
        let may_be_missing = world.model().may_be_missing(source);
        let operation = Operation::Remove { may_be_missing };
        let mut from = Instant::now();
        let ended = match via {
            Via::Server(slot) if world.server(slot).is_some() => {
                let Some(ids) = self.ids(step, slot, &text::file(source)) else { return Ok(()) };
                if ids.is_empty() {
                    // A version that was accepted while the list was read is another lane's; this source has one lane.
                    if !may_be_missing {
                        let what = format!(
                            "the server does not list {}, which was acknowledged",
                            text::file(source)
                        );
                        world.find(Kind::Lost, Some(step), what);
                    }
                    return Ok(());
                }
                let body = json!({ "doc_ids": ids });
                from = Instant::now();
                self.request(step, slot, operation, ("DELETE", "/documents/delete_document"), &body).0
            }
            _ => {
                let ran = world.run(step, &["rm", &text::file(source)])?;
                judge_and_note(world, operation, &ran)
            }
        };
        self.noted(ended, from);
        world.model().removed(source, ended);
        if ended == Ended::Done
            && let Some(version) = self.last.remove(&source)
        {
            self.gone = Some((source, version));
        }
        Ok(())
    }

    /// Ids of all documents of a source, as the server lists them; `None` where it does not.
    fn ids(&self, step: u32, slot: u32, file: &str) -> Option<Vec<String>> {
        let mut ids = Vec::new();
        for page in 1.. {
            let body = json!({ "page": page, "page_size": 200 });
            let (ended, answer) =
                self.request(step, slot, Operation::Read, ("POST", "/documents/paginated"), &body);
            let list: Value = serde_json::from_str(&answer).ok().filter(|_| ended == Ended::Done)?;
            let documents = list["documents"].as_array().cloned().unwrap_or_default();
            let of_source = documents.iter().filter(|document| document["file_path"] == file);
            ids.extend(of_source.filter_map(|document| document["id"].as_str().map(str::to_owned)));
            if list["pagination"]["has_next"] != true {
                break;
            }
        }
        Some(ids)
    }

    /// Sends a request, again where the server is busy; how it ended, and the answer.
    fn request(
        &self,
        step: u32,
        slot: u32,
        operation: Operation,
        (method, path): (&str, &str),
        body: &Value,
    ) -> (Ended, String) {
        let world = self.world;
        let Some(server) = world.server(slot) else { return (Ended::Refused, String::new()) };
        let mut retries = 0;
        loop {
            let from = Instant::now();
            let answer = http::send(&server.address, method, path, &body.to_string());
            world.ended.fetch_add(1, Ordering::Relaxed);
            world.tally().operations += 1;
            let alive = server.process.poll().is_none();
            let what = format!("{method} {path}");
            let ended = judge::answer(operation, &what, &answer, from, alive, &world.weather);
            let ended = match ended {
                Ok(ended) => ended,
                Err(_) if world.is_over() => Ended::Unknown,
                Err((kind, what)) => {
                    world.find(kind, Some(step), what);
                    Ended::Unknown
                }
            };
            let busy = answer.as_ref().is_ok_and(|answer| answer.status == 429);
            if busy {
                world.tally().busy += 1;
                retries += 1;
                if retries <= BUSY_RETRIES && !world.is_over() {
                    thread::sleep(Duration::from_millis(250));
                    continue;
                }
            }
            return (ended, answer.map(|answer| answer.body).unwrap_or_default());
        }
    }

    fn edit(&mut self, step: u32, edit: &Edit) -> io::Result<()> {
        let world = self.world;
        let name = |number: u32| NAMES[number as usize % NAMES.len()];
        let renamed = format!("Renamed Person {step}");
        let arguments = match edit {
            Edit::Rename { name: number } => {
                vec!["--json", "graph", "rename", name(*number), renamed.as_str()]
            }
            Edit::Merge { from, into } => {
                vec!["--json", "graph", "merge", name(*from), "--into", name(*into)]
            }
            Edit::Undo => vec!["--json", "graph", "undo"],
        };
        let from = Instant::now();
        let ran = world.run(step, &arguments)?;
        let ended = judge_and_note(world, Operation::Edit, &ran);
        self.noted(ended, from);
        let told: Option<Value> = serde_json::from_str(&ran.stdout).ok();
        if ended == Ended::Done
            && let Some(id) = told.as_ref().and_then(|told| told["decision"]["id"].as_str())
        {
            world.model().decisions.insert(id.to_owned());
        }
        Ok(())
    }

    fn read(&mut self, step: u32, read: Read, via: Via) -> io::Result<()> {
        let world = self.world;
        let canary = self.gone.map(|(source, version)| text::canary(source, version));
        let words = canary.clone().unwrap_or_else(|| NAMES[step as usize % NAMES.len()].to_owned());
        let slot = match via {
            Via::Server(slot) if world.server(slot).is_some() => Some(slot),
            _ => None,
        };
        let answer = match (read, slot) {
            (Read::Search, Some(slot)) => {
                let body = json!({ "query": words });
                self.request(step, slot, Operation::Read, ("POST", "/search"), &body).1
            }
            (Read::Ask, Some(slot)) => {
                let body = json!({ "query": format!("Who works on {words}?"), "only_need_context": true });
                self.request(step, slot, Operation::Read, ("POST", "/query"), &body).1
            }
            (Read::Dump, Some(slot)) => {
                self.request(step, slot, Operation::Read, ("GET", "/dump/hash"), &json!({})).1
            }
            (Read::Export, Some(slot)) => {
                self.request(step, slot, Operation::Read, ("GET", "/export?format=jsonl"), &json!({})).1
            }
            (Read::Search, None) => self.look(step, &["--json", "search", &words])?,
            (Read::Ask, None) => {
                self.look(step, &["ask", "--context-only", &format!("Who works on {words}?")])?
            }
            (Read::Dump, None) => self.look(step, &["dump"])?,
            (Read::Export, None) => self.look(step, &["export"])?,
            (Read::SlowDump(ms), _) => return self.slow_dump(step, Duration::from_millis(ms)),
        };
        // The context repeats the question, which names the canary; all else holds what the store says.
        if read != Read::Ask
            && let Some((source, version)) = self.gone
            && text::canaries(&answer).contains(&(source, version))
        {
            let what = format!("{read:?} still shows {}, which was removed", text::canary(source, version));
            world.find(Kind::Ghost, Some(step), what);
        }
        Ok(())
    }

    fn look(&self, step: u32, arguments: &[&str]) -> io::Result<String> {
        let ran = self.world.run(step, arguments)?;
        judge_and_note(self.world, Operation::Read, &ran);
        Ok(ran.stdout)
    }

    /// Prints the state into a pipe that is read slowly.
    fn slow_dump(&self, step: u32, how_long: Duration) -> io::Result<()> {
        let world = self.world;
        let (mut reader, writer) = io::pipe()?;
        let process = world.start_into(step, &["dump"], Stdio::from(writer))?;
        let until = Instant::now() + how_long;
        let mut buffer = [0; 1024];
        while Instant::now() < until && !world.is_over() {
            if reader.read(&mut buffer)? == 0 {
                break;
            }
            // A slow reader is progress, not a standstill.
            world.ended.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
        }
        io::copy(&mut reader, &mut io::sink())?;
        let ran = world.wait(&process);
        judge_and_note(world, Operation::Read, &ran);
        Ok(())
    }

    /// Several processes write into a workspace that none of them finds yet.
    fn open(&self, step: u32, workspace: u32, processes: u32) -> io::Result<()> {
        let world = self.world;
        let name = format!("new{workspace}x{step}");
        let mut started = Vec::new();
        for number in 0..processes {
            let file = format!("open{number}.md");
            fs::write(world.root.join(&file), format!("Process {number} writes about {}.\n", NAMES[0]))?;
            started.push(world.start(
                Role::Command,
                step,
                &["--workspace", &name, "add", "--no-wait", &file],
            )?);
        }
        let mut expected = 0;
        for process in &started {
            let ran = world.wait(process);
            expected += u64::from(judge_and_note(world, Operation::Add, &ran) == Ended::Done);
        }
        if expected > 0 {
            let ran = world.run(step, &["--workspace", &name, "--json", "status"])?;
            judge_and_note(world, Operation::Read, &ran);
            let status: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
            let there = status["counts"]["documents"].as_u64().unwrap_or(0);
            if there < expected && ran.code == Some(0) {
                let what =
                    format!("{there} documents of {expected} acknowledged in the new workspace {name}");
                world.find(Kind::Lost, Some(step), what);
                world.tally().lost += expected - there;
            }
        }
        Ok(())
    }

    /// Questions without pause, until the time is over or another lane comes to a meeting point.
    fn crowd(&self, slot: u32, readers: u32, how_long: Duration) {
        let world = self.world;
        let Some(server) = world.server(slot) else { return };
        let until = Instant::now() + how_long;
        thread::scope(|scope| {
            for reader in 0..readers {
                let address = &server.address;
                scope.spawn(move || {
                    let quiet = &self.lanes.quiet;
                    let mut number = 0;
                    while Instant::now() < until && !world.is_over() && !quiet.load(Ordering::Relaxed) {
                        number += 1;
                        let name = NAMES[(reader + number) as usize % NAMES.len()];
                        let body =
                            json!({ "query": format!("Who works with {name}?"), "only_need_context": true });
                        let answer = http::send(address, "POST", "/query/data", &body.to_string());
                        world.ended.fetch_add(1, Ordering::Relaxed);
                        world.tally().operations += 1;
                        match answer {
                            Ok(answer) if answer.status == 429 => {
                                world.tally().busy += 1;
                                thread::sleep(Duration::from_millis(100));
                            }
                            Ok(answer) if answer.status >= 500 => {
                                world.find(
                                    Kind::Answer,
                                    None,
                                    format!("/query/data: {} {}", answer.status, answer.body),
                                );
                                return;
                            }
                            Ok(_) => {}
                            Err(_) => return,
                        }
                    }
                });
            }
        });
    }
}
