//! Converts texts to token ids, with the settings in a model's `tokenizer.json` or a unigram vocabulary.

mod bert;
pub(crate) mod unigram;
mod wordpiece;

use serde::Deserialize;
use serde_json::Value;

use self::bert::Normalizer;
pub(crate) use self::unigram::Unigram;
use self::wordpiece::WordPiece;

/// A tokenizer for BERT models.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    vocabulary: Vocabulary,
    /// Texts that are one token wherever they occur, such as `[SEP]`.
    marks: Vec<(String, u32)>,
    /// Ids before and after every text.
    around: (Vec<u32>, Vec<u32>),
}

#[derive(Debug)]
enum Vocabulary {
    Words(Normalizer, WordPiece),
    Unigram(Unigram),
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    added_tokens: Vec<WireMark>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    model: Value,
}

#[derive(Deserialize)]
struct WireMark {
    id: u32,
    content: String,
}

impl Tokenizer {
    /// Reads the settings. An error is part of a sentence that says what is wrong or not supported.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let wire: Wire =
            serde_json::from_slice(json).map_err(|error| format!("its tokenizer is invalid: {error}"))?;
        match kind(&wire.pre_tokenizer) {
            "BertPreTokenizer" => {}
            other => return Err(format!("its tokenizer splits words by {other}, which is not supported")),
        }
        let marks = wire.added_tokens.into_iter().filter(|mark| !mark.content.is_empty());
        Ok(Self {
            vocabulary: Vocabulary::Words(
                Normalizer::read(wire.normalizer.as_ref())?,
                WordPiece::read(wire.model)?,
            ),
            marks: marks.map(|mark| (mark.content, mark.id)).collect(),
            around: around(wire.post_processor.as_ref())?,
        })
    }

    /// Creates a tokenizer with the special tokens `before` and `after` around every text.
    pub(crate) fn unigram(vocabulary: Unigram, before: u32, after: u32) -> Self {
        let vocabulary = Vocabulary::Unigram(vocabulary);
        Self { vocabulary, marks: Vec::new(), around: (vec![before], vec![after]) }
    }

    /// Returns the exclusive upper bound of the ids.
    pub(crate) fn id_limit(&self) -> usize {
        let ids = self.marks.iter().map(|(_, id)| id).chain(&self.around.0).chain(&self.around.1);
        let limit = match &self.vocabulary {
            Vocabulary::Words(_, words) => words.id_limit(),
            Vocabulary::Unigram(pieces) => pieces.id_limit(),
        };
        limit.max(ids.map(|id| *id as usize + 1).max().unwrap_or(0))
    }

    /// Returns the ids of a text with the special tokens around it. Long texts are truncated to `max_tokens`.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Vec<u32> {
        let (before, after) = &self.around;
        let mut ids = before.clone();
        self.append(text, max_tokens.saturating_sub(after.len()), &mut ids);
        ids.extend(after);
        ids
    }

    /// Returns the ids of a whole text in parts of at most `max_tokens`, each with the special tokens around
    /// it; at least one part.
    pub(crate) fn encode_parts(&self, text: &str, max_tokens: usize) -> Vec<Vec<u32>> {
        let (before, after) = &self.around;
        let ids = self.plain(text);
        let room = max_tokens.saturating_sub(before.len() + after.len()).max(1);
        let parts = ids.chunks(room).chain(ids.is_empty().then_some(&[][..]));
        parts.map(|part| [before, part, after].concat()).collect()
    }

    /// Returns the ids of a whole text without special tokens.
    pub(crate) fn plain(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.append(text, usize::MAX, &mut ids);
        ids
    }

    /// Returns the special tokens before and after every text.
    pub(crate) fn around(&self) -> (&[u32], &[u32]) {
        (&self.around.0, &self.around.1)
    }

    /// Returns one id with the special tokens around it.
    pub(crate) fn mark(&self, id: u32) -> Vec<u32> {
        self.around.0.iter().chain(&[id]).chain(&self.around.1).copied().collect()
    }

    /// Returns the rank of each of `tokens` ids by frequency, from 2. Vocabularies list tokens by falling
    /// frequency, after special tokens and unused places in brackets.
    pub(crate) fn ranks(&self, tokens: usize) -> impl Iterator<Item = usize> {
        let first = match &self.vocabulary {
            Vocabulary::Words(_, words) => words.brackets(),
            Vocabulary::Unigram(pieces) => pieces.marks(),
        };
        (0..tokens).map(move |id| id.saturating_sub(first).max(2))
    }

    fn append(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        let mut rest = text;
        while !rest.is_empty() && ids.len() < most {
            let marks = self.marks.iter().filter_map(|(mark, id)| Some((rest.find(mark)?, mark.len(), *id)));
            let mark = marks.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)));
            let (plain, id, after) = match mark {
                Some((at, length, id)) => (&rest[..at], Some(id), &rest[at + length..]),
                None => (rest, None, ""),
            };
            match &self.vocabulary {
                Vocabulary::Words(normalizer, words) => normalizer.words(plain, &mut |word| {
                    words.encode(word, ids);
                    ids.len() < most
                }),
                Vocabulary::Unigram(pieces) => pieces.append(plain, most, ids),
            }
            ids.extend(id);
            rest = after;
        }
        ids.truncate(most);
    }
}

fn kind(step: &Option<Value>) -> &str {
    step.as_ref().and_then(|step| step["type"].as_str()).unwrap_or("nothing")
}

/// Returns the ids before and after a text.
fn around(step: Option<&Value>) -> Result<(Vec<u32>, Vec<u32>), String> {
    let invalid = || "its tokenizer has invalid marks around texts".to_owned();
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(invalid);
    let Some(step) = step.filter(|step| !step.is_null()) else { return Ok((Vec::new(), Vec::new())) };
    match step["type"].as_str() {
        Some("BertProcessing" | "RobertaProcessing") => {
            Ok((vec![id(&step["cls"][1])?], vec![id(&step["sep"][1])?]))
        }
        Some("TemplateProcessing") => {
            let (mut before, mut after, mut seen) = (Vec::new(), Vec::new(), false);
            for piece in step["single"].as_array().ok_or_else(invalid)? {
                let Some(name) = piece["SpecialToken"]["id"].as_str() else {
                    seen = true;
                    continue;
                };
                let ids = step["special_tokens"][name]["ids"].as_array().ok_or_else(invalid)?;
                for value in ids {
                    if seen { after.push(id(value)?) } else { before.push(id(value)?) }
                }
            }
            Ok((before, after))
        }
        other => Err(format!(
            "its tokenizer marks texts by {}, which is not supported",
            other.unwrap_or("nothing")
        )),
    }
}
