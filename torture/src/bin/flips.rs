//! `graphloom-flips`: flips single bits in a workspace's files and checks how the program reacts.
//!
//! Every flip must be harmless or reported with a remedy. The files are the store, its write-ahead log as left by
//! `kill -9`, and the indexes beside it. Reported damage is then repaired. See `docs/explanation/reliability.md`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use clap::Parser;

/// Number of documents in the workspace.
const DOCUMENTS: usize = 24;
/// Maximum time for the program to write a log.
const LOG_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum kills until the program leaves a log that is entirely marked as committed.
const MAX_KILLS: usize = 20;
/// The question whose hits are compared.
const QUESTION: &str = "Who repaired the telescope in Kelm?";

#[derive(Parser)]
struct Arguments {
    /// The program
    #[arg(long)]
    graphloom: PathBuf,
    /// Working folder; its content is deleted
    #[arg(long)]
    folder: PathBuf,
    /// Number of bits to flip, one after another
    #[arg(long, default_value_t = 1000)]
    flips: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("error: {faults} changes went unseen, crashed the program or were not mended");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

/// The files to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Store,
    Log,
    Projections,
}

/// The effect of a flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Harmless,
    Rebuilt,
    RefusedAtOpening,
    RefusedByRead,
    FoundByCheck,
    Unseen,
    Crashed,
}

/// The effect of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Repair {
    AsBefore,
    LossNamed,
    NeedsABackup,
    Wrong,
}

/// The original workspace before any flip.
struct Master {
    folder: PathBuf,
    hash: String,
    hits: String,
}

struct Program<'a> {
    graphloom: &'a Path,
    scratch: PathBuf,
}

impl Program<'_> {
    fn run(&self, data: &Path, arguments: &[&str]) -> io::Result<Output> {
        Command::new(self.graphloom)
            .env_clear()
            .env("HOME", &self.scratch)
            .current_dir(&self.scratch)
            .arg("--data-dir")
            .arg(data)
            .args(arguments)
            .output()
    }

    fn ok(&self, data: &Path, arguments: &[&str]) -> io::Result<String> {
        let output = self.run(data, arguments)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                Err(io::Error::other(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))))
            }
        }
    }

    fn hash(&self, data: &Path) -> io::Result<Output> {
        self.run(data, &["dump", "--hash"])
    }

    fn master(&self, folder: PathBuf) -> io::Result<Master> {
        // On a copy, since reading empties the log.
        let copy = self.scratch.join("master-copy");
        copy_folder(&folder, &copy)?;
        let hash = self.ok(&copy, &["dump", "--hash"])?;
        let hits = self.ok(&copy, &["--json", "search", QUESTION])?;
        Ok(Master { folder, hash, hits })
    }
}

fn run(arguments: &Arguments) -> io::Result<u64> {
    let root = std::path::absolute(&arguments.folder)?;
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let program =
        Program { graphloom: &std::path::absolute(&arguments.graphloom)?, scratch: root.join("scratch") };
    fs::create_dir_all(&program.scratch)?;
    let rest = at_rest(&program, &root)?;
    let killed = killed(&program, &root)?;
    let mut random = Random(arguments.seed);
    let (mut fates, mut repairs) = (BTreeMap::new(), BTreeMap::new());
    let mut faults = 0;
    for number in 0..arguments.flips {
        let target = match number % 10 {
            0..6 => Target::Store,
            6..8 => Target::Log,
            _ => Target::Projections,
        };
        let master = if target == Target::Log { &killed } else { &rest };
        let data = program.scratch.join("data");
        copy_folder(&master.folder, &data)?;
        let files = files_of(target, &data)?;
        let (file, byte, bit) = flip(&files, &mut random)?;
        let (fate, output) = match target {
            Target::Projections => fate_of_projection(&program, &data, master)?,
            Target::Store | Target::Log => fate_of_store(&program, &data, master)?,
        };
        *fates.entry((target, fate)).or_insert(0u64) += 1;
        let at = format!("{} byte {byte} bit {bit}", file.display());
        if matches!(fate, Fate::Unseen | Fate::Crashed) {
            faults += 1;
            println!("{fate:?}: {at}: {output}");
        }
        if target == Target::Store && !matches!(fate, Fate::Harmless | Fate::Unseen | Fate::Crashed) {
            let (repair, output) = repaired(&program, &data, master)?;
            *repairs.entry(repair).or_insert(0u64) += 1;
            if matches!(repair, Repair::Wrong | Repair::NeedsABackup) {
                faults += u64::from(repair == Repair::Wrong);
                println!("{repair:?}: {at}: {output}");
            }
        }
    }
    print(&fates, &repairs);
    Ok(faults)
}

/// A workspace without running processes, with its indexes.
fn at_rest(program: &Program<'_>, root: &Path) -> io::Result<Master> {
    let (folder, documents) = (root.join("rest"), root.join("documents"));
    write_documents(&documents, 0)?;
    program.ok(&folder, &["add", &documents.to_string_lossy()])?;
    program.ok(&folder, &["search", QUESTION])?;
    program.master(folder)
}

/// A workspace after `kill -9`, with the latest documents in its log. A commit that the program could not mark was
/// not acknowledged and may be lost, so a log with such a commit cannot be used.
fn killed(program: &Program<'_>, root: &Path) -> io::Result<Master> {
    for _ in 0..MAX_KILLS {
        let master = kill(program, root)?;
        let mark = |folder: &Path| fs::read(folder.join("default.graphloom-mark"));
        // Reading the copy has moved its mark to the end of the log.
        if mark(&master.folder)? == mark(&program.scratch.join("master-copy"))? {
            return Ok(master);
        }
    }
    Err(io::Error::other("each time the program was killed before it marked its last commit; run it again"))
}

fn kill(program: &Program<'_>, root: &Path) -> io::Result<Master> {
    let (alive, folder, documents) = (root.join("alive"), root.join("killed"), root.join("more"));
    copy_folder(&root.join("rest"), &alive)?;
    write_documents(&documents, DOCUMENTS)?;
    let mut child = Command::new(program.graphloom)
        .env_clear()
        .env("HOME", &program.scratch)
        .current_dir(&program.scratch)
        .arg("--data-dir")
        .arg(&alive)
        .args(["add", &documents.to_string_lossy()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let log = alive.join("default.graphloom-wal");
    let begun = std::time::Instant::now();
    while log.metadata().map_or(0, |log| log.len()) < 256 << 10 && begun.elapsed() < LOG_TIMEOUT {
        if child.try_wait()?.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill()?;
    child.wait()?;
    if log.metadata().map_or(0, |log| log.len()) == 0 {
        return Err(io::Error::other("no log was left; run it again"));
    }
    copy_folder(&alive, &folder)?;
    program.master(folder)
}

fn write_documents(folder: &Path, first: usize) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let people = ["Ada Moreau", "Bruno Keller", "Chiara Lund", "Dmitri Vale", "Elif Aydin", "Farid Haddad"];
    let things = ["telescope", "seed drill", "tide gauge", "spectrograph", "water clock"];
    let places = ["Kelm", "Vastra", "Port Ellen", "Ostrava"];
    for number in first..first + DOCUMENTS {
        let mut text = format!("# Report {number}\n\n");
        for line in 0..12 {
            let (one, other) =
                (people[(number + line) % people.len()], people[(number * 3 + line + 1) % people.len()]);
            let (thing, place) =
                (things[(number + line) % things.len()], places[(number * line + 1) % places.len()]);
            text.push_str(&format!(
                "{one} repaired the {thing} in {place} together with {other}. The {thing} of {place} was built by the {other} \
                 Institute in {}.\n\n",
                1800 + number * 7 + line
            ));
        }
        fs::write(folder.join(format!("report-{number}.md")), text)?;
    }
    Ok(())
}

fn files_of(target: Target, data: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(match target {
        Target::Store => vec![data.join("default.graphloom")],
        Target::Log => vec![data.join("default.graphloom-wal")],
        Target::Projections => {
            let mut files = Vec::new();
            walk(&data.join("default.projections"), &mut |path| files.push(path.to_owned()))?;
            files.retain(|file| file.metadata().is_ok_and(|file| file.len() > 0));
            files.sort();
            files
        }
    })
}

/// Flips a random bit; every byte of the files has the same probability.
fn flip(files: &[PathBuf], random: &mut Random) -> io::Result<(PathBuf, u64, u64)> {
    let mut place = random.below(files.iter().map(|file| file.metadata().map_or(0, |file| file.len())).sum());
    for file in files {
        let mut bytes = fs::read(file)?;
        match usize::try_from(place).ok().filter(|place| *place < bytes.len()) {
            Some(at) => {
                let bit = random.below(8);
                bytes[at] ^= 1 << bit;
                fs::write(file, bytes)?;
                return Ok((file.clone(), place, bit));
            }
            None => place -= bytes.len() as u64,
        }
    }
    Err(io::Error::other("there is nothing to change"))
}

fn fate_of_store(program: &Program<'_>, data: &Path, master: &Master) -> io::Result<(Fate, String)> {
    let read = program.hash(data)?;
    let stderr = String::from_utf8_lossy(&read.stderr).into_owned();
    if has_crashed(&read) {
        return Ok((Fate::Crashed, stderr));
    }
    if !read.status.success() {
        let fate =
            if stderr.contains("opening workspace") { Fate::RefusedAtOpening } else { Fate::RefusedByRead };
        return Ok((if stderr.contains("help:") { fate } else { Fate::Unseen }, stderr));
    }
    let check = program.run(data, &["check"])?;
    if has_crashed(&check) {
        return Ok((Fate::Crashed, String::from_utf8_lossy(&check.stderr).into_owned()));
    }
    if !check.status.success() {
        return Ok((Fate::FoundByCheck, String::new()));
    }
    let is_same = String::from_utf8_lossy(&read.stdout) == master.hash;
    Ok((
        if is_same { Fate::Harmless } else { Fate::Unseen },
        "the dump differs and check is clean".to_owned(),
    ))
}

fn fate_of_projection(program: &Program<'_>, data: &Path, master: &Master) -> io::Result<(Fate, String)> {
    let check = program.run(data, &["check"])?;
    let search = program.run(data, &["--json", "search", QUESTION])?;
    let stderr = String::from_utf8_lossy(&search.stderr).into_owned();
    if has_crashed(&check) || has_crashed(&search) {
        return Ok((Fate::Crashed, stderr));
    }
    let is_same = search.status.success() && String::from_utf8_lossy(&search.stdout) == master.hits;
    let is_clean = program.run(data, &["check"])?.status.success();
    Ok(match (is_same && is_clean, check.status.success()) {
        (true, true) => (Fate::Harmless, stderr),
        (true, false) => (Fate::Rebuilt, stderr),
        (false, _) => (Fate::Unseen, stderr),
    })
}

fn repaired(program: &Program<'_>, data: &Path, master: &Master) -> io::Result<(Repair, String)> {
    let repair = program.run(data, &["repair"])?;
    let output =
        format!("{}{}", String::from_utf8_lossy(&repair.stdout), String::from_utf8_lossy(&repair.stderr));
    let is_clean = program.run(data, &["check"])?.status.success();
    let hash = program.hash(data)?;
    let is_same = String::from_utf8_lossy(&hash.stdout) == master.hash;
    Ok(match repair.status.code() {
        Some(0) if is_clean && is_same => (Repair::AsBefore, output),
        Some(3) if is_clean && output.contains("lost ") => (Repair::LossNamed, output),
        Some(1) if output.contains("restore a backup") => (Repair::NeedsABackup, output),
        _ => {
            (Repair::Wrong, format!("clean {is_clean}, same {is_same}, {:?}: {output}", repair.status.code()))
        }
    })
}

/// Whether a process ended by a signal or a panic, or one of its threads panicked.
fn has_crashed(output: &Output) -> bool {
    output.status.code().is_none_or(|code| code == 101)
}

fn print(fates: &BTreeMap<(Target, Fate), u64>, repairs: &BTreeMap<Repair, u64>) {
    println!(
        "| changed | harmless | rebuilt | refused at opening | refused by a read | found by check | unseen | crashed |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for target in [Target::Store, Target::Log, Target::Projections] {
        let of = |fate| fates.get(&(target, fate)).copied().unwrap_or(0);
        println!(
            "| {target:?} | {} | {} | {} | {} | {} | {} | {} |",
            of(Fate::Harmless),
            of(Fate::Rebuilt),
            of(Fate::RefusedAtOpening),
            of(Fate::RefusedByRead),
            of(Fate::FoundByCheck),
            of(Fate::Unseen),
            of(Fate::Crashed)
        );
    }
    let of = |repair| repairs.get(&repair).copied().unwrap_or(0);
    println!(
        "repaired: {} as before, {} with a loss that is named, {} need a backup, {} wrong",
        of(Repair::AsBefore),
        of(Repair::LossNamed),
        of(Repair::NeedsABackup),
        of(Repair::Wrong)
    );
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let mut files = Vec::new();
    walk(from, &mut |path| files.push(path.to_owned()))?;
    for file in files {
        let to = to.join(file.strip_prefix(from).map_err(io::Error::other)?);
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::copy(&file, to)?;
    }
    Ok(())
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => walk(&path, visit)?,
            false => visit(&path),
        }
    }
    Ok(())
}

/// Random numbers from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}
