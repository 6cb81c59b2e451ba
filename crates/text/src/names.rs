//! Cleans entity names as LLMs and rules write them.

use super::{sanitize, unescape};

/// Longest name in characters; the rest is cut.
pub const MAX_NAME_CHARS: usize = 256;
/// Longest name in UTF-8 bytes; the rest is cut.
pub const MAX_NAME_BYTES: usize = 512;

/// Returns the name in readable form; `None` if what is left is not a name.
///
/// It resolves character references, removes paragraph and line break tags, outer quotes, Markdown emphasis and control
/// characters, makes full-width letters and digits half-width, removes spaces beside CJK characters and collapses other
/// white space. Letter case stays. Numbers shorter than three digits, dotted numbers shorter than six characters and pure
/// punctuation are not names. The result is cut to 256 characters and 512 bytes.
///
/// Source: LightRAG, `normalize_entity_name`. Unlike LightRAG, this keeps the apostrophe of `O’Brien` (as `'`).
pub fn clean_name(raw: &str) -> Option<String> {
    let name = unescape(raw);
    let name: String = name.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let name = remove_tags(&sanitize(&name));
    let name: String = name.chars().filter(|&c| !is_invisible(c)).map(narrow).collect();
    let name = strip_outer(name.trim());
    let name = remove_inner_quotes(name);
    let name = join_spaces(&name);
    let name = cut(&name).trim();
    if is_no_name(name) { None } else { Some(name.to_owned()) }
}

/// Removes tags that LLMs leave in names; other angle brackets are part of the name (`Vec<T>`).
fn remove_tags(name: &str) -> String {
    const TAGS: [&str; 6] = ["<p>", "</p>", "<p/>", "<br>", "</br>", "<br/>"];
    let mut kept = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let tag = TAGS.iter().find(|tag| rest.get(..tag.len()).is_some_and(|s| s.eq_ignore_ascii_case(tag)));
        match tag {
            Some(tag) => {
                kept.push(' ');
                rest = &rest[tag.len()..];
            }
            None => {
                kept.push('<');
                rest = &rest[1..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// True for characters that are not displayed: zero-width spaces and joiners, direction marks, variation selectors, soft
/// hyphens, byte order marks.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn narrow(c: char) -> char {
    match c {
        'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '０'..='９' | '－' | '＋' | '／' | '＊' | '＃' | '＆' | '（' | '）' => {
            char::from_u32(c as u32 - 0xfee0).unwrap_or(c)
        }
        '—' => '-',
        c => c,
    }
}

/// Removes one pair of matching quotes or emphasis marks around the whole name, if the mark does not occur inside.
fn strip_outer(name: &str) -> &str {
    const PAIRS: [(&str, &str); 9] = [
        ("\"", "\""),
        ("'", "'"),
        ("“", "”"),
        ("‘", "’"),
        ("《", "》"),
        ("`", "`"),
        ("**", "**"),
        ("__", "__"),
        ("*", "*"),
    ];
    for (open, close) in PAIRS {
        let inner = name.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        if let Some(inner) = inner.filter(|inner| !inner.contains(open) && !inner.contains(close)) {
            return inner.trim();
        }
    }
    name
}

/// Removes curly quotes, except an apostrophe after a letter that closes no quote, and straight quotes beside CJK
/// characters.
fn remove_inner_quotes(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let before = |i: usize| i.checked_sub(1).and_then(|i| chars.get(i)).copied();
    let mut kept = String::with_capacity(name.len());
    let mut open = 0usize;
    for (i, &c) in chars.iter().enumerate() {
        let (previous, next) = (before(i), chars.get(i + 1).copied());
        let beside_cjk = previous.is_some_and(is_cjk) || next.is_some_and(is_cjk);
        match c {
            '‘' => open += 1,
            '’' if open > 0 && !next.is_some_and(char::is_alphabetic) => open -= 1,
            '’' if !beside_cjk && previous.is_some_and(char::is_alphabetic) => kept.push('\''),
            '“' | '”' | '’' => {}
            '"' | '\'' if beside_cjk => {}
            c => kept.push(c),
        }
    }
    kept
}

/// Collapses runs of spaces, and removes spaces beside CJK characters.
fn join_spaces(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    for word in name.split_whitespace() {
        if let (Some(last), Some(first)) = (kept.chars().next_back(), word.chars().next()) {
            let glued = match (is_cjk(last), is_cjk(first)) {
                (true, true) => true,
                (true, false) => first.is_ascii(),
                (false, true) => last.is_ascii(),
                (false, false) => false,
            };
            if !glued {
                kept.push(' ');
            }
        }
        kept.push_str(word);
    }
    kept
}

/// True for Chinese characters and kana. Korean is not included, because it puts spaces between words.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

fn cut(name: &str) -> &str {
    let end = name.char_indices().nth(MAX_NAME_CHARS).map_or(name.len(), |(at, _)| at);
    &name[..name.floor_char_boundary(end.min(MAX_NAME_BYTES))]
}

fn is_no_name(name: &str) -> bool {
    let digits = name.chars().all(|c| c.is_ascii_digit());
    let dotted = name.contains('.') && name.chars().all(|c| c.is_ascii_digit() || c == '.');
    let punctuation =
        name.chars().all(|c| matches!(c, '.' | ',' | '-' | '–' | '_' | '…' | '?' | '"' | '\'' | ' '));
    name.is_empty() || (digits && name.len() < 3) || (dotted && name.len() < 6) || punctuation
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_name(raw: &str, expected: Option<&str>) {
        assert_eq!(clean_name(raw).as_deref(), expected, "{raw:?}");
    }

    #[test]
    fn outer_quotes_and_markup_are_removed() {
        check_name("  \"Marie Curie\" ", Some("Marie Curie"));
        check_name("“Radium”", Some("Radium"));
        check_name("《红楼梦》", Some("红楼梦"));
        check_name("**Alice**", Some("Alice"));
        check_name("Alice<br/>Bob</p>", Some("Alice Bob"));
        check_name("Vec<T>", Some("Vec<T>"));
        check_name("\"A\" and \"B\"", Some("\"A\" and \"B\""));
    }

    #[test]
    fn case_is_kept_and_white_space_collapses() {
        check_name("iPhone\t 15\u{a0}Pro\n", Some("iPhone 15 Pro"));
        check_name("AT&amp;T", Some("AT&T"));
        check_name("O’Brien", Some("O'Brien"));
        check_name("‘O’Brien’ of Kelm", Some("O'Brien of Kelm"));
        check_name("the ‘old’ weir of the Brandts’", Some("the old weir of the Brandts'"));
    }

    #[test]
    fn full_width_and_cjk_spacing_are_normalised() {
        check_name("ＯｐｅｎＡＩ　１２３", Some("OpenAI 123"));
        check_name("张 三 丰", Some("张三丰"));
        check_name("清华 AI 研究院", Some("清华AI研究院"));
        check_name("삼성 전자", Some("삼성 전자"));
    }

    #[test]
    fn short_numbers_and_punctuation_are_not_names() {
        for raw in ["", "  ", "12", "1.5", "3.14", "-", "...", "\"\"", "<br>", "&nbsp;"] {
            check_name(raw, None);
        }
        check_name("1984", Some("1984"));
        check_name("10.0.0.1", Some("10.0.0.1"));
    }

    #[test]
    fn long_names_are_cut_at_a_character_boundary() {
        assert_eq!(clean_name(&"x".repeat(1000)).map(|name| name.len()), Some(256));
        assert_eq!(clean_name(&"é".repeat(1000)).map(|name| name.len()), Some(512));
        assert_eq!(clean_name(&"漢".repeat(1000)).map(|name| name.len()), Some(510));
    }

    proptest! {
        #[test]
        fn names_are_bounded_trimmed_and_free_of_control_characters(raw in any::<String>()) {
            if let Some(name) = clean_name(&raw) {
                prop_assert!(!name.is_empty() && name.len() <= MAX_NAME_BYTES);
                prop_assert_eq!(name.trim(), &name);
                prop_assert!(!name.chars().any(char::is_control));
            }
        }
    }
}
