//! The outcome of each request, and totals.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

/// The outcome of a request.
pub(crate) struct Outcome {
    /// When it was due, from the start.
    pub(crate) due: Duration,
    /// Delay from when it was due until it was sent.
    pub(crate) late: Duration,
    /// Time from when it was due to the last byte of the response.
    pub(crate) latency: Duration,
    pub(crate) response: ResponseOutcome,
}

/// The response of the server.
pub(crate) enum ResponseOutcome {
    Status {
        status: u16,
        /// The value of Retry-After, in seconds.
        retry_after: Option<u64>,
    },
    Nothing(Fault),
}

/// Why there is no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The connection was refused.
    Refused,
    /// The connection closed before the end of the response.
    Broken,
    /// It timed out.
    Slow,
    /// Too many others were in progress.
    NotSent,
}

impl Outcome {
    /// A request that was due while too many others were in progress.
    pub(crate) fn not_sent(due: Duration) -> Self {
        Self {
            due,
            late: Duration::ZERO,
            latency: Duration::ZERO,
            response: ResponseOutcome::Nothing(Fault::NotSent),
        }
    }
}

/// Totals of requests that were due within some time.
#[derive(Default, Serialize)]
struct Sum {
    requests: usize,
    statuses: BTreeMap<u16, usize>,
    errors: BTreeMap<Fault, usize>,
    /// Latency by status.
    latency_ms: BTreeMap<u16, Latency>,
    /// Responses with status 429 without Retry-After.
    without_retry_after: usize,
    /// Delays until requests were sent; large values mean that this program was too slow.
    late_ms: Option<Latency>,
}

/// Latencies in milliseconds; a percentile is the smallest value that at least this share of the values do not exceed.
#[derive(Serialize)]
struct Latency {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

/// The printed report.
#[derive(Serialize)]
pub(crate) struct Report {
    /// Rate of responses with status 200, from the start to the last one.
    per_second: f64,
    /// Totals by the phase in which requests were due.
    phases: Vec<Sum>,
    /// Totals by the second in which requests were due.
    windows: Vec<Sum>,
}

impl Report {
    /// Returns the report of a run whose phases end at these times, from the start.
    pub(crate) fn of(outcomes: &[Outcome], phase_ends: &[Duration]) -> Self {
        let last_phase = phase_ends.len().saturating_sub(1);
        let phase = |outcome: &Outcome| phase_ends.partition_point(|end| *end <= outcome.due).min(last_phase);
        let second = |outcome: &Outcome| usize::try_from(outcome.due.as_secs()).unwrap_or(usize::MAX);
        let well = || {
            outcomes
                .iter()
                .filter(|outcome| matches!(outcome.response, ResponseOutcome::Status { status: 200, .. }))
        };
        let last = well().map(|outcome| outcome.due + outcome.latency).max();
        Self {
            per_second: last.map_or(0.0, |last| well().count() as f64 / last.as_secs_f64()),
            phases: sums(outcomes, phase),
            windows: sums(outcomes, second),
        }
    }
}

/// Returns the totals by number, up to the largest number.
fn sums(outcomes: &[Outcome], number: impl Fn(&Outcome) -> usize) -> Vec<Sum> {
    let mut parts: BTreeMap<usize, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        parts.entry(number(outcome)).or_default().push(outcome);
    }
    let numbers = parts.last_key_value().map_or(0, |(last, _)| last + 1);
    (0..numbers).map(|number| parts.get(&number).map_or_else(Sum::default, |part| Sum::of(part))).collect()
}

impl Sum {
    fn of(outcomes: &[&Outcome]) -> Self {
        let mut sum = Self { requests: outcomes.len(), ..Self::default() };
        let mut latencies: BTreeMap<u16, Vec<Duration>> = BTreeMap::new();
        let mut late = Vec::new();
        for outcome in outcomes {
            match outcome.response {
                ResponseOutcome::Status { status, retry_after } => {
                    *sum.statuses.entry(status).or_default() += 1;
                    latencies.entry(status).or_default().push(outcome.latency);
                    sum.without_retry_after += usize::from(status == 429 && retry_after.is_none());
                }
                ResponseOutcome::Nothing(fault) => *sum.errors.entry(fault).or_default() += 1,
            }
            if !matches!(outcome.response, ResponseOutcome::Nothing(Fault::NotSent)) {
                late.push(outcome.late);
            }
        }
        let latencies = latencies.into_iter();
        sum.latency_ms = latencies.filter_map(|(status, of)| Some((status, Latency::of(of)?))).collect();
        sum.late_ms = Latency::of(late);
        sum
    }
}

impl Latency {
    /// `None` if there are no values.
    fn of(mut values: Vec<Duration>) -> Option<Self> {
        values.sort_unstable();
        let max = *values.last()?;
        let milliseconds = |value: Duration| (value.as_secs_f64() * 1e5).round() / 100.0;
        let at = |share: f64| {
            let rank = (values.len() as f64 * share).ceil() as usize;
            milliseconds(values[rank.clamp(1, values.len()) - 1])
        };
        Some(Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: milliseconds(max) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_latency(milliseconds: &[u64]) -> Option<[f64; 4]> {
        let values = milliseconds.iter().map(|value| Duration::from_millis(*value)).collect();
        Latency::of(values).map(|Latency { p50, p90, p99, max }| [p50, p90, p99, max])
    }

    #[test]
    fn a_percentile_is_a_measured_value() {
        assert_eq!(check_latency(&[]), None);
        assert_eq!(check_latency(&[7]), Some([7.0; 4]));
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(check_latency(&hundred), Some([50.0, 90.0, 99.0, 100.0]));
    }

    #[test]
    fn unsent_requests_are_counted_in_their_phase_and_have_no_latency() {
        let (second, status) =
            (Duration::from_secs(1), |status| ResponseOutcome::Status { status, retry_after: None });
        let answered = |due, response| Outcome { due, late: Duration::ZERO, latency: second, response };
        let outcomes = [
            answered(Duration::ZERO, status(200)),
            answered(second, status(429)),
            Outcome::not_sent(second),
            answered(second * 3, status(200)),
        ];
        let report = Report::of(&outcomes, &[second, second * 4]);
        let requests = |sums: &[Sum]| sums.iter().map(|sum| sum.requests).collect::<Vec<_>>();
        assert_eq!((requests(&report.phases), requests(&report.windows)), (vec![1, 3], vec![1, 2, 0, 1]));
        assert_eq!(report.per_second, 0.5);
        let last = &report.phases[1];
        assert_eq!(last.errors, BTreeMap::from([(Fault::NotSent, 1)]));
        assert_eq!((last.latency_ms.len(), last.without_retry_after), (2, 1));
    }
}
