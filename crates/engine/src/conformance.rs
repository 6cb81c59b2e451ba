//! Tests against the tables of `tests/lightrag`. Each row has an input, LightRAG's result, Graphloom's result and the reason if
//! they differ. Tables of public functions are checked here, the others next to their functions.
//!
//! LightRAG's results were recorded from release 1.5.7; Graphloom's follow from the rules in
//! `docs/methods/lightrag.md`.

use std::collections::BTreeSet;
use std::fmt::Debug;

use graphloom_core::Format;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::chunk::{ChunkConfig, ChunkStrategy, chunk};
use crate::extract::records::parse;
use graphloom_readers::ParsedDocument;
use graphloom_text::{Tokenizer, clean_name, entity_key, sanitize};

/// The page that describes the steps under test.
const PAGE: &str = include_str!("../../../docs/methods/lightrag.md");
/// Minimum number of rows in a table.
const MIN_ROWS: usize = 8;

/// A table of inputs and expected results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table<I, O> {
    /// Heading in [`PAGE`] that the table belongs to.
    page: String,
    /// What is compared, what an input means, and LightRAG's rule.
    rule: String,
    pub(crate) rows: Vec<Row<I, O>>,
}

/// One input with its results.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row<I, O> {
    case: String,
    pub(crate) input: I,
    lightrag: O,
    ours: O,
    verdict: Verdict,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Same,
    /// The results differ, for this reason.
    Differs(String),
}

impl<I: DeserializeOwned, O: DeserializeOwned + Debug + PartialEq> Table<I, O> {
    /// Reads a table from JSON and checks that its verdicts match its values.
    pub(crate) fn read(json: &str) -> Self {
        let table: Self = serde_json::from_str(json).expect("a table of conformance");
        assert!(table.rule.contains("LightRAG"), "a table names LightRAG's rule");
        let heading = format!("\n### {}\n", table.page);
        assert!(PAGE.contains(&heading), "{} is no step of docs/methods/lightrag.md", table.page);
        assert!(table.rows.len() >= MIN_ROWS, "{} rows are too few: {}", table.rows.len(), table.rule);
        let cases: BTreeSet<&str> = table.rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases.len(), table.rows.len(), "every case has a name of its own: {}", table.rule);
        for row in &table.rows {
            match &row.verdict {
                Verdict::Same => assert_eq!(row.ours, row.lightrag, "{} is not the same", row.case),
                Verdict::Differs(why) => {
                    assert!(!why.is_empty(), "{} gives no reason", row.case);
                    assert_ne!(row.ours, row.lightrag, "{} does not differ", row.case);
                }
            }
        }
        table
    }

    /// Compares `found`, one value per row, with the table.
    #[track_caller]
    pub(crate) fn check(&self, found: Vec<O>) {
        assert_eq!(found.len(), self.rows.len());
        let wrong: Vec<String> = (self.rows.iter().zip(&found))
            .filter(|(row, found)| row.ours != **found)
            .map(|(row, found)| format!("{}: expected {:?}, found {found:?}", row.case, row.ours))
            .collect();
        assert!(wrong.is_empty(), "{}\n{}", self.rule, wrong.join("\n"));
    }
}

/// Returns a text of `tokens` tokens that starts with `number`, so different numbers give different texts.
pub(crate) fn words(number: usize, tokens: usize) -> String {
    let text = format!("{number:03}{}", " word".repeat(tokens - 1));
    assert_eq!(Tokenizer.count(&text) as usize, tokens);
    text
}

/// A text, written out or as a repetition.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Repeated { repeat: String, times: usize },
}

impl Text {
    fn whole(&self) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Repeated { repeat, times } => repeat.repeat(*times),
        }
    }
}

#[test]
fn texts_are_sanitised_as_in_lightrag() {
    let table: Table<String, String> = Table::read(include_str!("../tests/lightrag/sanitizing.json"));
    table.check(table.rows.iter().map(|row| sanitize(&row.input).into_owned()).collect());
}

#[test]
fn names_are_cleaned_as_in_lightrag() {
    let mut table: Table<Text, Option<Text>> = Table::read(include_str!("../tests/lightrag/names.json"));
    for row in &mut table.rows {
        row.ours = row.ours.take().map(|name| Text::Plain(name.whole()));
    }
    table.check(table.rows.iter().map(|row| clean_name(&row.input.whole()).map(Text::Plain)).collect());
}

#[test]
fn types_are_read_as_in_lightrag() {
    let table: Table<String, Option<String>> = Table::read(include_str!("../tests/lightrag/types.json"));
    let kind = |written: &String| {
        let answer = format!("entity<|#|>Kelm<|#|>{written}<|#|>A town.\n<|COMPLETE|>");
        parse(&answer, false).records().entities.pop().map(|entity| entity.kind)
    };
    table.check(table.rows.iter().map(|row| kind(&row.input)).collect());
}

#[test]
fn names_share_an_entity_as_in_lightrag() {
    let table: Table<[String; 2], bool> = Table::read(include_str!("../tests/lightrag/identity.json"));
    let key = |name: &String| clean_name(name).and_then(|name| entity_key(&name)).expect("a name");
    table.check(table.rows.iter().map(|row| key(&row.input[0]) == key(&row.input[1])).collect());
}

#[test]
fn fixed_windows_are_cut_as_in_lightrag() {
    #[derive(Deserialize)]
    struct Input {
        text: Text,
        size: u32,
        overlap: u32,
    }
    /// Window positions in characters. `None` if LightRAG fails, or for a window that it cannot locate.
    type Windows = Option<Vec<Option<[usize; 2]>>>;

    let table: Table<Input, Windows> = Table::read(include_str!("../tests/lightrag/windows.json"));
    let windows = |Input { text, size, overlap }: &Input| {
        let document = ParsedDocument {
            text: text.whole(),
            format: Format::Text,
            encoding: "UTF-8".to_owned(),
            title: None,
            headings: Vec::new(),
            lines_match_source: true,
            parts: Vec::new(),
            boilerplate: Vec::new(),
            remarks: Vec::new(),
        };
        let config = ChunkConfig {
            strategy: ChunkStrategy::TokenWindow,
            max_chunk_tokens: Some(*size),
            overlap_tokens: *overlap,
        };
        let chars = |end: u64| document.text[..end as usize].chars().count();
        let pieces = chunk(&document, &config, Tokenizer);
        Some(pieces.into_iter().map(|piece| Some([chars(piece.span.start), chars(piece.span.end)])).collect())
    };
    table.check(table.rows.iter().map(|row| windows(&row.input)).collect());
}
