//! The counts and findings of a run, and how they are printed.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// A fault of the program.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// Kind of fault.
    pub(crate) kind: Kind,
    /// The step that revealed it, if known.
    pub(crate) step: Option<u32>,
    /// What was observed.
    pub(crate) what: String,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Something acknowledged is missing.
    Lost,
    /// Something removed or replaced is present.
    Ghost,
    /// `graphloom check` has findings.
    Check,
    /// The state differs from that of a plain build.
    Hash,
    /// Processes hang although work is queued.
    Standstill,
    /// A command ended unexpectedly.
    Exit,
    /// A message that users must never see.
    Message,
    /// An unexpected answer of the server.
    Answer,
    /// A process crashed.
    Crash,
    /// A write took too long.
    Slow,
    /// A model was called while the queue was paused.
    Paused,
    /// More calls were paid for twice than kills and lost writes explain.
    PaidTwice,
    /// The suite itself failed.
    Suite,
}

/// The counters of a run.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Tally {
    /// Finished histories.
    pub(crate) histories: u64,
    /// Commands and requests.
    pub(crate) operations: u64,
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Processes that were stopped and resumed.
    pub(crate) stops: u64,
    /// Other faults, by kind.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Writes that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Requests that the server rejected as busy.
    pub(crate) busy: u64,
    /// Missing acknowledged versions.
    pub(crate) lost: u64,
    /// Removed or replaced versions that are present.
    pub(crate) ghosts: u64,
    /// Model calls that were paid for again.
    pub(crate) paid_twice: u64,
    /// Kills and failed writes, each of which may lose calls in flight.
    pub(crate) calls_lost: u64,
    /// Durations in milliseconds of writes that no fault delayed.
    #[serde(skip)]
    pub(crate) write_ms: Vec<u64>,
    /// The slowest of them.
    pub(crate) slowest_write_ms: u64,
    /// The 99th percentile of them.
    pub(crate) p99_write_ms: u64,
}

/// The 99th percentile of `ascending`; 0 if empty.
pub(crate) fn p99(ascending: &[u64]) -> u64 {
    ascending.get(ascending.len() * 99 / 100).copied().unwrap_or(0)
}

impl Tally {
    /// Adds the counters of another history.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { histories, operations, kills, stops, faults, acknowledged, busy, lost, ghosts, .. } =
            other;
        self.histories += histories;
        self.operations += operations;
        self.kills += kills;
        self.stops += stops;
        for (name, count) in faults {
            *self.faults.entry(name.clone()).or_default() += count;
        }
        self.acknowledged += acknowledged;
        self.busy += busy;
        self.lost += lost;
        self.ghosts += ghosts;
        self.paid_twice += other.paid_twice;
        self.calls_lost += other.calls_lost;
        self.write_ms.extend(&other.write_ms);
        self.write_ms.sort_unstable();
        self.slowest_write_ms = self.write_ms.last().copied().unwrap_or(0);
        self.p99_write_ms = p99(&self.write_ms);
    }

    /// The table at the end of a run.
    pub(crate) fn table(&self) -> String {
        let mut rows: Vec<(String, String)> = vec![
            ("histories".to_owned(), self.histories.to_string()),
            ("operations".to_owned(), self.operations.to_string()),
            ("kills".to_owned(), self.kills.to_string()),
            ("stops".to_owned(), self.stops.to_string()),
        ];
        rows.extend(self.faults.iter().map(|(name, count)| (name.clone(), count.to_string())));
        rows.extend([
            ("acknowledged writes".to_owned(), self.acknowledged.to_string()),
            ("refused as busy".to_owned(), self.busy.to_string()),
            ("lost".to_owned(), self.lost.to_string()),
            ("ghosts".to_owned(), self.ghosts.to_string()),
            (
                "paid twice".to_owned(),
                format!("{} (kills and failed writes: {})", self.paid_twice, self.calls_lost),
            ),
            (
                "slowest write".to_owned(),
                format!(
                    "{} ms (p99 {} ms, {} writes)",
                    self.slowest_write_ms,
                    self.p99_write_ms,
                    self.write_ms.len()
                ),
            ),
        ]);
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        rows.iter().fold(String::new(), |mut table, (name, value)| {
            // Writing to a string cannot fail.
            let _ = writeln!(table, "{name:width$}  {value}");
            table
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_all_histories_are_ranked_together() {
        let mut all = Tally::default();
        all.add(&Tally { write_ms: vec![5, 900], lost: 1, ..Tally::default() });
        all.add(&Tally { write_ms: vec![7], kills: 2, ..Tally::default() });
        assert_eq!((all.slowest_write_ms, all.lost, all.kills), (900, 1, 2));
        assert!(all.table().contains("slowest write        900 ms"));
    }
}
