//! Finds what an acronym stands for: `Bug Tracking System (BTS)`.

use super::evidence::Passages;
use super::lines::LineForm;
use super::words::any_word;

/// Expressions that ask what an acronym stands for, in lowercase.
const ASKING: [&str; 17] = [
    "stand for",
    "stands for",
    "short for",
    "acronym",
    "abbreviation",
    "full form",
    "wofür steht",
    "wofür stehen",
    "für was steht",
    "abkürzung",
    "akronym",
    "ausgeschrieben",
    "代表什么",
    "全称",
    "缩写",
    "简称",
    "正式名称",
];
/// Words of an expansion that have no letter in the acronym.
const SMALL: &str =
    "a an and at by for from in is of on or the to und für von der die das des im am de la le du et";
/// Maximum number of letters of an acronym.
const MAX_LETTERS: usize = 8;
/// Maximum number of words of an expansion.
const MAX_WORDS: usize = 2 * MAX_LETTERS;
/// Maximum number of words between an acronym and its expansion: `XDP is an acronym that stands for`.
const MAX_BETWEEN: usize = 8;

/// A word in Latin letters or digits.
#[derive(Clone, Copy)]
struct Part<'a> {
    at: usize,
    text: &'a str,
}

/// Returns the acronym in a question that asks what it stands for.
pub(super) fn requested(question: &str) -> Option<String> {
    let lower = question.to_lowercase();
    let asking = ASKING.iter().find(|asking| lower.contains(**asking))?;
    let parts = parts(question);
    if let Some(part) = parts.iter().find(|part| is_acronym(part.text)) {
        return Some(singular(part.text).to_owned());
    }
    // `what does dhcp stand for`
    let at = lower.find(asking).filter(|_| lower.len() == question.len())?;
    let before = parts.iter().rev().find(|part| part.at < at)?;
    let may_be = asking.starts_with("stand") && before.text.len() <= MAX_LETTERS;
    may_be.then(|| before.text.to_uppercase())
}

/// Returns the first line that says what an acronym stands for; `None` if there is none.
pub(super) fn line(reading: &Passages<'_>, acronym: &str) -> Option<usize> {
    let lines = reading.lines.iter().enumerate().filter(|(_, line)| line.form != LineForm::Cell);
    let mut found = lines.filter(|(_, line)| expands(line.text, acronym)).map(|(at, _)| at).peekable();
    let first = *found.peek()?;
    // A sentence says more than a heading.
    Some(found.find(|at| !matches!(reading.lines[*at].form, LineForm::Heading(_))).unwrap_or(first))
}

/// True if most letters of a word are capitals.
fn is_acronym(word: &str) -> bool {
    let bare = singular(word);
    let capitals = bare.chars().filter(|c| c.is_ascii_uppercase()).count();
    (2..=MAX_LETTERS).contains(&bare.len()) && capitals >= 2 && 2 * capitals > bare.len()
}

/// Returns `URL` for `URLs`.
fn singular(word: &str) -> &str {
    word.strip_suffix('s')
        .filter(|bare| bare.len() >= 2 && bare.ends_with(|c: char| c.is_ascii_uppercase()))
        .unwrap_or(word)
}

/// Returns the words of a text in ASCII letters and digits; other scripts separate them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric() && !is_wide(c), start) {
            (true, None) => start = Some(at),
            (false, Some(first)) => {
                found.push(Part { at: first, text: &text[first..at] });
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// True for letters of scripts that are written without spaces.
fn is_wide(c: char) -> bool {
    c >= '\u{2e80}'
}

/// True if a text has the words of an acronym before it, as in `Remote Lamp Protocol (RLP)`, or after it.
fn expands(text: &str, acronym: &str) -> bool {
    let parts = parts(text);
    let letters: Vec<char> =
        acronym.chars().filter(|c| c.is_ascii_alphabetic()).map(|c| c.to_ascii_lowercase()).collect();
    let mut places = (0..parts.len()).filter(|at| singular(parts[*at].text) == acronym);
    letters.len() >= 2
        && places.any(|at| {
            is_spelled_before(text, &parts, at, &letters) || is_spelled_after(text, &parts, at, &letters)
        })
}

/// True if the word at `at` opens a parenthesis and the words before it spell the letters.
fn is_spelled_before(text: &str, parts: &[Part<'_>], at: usize, letters: &[char]) -> bool {
    let mut starts = at.saturating_sub(MAX_WORDS)..at;
    text[..parts[at].at].ends_with(['(', '（']) && starts.any(|start| spells(&parts[start..at], letters))
}

/// True if words that spell the letters follow the word at `at`: in parentheses, with capitals, or after `stands for`.
fn is_spelled_after(text: &str, parts: &[Part<'_>], at: usize, letters: &[char]) -> bool {
    const STATES: &str = "stands stand short steht meaning acronym";
    /// Words in the parentheses before the expansion, as in `RLP (for Remote Lamp Protocol)`.
    const MAX_INSIDE: usize = 2;
    let behind = text[parts[at].at + parts[at].text.len()..].trim_start_matches(['"', '”', '’', ' ']);
    let is_parenthesized = behind.starts_with(['(', '（']);
    (at + 1..parts.len()).take(MAX_BETWEEN).any(|start| {
        let between = &parts[at + 1..start];
        let is_marked = between.iter().any(|part| any_word(STATES, &part.text.to_lowercase()))
            || is_parenthesized && between.len() <= MAX_INSIDE;
        (start + 1..=parts.len()).take(MAX_WORDS).any(|end| {
            let words = &parts[start..end];
            (is_marked || words.iter().all(|word| is_small(word) || has_capital(word)))
                && spells(words, letters)
        })
    })
}

/// True if the words spell the letters: each word gives its first letter and any number of its further capitals, as in
/// `Secure SHell`, or nothing if it is small.
fn spells(words: &[Part<'_>], letters: &[char]) -> bool {
    fn spell(words: &[Part<'_>], letters: &[char]) -> bool {
        let Some((word, words)) = words.split_first() else { return letters.is_empty() };
        let capitals = word.text.chars().skip(1).filter(|c| c.is_uppercase());
        let given: Vec<char> =
            word.text.chars().take(1).chain(capitals).map(|c| c.to_ascii_lowercase()).collect();
        let fits =
            |count: usize| letters.get(..count) == Some(&given[..count]) && spell(words, &letters[count..]);
        (1..=given.len()).any(fits) || is_small(word) && spell(words, letters)
    }
    const MIN_WORDS: usize = 2;
    (MIN_WORDS..=2 * letters.len()).contains(&words.len()) && !is_small(&words[0]) && spell(words, letters)
}

fn is_small(word: &Part<'_>) -> bool {
    any_word(SMALL, &word.text.to_lowercase())
}

fn has_capital(word: &Part<'_>) -> bool {
    word.text.contains(|c: char| c.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::super::test_support::reply_from;
    use super::*;

    #[test]
    fn the_words_of_an_acronym_come_before_or_after_it() {
        for (text, acronym) in [
            ("The project keeps its faults in the Fault Tracking System (FTS).", "FTS"),
            ("RLP (for Remote Lamp Protocol) is a protocol of lighthouses.", "RLP"),
            ("The RLP, the Remote Lamp Protocol, is old.", "RLP"),
            ("The SSH (Secure SHell) protocol was designed with care.", "SSH"),
            ("GNU is a recursive acronym, standing for “GNU is Not Unix”.", "GNU"),
            ("Die Küste nutzt das LKV (Leuchtfeuer-Kontroll-Verfahren).", "LKV"),
            ("灯塔使用 RLP（Remote Lamp Protocol）协议。", "RLP"),
            ("OL stands for offices of light.", "OL"),
        ] {
            assert!(expands(text, acronym), "{text}");
        }
        for (text, acronym) in [
            ("The FTS is a box that stands for years in the hall.", "FTS"),
            ("Use RLP to read lamps per hour.", "RLP"),
            ("The Remote Lamp Protocol has no number.", "RLP"),
        ] {
            assert!(!expands(text, acronym), "{text}");
        }
    }

    #[test]
    fn a_question_names_the_acronym_that_it_asks_about() {
        assert_eq!(requested("What does RLP stand for?").as_deref(), Some("RLP"));
        assert_eq!(requested("what does rlp stand for").as_deref(), Some("RLP"));
        assert_eq!(requested("Wofür steht die Abkürzung LKV?").as_deref(), Some("LKV"));
        assert_eq!(requested("RLP 的全称是什么？").as_deref(), Some("RLP"));
        assert_eq!(requested("What does the committee stand for?"), None);
        assert_eq!(requested("Who runs RLP?"), None);
    }

    #[test]
    fn an_acronym_without_its_words_has_no_answer() {
        let lamps = "The Remote Lamp Protocol (RLP) switches lamps. Its lamps stand on the pier.";
        let (reply, texts) = reply_from(&[lamps], "What does RLP stand for?");
        assert!(matches!(reply, Reply::Answer(_)), "{reply:?}");
        assert_eq!(texts, ["The Remote Lamp Protocol (RLP) switches lamps."]);
        let (reply, _) =
            reply_from(&["The RLP switches lamps that stand on the pier."], "What does RLP stand for?");
        assert!(matches!(reply, Reply::Closest(_)), "{reply:?}");
    }
}
