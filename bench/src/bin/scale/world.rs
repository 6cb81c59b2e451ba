//! The synthetic corpus: every chunk, entity, relation and vector is a function of its number, so that nothing has to be stored for
//! comparison.
//!
//! A topic has about a hundred chunks and its own entities, few of which are mentioned often. Some mentions are of entities that all topics
//! share; their numbers of mentions follow a power law. A vector is the sum of its topic's centre, which is near the centres of related
//! topics, and noise of the same length. So neighbours have a cosine of about 0.5, like passages of one article. The components of a vector
//! have unequal variances, like those of models.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use async_trait::async_trait;
use graphloom_core::{Embedder, Embeddings, ModelError, Purpose, Usage};

/// Dimensions of a vector.
pub(crate) const DIMENSIONS: usize = 384;
/// Chunks per topic, and entities of its own.
pub(crate) const TOPIC: usize = 100;
/// Chunks per document.
pub(crate) const CHUNKS_A_DOCUMENT: usize = 4;
/// Relations per chunk, each between two entities that it mentions.
const FACTS: usize = 5;
/// Number of topics that are related to each other.
const FIELD: usize = 30;
/// Length of the noise of a topic's centre around its field, and of a vector around its topic. The centre has length 1.
const TOPIC_NOISE: f32 = 1.0;
const VECTOR_NOISE: f32 = 1.0;
/// Words in the vocabulary, and words in a sentence besides its names.
const VOCABULARY: usize = 50_000;
const WORDS_A_SENTENCE: usize = 12;
const ONSETS: [&str; 16] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st"];
const RHYMES: [&str; 8] = ["a", "e", "i", "o", "u", "an", "el", "or"];
/// Syllables a name or a word can begin with.
const SYLLABLES: usize = ONSETS.len() * RHYMES.len();
const VERBS: [&str; 6] = ["met", "founded", "visited", "followed", "described", "joined"];

/// A corpus with this number of chunks.
pub(crate) struct World {
    pub(crate) chunks: usize,
    /// Whether documents arrive in random order instead of topic by topic.
    pub(crate) shuffled: bool,
    /// Name of the embedder.
    pub(crate) embedder: String,
}

/// One stated relation: from, verb, to.
pub(crate) type StatedRelation = (usize, &'static str, usize);

impl World {
    pub(crate) fn topics(&self) -> usize {
        self.chunks.div_ceil(TOPIC)
    }

    pub(crate) fn entities(&self) -> usize {
        self.topics() * TOPIC
    }

    /// Returns the topic of the chunk that arrives at this place. Chunks beyond the corpus have topics of the corpus.
    pub(crate) fn topic(&self, chunk: usize) -> usize {
        let document = chunk / CHUNKS_A_DOCUMENT;
        let document = match self.shuffled {
            true => Dice::new(&("order", document)).below(self.chunks / CHUNKS_A_DOCUMENT),
            false => document % (self.chunks / CHUNKS_A_DOCUMENT).max(1),
        };
        document * CHUNKS_A_DOCUMENT / TOPIC
    }

    /// Returns the facts of a chunk. The first is about an entity of its topic, and so are most others.
    pub(crate) fn facts(&self, chunk: usize) -> Vec<StatedRelation> {
        self.stated(chunk, 0.85)
    }

    fn stated(&self, chunk: usize, own_share: f64) -> Vec<StatedRelation> {
        let topic = self.topic(chunk);
        let mut dice = Dice::new(&("facts", chunk));
        let mut entity = |own: bool| match own || dice.unit() < own_share {
            true => topic * TOPIC + (dice.unit().powi(2) * TOPIC as f64) as usize,
            false => (dice.unit().powi(4) * self.entities() as f64) as usize,
        };
        let mut names: Vec<usize> = (0..=FACTS).map(|place| entity(place == 0)).collect();
        // A fact needs two different names, so a repeated name is replaced by the next name of the topic.
        for place in 1..names.len() {
            if names[place] == names[place - 1] {
                names[place] = topic * TOPIC + (names[place] + 1) % TOPIC;
            }
            if names[place] == names[place - 1] {
                names[place] = topic * TOPIC + (names[place] + 1) % TOPIC;
            }
        }
        let mut dice = Dice::new(&("verbs", chunk));
        names.windows(2).map(|pair| (pair[0], VERBS[dice.below(VERBS.len())], pair[1])).collect()
    }

    /// Returns the text of a chunk: a sentence for each fact.
    pub(crate) fn text(&self, chunk: usize) -> String {
        sentences(chunk, self.facts(chunk))
    }

    /// Returns the text of a chunk that mentions only entities of its topic.
    pub(crate) fn text_of_own(&self, chunk: usize) -> String {
        sentences(chunk, self.stated(chunk, 1.0))
    }

    /// Returns a question about the facts of a chunk.
    pub(crate) fn question(&self, chunk: usize) -> String {
        let facts = self.facts(chunk);
        let ((from, verb, to), (_, _, other)) = (facts[0], facts[facts.len() - 1]);
        format!("Who or what {verb} {} after {} and {}?", name(to), name(from), name(other))
    }

    /// Returns the vector of a text of a topic.
    pub(crate) fn vector(&self, topic: usize, text: &str) -> Vec<f32> {
        let field = noise(&("field", topic / FIELD), 1.0);
        let centre = unit(add(field, noise(&("topic", topic), TOPIC_NOISE)));
        unit(add(centre, noise(&("text", text), VECTOR_NOISE)))
    }

    /// Returns the topic of the first entity that the text names.
    fn topic_of(&self, text: &str) -> usize {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
        let named = words.windows(2).find_map(|pair| named(pair[0], pair[1]));
        named.map_or(0, |entity| entity / TOPIC % self.topics())
    }
}

#[async_trait]
impl Embedder for World {
    fn name(&self) -> &str {
        &self.embedder
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(DIMENSIONS as u32)
    }

    async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let vectors = texts.iter().map(|text| self.vector(self.topic_of(text), text)).collect();
        Ok(Embeddings { vectors, usage: Usage::default(), attempts: 0 })
    }
}

/// Returns a sentence for each fact.
fn sentences(chunk: usize, facts: Vec<StatedRelation>) -> String {
    let mut dice = Dice::new(&("words", chunk));
    let sentences = facts.into_iter().map(|(from, verb, to)| {
        // Zipf's law: the word of rank r has a frequency of about 1/r.
        let words = (0..WORDS_A_SENTENCE).map(|_| (VOCABULARY as f64).powf(dice.unit()) as usize);
        let words: Vec<String> = words.map(word).collect();
        format!("{} {verb} {} {}.", name(from), name(to), words.join(" "))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// Returns an entity's name: a word for the topic, and a word for the entity within the topic.
pub(crate) fn name(entity: usize) -> String {
    format!("{} {}", capital(&syllables(entity / TOPIC)), capital(&syllables(entity % TOPIC)))
}

/// Returns the entity with this name.
fn named(topic: &str, own: &str) -> Option<usize> {
    let number = |word: &str| {
        let lower = word.to_lowercase();
        let mut rest = lower.as_str();
        let mut digits = Vec::new();
        while !rest.is_empty() {
            let onset = (ONSETS.iter().enumerate())
                .filter(|(_, onset)| rest.starts_with(**onset))
                .max_by_key(|(_, onset)| onset.len())?;
            rest = &rest[onset.1.len()..];
            // A syllable ends where the next one can begin.
            let rhyme = (RHYMES.iter().enumerate())
                .filter(|(_, rhyme)| rest.strip_prefix(**rhyme).is_some_and(begins_or_ends))
                .max_by_key(|(_, rhyme)| rhyme.len())?;
            rest = &rest[rhyme.1.len()..];
            digits.push(onset.0 * RHYMES.len() + rhyme.0);
        }
        let number = digits.iter().rev().fold(0, |number, digit| number * SYLLABLES + digit);
        (syllables(number) == lower).then_some(number)
    };
    let starts = |word: &str| word.starts_with(char::is_uppercase);
    if !starts(topic) || !starts(own) {
        return None;
    }
    Some(number(topic)? * TOPIC + number(own)?)
}

fn begins_or_ends(rest: &str) -> bool {
    rest.is_empty() || ONSETS.iter().any(|onset| rest.starts_with(onset))
}

fn word(rank: usize) -> String {
    syllables(rank + SYLLABLES)
}

/// Spells a number in syllables, at least two.
fn syllables(mut number: usize) -> String {
    let mut text = String::new();
    for place in 0.. {
        if place >= 2 && number == 0 {
            break;
        }
        let digit = number % SYLLABLES;
        text.push_str(ONSETS[digit / RHYMES.len()]);
        text.push_str(RHYMES[digit % RHYMES.len()]);
        number /= SYLLABLES;
    }
    text
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn add(mut one: Vec<f32>, other: Vec<f32>) -> Vec<f32> {
    one.iter_mut().zip(other).for_each(|(x, y)| *x += y);
    one
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// Returns a random vector of about this length, in which the first dimensions weigh most.
fn noise(seed: &impl Hash, length: f32) -> Vec<f32> {
    let mut dice = Dice::new(seed);
    let mut vector = Vec::with_capacity(DIMENSIONS);
    for at in 0..DIMENSIONS {
        let weight = 1.0 / (1.0 + at as f32 / 96.0);
        vector.push(weight * dice.bell());
    }
    unit(vector).into_iter().map(|x| x * length).collect()
}

/// A random number generator with a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (SplitMix64).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniform number from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    /// Returns a number from approximately a normal distribution: the sum of four uniform numbers.
    fn bell(&mut self) -> f32 {
        let bits = self.next();
        (0..4).map(|part| ((bits >> (16 * part)) as u16) as f32 / 65_536.0 - 0.5).sum()
    }
}
