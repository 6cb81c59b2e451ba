//! Output: data on stdout, everything else on stderr.

pub(crate) mod answer;
pub(crate) mod links;
pub(crate) mod meter;
pub(crate) mod progress;
pub(crate) mod render;
pub(crate) mod snippet;
pub(crate) mod tally;
pub(crate) mod terminal;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use graphloom::config::layers;
use serde::Serialize;

use crate::args::{ColorChoice, Global, PlaceOptions};

/// Prints a line to stderr, wrapped to the terminal if there is one. If stderr is a closed pipe, does nothing; `eprintln!` would
/// panic.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", wrapped_to(terminal::columns_of_stderr(), text));
}

/// Prints a JSON value on one line of stderr, like [`tell`].
pub(crate) fn tell_json(value: &serde_json::Value) {
    let _ = writeln!(io::stderr().lock(), "{value}");
}

/// Standard output. [`is_closed_stdout`] recognizes its error if nobody reads it any more.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).map_err(of_stdout)
    }

    /// Writes without the output of other threads in between.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::stdout().write_all(bytes).map_err(of_stdout)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().map_err(of_stdout)
    }
}

/// Nobody reads stdout any more.
#[derive(Debug)]
struct ClosedStdout;

impl fmt::Display for ClosedStdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout is closed")
    }
}

impl Error for ClosedStdout {}

fn of_stdout(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::BrokenPipe => io::Error::new(kind, ClosedStdout),
        _ => error,
    }
}

/// True if the error means that nobody reads stdout any more (`graphloom dump | head`). Other pipes can break too, such as that of
/// a reranker or of a program that this one started.
pub(crate) fn is_closed_stdout(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<ClosedStdout>())
}

/// Wraps text to a terminal; without one, returns it as it is.
fn wrapped_to(columns: Option<usize>, text: impl Display) -> String {
    let text = text.to_string();
    match columns {
        Some(columns) => terminal::wrapped_lines(&text, columns),
        None => text,
    }
}

/// Output settings of this run.
///
/// Messages name commands as `` `graphloom …` ``. Every method but [`line`](Self::line) and [`stream`](Self::stream), which print
/// documents, adds the options that select the workspace to these commands.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// Print JSON instead of text on stdout.
    pub(crate) json: bool,
    /// Print no notes and no progress.
    pub(crate) quiet: bool,
    /// Print remarks about what was done.
    pub(crate) verbose: bool,
    /// Whether to drop the output and go on if nobody reads stdout any more.
    outlives_reader: bool,
    /// Color stdout.
    color: bool,
    /// Whether stdout is a terminal that supports hyperlinks.
    links: bool,
    /// Width to wrap text on stdout to; `None` if unknown.
    pub(crate) columns: Option<usize>,
    /// Height of stdout in lines; `None` if unknown.
    pub(crate) lines: Option<usize>,
    /// Whether stderr is a terminal that can show progress bars.
    pub(crate) bars: bool,
    /// The options for data folder, database and workspace that were typed.
    pub(crate) place: Arc<PlaceOptions>,
}

impl Output {
    /// Derives the settings from the flags, `NO_COLOR` (set and not empty), `COLUMNS`, `LINES` and the
    /// terminals.
    ///
    /// - `does_work`: whether the command does more than print, and so goes on if nobody reads stdout any more.
    pub(crate) fn new(global: &Global, environment: &BTreeMap<String, String>, does_work: bool) -> Self {
        let no_color = layers::set(environment, "NO_COLOR").is_some();
        let color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !no_color && io::stdout().is_terminal(),
        };
        let bars = !global.quiet && io::stderr().is_terminal();
        let (json, quiet, verbose) = (global.json, global.quiet, global.verbose > 0);
        let links = !json && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
        let columns = terminal::columns_of_stdout(layers::set(environment, "COLUMNS"));
        let lines = terminal::lines_of_stdout(layers::set(environment, "LINES"));
        let color = color && !json;
        let place = Arc::new(PlaceOptions::of(global));
        Self { json, quiet, verbose, outlives_reader: does_work, color, links, columns, lines, bars, place }
    }

    /// Returns settings for messages while a single JSON value is produced: without `json`, so that messages are text.
    pub(crate) fn aside(&self) -> Self {
        Self { json: false, ..self.clone() }
    }

    /// Returns a message whose commands repeat the options that select the workspace.
    pub(crate) fn hint(&self, text: impl Display) -> String {
        self.place.in_hint(&text.to_string())
    }

    /// Prints a line to stdout, wrapped to the terminal if there is one.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        self.stream(&format!("{}\n", wrapped_to(terminal::terminal_columns_of_stdout(), text)))
    }

    /// Prints text to stdout without a line end, and flushes.
    pub(crate) fn stream(&self, text: &str) -> io::Result<()> {
        match Stdout.write_all(text.as_bytes()).and_then(|()| Stdout.flush()) {
            Err(error) if self.outlives_reader && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Prints a JSON value on one line of stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        Ok(self.stream(&format!("{}\n", serde_json::to_string(value)?))?)
    }

    /// Prints a line to stdout that may name commands.
    pub(crate) fn advise(&self, text: impl Display) -> io::Result<()> {
        self.line(self.hint(text))
    }

    /// Prints a line to stdout about what was done; silent with `--quiet`.
    pub(crate) fn summary(&self, text: impl Display) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.advise(text) }
    }

    /// Prints a line about a problem to stdout, or to stderr with `--quiet`.
    pub(crate) fn trouble(&self, text: impl Display) -> io::Result<()> {
        if self.quiet {
            self.warn(text);
            return Ok(());
        }
        self.advise(text)
    }

    /// Prints a remark to stderr; silent with `--quiet`.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            self.warn(text);
        }
    }

    /// Prints a line to stderr, even with `--quiet`.
    pub(crate) fn warn(&self, text: impl Display) {
        tell(self.hint(text));
    }

    /// Styles a heading.
    pub(crate) fn heading(&self, text: &str) -> String {
        self.styled("1", text)
    }

    /// Styles less important text.
    pub(crate) fn faint(&self, text: &str) -> String {
        self.styled("2", text)
    }

    /// Styles a citation number.
    pub(crate) fn mark(&self, text: &str) -> String {
        self.styled("36", text)
    }

    /// Styles words that match a search.
    pub(crate) fn found(&self, text: &str) -> String {
        self.styled("1;33", text)
    }

    /// Makes `text` a hyperlink to `address` on terminals that support it.
    pub(crate) fn link(&self, address: Option<&str>, text: &str) -> String {
        match address.filter(|_| self.links) {
            Some(address) => format!("\u{1b}]8;;{address}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\"),
            None => text.to_owned(),
        }
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
