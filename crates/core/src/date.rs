//! Dates in filters and metadata.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::{Date, Duration, Month, PrimitiveDateTime, Time, UtcOffset};

/// A year, month, day or time in ISO 8601, such as `2024`, `2024-05`, `2024-05-31` or
/// `2024-05-31T12:30:00+02:00`. It stands for a period of time. Without an offset it is in UTC.
///
/// Two dates are equal if their texts are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IsoDate {
    text: String,
    start_ms: i64,
    end_ms: i64,
}

/// The error for a text that is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a date: expected 2024, 2024-05, 2024-05-31 or 2024-05-31T12:30:00Z")]
pub struct InvalidDate(pub String);

impl IsoDate {
    /// Returns the first millisecond, relative to 1970 in UTC; negative for earlier dates.
    pub fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// Returns the first millisecond after the end.
    pub fn end_ms(&self) -> i64 {
        self.end_ms
    }
}

impl FromStr for IsoDate {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, InvalidDate> {
        let (start, end) = period(text.trim()).ok_or_else(|| InvalidDate(text.to_owned()))?;
        let ms = |at: PrimitiveDateTime| (at.assume_utc().unix_timestamp_nanos() / 1_000_000) as i64;
        Ok(Self { text: text.trim().to_owned(), start_ms: ms(start), end_ms: ms(end) })
    }
}

impl TryFrom<String> for IsoDate {
    type Error = InvalidDate;

    fn try_from(text: String) -> Result<Self, InvalidDate> {
        text.parse()
    }
}

impl From<IsoDate> for String {
    fn from(date: IsoDate) -> Self {
        date.text
    }
}

impl fmt::Display for IsoDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the start and the exclusive end of the period that `text` denotes.
fn period(text: &str) -> Option<(PrimitiveDateTime, PrimitiveDateTime)> {
    let (day, clock) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let mut parts = day.split('-');
    let year = number(parts.next()?, 4)? as i32;
    let month = parts.next().map(|month| number(month, 2)).map_or(Some(None), |month| month.map(Some))?;
    let date = parts.next().map(|date| number(date, 2)).map_or(Some(None), |date| date.map(Some))?;
    if parts.next().is_some() {
        return None;
    }
    let first = |year, month: u32, day: u32| {
        let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
        Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()
    };
    let midnight = |date: Date| date.with_time(Time::MIDNIGHT);
    let (start, end) = match (month, date) {
        (None, _) => (first(year, 1, 1)?, first(year + 1, 1, 1)?),
        (Some(12), None) => (first(year, 12, 1)?, first(year + 1, 1, 1)?),
        (Some(month), None) => (first(year, month, 1)?, first(year, month + 1, 1)?),
        (Some(month), Some(day)) => {
            let day = first(year, month, day)?;
            (day, day.next_day()?)
        }
    };
    let Some(clock) = clock else { return Some((midnight(start), midnight(end))) };
    date?;
    let (start, length) = moment(start, clock)?;
    Some((start, start.checked_add(length)?))
}

/// Parses `12:30`, `12:30:05` or `12:30:05.250` of a day, with or without an offset. Returns time and precision.
fn moment(day: Date, clock: &str) -> Option<(PrimitiveDateTime, Duration)> {
    let at = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
    let (clock, offset) = clock.split_at(at);
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 2)?;
    let minute = number(parts.next()?, 2)?;
    let (second, millis, length) = match parts.next() {
        None => (0, 0, Duration::MINUTE),
        Some(second) => match second.split_once('.') {
            None => (number(second, 2)?, 0, Duration::SECOND),
            Some((second, fraction)) => {
                let digits = fraction.get(..fraction.len().min(3))?;
                let millis = number(digits, digits.len())? * 10u32.pow(3 - digits.len() as u32);
                let rest_is_digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
                (number(second, 2)?, rest_is_digits.then_some(millis)?, Duration::MILLISECOND)
            }
        },
    };
    if parts.next().is_some() {
        return None;
    }
    let byte = |value: u32| u8::try_from(value).ok();
    let time = Time::from_hms_milli(byte(hour)?, byte(minute)?, byte(second)?, millis as u16).ok()?;
    let offset = offset_of(offset)?;
    let start = day.with_time(time).checked_sub(Duration::seconds(offset.whole_seconds().into()))?;
    Some((start, length))
}

/// Parses an offset: empty or `Z` for UTC, `+02:00`, `+0200` or `+02`.
fn offset_of(text: &str) -> Option<UtcOffset> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") {
        return Some(UtcOffset::UTC);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let hours = number(digits.get(..2)?, 2)? as i8;
    let minutes = if digits.len() == 2 { 0 } else { number(&digits[2..], 2)? as i8 };
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

/// Parses a number with exactly this many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let plain = digits > 0 && text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000;

    fn check_period(text: &str) -> Option<(i64, i64)> {
        text.parse::<IsoDate>().ok().map(|date| (date.start_ms(), date.end_ms()))
    }

    #[test]
    fn a_date_covers_the_period_it_names() {
        assert_eq!(check_period("1970"), Some((0, 365 * DAY)));
        assert_eq!(check_period("1970-02"), Some((31 * DAY, 59 * DAY)));
        assert_eq!(check_period("1970-12"), Some((334 * DAY, 365 * DAY)));
        assert_eq!(check_period("1969-12-31"), Some((-DAY, 0)));
        assert_eq!(check_period("1970-01-01T01:00"), Some((3_600_000, 3_660_000)));
        assert_eq!(check_period("1970-01-01 01:00:00+01:00"), Some((0, 1000)));
        assert_eq!(check_period("1970-01-01T00:00:01.25Z"), Some((1250, 1251)));
        assert_eq!(check_period("2024-02-29").map(|(start, end)| end - start), Some(DAY));
    }

    #[test]
    fn invalid_dates_are_refused() {
        for text in [
            "",
            "20",
            "yesterday",
            "2024-13",
            "2024-02-30",
            "2024-1-1",
            "2024-05-",
            "2024-05T10:00",
            "2024-05-01T25:00",
            "2024-05-01T10:00:00.",
            "2024-05-01T10:00:00+",
            "2024-05-01-01",
            "2024-05-01T10:00:00.1é",
        ] {
            assert_eq!(check_period(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_refused_and_a_date_survives_printing(text in "[0-9TZ:+. é-]{0,24}") {
            if let Ok(date) = text.parse::<IsoDate>() {
                prop_assert!(date.start_ms() < date.end_ms());
                prop_assert_eq!(String::from(date), text.trim());
            }
        }
    }
}
