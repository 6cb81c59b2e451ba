//! Raised digits.

/// Returns the superscript of an ASCII digit; `None` for other characters.
pub fn raised_digit(c: char) -> Option<char> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    c.to_digit(10).map(|digit| DIGITS[digit as usize])
}
