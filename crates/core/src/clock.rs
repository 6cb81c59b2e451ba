//! Time as a dependency.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the day in UTC, such as `2026-11-21`.
    pub fn to_date(self) -> String {
        let (year, month, day) = crate::id::civil_date(self.0 / 86_400_000);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Returns the time in UTC as ISO 8601 with seconds, such as `2026-11-21T20:43:37+00:00`.
    pub fn to_iso(self) -> String {
        let second = self.0 / 1000;
        let (year, month, day) = crate::id::civil_date(second / 86_400);
        let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        for (ms, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_164_799_999, "2024-02-28"),
            (1_709_164_800_000, "2024-02-29"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(Timestamp(ms).to_date(), expected);
        }
    }

    #[test]
    fn a_time_is_written_in_utc() {
        assert_eq!(Timestamp(0).to_iso(), "1970-01-01T00:00:00+00:00");
        assert_eq!(Timestamp(1_795_293_817_999).to_iso(), "2026-11-21T20:43:37+00:00");
    }
}
