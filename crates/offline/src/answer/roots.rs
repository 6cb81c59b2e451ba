//! Reduces words to roots.

use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::families::Families;
use super::words::any_word;
use crate::languages::Language;
use crate::lexicon::is_stop_word;

/// Minimum length of a root after a derivational ending is removed, in characters.
const MIN_ROOT: usize = 4;

/// Finds the roots of words of one language.
pub(super) struct Roots {
    language: Language,
    stemmer: Option<Stemmer>,
    /// Roots and families of the words read so far, because texts repeat words.
    known: RefCell<HashMap<String, (String, Vec<u16>)>>,
}

impl Roots {
    pub(super) fn of(language: Language) -> Self {
        let algorithm = match language {
            Language::English => Some(Algorithm::English),
            Language::German => Some(Algorithm::German),
            Language::French => Some(Algorithm::French),
            Language::Spanish => Some(Algorithm::Spanish),
            Language::Italian => Some(Algorithm::Italian),
            Language::Portuguese => Some(Algorithm::Portuguese),
            Language::Dutch => Some(Algorithm::Dutch),
            Language::Russian => Some(Algorithm::Russian),
            Language::Arabic => Some(Algorithm::Arabic),
            Language::Polish
            | Language::Ukrainian
            | Language::Persian
            | Language::Chinese
            | Language::Japanese
            | Language::Korean => None,
        };
        Self { language, stemmer: algorithm.map(Stemmer::create), known: RefCell::default() }
    }

    /// Returns a lowercase word without its grammatical endings.
    pub(super) fn stem(&self, lower: &str) -> String {
        self.stemmer.as_ref().map_or_else(|| lower.to_owned(), |stemmer| stemmer.stem(lower).into_owned())
    }

    /// Returns the root of a lowercase word: `founder`, `founded` and `founding` have the same root.
    pub(super) fn root(&self, lower: &str) -> String {
        // `borne` means carried, not born.
        const WHOLE: [&str; 1] = ["borne"];
        // `found` is a form of `find`, not of `founded`.
        const FORMS: [(&str, &str); 1] = [("found", "find")];
        let lower = match FORMS.iter().find(|(form, _)| *form == lower && self.language == Language::English)
        {
            Some((_, infinitive)) => infinitive,
            None => lower,
        };
        let Some(stemmer) = self.stemmer.as_ref().filter(|_| !WHOLE.contains(&lower)) else {
            return lower.to_owned();
        };
        // `abgespült` and `abzuspülen` are forms of `abspülen`.
        let infinitive = if self.language == Language::German { participle(lower) } else { None };
        let stem = stemmer.stem(infinitive.as_deref().unwrap_or(lower)).into_owned();
        let endings: &[&str] = match self.language {
            Language::English => &["ation", "ment", "ion", "ing", "ist", "or", "er", "ive", "at", "iv"],
            Language::German => &["ungs", "ung", "ert", "elt", "eln", "er", "in", "et", "t"],
            _ => return stem,
        };
        let cut = endings.iter().find_map(|ending| stem.strip_suffix(ending));
        cut.filter(|root| root.chars().count() >= MIN_ROOT).map_or(stem.clone(), str::to_owned)
    }

    /// Returns the root of a lowercase word and its families.
    pub(super) fn root_and_families(&self, lower: &str) -> (String, Vec<u16>) {
        if let Some(known) = self.known.borrow().get(lower) {
            return known.clone();
        }
        let root = self.root(lower);
        let found = (root.clone(), self.families(&root));
        self.known.borrow_mut().insert(lower.to_owned(), found.clone());
        found
    }

    /// Returns the families of a root.
    pub(super) fn families(&self, root: &str) -> Vec<u16> {
        Families::of(self.language).of_root(root)
    }

    /// True if a lowercase word only connects others: `in`, `the`.
    pub(super) fn is_small(&self, lower: &str) -> bool {
        is_stop_word(lower) || self.language.is_function_word(lower)
    }

    /// Returns the expressions that begin with the first of these roots, see [`Families::expressions`].
    pub(super) fn expressions<'r>(&self, roots: impl Iterator<Item = &'r str> + Clone) -> Vec<(usize, u16)> {
        Families::of(self.language).expressions(roots)
    }

    /// True if a word is in a family.
    pub(super) fn has_family(&self, root: &str) -> bool {
        Families::of(self.language).contains(root)
    }

    /// Returns the words of these families, as written.
    pub(super) fn relatives(&self, families: &[u16]) -> Vec<&'static str> {
        Families::of(self.language).words(families)
    }

    /// Returns how well a root of a text matches a root of the question, see [`likeness`].
    pub(super) fn likeness(&self, query_root: &str, text_root: &str) -> f32 {
        likeness(self.language, query_root, text_root)
    }
}

/// Returns how well a root of a text matches a root of the question; 0 if it does not.
///
/// In languages that write compounds as one word, `bruck` matches `wennebruck`.
pub(super) fn likeness(language: Language, query_root: &str, text_root: &str) -> f32 {
    const COMPOUND: usize = 5;
    const HEAD: usize = 3;
    if query_root == text_root {
        return 1.0;
    }
    let compounds = matches!(language, Language::German | Language::Dutch);
    // `Vorsitz` is not a `Sitz`.
    const PREFIXES: &str =
        "vor auf an ab aus bei ein mit nach über um unter zu ver be ge ent er zer miss un wider hinter";
    let is_part = |long: &str, short: &str| {
        let is_head = short.len() >= HEAD && long.len() >= short.len() + HEAD && long.ends_with(short);
        (is_head || (short.len() >= COMPOUND && (long.ends_with(short) || long.starts_with(short))))
            && !long.strip_suffix(short).is_some_and(|prefix| any_word(PREFIXES, prefix))
            // `gegründet` does not contain the word `und`.
            && !is_stop_word(short)
            && !language.is_function_word(short)
    };
    if compounds && (is_part(text_root, query_root) || is_part(query_root, text_root)) { 0.85 } else { 0.0 }
}

/// Returns a German verb without the `ge` or `zu` after its prefix; `None` for other words.
fn participle(word: &str) -> Option<String> {
    const PREFIXES: &str = "ab an auf aus bei durch ein fest fort her hin los mit nach über um vor weg weiter zu zurück zusammen";
    const MIN_VERB: usize = 4;
    // `der eingereichte Entwurf`
    let bare = ["e", "er", "es", "em", "en"].iter().find_map(|ending| word.strip_suffix(ending));
    let word = bare.filter(|bare| bare.ends_with('t')).unwrap_or(word);
    let ends = word.ends_with('t') || word.ends_with("en");
    PREFIXES.split_whitespace().filter(|_| ends).find_map(|prefix| {
        let behind = word.strip_prefix(prefix)?;
        let verb = ["ge", "zu"].iter().find_map(|joint| behind.strip_prefix(joint))?;
        (verb.len() >= MIN_VERB).then(|| format!("{prefix}{verb}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_related(language: Language, one: &str, other: &str, expected: bool) {
        let roots = Roots::of(language);
        let (one_root, other_root) = (roots.root(one), roots.root(other));
        let families = roots.families(&one_root);
        let related = roots.likeness(&one_root, &other_root) > 0.0
            || roots.families(&other_root).iter().any(|family| families.contains(family));
        assert_eq!(related, expected, "{one} ({one_root}), {other} ({other_root})");
    }

    #[test]
    fn words_with_related_meanings_are_related() {
        for (one, other) in [
            ("founder", "founded"),
            ("author", "wrote"),
            ("designed", "designer"),
            ("children", "daughter"),
            ("installation", "install"),
            ("organist", "organ"),
            ("belongs", "member"),
        ] {
            check_related(Language::English, one, other, true);
        }
        for (one, other) in [
            ("Brücke", "Wennebrücke"),
            ("gründete", "gründer"),
            ("starben", "gestorben"),
            ("studiert", "studieren"),
            ("abgespült", "abspülen"),
            ("weiterzuführen", "weiterführen"),
        ] {
            check_related(Language::German, &one.to_lowercase(), &other.to_lowercase(), true);
        }
    }

    #[test]
    fn words_with_different_meanings_are_not_related() {
        for (one, other) in [
            ("born", "built"),
            ("dog", "clock"),
            ("sister", "ferry"),
            ("height", "weight"),
            ("founded", "found"),
        ] {
            check_related(Language::English, one, other, false);
        }
        check_related(Language::German, "hund", "bürgermeister", false);
        check_related(Language::German, "gegründet", "und", false);
    }
}
