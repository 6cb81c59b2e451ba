//! The processes of a history, their folder, and what happened to them so far.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::faults::{Control, Hit};
use crate::history::Settings;
use crate::model::Model;
use crate::provider::{self, Provider};
use crate::report::{Finding, Kind, Tally};
use crate::stacks;
use crate::weather::{Spell, Weather};

/// How long a command may take before it counts as hanging, not counting time in which other programs had the processors.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);
/// The file that is deleted if a removal needs space.
const RESERVE: &str = ".graphloom/default.graphloom-reserve";
/// Time for a server to start listening.
const UNTIL_LISTENING: Duration = Duration::from_secs(60);
/// The configuration that all processes share.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("GRAPHLOOM_GLEANING", "0"),
    ("GRAPHLOOM_CHUNK_TOKENS", "300"),
    ("GRAPHLOOM_CHUNK_OVERLAP", "0"),
    ("GRAPHLOOM_FIRST_BYTE_TIMEOUT_S", "10"),
    ("GRAPHLOOM_IDLE_TIMEOUT_S", "10"),
    ("GRAPHLOOM_MAX_PAUSE_S", "20"),
];

/// How programs are run.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The built program.
    pub(crate) binary: PathBuf,
    /// The shim that injects faults, if there is one.
    pub(crate) shim: Option<PathBuf>,
    /// Where folders of histories are created.
    pub(crate) folder: PathBuf,
    /// The model of all histories.
    pub(crate) provider: Provider,
}

/// One running history.
pub(crate) struct World {
    /// Its folder: sources, the data folder, logs.
    pub(crate) root: PathBuf,
    pub(crate) setup: Setup,
    pub(crate) settings: Settings,
    pub(crate) control: Option<Control>,
    pub(crate) weather: Weather,
    /// Whether everything must end now.
    pub(crate) over: AtomicBool,
    /// Number of operations that ended, as a sign of progress.
    pub(crate) ended: AtomicU64,
    /// Processes that are stopped now.
    pub(crate) stopped: AtomicU32,
    model: Mutex<Model>,
    /// Since when the queue has been paused, if the pause was acknowledged.
    paused_at: Mutex<Option<Instant>>,
    tally: Mutex<Tally>,
    findings: Mutex<Vec<Finding>>,
    running: Mutex<Vec<Arc<Process>>>,
    servers: Mutex<BTreeMap<u32, Server>>,
    logs: AtomicU32,
}

/// A server that was started.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) process: Arc<Process>,
    pub(crate) address: String,
}

/// The role of a process, for kills and stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Worker,
    Command,
}

/// A process of the program.
pub(crate) struct Process {
    pub(crate) what: String,
    pub(crate) role: Role,
    pub(crate) step: u32,
    pub(crate) pid: u32,
    pub(crate) started: Instant,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    /// Whether the suite killed it.
    pub(crate) killed: AtomicBool,
    child: Mutex<Child>,
}

/// How a process ended.
pub(crate) struct ProcessEnd {
    pub(crate) what: String,
    pub(crate) role: Role,
    pub(crate) step: u32,
    pub(crate) started: Instant,
    pub(crate) took: Duration,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) killed: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    /// The status, once it has ended.
    pub(crate) fn poll(&self) -> Option<ExitStatus> {
        locked(&self.child).try_wait().ok().flatten()
    }

    /// Whether it has run for longer than this, not counting time in which it waited for a processor.
    fn took_longer_than(&self, limit: Duration) -> bool {
        let took = self.started.elapsed();
        took > limit && took.saturating_sub(stacks::starved(self.pid)) > limit
    }

    /// Sends a signal unless the process has ended; returns whether it was sent.
    pub(crate) fn signal(&self, name: &str) -> bool {
        // The lock keeps the process from being reaped meanwhile, so its number cannot be another's.
        let mut child = locked(&self.child);
        if !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid.to_string()]).status();
        sent.is_ok_and(|status| status.success())
    }

    fn kill(&self) {
        let mut child = locked(&self.child);
        // It may have ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl World {
    /// Creates a folder below `setup.folder`, with a control file if there is a shim.
    pub(crate) fn create(setup: &Setup, name: &str, settings: &Settings) -> io::Result<Self> {
        let root = setup.folder.join(name);
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        for folder in ["logs", "home"] {
            fs::create_dir_all(root.join(folder))?;
        }
        setup.provider.reset(Duration::from_millis(settings.model_ms.unwrap_or(0)));
        let control = setup.shim.is_some().then(|| Control::create(&root.join("control"))).transpose()?;
        Ok(Self {
            root,
            setup: setup.clone(),
            settings: settings.clone(),
            control,
            weather: Weather::default(),
            over: AtomicBool::new(false),
            ended: AtomicU64::new(0),
            stopped: AtomicU32::new(0),
            model: Mutex::default(),
            paused_at: Mutex::default(),
            tally: Mutex::default(),
            findings: Mutex::default(),
            running: Mutex::default(),
            servers: Mutex::default(),
            logs: AtomicU32::new(0),
        })
    }

    /// The expected state.
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        locked(&self.model)
    }

    /// Since when the queue has been paused, if the pause was acknowledged.
    pub(crate) fn paused_at(&self) -> MutexGuard<'_, Option<Instant>> {
        locked(&self.paused_at)
    }

    /// The counters.
    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        locked(&self.tally)
    }

    /// The findings so far.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Vec<Finding>> {
        locked(&self.findings)
    }

    /// Records a fault of the program.
    pub(crate) fn find(&self, kind: Kind, step: Option<u32>, what: impl Into<String>) {
        self.findings().push(Finding { kind, step, what: what.into() });
    }

    /// Whether the history must end before its last step.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The environment of every process, without the shim.
    pub(crate) fn environment(&self, folder: &Path) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        all.push(("HOME".to_owned(), folder.join("home").display().to_string()));
        all.push(("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()));
        all.push(("RUST_BACKTRACE".to_owned(), "1".to_owned()));
        if self.settings.model_ms.is_some() {
            all.push(("GRAPHLOOM_LLM".to_owned(), format!("openai:{}", provider::MODEL)));
            all.push(("GRAPHLOOM_BASE_URL".to_owned(), self.setup.provider.base_url()));
            if self.settings.remote_vectors {
                all.push(("GRAPHLOOM_EMBEDDER".to_owned(), "openai:scripted-vectors".to_owned()));
            }
        }
        all
    }

    /// Starts the program.
    pub(crate) fn start(&self, role: Role, step: u32, arguments: &[&str]) -> io::Result<Arc<Process>> {
        let log = self.logs.fetch_add(1, Ordering::Relaxed);
        let place = |end: &str| {
            self.root.join("logs").join(format!(
                "{log:04}-{}.{end}",
                arguments.join("-").replace('/', "_").chars().take(60).collect::<String>()
            ))
        };
        self.start_with(role, step, arguments, place("out"), place("err"), None)
    }

    /// Starts the program with its standard output redirected to somewhere other than its log.
    pub(crate) fn start_into(
        &self,
        step: u32,
        arguments: &[&str],
        stdout: Stdio,
    ) -> io::Result<Arc<Process>> {
        let log = self.logs.fetch_add(1, Ordering::Relaxed);
        let place = |end: &str| self.root.join("logs").join(format!("{log:04}.{end}"));
        self.start_with(Role::Command, step, arguments, place("out"), place("err"), Some(stdout))
    }

    fn start_with(
        &self,
        role: Role,
        step: u32,
        arguments: &[&str],
        stdout: PathBuf,
        stderr: PathBuf,
        into: Option<Stdio>,
    ) -> io::Result<Arc<Process>> {
        let mut command = Command::new(&self.setup.binary);
        command.env_clear().envs(self.environment(&self.root)).current_dir(&self.root).args(arguments);
        if let (Some(shim), Some(control)) = (&self.setup.shim, &self.control) {
            command.env("LD_PRELOAD", shim).env("TORTURE_CONTROL", control.path());
            command.env("TORTURE_TAG", step.to_string());
        }
        let out = File::create(&stdout)?;
        command
            .stdin(Stdio::null())
            .stdout(into.unwrap_or_else(|| out.into()))
            .stderr(File::create(&stderr)?);
        let child = command.spawn()?;
        let process = Arc::new(Process {
            what: format!("graphloom {}", arguments.join(" ")),
            role,
            step,
            pid: child.id(),
            started: Instant::now(),
            stdout,
            stderr,
            killed: AtomicBool::new(false),
            child: Mutex::new(child),
        });
        locked(&self.running).push(Arc::clone(&process));
        self.tally().operations += 1;
        Ok(process)
    }

    /// Whether the workspace has space reserved for removals.
    pub(crate) fn has_reserve(&self) -> bool {
        self.root.join(RESERVE).metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Running processes.
    pub(crate) fn running(&self) -> Vec<Arc<Process>> {
        let mut running = locked(&self.running);
        running.retain(|process| process.poll().is_none());
        running.clone()
    }

    /// Waits until a process ends; a hanging process is a finding and is killed.
    pub(crate) fn wait(&self, process: &Process) -> ProcessEnd {
        let mut rest = Duration::from_millis(1);
        let status = loop {
            if let Some(status) = process.poll() {
                break Some(status);
            }
            let too_long = process.took_longer_than(PATIENCE);
            if too_long && !self.is_over() {
                let states = stacks::of(&self.running());
                let what = format!("{} did not end within {PATIENCE:?}\n{states}", process.what);
                self.find(Kind::Standstill, Some(process.step), what);
                self.over.store(true, Ordering::Relaxed);
            }
            if too_long || self.is_over() {
                process.killed.store(true, Ordering::Relaxed);
                process.kill();
                break process.poll();
            }
            thread::sleep(rest);
            rest = (rest * 2).min(Duration::from_millis(20));
        };
        self.ended.fetch_add(1, Ordering::Relaxed);
        let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        ProcessEnd {
            what: process.what.clone(),
            role: process.role,
            step: process.step,
            started: process.started,
            took: process.started.elapsed(),
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            killed: process.killed.load(Ordering::Relaxed),
            stdout: read(&process.stdout).unwrap_or_default(),
            stderr: read(&process.stderr).unwrap_or_default(),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, step: u32, arguments: &[&str]) -> io::Result<ProcessEnd> {
        let process = self.start(Role::Command, step, arguments)?;
        Ok(self.wait(&process))
    }

    /// The server of a slot, if it is running.
    pub(crate) fn server(&self, slot: u32) -> Option<Server> {
        locked(&self.servers).get(&slot).filter(|server| server.process.poll().is_none()).cloned()
    }

    /// Running servers.
    pub(crate) fn all_servers(&self) -> Vec<Server> {
        locked(&self.servers).values().filter(|server| server.process.poll().is_none()).cloned().collect()
    }

    /// Starts a server; returns how it ended if it ended before it listened.
    pub(crate) fn serve(&self, slot: u32, step: u32) -> io::Result<Option<ProcessEnd>> {
        let process = self.start(Role::Server, step, &["--json", "serve", "--port", "0"])?;
        let address = loop {
            let stdout = fs::read_to_string(&process.stdout).unwrap_or_default();
            let line = stdout.lines().next().filter(|_| stdout.contains('\n'));
            let value = line.and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let url = value.as_ref().and_then(|value| value["url"].as_str());
            if let Some(address) = url.and_then(|url| url.strip_prefix("http://")) {
                break address.to_owned();
            }
            if process.poll().is_some() || self.is_over() {
                return Ok(Some(self.wait(&process)));
            }
            let stopped = self.stopped.load(Ordering::Relaxed) > 0;
            if process.took_longer_than(UNTIL_LISTENING) && !stopped {
                let what = format!("{} does not listen\n{}", process.what, stacks::of(&self.running()));
                self.find(Kind::Standstill, Some(step), what);
                self.over.store(true, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(10));
        };
        locked(&self.servers).insert(slot, Server { process, address });
        Ok(None)
    }

    /// Kills a process.
    pub(crate) fn kill(&self, process: &Process) {
        process.killed.store(true, Ordering::Relaxed);
        if process.signal("KILL") {
            self.weather.now(Spell::Kill);
            let mut tally = self.tally();
            tally.kills += 1;
            tally.calls_lost += 1;
        }
    }

    /// Stops a process for a while.
    pub(crate) fn stop_for(&self, process: &Process, how_long: Duration) {
        if !process.signal("STOP") {
            return;
        }
        self.tally().stops += 1;
        self.stopped.fetch_add(1, Ordering::Relaxed);
        self.weather.begin(Spell::Stopped);
        let until = Instant::now() + how_long;
        while Instant::now() < until && !self.is_over() {
            thread::sleep(Duration::from_millis(10));
        }
        process.signal("CONT");
        // Others may still be stopped; tolerating them a moment too long does no harm.
        if self.stopped.load(Ordering::Relaxed) == 1 {
            self.weather.end(Spell::Stopped);
        }
        self.stopped.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the faults and counts what they did.
    pub(crate) fn heal(&self) {
        self.count_hits();
        if let Some(control) = &self.control
            && let Err(error) = control.clear()
        {
            self.find(Kind::Suite, None, format!("clearing faults: {error}"));
        }
        for spell in [Spell::Full, Spell::Disk, Spell::Reads, Spell::Delayed] {
            self.weather.end(spell);
        }
    }

    /// Counts the faults that happened since the last time.
    pub(crate) fn count_hits(&self) {
        let hits = self.control.as_ref().map(|control| control.take_hits().unwrap_or_default());
        let mut tally = self.tally();
        for (hit, count) in hits.unwrap_or_default() {
            let name = match hit {
                Hit::Full => "writes on a full disk",
                Hit::Error => "failing calls",
                Hit::ShortWrite => "short writes",
                Hit::Kill => "kills at a write",
                Hit::Stop => "stops at a write",
                Hit::Delay => "delayed locks",
            };
            *tally.faults.entry(name.to_owned()).or_default() += count;
            tally.kills += if hit == Hit::Kill { count } else { 0 };
            // Paid answers that could not be stored are requested again.
            tally.calls_lost += if matches!(hit, Hit::Delay | Hit::Stop) { 0 } else { count };
        }
    }

    /// Ends every running process.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        for process in self.running() {
            process.kill();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end();
    }
}
