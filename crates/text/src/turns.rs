//! Recognizes the labels of messages in chat logs and transcripts: who speaks, and when.

/// Maximum length of a label, in characters.
const MAX_LABEL_CHARS: usize = 100;
/// Maximum length of the name of a speaker, in characters.
const MAX_NAME_CHARS: usize = 32;
const MAX_NAME_WORDS: usize = 4;
/// Maximum number of words of a name without a time, which may as well label a value.
const MAX_BARE_NAME_WORDS: usize = 3;

/// The beginning of a line that gives the speaker of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct TurnLabel<'a> {
    /// The whole label with the space after it: `[17:02] Ada: `.
    pub text: &'a str,
    /// The name of the speaker.
    pub name: &'a str,
}

/// Returns the label of a message in a chat log or transcript; `None` if `line` has none.
///
/// - A time or date, in brackets or not, precedes the name, as in `[17:02] Ada: `, `12.03.24, 18:22 - Ada: ` and `17:02 <ada> `,
///   or follows it, as in `Ada [17:02]: `. The colon may be missing if `Ada 17:02` is the whole line.
/// - `<ada> ` and `Ada Byron: ` are labels, too. The second may also be the name of a value, so it takes a stricter form.
/// - Only the first line of `line` counts.
pub fn turn_label(line: &str) -> Option<TurnLabel<'_>> {
    let label = line.char_indices().take(MAX_LABEL_CHARS).take_while(|(_, c)| !matches!(c, '\n' | '\r'));
    let end = label.last().map_or(0, |(at, c)| at + c.len_utf8());
    let (first, below) = line.split_at(end);
    let (stamp, bare) = first.split_at(stamp_len(first));
    if let Some(behind) = bare.strip_prefix('<') {
        let (name, _) = behind.split_once("> ")?;
        let is_part = |c: char| !c.is_whitespace() && !matches!(c, '<' | '>' | '/' | '=');
        let is_nick = (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && name.chars().all(is_part);
        return is_nick.then(|| TurnLabel { text: &line[..stamp.len() + name.len() + "<> ".len()], name });
    }
    let name = name(bare);
    let behind = &bare[name.len()..];
    let colon = behind.char_indices().find(|&(at, c)| {
        c == '：' || (c == ':' && !behind[at + 1..].starts_with(|c: char| c.is_ascii_digit()))
    });
    let (tail, rest) = behind.split_at(colon.map_or(behind.len(), |(at, c)| at + c.len_utf8()));
    let gives_time = |text| moments(text).any(|moment| moment == Moment::Time);
    let is_whole_line = || (below.is_empty() || below.starts_with(['\n', '\r'])) && gives_time(tail);
    let is_stamped = gives_moment(stamp) || gives_moment(tail);
    let is_label = stamp_len(tail) == tail.len()
        && is_name(name, is_stamped && colon.is_some())
        && (colon.is_some() || is_whole_line());
    let end = end - rest.trim_start_matches(['*', ' ', '\t']).len();
    is_label.then(|| TurnLabel { text: &line[..end], name })
}

/// True if `line` can only be the first line of a message or of an entry in a log: it gives a time or date and a speaker, or
/// begins with a time in brackets or beside a date.
pub(super) fn begins_turn(line: &str) -> bool {
    let stamp = &line[..stamp_len(line)];
    let has = |wanted: Moment| moments(stamp).any(|moment| moment == wanted);
    (has(Moment::Time) && (has(Moment::Date) || stamp.starts_with('[')))
        || turn_label(line).is_some_and(|label| label.text.contains('<') || gives_moment(label.text))
}

/// True if `line` consists of a speaker and a time or date, so that the message is below.
pub(super) fn is_label(line: &str) -> bool {
    turn_label(line).is_some_and(|label| label.text.len() == line.len() && gives_moment(label.text))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Date,
    Time,
}

fn gives_moment(text: &str) -> bool {
    moments(text).next().is_some()
}

/// Returns the dates and times in numbers that `text` contains.
fn moments(text: &str) -> impl Iterator<Item = Moment> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ':' | '-' | '.' | '/' | '年' | '月' | '日');
    text.split(move |c| !is_part(c)).filter_map(|part| {
        let part = part.trim_matches([':', '-', '.', '/']);
        let is_digits = |piece: &&str| piece.bytes().all(|byte| byte.is_ascii_digit());
        let clock: Vec<&str> = part.split('.').next().unwrap_or_default().split(':').collect();
        let is_time = (2..=3).contains(&clock.len())
            && clock.iter().all(is_digits)
            && matches!(clock[0].len(), 1 | 2)
            && clock[1..].iter().all(|piece| piece.len() == 2);
        let date = part.trim_end_matches('日').split(['-', '.', '/', '年', '月']);
        let is_date = match date.collect::<Vec<_>>().as_slice() {
            [year, month, day] => {
                let lengths = [year, month, day].map(|piece| piece.len());
                [year, month, day].into_iter().all(is_digits)
                    && matches!(lengths, [4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 2 | 4])
            }
            _ => false,
        };
        if is_time { Some(Moment::Time) } else { is_date.then_some(Moment::Date) }
    })
}

/// Returns the length of the marks, dates and times at the beginning of `text`.
fn stamp_len(text: &str) -> usize {
    const WORDS: [&str; 10] = ["T", "Z", "AM", "PM", "am", "pm", "Uhr", "年", "月", "日"];
    let is_mark =
        |c: char| c.is_ascii_digit() || c.is_whitespace() || "[](){}:：-–—/.,*+\u{200e}\u{200f}".contains(c);
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_mark);
        let before = &text[..text.len() - rest.len()];
        let word = &rest[..rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())];
        let follows_number = before.trim_end().ends_with(|c: char| c.is_ascii_digit());
        if !follows_number || !WORDS.contains(&word) {
            return before.len();
        }
        rest = &rest[word.len()..];
    }
}

/// Returns the beginning of `text` up to the colon, bracket or number after a name.
fn name(text: &str) -> &str {
    let end = text.char_indices().find(|&(at, c)| {
        matches!(c, ':' | '：' | '[' | '(' | ',')
            || (c.is_ascii_digit() && text[..at].ends_with(char::is_whitespace))
    });
    text[..end.map_or(text.len(), |(at, _)| at)].trim_end_matches([' ', '\t', '*', '-', '–', '—'])
}

/// True if a text has the form of a name. Beside a time, nicknames such as `ada_7` count as well.
fn is_name(name: &str, is_stamped: bool) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    // Some scripts have no capitals.
    let is_capital = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase());
    let (most, is_part): (usize, fn(char) -> bool) = match is_stamped {
        true => (MAX_NAME_WORDS, |c| !"<>={};!?，。；！？、\"".contains(c)),
        false => (MAX_BARE_NAME_WORDS, |c| c.is_alphabetic() || ".-'".contains(c)),
    };
    let has_form = match words.as_slice() {
        [] => false,
        [_] if is_stamped => true,
        [first, .., last] if is_stamped => is_capital(first) && !last.starts_with(char::is_lowercase),
        words => words.iter().all(is_capital),
    };
    has_form
        && words.len() <= most
        && name.chars().count() <= MAX_NAME_CHARS
        && words.iter().all(|word| word.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_label(line: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(text, name)| TurnLabel { text, name });
        assert_eq!(turn_label(line), expected, "{line}");
    }

    #[test]
    fn labels_give_the_time_and_the_name_in_many_forms() {
        for (label, name) in [
            ("[09:02] ", "Mira"),
            ("[2024-09-03 09:02] ", "Mira"),
            ("12.03.24, 18:22 - ", "Tobias"),
            ("[12.03.24, 18:22:01] ", "Anna de Vries"),
            ("\u{200e}[12/03/2024, 6:22:01\u{202f}PM] ", "Mira"),
            ("2024-09-03T09:02 ", "Tobias"),
            ("2024-09-03T09:02:11.250Z ", "mira_7"),
            ("2024年9月3日 09:02 ", "王芳"),
            ("09:02 ", "Mira"),
            ("", "Mira"),
            ("", "Ada Byron"),
            ("- **", "Mira"),
        ] {
            let label = format!("{label}{name}: ");
            check_label(&format!("{label}I have it: here"), Some((&label, name)));
        }
        for label in
            ["Mira [09:02]: ", "Mira (09:02): ", "Mira, 12.03.24 09:02: ", "<Mira> ", "09:02 <Mira> "]
        {
            check_label(&format!("{label}I have it"), Some((label, "Mira")));
        }
        check_label("王芳：好的", Some(("王芳：", "王芳")));
        check_label("**Mira:** yes", Some(("**Mira:** ", "Mira")));
        for label in ["Mira 09:02", "Mira  9:02 AM", "Mira — 12/03/2024 9:02 AM", "Mira 2024-09-03 09:02:11"]
        {
            check_label(label, Some((label, "Mira")));
            check_label(&format!("{label}\nI have it"), Some((label, "Mira")));
        }
    }

    #[test]
    fn other_lines_have_no_label() {
        for line in [
            "",
            "09:02",
            "He said: no",
            "The train left Oslo 09:02",
            "Mira 09:02 and no more",
            "Monday 09:00-17:00",
            "Fig. 3",
            "12:30 with the plan: we go",
            "The mark <b> is bold",
            "https://example.org",
            "Mira 12.03.2024",
        ] {
            check_label(line, None);
        }
    }

    #[test]
    fn a_time_in_brackets_or_beside_a_date_begins_a_message_of_anyone() {
        for line in
            ["[09:02] the server restarts", "12.03.24, 18:22 - +49 171 55: hi", "2024-09-03 09:02 start"]
        {
            assert!(begins_turn(line), "{line}");
        }
        for line in ["09:02 the server restarts", "[3] Holm", "Mira: hi", "2024-09-03 the server"] {
            assert!(!begins_turn(line), "{line}");
        }
    }
}
