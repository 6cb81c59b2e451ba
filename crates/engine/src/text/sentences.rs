//! Finds the sentences of a text by rules, for any language that marks their end.

use std::ops::Range;

/// Lines up to this many bytes that are followed by a capital are taken for headings or verses, not wrapped
/// prose.
const SHORT_LINE: usize = 40;
/// How far back the word before a full stop is read.
const MAX_WORD_CHARS: usize = 24;

/// The byte ranges of the sentences of `text`, ascending, disjoint, without white space at their ends.
///
/// - A full stop ends a sentence where white space and no small letter follows, unless it belongs to an
///   abbreviation, an initial, a list number or a decimal. `!`, `?` and `…` likewise; `。！？` and their kin
///   always.
/// - Closing quotes and brackets stay with the sentence they close.
/// - Blank lines end sentences. A single line end does so before and after headings and table rows, before
///   list items and quotations, and after a short line that is followed by a capital or a script without
///   case; elsewhere the sentence goes on, as in hard-wrapped text.
/// - Everything that is not white space is in exactly one sentence. Linear in the text's length.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut line = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let mut end = at + c.len_utf8();
        let ends = match c {
            '\n' | '\r' => {
                let ends = line_ends_sentence(text, line, at);
                line = end;
                ends
            }
            _ if ends_always(c) => {
                end = skip_closers(text, end);
                true
            }
            '.' | '!' | '?' | '…' => {
                let run_start = at;
                end = skip_while(text, end, |c| matches!(c, '.' | '!' | '?' | '…'));
                let alone = c == '.' && end == run_start + 1;
                let after_closers = skip_closers(text, end);
                let ends = stop_ends_sentence(text, start, run_start, after_closers, alone);
                end = after_closers;
                ends
            }
            _ => false,
        };
        while chars.peek().is_some_and(|&(next, _)| next < end) {
            chars.next();
        }
        if ends {
            push_trimmed(text, start..end, &mut found);
            start = end;
        }
    }
    push_trimmed(text, start..text.len(), &mut found);
    found
}

fn push_trimmed(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let slice = &text[range.clone()];
    let trimmed = slice.trim();
    if !trimmed.is_empty() {
        let start = range.start + (slice.len() - slice.trim_start().len());
        found.push(start..start + trimmed.len());
    }
}

/// Marks after which no white space is written.
fn ends_always(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '．' | '｡' | '।' | '॥' | '؟' | '۔' | '።' | '။' | '។')
}

fn skip_while(text: &str, from: usize, mut keep: impl FnMut(char) -> bool) -> usize {
    text[from..].char_indices().find(|&(_, c)| !keep(c)).map_or(text.len(), |(at, _)| from + at)
}

fn skip_closers(text: &str, from: usize) -> usize {
    skip_while(text, from, |c| {
        matches!(c, ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '」' | '』' | '）' | '》' | '】' | '*' | '_')
    })
}

/// Whether the line end at `at` also ends a sentence; `line` is where the line starts.
fn line_ends_sentence(text: &str, line: usize, at: usize) -> bool {
    let rest = &text[at..];
    let next = rest.strip_prefix("\r\n").unwrap_or(&rest[1..]);
    let indented = next.trim_start_matches([' ', '\t']);
    let this = text[line..at].trim();
    if this.is_empty() || indented.is_empty() || indented.starts_with(['\n', '\r']) {
        return true;
    }
    // Scripts without capitals show nothing at the beginning of a line.
    let has_no_case = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    let starts = |c: char| c.is_uppercase() || c.is_ascii_digit() || has_no_case(c) || "《「『“".contains(c);
    let goes_on = this.ends_with(['，', '、', '；', '،', ',', ';']);
    let short = this.len() <= SHORT_LINE
        && indented.starts_with(starts)
        && !(goes_on && indented.starts_with(has_no_case));
    short
        || stands_alone(this)
        || stands_alone(indented)
        || is_row(this)
        || is_list_item(indented)
        || indented.starts_with('>')
}

/// Whether a line starts like a heading, table row or fence.
fn stands_alone(line: &str) -> bool {
    ["#", "|", "```", "~~~", "---", "===", "***"].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line is a row of named cells, as tables of values are written out.
fn is_row(line: &str) -> bool {
    line.contains(" | ")
}

fn is_list_item(line: &str) -> bool {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after_number.len() < line.len() && line.len() - after_number.len() <= 4;
    line.starts_with(['•', '◦', '‣'])
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
        || (numbered && (after_number.starts_with(". ") || after_number.starts_with(") ")))
}

/// Whether the stop at `at` ends the sentence that began at `start`; `after` is behind it and its closing
/// quotes.
fn stop_ends_sentence(text: &str, start: usize, at: usize, after: usize, alone: bool) -> bool {
    let rest = &text[after..];
    let Some(first) = rest.chars().next() else { return true };
    if !first.is_whitespace() {
        // CJK text writes no space after a Western stop.
        return is_ideograph(first) && text[..at].chars().next_back().is_some_and(is_ideograph);
    }
    let next = rest.trim_start();
    if next.starts_with(char::is_lowercase) {
        return false;
    }
    !alone || !is_abbreviation(text, start, at, next)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether the full stop at `at` only shortens the word before it.
fn is_abbreviation(text: &str, start: usize, at: usize, next: &str) -> bool {
    let sentence = &text[start..at];
    let length: usize = sentence
        .chars()
        .rev()
        .take(MAX_WORD_CHARS)
        .take_while(|&c| c.is_alphanumeric() || c == '.' || c == '\'')
        .map(char::len_utf8)
        .sum();
    let word = &sentence[sentence.len() - length..];
    let before = sentence[..sentence.len() - length].trim();
    if word.chars().all(|c| c.is_ascii_digit()) {
        return !word.is_empty() && before.is_empty();
    }
    let lower = word.to_lowercase();
    if TITLES.contains(&lower.as_str()) {
        return true;
    }
    if NUMBERED.contains(&lower.as_str()) {
        return next.starts_with(|c: char| c.is_ascii_digit());
    }
    let mut letters = word.split('.').map(|part| part.chars().count());
    let initial = letters.all(|count| count == 1) && word.starts_with(char::is_alphabetic);
    let may_end = initial || MAY_END.contains(&lower.as_str());
    may_end && !starts_like_sentence(next)
}

/// Always before a name or number.
const TITLES: [&str; 34] = [
    "adm", "al", "approx", "ca", "capt", "cf", "cmdr", "col", "dr", "e.g", "eg", "fr", "ft", "gen", "gov",
    "hon", "i.e", "ie", "lt", "maj", "messrs", "mr", "mrs", "ms", "mt", "prof", "rep", "rev", "sen", "sgt",
    "st", "viz", "vs", "z.b",
];

/// Before a number; an ordinary word elsewhere.
const NUMBERED: [&str; 16] = [
    "ch", "chap", "eq", "eqs", "fig", "figs", "no", "nos", "nr", "p", "pp", "pt", "sec", "tab", "vol", "vols",
];

/// Shortened also at the end of a sentence.
const MAY_END: [&str; 28] = [
    "a.m", "apr", "aug", "bros", "co", "corp", "dec", "dept", "est", "etc", "feb", "inc", "jan", "jr", "jul",
    "jun", "ltd", "mar", "nov", "oct", "p.m", "ph.d", "plc", "sep", "sept", "sr", "univ", "usw",
];

/// Whether a text begins with a word that is capital only because a sentence starts there.
fn starts_like_sentence(next: &str) -> bool {
    const STARTERS: [&str; 36] = [
        "A", "After", "All", "An", "And", "As", "At", "Before", "But", "By", "For", "From", "He", "Her",
        "His", "How", "However", "If", "In", "It", "Its", "No", "On", "Our", "She", "Since", "The", "Their",
        "There", "These", "They", "This", "We", "What", "When", "You",
    ];
    let word = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    STARTERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_sentences(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn stops_end_sentences_and_quotes_stay_with_them() {
        check_sentences("One. Two! Three? \"Four.\" Five", &["One.", "Two!", "Three?", "\"Four.\"", "Five"]);
        check_sentences("\"Really?\" he asked. Yes...", &["\"Really?\" he asked.", "Yes..."]);
    }

    #[test]
    fn abbreviations_initials_and_decimals_do_not() {
        for one in [
            "Dr. Smith met Mr. J. R. Jones.",
            "It grew 3.5 percent, e.g. Apple Inc. CEO Tim Cook said so.",
            "See Fig. 3 and vol. 2.",
            "1. Wash your hands.",
        ] {
            check_sentences(one, &[one]);
        }
        check_sentences(
            "He works at Acme Inc. The firm is old.",
            &["He works at Acme Inc.", "The firm is old."],
        );
        check_sentences("He said no. Then he left.", &["He said no.", "Then he left."]);
        check_sentences("It began in 1999. Nobody knew.", &["It began in 1999.", "Nobody knew."]);
    }

    #[test]
    fn cjk_needs_no_spaces() {
        check_sentences("你好。「真的吗？」他说！是", &["你好。", "「真的吗？」", "他说！", "是"]);
    }

    #[test]
    fn lists_headings_and_tables_end_at_line_ends_and_wrapped_prose_does_not() {
        check_sentences(
            "# Title\nText goes on\nand on. Then\n- one\n- two",
            &["# Title", "Text goes on\nand on.", "Then", "- one", "- two"],
        );
        check_sentences("| a | b |\r\n| 1 | 2 |\r\n\r\nend", &["| a | b |", "| 1 | 2 |", "end"]);
        check_sentences("CHAPTER I\nIt was late", &["CHAPTER I", "It was late"]);
        check_sentences("静海\n《静海》是一部电影。", &["静海", "《静海》是一部电影。"]);
        check_sentences("أحمد علي\nولد أحمد علي.", &["أحمد علي", "ولد أحمد علي."]);
        check_sentences("春天来了，\n花开了。", &["春天来了，\n花开了。"]);
        let wrapped = "This line of prose is long enough to have been wrapped by\nEmacs or another editor.";
        check_sentences(wrapped, &[wrapped]);
    }

    proptest! {
        #[test]
        fn sentences_hold_all_that_is_not_white_space(text in "([ \n\r.!?…。\"']|[a-zA-Z0-9é漢#|-]){0,60}") {
            let mut covered = 0;
            for range in sentences(&text) {
                prop_assert!(text[covered..range.start].trim().is_empty());
                prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
                prop_assert!(!range.is_empty());
                covered = range.end;
            }
            prop_assert!(text[covered..].trim().is_empty());
        }

        #[test]
        fn sentences_of_any_text_are_in_order(text in any::<String>()) {
            let found = sentences(&text);
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }

    #[test]
    fn rows_of_cells_are_sentences_of_their_own() {
        let text = "Columns: name | role\nname: Ada | role: head of the workshop\nname: Bo | role: guest";
        let rows: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(rows, text.lines().collect::<Vec<_>>());
    }
}
