//! The words of a text as full-text search sees them, and the searchable text of each kind of entry.

use graphloom_core::{Entity, Relation};
use rust_stemmers::{Algorithm, Stemmer};

/// Calls `emit` with each word and its byte range: lower-cased English stems; for scripts written without spaces,
/// every character and every pair of neighbours, so that any word of them is found.
pub(crate) fn for_each_word(text: &str, mut emit: impl FnMut(&str, std::ops::Range<usize>)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut word = String::new();
    let mut start = 0;
    let mut previous: Option<(usize, char)> = None;
    for (at, c) in text.char_indices() {
        let spaceless = is_spaceless(c);
        if spaceless || !c.is_alphanumeric() {
            if !word.is_empty() {
                emit(&stemmer.stem(&word), start..at);
                word.clear();
            }
        } else {
            if word.is_empty() {
                start = at;
            }
            word.extend(c.to_lowercase());
        }
        if spaceless {
            let end = at + c.len_utf8();
            emit(c.encode_utf8(&mut [0; 4]), at..end);
            if let Some((before, p)) = previous {
                emit(&String::from_iter([p, c]), before..end);
            }
        }
        previous = spaceless.then_some((at, c));
    }
    if !word.is_empty() {
        emit(&stemmer.stem(&word), start..text.len());
    }
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_word(text, |word, _| words.push(word.to_owned()));
    words
}

/// What full-text search sees of an entity.
pub(crate) fn entity_text(entity: &Entity) -> String {
    format!("{}\n{}", entity.name, entity.description)
}

/// What full-text search sees of a relation.
pub(crate) fn relation_text(relation: &Relation) -> String {
    let key = &relation.key;
    format!("{}\n{}\n{}\n{}", key.a(), key.b(), relation.keywords.join("\n"), relation.description)
}

/// Han, Kana, Hangul, Thai, Lao, Khmer and Burmese: scripts whose words are not reliably separated by spaces.
fn is_spaceless(c: char) -> bool {
    matches!(c as u32,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_case_stems_and_cjk_text_gives_characters_and_pairs() {
        assert_eq!(words("Running SARAH_CHEN's labs!"), ["run", "sarah", "chen", "s", "lab"]);
        assert_eq!(words("東京都AI"), ["東", "京", "東京", "都", "京都", "ai"]);
        assert_eq!(words(" -- "), Vec::<String>::new());
    }
}
