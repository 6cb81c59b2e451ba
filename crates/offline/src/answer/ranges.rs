//! Ranges of numbers in a line: `80-89`, `10 to 14`, `3至5`.

use std::ops::RangeInclusive;

use crate::scripts::has_no_spaces;

/// Signs and words between the ends of a range.
const BETWEEN: &[&str] = &["-", "–", "—", "~", "～", "to", "bis", "through", "至", "到"];

/// A number of a question, and its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity<'t> {
    number: u32,
    /// The text of the term behind the number, in languages without spaces: `岁` of `85岁`. It must also follow the range.
    unit: &'t str,
}

impl<'t> Quantity<'t> {
    /// Returns the number with which a term begins; `None` if it begins with none, or is a code or a part of one: `4G`, `INC-41`.
    ///
    /// - `question`: the question with the term.
    pub(super) fn of(question: &str, term: &'t str, unspaced: bool) -> Option<Self> {
        let (number, unit) = number_at_start(term)?;
        let is_part =
            question.match_indices(term).all(|(at, _)| is_inside(question[..at].chars().next_back()));
        (!is_part && (unit.is_empty() || unspaced)).then_some(Self { number, unit: unit.trim_start() })
    }

    /// True if a text contains a range that this number lies in.
    pub(super) fn is_in_range(&self, text: &str) -> bool {
        ranges(text)
            .any(|(range, behind)| range.contains(&self.number) && behind.trim_start().starts_with(self.unit))
    }
}

/// Returns the ranges in a text, each with the text behind it. The lower end comes first, so that `2024-10-03` is none.
fn ranges(text: &str) -> impl Iterator<Item = (RangeInclusive<u32>, &str)> {
    let starts = text.char_indices().filter(|(_, c)| c.is_ascii_digit());
    starts.filter(|(at, _)| !is_inside(text[..*at].chars().next_back())).filter_map(|(at, _)| {
        let (first, behind) = number_at_start(&text[at..])?;
        // `80岁至89岁`
        let behind =
            behind.trim_start_matches(|c: char| !c.is_ascii() && c.is_alphabetic() && !"至到".contains(c));
        let behind = behind.trim_start();
        let behind = BETWEEN.iter().find_map(|between| behind.strip_prefix(between))?;
        let (last, behind) = number_at_start(behind.trim_start())?;
        let goes_on = behind.trim_start_matches(['-', '–', '/', ':']);
        let is_code = goes_on.len() < behind.len() && goes_on.starts_with(|c: char| c.is_ascii_digit());
        (first < last && !is_code).then_some((first..=last, behind))
    })
}

/// True if a number behind this character is a part of a code, a date or another number. A Chinese text has no spaces.
fn is_inside(before: Option<char>) -> bool {
    before.is_some_and(|c| {
        "-.,/:–".contains(c) || c.is_alphanumeric() && !has_no_spaces(c.encode_utf8(&mut [0; 4]))
    })
}

/// Returns the whole number at the start of a text, and the text behind it; `None` for none and for fractions.
fn number_at_start(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, behind) = text.split_at(end);
    let mut next = behind.chars();
    let is_fraction =
        matches!(next.next(), Some('.' | ',')) && next.next().is_some_and(|c| c.is_ascii_digit());
    digits.parse().ok().filter(|_| !is_fraction).map(|number| (number, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(term: &str, unspaced: bool, text: &str) -> bool {
        Quantity::of(term, term, unspaced).is_some_and(|number| number.is_in_range(text))
    }

    #[test]
    fn a_number_lies_in_a_range_with_signs_or_words() {
        for text in
            ["80-89: B", "Punkte: 80 – 89 | Note: B", "80 to 89 points", "von 80 bis 89 Punkten", "80至89分"]
        {
            assert!(holds("85", false, text), "{text}");
            assert!(holds("89", false, text), "{text}");
            assert!(!holds("90", false, text), "{text}");
        }
    }

    #[test]
    fn in_chinese_the_unit_must_be_the_same() {
        assert!(holds("85岁", true, "80—89岁：每月100元"));
        assert!(holds("85岁", true, "80岁至89岁：每月100元"));
        assert!(!holds("85岁", true, "80—89分"));
    }

    #[test]
    fn dates_phone_numbers_fractions_and_codes_are_no_ranges() {
        for text in
            ["2024-10-30", "8632-5519", "1.5-3.5", "RX80-89", "80-89-12", "89-80", "10/12-14", "12:30-14:00"]
        {
            for number in ["13", "25", "85", "3", "2024"] {
                assert!(!holds(number, false, text), "{number} in {text}");
            }
        }
        assert!(!holds("4G", false, "3-5"));
        assert_eq!(Quantity::of("which lasted longer, inc-41 or inc-45?", "41", false), None);
    }
}
