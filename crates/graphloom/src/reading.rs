//! Reads sources into text. Complex formats and all large documents are read in a child process, so that a
//! reader that hangs, crashes or uses too much memory affects only its document.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use futures::StreamExt;
use graphloom_core::Format;
use graphloom_engine::index::{self, Refusal, Source, SourceText};
use graphloom_readers::{ParseLimits, ParsedDocument, format_of};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// Maximum documents read at once, if memory allows.
const READERS: usize = 4;
/// Maximum processor time for one document in seconds, if the system can limit it.
const MAX_PROCESSOR_S: u64 = 120;
/// Time limit for one document. A reader runs at low priority, so on a busy machine it takes longer than its processor time.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Maximum size of a document that is read without a child process, if its format is simple. Reading it takes a few
/// milliseconds and MiB. Larger documents would take resources from other work, and starting a process costs about as much.
const MAX_BYTES_IN_PROCESS: usize = 64 * 1024;
/// Minimum memory of a reader, in MiB.
const LEAST_MEMORY_MIB: u32 = 256;
/// Memory that a reader starts with per MiB of source, in MiB.
const MEMORY_PER_MIB: u32 = 32;
/// Writable address space that a reader needs beyond its memory, in MiB: its stack, of which it uses little,
/// and the allocator's reserve.
const RESERVED_MIB: u32 = 384;
/// Further address space that a reader needs, in MiB: the program itself.
const PROGRAM_MIB: u32 = 384;
/// Niceness of readers on systems with `nice`.
const NICENESS: u8 = 10;
/// Stack size of a reader.
const STACK_BYTES: usize = 256 * 1024 * 1024;
/// Maximum bytes of a reader's output besides the text: headings, pages, remarks.
const MAX_HEAD_BYTES: u64 = 64 * 1024 * 1024;
/// Time that a reader waits beyond its parent's limit before it exits on its own.
const GRACE: Duration = Duration::from_secs(10);
/// The hidden command that reads one source.
pub const COMMAND: &str = "read-source";

/// A request to a reader. The document's bytes follow it.
#[derive(Serialize, Deserialize)]
struct Request {
    name: String,
    format: Option<Format>,
    limits: ParseLimits,
    /// Length of the document in bytes.
    bytes: usize,
}

/// A reader's result.
type Outcome = Result<ParsedDocument, Refusal>;

/// The first line of the answer. It is followed by `text_bytes` of text.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The document without its text.
    outcome: Outcome,
    text_bytes: usize,
}

/// Why a reader did not answer.
enum ReaderFailure {
    /// It crashed or exceeded its memory.
    Crashed,
    /// It ran out of time.
    TimedOut,
}

/// The process in which documents are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReaderProgram {
    /// In this process. A reader that crashes loses only its document, but one that uses too much memory uses
    /// this process's memory.
    InProcess,
    /// In a separate process for PDF, Office and large documents: the `graphloom` command at this path.
    Graphloom(PathBuf),
}

/// Reads documents and limits the memory that all readers use together.
#[derive(Debug, Clone)]
pub struct Readers {
    program: ReaderProgram,
    /// Free memory in MiB.
    free: Arc<Semaphore>,
    /// Total memory in MiB.
    all_mib: u32,
}

impl Readers {
    /// Creates the readers.
    ///
    /// - `memory_mb`: the setting, in MiB; all readers together get half of it.
    pub fn new(memory_mb: u32, program: ReaderProgram) -> Self {
        let all_mib = (memory_mb / 2).max(LEAST_MEMORY_MIB);
        Self { program, free: Arc::new(Semaphore::new(all_mib as usize)), all_mib }
    }

    /// Reads all sources, several at a time. The results are in the order of `sources`.
    pub async fn read_all(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<SourceText> {
        futures::stream::iter(sources)
            .map(|source| self.read_one(source, limits))
            .buffered(READERS)
            .collect()
            .await
    }

    async fn read_one(&self, source: Source, limits: ParseLimits) -> SourceText {
        let (name, meta) = (source.name.clone(), source.meta.clone());
        let format = source.format.unwrap_or_else(|| format_of(&source.name, &source.bytes));
        let is_simple = !is_complicated(format) && source.bytes.len() <= MAX_BYTES_IN_PROCESS;
        let program = match &self.program {
            ReaderProgram::Graphloom(program) if !is_simple => program,
            ReaderProgram::Graphloom(_) | ReaderProgram::InProcess => {
                let read = tokio::task::spawn_blocking(move || read_here(source, limits)).await;
                let (outcome, original) = match read {
                    Ok(SourceText { outcome, original, .. }) => (outcome, original),
                    Err(_) => (Err(crashed()), None),
                };
                return SourceText { name, meta, outcome, original };
            }
        };
        let is_kept = index::keeps_original(format, source.bytes.len(), limits.max_original_bytes);
        // The reading process itself keeps no originals.
        let limits = ParseLimits { max_original_bytes: 0, ..limits };
        let Source { bytes, format, .. } = source;
        let size_mib = source_mib(bytes.len());
        let request = Arc::new(Request { name: name.clone(), format, limits, bytes: bytes.len() });
        let mut bytes = Some(Arc::new(bytes));
        let original = if is_kept { bytes.clone() } else { None };
        let first = (LEAST_MEMORY_MIB + MEMORY_PER_MIB.saturating_mul(size_mib)).min(self.all_mib);
        let mut outcome = Err(ReaderFailure::Crashed);
        // Few documents need more than the initial memory. Those that do are read again with all of it.
        for memory_mib in [first, self.all_mib] {
            let Ok(_memory) = self.free.acquire_many(memory_mib).await else { break };
            // The last attempt passes on the only copy of the bytes.
            let kept = if memory_mib == self.all_mib { bytes.take() } else { bytes.clone() };
            let (request, Some(sent)) = (Arc::clone(&request), kept) else { break };
            let command = reader(program, memory_mib);
            let read = move || ask(command, &request, sent, MAX_TIME);
            outcome = match tokio::task::spawn_blocking(read).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => {
                    let reason = format!("starting the reader failed: {error}");
                    Ok(Err(Refusal { reason, remedy: None }))
                }
                Err(_) => Err(ReaderFailure::Crashed),
            };
            if memory_mib == self.all_mib || !matches!(outcome, Err(ReaderFailure::Crashed)) {
                break;
            }
        }
        let outcome = outcome.unwrap_or_else(|broken| Err(broken.refusal()));
        SourceText { name, meta, outcome, original }
    }
}

/// Returns a size in MiB, rounded up.
fn source_mib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024 * 1024)).unwrap_or(u32::MAX)
}

/// True if third-party libraries read the format.
fn is_complicated(format: Format) -> bool {
    match format {
        Format::Pdf
        | Format::Docx
        | Format::Pptx
        | Format::Xlsx
        | Format::Xls
        | Format::Odt
        | Format::Ods
        | Format::Odp
        | Format::Epub
        | Format::Eml => true,
        Format::Text
        | Format::Markdown
        | Format::Html
        | Format::Csv
        | Format::Json
        | Format::JsonLines
        | Format::Xml
        | Format::Code
        | Format::Rtf
        | Format::Rst
        | Format::Latex
        | Format::Subtitles
        | Format::Notebook => false,
    }
}

/// Returns the command of a reader, limited to this much memory if the system can limit it.
fn reader(program: &Path, memory_mib: u32) -> Command {
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("/bin/sh");
        let data_kib = u64::from(memory_mib + RESERVED_MIB) * 1024;
        let all_kib = data_kib + u64::from(PROGRAM_MIB) * 1024;
        // If the system cannot limit memory, the reader runs without a limit. Some systems support only one
        // of the two limits. Readers run at low priority.
        let start = format!(
            "ulimit -d {data_kib} 2>/dev/null; ulimit -v {all_kib} 2>/dev/null; ulimit -S -t {MAX_PROCESSOR_S} 2>/dev/null; command -v nice >/dev/null && exec nice -n {NICENESS} \"$0\" \"$@\"; exec \"$0\" \"$@\""
        );
        shell.arg("-c").arg(start).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.arg(COMMAND).env_clear();
    // The allocator reserves address space by the GiB, which would count towards the limit.
    command.env("MIMALLOC_ARENA_RESERVE", "65536");
    // Freed memory is returned at once: reading a document of 50 MiB needs several copies of it, one after the other.
    command.env("MIMALLOC_PURGE_DELAY", "0");
    command
}

/// Runs a reader on one source for at most `longest`.
fn ask(
    mut command: Command,
    request: &Request,
    bytes: Arc<Vec<u8>>,
    longest: Duration,
) -> io::Result<Result<Outcome, ReaderFailure>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut head = serde_json::to_vec(request)?;
    head.push(b'\n');
    let writer = thread::Builder::new().spawn(move || {
        // A reader that stops reading may still answer. If it crashed, the code below detects it.
        let _ = input.write_all(&head).and_then(|()| input.write_all(&bytes));
    })?;
    let most = request.limits.max_bytes;
    let (send, answered) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || {
        // After a timeout, nobody receives this.
        let _ = send.send(read_answer(output, most));
    })?;
    let answer = answered.recv_timeout(longest);
    if answer.is_err() {
        child.kill()?;
    }
    let ended = child.wait()?;
    // The reader has exited, so the pipe is closed and the writer thread ends.
    let _ = writer.join();
    Ok(match answer {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(_)) if exceeded_processor_time(ended) => Err(ReaderFailure::TimedOut),
        Ok(Err(_)) => Err(ReaderFailure::Crashed),
        Err(_) => Err(ReaderFailure::TimedOut),
    })
}

/// True if the system ended the process because it used up its processor time.
#[cfg(unix)]
fn exceeded_processor_time(ended: ExitStatus) -> bool {
    /// The number of SIGXCPU on Linux, macOS and the BSDs; MIPS uses a different one.
    const OUT_OF_TIME: i32 = 24;
    std::os::unix::process::ExitStatusExt::signal(&ended) == Some(OUT_OF_TIME)
}

#[cfg(not(unix))]
fn exceeded_processor_time(_: ExitStatus) -> bool {
    false
}

/// Parses a reader's output: the head, then the text.
fn read_answer(output: impl Read, most: usize) -> io::Result<Outcome> {
    let mut output = BufReader::new(output);
    let mut head = Vec::new();
    (&mut output).take(MAX_HEAD_BYTES).read_until(b'\n', &mut head)?;
    let Head { outcome, text_bytes } = serde_json::from_slice(&head)?;
    drop(head);
    let Ok(mut document) = outcome else { return Ok(outcome) };
    if text_bytes > most {
        return Err(io::Error::other("the text exceeds the limit for one document"));
    }
    let mut text = vec![0; text_bytes];
    output.read_exact(&mut text)?;
    document.text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok(Ok(document))
}

impl ReaderFailure {
    fn refusal(&self) -> Refusal {
        match self {
            Self::Crashed => crashed(),
            Self::TimedOut => Refusal {
                reason: format!("reading took more than {MAX_PROCESSOR_S} seconds"),
                remedy: Some("split it into smaller files, or save it in a simpler form".to_owned()),
            },
        }
    }
}

fn crashed() -> Refusal {
    Refusal {
        reason: "reading crashed or needed too much memory".to_owned(),
        remedy: Some(
            "split it, or save it in another format and add that file; `memory_mb` limits the memory of readers; \
             other files are not affected"
                .to_owned(),
        ),
    }
}

/// Reads a source on a thread with enough stack for deeply nested documents. If the reader panics, the document is refused.
fn read_here(source: Source, limits: ParseLimits) -> SourceText {
    let (name, meta) = (source.name.clone(), source.meta.clone());
    let reader = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || index::read(source, &limits));
    let refusal = match reader.map(thread::JoinHandle::join) {
        Ok(Ok(read)) => return read,
        Ok(Err(_)) => crashed(),
        Err(error) => Refusal { reason: format!("starting the reader failed: {error}"), remedy: None },
    };
    SourceText { name, meta, outcome: Err(refusal), original: None }
}

/// Runs the child process: reads one source from standard input and answers on standard output.
pub fn answer() -> io::Result<()> {
    thread::Builder::new().spawn(|| {
        thread::sleep(MAX_TIME + GRACE);
        std::process::exit(1);
    })?;
    let mut input = BufReader::new(io::stdin().lock());
    let mut head = Vec::new();
    input.read_until(b'\n', &mut head)?;
    let request: Request = serde_json::from_slice(&head)?;
    let Request { name, format, limits, bytes } = request;
    let mut bytes = Vec::with_capacity(bytes);
    input.read_to_end(&mut bytes)?;
    let source = Source { name, bytes, format, meta: Default::default() };
    let mut outcome = read_here(source, limits).outcome;
    let text = outcome.as_mut().map(|document| std::mem::take(&mut document.text)).unwrap_or_default();
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, &Head { outcome, text_bytes: text.len() })?;
    output.write_all(b"\n")?;
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn check_reader(script: &str, longest: Duration) -> String {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(script);
        let request =
            Request { name: "a.pdf".to_owned(), format: None, limits: ParseLimits::default(), bytes: 0 };
        let answer = ask(shell, &request, Arc::new(vec![b'x'; 1_000_000]), longest).expect("a shell");
        answer.unwrap_or_else(|broken| Err(broken.refusal())).expect_err("no document").reason
    }

    #[test]
    fn readers_get_half_of_the_configured_memory_but_enough_for_one() {
        let all_mib = |memory_mb: u32| Readers::new(memory_mb, ReaderProgram::InProcess).all_mib;
        assert_eq!([all_mib(2048), all_mib(100)], [1024, LEAST_MEMORY_MIB]);
    }

    #[test]
    fn a_reader_runs_at_low_priority_with_limits() {
        let command = reader(Path::new("/bin/sh"), 256);
        let mut arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
        // Replaces the program by a script that prints how it was started.
        arguments[2] = "/bin/sh".into();
        arguments.truncate(3);
        let told = ["-c", "nice; ulimit -d; ulimit -v; ulimit -t"];
        let said = Command::new(command.get_program()).args(arguments).args(told).output();
        let said = String::from_utf8(said.expect("a shell").stdout).expect("text");
        let [niceness, data_kib, all_kib, seconds] = said.lines().collect::<Vec<_>>()[..] else {
            panic!("{said}")
        };
        let own = Command::new("/bin/sh").args(["-c", "nice"]).output().expect("a shell").stdout;
        let own: i32 = String::from_utf8(own).ok().and_then(|own| own.trim().parse().ok()).expect("a number");
        assert_eq!(niceness.parse(), Ok((own + i32::from(NICENESS)).min(19)), "{said}");
        assert_eq!(data_kib, ((256 + RESERVED_MIB) * 1024).to_string());
        assert_eq!(all_kib, ((256 + RESERVED_MIB + PROGRAM_MIB) * 1024).to_string());
        assert_eq!(seconds, MAX_PROCESSOR_S.to_string());
    }

    #[test]
    fn a_reader_that_never_ends_is_stopped() {
        let late = "reading took more than 120 seconds";
        assert_eq!(check_reader("while :; do :; done", Duration::from_millis(50)), late);
        // The signal that the system sends to a reader that has used up its processor time.
        assert_eq!(check_reader("kill -XCPU $$", Duration::from_secs(60)), late);
    }

    #[test]
    fn a_reader_that_crashes_or_sends_invalid_output_loses_only_its_document() {
        let long = Duration::from_secs(60);
        assert_eq!(check_reader("kill -9 $$", long), crashed().reason);
        assert_eq!(check_reader("echo nonsense", long), crashed().reason);
        let refused = "{\"outcome\":{\"Err\":{\"reason\":\"why\",\"remedy\":null}},\"text_bytes\":0}";
        assert_eq!(check_reader(&format!("echo '{refused}'"), long), "why");
    }
}
