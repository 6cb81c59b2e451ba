//! Dates in a sentence and their relation: since, until, from and to, or at.

use graphloom_core::{IsoDate, Period};

use super::words::Word;

/// A date or period in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) period: Period,
    pub(super) relation: TimeRelation,
}

/// The relation that the words before a date express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeRelation {
    /// `in 2014`: the date is in `period.start`.
    At,
    /// `since 2014`
    Since,
    /// `until 2014`
    Until,
    /// `from 2006 to 2014`
    Between,
}

impl Time {
    /// Returns the start of the period, or its end if it has no start.
    pub(super) fn date(&self) -> Option<&IsoDate> {
        self.period.start.as_ref().or(self.period.end.as_ref())
    }
}

const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "jänner"],
    &["february", "feb", "februar"],
    &["march", "mar", "märz"],
    &["april", "apr"],
    &["may", "mai"],
    &["june", "jun", "juni"],
    &["july", "jul", "juli"],
    &["august", "aug"],
    &["september", "sep", "sept"],
    &["october", "oct", "oktober", "okt"],
    &["november", "nov"],
    &["december", "dec", "dezember", "dez"],
];

/// Words that may stand between a preposition and a date.
const QUALIFIERS: [&str; 33] = [
    "early",
    "late",
    "mid",
    "the",
    "end",
    "beginning",
    "start",
    "middle",
    "of",
    "spring",
    "summer",
    "autumn",
    "fall",
    "winter",
    "fiscal",
    "year",
    "month",
    "about",
    "around",
    "circa",
    "anfang",
    "ende",
    "mitte",
    "frühjahr",
    "sommer",
    "herbst",
    "dem",
    "jahr",
    "jahre",
    "des",
    "jahres",
    "approximately",
    "zum",
];

/// Events that end a term, as in `until his death in 1990`.
const ENDINGS: [&str; 12] = [
    "retirement",
    "death",
    "resignation",
    "departure",
    "dismissal",
    "removal",
    "ouster",
    "exit",
    "tod",
    "rücktritt",
    "ausscheiden",
    "ruhestand",
];

/// Returns the date or period at `at`, with its preposition, and the word after it.
pub(super) fn time_at(words: &[Word<'_>], at: usize) -> Option<(Time, usize)> {
    let (preposition, first) = preposition(words, at)?;
    let (start, after) = date_at(words, first)?;
    if preposition != Preposition::Until
        && let Some((end, next)) = rest_of_range(words, after, preposition)
    {
        return Some((
            Time { period: Period { start: Some(start), end }, relation: TimeRelation::Between },
            next,
        ));
    }
    let (relation, period) = match preposition {
        Preposition::Since | Preposition::From => {
            (TimeRelation::Since, Period { start: Some(start), end: None })
        }
        Preposition::Until => (TimeRelation::Until, Period { start: None, end: Some(start) }),
        Preposition::At | Preposition::Nothing | Preposition::Between => {
            (TimeRelation::At, Period { start: Some(start), end: None })
        }
    };
    Some((Time { period, relation }, after))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preposition {
    At,
    Since,
    From,
    Until,
    Between,
    Nothing,
}

/// Returns the kind of preposition at `at` and the position of the date after it.
fn preposition(words: &[Word<'_>], at: usize) -> Option<(Preposition, usize)> {
    let lower = |i: usize| words.get(i).map_or("", |word| word.lower.as_str());
    let (preposition, mut next) = match lower(at) {
        "in" | "on" | "during" | "by" | "im" | "am" | "at" | "effective" | "dated" => {
            let next = at
                + 1
                + usize::from(lower(at) == "effective" && matches!(lower(at + 1), "from" | "on" | "as"));
            (Preposition::At, next + usize::from(lower(next) == "of" && lower(at) == "effective"))
        }
        "since" | "seit" | "ab" | "starting" | "beginning" => (
            Preposition::Since,
            at + 1 + usize::from(matches!(lower(at + 1), "in" | "on" | "from" | "dem" | "with")),
        ),
        "as" if matches!(lower(at + 1), "of" | "from") => (Preposition::Since, at + 2),
        "from" | "von" | "vom" => (Preposition::From, at + 1),
        "until" | "till" | "through" | "bis" => return until(words, at),
        "up" if lower(at + 1) == "to" || lower(at + 1) == "until" => (Preposition::Until, at + 2),
        "between" | "zwischen" => (Preposition::Between, at + 1),
        _ => return date_at(words, at).map(|_| (Preposition::Nothing, at)),
    };
    while QUALIFIERS.contains(&lower(next)) {
        next += 1;
    }
    date_at(words, next).map(|_| (preposition, next))
}

/// Reads `until 1990` and `until his death in 1990`.
fn until(words: &[Word<'_>], at: usize) -> Option<(Preposition, usize)> {
    const MAX_WORDS: usize = 6;
    let mut event = false;
    for next in at + 1..words.len().min(at + 1 + MAX_WORDS) {
        let word = words[next].lower.as_str();
        if date_at(words, next).is_some() {
            return Some((Preposition::Until, next));
        }
        event |= ENDINGS.contains(&word);
        let small = QUALIFIERS.contains(&word)
            || matches!(word, "his" | "her" | "their" | "seinem" | "ihrem" | "seiner" | "ihrer" | "zu");
        let preposition = event && matches!(word, "in" | "on" | "im" | "am");
        if !(small || event && ENDINGS.contains(&word) || preposition || matches!(word, "in" | "im" | "am")) {
            return None;
        }
    }
    None
}

/// Returns the end of a period whose first date ends before `at`, and the word after it; an open end is `None`.
fn rest_of_range(
    words: &[Word<'_>],
    at: usize,
    preposition: Preposition,
) -> Option<(Option<IsoDate>, usize)> {
    let joins = match words.get(at)?.lower.as_str() {
        "–" | "—" | "-" | "/" | "to" | "bis" | "through" => true,
        "until" | "till" => preposition != Preposition::Nothing,
        "and" | "und" => preposition == Preposition::Between,
        _ => false,
    };
    if !joins {
        return None;
    }
    let mut next = at + 1;
    while words.get(next).is_some_and(|word| QUALIFIERS.contains(&word.lower.as_str()) || word.lower == "in")
    {
        next += 1;
    }
    if let Some((end, after)) = date_at(words, next) {
        return Some((Some(end), after));
    }
    if let Some((_, after)) =
        until(words, at).filter(|_| matches!(words[at].lower.as_str(), "until" | "till" | "bis"))
    {
        return date_at(words, after).map(|(end, after)| (Some(end), after));
    }
    let word = words.get(next).map_or("", |word| word.lower.as_str());
    let present = matches!(word, "present" | "today" | "now" | "date" | "heute");
    let open = matches!(words[at].lower.as_str(), "–" | "—" | "-") && matches!(word, ")" | "" | ",");
    (present || open).then_some((None, next + usize::from(present)))
}

/// Returns the date at `at` and the word after it.
fn date_at(words: &[Word<'_>], at: usize) -> Option<(IsoDate, usize)> {
    let lower = |i: usize| words.get(i).map_or("", |word| word.lower.as_str());
    let comma = |i: usize| i + usize::from(lower(i) == ",");
    let parse = |text: String| text.parse::<IsoDate>().ok();
    let word = lower(at);
    if let Some(year) = year(word) {
        return Some((parse(year.to_owned())?, at + 1));
    }
    // `2014-02` and `2014-02-03`
    if word.len() >= 7 && word.is_ascii() && year(&word[..4]).is_some() && word.as_bytes()[4] == b'-' {
        return Some((parse(word.to_owned())?, at + 1));
    }
    if let Some(month) = month(words, at) {
        if let Some(day) = day(lower(at + 1))
            && let Some(year) = year(lower(comma(at + 2)))
        {
            return Some((parse(format!("{year}-{month:02}-{day:02}"))?, comma(at + 2) + 1));
        }
        let next = comma(at + 1) + usize::from(lower(comma(at + 1)) == "of");
        return Some((parse(format!("{}-{month:02}", year(lower(next))?))?, next + 1));
    }
    let day = day(word)?;
    let next = at + 1 + usize::from(lower(at + 1) == "of");
    let month = month(words, next)?;
    let next = comma(next + 1);
    Some((parse(format!("{}-{month:02}-{day:02}", year(lower(next))?))?, next + 1))
}

fn year(word: &str) -> Option<&str> {
    let word = word.strip_prefix("mid-").unwrap_or(word);
    let digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some(word).filter(|word| ("1000".."2100").contains(word))
}

fn month(words: &[Word<'_>], at: usize) -> Option<usize> {
    let word = words.get(at)?;
    let name = word.lower.trim_end_matches('.');
    let capital = word.text.starts_with(char::is_uppercase);
    MONTHS.iter().position(|names| capital && names.contains(&name)).map(|month| month + 1)
}

fn day(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h', '.']);
    let number = digits.parse().ok().filter(|day| (1..=31).contains(day))?;
    (digits.len() <= 2 && word.len() - digits.len() <= 2).then_some(number)
}
