//! Tells the lines that separate the messages of a mailbox from lines of their text.

use std::borrow::Cow;

/// The beginning of a line that separates messages: `From ada@example.org Fri May 17 10:00:00 2024`.
const SEPARATOR: &[u8] = b"From ";
/// Maximum words after the sender: `Fri, 17 May 2024 10:00:00 +0200 (CEST)`.
const MAX_DATE_WORDS: usize = 7;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns a mailbox in which lines of text that begin like a separator are quoted, as mail programs do: `>From Monday on`.
/// The library takes all such lines for separators, and removes the quotation mark.
pub(super) fn with_quoted_text(mailbox: &[u8]) -> Cow<'_, [u8]> {
    let mut quoted = Vec::new();
    let (mut copied, mut at) = (0, 0);
    let mut after_blank = true;
    let mut lines = mailbox.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let mut begins_message = || after_blank || lines.peek().is_some_and(|next| is_header(next));
        if line.starts_with(SEPARATOR) && at > 0 && !(has_date(line) && begins_message()) {
            quoted.extend_from_slice(&mailbox[copied..at]);
            quoted.push(b'>');
            copied = at;
        }
        after_blank = line.trim_ascii().is_empty();
        at += line.len();
    }
    if quoted.is_empty() {
        return Cow::Borrowed(mailbox);
    }
    quoted.extend_from_slice(&mailbox[copied..]);
    Cow::Owned(quoted)
}

/// True if a line ends with the date of a separator: a month, a time and a year, in any order, and no words but its time zone.
fn has_date(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let date = &words[words.len().saturating_sub(MAX_DATE_WORDS)..];
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |word: &str| word.matches(':').count() >= 1 && word.split(':').all(is_number);
    let is_year = |word: &str| word.len() == 4 && is_number(word);
    let is_zone = |word: &str| {
        word.strip_prefix(['+', '-']).is_some_and(is_number)
            || word.trim_matches(['(', ')']).bytes().all(|byte| byte.is_ascii_uppercase())
    };
    date.iter().any(|word| MONTHS.contains(word))
        && date.iter().any(|word| is_time(word))
        && date.iter().any(|word| is_year(word))
        && date.last().is_some_and(|last| is_year(last) || is_time(last) || is_zone(last))
}

/// True for `Name: value`.
fn is_header(line: &[u8]) -> bool {
    let name = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    name > 0 && line.get(name) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_quoted(mailbox: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&with_quoted_text(mailbox.as_bytes())), expected);
    }

    #[test]
    fn dates_of_all_programs_separate_messages() {
        for separator in [
            "From ada@example.org Fri May 17 10:00:00 2024",
            "From - Fri May 17 10:00 2024",
            "From 17@xxx Fri May 17 10:00:00 +0000 2024",
            "From ada@example.org  Fri, 17 May 2024 10:00:00 +0200 (CEST)",
            "From Ada Lund Fri May  7 10:00:00 CEST 2024",
        ] {
            let mailbox = format!("From nobody\nSubject: a\n\nText.\n\n{separator}\nSubject: b\n");
            check_quoted(&mailbox, &mailbox);
        }
    }

    #[test]
    fn text_is_quoted() {
        check_quoted(
            "From x\n\n\nFrom Monday on\n>From\nFrom May 2024",
            "From x\n\n\n>From Monday on\n>From\n>From May 2024",
        );
        let reply = "From ada@example.org Fri May 17 10:00:00 2024\n";
        check_quoted(
            &format!("From x\n\nShe wrote:\n{reply}Hello\n"),
            &format!("From x\n\nShe wrote:\n>{reply}Hello\n"),
        );
        let next = format!("From x\n\nText.\n{reply}Subject: b\n");
        check_quoted(&next, &next);
    }
}
