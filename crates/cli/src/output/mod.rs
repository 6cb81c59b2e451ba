//! What is printed: data on stdout, everything else on stderr.

pub(crate) mod answer;
pub(crate) mod meter;
pub(crate) mod progress;
pub(crate) mod render;
pub(crate) mod snippet;
pub(crate) mod tally;
pub(crate) mod terminal;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use graphloom::config::layers;
use serde::Serialize;

use crate::args::{ColorChoice, Global};

/// A line on stderr. Unlike `eprintln!`, which panics where stderr is a pipe that nobody reads any more, it then does nothing:
/// nothing is left to report to.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// How this run prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// JSON on stdout instead of text.
    pub(crate) json: bool,
    /// No notes and no progress.
    pub(crate) quiet: bool,
    /// Remarks about what was done.
    pub(crate) verbose: bool,
    /// Colours on stdout.
    color: bool,
    /// Whether stdout is a terminal that makes links of addresses.
    links: bool,
    /// Columns that text for people on stdout is wrapped to; `None` where nothing is known of the reader.
    pub(crate) columns: Option<usize>,
    /// Whether stderr is a terminal that bars can be drawn on.
    pub(crate) bars: bool,
}

impl Output {
    /// Decides from the flags, `NO_COLOR` (set and not empty), `COLUMNS` and the terminals.
    pub(crate) fn new(global: &Global, environment: &BTreeMap<String, String>) -> Self {
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
        Self { json, quiet, verbose, color: color && !json, links, columns, bars }
    }

    /// The same for what is told on the way to one JSON value: it goes to stderr.
    pub(crate) fn aside(self) -> Self {
        Self { json: false, ..self }
    }

    /// A line on stdout.
    pub(crate) fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Text on stdout at once, without a line end.
    pub(crate) fn stream(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// A JSON value on one line of stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        Ok(io::stdout().lock().write_all(&line)?)
    }

    /// A line on stdout about what was done; silent with `--quiet`.
    pub(crate) fn summary(&self, text: impl Display) -> io::Result<()> {
        if self.quiet { Ok(()) } else { self.line(text) }
    }

    /// A line about what went wrong: on stdout, with `--quiet` on stderr.
    pub(crate) fn trouble(&self, text: impl Display) -> io::Result<()> {
        if self.quiet {
            self.warn(text);
            return Ok(());
        }
        self.line(text)
    }

    /// A remark on stderr; silent with `--quiet`.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            self.warn(text);
        }
    }

    /// A line on stderr, even with `--quiet`.
    pub(crate) fn warn(&self, text: impl Display) {
        tell(text);
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> String {
        self.styled("1", text)
    }

    /// Something of less weight.
    pub(crate) fn faint(&self, text: &str) -> String {
        self.styled("2", text)
    }

    /// A citation number.
    pub(crate) fn mark(&self, text: &str) -> String {
        self.styled("36", text)
    }

    /// Words that were looked for.
    pub(crate) fn found(&self, text: &str) -> String {
        self.styled("1;33", text)
    }

    /// `text` that leads to `address` where it is clicked, on terminals that know links.
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
