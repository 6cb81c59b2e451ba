//! Checks document names from clients. They are stored, listed, logged and shown, but never used as a path.

use crate::behind::SEPARATOR;
use crate::problem::Problem;

/// Maximum length of a name in bytes.
const MAX_BYTES: usize = 1024;
/// Maximum length of a file name in bytes.
const MAX_FILE_BYTES: usize = 255;

/// Checks the name of an uploaded file: a single part that cannot be taken for a path.
pub(crate) fn of_file(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    if name.contains(['/', '\\']) || name.len() > MAX_FILE_BYTES {
        return Err(refused(name, "a file name must not contain / or \\ and has at most 255 bytes"));
    }
    of_text(name)
}

/// Checks the source of a text: a label, a relative path or a URL.
pub(crate) fn of_text(name: &str) -> Result<String, Problem> {
    let name = name.trim();
    if name.is_empty() || name.len() > MAX_BYTES {
        return Err(refused(name, "a name has 1 to 1024 bytes"));
    }
    if name.chars().any(is_deceptive) {
        return Err(refused(
            name,
            "control characters and invisible or direction-changing characters are not allowed",
        ));
    }
    if name.contains(SEPARATOR) || name.contains('\\') || name.starts_with('/') {
        return Err(refused(name, "\\, <SEP> and a leading / are not allowed"));
    }
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(refused(name, "the parts . and .. are not allowed"));
    }
    Ok(name.to_owned())
}

fn refused(name: &str, why: &str) -> Problem {
    let shown: String = name.chars().take(100).flat_map(char::escape_default).collect();
    Problem::bad(format!("invalid name \"{shown}\": {why}"))
}

/// Control characters, and characters that are invisible or change the writing direction.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_escape_the_folder_or_deceive_are_refused() {
        let long = "x".repeat(256);
        for name in [
            "",
            " ",
            ".",
            "..",
            "../a.md",
            "a/../b.md",
            "/etc/passwd",
            "a\\b.md",
            "..\\a.md",
            "a\0.md",
            "a\r\nb.md",
            "a\u{202e}gpj.md",
            "a<SEP>b.md",
            "C:\\a.md",
            "a/./b.md",
            "\u{feff}a.md",
            "a\u{200b}.md",
            "a\u{61c}b.md",
            "a\u{ad}.md",
            "a\u{34f}.md",
            "a\u{180e}.md",
            "\u{3164}.md",
            "a\u{e0041}.md",
        ] {
            assert!(of_text(name).is_err(), "{name:?}");
            assert!(of_file(name).is_err(), "{name:?}");
        }
        for name in ["a/b.md", "https://example.org/a.md", &long] {
            assert!(of_file(name).is_err(), "{name:?}");
            assert_eq!(of_text(name).expect("a label"), name);
        }
        for name in ["a.md", "Bericht 2026 (final).pdf", "報告.docx", "a..b.md"] {
            assert_eq!(of_file(name).expect("a name"), name);
        }
    }
}
