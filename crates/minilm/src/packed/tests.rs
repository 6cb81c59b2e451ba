//! Tests with a small packed file, written according to the description of the format.

use std::fs;
use std::path::Path;

use super::*;
use crate::folder::Settings;
use crate::model::Model;

const HIDDEN: usize = 32;
const WIDE: usize = 64;
const POSITIONS: usize = 8;
const PIECES: [(&str, f32); 7] = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("\u{2581}to", -2.0),
    ("\u{2581}town", -4.0),
    (":", -5.0),
];

/// Returns the bytes of one tensor. A matrix of weights consists of blocks, with a scale that differs from row to row.
fn tensor(name: &str, values: usize) -> Vec<u8> {
    let seed = name.bytes().map(usize::from).sum::<usize>();
    if name.ends_with(".w") && !name.contains("ln") || name == "emb.word" {
        let block = |block: usize| {
            // Powers of two from 2^-6 to 2^-3 as IEEE 754 half-precision numbers.
            let scale = ((9 + (block + seed) % 4) << 10) as u16;
            let bytes = (0..16).map(move |i| ((i * 37 + block * 11 + seed) % 256) as u8);
            scale.to_le_bytes().into_iter().chain(bytes)
        };
        return (0..values / BLOCK).flat_map(block).collect();
    }
    let value = |i: usize| ((i * 7 + seed) % 11) as f32 / 10.0 + 0.1;
    (0..values).flat_map(|i| value(i).to_le_bytes()).collect()
}

fn names() -> Vec<(String, usize)> {
    let mut names = vec![("emb.word".to_owned(), 8 * HIDDEN), ("emb.pos".to_owned(), POSITIONS * HIDDEN)];
    names.extend(
        [("emb.type", 2 * HIDDEN), ("emb.ln.w", HIDDEN), ("emb.ln.b", HIDDEN)]
            .map(|(n, v)| (n.to_owned(), v)),
    );
    for part in ["q", "k", "v", "ao"] {
        names.extend([(format!("l0.{part}.w"), HIDDEN * HIDDEN), (format!("l0.{part}.b"), HIDDEN)]);
    }
    names.extend([("l0.fi.w".to_owned(), HIDDEN * WIDE), ("l0.fi.b".to_owned(), WIDE)]);
    names.extend([("l0.fo.w".to_owned(), HIDDEN * WIDE), ("l0.fo.b".to_owned(), HIDDEN)]);
    for part in ["aln", "oln"] {
        names.extend(["w", "b"].map(|end| (format!("l0.{part}.{end}"), HIDDEN)));
    }
    names
}

fn numbers(numbers: &[usize]) -> Vec<u8> {
    numbers.iter().flat_map(|number| (*number as u32).to_le_bytes()).collect()
}

/// Returns a file with one layer.
fn small_file() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(numbers(&[HIDDEN, 1, 4, WIDE, 8, POSITIONS, 2]));
    bytes.extend(1e-12f32.to_le_bytes());
    bytes.extend(numbers(&[BLOCK, PIECES.len(), 0, 2, 1, 3]));
    let texts: String = PIECES.iter().map(|(text, _)| *text).collect();
    bytes.extend((texts.len() as u64).to_le_bytes());
    let mut bound = 0;
    for (text, _) in PIECES.iter().chain(&[("", 0.0)]) {
        bytes.extend(numbers(&[bound]));
        bound += text.len();
    }
    bytes.extend(PIECES.iter().flat_map(|(_, score)| score.to_le_bytes()));
    bytes.extend(texts.bytes());
    // The line end becomes a space, and 'T' becomes 't'.
    let replacements =
        [numbers(&[10]), vec![1], numbers(&[32]), numbers(&[84]), vec![1], numbers(&[116])].concat();
    bytes.extend(numbers(&[2, replacements.len()]));
    bytes.extend(replacements);
    let tensors: Vec<(String, usize, Vec<u8>)> = names()
        .into_iter()
        .map(|(name, values)| {
            let bytes = tensor(&name, values);
            (name, values, bytes)
        })
        .collect();
    bytes.extend(numbers(&[tensors.len()]));
    let directory: usize = tensors.iter().map(|(name, ..)| name.len() + 23).sum();
    let mut start = bytes.len() + directory;
    for (name, values, data) in &tensors {
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend(name.bytes());
        bytes.push(u8::from(data.len() != values * 4));
        bytes.extend(numbers(&[*values]));
        bytes.extend((start as u64).to_le_bytes());
        bytes.extend((data.len() as u64).to_le_bytes());
        start += data.len();
    }
    bytes.extend(tensors.into_iter().flat_map(|(.., data)| data));
    bytes
}

/// Creates the folder of a small model in the packed format.
fn small_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(PACKED_FILE), small_file()).unwrap();
    folder
}

fn read(folder: &Path) -> Result<Model, crate::FolderError> {
    Model::read(folder, &Settings::read(folder)?)
}

#[test]
fn quantized_blocks_are_unpacked_to_their_values() {
    let mut block = 0x3c00u16.to_le_bytes().to_vec();
    block.extend((0..16u8).map(|i| i << 4 | (15 - i)));
    let mut values = Vec::new();
    unpack(&block, &mut values);
    let expected: Vec<f32> = (-8..8).rev().chain(-8..8).map(|x| x as f32).collect();
    assert_eq!(values, expected);
}

#[test]
fn tensors_are_found_by_name() {
    let small = small_folder();
    let packed = PackedFile::open(File::open(small.path().join(PACKED_FILE)).unwrap()).unwrap();
    let layer = "encoder.layer.0.";
    let parts = [
        "attention.self.query",
        "attention.self.value",
        "attention.output.dense",
        "attention.output.LayerNorm",
    ];
    let wide = ["intermediate.dense", "output.dense", "output.LayerNorm"];
    for name in parts.iter().chain(&wide) {
        assert!(packed.contains(&format!("{layer}{name}.weight")), "{name}");
        assert!(packed.contains(&format!("{layer}{name}.bias")), "{name}");
    }
    for name in ["word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm"] {
        assert!(packed.contains(&format!("embeddings.{name}.weight")), "{name}");
    }
    assert!(!packed.contains("encoder.layer.1.output.dense.weight"));
}

#[test]
fn a_packed_model_embeds_texts_and_averages_the_parts_of_long_ones() {
    let small = small_folder();
    let settings = Settings::read(small.path()).unwrap();
    assert_eq!((settings.document_prompt(), settings.query_prompt()), PROMPTS);
    assert_eq!((settings.dimensions(), settings.weights_file()), (HIDDEN, PACKED_FILE));
    assert!(!settings.makes_table());
    let model = read(small.path()).unwrap();
    assert_eq!(model.tokens("to\nTown"), [[0, 4, 5, 2]]);
    assert_eq!(model.tokens(""), [[0, 2]]);
    // Six of the eight positions are for text.
    let long = model.tokens("to town to town to town to");
    assert_eq!(long, vec![vec![0, 4, 5, 4, 5, 4, 5, 2], vec![0, 4, 2]]);
    let vectors = model.embed(&[long.clone(), vec![long[0].clone()], vec![long[1].clone()]], 2);
    let mut mean: Vec<f32> = vectors[1].iter().zip(&vectors[2]).map(|(x, y)| x * 8.0 + y * 3.0).collect();
    crate::model::normalize(&mut mean);
    assert_eq!(vectors[0], mean);
    assert_ne!(vectors[1], vectors[2]);
    assert!((vectors[0].iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_truncated_or_changed_packed_file_is_refused_without_a_panic() {
    let (small, file) = (small_folder(), small_file());
    let path = small.path().join(PACKED_FILE);
    for length in (0..file.len()).step_by(97).chain([file.len() - 1]) {
        fs::write(&path, &file[..length]).unwrap();
        assert!(read(small.path()).is_err(), "{length} bytes");
    }
    // Up to the tensors, every byte affects how the rest is read.
    for at in 0..600 {
        let mut changed = file.clone();
        changed[at] = 0xff;
        fs::write(&path, changed).unwrap();
        let _ = read(small.path());
    }
}
