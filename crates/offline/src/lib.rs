//! The offline default: phrases, records, keywords and answers without an LLM.
//!
//! Everything here is rules over words. English uses a part-of-speech tagger with an embedded model. Scripts with capitals use
//! capitals and punctuation. Other scripts use the text between function words. The same text always gives the same result.

mod answer;
mod claims;
mod common_nouns;
mod dates;
mod extract;
mod follow_up;
mod han;
mod intent;
mod keywords;
mod kind;
mod known_names;
mod languages;
mod lexicon;
mod parts;
mod phrase;
mod proper_names;
mod question_forms;
mod scripts;
mod text_statistics;
mod token;

#[cfg(test)]
mod word_lists_tests;

pub use answer::{
    DefinitionQuestion, LINE_FEATURES, LineFeatures, MAX_PASSAGES, Passage, Quote, Reply, Window,
    line_features, looked_for, reply, reply_with_scores, scores, sentence_about,
};
pub use claims::claims;
pub use claims::{HEAD, date_in, has_one_holder, office_named, offices_of};
pub use extract::{MAX_DESCRIPTION_SENTENCES, MAX_RELATIONS_PER_SENTENCE, RULES, extract};
pub use follow_up::standalone;
pub use intent::{Intent, intent};
pub use keywords::keywords;
pub use known_names::faint_words;
pub use known_names::{KnownName, known_names};
pub use languages::language_code;
pub use lexicon::is_proper;
pub use lexicon::is_small_word;
pub use parts::{MAX_PARTS, Parts, parts};
pub use phrase::{Phrase, PhraseKind, phrases};
pub use question_forms::{NamedEntity, QuestionForm, answer_in, question_forms};
