//! Writes raised text so that it stays apart from the word or number before it.

use graphloom_text::raised_digit;

/// Returns raised text as plain text.
///
/// - Digits and signs become superscripts, so that `10` with a raised `5` is `10⁵` and not `105`, and the number of a note is
///   not part of its word: `million³`.
/// - Another word that begins with a digit or sign follows a mark: `2^3k`.
/// - Other text stays as it is, as in `1st`, `Acme™` and `[3]`.
pub(crate) fn superscript(text: &str) -> String {
    let kept = |c: char| c == ',' || c.is_whitespace();
    let raised: Option<String> = text.chars().map(|c| raised(c).or(kept(c).then_some(c))).collect();
    let word = text.trim();
    let is_power = word.starts_with(|c: char| raised_digit(c).is_some() || matches!(c, '+' | '-' | '−'))
        && word.chars().any(char::is_alphanumeric)
        && !word.contains(char::is_whitespace);
    match raised {
        Some(raised) => raised,
        None if is_power => format!("^{word}"),
        None => text.to_owned(),
    }
}

fn raised(c: char) -> Option<char> {
    match c {
        '+' => Some('⁺'),
        '-' | '−' | '–' => Some('⁻'),
        'n' => Some('ⁿ'),
        c => raised_digit(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_raised(text: &str, expected: &str) {
        assert_eq!(superscript(text), expected);
    }

    #[test]
    fn raised_digits_and_signs_become_superscripts() {
        check_raised("5", "⁵");
        check_raised("-12", "⁻¹²");
        check_raised("2+", "²⁺");
        check_raised("1, 2", "¹, ²");
        check_raised("2n", "²ⁿ");
    }

    #[test]
    fn other_raised_words_never_join_a_number() {
        check_raised("3k", "^3k");
        check_raised("-x", "^-x");
        check_raised("1.5", "^1.5");
    }

    #[test]
    fn raised_letters_and_sentences_stay_as_they_are() {
        for text in ["st", "nd", "TM", "*", "[3]", "(3)", "", " ", "2 Source: the report of 2024."] {
            check_raised(text, text);
        }
    }
}
