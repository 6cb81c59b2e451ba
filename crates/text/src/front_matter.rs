//! Finds the properties above the text of a document.

/// Returns the length of the front matter of a document in bytes: at least two lines such as `date: 2031-05-02`, with the indented
/// lines and list items below them, before a blank line. 0 if there is none.
pub fn front_matter(text: &str) -> usize {
    // `Title` begins no letter: its properties begin with `From` or `Date`.
    let is_capitalized = text.starts_with("Title: ");
    let is_name = |c: char| {
        c.is_ascii_lowercase() || matches!(c, '-' | '_') || (is_capitalized && c.is_ascii_uppercase())
    };
    let is_property = |line: &str| {
        line.split_once(':').is_some_and(|(name, value)| {
            !name.is_empty() && name.chars().all(is_name) && (value.is_empty() || value.starts_with(' '))
        })
    };
    let (mut end, mut count) = (0, 0);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare.is_empty() {
            return if count >= 2 { end } else { 0 };
        }
        let is_below = count > 0 && bare.starts_with([' ', '\t', '-']);
        if !is_below && !is_property(bare) {
            break;
        }
        count += usize::from(!is_below);
        end += line.len();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_with_their_lists_end_at_a_blank_line() {
        let properties = "title: Old Weir\nmenu:\n  main:\n    weight: 10\ntags:\n- water\n";
        let capitalized = "Title: Old Weir\nDate: today\n";
        assert_eq!(front_matter(&format!("{capitalized}\nThe weir is old.")), capitalized.len());
        assert_eq!(front_matter(&format!("{properties}\nThe weir is old.")), properties.len());
        for text in [
            "name: Ada\n\nShe left.",
            "Date: today\nFrom: Ada\n\nHello.",
            "title: Weir\nlang: en\nIt is old.",
            "",
        ] {
            assert_eq!(front_matter(text), 0, "{text}");
        }
    }
}
