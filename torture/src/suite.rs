//! The command line of the suite: which histories run, in which order, for how long.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Parser, Subcommand};
use serde_json::json;

use crate::generate::{self, FaultKind};
use crate::history::{DiskFault, History};
use crate::judge::Operation;
use crate::model::WriteEnd;
use crate::provider::Provider;
use crate::report::{Finding, Kind, Tally};
use crate::scenarios::{SCENARIOS, Scenario};
use crate::text::Shape;
use crate::world::{Setup, World};
use crate::{act, faults, reduce, rest, script, text, watch};

/// Maximum failing histories that are reduced in one run.
const MAX_REDUCED: usize = 5;
/// Maximum share of a run for one scenario, as one part in this many.
const SHARE: u64 = 6;
/// Interval between progress lines if there is no terminal.
const PROGRESS: Duration = Duration::from_secs(30);

/// Tests a built graphloom with random histories under kills, stops and faults, compared with a model.
#[derive(Parser)]
#[command(name = "graphloom-torture", args_conflicts_with_subcommands = true)]
struct Arguments {
    /// The program
    #[arg(long, value_name = "FILE", default_value = "target/debug/graphloom")]
    graphloom: PathBuf,
    /// Folder for histories and failures
    #[arg(long, value_name = "DIR", default_value = "target/torture")]
    folder: PathBuf,
    /// Minutes during which new histories start
    #[arg(long, value_name = "MINUTES", default_value_t = 20.0)]
    minutes: f64,
    /// The first seed [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Only this scenario, repeated with new seeds; `random` for random histories only; repeatable
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// Number of histories
    #[arg(long, value_name = "N")]
    histories: Option<u64>,
    /// Only these kinds of faults in random histories; repeatable
    #[arg(long, value_enum, value_name = "KIND")]
    only: Vec<FaultKind>,
    /// Replay the history in this file
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Minutes to spend on shortening one failing history
    #[arg(long, value_name = "MINUTES", default_value_t = 3.0)]
    reduce: f64,
    /// Print the counts and findings as JSON
    #[arg(long)]
    json: bool,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    #[command(subcommand)]
    tool: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Tools used by the scripts of failing histories
    #[command(subcommand)]
    Tool(Tool),
}

#[derive(Subcommand)]
enum Tool {
    /// Prints the text of a version
    Text { source: u32, version: u32, passages: u32, things: u32 },
    /// Compiles the shim and creates a control file in a folder
    Shim { folder: PathBuf },
    /// Serves the model until killed, and prints its address
    Model {
        #[arg(long, default_value_t = 0)]
        port: u16,
        #[arg(long, default_value_t = 0)]
        ms: u64,
    },
    /// Changes the faults of a control file
    Fault {
        control: PathBuf,
        #[command(subcommand)]
        change: Change,
    },
}

#[derive(Subcommand)]
enum Change {
    /// Arms a fault
    Arm { step: u32, fault: String },
    /// Clears all faults
    Heal,
    /// Sets the offset of the wall clock from the true time
    #[command(allow_negative_numbers = true)]
    Clock { offset_s: i64 },
}

/// The result of a history.
struct Outcome {
    findings: Vec<Finding>,
    tally: Tally,
}

/// Runs the command line; fails if a history failed.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ran = match &arguments.tool {
        Some(Command::Tool(tool)) => use_tool(tool).map(|()| true),
        None if arguments.list => {
            for Scenario { name, about, seconds, .. } in &SCENARIOS {
                println!("{name:18} about {seconds:2} s  {about}");
            }
            Ok(true)
        }
        None => torture(&arguments),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn use_tool(tool: &Tool) -> io::Result<()> {
    match tool {
        Tool::Text { source, version, passages, things } => {
            print!("{}", text::text(*source, *version, Shape { passages: *passages, things: *things }));
            Ok(())
        }
        Tool::Shim { folder } => {
            faults::compile(folder).map_err(io::Error::other)?;
            faults::Control::create(&folder.join("control")).map(|_| ())
        }
        Tool::Model { port, ms } => {
            let provider = Provider::start(*port, Duration::from_millis(*ms))?;
            println!("{}", provider.base_url());
            loop {
                thread::park();
            }
        }
        Tool::Fault { control, change } => {
            let control = faults::Control::open(control)?;
            match change {
                Change::Arm { step, fault } => {
                    control.arm(*step, serde_json::from_str::<DiskFault>(fault).map_err(io::Error::other)?)
                }
                Change::Heal => control.clear(),
                Change::Clock { offset_s } => control.clock(*offset_s),
            }
        }
    }
}

/// Whether all histories passed.
fn torture(arguments: &Arguments) -> io::Result<bool> {
    let binary = fs::canonicalize(&arguments.graphloom).map_err(|error| {
        let place = arguments.graphloom.display();
        io::Error::other(format!("{place}: {error}; build it first: cargo build -p graphloom-cli"))
    })?;
    fs::create_dir_all(&arguments.folder)?;
    let folder = fs::canonicalize(&arguments.folder)?;
    let work = folder.join(format!("work-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let shim = match faults::compile(&work) {
        Ok(shim) => Some(shim),
        Err(why) => {
            eprintln!("without faults of the disk, the clock and locks: {why}");
            None
        }
    };
    let setup = Setup { binary, shim, folder: work.clone(), provider: Provider::start(0, Duration::ZERO)? };
    let run = Run { arguments, setup, folder, started: Instant::now() };
    let went_well = run.all()?;
    fs::remove_dir_all(&work)?;
    Ok(went_well)
}

struct Run<'a> {
    arguments: &'a Arguments,
    setup: Setup,
    folder: PathBuf,
    started: Instant,
}

impl Run<'_> {
    fn all(&self) -> io::Result<bool> {
        let mut tally = Tally::default();
        let mut failures = Vec::new();
        let mut printed = Instant::now();
        for number in 0.. {
            let Some(history) = self.history(number)? else { break };
            let outcome = self.one(&history)?;
            tally.add(&outcome.tally);
            if !outcome.findings.is_empty() {
                let place = self.keep(&history, &outcome.findings, failures.len() < MAX_REDUCED)?;
                failures.push((history, outcome.findings, place));
            }
            let last = self.arguments.replay.is_some() || self.arguments.histories == Some(number + 1);
            if io::stderr().is_terminal() || printed.elapsed() > PROGRESS || last {
                printed = Instant::now();
                self.progress(&tally, failures.len());
            }
            if last {
                break;
            }
        }
        if io::stderr().is_terminal() {
            eprintln!();
        }
        self.report(&tally, &failures)?;
        Ok(failures.is_empty())
    }

    /// The next history; `None` when the time is over.
    fn history(&self, number: u64) -> io::Result<Option<History>> {
        let arguments = self.arguments;
        if let Some(file) = &arguments.replay {
            let text = fs::read_to_string(file)?;
            return Ok(Some(serde_json::from_str(&text).map_err(io::Error::other)?));
        }
        let limit = Duration::from_secs_f64(arguments.minutes.max(0.0) * 60.0);
        let left = limit.saturating_sub(self.started.elapsed());
        if left.is_zero() && number > 0 {
            return Ok(None);
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = arguments.seed.unwrap_or(since_1970.as_secs() * 1000);
        let seed = first.wrapping_add(number);
        let faults = if arguments.only.is_empty() { &generate::ALL_FAULTS[..] } else { &arguments.only };
        let names: Vec<&str> = match arguments.scenario.as_slice() {
            // Every second history is a scenario that leaves time for others.
            [] => {
                let fits = |scenario: &&Scenario| scenario.seconds * SHARE < limit.as_secs();
                let fitting: Vec<&str> =
                    SCENARIOS.iter().filter(fits).map(|scenario| scenario.name).collect();
                let scenario = fitting.get((number / 2) as usize % fitting.len().max(1)).copied();
                vec![scenario.filter(|_| number % 2 == 1).unwrap_or("random")]
            }
            some => some.iter().map(String::as_str).collect(),
        };
        let name = names[number as usize % names.len()];
        if name == "random" {
            return Ok(Some(generate::random(seed, faults)));
        }
        match Scenario::find(name) {
            Some(scenario) => Ok(Some(scenario.history(seed))),
            None => Err(io::Error::other(format!("no scenario {name:?}; --list lists them"))),
        }
    }

    /// Runs a history in a new folder, which is kept if there are findings.
    fn one(&self, history: &History) -> io::Result<Outcome> {
        let world = World::create(&self.setup, "history", &history.settings)?;
        let done = AtomicBool::new(false);
        thread::scope(|scope| -> io::Result<()> {
            scope.spawn(|| watch::watch(&world, &done));
            let ended = begin(&world).and_then(|()| {
                act::all(&world, history);
                rest::compare(&world, history)
            });
            done.store(true, Ordering::Relaxed);
            ended
        })?;
        world.end();
        world.count_hits();
        let mut tally = world.tally().clone();
        tally.histories = 1;
        for (fault, count) in self.setup.provider.failed() {
            *tally.faults.entry(format!("model: {fault:?}")).or_default() += count;
        }
        let findings = world.findings().clone();
        Ok(Outcome { findings, tally })
    }

    /// Saves what is needed to investigate and replay a failure; returns the folder.
    fn keep(&self, history: &History, findings: &[Finding], shorten: bool) -> io::Result<PathBuf> {
        let place = self.folder.join(format!("{}-{}", history.name, history.seed));
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir_all(&place)?;
        write_history(&place.join("history.json"), history)?;
        let descriptions: Vec<String> =
            findings.iter().map(|it| format!("{:?} (step {:?})\n{}\n", it.kind, it.step, it.what)).collect();
        fs::write(place.join("findings.txt"), descriptions.join("\n"))?;
        fs::write(place.join("repeat.sh"), script::script(history, findings))?;
        fs::rename(self.setup.folder.join("history"), place.join("folder"))?;
        let Some(kind) = findings.first().map(|finding| finding.kind) else { return Ok(place) };
        if !shorten || self.arguments.reduce <= 0.0 || kind == Kind::Suite {
            return Ok(place);
        }
        eprintln!("\n{} with seed {} fails ({kind:?}); shortening it", history.name, history.seed);
        let limit = Duration::from_secs_f64(self.arguments.reduce * 60.0);
        let (short, failed) = reduce::reduce(history, kind, limit, |history| {
            let ran = self.one(history).map(|outcome| outcome.findings).unwrap_or_default();
            ran.iter().map(|finding| finding.kind).collect()
        });
        if failed {
            write_history(&place.join("reduced.json"), &short)?;
            fs::write(place.join("repeat.sh"), script::script(&short, findings))?;
        }
        let note = match failed {
            true => {
                format!("{} of {} steps are left in reduced.json\n", short.steps.len(), history.steps.len())
            }
            false => "it did not fail again; timing may play a part\n".to_owned(),
        };
        fs::write(place.join("reduced.txt"), note)?;
        Ok(place)
    }

    fn progress(&self, tally: &Tally, failures: usize) {
        let Tally { histories, operations, kills, stops, acknowledged, .. } = tally;
        let injected: u64 = tally.faults.values().sum();
        let end = if io::stderr().is_terminal() { "\r" } else { "\n" };
        let seconds = self.started.elapsed().as_secs();
        eprint!(
            "{:02}:{:02} {histories} histories, {operations} operations, {kills} kills, {stops} stops, {injected} faults, \
             {acknowledged} acknowledged, {failures} failures{end}",
            seconds / 60,
            seconds % 60
        );
        // Failing to show progress is not an error.
        let _ = io::stderr().flush();
    }

    fn report(&self, tally: &Tally, failures: &[(History, Vec<Finding>, PathBuf)]) -> io::Result<()> {
        if self.arguments.json {
            let failures: Vec<_> = failures
                .iter()
                .map(|(history, findings, place)| {
                    json!({ "name": history.name, "seed": history.seed, "findings": findings, "kept": place })
                })
                .collect();
            let value = json!({ "counts": tally, "failures": failures });
            return writeln!(io::stdout(), "{value:#}");
        }
        let mut out = io::stdout();
        write!(out, "{}", tally.table())?;
        for (history, findings, place) in failures {
            writeln!(
                out,
                "\nFAILED {} with seed {}, kept in {}",
                history.name,
                history.seed,
                place.display()
            )?;
            for finding in findings.iter().take(5) {
                let first: Vec<&str> = finding.what.lines().take(6).collect();
                writeln!(out, "  {:?}: {}", finding.kind, first.join("\n    "))?;
            }
        }
        Ok(())
    }
}

fn write_history(place: &Path, history: &History) -> io::Result<()> {
    let text = serde_json::to_string_pretty(history).map_err(io::Error::other)?;
    fs::write(place, text)
}

/// Adds the document with all entities.
fn begin(world: &World) -> io::Result<()> {
    if !world.settings.anchor {
        return Ok(());
    }
    let file = text::file(text::ANCHOR);
    fs::write(world.root.join(&file), text::text(text::ANCHOR, 0, world.settings.shape))?;
    let ran = world.run(0, &["add", &file])?;
    if act::judge_and_note(world, Operation::Add, &ran) != WriteEnd::Done {
        world.over.store(true, Ordering::Relaxed);
    }
    Ok(())
}
