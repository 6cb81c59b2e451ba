//! Families of synonyms, including irregular forms: `emigrated` for `moved`.
//!
//! Each line of a list is a family. Words of a close family mean nearly the same in most texts; words of a loose one do in some.
//! An underscore or hyphen joins the words of an expression: `turn_down` for `reject`. Opposite
//! directions of a relationship are never in one family: who buys does not sell.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::roots::Roots;
use crate::languages::Language;

/// The index of the first loose family; those of close families are less.
const FIRST_LOOSE: u16 = 1 << 15;

/// True if a family is close.
pub(super) fn is_close(family: u16) -> bool {
    family < FIRST_LOOSE
}

/// True if two words with these families are closely related.
pub(super) fn share_close(one: &[u16], other: &[u16]) -> bool {
    one.iter().any(|family| is_close(*family) && other.contains(family))
}

/// The families of a language.
pub(super) struct Families {
    close: Vec<&'static str>,
    loose: Vec<&'static str>,
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

    fn read(language: Language, close: &'static str, loose: &'static str) -> Self {
        let roots = Roots::of(language);
        let [close, loose] = [close, loose].map(|list| list.lines().collect::<Vec<&str>>());
        let families = close.iter().zip(0_u16..).chain(loose.iter().zip(FIRST_LOOSE..));
        let mut of_root: HashMap<String, Vec<u16>> = HashMap::new();
        let mut expressions: HashMap<String, Vec<(Vec<String>, u16)>> = HashMap::new();
        // Most words are in several families.
        let mut known: HashMap<&str, String> = HashMap::new();
        let mut root_of = |word| known.entry(word).or_insert_with(|| roots.root(word)).clone();
        for (family, at) in families {
            for word in family.split_whitespace() {
                let mut parts = word.split(['_', '-']).map(|part| root_of(part.trim_end_matches("'s")));
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
        Self { close, loose, of_root, expressions }
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

    /// True if a root is in a family.
    pub(super) fn contains(&self, root: &str) -> bool {
        self.of_root.contains_key(root)
    }

    /// Returns the words of these families, as written.
    pub(super) fn words(&self, families: &[u16]) -> Vec<&'static str> {
        let family = |family: &u16| match is_close(*family) {
            true => self.close.get(usize::from(*family)),
            false => self.loose.get(usize::from(*family - FIRST_LOOSE)),
        };
        families.iter().filter_map(family).flat_map(|family| family.split_whitespace()).collect()
    }
}

static ENGLISH: LazyLock<Families> = LazyLock::new(|| {
    Families::read(
        Language::English,
        include_str!("families/english.txt"),
        include_str!("families/english_loose.txt"),
    )
});
static GERMAN: LazyLock<Families> = LazyLock::new(|| {
    Families::read(
        Language::German,
        include_str!("families/german.txt"),
        include_str!("families/german_loose.txt"),
    )
});
static CHINESE: LazyLock<Families> = LazyLock::new(|| {
    Families::read(
        Language::Chinese,
        include_str!("families/chinese.txt"),
        include_str!("families/chinese_loose.txt"),
    )
});

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
    fn words_of_a_loose_family_are_not_closely_related() {
        let (families, roots) = (Families::of(Language::English), Roots::of(Language::English));
        let [one, other] = ["illegal", "prohibited"].map(|word| families.of_root(&roots.root(word)));
        let shared: Vec<u16> = one.into_iter().filter(|family| other.contains(family)).collect();
        assert!(!shared.is_empty() && !shared.into_iter().any(is_close));
    }

    #[test]
    fn each_family_has_several_words() {
        for language in [Language::English, Language::German, Language::Chinese] {
            let families = Families::of(language);
            for family in families.close.iter().chain(&families.loose) {
                assert!(family.split_whitespace().count() >= 2, "{family}");
            }
        }
    }
}
