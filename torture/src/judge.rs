//! Judges whether a command or an answer ended as it may under the faults at the time.

use std::time::{Duration, Instant};

use crate::http::Answer;
use crate::model::WriteEnd;
use crate::report::Kind;
use crate::weather::{Spell, Weather};
use crate::world::{ProcessEnd, Role};

/// Time for a server to recover from a disk fault.
const RECOVERY: Duration = Duration::from_secs(5);
/// Maximum characters of an output in a finding.
const MAX_QUOTED: usize = 1500;

/// Text that must never appear in output for users.
const FORBIDDEN: [&str; 7] = [
    "panicked at",
    "database is locked",
    "no such savepoint",
    "times in a row",
    "another program",
    "internal server error",
    "constraint failed",
];

/// Text by which an error names the disk fault that caused it.
const DISK_REASONS: [&str; 11] = [
    "No space left",
    "disk is full",
    "full",
    "I/O error",
    "Input/output error",
    "Read-only",
    "read-only",
    "readonly",
    "unable to open",
    "reading or writing the disk",
    // If no file can be created, a reader has no lock and discards what it read during a change.
    "changed it meanwhile",
];

/// Why a worker leaves descriptions to the process that changes their inputs.
const OVERTAKEN: &str = "other processes kept changing the graph";

/// SQLite's message for a page that could not be read; it does not distinguish the causes.
const UNREADABLE: &str = "database disk image is malformed";

/// The kind of operation, which determines how it may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Adds documents; some may fail if the model does.
    Add,
    /// Indexes queued documents.
    Work,
    /// Removes a document that may be missing.
    Remove {
        /// Whether it may be missing according to the model.
        may_be_missing: bool,
        /// Whether space is reserved for it on a full disk.
        has_room: bool,
    },
    /// Edits the graph; an invalid edit is rejected.
    Edit,
    /// Cancels a document that may be missing.
    Cancel {
        /// Whether it may be missing according to the model.
        may_be_missing: bool,
    },
    /// Re-extracts documents. Other processes may have removed or claimed one.
    Renew,
    /// Changes the queue.
    Queue,
    /// Reads.
    Read,
    /// Serves until it is stopped.
    Serve,
}

/// A fault and its description.
pub(crate) type Fault = (Kind, String);

/// How a command ended, or the fault.
pub(crate) fn command(operation: Operation, ran: &ProcessEnd, weather: &Weather) -> Result<WriteEnd, Fault> {
    let output = format!("{}\n{}", ran.stdout, ran.stderr);
    if let Some(words) = FORBIDDEN.into_iter().find(|words| output.contains(words)) {
        let kind = if words == "panicked at" { Kind::Crash } else { Kind::Message };
        return Err((kind, format!("says {words:?}: {}", quoted(ran))));
    }
    let disk = was_disk(weather, ran.started, Duration::ZERO);
    match (ran.code, ran.signal) {
        (_, Some(9)) if ran.killed || weather.was(Spell::Disk, ran.started, Duration::ZERO) => {
            Ok(WriteEnd::Unknown)
        }
        (_, Some(signal)) => Err((Kind::Crash, format!("ended by signal {signal}: {}", quoted(ran)))),
        (Some(0), _) => Ok(WriteEnd::Done),
        (Some(4), _) if operation == Operation::Read => Ok(WriteEnd::Done),
        (Some(3), _) if matches!(operation, Operation::Add | Operation::Work) => {
            let model = weather.was(Spell::Model, ran.started, Duration::from_secs(60));
            // Failures are listed separately; accepted documents are reported one by one.
            if model || disk || output.contains(OVERTAKEN) {
                Ok(WriteEnd::Unknown)
            } else {
                Err((Kind::Exit, quoted(ran)))
            }
        }
        // Other processes hold some documents, or some are not in the graph yet.
        (Some(3), _) if matches!(operation, Operation::Renew) => Ok(WriteEnd::Unknown),
        // Accepted documents are reported one by one; the rest continues after the pause.
        (Some(6), _)
            if matches!(operation, Operation::Add | Operation::Work | Operation::Renew)
                && weather.was(Spell::Paused, ran.started, Duration::ZERO) =>
        {
            Ok(WriteEnd::Unknown)
        }
        (Some(1), _) => failed(operation, ran, disk, weather),
        _ => Err((Kind::Exit, quoted(ran))),
    }
}

fn failed(operation: Operation, ran: &ProcessEnd, disk: bool, weather: &Weather) -> Result<WriteEnd, Fault> {
    let says = |part: &str| ran.stderr.contains(part);
    if !says("error: ") && !says("\"error\":") {
        return Err((Kind::Exit, format!("fails without an error: {}", quoted(ran))));
    }
    let refused = match operation {
        Operation::Remove { may_be_missing, .. } | Operation::Cancel { may_be_missing } => {
            may_be_missing && says("no document")
        }
        Operation::Renew => says("none of these documents") || says("no document"),
        Operation::Edit => [
            "no entity",
            "no relation",
            "no decision",
            "already",
            "are the same entity",
            "is an entity",
            "keeps them apart",
            "undone",
        ]
        .into_iter()
        .any(says),
        Operation::Add | Operation::Work | Operation::Read | Operation::Queue | Operation::Serve => false,
    };
    if refused {
        return Ok(WriteEnd::Refused);
    }
    // A full disk must not affect readers, nor removals while there is room for them.
    let works_when_full = matches!(operation, Operation::Read | Operation::Remove { has_room: true, .. });
    let only_full = !weather.was(Spell::Disk, ran.started, Duration::ZERO);
    let names_reason = DISK_REASONS.into_iter().any(says)
        || weather.was(Spell::Reads, ran.started, Duration::ZERO) && says(UNREADABLE);
    let beside_a_change = says("changed it meanwhile");
    if disk && (!(works_when_full && only_full) || beside_a_change) && names_reason {
        return Ok(WriteEnd::Unknown);
    }
    let model = weather.was(Spell::Model, ran.started, Duration::from_secs(60));
    if model && says("model") {
        return Ok(WriteEnd::Unknown);
    }
    Err((Kind::Exit, quoted(ran)))
}

/// How a request ended, or the fault. `alive` is whether its server is still running.
pub(crate) fn answer(
    operation: Operation,
    what: &str,
    answer: &std::io::Result<Answer>,
    from: Instant,
    alive: bool,
    weather: &Weather,
) -> Result<WriteEnd, Fault> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if alive => {
            // A killed process is reaped a moment after its connections close.
            let killed = weather.was(Spell::Kill, from, Duration::from_secs(1))
                || weather.was(Spell::Disk, from, Duration::from_secs(1));
            return if killed {
                Ok(WriteEnd::Unknown)
            } else {
                Err((Kind::Answer, format!("{what}: no answer though the server runs: {error}")))
            };
        }
        Err(_) => return Ok(WriteEnd::Unknown),
    };
    let disk = was_disk(weather, from, RECOVERY);
    let body: String = answer.body.chars().take(MAX_QUOTED).collect();
    let fault = || (Kind::Answer, format!("{what}: {} {body}", answer.status));
    if answer.status != 200
        && let Some(words) = FORBIDDEN.into_iter().find(|words| body.contains(words))
    {
        return Err((Kind::Message, format!("{what}: {} says {words:?}: {body}", answer.status)));
    }
    match answer.status {
        200 => Ok(WriteEnd::Done),
        429 => Ok(WriteEnd::Refused),
        400 | 404 | 409 | 422 if operation == Operation::Edit => Ok(WriteEnd::Refused),
        // The documents contain no answer, or the model fails.
        500..=599 if disk && DISK_REASONS.into_iter().any(|reason| body.contains(reason)) => {
            Ok(WriteEnd::Unknown)
        }
        500..=599 if weather.was(Spell::Reads, from, RECOVERY) && body.contains(UNREADABLE) => {
            Ok(WriteEnd::Unknown)
        }
        502 | 503 if weather.was(Spell::Model, from, Duration::from_secs(60)) => Ok(WriteEnd::Unknown),
        _ => Err(fault()),
    }
}

fn was_disk(weather: &Weather, from: Instant, after: Duration) -> bool {
    weather.was(Spell::Disk, from, after) || weather.was(Spell::Full, from, after)
}

/// A command with the end of its outputs.
pub(crate) fn quoted(ran: &ProcessEnd) -> String {
    let end = |text: &str| {
        let skip = text.chars().count().saturating_sub(MAX_QUOTED);
        text.chars().skip(skip).collect::<String>()
    };
    let role = if ran.role == Role::Command { "" } else { " (in the background)" };
    format!(
        "{}{role}: exit code {:?} after {} ms\n{}{}",
        ran.what,
        ran.code,
        ran.took.as_millis(),
        end(&ran.stderr),
        if ran.stderr.is_empty() { end(&ran.stdout) } else { String::new() }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_command(
        operation: Operation,
        code: i32,
        stderr: &str,
        spells: &[Spell],
    ) -> Result<WriteEnd, Kind> {
        let weather = Weather::default();
        let started = Instant::now();
        for spell in spells {
            weather.begin(*spell);
        }
        let ran = ProcessEnd {
            what: "graphloom".to_owned(),
            role: Role::Command,
            step: 1,
            started,
            took: Duration::ZERO,
            code: Some(code),
            signal: None,
            killed: false,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        };
        command(operation, &ran, &weather).map_err(|(kind, _)| kind)
    }

    #[test]
    fn a_disk_fault_excuses_a_write_that_reports_it() {
        let full = "error: committing: database or disk is full";
        assert_eq!(check_command(Operation::Add, 1, full, &[Spell::Full]), Ok(WriteEnd::Unknown));
        assert_eq!(check_command(Operation::Add, 1, full, &[]), Err(Kind::Exit));
        assert_eq!(check_command(Operation::Read, 1, full, &[Spell::Full]), Err(Kind::Exit));
        assert_eq!(check_command(Operation::Add, 1, "error: nothing said", &[Spell::Full]), Err(Kind::Exit));
    }

    #[test]
    fn a_removal_can_fail_on_a_full_disk_only_without_reserved_space() {
        let full = "error: committing: database or disk is full";
        let remove = |has_room| Operation::Remove { may_be_missing: false, has_room };
        assert_eq!(check_command(remove(false), 1, full, &[Spell::Full]), Ok(WriteEnd::Unknown));
        assert_eq!(check_command(remove(true), 1, full, &[Spell::Full]), Err(Kind::Exit));
    }

    #[test]
    fn a_store_can_be_reported_as_damaged_only_while_reads_fail() {
        let damaged = "error: opening workspace default: database disk image is malformed";
        let weather = [Spell::Reads, Spell::Disk];
        assert_eq!(check_command(Operation::Read, 1, damaged, &weather), Ok(WriteEnd::Unknown));
        assert_eq!(check_command(Operation::Read, 1, damaged, &[Spell::Disk]), Err(Kind::Exit));
    }

    #[test]
    fn work_can_end_as_paused_only_during_a_pause() {
        assert_eq!(check_command(Operation::Work, 6, "", &[Spell::Paused]), Ok(WriteEnd::Unknown));
        assert_eq!(check_command(Operation::Work, 6, "", &[]), Err(Kind::Exit));
        assert_eq!(check_command(Operation::Read, 6, "", &[Spell::Paused]), Err(Kind::Exit));
    }

    #[test]
    fn some_messages_are_never_excused() {
        let locked = "error: committing: database is locked";
        assert_eq!(check_command(Operation::Add, 1, locked, &[Spell::Disk]), Err(Kind::Message));
        let panic = "thread 'main' panicked at src/main.rs";
        assert_eq!(check_command(Operation::Add, 0, panic, &[]), Err(Kind::Crash));
    }

    #[test]
    fn a_removal_can_find_nothing_only_if_the_document_may_be_missing() {
        let missing = "error: no document \"s1.md\"";
        let remove = |may_be_missing| Operation::Remove { may_be_missing, has_room: false };
        assert_eq!(check_command(remove(true), 1, missing, &[]), Ok(WriteEnd::Refused));
        assert_eq!(check_command(remove(false), 1, missing, &[]), Err(Kind::Exit));
    }
}
