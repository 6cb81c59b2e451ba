//! Question sets: passages, questions, and the gold passages of each question.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use graphloom_core::{ContentHash, Format};
use graphloom_engine::index::Source;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The file with the passages.
pub const CORPUS_FILE: &str = "corpus.jsonl";

/// The file with the questions.
pub const QUESTIONS_FILE: &str = "questions.jsonl";

/// Maximum size of a file in bytes.
pub const MAX_FILE_BYTES: u64 = 2 << 30;

/// Maximum remarks about a set; further ones are only counted.
const MOST_REMARKS: usize = 20;

/// A question set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionSet {
    /// The name of its folder.
    pub name: String,
    /// The hash of everything in the set that can change a result.
    pub hash: ContentHash,
    /// The passages in file order; `None` if the set has no corpus and its questions are about documents of a
    /// workspace, identified by source.
    pub passages: Option<Vec<Passage>>,
    /// The questions, in the order of the file.
    pub questions: Vec<SetQuestion>,
    /// Remarks about harmless problems.
    pub remarks: Vec<String>,
}

/// A passage. It is indexed as a document whose source is the id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Id in `gold`.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetQuestion {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Gold answers, any of which counts; may be empty.
    pub answers: Vec<String>,
    /// The type of question; empty if unknown.
    pub kind: String,
    /// The passages needed for the answer, without duplicates; may be empty.
    pub gold: Vec<String>,
    /// The expected answer.
    pub expected: ExpectedAnswer,
}

/// Defines which answers to a question are right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedAnswer {
    /// The expected kind of answer.
    pub kind: ExpectedKind,
    /// Parts of a right answer, each with alternative wordings, one of which must occur. If empty, one of the gold
    /// answers must occur.
    pub parts: Vec<Vec<String>>,
    /// Texts that must not occur.
    pub never: Vec<String>,
    /// The language of the question; empty if unknown.
    pub language: String,
}

/// The expected kind of answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedKind {
    /// An answer from the documents.
    #[default]
    Answer,
    /// An overview of the documents.
    Overview,
    /// A refusal: the documents do not contain the answer.
    Refusal,
    /// A greeting.
    Greeting,
}

/// Why a set cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A file cannot be read.
    #[error("reading {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is missing.
    #[error("{} has no {file}", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: &'static str,
    },
    /// A file is too large.
    #[error("{} has more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// A line is invalid.
    #[error("{}:{line}{}: {what}", path.display(), column.map_or_else(String::new, |column| format!(":{column}")))]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1; `None` if the row as a whole is invalid.
        column: Option<usize>,
        /// The error.
        what: String,
    },
    /// The set has no questions.
    #[error("{} has no questions", path.display())]
    NoQuestions {
        /// The file.
        path: PathBuf,
    },
}

impl SetError {
    /// A remedy, if known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Missing { file: CORPUS_FILE, .. } => Some(format!(
                "write {CORPUS_FILE} with lines such as {{\"id\": \"p1\", \"title\": \"...\", \"text\": \"...\"}}, or select a \
                 workspace that has the documents"
            )),
            Self::Missing { .. } | Self::NoQuestions { .. } => Some(format!(
                "write {QUESTIONS_FILE} with lines such as {{\"id\": \"q1\", \"question\": \"...\", \"answers\": [\"...\"], \
                 \"type\": \"...\", \"gold\": [\"p1\"]}}"
            )),
            Self::TooLarge { .. } => Some("split the set".to_owned()),
            Self::Read { .. } | Self::Row { .. } => None,
        }
    }
}

impl QuestionSet {
    /// Reads the set in `folder`. Ignores unknown members and empty lines.
    ///
    /// - `needs_corpus`: whether a set without passages is an error.
    pub fn read(folder: &Path, needs_corpus: bool) -> Result<Self, SetError> {
        let questions_file = folder.join(QUESTIONS_FILE);
        let corpus_file = folder.join(CORPUS_FILE);
        let questions = match read_file(&questions_file)? {
            Some(text) => questions(&questions_file, &text)?,
            None => return Err(SetError::Missing { folder: folder.to_owned(), file: QUESTIONS_FILE }),
        };
        let passages = match read_file(&corpus_file)? {
            Some(text) => Some(passages(&corpus_file, &text)?),
            None if needs_corpus => {
                return Err(SetError::Missing { folder: folder.to_owned(), file: CORPUS_FILE });
            }
            None => None,
        };
        let real = folder.canonicalize();
        let name = real.as_deref().unwrap_or(folder).file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            hash: hash(passages.as_deref().unwrap_or_default(), &questions),
            remarks: passages
                .as_deref()
                .map_or_else(Vec::new, |passages| not_in_corpus(passages, &questions)),
            passages,
            questions,
        })
    }

    /// Returns the texts to index: one per passage, with the title on the first line.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        self.passages.iter().flatten().map(|passage| Source {
            name: passage.id.clone(),
            bytes: match passage.title.is_empty() {
                true => passage.text.clone().into_bytes(),
                false => format!("{}\n{}", passage.title, passage.text).into_bytes(),
            },
            format: Some(Format::Text),
            meta: BTreeMap::new(),
        })
    }

    /// Returns the sources that the questions of a set without a corpus need, without duplicates.
    pub fn needed_sources(&self) -> Vec<String> {
        let gold = self.questions.iter().flat_map(|question| &question.gold);
        let needed: BTreeSet<&String> = match self.passages {
            Some(_) => BTreeSet::new(),
            None => gold.collect(),
        };
        needed.into_iter().cloned().collect()
    }

    /// Returns remarks about needed passages that a workspace does not have.
    ///
    /// - `held`: the [`needed_sources`](Self::needed_sources) it has.
    pub fn not_held(&self, held: &BTreeSet<String>, workspace: &str) -> Vec<String> {
        unknown_gold(&self.questions, |gold| held.contains(gold), &format!("workspace {workspace}"))
    }

    /// Returns a function that is true for sources that are passages of the set; always true for a set without a corpus.
    pub fn holds(&self) -> impl Fn(&str) -> bool + use<> {
        let ids: Option<BTreeSet<String>> = self
            .passages
            .as_ref()
            .map(|passages| passages.iter().map(|passage| passage.id.clone()).collect());
        move |source| ids.as_ref().is_none_or(|ids| ids.contains(source))
    }
}

/// An id: a text or a number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an id is a text or a number")]
enum Id {
    Text(String),
    Number(serde_json::Number),
}

impl Id {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

#[derive(Deserialize)]
struct PassageRow {
    id: Id,
    title: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct QuestionRow {
    id: Id,
    question: String,
    answers: Option<Vec<String>>,
    #[serde(rename = "type")]
    kind: Option<String>,
    gold: Option<Vec<Id>>,
    expect: Option<ExpectedKind>,
    parts: Option<Vec<Vec<String>>>,
    never: Option<Vec<String>>,
    language: Option<String>,
}

fn read_file(path: &Path) -> Result<Option<String>, SetError> {
    let failed = |source| SetError::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(SetError::TooLarge { path: path.to_owned(), limit: MAX_FILE_BYTES });
    }
    Ok(Some(text))
}

/// Returns the rows of a file with their line numbers, from 1.
fn rows<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<(usize, T)>, SetError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match serde_json::from_str(line) {
            Ok(row) => Ok((at + 1, row)),
            Err(error) => Err(not_a_row(path, at + 1, &error)),
        })
        .collect()
}

/// Returns the error with the line number in the file instead of the one within the row, which is always 1.
fn not_a_row(path: &Path, line: usize, error: &serde_json::Error) -> SetError {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = message.strip_suffix(&place).unwrap_or(&message).to_owned();
    let column = Some(error.column()).filter(|column| *column > 0);
    SetError::Row { path: path.to_owned(), line, column, what }
}

fn wrong(path: &Path, line: usize, what: String) -> SetError {
    SetError::Row { path: path.to_owned(), line, column: None, what }
}

fn passages(path: &Path, text: &str) -> Result<Vec<Passage>, SetError> {
    let mut seen = BTreeSet::new();
    let mut passages = Vec::new();
    for (line, PassageRow { id, title, text }) in rows(path, text)? {
        let id = id.into_text();
        if id.is_empty() {
            return Err(wrong(path, line, "the id is empty".to_owned()));
        }
        if !seen.insert(id.clone()) {
            return Err(wrong(path, line, format!("duplicate passage id {id:?}")));
        }
        passages.push(Passage { id, title: title.unwrap_or_default(), text });
    }
    Ok(passages)
}

fn questions(path: &Path, text: &str) -> Result<Vec<SetQuestion>, SetError> {
    let mut seen = BTreeSet::new();
    let mut questions = Vec::new();
    for (line, row) in rows::<QuestionRow>(path, text)? {
        let id = row.id.into_text();
        if row.question.trim().is_empty() {
            return Err(wrong(path, line, "the question is empty".to_owned()));
        }
        if !seen.insert(id.clone()) {
            return Err(wrong(path, line, format!("duplicate question id {id:?}")));
        }
        let mut gold: Vec<String> = Vec::new();
        for id in row.gold.into_iter().flatten().map(Id::into_text) {
            if !gold.contains(&id) {
                gold.push(id);
            }
        }
        let (answers, kind) = (row.answers.unwrap_or_default(), row.kind.unwrap_or_default());
        let expected = ExpectedAnswer {
            kind: row.expect.unwrap_or_default(),
            parts: row.parts.unwrap_or_default(),
            never: row.never.unwrap_or_default(),
            language: row.language.unwrap_or_default(),
        };
        questions.push(SetQuestion { id, text: row.question, answers, kind, gold, expected });
    }
    match questions.is_empty() {
        true => Err(SetError::NoQuestions { path: path.to_owned() }),
        false => Ok(questions),
    }
}

fn hash(passages: &[Passage], questions: &[SetQuestion]) -> ContentHash {
    let mut parts: Vec<String> = Vec::new();
    for Passage { id, title, text } in passages {
        parts.push(ContentHash::of_parts(&[id, title, text]).to_string());
    }
    parts.push("questions".to_owned());
    for SetQuestion { id, text, answers, kind, gold, expected } in questions {
        let of_list = |list: &[String]| {
            ContentHash::of_parts(&list.iter().map(String::as_str).collect::<Vec<_>>()).to_string()
        };
        let (answers, gold) = (of_list(answers), of_list(gold));
        parts.push(ContentHash::of_parts(&[id, text, &answers, kind, &gold]).to_string());
        if *expected != ExpectedAnswer::default() {
            let ExpectedAnswer { kind, parts: of_answer, never, language } = expected;
            // Hashes are in reports, so this text stays as it is if the type changes its name.
            let text = format!(
                "Expected {{ kind: {kind:?}, parts: {of_answer:?}, never: {never:?}, language: {language:?} }}"
            );
            parts.push(ContentHash::of_parts(&[&text]).to_string());
        }
    }
    ContentHash::of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn not_in_corpus(passages: &[Passage], questions: &[SetQuestion]) -> Vec<String> {
    let known: BTreeSet<&str> = passages.iter().map(|passage| passage.id.as_str()).collect();
    unknown_gold(questions, |gold| known.contains(gold), CORPUS_FILE)
}

/// Returns a remark for each needed passage that `is_known` rejects; if there are many, the first remarks and the number of
/// the rest.
fn unknown_gold(questions: &[SetQuestion], is_known: impl Fn(&str) -> bool, place: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    for question in questions {
        for gold in question.gold.iter().filter(|gold| !is_known(gold)) {
            remarks.push(format!(
                "question {} needs passage {gold}, which is not in {place}: it counts as not found",
                question.id
            ));
        }
    }
    let more = remarks.len().saturating_sub(MOST_REMARKS);
    if more > 0 {
        remarks.truncate(MOST_REMARKS);
        remarks.push(format!("and {more} more passages that are not in {place}"));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(corpus: Option<&str>, questions: &str) -> Result<QuestionSet, String> {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(corpus) = corpus {
            std::fs::write(folder.path().join(CORPUS_FILE), corpus).expect("written");
        }
        std::fs::write(folder.path().join(QUESTIONS_FILE), questions).expect("written");
        let error = |error: SetError| {
            let folder = format!("{}/", folder.path().display());
            error.to_string().replace(&folder, "").replace(folder.trim_end_matches('/'), "DIR")
        };
        QuestionSet::read(folder.path(), true).map_err(error)
    }

    const CORPUS: &str =
        "\u{feff}{\"id\": \"p1\", \"title\": \"T\", \"text\": \"x\"}\n\n{\"id\": 2, \"text\": \"y\"}\n";

    #[test]
    fn ids_can_be_numbers_and_optional_fields_can_be_missing() {
        let asked = r#"{"id": 7, "question": "Q?", "gold": [2, "p1", 2], "type": null, "more": 1}"#;
        let set = check_read(Some(CORPUS), asked).expect("a set");
        let texts: Vec<_> =
            set.sources().map(|source| String::from_utf8(source.bytes).expect("UTF-8")).collect();
        assert_eq!(texts, ["T\nx", "y"]);
        assert_eq!(set.questions[0].gold, ["2", "p1"]);
        assert_eq!(set.questions[0].id, "7");
        assert!(set.remarks.is_empty() && set.holds()("2") && !set.holds()("3"));
    }

    #[test]
    fn errors_name_the_line() {
        let asked = r#"{"id": 1, "question": "Q?"}"#;
        for (corpus, questions, expected) in [
            (CORPUS, "", "questions.jsonl has no questions"),
            (CORPUS, "{\"id\": 1, \"question\": \" \"}", "questions.jsonl:1: the question is empty"),
            ("{\"id\": \"\", \"text\": \"\"}", asked, "corpus.jsonl:1: the id is empty"),
            (
                "{\"id\": \"a\", \"text\": \"\"}\n{\"id\": \"a\", \"text\": \"\"}",
                asked,
                "corpus.jsonl:2: duplicate passage id \"a\"",
            ),
            ("{\"id\": \"a\"}", asked, "corpus.jsonl:1:11: missing field `text`"),
            (CORPUS, "\n{\"id\": 1,  2: 3}", "questions.jsonl:2:12: key must be a string"),
            (
                CORPUS,
                "{\"id\": [], \"question\": \"Q?\"}",
                "questions.jsonl:1:9: an id is a text or a number",
            ),
        ] {
            assert_eq!(check_read(Some(corpus), questions).expect_err("refused"), expected);
        }
        assert_eq!(check_read(None, asked).expect_err("refused"), "DIR has no corpus.jsonl");
    }

    #[test]
    fn null_counts_as_missing_in_optional_fields() {
        let corpus = r#"{"id": "p1", "title": null, "text": "x"}"#;
        let asked = r#"{"id": 1, "question": "Q?", "answers": null, "type": null, "gold": null}"#;
        let set = check_read(Some(corpus), asked).expect("a set");
        let without = check_read(Some(r#"{"id": "p1", "text": "x"}"#), r#"{"id": 1, "question": "Q?"}"#);
        let without = without.expect("a set");
        assert_eq!((set.passages, set.questions), (without.passages, without.questions));
    }

    #[test]
    fn without_a_corpus_documents_missing_from_the_workspace_are_remarked() {
        let folder = tempfile::tempdir().expect("a folder");
        let lines: Vec<String> =
            (0..30).map(|at| format!(r#"{{"id": {at}, "question": "Q?", "gold": ["d{at}"]}}"#)).collect();
        std::fs::write(folder.path().join(QUESTIONS_FILE), lines.join("\n")).expect("written");
        let set = QuestionSet::read(folder.path(), false).expect("a set");
        assert!(set.remarks.is_empty() && set.needed_sources().len() == 30);
        let remarks = set.not_held(&BTreeSet::from(["d0".to_owned()]), "mine");
        assert_eq!(
            remarks[0],
            "question 1 needs passage d1, which is not in workspace mine: it counts as not found"
        );
        assert_eq!(remarks[20], "and 9 more passages that are not in workspace mine");
        let with_corpus = check_read(Some(CORPUS), &lines.join("\n")).expect("a set");
        assert!(with_corpus.needed_sources().is_empty());
    }

    #[test]
    fn a_missing_passage_is_remarked() {
        let set = check_read(Some(CORPUS), r#"{"id": 1, "question": "Q?", "gold": ["p9"]}"#).expect("a set");
        assert_eq!(set.remarks.len(), 1);
        assert!(set.remarks[0].contains("question 1 needs passage p9"), "{:?}", set.remarks);
    }

    #[test]
    fn everything_that_can_change_a_result_changes_the_hash() {
        let hash = |corpus: &str, questions: &str| check_read(Some(corpus), questions).expect("a set").hash;
        let asked = r#"{"id": 1, "question": "Q?", "gold": ["p1"]}"#;
        let hashes: BTreeSet<_> = [
            hash(CORPUS, asked),
            hash(CORPUS, r#"{"id": 1, "question": "R?", "gold": ["p1"]}"#),
            hash(CORPUS, r#"{"id": 1, "question": "Q?", "answers": ["p1"]}"#),
            hash(CORPUS, r#"{"id": 1, "question": "Q?", "gold": ["p1"], "expect": "refusal"}"#),
            hash("{\"id\": \"p1\", \"text\": \"x\"}", asked),
        ]
        .into_iter()
        .collect();
        assert_eq!(hashes.len(), 5);
        assert_eq!(hash(CORPUS, asked), hash(&CORPUS.replace("\n\n", "\n"), asked));
    }
}
