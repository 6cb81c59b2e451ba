//! Splits a text into sentences by rules, for any language that marks their end.

use std::ops::Range;

use super::lines::{Line, lines};
use super::marked_names::MarkedNames;
use super::turns::turn_label;
use super::wrapped::is_ideograph;

/// Maximum length of the word before a full stop that is examined, in characters.
const MAX_WORD_CHARS: usize = 24;

/// Returns the byte ranges of the sentences of `text`, ascending, disjoint, without white space at their ends.
///
/// - A full stop ends a sentence if white space follows and the next letter is not lower case, unless it belongs to an
///   abbreviation, an initial, an ordinal, a list number, a decimal or a short remark in brackets. So do `!`, `?` and `…`, unless they belong to a
///   name, such as `Yum! Brands`. `?`, and `!` in a message, may also end one before a lowercase word. `。！？` and the like
///   always end a sentence.
/// - Closing quotes and brackets, and the numbers of notes in brackets, stay with the sentence they follow.
/// - Blank lines end sentences. A single line end (`\n`, `\r\n` or `\r`) does so before and after headings, table rows and
///   records, between rows of a table that is aligned by spaces or tabs, before list items and the messages of a chat log, where a quotation begins or ends, and after a short line that
///   is followed by a capital or a script without case, unless its paragraph is wrapped there. So does one after a title: the
///   first line of a paragraph, if the next one begins with the same words or more words would fit. Elsewhere the sentence
///   continues on the next line.
/// - The `>` marks of quoted lines never begin a sentence, but stay inside one that continues on the next line; see
///   [`one_line`](super::one_line).
/// - Lines of fenced code are not sentences; [`sentences_and_code`] includes them.
/// - The time is linear in the length of the text.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    segments(text).into_iter().filter(|segment| !segment.code).map(|segment| segment.range).collect()
}

/// Returns the sentences of `text` and its lines of code, ascending. Everything except white space and the `>` of
/// quotations is in exactly one range.
pub fn sentences_and_code(text: &str) -> Vec<Range<usize>> {
    segments(text).into_iter().map(|segment| segment.range).collect()
}

/// A sentence or a line of code.
struct Segment {
    range: Range<usize>,
    code: bool,
}

fn segments(text: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut start = 0;
    let names = MarkedNames::of(text);
    for line in lines(text) {
        if line.code {
            push_trimmed(text, start..line.start, false, &mut found);
            push_trimmed(text, line.start..line.end, true, &mut found);
            start = line.next;
            continue;
        }
        start = end_sentences(text, start, &line, &names, &mut found);
        if line.ends_sentence {
            push_trimmed(text, start..line.end, false, &mut found);
            start = line.next;
        }
    }
    push_trimmed(text, start..text.len(), false, &mut found);
    found
}

/// Adds the sentences that end inside `line`, and returns where the next one starts.
fn end_sentences(
    text: &str,
    mut start: usize,
    line: &Line,
    names: &MarkedNames<'_>,
    found: &mut Vec<Segment>,
) -> usize {
    let mut at = line.start;
    while let Some(c) = text[at..line.end].chars().next() {
        let mut end = at + c.len_utf8();
        let ends = match c {
            _ if ends_always(c) => {
                end = skip_closers(text, end);
                true
            }
            '.' | '!' | '?' | '…' => {
                let run_start = at;
                end = skip_while(text, end, |c| matches!(c, '.' | '!' | '?' | '…'));
                let after_closers = skip_closers(text, end);
                let ends = stop_ends_sentence(text, start, run_start..end, after_closers)
                    && !names.hold(text, run_start);
                end = after_closers;
                ends
            }
            _ => false,
        };
        if ends {
            push_trimmed(text, start..end, false, found);
            start = end;
        }
        at = end;
    }
    start
}

fn push_trimmed(text: &str, range: Range<usize>, code: bool, found: &mut Vec<Segment>) {
    let mut start = range.start;
    let mut rest = text[range].trim_end();
    loop {
        let bare = rest.trim_start();
        start += rest.len() - bare.len();
        rest = bare;
        let before = text[..start].trim_end_matches([' ', '\t', '>']);
        let marked = !code && rest.starts_with('>') && (before.is_empty() || before.ends_with(['\n', '\r']));
        if !marked {
            break;
        }
        (rest, start) = (&rest[1..], start + 1);
    }
    if !rest.is_empty() {
        found.push(Segment { range: start..start + rest.len(), code });
    }
}

/// True for marks that end a sentence even if no white space follows.
fn ends_always(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '．' | '｡' | '।' | '॥' | '؟' | '۔' | '።' | '။' | '។')
}

fn skip_while(text: &str, from: usize, mut keep: impl FnMut(char) -> bool) -> usize {
    text[from..].char_indices().find(|&(_, c)| !keep(c)).map_or(text.len(), |(at, _)| from + at)
}

/// Skips closing quotes and brackets, and the numbers of notes in brackets, as in `It was old.[3] In 1391`.
fn skip_closers(text: &str, from: usize) -> usize {
    let is_closer = |c| {
        matches!(c, ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '」' | '』' | '）' | '》' | '】' | '*' | '_')
    };
    let mut at = skip_while(text, from, is_closer);
    while let Some(length) = note_number_len(&text[at..]) {
        at = skip_while(text, at + length, is_closer);
    }
    at
}

/// Returns the length of the number of a note, such as `[3]`, at the beginning of `text`.
fn note_number_len(text: &str) -> Option<usize> {
    const MAX_DIGITS: usize = 3;
    let inside = text.strip_prefix('[')?;
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    ((1..=MAX_DIGITS).contains(&digits) && inside[digits..].starts_with(']')).then_some(digits + "[]".len())
}

/// True if the marks at `stop` end the sentence that began at `start`; `after` is the position after them and the closing quotes.
fn stop_ends_sentence(text: &str, start: usize, stop: Range<usize>, after: usize) -> bool {
    let rest = &text[after..];
    let Some(first) = rest.chars().next() else { return true };
    if !first.is_whitespace() {
        // CJK text has no space after a Western full stop.
        return is_ideograph(first) && text[..stop.start].chars().next_back().is_some_and(is_ideograph);
    }
    let next = if rest.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']) {
        rest.trim_start_matches(|c: char| c.is_whitespace() || c == '>')
    } else {
        rest.trim_start()
    };
    if next.starts_with(char::is_lowercase) {
        return after == stop.end && ends_before_lowercase(text, start, stop);
    }
    &text[stop.clone()] != "."
        || !(is_abbreviation(text, start, stop.start, next) || is_in_short_remark(text, start, stop))
}

/// True if the full stop at `stop` is inside a short remark in brackets that follows a word, as in `Price (excl. VAT)`.
fn is_in_short_remark(text: &str, start: usize, stop: Range<usize>) -> bool {
    const MAX_REMARK_CHARS: usize = 40;
    let mut before = text[start..stop.start].char_indices().rev().take(MAX_REMARK_CHARS);
    let Some((open, '(')) = before.find(|&(_, c)| matches!(c, '(' | ')')) else { return false };
    let from = start + open;
    let inside =
        text[from + 1..].chars().take(MAX_REMARK_CHARS).take_while(|c| !matches!(c, '\n' | '\r' | '('));
    let end = inside.scan(from + 1, |at, c| {
        *at += c.len_utf8();
        Some((*at, c))
    });
    let closes = end.into_iter().any(|(at, c)| c == ')' && at > stop.end);
    closes && text[start..from].contains(char::is_alphanumeric)
}

/// True if the marks at `stop` end a sentence although a lowercase word follows, as in `who has the key? mine is broken.`
///
/// They do not inside a quotation or brackets, which the sentence may continue, nor after a capital: `Who Knows?` may be a title. An exclamation
/// mark ends only a sentence of a message; elsewhere it may belong to a word, as in `println!`.
fn ends_before_lowercase(text: &str, start: usize, stop: Range<usize>) -> bool {
    let (before, marks) = (&text[start..stop.start], &text[stop]);
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_question = marks.contains('?') && last.starts_with(|c: char| !c.is_uppercase());
    marks.chars().all(|c| matches!(c, '?' | '!'))
        && (is_question || turn_label(before).is_some())
        && !is_in_quotation(&text[..start + before.len()])
}

/// True if the last quotation mark or bracket in `before` opens a quotation or remark, as far as these may be long.
fn is_in_quotation(before: &str) -> bool {
    const MAX_QUOTATION_CHARS: usize = 400;
    let is_mark = |c: &char| "\"“„”«»‹›()".contains(*c);
    let mut back = before.chars().rev().take(MAX_QUOTATION_CHARS).skip_while(|c| !is_mark(c));
    back.next().is_some_and(|mark| {
        matches!(mark, '„' | '(') || back.next().is_none_or(|c| c.is_whitespace() || "([-–—:".contains(c))
    })
}

/// True if the full stop at `at` only abbreviates the word before it.
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
    let is_of_digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    if word.split('.').all(is_of_digits) {
        let begins = before.trim_start_matches('#').is_empty()
            || turn_label(sentence).is_some_and(|label| label.text.trim() == before);
        return begins || is_ordinal(word, before, next);
    }
    let lower = word.to_lowercase();
    if TITLES.contains(&lower.as_str()) {
        return true;
    }
    // `p. 7` is a page, `Stephen P. Lind` a person.
    let numbered = NUMBERED.contains(&lower.as_str()) && (word.len() > 1 || word == lower);
    if numbered {
        return next.starts_with(|c: char| c.is_ascii_digit());
    }
    let mut letters = word.split('.').map(|part| part.chars().count());
    let initial = letters.all(|count| count == 1) && word.starts_with(char::is_alphabetic);
    let may_end = initial || MAY_END.contains(&lower.as_str());
    may_end && !starts_like_sentence(next)
}

/// True if a number with a full stop is a German ordinal, such as `20. Juni`. The word after it or the short word before it
/// decides.
fn is_ordinal(number: &str, before: &str, next: &str) -> bool {
    if number.len() > 3 {
        return false;
    }
    let counted = first_word(next).to_lowercase();
    if GERMAN_COUNTED.contains(&counted.as_str()) {
        return true;
    }
    let mut words = before.rsplit(|c: char| c.is_whitespace());
    let (last, earlier) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_number =
        |word: &str| word.strip_suffix('.').is_some_and(|n| n.bytes().all(|byte| byte.is_ascii_digit()));
    let declined = match last {
        // `I am 20.`
        "am" => earlier != "I",
        "und" | "bis" | "oder" => is_number(earlier),
        _ => BEFORE_GERMAN_ORDINALS.contains(&last),
    };
    declined && next.starts_with(char::is_uppercase) && !starts_like_sentence(next)
}

/// What German counts with ordinals, in dates, times and editions.
const GERMAN_COUNTED: [&str; 42] = [
    "januar",
    "jänner",
    "februar",
    "feber",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
    "jan",
    "feb",
    "mär",
    "apr",
    "jun",
    "jul",
    "aug",
    "sept",
    "sep",
    "okt",
    "nov",
    "dez",
    "jahrhundert",
    "jahrhunderts",
    "jahrtausend",
    "jh",
    "jhd",
    "jhdt",
    "weltkrieg",
    "weltkriegs",
    "geburtstag",
    "lebensjahr",
    "obergeschoss",
    "quartal",
    "halbjahr",
    "auflage",
    "klasse",
    "bundesliga",
];

/// Short words that precede German ordinals.
const BEFORE_GERMAN_ORDINALS: [&str; 30] = [
    "der", "die", "das", "dem", "den", "des", "im", "ins", "vom", "zum", "zur", "beim", "ein", "eine",
    "einen", "einem", "einer", "eines", "ihr", "ihre", "ihrem", "ihren", "sein", "seine", "seinem", "seinen",
    "jeder", "jeden", "unser", "unsere",
];

/// Abbreviations that always precede a name or number.
const TITLES: [&str; 53] = [
    "adm", "al", "approx", "bzw", "ca", "capt", "cf", "cmdr", "col", "dipl", "dr", "dra", "e.g", "eg",
    "einschl", "evtl", "exkl", "fr", "frl", "ft", "gen", "ggf", "gov", "hon", "hr", "i.e", "ie", "ing",
    "inkl", "lt", "maj", "messrs", "mme", "mr", "mrs", "ms", "mt", "prof", "rep", "rev", "sen", "sgt", "sog",
    "sra", "st", "u.a", "vgl", "viz", "vs", "z.b", "zb", "zgl", "zzgl",
];

/// Abbreviations before a number; elsewhere they are ordinary words.
const NUMBERED: [&str; 24] = [
    "abb", "abs", "art", "bd", "ch", "chap", "eq", "eqs", "fig", "figs", "kap", "no", "nos", "nr", "p", "pp",
    "pt", "sec", "tab", "tel", "vol", "vols", "ziff", "núm",
];

/// Abbreviations that can also end a sentence.
const MAY_END: [&str; 39] = [
    "a.m", "apr", "aug", "bros", "chr", "co", "corp", "dec", "dept", "dez", "est", "etc", "feb", "geb",
    "inc", "jan", "jh", "jhd", "jr", "jul", "jun", "ltd", "mar", "mio", "mrd", "nov", "oct", "okt", "p.m",
    "ph.d", "plc", "sep", "sept", "sr", "std", "str", "univ", "usf", "usw",
];

/// True if a text begins with a word that is capitalized only because it starts a sentence.
pub(super) fn starts_like_sentence(next: &str) -> bool {
    const STARTERS: [&str; 75] = [
        "A", "Aber", "After", "All", "Als", "Am", "An", "And", "As", "At", "Auch", "Bei", "Before", "But",
        "By", "Dabei", "Danach", "Dann", "Das", "Der", "Die", "Dies", "Diese", "Dieser", "Dieses", "Doch",
        "Durch", "Ein", "Eine", "Er", "Es", "For", "From", "Für", "He", "Her", "Hier", "His", "How",
        "However", "If", "Ihr", "Im", "In", "It", "Its", "Mit", "Nach", "No", "On", "Our", "Seine", "Seit",
        "She", "Sie", "Since", "So", "The", "Their", "There", "These", "They", "This", "Und", "Von", "We",
        "Wenn", "What", "When", "Wie", "Wir", "You", "Zu", "Zum", "Zur",
    ];
    STARTERS.contains(&first_word(next))
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// True if a sentence ends like one and is not a table row.
pub fn is_prose(sentence: &str) -> bool {
    let ends = sentence.trim_end().ends_with(['.', '!', '?', '。', '！', '？', '"', '”', '»']);
    ends && !sentence.contains(" | ")
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
    fn the_number_of_a_note_stays_with_its_sentence() {
        check_sentences(
            "It is old.[3] In 1391 it got a charter.[4][12] See [5].",
            &["It is old.[3]", "In 1391 it got a charter.[4][12]", "See [5]."],
        );
        check_sentences("城很老。[3] 1391年建市。", &["城很老。[3]", "1391年建市。"]);
    }

    #[test]
    fn full_stops_end_sentences_and_quotes_stay_with_them() {
        check_sentences("One. Two! Three? \"Four.\" Five", &["One.", "Two!", "Three?", "\"Four.\"", "Five"]);
        check_sentences("\"Really?\" he asked. Yes...", &["\"Really?\" he asked.", "Yes..."]);
    }

    #[test]
    fn a_title_line_ends_a_sentence_even_if_no_blank_line_follows() {
        let title = "Van Hook Township, Mountrail County, North Dakota";
        for below in [
            "Van Hook Township is a township in Mountrail County.",
            "It is a township in Mountrail County, which had a population of sixty-two people at the census of that year.",
        ] {
            check_sentences(&format!("{title}\n{below}"), &[title, below]);
        }
        for wrapped in [
            "This is like a\nGit worktree, which has files of its own.",
            "The old bridge over the river was built by a friend of\nHana Dvorakova and her brother.",
            "On the third of May in that year the council\nAssembly met in the old hall of the town, which was full.",
            "They went to the old bridge that was built by the\nBo Lind company in the year of the great flood, which nobody there had forgotten at all.",
        ] {
            check_sentences(wrapped, &[wrapped]);
        }
    }

    #[test]
    fn every_message_of_a_chat_log_is_its_own_sentence() {
        let messages = [
            "<ada> we lost about 35 minutes",
            "<bo_> 2. Highlights",
            "[17:02] <ada> yes",
            "17:03 <cy[m]> See you",
        ];
        check_sentences(&messages.join("\n"), &messages);
        check_sentences("The mark <b> is bold\nand <i> is not.", &["The mark <b> is bold\nand <i> is not."]);
    }

    #[test]
    fn messages_with_a_time_or_date_are_their_own_sentences_with_their_wrapped_lines() {
        for (first, second) in [
            ("[09:02] Mira: ", "[09:11] Tobias: "),
            ("[2024-09-03 09:02] Mira: ", "[2024-09-03 09:11] Tobias: "),
            ("12.03.24, 18:22 - Mira: ", "12.03.24, 18:23 - Tobias: "),
            ("[12.03.24, 18:22:01] Mira: ", "[12.03.24, 18:22:40] Tobias: "),
            ("2024-09-03T09:02 Mira: ", "2024-09-03T09:11 Tobias: "),
            ("Mira [09:02]: ", "Tobias [09:11]: "),
            ("Mira 09:02\n", "Tobias 09:11\n"),
            ("Mira  9:02 AM\n", "Tobias  9:11 AM\n"),
        ] {
            let messages = [
                format!("{first}staging is down and nobody knows why, it answers to no\nrequest"),
                format!("{second}The certificate expired"),
                format!("{first}send that to Rafael, he decides on discounts"),
                format!("{second}the coffee is empty"),
            ];
            check_sentences(&messages.join("\n"), &messages.each_ref().map(String::as_str));
        }
    }

    #[test]
    fn a_full_stop_in_brackets_ends_a_sentence_if_more_than_a_short_remark_is_in_them() {
        for two in [
            ["(It was late.", "She left.)"],
            ["It was late (as he knew.", "Nobody had told the others that they would have to wait)."],
            ["It was late (as he knew.", "She left."],
            ["It was late (he knew).", "She left (too)."],
        ] {
            check_sentences(&two.join(" "), &two);
        }
    }

    #[test]
    fn a_question_may_end_before_a_lowercase_word() {
        check_sentences("who has the key? mine is broken.", &["who has the key?", "mine is broken."]);
        check_sentences("Mira: Thanks! see you", &["Mira: Thanks!", "see you"]);
        for one in [
            "\"Why?\" he asked.",
            "\"and why? tell me\", he asked.",
            "»und warum? sag es«, fragte er.",
            "It (isn’t it new? perhaps) fell.",
            "The film Who Knows? is old.",
            "The macro println! prints.",
            "It is x ? y : z.",
        ] {
            check_sentences(one, &[one]);
        }
    }

    #[test]
    fn a_line_cut_short_before_a_long_word_does_not_end_a_sentence() {
        let one = "For the scanning of flat objects, the usual format for many\nyears has been uncompressed\nTIFF\nin most places.";
        check_sentences(one, &[one]);
    }

    #[test]
    fn abbreviations_initials_and_decimals_do_not_end_sentences() {
        for one in [
            "Dr. Smith met Mr. J. R. Jones.",
            "It grew 3.5 percent, e.g. Apple Inc. CEO Tim Cook said so.",
            "See Fig. 3 and vol. 2.",
            "See p. 7 by Stephen P. Lind.",
            "Firm | Quote (excl. VAT) | Height (max. Masthöhe)",
            "The pool (Abt. Schwimmen) is closed.",
            "1. Wash your hands.",
            "## 5.9. Washing your hands",
            "5.9.4. Washing your hands",
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
    fn a_mark_inside_a_name_ends_no_sentence() {
        let one = "Ada was an officer of Yum! Brands, a seller of food, until 2014.";
        check_sentences(one, &[one]);
        check_sentences(
            "Yum! Brands named Ada its head. Bo left the board of Yum! Brands.",
            &["Yum! Brands named Ada its head.", "Bo left the board of Yum! Brands."],
        );
        check_sentences(
            "Help! Peter came. Have you heard of Tom? Mary has. Welcome to Oslo! Bo waits.",
            &["Help!", "Peter came.", "Have you heard of Tom?", "Mary has.", "Welcome to Oslo!", "Bo waits."],
        );
        check_sentences(
            "Tom! Mary is here. Do you see Tom! Mary asked.",
            &["Tom!", "Mary is here.", "Do you see Tom!", "Mary asked."],
        );
    }

    #[test]
    fn cjk_sentences_need_no_spaces() {
        check_sentences("你好。「真的吗？」他说！是", &["你好。", "「真的吗？」", "他说！", "是"]);
    }

    #[test]
    fn list_items_headings_and_rows_end_at_line_ends_and_wrapped_prose_does_not() {
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
        fn sentences_contain_everything_but_white_space(text in "([ \n\r.!?…。\"']|[a-zA-Z0-9é漢#|-]){0,60}") {
            let mut covered = 0;
            for range in sentences_and_code(&text) {
                prop_assert!(text[covered..range.start].trim().is_empty());
                prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
                prop_assert!(!range.is_empty());
                covered = range.end;
            }
            prop_assert!(text[covered..].trim().is_empty());
        }

        #[test]
        fn sentences_of_any_text_are_in_order(text in any::<String>()) {
            let found = sentences_and_code(&text);
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }

    #[test]
    fn rows_of_cells_are_their_own_sentences() {
        let text = "Columns: name | role\nname: Ada | role: head of the workshop\nname: Bo | role: guest";
        let rows: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(rows, text.lines().collect::<Vec<_>>());
    }

    #[test]
    fn rows_of_aligned_columns_are_their_own_sentences() {
        for text in [
            "Day          Hall        Pool\nMonday       9 to 17     closed\nTuesday      9 to 17     7 to 12",
            "monday\tswimming\ttwelve\ntuesday\tclosed",
        ] {
            check_sentences(text, &text.lines().collect::<Vec<_>>());
        }
        let typed = "the letter was typed on a machine.  It had two spaces after\neach of its sentences, you know.  It looked odd, even then, to us.";
        check_sentences(
            typed,
            &[
                "the letter was typed on a machine.",
                "It had two spaces after\neach of its sentences, you know.",
                "It looked odd, even then, to us.",
            ],
        );
        let justified = "the text of  a book that is set to a full line, so that\nits words are  far apart in every  line, as in old books";
        check_sentences(justified, &[justified]);
    }

    #[test]
    fn windows_and_old_mac_line_ends_work_like_others() {
        let text = "The bridge at Ostrava was designed by Hana Dvorakova,\nwho also built the station. It is old.\n\n\
                    CHAPTER I\nIt was late\n- one\n- two\n> said\n> twice";
        let expected: Vec<String> = sentences(text).into_iter().map(|range| text[range].to_owned()).collect();
        assert_eq!(expected.len(), 7);
        for end in ["\r\n", "\r"] {
            let other = text.replace('\n', end);
            let found: Vec<String> =
                sentences(&other).into_iter().map(|range| other[range].replace(end, "\n")).collect();
            assert_eq!(found, expected, "{end:?}");
        }
    }

    #[test]
    fn quoted_text_is_prose_after_its_marks() {
        check_sentences(
            "He wrote:\n> The old bridge at Ostrava was built by\n> Hana Dvorakova, an engineer. It stands\n> to this day.\n>\n> > I know.\nGood.",
            &[
                "He wrote:",
                "The old bridge at Ostrava was built by\n> Hana Dvorakova, an engineer.",
                "It stands\n> to this day.",
                "I know.",
                "Good.",
            ],
        );
    }

    #[test]
    fn a_narrowly_wrapped_sentence_continues_before_a_name() {
        let one = "The bridge was designed by Hana\nDvorakova, who built stations too.";
        check_sentences(one, &[one]);
        check_sentences(
            "Roses are red\nViolets are blue\nSugar is sweet and the honey too",
            &["Roses are red", "Violets are blue", "Sugar is sweet and the honey too"],
        );
    }

    #[test]
    fn german_dates_ordinals_and_abbreviations_end_no_sentence() {
        for one in [
            "Die Betriebsfeier findet am 20. Juni in Kassel statt.",
            "Er kam vom 3. bis 5. Mai und wohnte im 2. Stock.",
            "Im 19. Jahrhundert, vgl. Abb. 3, gab es z. B. Mühlen bzw. Sägewerke.",
            "Zwischen dem 1. und 2. Weltkrieg kostete es ca. 3 Mio. Mark.",
        ] {
            check_sentences(one, &[one]);
        }
        check_sentences("I am 20. Tom is 30. He left.", &["I am 20.", "Tom is 30.", "He left."]);
        check_sentences("Es waren 20. Danach kam der Rest.", &["Es waren 20.", "Danach kam der Rest."]);
        check_sentences(
            "Er ist einer der 20. Die anderen gingen.",
            &["Er ist einer der 20.", "Die anderen gingen."],
        );
    }

    #[test]
    fn code_is_not_a_sentence_wherever_its_block_is_cut() {
        let block = "Call it so:\n```rust\nlet Spring = Town. Now;\n```\nDone.";
        check_sentences(block, &["Call it so:", "Done."]);
        check_sentences(&block[20..], &["Done."]);
        check_sentences(&block[..40], &["Call it so:"]);
        assert_eq!(sentences_and_code(block).len(), 5);
    }

    #[test]
    fn records_and_named_values_are_their_own_sentences() {
        check_sentences(
            "{\"name\": \"Ada\"}\n{\"name\": \"bo\"}\nauthor: ada\ndate: today",
            &["{\"name\": \"Ada\"}", "{\"name\": \"bo\"}", "author: ada", "date: today"],
        );
    }
}
