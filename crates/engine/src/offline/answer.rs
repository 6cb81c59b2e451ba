//! Answers made of verbatim sentences.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

use super::languages::Language;
use super::lexicon::{is_generic, is_month, is_stop_word};
use super::phrase::{PhraseKind, phrases};
use super::scripts::{has_no_spaces, is_hiragana, runs};
use super::token::{Shape, Token, tokens};
use crate::text::sentences;

/// Passages read, at most; callers pass the best first.
pub const MAX_PASSAGES: usize = 64;
/// Sentences read of one passage, at most.
const MAX_SENTENCES_PER_PASSAGE: usize = 400;
/// Share of the question's weight that a sentence must cover, with its passage, to be about the question.
const MIN_COVERAGE: f32 = 0.42;
/// The same where the passage holds a whole name of the question.
const MIN_COVERAGE_WITH_NAME: f32 = 0.2;
/// The same for a sentence that names something a picked sentence introduced.
const MIN_COVERAGE_LINKED: f32 = 0.1;
/// What the words of a name count towards these where only some of them are there.
const PART_OF_NAME: f32 = 0.3;
/// Weight of words that are too common to count alone, relative to others.
const GENERIC_WEIGHT: f32 = 0.25;
/// Weight of the words of a named thing, relative to others.
const NAME_WEIGHT: f32 = 2.0;
/// What a word counts that stands in the passage but not in the sentence.
const PASSAGE_SHARE: f32 = 0.35;
/// The same for words of names: sentences refer to the subject of their passage by pronouns.
const PASSAGE_NAME_SHARE: f32 = 0.85;
/// What a sentence gains by holding the kind of thing asked for.
const ANSWER_TYPE_BONUS: f32 = 0.15;
/// What a sentence of the first passage gains over one of the last.
const RANK_BONUS: f32 = 0.12;
/// What a sentence gains by naming something that a picked sentence introduced.
const LINK_BONUS: f32 = 0.2;
/// A sentence is added only if it scores this share of the best.
const MIN_SHARE_OF_BEST: f32 = 0.28;

/// Characters of scripts without spaces that ask and bind, and tell nothing of what is asked about.
const ASKING: &str = "的了在是和与與吗嗎呢哪什么麼谁誰何几幾多少请請问問";

/// A sentence chosen as part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PickedSentence {
    /// Position of its passage among those given.
    pub passage: usize,
    /// Its bytes in that passage.
    pub range: Range<usize>,
    /// Roughly the share of the question it covers, with bonuses; comparable within one question only.
    pub score: f32,
}

/// The sentences of `passages` that best answer `question`, best first; empty where none is about it.
///
/// - `passages`: best first; a small bonus honours that order. The first [`MAX_PASSAGES`] are read.
/// - Words count by their rarity among the passages' sentences, names double, words common in all prose little.
/// - Picked one by one: each next sentence counts what it adds to those before, and gains by naming something that they
///   introduced, so that questions over several passages get one sentence from each.
/// - A question whose names, or whose telling words, mostly occur nowhere gets nothing.
pub fn pick_sentences(question: &str, passages: &[&str], max_sentences: usize) -> Vec<PickedSentence> {
    let asked = Asked::read(question);
    let candidates = candidates(question, &asked, passages);
    let Some(weights) = asked.weights(&candidates) else { return Vec::new() };
    pick(&asked, &weights, &candidates, passages.len().min(MAX_PASSAGES), max_sentences)
}

/// The words of a question and what kind of answer it wants.
struct Asked {
    /// Distinct stems in order of the question.
    terms: Vec<Term>,
    /// The terms of each name, quotation or date.
    names: Vec<BTreeSet<usize>>,
    wants: Option<AnswerType>,
}

struct Term {
    stem: String,
    generic: bool,
    named: bool,
    /// Two characters of a script without spaces, which are part of a word or of two.
    pair: bool,
}

/// Where the term stands among `terms`, to which it is added where it is new.
fn add_term(terms: &mut Vec<Term>, term: Term) -> usize {
    let at = terms.iter().position(|known| known.stem == term.stem).unwrap_or(terms.len());
    match terms.get_mut(at) {
        Some(known) => known.named |= term.named,
        None => terms.push(term),
    }
    at
}

/// The pairs of neighbouring characters in scripts without spaces, but those that only ask or bind.
fn pairs(text: &str) -> Vec<Range<usize>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let told = |c: char| has_no_spaces(c.encode_utf8(&mut [0; 4])) && !ASKING.contains(c);
    let both = chars.windows(2).filter(|pair| {
        told(pair[0].1) && told(pair[1].1) && !(is_hiragana(pair[0].1) && is_hiragana(pair[1].1))
    });
    both.map(|pair| pair[0].0..pair[1].0 + pair[1].1.len_utf8()).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerType {
    Person,
    Time,
    Place,
    Amount,
}

impl Asked {
    fn read(question: &str) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let language = Language::of(question);
        let named: Vec<Range<usize>> = phrases(question)
            .into_iter()
            .filter(|phrase| matches!(phrase.kind, PhraseKind::Name | PhraseKind::Quoted | PhraseKind::Date))
            .map(|phrase| phrase.range)
            .collect();
        let mut terms: Vec<Term> = Vec::new();
        let mut names = vec![BTreeSet::new(); named.len()];
        for word in words(question) {
            let within = |range: &Range<usize>| range.start <= word.start && word.end <= range.end;
            let is_named = named.iter().any(within);
            if language.is_function_word(&word.lower)
                || is_stop_word(&word.lower)
                || has_no_spaces(&word.lower)
            {
                continue;
            }
            let generic = is_generic(&word.lower) && !is_named;
            let term = Term { stem: stem(&stemmer, &word.lower), generic, named: is_named, pair: false };
            let at = add_term(&mut terms, term);
            for (name, _) in names.iter_mut().zip(&named).filter(|(_, range)| within(range)) {
                name.insert(at);
            }
        }
        for pair in pairs(question) {
            let within = |range: &Range<usize>| range.start <= pair.start && pair.end <= range.end;
            let is_named = named.iter().any(within);
            let term =
                Term { stem: question[pair.clone()].to_owned(), generic: false, named: is_named, pair: true };
            let at = add_term(&mut terms, term);
            for (name, _) in names.iter_mut().zip(&named).filter(|(_, range)| within(range)) {
                name.insert(at);
            }
        }
        names.retain(|name| !name.is_empty());
        Self { terms, names, wants: wanted(question) }
    }

    /// Whether most words of a name are among `held`: both of two, two of three.
    fn has_name(&self, name: &BTreeSet<usize>, held: &BTreeSet<usize>) -> bool {
        name.intersection(held).count() >= (2 * name.len()).div_ceil(3)
    }

    /// The weight of each term, adding up to 1; `None` where the passages are not about the question.
    ///
    /// Words that occur nowhere keep the weight of the rarest: a question mostly about them is about something else.
    fn weights(&self, candidates: &[Candidate]) -> Option<Vec<f32>> {
        let total = candidates.len() as f32;
        let idf: Vec<f32> = (0..self.terms.len())
            .map(|term| {
                let count =
                    candidates.iter().filter(|candidate| candidate.sentence.contains(&term)).count() as f32;
                (1.0 + (total - count + 0.5) / (count + 0.5)).ln()
            })
            .collect();
        let mut weights: Vec<f32> = self
            .terms
            .iter()
            .zip(idf)
            .enumerate()
            .map(|(at, (term, idf))| {
                // A pair that stands nowhere is most likely the end of one word and the beginning of another.
                let by_chance =
                    term.pair && !term.named && !candidates.iter().any(|held| held.sentence.contains(&at));
                let factor = match (term.generic || by_chance, term.named) {
                    (true, _) => GENERIC_WEIGHT,
                    (false, true) => NAME_WEIGHT,
                    (false, false) => 1.0,
                };
                // Rarity matters less than in search: few passages tell little about it.
                factor * idf.max(0.1).sqrt()
            })
            .collect();
        let sum: f32 = weights.iter().sum();
        if self.terms.iter().all(|term| term.generic) {
            return None;
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
        Some(weights)
    }
}

/// A sentence with the terms it and its passage hold.
struct Candidate {
    passage: usize,
    range: Range<usize>,
    sentence: BTreeSet<usize>,
    around: BTreeSet<usize>,
    /// Names the sentence holds that the question does not, in small letters.
    names: BTreeSet<String>,
    /// The same of the first sentence of its passage, often the heading.
    subject: BTreeSet<String>,
    answers: bool,
    heading: bool,
}

fn candidates(question: &str, asked: &Asked, passages: &[&str]) -> Vec<Candidate> {
    let stemmer = Stemmer::create(Algorithm::English);
    let index: BTreeMap<&str, usize> =
        asked.terms.iter().enumerate().map(|(i, term)| (term.stem.as_str(), i)).collect();
    let mut found = Vec::new();
    for (passage, text) in passages.iter().take(MAX_PASSAGES).enumerate() {
        let mut around = BTreeSet::new();
        let mut subject = BTreeSet::new();
        let first = found.len();
        for range in sentences(text).into_iter().take(MAX_SENTENCES_PER_PASSAGE) {
            let words = tokens(text, range.clone());
            let mut held = BTreeSet::new();
            let mut names = BTreeSet::new();
            for word in &words {
                match index.get(stem(&stemmer, &word.lower).as_str()) {
                    Some(&term) => {
                        held.insert(term);
                    }
                    None if word.is_capital() && word.is_content() => {
                        names.insert(word.lower.clone());
                    }
                    None => {}
                }
            }
            let unspaced = unspaced_terms(asked, &text[range.clone()]);
            held.extend(unspaced);
            names.extend(unspaced_names(question, &text[range.clone()]));
            around.extend(held.iter().copied());
            let answers = asked.wants.is_some_and(|wants| holds(wants, &words, &index, &stemmer));
            let sentence = &text[range.clone()];
            let heading = !sentence.ends_with(['.', '!', '?', '。', '！', '？', '"', '”', ')', ':'])
                && text[range.end..].starts_with(['\n', '\r'])
                && words.len() <= 12;
            if found.len() == first {
                subject.clone_from(&names);
            }
            let (around, subject) = (BTreeSet::new(), BTreeSet::new());
            found.push(Candidate {
                passage,
                range,
                sentence: held,
                around,
                names,
                subject,
                answers,
                heading,
            });
        }
        for candidate in &mut found[first..] {
            candidate.subject.clone_from(&subject);
            candidate.around.clone_from(&around);
        }
    }
    found
}

/// Terms of scripts without spaces, found as plain text.
fn unspaced_terms(asked: &Asked, sentence: &str) -> Vec<usize> {
    let unspaced = |term: &Term| has_no_spaces(&term.stem);
    let terms = asked.terms.iter().enumerate();
    terms.filter(|(_, term)| unspaced(term) && sentence.contains(&term.stem)).map(|(i, _)| i).collect()
}

/// Names in scripts without spaces that the question does not hold.
fn unspaced_names(question: &str, sentence: &str) -> Vec<String> {
    if !has_no_spaces(sentence) {
        return Vec::new();
    }
    let runs = runs(sentence, Language::of(sentence), &HashSet::new()).into_iter().filter(|run| run.is_name);
    let names = runs.map(|run| sentence[run.range].to_owned());
    names.filter(|name| !question.contains(name.as_str())).collect()
}

fn pick(
    asked: &Asked,
    weights: &[f32],
    candidates: &[Candidate],
    passages: usize,
    max_sentences: usize,
) -> Vec<PickedSentence> {
    let mut picked: Vec<PickedSentence> = Vec::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut covered: BTreeSet<usize> = BTreeSet::new();
    let mut introduced: BTreeSet<&str> = BTreeSet::new();
    let mut best = 0.0;
    while picked.len() < max_sentences {
        let next = candidates
            .iter()
            .enumerate()
            .filter(|(i, candidate)| !taken.contains(i) && !candidate.heading)
            .filter(|(_, candidate)| !repeats(candidate, candidates, &taken))
            .filter_map(|(i, candidate)| {
                let mut names = candidate.names.iter().chain(&candidate.subject);
                let linked = names.any(|name| introduced.contains(name.as_str()));
                let coverage = coverage(asked, candidate, weights, &covered);
                let relevant =
                    is_relevant(asked, candidate, weights) || (linked && coverage >= MIN_COVERAGE_LINKED);
                let bonus = if linked { LINK_BONUS } else { 0.0 }
                    + if candidate.answers { ANSWER_TYPE_BONUS } else { 0.0 }
                    + RANK_BONUS * (1.0 - candidate.passage as f32 / passages.max(1) as f32);
                relevant.then_some((i, coverage * (1.0 + bonus) + coverage.min(0.2) * bonus))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let Some((i, score)) = next else { break };
        if score <= 0.0 || score < MIN_SHARE_OF_BEST * best {
            break;
        }
        best = f32::max(best, score);
        let candidate = &candidates[i];
        taken.insert(i);
        covered.extend(&candidate.sentence);
        introduced.extend(candidate.names.iter().map(String::as_str));
        picked.push(PickedSentence { passage: candidate.passage, range: candidate.range.clone(), score });
    }
    picked
}

/// Whether a picked sentence of another passage (overlapping chunks share text) says the same.
fn repeats(candidate: &Candidate, candidates: &[Candidate], taken: &BTreeSet<usize>) -> bool {
    taken.iter().map(|&i| &candidates[i]).any(|other| {
        other.passage != candidate.passage
            && other.range.len() == candidate.range.len()
            && other.sentence == candidate.sentence
            && other.names == candidate.names
    })
}

/// Share of the question that a sentence covers; what is covered already counts little, what its passage adds in part.
fn coverage(asked: &Asked, candidate: &Candidate, weights: &[f32], covered: &BTreeSet<usize>) -> f32 {
    const AGAIN: f32 = 0.25;
    let share = |term: usize| if covered.contains(&term) { AGAIN * weights[term] } else { weights[term] };
    let own: f32 = candidate.sentence.iter().map(|&term| share(term)).sum();
    if own == 0.0 {
        return 0.0;
    }
    let from_passage = |term: usize| if asked.terms[term].named { PASSAGE_NAME_SHARE } else { PASSAGE_SHARE };
    let around = candidate.around.difference(&candidate.sentence);
    own + around.map(|&term| from_passage(term) * share(term)).sum::<f32>()
}

/// Whether a sentence, with its passage, is about the question at all.
fn is_relevant(asked: &Asked, candidate: &Candidate, weights: &[f32]) -> bool {
    let telling = |term: &&usize| !asked.terms[**term].generic;
    let all = asked.terms.iter().filter(|term| !term.generic).count();
    let whole: Vec<_> = asked.names.iter().filter(|name| asked.has_name(name, &candidate.around)).collect();
    let share: f32 = candidate
        .around
        .iter()
        .map(|term| {
            let part = asked.terms[*term].named && !whole.iter().any(|name| name.contains(term));
            if part { PART_OF_NAME * weights[*term] } else { weights[*term] }
        })
        .sum();
    let least = if whole.is_empty() { MIN_COVERAGE } else { MIN_COVERAGE_WITH_NAME };
    // Of several telling words one alone may be chance, unless it is a name.
    let together = candidate.around.iter().filter(telling).count();
    let enough = together >= 2 || all == 1 || !whole.is_empty();
    candidate.sentence.iter().any(|term| telling(&term)) && enough && share >= least
}

fn wanted(question: &str) -> Option<AnswerType> {
    let lower = question.to_lowercase();
    let has = |word: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    let asks = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if asks(&["多少", "几个", "幾個", "几位", "何人", "いくつ", "どのくらい", "얼마", "몇 명"])
        || lower.contains("how many")
        || lower.contains("how much")
        || lower.contains("how old")
        || lower.contains("how long")
    {
        return Some(AnswerType::Amount);
    }
    if asks(&["何时", "何時", "什么时候", "什麼時候", "哪年", "哪一年", "いつ", "何年", "언제", "몇 년"])
        || has("when")
        || lower.contains("what year")
        || lower.contains("which year")
        || has("date")
    {
        return Some(AnswerType::Time);
    }
    if has("who") || has("whom") || has("whose") {
        return Some(AnswerType::Person);
    }
    if has("where") || ["city", "country", "county", "state", "continent"].iter().any(|place| has(place)) {
        return Some(AnswerType::Place);
    }
    None
}

/// Whether the words hold the kind of thing asked for, besides what the question names itself.
fn holds(wants: AnswerType, words: &[Token<'_>], asked: &BTreeMap<&str, usize>, stemmer: &Stemmer) -> bool {
    let new = |word: &Token<'_>| !asked.contains_key(stem(stemmer, &word.lower).as_str());
    let capital = |word: &Token<'_>| word.is_capital() && word.is_content() && new(word);
    match wants {
        AnswerType::Time => words.iter().any(|word| {
            new(word)
                && ((word.shape == Shape::Digit && word.text.len() == 4)
                    || (is_month(&word.lower) && word.is_capital()))
        }),
        AnswerType::Amount => words.iter().any(|word| word.tag == harper_brill::UPOS::NUM && new(word)),
        AnswerType::Person => words.windows(2).any(|pair| pair[1].gap == " " && pair.iter().all(capital)),
        AnswerType::Place => words.windows(2).any(|pair| {
            matches!(pair[0].lower.as_str(), "in" | "at" | "near" | "from" | "of" | "to") && capital(&pair[1])
        }),
    }
}

fn words(text: &str) -> Vec<Token<'_>> {
    sentences(text).into_iter().flat_map(|range| tokens(text, range)).collect()
}

fn stem(stemmer: &Stemmer, lower: &str) -> String {
    if lower.is_ascii() { stemmer.stem(lower).into_owned() } else { lower.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PASSAGES: [&str; 4] = [
        "Velora Bridge\nThe Velora Bridge crosses the river Tamsin. It was designed by Ines Okafor. It has four lanes.",
        "Ines Okafor\nInes Okafor was an engineer. She was born in Port Alden in 1931. She liked tea.",
        "Port Alden\nPort Alden is a town with a small harbour. Many people visit it every year.",
        "Cheese\nCheese is made from milk. The curd is pressed at a low temperature, below the boiling point of water.",
    ];

    fn check_picks(question: &str, max_sentences: usize) -> Vec<&'static str> {
        let picks = pick_sentences(question, &PASSAGES, max_sentences);
        picks.into_iter().map(|pick| &PASSAGES[pick.passage][pick.range]).collect()
    }

    #[test]
    fn the_sentence_that_answers_comes_first() {
        assert_eq!(check_picks("Who designed the Velora Bridge?", 1), ["It was designed by Ines Okafor."]);
        assert_eq!(check_picks("When was Ines Okafor born?", 1), ["She was born in Port Alden in 1931."]);
    }

    #[test]
    fn a_question_over_two_passages_gets_a_sentence_from_each() {
        let picks = check_picks("Where was the designer of the Velora Bridge born?", 3);
        assert!(picks.contains(&"It was designed by Ines Okafor."), "{picks:?}");
        assert!(picks.contains(&"She was born in Port Alden in 1931."), "{picks:?}");
    }

    #[test]
    fn a_question_about_something_absent_gets_nothing() {
        for question in [
            "What is the boiling point of tungsten hexafluoride?",
            "How many people are there?",
            "Who won the Grand Prix of Monaco in 1931?",
            "What was it that they had with the other one?",
            "how do i configure kubernetes ingress",
            "",
            "???",
        ] {
            assert_eq!(check_picks(question, 5), Vec::<&str>::new(), "{question}");
        }
    }

    #[test]
    fn small_letters_are_enough() {
        assert_eq!(check_picks("what is cheese made from", 1), ["Cheese is made from milk."]);
    }

    #[test]
    fn scripts_without_spaces_are_matched_by_pairs_of_characters() {
        let passages = [
            "云岭大桥\n云岭大桥位于澜江之上，由工程师林书豪设计，于1998年建成通车。大桥连接了南州市与北泉县。",
            "林书豪\n林书豪是一位桥梁工程师，1955年出生于海宁市。他毕业于东华理工大学。",
            "吉田翔太\n吉田翔太は映画監督で、1920年に鎌倉市で生まれた。晩年は木曽林業の顧問を務めた。",
            "김철수\n김철수는 영화감독이며 1920년에 부산에서 태어났다. 그는 커피를 좋아했다.",
        ];
        for (question, expected) in [
            ("谁设计了云岭大桥？", Some("云岭大桥位于澜江之上，由工程师林书豪设计，于1998年建成通车。")),
            ("林书豪出生在哪里？", Some("林书豪是一位桥梁工程师，1955年出生于海宁市。")),
            ("吉田翔太はどこで生まれましたか？", Some("吉田翔太は映画監督で、1920年に鎌倉市で生まれた。")),
            ("김철수는 어디에서 태어났습니까?", Some("김철수는 영화감독이며 1920년에 부산에서 태어났다.")),
            ("量子力学的基本原理是什么？", None),
            ("富士山の高さはどのくらいですか？", None),
        ] {
            let picks = pick_sentences(question, &passages, 1);
            let found = picks.first().map(|pick| &passages[pick.passage][pick.range.clone()]);
            assert_eq!(found, expected, "{question}");
        }
    }

    #[test]
    fn no_passage_or_no_room_gives_nothing() {
        assert_eq!(pick_sentences("Who designed the Velora Bridge?", &[], 3), []);
        assert_eq!(check_picks("Who designed the Velora Bridge?", 0), Vec::<&str>::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn picks_are_whole_sentences_each_once(
            question in "([A-Za-z漢]{1,6} ){0,6}",
            passages in prop::collection::vec("([A-Za-z漢]{1,6}[ .]|[0-9é] |\n){0,20}", 0..4),
        ) {
            let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
            let picks = pick_sentences(&question, &passages, 4);
            prop_assert!(picks.len() <= 4);
            let mut seen = BTreeSet::new();
            for pick in picks {
                prop_assert!(sentences(passages[pick.passage]).contains(&pick.range));
                prop_assert!(seen.insert((pick.passage, pick.range.start)));
            }
        }
    }
}
