//! The outcome of `graphloom add`, and how it is printed.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use graphloom::files;
use graphloom_core::{DocumentStatus, TrackId};
use graphloom_engine::index::Acceptance;
use serde::Serialize;

use crate::commands::App;
use crate::commands::indexing::RunOutcome;
use crate::fault::Exit;
use crate::output::render::{as_new_versions, count, name, one_line};

/// Maximum lines printed per kind of remark; `--json` prints all.
const MOST_PRINTED: usize = 20;

/// The outcome of an add.
#[derive(Debug, Default, Serialize)]
pub(in crate::commands) struct Summary {
    /// The name of the run.
    track: Option<TrackId>,
    accepted: u64,
    replaced: u64,
    unchanged: u64,
    /// Already known documents that stopped or have failed chunks.
    unchanged_with_failures: Vec<String>,
    /// Already known documents that were cancelled.
    unchanged_cancelled: Vec<String>,
    /// Whether a later command has to index the documents.
    pub(super) left_waiting: bool,
    refused: Vec<Remark>,
    skipped: Vec<Remark>,
    same_content: Vec<Remark>,
    other_encodings: Vec<Remark>,
    partly_read: Vec<Remark>,
    /// Documents below the given folders whose file is gone.
    pub(super) gone: Vec<String>,
    /// Whether these were removed.
    pub(super) pruned: bool,
    /// Documents below the given folders whose file is there but is not one that `add` reads.
    pub(super) left_out: Vec<String>,
    /// Sources of the files that were found.
    #[serde(skip)]
    pub(super) walked: HashSet<String>,
    /// Whether a path does not exist or a part of a folder could not be read. Its files would look deleted.
    #[serde(skip)]
    pub(super) has_unread_paths: bool,
    pub(in crate::commands) run: RunOutcome,
    /// Whether this is an estimate; single sources are not reported then.
    #[serde(skip)]
    estimates: bool,
}

/// A source and a remark about it.
#[derive(Debug, Serialize)]
struct Remark {
    source: String,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// A line of `--json` output: the outcome of one source.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Source {
        source: &'a str,
        #[serde(flatten)]
        acceptance: &'a Acceptance,
    },
    Skipped {
        source: &'a str,
        reason: &'a str,
    },
    Summary(&'a Summary),
}

impl Summary {
    /// An empty summary for the run with this name.
    pub(in crate::commands) fn of(track: &TrackId) -> Self {
        Self { track: Some(track.clone()), ..Self::default() }
    }

    /// An empty summary for an estimate.
    pub(super) fn of_estimate() -> Self {
        Self { estimates: true, ..Self::default() }
    }

    /// Whether all sources could be read.
    pub(super) fn is_complete(&self) -> bool {
        self.refused.is_empty()
    }

    /// Records that a source could not be read.
    pub(in crate::commands) fn refuse(
        &mut self,
        app: &App,
        source: String,
        reason: String,
        remedy: Option<String>,
    ) -> anyhow::Result<()> {
        self.take(app, source, Acceptance::Refused { reason, remedy })
    }

    /// Records that an entry of a folder is not a document.
    pub(super) fn skip(&mut self, app: &App, source: String, reason: String) -> anyhow::Result<()> {
        if app.output.json && !self.estimates {
            app.output.json(&Line::Skipped { source: &source, reason: &reason })?;
        }
        self.skipped.push(Remark { source, what: reason, remedy: None });
        Ok(())
    }

    /// Records the outcome of a source.
    pub(super) fn take(&mut self, app: &App, source: String, acceptance: Acceptance) -> anyhow::Result<()> {
        if app.output.json && !self.estimates {
            app.output.json(&Line::Source { source: &source, acceptance: &acceptance })?;
        }
        match acceptance {
            Acceptance::Accepted { encoding, same_content_as, remarks, replaces, document: _ } => {
                let partly =
                    remarks.into_iter().map(|what| Remark { source: source.clone(), what, remedy: None });
                self.partly_read.extend(partly);
                self.accepted += 1;
                self.replaced += u64::from(replaces.is_some());
                if !matches!(encoding.as_str(), "UTF-8" | "UTF-8 with BOM") {
                    self.other_encodings.push(Remark {
                        source: source.clone(),
                        what: encoding,
                        remedy: None,
                    });
                }
                if let Some(first) = same_content_as.first() {
                    let more = same_content_as.len() - 1;
                    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
                    self.same_content.push(Remark { source, what: format!("{first}{others}"), remedy: None });
                }
            }
            Acceptance::Unchanged { status, document: _ } => {
                self.unchanged += 1;
                match status {
                    DocumentStatus::Incomplete { .. } | DocumentStatus::Failed { .. } => {
                        self.unchanged_with_failures.push(source);
                    }
                    DocumentStatus::Cancelled { .. } => self.unchanged_cancelled.push(source),
                    DocumentStatus::Waiting
                    | DocumentStatus::Indexing { .. }
                    | DocumentStatus::Ready { .. } => {}
                }
            }
            Acceptance::Refused { reason, remedy } => {
                self.refused.push(Remark { source, what: reason, remedy })
            }
        }
        Ok(())
    }

    pub(in crate::commands) fn exit(&self) -> Exit {
        match self.run.exit() {
            Exit::Done if !self.refused.is_empty() => Exit::Partly,
            exit => exit,
        }
    }

    /// Whether there was nothing to add and to index.
    pub(in crate::commands) fn is_idle(&self) -> bool {
        self.accepted + self.unchanged == 0 && self.refused.is_empty() && !self.run.has_worked()
    }

    pub(in crate::commands) fn print(&self, app: &App) -> anyhow::Result<()> {
        if app.output.json {
            app.output.json(&Line::Summary(self))?;
            return Ok(());
        }
        let mut parts = vec![format!("{} accepted", count(self.accepted, "document"))];
        parts.extend(as_new_versions(self.replaced));
        for (number, what) in [
            (self.unchanged, "unchanged"),
            (self.refused.len() as u64, "refused"),
            (self.skipped.len() as u64, "skipped"),
        ] {
            if number > 0 {
                parts.push(format!("{number} {what}"));
            }
        }
        app.output.summary(parts.join(", "))?;
        if self.is_idle() {
            let why =
                "in folders, hidden files and files matched by .gitignore or .graphloomignore are skipped";
            app.output.summary(format!("nothing to add: {why}; name a file to add it anyway"))?;
        }
        self.print_unread(app)?;
        if !app.output.quiet {
            print_remarks(app, "same content as another document", self.same_content.iter())?;
            let read_as = |remark: &Remark| Remark {
                source: remark.source.clone(),
                what: format!("read as {}", remark.what),
                remedy: None,
            };
            let encodings: Vec<Remark> = self.other_encodings.iter().map(read_as).collect();
            print_remarks(app, "not UTF-8", encodings.iter())?;
        }
        print_remarks(app, "partly read", self.partly_read.iter())?;
        self.run.print(app, "retry")?;
        if !self.unchanged_with_failures.is_empty() && self.run.failures.total == 0 {
            let number = count(self.unchanged_with_failures.len() as u64, "unchanged document");
            app.output
                .summary(format_args!("{number} with earlier failures: `graphloom retry` retries them"))?;
        }
        if !self.unchanged_cancelled.is_empty() {
            let number = count(self.unchanged_cancelled.len() as u64, "unchanged document");
            app.output.summary(format_args!(
                "{number} cancelled earlier: `graphloom retry --cancelled` queues them again"
            ))?;
        }
        Ok(())
    }

    /// Prints the sources that were not read.
    pub(super) fn print_unread(&self, app: &App) -> anyhow::Result<()> {
        print_remarks(app, "refused", self.refused.iter())?;
        print_skipped(app, &self.skipped)
    }

    /// Prints how many documents `add` no longer reads from a file, and whether they were removed.
    ///
    /// - `prunes`: whether they were to be removed.
    pub(super) fn print_gone(&self, app: &App, folders: &[PathBuf], prunes: bool) -> anyhow::Result<()> {
        if prunes && self.has_unread_paths {
            app.output.warn("nothing was removed: a path could not be read, so its files may still exist");
        }
        if app.output.json {
            return Ok(());
        }
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let folders = one_line(&folders.join(", "), 200);
        let documents = |sources: &[String]| {
            let number = count(sources.len() as u64, "document");
            let (have, them) = if sources.len() == 1 { ("has", "it") } else { ("have", "them") };
            (format!("{number} below {folders}"), have, them)
        };
        if !self.gone.is_empty() {
            let (documents, have, them) = documents(&self.gone);
            app.output.summary(match self.pruned {
                true => format!("removed {documents} that {have} no file any more"),
                false => format!("{documents} {have} no file any more; `--prune` removes {them}"),
            })?;
        }
        if let Some(first) = self.left_out.first() {
            let (documents, have, them) = documents(&self.left_out);
            let (files, such_as) =
                if self.left_out.len() == 1 { ("a file", ":") } else { ("files", ", such as") };
            app.output.summary(format!(
                "{documents} {have} {files} that `add` skips in folders{such_as} {}; `graphloom rm` removes {them}",
                name(first)
            ))?;
        }
        Ok(())
    }
}

/// Prints skipped files: one per line, but all unsupported kinds in one line.
fn print_skipped(app: &App, skipped: &[Remark]) -> anyhow::Result<()> {
    if app.output.quiet {
        return Ok(());
    }
    let kind = |remark: &Remark| {
        let rest = remark.what.strip_prefix(files::UNSUPPORTED_KIND)?;
        rest.split(' ').next().map(str::to_owned)
    };
    let (alike, mut single): (Vec<&Remark>, Vec<&Remark>) =
        skipped.iter().partition(|remark| kind(remark).is_some());
    if alike.len() > 1 {
        let mut of_kinds: BTreeMap<String, usize> = BTreeMap::new();
        alike
            .iter()
            .filter_map(|remark| kind(remark))
            .for_each(|kind| *of_kinds.entry(kind).or_default() += 1);
        let mut kinds: Vec<(String, usize)> = of_kinds.into_iter().collect();
        kinds.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        app.output.line(format_args!(
            "skipped: {} of unsupported kinds: {}",
            count(alike.len() as u64, "file"),
            one_line(&kinds.join(", "), 300)
        ))?;
    } else {
        single.extend(alike);
    }
    print_remarks(app, "skipped", single.into_iter())
}

fn print_remarks<'a>(
    app: &App,
    kind: &str,
    mut remarks: impl ExactSizeIterator<Item = &'a Remark>,
) -> anyhow::Result<()> {
    for Remark { source, what, remedy } in remarks.by_ref().take(MOST_PRINTED) {
        let remedy =
            remedy.as_ref().map(|remedy| format!(" ({})", one_line(remedy, 200))).unwrap_or_default();
        app.output.trouble(format_args!("{kind}: {}: {}{remedy}", name(source), one_line(what, 300)))?;
    }
    let more = remarks.len();
    if more > 0 {
        app.output.trouble(format_args!("{kind}: {more} more; --json lists all"))?;
    }
    Ok(())
}
