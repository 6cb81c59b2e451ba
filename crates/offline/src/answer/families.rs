//! Families of synonyms, including irregular forms: `emigrated` for `moved`.
//!
//! Each line of a list is a family. An underscore or hyphen joins the words of an expression: `turn_down` for `reject`. Opposite
//! directions of a relationship are never in one family: who buys does not sell.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::roots::Roots;
use crate::languages::Language;

/// The families of a language.
pub(super) struct Families {
    families: Vec<&'static str>,
    /// For each root, the indexes of its families.
    of_root: HashMap<String, Vec<u16>>,
    /// For each root that begins an expression: the roots after it, and the index of the family.
    expressions: HashMap<String, Vec<(Vec<String>, u16)>>,
}

impl Families {
    /// Returns the families of a language, or the English ones if it has none.
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
        let mut expressions: HashMap<String, Vec<(Vec<String>, u16)>> = HashMap::new();
        for (family, at) in families.iter().zip(0_u16..) {
            for word in family.split_whitespace() {
                let mut parts = word.split(['_', '-']).map(|part| roots.root(part.trim_end_matches("'s")));
                let first = parts.next().unwrap_or_default();
                let rest: Vec<String> = parts.collect();
                if !rest.is_empty() {
                    expressions.entry(first).or_default().push((rest, at));
                    continue;
                }
                // The root of `heiratete` is the stem of `heiraten`.
                let stem = (language == Language::German).then(|| roots.stem(word));
                for root in stem.into_iter().chain([first]) {
                    let of_word = of_root.entry(root).or_default();
                    if !of_word.contains(&at) {
                        of_word.push(at);
                    }
                }
            }
        }
        Self { families, of_root, expressions }
    }

    /// Returns the families of a root.
    pub(super) fn of_root(&self, root: &str) -> Vec<u16> {
        self.of_root.get(root).cloned().unwrap_or_default()
    }

    /// Returns the expressions that begin with the first of these roots: how many roots each has, and its family.
    pub(super) fn expressions<'r>(
        &self,
        mut roots: impl Iterator<Item = &'r str> + Clone,
    ) -> Vec<(usize, u16)> {
        let starting = roots.next().and_then(|first| self.expressions.get(first));
        let found = starting.into_iter().flatten().filter(|(rest, _)| {
            let mut behind = roots.clone();
            rest.iter().all(|root| behind.next() == Some(root))
        });
        found.map(|(rest, family)| (rest.len() + 1, *family)).collect()
    }

    /// Returns the words of all families, as written.
    pub(super) fn all_words(&self) -> impl Iterator<Item = &'static str> {
        self.families.iter().flat_map(|family| family.split_whitespace())
    }

    /// Returns the words of these families, as written.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_apart(language: Language, pairs: &str) {
        let (families, roots) = (Families::of(language), Roots::of(language));
        for pair in pairs.split_whitespace() {
            let (one, other) = pair.split_once('/').unwrap_or_default();
            let [one_own, other_own] = [one, other].map(|word| families.of_root(&roots.root(word)));
            assert!(!one_own.is_empty() && !other_own.is_empty(), "{pair}: in no family");
            assert!(!one_own.iter().any(|family| other_own.contains(family)), "{pair}");
        }
    }

    #[test]
    fn words_with_opposite_meanings_share_no_family() {
        check_apart(
            Language::English,
            "bought/sold won/lost arrived/left opened/closed taught/learned accepted/rejected began/ended rose/fell \
             father/son mother/daughter attacked/defended allowed/forbidden hired/dismissed",
        );
        check_apart(
            Language::German,
            "kaufte/verkaufte gewann/verlor lehrte/lernte vater/sohn mutter/tochter erlaubt/verboten begann/endete \
             export/import stieg/sank gewinn/verlust besiegt/unterlag",
        );
        check_apart(Language::Chinese, "打败/输给 进口/出口 增加/减少 父亲/儿子 母亲/女儿 登基/退位");
    }

    #[test]
    fn each_family_has_several_words() {
        for language in [Language::English, Language::German, Language::Chinese] {
            for family in &Families::of(language).families {
                assert!(family.split_whitespace().count() >= 2, "{family}");
            }
        }
    }
}
