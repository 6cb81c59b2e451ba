//! Reads sources into text. Documents of complicated formats are read in a process of their own, so that whatever their
//! reader does, in time, in memory or by crashing, ends with that document.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use futures::StreamExt;
use graphloom_core::Format;
use graphloom_engine::index::{self, Reading, Refusal, Source};
use graphloom_engine::parse::{ParseLimits, ParsedDocument, format_of};
use serde::{Deserialize, Serialize};

/// Documents that are read at once.
const READERS: usize = 4;
/// Longest time that one document may take.
const MAX_TIME: Duration = Duration::from_secs(120);
/// Memory that the process of a reader may map, in KiB; the program itself is part of it.
const MAX_MEMORY_KIB: u64 = 3 * 1024 * 1024;
/// Stack of a reader.
const STACK_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of an answer for each byte of text: its JSON escapes, headings and pages.
const ANSWER_FACTOR: u64 = 8;
/// How much longer than its parent a reader waits before it ends itself.
const GRACE: Duration = Duration::from_secs(10);
/// The hidden command that reads one source.
pub(crate) const COMMAND: &str = "read-source";

/// What the parent asks a reader; the bytes follow.
#[derive(Serialize, Deserialize)]
struct Request {
    name: String,
    format: Option<Format>,
    limits: ParseLimits,
}

/// What the reader answers.
type Outcome = Result<ParsedDocument, Refusal>;

/// Reads every source, a few at a time; the order stays.
pub(crate) async fn read_all(sources: Vec<Source>, limits: ParseLimits) -> Vec<Reading> {
    futures::stream::iter(sources)
        .map(|source| {
            let (name, meta) = (source.name.clone(), source.meta.clone());
            let read = tokio::task::spawn_blocking(move || read_one(source, &limits));
            async move { read.await.unwrap_or_else(|_| Reading { name, meta, outcome: Err(crashed()) }) }
        })
        .buffered(READERS)
        .collect()
        .await
}

fn read_one(source: Source, limits: &ParseLimits) -> Reading {
    let format = source.format.unwrap_or_else(|| format_of(&source.name, &source.bytes));
    if !is_complicated(format) {
        return index::read(source, limits);
    }
    let Source { name, bytes, format, meta } = source;
    let request = Request { name, format, limits: *limits };
    let outcome = reader().and_then(|command| ask(command, &request, bytes, MAX_TIME));
    let outcome = outcome.unwrap_or_else(|error| {
        let reason = format!("its reader could not be started: {error}");
        Err(Refusal { reason, remedy: None })
    });
    Reading { name: request.name, meta, outcome }
}

/// Formats that libraries of others read.
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
        | Format::Rtf => false,
    }
}

/// The program again, as a reader, with little memory where the system can limit it.
fn reader() -> io::Result<Command> {
    let program = std::env::current_exe()?;
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("/bin/sh");
        // A system that cannot limit memory says so, and the reader runs without.
        shell
            .arg("-c")
            .arg(format!("ulimit -v {MAX_MEMORY_KIB} 2>/dev/null; exec \"$0\" \"$@\""))
            .arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.arg(COMMAND);
    Ok(command)
}

/// Runs a reader on one source, at most for `longest`.
fn ask(mut command: Command, request: &Request, bytes: Vec<u8>, longest: Duration) -> io::Result<Outcome> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).env_clear().spawn()?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    let mut head = serde_json::to_vec(request)?;
    head.push(b'\n');
    let writer = thread::Builder::new().spawn(move || {
        // A reader that ends early answers all the same, or is found dead below.
        let _ = input.write_all(&head).and_then(|()| input.write_all(&bytes));
    })?;
    let most = (request.limits.max_bytes as u64).saturating_mul(ANSWER_FACTOR);
    let (send, answered) = mpsc::sync_channel(1);
    thread::Builder::new().spawn(move || {
        let mut answer = Vec::new();
        let read = output.take(most).read_to_end(&mut answer).map(|_| answer);
        // Nobody waits any more where time is up.
        let _ = send.send(read);
    })?;
    let answer = answered.recv_timeout(longest);
    if answer.is_err() {
        child.kill()?;
    }
    child.wait()?;
    // The pipe is closed now, so it ends too.
    let _ = writer.join();
    Ok(match answer {
        Ok(answer) => serde_json::from_slice(&answer?).unwrap_or_else(|_| Err(crashed())),
        Err(_) => Err(Refusal {
            reason: format!("reading it took more than {} seconds", longest.as_secs()),
            remedy: Some("split it into smaller files, or save it in a simpler form".to_owned()),
        }),
    })
}

fn crashed() -> Refusal {
    Refusal {
        reason: "its reader crashed or needed too much memory".to_owned(),
        remedy: Some(
            "save it in another format and add that file; the other files are not affected".to_owned(),
        ),
    }
}

/// The other side: reads one source from standard input and answers on standard output.
pub(crate) fn answer() -> anyhow::Result<()> {
    thread::Builder::new().spawn(|| {
        thread::sleep(MAX_TIME + GRACE);
        std::process::exit(1);
    })?;
    let mut input = io::stdin().lock();
    let mut head = Vec::new();
    let mut byte = [0];
    while input.read(&mut byte)? == 1 && byte != *b"\n" {
        head.extend(byte);
    }
    let request: Request = serde_json::from_slice(&head)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let Request { name, format, limits } = request;
    let source = Source { name, bytes, format, meta: Default::default() };
    let reader =
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || index::read(source, &limits).outcome)?;
    let outcome: Outcome = reader.join().unwrap_or_else(|_| Err(crashed()));
    serde_json::to_writer(io::stdout().lock(), &outcome)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn check_reader(script: &str, longest: Duration) -> String {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(script);
        let request = Request { name: "a.pdf".to_owned(), format: None, limits: ParseLimits::default() };
        let outcome = ask(shell, &request, vec![b'x'; 1_000_000], longest).expect("a shell");
        outcome.expect_err("no document").reason
    }

    #[test]
    fn a_reader_that_never_ends_is_stopped() {
        let said = check_reader("while :; do :; done", Duration::from_millis(50));
        assert_eq!(said, "reading it took more than 0 seconds");
    }

    #[test]
    fn a_reader_that_dies_or_talks_nonsense_loses_only_its_document() {
        let long = Duration::from_secs(60);
        assert_eq!(check_reader("kill -9 $$", long), crashed().reason);
        assert_eq!(check_reader("echo nonsense", long), crashed().reason);
        assert_eq!(check_reader("echo '{\"Err\":{\"reason\":\"why\",\"remedy\":null}}'", long), "why");
    }
}
