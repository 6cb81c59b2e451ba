//! Turns names into the keys by which mentions are merged.

use graphloom_core::EntityKey;
use unicode_normalization::UnicodeNormalization;

use super::names::is_invisible;

/// Maximum number of rounds until a key maps to itself; it usually takes one or two.
const MAX_ROUNDS: usize = 16;

/// Returns the key of a name: NFKC, upper case, no leading articles or possessive endings, words joined by `_`.
///
/// - `John Doe` is `JOHN_DOE`, `the company` is `COMPANY`, `John's team` is `JOHN_TEAM`.
/// - White space, hyphens, slashes, brackets, quotes, commas and the like only separate words: `Wi-Fi` is `WI_FI`.
///   Apostrophes inside words are removed: `O'Brien` is `OBRIEN`.
/// - Signs that distinguish names stay: `C`, `C++`, `C#`, `A*`, `AT&T`, `50%`, `$100`, `@user`. So do dots inside and
///   before words (`NODE.JS`, `GPT_3.5`, `.NET`), but not in acronyms (`U.S.` is `US`) and not at the end (`INC`).
/// - An article that is part of a compound or an initial stays: `A-Team` is `A-TEAM`, `A/B test` is
///   `A/B_TEST`, `A. Smith` is `A._SMITH`.
/// - All scripts are kept; marks and symbols count as letters.
/// - A name that consists only of articles keeps them (`The The` is `THE_THE`), and a name that consists only of
///   punctuation keeps it. `None` if nothing visible is left.
///
/// The key of a key is the key itself. A key contains no white space or control characters.
pub fn entity_key(name: &str) -> Option<EntityKey> {
    let mut key = fold(name);
    for _ in 0..MAX_ROUNDS {
        if is_plain(&key) {
            break;
        }
        let again = fold(&key);
        if again == key {
            break;
        }
        key = again;
    }
    if key.is_empty() { None } else { Some(EntityKey::from_stored(key)) }
}

/// True if a key certainly maps to itself, as most keys do; the others are folded again to find out.
fn is_plain(key: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let mut words = key.split('_');
    words.next().is_some_and(|first| !is_article(first) && is_word(first)) && words.all(is_word)
}

fn fold(name: &str) -> String {
    let name: String = name.chars().filter_map(unify).collect();
    // ASCII text is already in NFKC.
    let name: String = match name.is_ascii() {
        true => name.to_ascii_uppercase(),
        false => name.nfkc().flat_map(char::to_uppercase).nfkc().filter_map(unify).collect(),
    };
    let mut words: Vec<String> = name.split(is_space).flat_map(split_compound).collect();
    words.retain(|word| !word.is_empty());
    let articles = words.iter().take_while(|word| is_article(word)).count();
    if articles < words.len() {
        words.drain(..articles);
    }
    // The initial of `A. Smith` keeps its dot only where it could be mistaken for an article.
    let last = words.len().saturating_sub(1);
    for (i, word) in words.iter_mut().enumerate() {
        if word.ends_with('.') && (i > 0 || i == last) {
            word.pop();
        }
    }
    if words.is_empty() {
        words = name.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    }
    words.join("_")
}

/// Replaces look-alike characters by one of them; `None` for invisible characters and signs such as `™`, which are dropped.
fn unify(c: char) -> Option<char> {
    match c {
        '’' | '‘' | '‛' | 'ʼ' | 'ʻ' | 'ʹ' | '＇' | '´' | '`' => Some('\''),
        '™' | '®' | '©' | '℠' => None,
        c if is_invisible(c) => None,
        c if c.is_control() && !c.is_whitespace() => None,
        c => Some(c),
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '_'
}

/// Splits a part without spaces into words: `COCA-COLA` has two, `A-TEAM` one.
fn split_compound(part: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut glue = String::new();
    for piece in part.split_inclusive(is_separator) {
        let separator = piece.chars().next_back().filter(|&c| is_separator(c));
        let word = trim_word(piece.strip_suffix(is_separator).unwrap_or(piece));
        match words.last_mut() {
            Some(last) if !glue.is_empty() && !word.is_empty() => {
                last.push_str(&glue);
                last.push_str(&word);
            }
            _ => words.push(word),
        }
        let article = words.len() == 1 && words.first().is_some_and(|word| is_article(word));
        glue.clear();
        if article {
            glue.extend(separator.filter(|&c| c == '-' || c == '/'));
        }
    }
    words
}

/// True for punctuation that only separates words.
fn is_separator(c: char) -> bool {
    let ascii = "-/\\|,;:!?\"()[]{}<>";
    ascii.contains(c)
        || matches!(c, '\u{a1}' | '\u{a6}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
            | '\u{2010}'..='\u{2027}' | '\u{2032}'..='\u{205e}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}'
            | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}' | '\u{965}' | '\u{589}')
}

/// Removes possessive endings, apostrophes, and signs that mean nothing in their position.
fn trim_word(word: &str) -> String {
    let mut word = word.trim_matches('\'');
    while let Some(owner) = word.strip_suffix("'S") {
        word = owner.trim_matches('\'');
    }
    let word: String = word.chars().filter(|&c| c != '\'').collect();
    let word = trim_stars(&word);
    // `#MeToo` is `MeToo`, `C#` is not `C`.
    let word = word.trim_start_matches('#');
    let word = trim_dots(word);
    if is_acronym(&word) { word.replace('.', "") } else { word }
}

/// Removes Markdown emphasis: leading stars, and at most as many trailing ones.
fn trim_stars(word: &str) -> &str {
    let inner = word.trim_start_matches('*');
    let mut emphasis = word.len() - inner.len();
    let mut inner = inner;
    while let Some(shorter) = inner.strip_suffix('*').filter(|_| emphasis > 0) {
        inner = shorter;
        emphasis -= 1;
    }
    inner
}

/// Removes trailing dots, except the one of a lone `A.`, and leading dots, except a single one before a letter or digit.
fn trim_dots(word: &str) -> String {
    let body = word.trim_end_matches(is_dot);
    if is_article(body) && body.len() == 1 && body.len() < word.len() {
        return format!("{body}.");
    }
    let bare = body.trim_start_matches(is_dot);
    let dotted = bare.len() + 1 == body.len() && bare.starts_with(char::is_alphanumeric);
    if dotted { format!(".{bare}") } else { bare.to_owned() }
}

fn is_dot(c: char) -> bool {
    c == '.' || c == '…' || c == '。'
}

/// True for letters with dots between them, such as `U.S`.
fn is_acronym(word: &str) -> bool {
    let mut letters = word.split('.');
    word.contains('.')
        && !word.starts_with('.')
        && !word.ends_with('.')
        && letters.all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

fn is_article(word: &str) -> bool {
    matches!(word, "A" | "AN" | "THE")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_keys(pairs: &[(&str, &str)]) {
        for (name, expected) in pairs {
            let key = entity_key(name).map(|key| key.as_str().to_owned()).unwrap_or_default();
            assert_eq!(key, *expected, "{name:?}");
        }
    }

    #[test]
    fn articles_possessives_and_case_do_not_matter() {
        check_keys(&[
            ("John Doe", "JOHN_DOE"),
            ("the company", "COMPANY"),
            ("The  Company's", "COMPANY"),
            ("John's team", "JOHN_TEAM"),
            ("John’s team", "JOHN_TEAM"),
            ("the companies' rules", "COMPANIES_RULES"),
            ("Sarah Chen", "SARAH_CHEN"),
            ("\"sarah\tchen\"", "SARAH_CHEN"),
            ("SARAH_CHEN", "SARAH_CHEN"),
            ("O'Brien", "OBRIEN"),
            ("Wi-Fi", "WI_FI"),
            ("**Alice**", "ALICE"),
            ("Windows™", "WINDOWS"),
        ]);
    }

    #[test]
    fn signs_that_distinguish_names_stay() {
        check_keys(&[
            ("C", "C"),
            ("C++", "C++"),
            ("C#", "C#"),
            ("A*", "A*"),
            ("A* search", "A*_SEARCH"),
            ("AT&T", "AT&T"),
            ("Johnson & Johnson", "JOHNSON_&_JOHNSON"),
            (".NET", ".NET"),
            ("Node.js", "NODE.JS"),
            ("GPT-3.5", "GPT_3.5"),
            ("50%", "50%"),
            ("U.S.", "US"),
            ("Apple Inc.", "APPLE_INC"),
            ("#MeToo", "METOO"),
            ("H₂O", "H2O"),
        ]);
    }

    #[test]
    fn an_article_inside_a_compound_or_initial_stays() {
        check_keys(&[
            ("The A-Team", "A-TEAM"),
            ("A/B test", "A/B_TEST"),
            ("An-225", "AN-225"),
            ("A. Smith", "A._SMITH"),
            ("A Smith", "SMITH"),
            ("Vitamin A.", "VITAMIN_A"),
            ("Plan A", "PLAN_A"),
        ]);
    }

    #[test]
    fn names_made_of_stopwords_or_punctuation_keep_them() {
        check_keys(&[
            ("The The", "THE_THE"),
            ("A", "A"),
            ("A.", "A"),
            ("???", "???"),
            ("++", "++"),
            ("#", "#"),
        ]);
        for nothing in ["", " \t\n", "_", "\u{200b}", "\u{1}"] {
            assert_eq!(entity_key(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn every_script_has_keys() {
        check_keys(&[
            ("ﬁnance", "FINANCE"),
            ("Ærø", "ÆRØ"),
            ("straße", "STRASSE"),
            ("Москва", "МОСКВА"),
            ("北京大学", "北京大学"),
            ("约翰·史密斯", "约翰_史密斯"),
            ("（株）トヨタ", "株_トヨタ"),
            ("हिन्दी", "हिन्दी"),
            ("محمد علي", "محمد_علي"),
            ("e\u{301}cole", "ÉCOLE"),
            ("🚀", "🚀"),
        ]);
    }

    #[test]
    fn a_key_is_its_own_key_for_every_letter_and_sign() {
        for c in '\0'..='\u{2fff}' {
            for name in [c.to_string(), format!("a{c}B"), format!("the {c}'s{c} x")] {
                if let Some(key) = entity_key(&name) {
                    assert_eq!(entity_key(key.as_str()), Some(key), "{name:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_key_is_its_own_key(name in any::<String>()) {
            if let Some(key) = entity_key(&name) {
                prop_assert_eq!(entity_key(key.as_str()), Some(key.clone()));
                prop_assert!(!key.as_str().chars().any(|c| c.is_whitespace() || c.is_control()));
            }
        }

        #[test]
        fn a_key_of_awkward_words_is_its_own_key(name in "([aA]|[aA]n|[tT]he|'s?|[.*#+_/& -]|x|é){0,12}") {
            if let Some(key) = entity_key(&name) {
                prop_assert_eq!(entity_key(key.as_str()), Some(key.clone()));
            }
        }
    }
}
