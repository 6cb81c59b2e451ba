//! Writes the numbers of list items.

/// How a level of a list writes its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numerals {
    Decimal,
    LowerLetter,
    UpperLetter,
    LowerRoman,
    UpperRoman,
}

impl Numerals {
    /// Returns a number in this form: `b` or `ii` for 2. After `z` comes `aa`, then `bb`. Numbers that are too large for letters
    /// or Roman numerals are decimal.
    pub(super) fn write(self, number: u32) -> String {
        let written = match self {
            Self::Decimal => None,
            Self::LowerLetter => letters(number),
            Self::UpperLetter => letters(number).map(|letters| letters.to_uppercase()),
            Self::LowerRoman => roman(number),
            Self::UpperRoman => roman(number).map(|roman| roman.to_uppercase()),
        };
        written.unwrap_or_else(|| number.to_string())
    }
}

fn letters(number: u32) -> Option<String> {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    const MOST: usize = 5;
    let index = number.checked_sub(1)? as usize;
    let (rounds, letter) = (index / LETTERS.len(), index % LETTERS.len());
    (rounds < MOST).then(|| LETTERS[letter..=letter].repeat(rounds + 1))
}

fn roman(number: u32) -> Option<String> {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let mut left = (1..4000).contains(&number).then_some(number)?;
    let mut roman = String::new();
    for (value, digits) in DIGITS {
        roman.push_str(&digits.repeat((left / value) as usize));
        left %= value;
    }
    Some(roman)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_letters_and_roman_numerals_while_they_are_short() {
        let written = |numerals: Numerals, numbers: &[u32]| {
            numbers.iter().map(|&number| numerals.write(number)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(written(Numerals::Decimal, &[0, 12]), "0 12");
        assert_eq!(written(Numerals::LowerLetter, &[0, 1, 26, 27, 54, 4_000_000]), "0 a z aa bbb 4000000");
        assert_eq!(written(Numerals::UpperLetter, &[28]), "BB");
        assert_eq!(written(Numerals::LowerRoman, &[0, 4, 1949, 4000]), "0 iv mcmxlix 4000");
        assert_eq!(written(Numerals::UpperRoman, &[19]), "XIX");
    }
}
