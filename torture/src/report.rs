//! What a run counted and found, and how it is printed.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// A fault of the program.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// Which kind.
    pub(crate) kind: Kind,
    /// The step that showed it, where one did.
    pub(crate) step: Option<u32>,
    /// What was seen.
    pub(crate) what: String,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Something that was acknowledged is not there.
    Lost,
    /// Something is there that was removed or replaced.
    Ghost,
    /// `graphloom check` finds something.
    Check,
    /// The state is not that of a plain build.
    Hash,
    /// Processes stand still although work waits.
    Standstill,
    /// A command ended in a way that is not expected.
    Exit,
    /// A message that no user should see.
    Message,
    /// The server answered in a way that is not expected.
    Answer,
    /// A process crashed.
    Crash,
    /// A write took too long.
    Slow,
    /// A model was asked while the queue was paused.
    Paused,
    /// More calls were paid for twice than kills and lost writes explain.
    PaidTwice,
    /// The suite itself failed.
    Suite,
}

/// What was counted.
#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct Tally {
    /// Histories that ended.
    pub(crate) histories: u64,
    /// Commands and requests.
    pub(crate) operations: u64,
    /// Processes that were killed.
    pub(crate) kills: u64,
    /// Processes that were stopped and went on.
    pub(crate) stops: u64,
    /// Other faults, by kind.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Writes that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Requests that the server refused because it was busy.
    pub(crate) busy: u64,
    /// Acknowledged versions that are not there.
    pub(crate) lost: u64,
    /// Removed or replaced things that are there.
    pub(crate) ghosts: u64,
    /// Model calls that were paid for again.
    pub(crate) paid_twice: u64,
    /// Kills and failed writes, each of which may lose the calls in flight.
    pub(crate) calls_lost: u64,
    /// How long writes took that nothing held up on purpose, in milliseconds.
    #[serde(skip)]
    pub(crate) write_ms: Vec<u64>,
    /// The slowest of them.
    pub(crate) slowest_write_ms: u64,
    /// The 99th of 100 of them.
    pub(crate) p99_write_ms: u64,
}

/// The 99th of 100 of `ascending`; 0 where there are none.
pub(crate) fn p99(ascending: &[u64]) -> u64 {
    ascending.get(ascending.len() * 99 / 100).copied().unwrap_or(0)
}

impl Tally {
    /// Adds what another history counted.
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
            // Writing to a string does not fail.
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
