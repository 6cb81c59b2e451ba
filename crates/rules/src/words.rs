//! Splits text into words for full-text search, and builds the searchable text of each kind of entry.

use std::borrow::Cow;

use graphloom_core::{Entity, Relation};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{
    canonical_combining_class, decompose_canonical, decompose_compatible, is_combining_mark,
};

/// Calls `emit` with each word, in order.
///
/// - A word is a run of letters, digits and their combining marks. Words are folded: spellings that differ only in case,
///   accents, width, ligatures or encoding give the same word. An apostrophe ends a word (`l'eau` contains `eau`); dots
///   between single letters do not (`U.S.A.` is `usa`).
/// - If a folded word consists only of the letters a to z, it is reduced to its English stem, so that its inflected forms
///   match.
/// - Scripts written without spaces give every character and every pair of neighbors, so that any of their words is found.
pub fn for_each_word(text: &str, mut emit: impl FnMut(&str)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut finish = |word: &mut String| {
        if word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !word.is_empty() {
            emit(&stemmer.stem(word));
        } else if !word.is_empty() {
            emit(word);
        }
        word.clear();
    };
    let text = compatible(text);
    let mut word = String::new();
    // Start of the word, or of what follows its last dot.
    let mut start = None;
    let mut previous: Option<char> = None;
    for (at, c) in text.char_indices() {
        if is_ignorable(c) {
            continue;
        }
        let spaceless = is_spaceless(c);
        if is_of_word(c) {
            start.get_or_insert(at);
            fold(c, &mut word);
        } else if c == '.' && start.is_some_and(|start| joins_initials(&text[start..at], &text[at + 1..])) {
            start = None;
        } else {
            finish(&mut word);
            start = None;
        }
        if spaceless {
            word.push(c);
            finish(&mut word);
            if let Some(before) = previous {
                word.extend([before, c]);
                finish(&mut word);
            }
        }
        previous = spaceless.then_some(c);
    }
    finish(&mut word);
}

/// Returns the words of a text, in order.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Returns the number of words in a text as scores use it: exact up to 40; above, what exceeds 24 is rounded down to four
/// significant bits. The full-text index of the embedded store keeps this in one byte.
pub fn rounded_length(words: u32) -> u32 {
    const EXACT: u32 = 40;
    const FREE: u32 = 24;
    if words < EXACT {
        return words;
    }
    let beyond = words - FREE;
    let low_bits = beyond.ilog2() - 3;
    FREE + (beyond >> low_bits << low_bits)
}

/// Returns the text of an entity for full-text search.
pub fn entity_text(entity: &Entity) -> String {
    format!("{}\n{}", entity.name, entity.description)
}

/// Returns the text of a relation for full-text search.
pub fn relation_text(relation: &Relation) -> String {
    let key = &relation.key;
    format!("{}\n{}\n{}\n{}", key.a(), key.b(), relation.keywords.join("\n"), relation.description)
}

/// Returns the text in normal form KC: one encoding for each character, and plain characters instead of full-width and
/// half-width ones, ligatures and the like.
fn compatible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || unicode_normalization::is_nfkc(text) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        // A sign that decomposes into letters becomes a word of its own: `Acme™` is not `acmetm`.
        let mut has_letters = false;
        if !c.is_ascii() && !c.is_alphanumeric() {
            decompose_compatible(c, |part| has_letters |= part.is_alphanumeric());
        }
        if has_letters {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    Cow::Owned(spaced.nfkc().collect())
}

/// Appends the character without its case and marks.
fn fold(c: char, word: &mut String) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    decompose_canonical(c, |part| {
        if is_combining_mark(part) {
            if is_vowel(part) {
                word.push(part);
            }
            return;
        }
        // Through upper case, so that `ß` becomes `ss`, and `ς` becomes `σ`.
        let capitals = part.to_lowercase().flat_map(char::to_uppercase);
        for letter in capitals.flat_map(char::to_lowercase) {
            match plain(letter) {
                Some(plain) => word.push_str(plain),
                None => word.push(letter),
            }
        }
    });
}

/// Returns the usual spelling of a letter that Unicode does not decompose and most keyboards lack.
fn plain(letter: char) -> Option<&'static str> {
    let plain = match letter {
        'ł' => "l",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'ı' => "i",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ٱ' => "ا",
        'ى' | 'ی' => "ي",
        'ة' => "ه",
        'ک' => "ك",
        // Tatweel, which only stretches a word.
        'ـ' => "",
        '٠' | '۰' => "0",
        '١' | '۱' => "1",
        '٢' | '۲' => "2",
        '٣' | '۳' => "3",
        '٤' | '۴' => "4",
        '٥' | '۵' => "5",
        '٦' | '۶' => "6",
        '٧' | '۷' => "7",
        '٨' | '۸' => "8",
        '٩' | '۹' => "9",
        _ => return None,
    };
    Some(plain)
}

/// True if a mark is a vowel of its script or joins consonants, as in scripts of India and Tibet; other marks only modify a
/// letter.
fn is_vowel(mark: char) -> bool {
    match canonical_combining_class(mark) {
        0 => mark.is_alphabetic(),
        9 | 84..=132 => true,
        _ => false,
    }
}

/// True if a dot after `before` only abbreviates: single letters on both sides.
fn joins_initials(before: &str, after: &str) -> bool {
    let end = after.find(|c| !is_of_word(c)).unwrap_or(after.len());
    is_one_letter(before) && is_one_letter(&after[..end])
}

fn is_one_letter(text: &str) -> bool {
    let mut letters = text.chars().filter(|&c| !is_combining_mark(c));
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}

/// True if a character belongs to a word of a script that separates words.
fn is_of_word(c: char) -> bool {
    let is_apostrophe = matches!(c, '\u{2bb}' | '\u{2bc}');
    !is_apostrophe && !is_spaceless(c) && (c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c)))
}

/// True for characters that are invisible inside a word: soft hyphens, joiners, byte order marks.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// True for Han, Kana, Hangul, Thai, Lao, Khmer and Burmese: scripts that do not reliably separate words by spaces.
fn is_spaceless(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_lower_case_stems_and_cjk_text_becomes_characters_and_pairs() {
        assert_eq!(words("Running SARAH_CHEN's labs!"), ["run", "sarah", "chen", "s", "lab"]);
        assert_eq!(words("東京都AI"), ["東", "京", "東京", "都", "京都", "ai"]);
        assert_eq!(words("I don't, HTTP2"), ["i", "don", "t", "http2"]);
        assert_eq!(words(" -- "), Vec::<String>::new());
    }

    #[test]
    fn words_are_folded_and_only_words_of_plain_letters_are_stemmed() {
        assert_eq!(words("Müllers STRAẞE, Œuvre"), ["muller", "strass", "oeuvr"]);
        assert_eq!(words("Ελλάδας ёлки"), ["ελλαδασ", "елки"]);
        assert_eq!(words("أَحْمَد مدرسة محـمد"), ["احمد", "مدرسه", "محمد"]);
        assert_eq!(words("हिन्दी क़लम"), ["हिन्दी", "कलम"]);
        assert_eq!(words("ｶﾞｽ ﬁne ＮＡＳＡ"), ["ガ", "ス", "ガス", "fine", "nasa"]);
        assert_eq!(words("Acme™ in\u{ad}side"), ["acm", "tm", "insid"]);
    }

    #[test]
    fn dots_between_single_letters_join_them() {
        assert_eq!(words("U.S.A. U.S., e.g. É.U."), ["usa", "us", "eg", "eu"]);
        assert_eq!(words("U.S.Army node.js 1.2 a. b"), ["us", "armi", "node", "js", "1", "2", "a", "b"]);
        assert_eq!(words("...A.B"), ["ab"]);
    }

    proptest! {
        #[test]
        fn words_do_not_depend_on_case_or_character_encoding(text in "\\PC{0,40}") {
            let expected = words(&text);
            prop_assert_eq!(words(&text.to_lowercase()), expected.clone());
            prop_assert_eq!(words(&text.nfd().collect::<String>()), expected.clone());
            prop_assert_eq!(words(&text.nfc().collect::<String>()), expected);
        }
    }
}
