//! Shared by the behaviour tests: the program in a fresh folder, and a scripted model.

pub(crate) mod model;
pub(crate) mod pdf;
pub(crate) mod serving;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program, run in a fresh folder with a fresh home and a bare environment.
pub(crate) struct Graphloom {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Graphloom {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder"), environment: Vec::new() }
    }

    /// Sets a variable for all commands.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("graphloom"));
        command.env_clear().env("HOME", self.folder.path().join("home")).current_dir(self.folder.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandResult {
        CommandResult::of(arguments, self.command(arguments).output().expect("the program runs"))
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> CommandResult {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
        CommandResult::of(arguments, child.wait_with_output().expect("it ends"))
    }

    /// Runs and expects exit code 0; returns stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).exits(0).stdout
    }

    /// Runs with `--json` and expects exit code 0; returns the printed value.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = std::iter::once("--json").chain(arguments.iter().copied()).collect();
        serde_json::from_str(&self.ok(&arguments)).expect("one JSON value")
    }

    /// Returns the hash of the canonical state.
    pub(crate) fn hash(&self) -> String {
        self.ok(&["dump", "--hash"]).trim().to_owned()
    }
}

/// The outcome of a command.
pub(crate) struct CommandResult {
    pub(crate) what: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandResult {
    pub(crate) fn of(arguments: &[&str], output: Output) -> Self {
        Self {
            what: arguments.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    pub(crate) fn exits(self, code: i32) -> Self {
        let Self { what, stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "{what}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    pub(crate) fn says(self, part: &str) -> Self {
        let Self { what, stdout, stderr, .. } = &self;
        assert!(
            stdout.contains(part) || stderr.contains(part),
            "{what}: nothing about {part:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }
}

/// Returns the folder of the sample documents.
pub(crate) fn lab() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/lab")
}

/// Copies the sample documents into `docs`.
pub(crate) fn copy_lab(graphloom: &Graphloom) {
    for entry in fs::read_dir(lab()).expect("the samples") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        graphloom.write(&format!("docs/{name}"), fs::read(&path).expect("readable"));
    }
}
