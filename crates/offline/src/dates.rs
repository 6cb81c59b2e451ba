//! Finds dates and quantities.

use std::ops::Range;

use harper_brill::UPOS;

use super::lexicon::{is_magnitude, is_month};
use super::phrase::PhraseKind;
use super::scripts::has_no_spaces;
use super::token::{Shape, Token};

/// Returns the dates and quantities among the words of one sentence of `text`, in text order.
pub(super) fn dates_and_quantities(text: &str, tokens: &[Token<'_>]) -> Vec<(Range<usize>, PhraseKind)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (length, kind) = date(&tokens[at..], at.checked_sub(1).map(|before| &tokens[before]))
            .map_or_else(
                || (quantity(&tokens[at..]), PhraseKind::Quantity),
                |length| (length, PhraseKind::Date),
            );
        if length == 0 {
            at += 1;
            continue;
        }
        let last = &tokens[at + length - 1];
        let mut start = tokens[at].start;
        // Take only the number of a word such as `1990년에`.
        let mut end = if has_no_spaces(last.text) { last.start + digits(last.text).len() } else { last.end };
        if kind == PhraseKind::Quantity {
            let before = &text[..start];
            start -= ["$", "€", "£", "¥"]
                .iter()
                .find(|sign| before.ends_with(**sign))
                .map_or(0, |sign| sign.len());
            end += usize::from(text[end..].starts_with('%'));
        }
        found.push((start..end, kind));
        at += length;
    }
    found
}

/// Returns the first year of a decade: 1970 for `1970s`, `seventies` and `70er`; `None` for other words, in lowercase.
pub(super) fn decade(word: &str) -> Option<u32> {
    const TENS: [(&str, u32); 16] = [
        ("twenties", 20),
        ("thirties", 30),
        ("forties", 40),
        ("fifties", 50),
        ("sixties", 60),
        ("seventies", 70),
        ("eighties", 80),
        ("nineties", 90),
        ("zwanziger", 20),
        ("dreißiger", 30),
        ("vierziger", 40),
        ("fünfziger", 50),
        ("sechziger", 60),
        ("siebziger", 70),
        ("achtziger", 80),
        ("neunziger", 90),
    ];
    let in_words = TENS.iter().find(|(name, _)| word.starts_with(name)).map(|(_, tens)| 1900 + tens);
    let number = || {
        let digits =
            ["s", "er", "ern", "erjahre", "erjahren"].iter().find_map(|ending| word.strip_suffix(ending))?;
        let year: u32 = digits.parse().ok().filter(|year| year % 10 == 0)?;
        // `10s` is rather a time than a decade.
        match digits.len() {
            2 if year >= 20 => Some(1900 + year),
            4 => Some(year),
            _ => None,
        }
    };
    in_words.or_else(number)
}

/// Returns the number of words of the date that begins here.
fn date(tokens: &[Token<'_>], before: Option<&Token<'_>>) -> Option<usize> {
    let word = |i: usize| tokens.get(i).filter(|token| i == 0 || matches!(token.gap, " " | ", " | " of "));
    let month = |i: usize| {
        word(i).is_some_and(|token| is_month(&token.lower) && (token.lower != "may" || token.is_capital()))
    };
    let day = |i: usize| word(i).is_some_and(|token| is_day(&token.lower));
    let year = |i: usize| word(i).is_some_and(|token| is_year(&token.lower));
    if month(0) {
        let length = match (day(1), year(1)) {
            (true, _) if year(2) => 3,
            (true, _) | (_, true) => 2,
            _ => 1,
        };
        // `march` and `may` are also other words, and `Jan` is a name.
        let named = tokens.get(1).is_some_and(|next| next.is_capital() && next.gap == " ");
        let bare = length == 1 && (named || !tokens[0].is_capital() || is_verb(tokens, before));
        return (!bare).then_some(length);
    }
    if day(0) && month(1) {
        return Some(if year(2) { 3 } else { 2 });
    }
    if tokens.first().is_some_and(|token| {
        token.lower.ends_with("th") || token.lower.ends_with("st") || token.lower.ends_with("nd")
    }) && word(1).is_some_and(|token| token.lower == "century")
    {
        return Some(2);
    }
    let first = tokens.first()?;
    let era = word(1).is_some_and(|token| matches!(token.text, "BC" | "AD" | "CE" | "BCE"));
    if era && first.shape == Shape::Digit {
        return Some(2);
    }
    let decade = first.lower.strip_suffix('s').is_some_and(is_year);
    let counted = has_no_spaces(first.text) && is_year(digits(first.text));
    (is_year(&first.lower) || decade || counted).then_some(1)
}

/// True if a lone `May` or `March` is a verb. A month has a preposition such as `in` before it.
fn is_verb(tokens: &[Token<'_>], before: Option<&Token<'_>>) -> bool {
    const OF_TIME: [&str; 17] = [
        "in", "since", "until", "till", "by", "of", "last", "next", "this", "early", "late", "during",
        "from", "to", "before", "after", "and",
    ];
    let timed = tokens[0].gap == " " && before.is_some_and(|word| OF_TIME.contains(&word.lower.as_str()));
    matches!(tokens[0].lower.as_str(), "may" | "march") && !timed
}

/// Returns the leading digits of a word.
fn digits(word: &str) -> &str {
    &word[..word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len())]
}

fn is_day(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse::<u32>().is_ok_and(|day| (1..=31).contains(&day)) && word.len() - digits.len() <= 2
}

/// True if a word is the number of a year.
pub(super) fn is_year(word: &str) -> bool {
    word.len() == 4 && word.parse::<u32>().is_ok_and(|year| (1000..2100).contains(&year))
}

/// Returns the number of words of the quantity that begins here: the number, a magnitude, and the unit or the counted noun.
fn quantity(tokens: &[Token<'_>]) -> usize {
    let spaced = |token: &&Token<'_>| !has_no_spaces(token.text);
    let first = tokens.first().filter(|token| token.shape == Shape::Digit).filter(spaced);
    let Some(first) = first else { return 0 };
    let follows =
        |i: usize| tokens.get(i).filter(|token| matches!(token.gap, " " | "-" | " - ")).filter(spaced);
    let mut length = 1;
    if follows(length).is_some_and(|token| is_magnitude(&token.lower)) {
        length += 1;
    }
    if follows(length)
        .is_some_and(|token| token.tag == UPOS::NOUN && token.shape == Shape::Lower && token.is_content())
    {
        return length + 1;
    }
    let large = first.text.len() >= 3 || length > 1 || first.text.contains('.');
    if large { length } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::decade;

    #[test]
    fn decades_are_read_from_words_and_numbers() {
        for (word, expected) in [
            ("1970s", Some(1970)),
            ("70er", Some(1970)),
            ("seventies", Some(1970)),
            ("siebzigern", Some(1970)),
            ("neunziger", Some(1990)),
            ("10s", None),
            ("1970", None),
            ("75s", None),
            ("670s", None),
            ("seven", None),
        ] {
            assert_eq!(decade(word), expected, "{word}");
        }
    }
}
