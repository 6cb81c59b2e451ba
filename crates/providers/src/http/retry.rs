//! Parses how long a provider asks to wait.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The longest wait that is believed. A longer one is usually a mistake, and would block the service for all processes.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// Returns the wait in a response, at most [`LONGEST_WAIT`]: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date.
///
/// A date is relative to the response's own `Date` header, so clocks need not be right. Without that header
/// the date is ignored, and the caller's own wait applies.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    named_wait(headers).map(|wait| wait.min(LONGEST_WAIT))
}

fn named_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |value: &reqwest::header::HeaderValue| value.to_str().ok().map(|text| text.trim().to_owned());
    if let Some(millis) =
        headers.get("retry-after-ms").and_then(text).and_then(|text| text.parse::<f64>().ok())
    {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let value = headers.get(RETRY_AFTER).and_then(text)?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = http_date(&value)?;
    let now = http_date(&headers.get(DATE).and_then(text)?)?;
    Some(Duration::from_secs(then.saturating_sub(now)))
}

/// Returns the seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only format that servers may send.
fn http_date(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.split(' ');
    let day: u64 = parts.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = parts.next()?;
    let year: u64 = parts.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let clock = parts.next()?;
    if parts.next()? != "GMT" || parts.next().is_some() {
        return None;
    }
    let mut fields = clock.split(':').map(|field| field.parse::<u64>().ok());
    let (hour, minute, second) = (fields.next()??, fields.next()??, fields.next()??);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let month = MONTHS.iter().position(|name| *name == month)?;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_days_before = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let leap_days = leap_days_before(year) - leap_days_before(1970) + u64::from(month > 1 && is_leap(year));
    let days = (year - 1970) * 365 + leap_days + DAYS_BEFORE[month] + day - 1;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_wait(headers: &[(&'static str, &str)]) -> Option<u64> {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        retry_after(&headers).map(|wait| u64::try_from(wait.as_millis()).unwrap())
    }

    #[test]
    fn retry_times_in_seconds_and_milliseconds_are_read() {
        assert_eq!(check_wait(&[("retry-after", "7")]), Some(7_000));
        assert_eq!(check_wait(&[("retry-after", "0.5")]), Some(500));
        assert_eq!(check_wait(&[("retry-after-ms", "20"), ("retry-after", "7")]), Some(20));
        assert_eq!(check_wait(&[]), None);
    }

    #[test]
    fn no_retry_time_is_longer_than_an_hour() {
        assert_eq!(check_wait(&[("retry-after", "1796011231")]), Some(3_600_000));
        assert_eq!(check_wait(&[("retry-after-ms", "1796011231000")]), Some(3_600_000));
    }

    #[test]
    fn retry_dates_are_relative_to_the_servers_own_clock() {
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(check_wait(&[later, ("date", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(30_000));
        assert_eq!(check_wait(&[later, ("date", "Mon, 07 Nov 1994 08:49:37 GMT")]), Some(0));
        assert_eq!(check_wait(&[later]), None);
    }

    #[test]
    fn invalid_retry_times_are_ignored() {
        for value in ["-1", "NaN", "1e300", "soon", "Sun, 40 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994"] {
            assert_eq!(
                check_wait(&[("retry-after", value), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")]),
                None
            );
        }
    }

    #[test]
    fn dates_count_leap_days() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200));
    }
}
