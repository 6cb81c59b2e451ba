//! Words that tell the same of two things, irregular forms included: `emigrated` for `moved`.
//!
//! Each line of the lists is a family. Opposite ends of a relation are never in one: who buys does not sell.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::languages::Language;
use super::roots::Roots;

/// The families of a language.
pub(super) struct Families {
    families: Vec<&'static str>,
    /// Of each root, the places of its families.
    of_root: HashMap<String, Vec<u16>>,
}

impl Families {
    /// Those of a language; the English ones where a language has none.
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::German => &GERMAN,
            Language::Chinese => &CHINESE,
            _ => &ENGLISH,
        }
    }

    fn read(language: Language, list: &'static str) -> Self {
        let roots = Roots::of(language);
        let families: Vec<&str> = list.lines().collect();
        let mut of_root: HashMap<String, Vec<u16>> = HashMap::new();
        for (family, at) in families.iter().zip(0_u16..) {
            for word in family.split_whitespace() {
                // `heiratete` has the stem of `heiraten` as its root.
                let stem = (language == Language::German).then(|| roots.stem(word));
                for root in stem.into_iter().chain([roots.root(word)]) {
                    let of_word = of_root.entry(root).or_default();
                    if !of_word.contains(&at) {
                        of_word.push(at);
                    }
                }
            }
        }
        Self { families, of_root }
    }

    /// The families that a root belongs to.
    pub(super) fn of_root(&self, root: &str) -> Vec<u16> {
        self.of_root.get(root).cloned().unwrap_or_default()
    }

    /// Words, as they are written, of these families.
    pub(super) fn words(&self, families: &[u16]) -> Vec<&'static str> {
        let found = families.iter().filter_map(|family| self.families.get(usize::from(*family)));
        found.flat_map(|family| family.split_whitespace()).collect()
    }
}

static ENGLISH: LazyLock<Families> =
    LazyLock::new(|| Families::read(Language::English, include_str!("families/english.txt")));
static GERMAN: LazyLock<Families> =
    LazyLock::new(|| Families::read(Language::German, include_str!("families/german.txt")));
static CHINESE: LazyLock<Families> =
    LazyLock::new(|| Families::read(Language::Chinese, include_str!("families/chinese.txt")));
