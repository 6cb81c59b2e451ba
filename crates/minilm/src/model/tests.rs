//! Compares a small model with random weights with the definition of BERT, computed as plain sums in double precision.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::WEIGHTS_FILE;

const HIDDEN: usize = 32;
const HEADS: usize = 4;
const WIDE: usize = 72;
const POSITIONS: usize = 40;
const WORDS: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "man", "is", "eat", "##ing", "food", ",", "bread"];

type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Writes a model with two layers, whose weights follow from a counter.
pub(crate) fn write_folder(folder: &Path, pooling: &str) -> Tensors {
    let config = serde_json::json!({"model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": HIDDEN,
        "num_hidden_layers": 2, "num_attention_heads": HEADS, "intermediate_size": WIDE,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12});
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let vocab: BTreeMap<&str, usize> = WORDS.iter().enumerate().map(|(id, word)| (*word, id)).collect();
    let tokenizer = serde_json::json!({
        "added_tokens": [{"id": 3, "content": "[SEP]"}], "normalizer": {"type": "BertNormalizer"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    fs::write(folder.join("1_Pooling/config.json"), format!(r#"{{"pooling_mode_{pooling}":true}}"#)).unwrap();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![WORDS.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
    ];
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in ["encoder.layer.0", "encoder.layer.1"] {
        let dense =
            ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"];
        let square = dense.map(|name| (name, HIDDEN, HIDDEN));
        let wide = [("intermediate.dense", WIDE, HIDDEN), ("output.dense", HIDDEN, WIDE)];
        for (name, rows, columns) in square.into_iter().chain(wide) {
            shapes.push((format!("{layer}.{name}.weight"), vec![rows, columns]));
            shapes.push((format!("{layer}.{name}.bias"), vec![rows]));
        }
        norms.extend(["attention.output", "output"].map(|name| format!("{layer}.{name}.LayerNorm")));
    }
    for name in norms {
        shapes.extend(["weight", "bias"].map(|part| (format!("{name}.{part}"), vec![HIDDEN])));
    }
    let mut state = 7u32;
    let mut next = |spread: f32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f32::from((state >> 16) as u16) / 32_768.0 - 1.0) * spread
    };
    let tensors: Tensors = shapes
        .into_iter()
        .map(|(name, shape)| {
            let spread = if shape.len() == 2 { 0.5 } else { 1.0 };
            let values = (0..shape.iter().product()).map(|_| next(spread)).collect();
            (format!("bert.{name}"), (shape, values))
        })
        .collect();
    write_weights(&folder.join(WEIGHTS_FILE), &tensors);
    tensors
}

fn write_weights(file: &Path, tensors: &Tensors) {
    let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
    for (name, (shape, values)) in tensors {
        let start = bytes.len();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()]});
        header.insert(name.clone(), entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    fs::write(file, [(header.len() as u64).to_le_bytes().as_slice(), &header, &bytes].concat()).unwrap();
}

/// Computes the definition: embeddings, then layers of attention and feed-forward networks, each added and normalized.
fn reference(tensors: &Tensors, ids: &[u32], mean: bool) -> Vec<f64> {
    let get = |name: &str| -> Vec<f64> {
        tensors[&format!("bert.{name}")].1.iter().map(|value| f64::from(*value)).collect()
    };
    let dense = |name: &str, rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let (weights, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        let output = |row: &Vec<f64>, i: usize| {
            bias[i] + row.iter().zip(&weights[i * row.len()..]).map(|(x, w)| x * w).sum::<f64>()
        };
        rows.iter().map(|row| (0..bias.len()).map(|i| output(row, i)).collect()).collect()
    };
    let add_norm = |name: &str, rows: Vec<Vec<f64>>, add: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let (scale, shift) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        let norm = |(row, add): (Vec<f64>, &Vec<f64>)| {
            let sums: Vec<f64> = row.iter().zip(add).map(|(x, y)| x + y).collect();
            let mean = sums.iter().sum::<f64>() / sums.len() as f64;
            let variance = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sums.len() as f64;
            let place = |i: usize| (sums[i] - mean) / (variance + 1e-12).sqrt() * scale[i] + shift[i];
            (0..sums.len()).map(place).collect()
        };
        rows.into_iter().zip(add).map(norm).collect()
    };
    let row = |name: &str, row: usize| get(name)[row * HIDDEN..][..HIDDEN].to_vec();
    let words: Vec<_> = ids.iter().map(|id| row("embeddings.word_embeddings.weight", *id as usize)).collect();
    let segment = row("embeddings.token_type_embeddings.weight", 0);
    let place = |i| {
        row("embeddings.position_embeddings.weight", i).iter().zip(&segment).map(|(x, y)| x + y).collect()
    };
    let places: Vec<Vec<f64>> = (0..ids.len()).map(place).collect();
    let mut states = add_norm("embeddings.LayerNorm", words, &places);
    let size = HIDDEN / HEADS;
    for layer in ["encoder.layer.0", "encoder.layer.1"] {
        let part = |name: &str| dense(&format!("{layer}.attention.self.{name}"), &states);
        let (queries, keys, values) = (part("query"), part("key"), part("value"));
        let mut attended = vec![vec![0.0; HIDDEN]; ids.len()];
        for head in 0..HEADS {
            let span = head * size..(head + 1) * size;
            for (query, out) in queries.iter().zip(&mut attended) {
                let dot = |key: &Vec<f64>| span.clone().map(|i| query[i] * key[i]).sum::<f64>();
                let weights: Vec<f64> =
                    keys.iter().map(|key| (dot(key) / (size as f64).sqrt()).exp()).collect();
                let total: f64 = weights.iter().sum();
                for (weight, value) in weights.iter().zip(&values) {
                    span.clone().for_each(|i| out[i] += weight / total * value[i]);
                }
            }
        }
        let change = dense(&format!("{layer}.attention.output.dense"), &attended);
        states = add_norm(&format!("{layer}.attention.output.LayerNorm"), states, &change);
        let mut wide = dense(&format!("{layer}.intermediate.dense"), &states);
        for x in wide.iter_mut().flatten() {
            *x *= 0.5 * (1.0 + erf(*x / 2f64.sqrt()));
        }
        let change = dense(&format!("{layer}.output.dense"), &wide);
        states = add_norm(&format!("{layer}.output.LayerNorm"), states, &change);
    }
    let used = if mean { states.len() } else { 1 };
    let pooled: Vec<f64> = (0..HIDDEN).map(|i| states[..used].iter().map(|row| row[i]).sum()).collect();
    let length = pooled.iter().map(|x| x * x).sum::<f64>().sqrt();
    pooled.iter().map(|x| x / length).collect()
}

/// Computes the error function by its power series.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

/// Creates a folder with a small model.
pub(crate) fn small_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), "mean_tokens");
    folder
}

fn small_model(pooling: &str) -> (tempfile::TempDir, Model, Tensors) {
    let folder = tempfile::tempdir().unwrap();
    let tensors = write_folder(folder.path(), pooling);
    let model = Model::read(folder.path(), &Settings::read(folder.path()).unwrap()).unwrap();
    (folder, model, tensors)
}

const TEXTS: [&str; 6] =
    ["", "a", "A man is eating food", "bread, bread [SEP] a zebra", "food", "eating is eating, man!"];

#[test]
fn vectors_equal_a_reference_implementation() {
    for pooling in ["mean_tokens", "cls_token"] {
        let (_folder, model, tensors) = small_model(pooling);
        let mut texts: Vec<Vec<Vec<u32>>> = TEXTS.iter().map(|text| model.tokens(text)).collect();
        texts.push(model.tokens(&"man eating, food ".repeat(20)));
        assert_eq!((texts[6].len(), texts[6][0].len()), (1, POSITIONS));
        for (text, vector) in texts.iter().zip(model.embed(&texts, 2)) {
            let expected = reference(&tensors, &text[0], pooling == "mean_tokens");
            for (x, y) in vector.iter().zip(&expected) {
                assert!((f64::from(*x) - y).abs() < 2e-5, "{pooling} of {text:?}: {x} and {y}");
            }
        }
    }
}

#[test]
fn the_vector_of_a_text_depends_only_on_that_text() {
    let (_folder, model, _) = small_model("mean_tokens");
    let texts: Vec<Vec<Vec<u32>>> = TEXTS.iter().cycle().take(200).map(|text| model.tokens(text)).collect();
    let together = model.embed(&texts, 3);
    for (text, vector) in texts.iter().zip(&together).take(TEXTS.len()) {
        assert_eq!(model.embed(std::slice::from_ref(text), 1)[0], *vector);
    }
}

#[test]
fn texts_are_split_as_bert_does() {
    let (_folder, model, _) = small_model("mean_tokens");
    assert_eq!(model.tokens("Eating\u{0}, [SEP]éating! 人a"), [[2, 7, 8, 10, 3, 7, 8, 1, 1, 4, 3]]);
}

fn check_refusal(change: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), "mean_tokens");
    change(folder.path());
    let model = Settings::read(folder.path()).and_then(|settings| Model::read(folder.path(), &settings));
    model.err().unwrap().to_string().replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn an_unusable_model_is_refused_with_the_reason() {
    let with = |file: &'static str, from: &'static str, to: &'static str| {
        check_refusal(move |folder| {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            assert!(text.contains(from));
            fs::write(folder.join(file), text.replace(from, to)).unwrap();
        })
    };
    let unusable = "the model in DIR cannot be used: ";
    let unigram = with("tokenizer.json", r#""type":"WordPiece""#, r#""type":"Unigram""#);
    assert_eq!(unigram, format!("{unusable}its tokenizer is of type Unigram, which is not supported"));
    let words = with("tokenizer.json", r#""bread":11"#, r#""bread":12"#);
    assert_eq!(words, format!("{unusable}its tokenizer has 13 tokens, but its weights have 12"));
    let layers = with("config.json", r#""num_hidden_layers":2"#, r#""num_hidden_layers":3"#);
    assert_eq!(
        layers,
        format!("{unusable}the weights have no tensor bert.encoder.layer.2.attention.self.query.weight")
    );
    let narrow = with("config.json", r#""intermediate_size":72"#, r#""intermediate_size":71"#);
    assert!(narrow.contains("has shape [72, 32], expected [71, 32]"), "{narrow}");
    for (from, to) in [
        (r#""max_position_embeddings":40"#, r#""max_position_embeddings":2"#),
        (r#""num_attention_heads":4"#, r#""num_attention_heads":5"#),
        (r#""hidden_size":32"#, r#""hidden_size":0"#),
        (r#""vocab_size":12"#, r#""vocab_size":18446744073709551615"#),
    ] {
        with("config.json", from, to);
    }
    let cut = check_refusal(|folder| {
        let bytes = fs::read(folder.join(WEIGHTS_FILE)).unwrap();
        fs::write(folder.join(WEIGHTS_FILE), &bytes[..bytes.len() - 1]).unwrap();
    });
    assert!(cut.ends_with("is cut or has a wrong length"), "{cut}");
}
