//! Questions that a text may answer, made by filling its names in question forms.

use std::ops::Range;

use graphloom_text::is_prose;

use crate::{Passage, Reply, language_code, reply};

/// An entity that a sentence names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntity {
    /// The name as in the sentence.
    pub name: String,
    /// The type of the entity.
    pub kind: String,
}

/// Returns the byte range of the sentence that answers a question; `None` if the passage has none that is certain.
pub fn answer_in(question: &str, passage: Passage<'_>) -> Option<Range<usize>> {
    match reply(question, &[passage]) {
        Reply::Answer(quotes) => quotes.into_iter().next().map(|quote| quote.range),
        Reply::Likely(_) | Reply::Closest(_) | Reply::Nothing => None,
    }
}

/// A question made from a form, and what a sentence needs to answer it.
pub struct QuestionForm {
    /// The question.
    pub question: String,
    /// The names in the question.
    names: Vec<String>,
    needs: Needs,
}

/// What a sentence needs in addition to the names.
#[derive(Clone, Copy)]
enum Needs {
    /// Nothing.
    Names,
    /// One of these words, in a sentence that begins with the name.
    Word(&'static [&'static str]),
    /// One of these words directly before the name, as in "Ada wrote the Notes", or with "by" in a sentence that begins with
    /// the name.
    ObjectOf(&'static [&'static str]),
    /// One of these words and a number, in a sentence that begins with the name.
    WordAndNumber(&'static [&'static str]),
}

impl QuestionForm {
    /// Returns the byte range of the sentence that answers the question: prose with everything that the form needs; `None` if the
    /// passage has none.
    pub fn answer_in(&self, passage: Passage<'_>) -> Option<Range<usize>> {
        let range = answer_in(&self.question, passage)?;
        let sentence = &passage.text[range.clone()];
        let fits = self.fits(sentence, &sentence.to_lowercase(), begins_with);
        (is_prose(sentence) && fits).then_some(range)
    }

    /// False if no sentence of a text has everything that the form needs.
    ///
    /// - `lower`: the text in lower case.
    ///
    /// This takes much less time than to look for the answer.
    pub fn may_be_answered_by(&self, text: &str, lower: &str) -> bool {
        self.fits(text, lower, begins_sentence)
    }

    /// True if a text has everything that the form needs.
    ///
    /// - `lower`: the text in lower case.
    /// - `is_subject_of`: whether a name in lower case is the subject of the text.
    fn fits(&self, text: &str, lower: &str, is_subject_of: impl Fn(&str, &str) -> bool) -> bool {
        let has_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let name = self.names.first().map_or_else(String::new, |name| name.to_lowercase());
        let is_subject = || is_subject_of(lower, &name);
        let has_needs = || match self.needs {
            Needs::Names => true,
            Needs::Word(words) => has_any(words) && is_subject(),
            Needs::ObjectOf(words) => words.iter().any(|word| {
                let is_passive = lower.contains(&format!("{word} by ")) && is_subject();
                is_passive || is_followed_by(lower, word, &name)
            }),
            Needs::WordAndNumber(words) => has_any(words) && text.contains(char::is_numeric) && is_subject(),
        };
        self.names.iter().all(|name| text.contains(name.as_str())) && has_needs()
    }
}

/// True if only an article is between a word and a name after it.
fn is_followed_by(sentence: &str, word: &str, name: &str) -> bool {
    sentence.match_indices(word).any(|(at, _)| {
        let rest = &sentence[at + word.len()..];
        rest.find(name).is_some_and(|end| ARTICLES.contains(&rest[..end].trim()))
    })
}

/// True if a sentence begins with a name, or with an article and the name.
fn begins_with(sentence: &str, name: &str) -> bool {
    sentence.find(name).is_some_and(|start| ARTICLES.contains(&sentence[..start].trim()))
}

/// True if a sentence of a text may begin with a name, or with an article and the name: a line, a mark such as a full stop, or
/// nothing is before it.
fn begins_sentence(text: &str, name: &str) -> bool {
    let may_begin = |before: &str| {
        let bare = before.trim_end();
        before[bare.len()..].contains(['\n', '\r']) || !bare.ends_with(char::is_alphanumeric)
    };
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end();
        ARTICLES.iter().any(|article| match article.is_empty() {
            true => may_begin(&text[..at]),
            false => before.strip_suffix(article).is_some_and(may_begin),
        })
    })
}

/// Words allowed between a verb and its object, and before a subject.
const ARTICLES: [&str; 9] = ["", "the", "a", "an", "der", "die", "das", "den", "了"];
/// Question forms in English; `{}` is the name.
const ENGLISH: [(&str, Needs); 14] = [
    ("Who founded {}?", Needs::ObjectOf(&["founded"])),
    ("Who built {}?", Needs::ObjectOf(&["built"])),
    ("Who wrote {}?", Needs::ObjectOf(&["wrote", "written"])),
    ("Who invented {}?", Needs::ObjectOf(&["invented"])),
    ("Who discovered {}?", Needs::ObjectOf(&["discovered"])),
    ("Who designed {}?", Needs::ObjectOf(&["designed"])),
    ("Who directs {}?", Needs::ObjectOf(&["directs", "director of"])),
    ("When was {} founded?", Needs::WordAndNumber(&["founded"])),
    ("When was {} built?", Needs::WordAndNumber(&["was built"])),
    ("When was {} born?", Needs::WordAndNumber(&["born"])),
    ("When did {} die?", Needs::WordAndNumber(&["died"])),
    ("Where was {} born?", Needs::Word(&["born in"])),
    ("Where did {} live?", Needs::Word(&["lived in", "lives in"])),
    ("Where is {}?", Needs::Word(&[" lies ", "located", "stands in"])),
];
/// Question forms in German.
const GERMAN: [(&str, Needs); 6] = [
    ("Wer gründete {}?", Needs::ObjectOf(&["gründete"])),
    ("Wer baute {}?", Needs::ObjectOf(&["baute"])),
    ("Wer schrieb {}?", Needs::ObjectOf(&["schrieb"])),
    ("Wann wurde {} gegründet?", Needs::WordAndNumber(&["gegründet"])),
    ("Wann wurde {} geboren?", Needs::WordAndNumber(&["geboren"])),
    ("Wo liegt {}?", Needs::Word(&["liegt"])),
];
/// Question forms in Chinese.
const CHINESE: [(&str, Needs); 3] = [
    ("谁创立了{}？", Needs::ObjectOf(&["创立", "创办", "创建"])),
    ("{}是什么时候成立的？", Needs::WordAndNumber(&["成立"])),
    ("{}在哪里？", Needs::Word(&["位于"])),
];

/// Returns questions about the names in a sentence that the sentence or its passage may answer, in the language of the sentence.
pub fn question_forms(sentence: &str, names: &[NamedEntity]) -> Vec<QuestionForm> {
    let language = language_code(sentence);
    let of_language: &[(&str, Needs)] = match language {
        "de" => &GERMAN,
        "zh" => &CHINESE,
        _ => &ENGLISH,
    };
    let mut forms = Vec::new();
    let proper = names.iter().filter(|named| named.name.starts_with(|c: char| !c.is_lowercase()));
    for NamedEntity { name, kind } in proper.take(2) {
        let names = vec![name.clone()];
        let with_article = format!("the {name}");
        let name = if sentence.contains(&with_article) { &with_article } else { name };
        forms.extend(of_language.iter().map(|(question, needs)| QuestionForm {
            question: question.replace("{}", name),
            names: names.clone(),
            needs: *needs,
        }));
        let is_person = kind.eq_ignore_ascii_case("person");
        let (question, needs) = match (language, is_person) {
            ("de", true) => (format!("Wer ist {name}?"), Needs::Word(&[" ist ", " war "])),
            ("de", false) => (format!("Was ist {name}?"), Needs::Word(&[" ist ", " war "])),
            ("zh", true) => (format!("{name}是谁？"), Needs::Word(&["是"])),
            ("zh", false) => (format!("{name}是什么？"), Needs::Word(&["是"])),
            (_, true) => (format!("Who is {name}?"), Needs::Word(&[" is ", " was "])),
            (_, false) => {
                let needs = Needs::Word(&[" is a", " was a", " is the ", " was the ", " are "]);
                (format!("What is {name}?"), needs)
            }
        };
        forms.push(QuestionForm { question, names, needs });
    }
    if let [NamedEntity { name: one, .. }, NamedEntity { name: other, .. }, ..] = names {
        let question = match language {
            "de" => format!("Was verbindet {one} mit {other}?"),
            "zh" => format!("{one}和{other}有什么关系？"),
            _ => format!("How is {one} connected to {other}?"),
        };
        forms.push(QuestionForm { question, names: vec![one.clone(), other.clone()], needs: Needs::Names });
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which question forms are tried about a name on a text.
    #[track_caller]
    fn check_tried(name: &str, text: &str, expected: &[&str]) {
        let named = NamedEntity { name: name.to_owned(), kind: "work".to_owned() };
        let forms = question_forms(text, &[named]);
        let lower = text.to_lowercase();
        let tried = forms.iter().filter(|form| form.may_be_answered_by(text, &lower));
        let tried: Vec<&str> = tried.map(|form| form.question.as_str()).collect();
        assert_eq!(tried, expected, "{text}");
    }

    #[test]
    fn only_questions_whose_words_are_in_the_passage_are_tried_on_it() {
        check_tried("Notes", "In 1843 Ada wrote the Notes.", &["Who wrote the Notes?"]);
        check_tried("Notes", "A library. The Notes were written by Ada.", &["Who wrote Notes?"]);
        let of_year = ["When was Hall founded?", "What is Hall?"];
        check_tried("Hall", "# Hall\nHall was founded in 1906. It is a school.", &of_year);
        check_tried("Hall", "Hall was founded long ago.", &[]);
        check_tried("Hall", "In 1906 they built near Hall. It is old and was founded twice.", &[]);
        check_tried("Hall", "The hall was founded in 1906.", &[]);
    }
}
