//! The built-in embedder: vectors of hashed words, without a model file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// Embeds texts by hashing words and word prefixes, weighted by how rare a word is in written text.
///
/// - Rarity is static: it follows from the id of a word in a byte-pair vocabulary of web text, where common words come first
///   and rare ones need several tokens. A vector therefore depends only on its text, and documents can be added and removed.
/// - The first line of a document (title, heading, name) counts several times.
/// - Part of a document's vector encodes how short the document is, so that short texts do not win merely because of their
///   norm. Queries have no such part. Two documents therefore look less similar than they are; to compare texts with each
///   other, embed all of them as queries.
/// - A constant part shared by all vectors raises cosines, so that the usual threshold of 0.2 separates texts
///   with a meaningful overlap from texts with a random one.
///
/// Matches words and names in different inflections and spellings, but not synonyms.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinEmbedder;

/// Vector length. With 2048, recall is 1 to 2 points higher at twice the disk space; with 512, 5 points lower.
const DIMENSIONS: usize = 1024;
/// The dimension of the constant part.
const CONSTANT: usize = 0;
/// Dimensions that encode how short a document is.
const BALLAST: std::ops::Range<usize> = 1..16;
/// Dimensions of common words and of word prefixes, separate so that they never collide with rare words.
const COMMON: std::ops::Range<usize> = 16..218;
/// Dimensions of all other features.
const RARE: std::ops::Range<usize> = 218..DIMENSIONS;

/// Share of the squared length that is constant in all vectors.
const CONSTANT_SHARE: f32 = 0.15;
/// Norm of the part that encodes shortness: about the norm of an average passage of a hundred words.
const BALLAST_NORM: f32 = 25.0;
/// Dimensions per feature, so that a single collision does not hide it.
const PROBES: u64 = 4;
/// Maximum information of a word in the common dimensions.
const COMMON_INFORMATION: f32 = 4.0;
/// Minimum weight of a feature.
const MIN_WEIGHT: f32 = 1.5;
/// Weight of a word in a document's first line, as a number of occurrences.
const FIRST_LINE_COUNT: f32 = 3.0;
/// Maximum length in bytes of a first line with extra weight.
const MAX_FIRST_LINE_BYTES: usize = 200;
/// Saturation of repetition, as in BM25.
const SATURATION: f32 = 1.2;
/// Maximum effect of repetition in a query.
const MAX_QUERY_REPETITION: f32 = 1.5;
/// Weight of a word prefix relative to the word.
const PREFIX_WEIGHT: f32 = 0.5;
/// Weight of a capitalized word in a query relative to a lower-case one.
const QUERY_CAPITAL_WEIGHT: f32 = 1.5;
/// Exponents of information. Queries emphasize it, documents reduce it.
const QUERY_EXPONENT: f32 = 1.25;
const DOCUMENT_EXPONENT: f32 = 0.6;
/// Token id up to which words carry no information.
const FREQUENT_TOKEN: f32 = 100.0;
/// Token id of the rarest single-token words.
const RAREST_TOKEN: f32 = 200_000.0;
/// Information added by each further token of a word.
const TOKEN_INFORMATION: f32 = 0.25;
/// Maximum further tokens that count.
const MAX_FURTHER_TOKENS: usize = 3;
/// Maximum words in the information cache.
const MAX_REMEMBERED: usize = 100_000;
/// Maximum word length in bytes. Longer strings are data, not language.
const MAX_WORD_BYTES: usize = 64;

impl BuiltinEmbedder {
    /// Returns the unit-length vector of one text.
    pub fn vector(self, purpose: Purpose, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSIONS];
        let mut hashed_text = FNV_START;
        for (feature, weight) in features(purpose, text) {
            hashed_text = hash(hashed_text, feature.name.as_bytes());
            let dimensions = if feature.common { COMMON } else { RARE };
            for probe in 0..PROBES {
                let place = mix(hash(FNV_START ^ mix(probe + 1), feature.name.as_bytes()));
                let sign = if place >> 63 == 0 { 1.0 } else { -1.0 };
                vector[dimensions.start + (place % dimensions.len() as u64) as usize] += sign * weight;
            }
        }
        let mut square: f32 = vector.iter().map(|x| x * x).sum();
        if purpose == Purpose::Document && square > 0.0 {
            let share = BALLAST_NORM * BALLAST_NORM * PROBES as f32 / BALLAST.len() as f32;
            for i in BALLAST {
                let sign = if mix(hashed_text ^ i as u64) >> 63 == 0 { 1.0 } else { -1.0 };
                vector[i] = sign * share.sqrt();
            }
            square += share * BALLAST.len() as f32;
        }
        if square == 0.0 {
            vector[CONSTANT] = 1.0;
            return vector;
        }
        let scale = ((1.0 - CONSTANT_SHARE) / square).sqrt();
        vector.iter_mut().for_each(|x| *x *= scale);
        vector[CONSTANT] = CONSTANT_SHARE.sqrt();
        vector
    }
}

#[async_trait]
impl Embedder for BuiltinEmbedder {
    fn name(&self) -> &str {
        "builtin-v1"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(DIMENSIONS as u32)
    }

    fn is_lexical(&self) -> bool {
        true
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let vectors = texts.iter().map(|text| self.vector(purpose, text)).collect();
        Ok(Embeddings { vectors, usage: Usage::default(), attempts: 0 })
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Feature {
    name: String,
    common: bool,
}

/// Number of occurrences and information of a feature.
#[derive(Default)]
struct Occurrence {
    count: f32,
    information: f32,
}

/// Returns the features of a text with their weights.
fn features(purpose: Purpose, text: &str) -> Vec<(Feature, f32)> {
    let stemmer = Stemmer::create(Algorithm::English);
    let first_line = match purpose {
        Purpose::Document => text.find('\n').filter(|&end| end <= MAX_FIRST_LINE_BYTES).unwrap_or(0),
        Purpose::Query => 0,
    };
    let mut found: BTreeMap<String, Occurrence> = BTreeMap::new();
    let mut add = |name: String, count: f32, information: f32| {
        let occurrence = found.entry(name).or_default();
        occurrence.count += count;
        occurrence.information = occurrence.information.max(information);
    };
    let mut ideograph: Option<(usize, &str)> = None;
    for (position, (at, raw)) in text.unicode_word_indices().enumerate() {
        if raw.len() > MAX_WORD_BYTES {
            continue;
        }
        let count = if at < first_line { FIRST_LINE_COUNT } else { 1.0 };
        // In scripts without spaces, single characters carry little information and pairs act as words.
        if raw.chars().all(writes_no_spaces) {
            add(format!("w:{raw}"), count, COMMON_INFORMATION);
            if let Some((_, before)) = ideograph.filter(|(end, _)| *end == at) {
                add(format!("c:{before}{raw}"), count, 7.0);
            }
            for pair in raw.chars().collect::<Vec<_>>().windows(2) {
                add(format!("c:{}{}", pair[0], pair[1]), count, 7.0);
            }
            ideograph = Some((at + raw.len(), raw));
            continue;
        }
        let word = fold(raw);
        let mut information = information(&word);
        if information <= 0.0 {
            continue;
        }
        let capital = raw.starts_with(char::is_uppercase) && position > 0;
        if capital && purpose == Purpose::Query {
            information *= QUERY_CAPITAL_WEIGHT;
        }
        let letters = word.chars().count();
        if letters >= 5 {
            let prefix: String = word.chars().take(if word.len() > 7 { 5 } else { 4 }).collect();
            add(format!("p:{prefix}"), count, information * PREFIX_WEIGHT);
        }
        let stem = if word.is_ascii() { stemmer.stem(&word).into_owned() } else { word };
        add(format!("w:{stem}"), count, information);
    }
    found.into_iter().filter_map(|(name, occurrence)| weigh(purpose, name, &occurrence)).collect()
}

fn weigh(purpose: Purpose, name: String, occurrence: &Occurrence) -> Option<(Feature, f32)> {
    let repetition = occurrence.count * (1.0 + SATURATION) / (occurrence.count + SATURATION);
    let weight = match purpose {
        Purpose::Document => repetition * occurrence.information.powf(DOCUMENT_EXPONENT),
        Purpose::Query => repetition.min(MAX_QUERY_REPETITION) * occurrence.information.powf(QUERY_EXPONENT),
    };
    // The dimensions of a word must not depend on the purpose, but capitals weigh more only in queries.
    let common = match name.split_once(':') {
        Some(("w", stem)) => information(stem) < COMMON_INFORMATION,
        Some(("p", _)) => true,
        _ => false,
    };
    (weight >= MIN_WEIGHT).then_some((Feature { name, common }, weight))
}

/// Returns the word in lower case, without accents and possessive ending.
fn fold(raw: &str) -> String {
    let word: String = raw
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .map(|c| if c == '’' { '\'' } else { c })
        .collect();
    match word.strip_suffix("'s") {
        Some(bare) if !bare.is_empty() => bare.to_owned(),
        _ => word,
    }
}

fn writes_no_spaces(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Returns the information of a folded word: 0 for stop words, about 7 for the rarest words.
fn information(word: &str) -> f32 {
    static REMEMBERED: LazyLock<Mutex<HashMap<String, f32>>> = LazyLock::new(|| Mutex::new(HashMap::new()));
    if STOP_WORDS.contains(word) {
        return 0.0;
    }
    if let Some(&known) = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner).get(word) {
        return known;
    }
    let mut capital = word.chars();
    let capital: String =
        capital.next().map(|c| c.to_uppercase().chain(capital).collect()).unwrap_or_default();
    let information = [format!(" {word}"), format!(" {capital}")]
        .iter()
        .map(|form| match graphloom_tokens::encode(form).collect::<Vec<_>>().as_slice() {
            [] => 0.0,
            [token] => ((token.id as f32).max(FREQUENT_TOKEN + 1.0) / FREQUENT_TOKEN).ln(),
            tokens => {
                let further = (tokens.len() - 1).min(MAX_FURTHER_TOKENS);
                (RAREST_TOKEN / FREQUENT_TOKEN).ln() + TOKEN_INFORMATION * further as f32
            }
        })
        .fold(f32::INFINITY, f32::min);
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    if remembered.len() >= MAX_REMEMBERED {
        remembered.clear();
    }
    remembered.insert(word.to_owned(), information);
    information
}

static STOP_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a an the and or but nor so yet if then else than that this these those there here it its itself he him his \
     himself she her hers herself they them their theirs themselves we us our ours you your yours i me my mine who \
     whom whose which what when where why how is are was were be been being am do does did done doing have has had \
     having will would shall should can could may might must ought of in on at by for from to into onto with within \
     without about above below under over between among through during before after against toward towards upon up \
     down out off as not no only also too very just same such own other another any some each every all both either \
     neither one ones s t d ll m re ve etc eg ie i.e e.g via per"
        .split_whitespace()
        .collect()
});

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Computes FNV-1a, continued from `state`.
fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Mixes all bits (the finalizer of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(document: &str, query: &str) -> f32 {
        let document = BuiltinEmbedder.vector(Purpose::Document, document);
        let query = BuiltinEmbedder.vector(Purpose::Query, query);
        document.iter().zip(&query).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn every_vector_has_unit_length() {
        let long = "x".repeat(10_000);
        for text in [
            "",
            " ",
            "the of and",
            "Harbour",
            "東京タワーは高い",
            "café №5 🚀",
            "สวัสดีชาวโลก",
            "\u{0}\n\n",
            &long,
        ] {
            for purpose in [Purpose::Document, Purpose::Query] {
                let vector = BuiltinEmbedder.vector(purpose, text);
                let norm: f32 = vector.iter().map(|x| x * x).sum();
                assert_eq!(vector.len(), DIMENSIONS);
                assert!((norm - 1.0).abs() < 1e-4, "{text:?} has norm {norm}");
            }
        }
    }

    #[test]
    fn a_text_with_common_rare_words_is_nearer_than_one_without() {
        let harbour = "Port Alden\nPort Alden is a town with a small harbour and a lighthouse from 1880.";
        let cheese = "Cheese\nCheese is made from milk, pressed and kept in a cool place.";
        let question = "Which town has the old lighthouse near the harbour?";
        assert!(cosine(harbour, question) > 0.25, "{}", cosine(harbour, question));
        assert!(cosine(cheese, question) < 0.2, "{}", cosine(cheese, question));
    }

    #[test]
    fn inflections_accents_and_case_do_not_matter_much() {
        assert!(cosine("lighthouses", "LIGHTHOUSE") > 0.2);
        assert!(cosine("Élodie Brünn", "elodie brunn") > 0.2);
    }

    #[test]
    fn texts_without_spaces_match_by_pairs_of_characters() {
        let tower = "東京タワーは東京都港区にある電波塔である。";
        assert!(
            cosine(tower, "東京の電波塔")
                > cosine("牛乳からチーズを作る方法を説明する。", "東京の電波塔") + 0.05
        );
    }

    #[test]
    fn the_same_text_has_the_same_vector() {
        let text = "Ines Okafor designed the Velora Bridge.";
        assert_eq!(
            BuiltinEmbedder.vector(Purpose::Document, text),
            BuiltinEmbedder.vector(Purpose::Document, text)
        );
    }

    #[tokio::test]
    async fn vectors_are_returned_in_the_order_of_the_texts() {
        let texts = ["one lighthouse".to_owned(), "two bridges".to_owned()];
        let embeddings = BuiltinEmbedder.embed(Purpose::Query, &texts).await.expect("cannot fail");
        assert_eq!(embeddings.vectors[1], BuiltinEmbedder.vector(Purpose::Query, "two bridges"));
        assert_eq!(BuiltinEmbedder.dimensions().await.expect("cannot fail"), 1024);
    }
}
