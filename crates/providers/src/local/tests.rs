//! A tiny model folder with random weights, and properties that hold for any model.

use std::fs;
use std::path::Path;

use graphloom_minilm::WEIGHTS_FILE;

use super::*;

const HIDDEN: usize = 8;
const WORDS: [&str; 9] = ["[UNK]", "[CLS]", "[SEP]", "a", "man", "is", "eating", "food", "bread"];

/// Writes a single-layer BERT with weights from a counter.
pub(crate) fn write_tiny_folder(folder: &Path) {
    let config = r#"{"model_type":"bert","vocab_size":9,"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":12,"type_vocab_size":2}"#;
    fs::write(folder.join("config.json"), config).unwrap();
    let vocab: serde_json::Map<_, _> =
        WORDS.iter().zip(0..).map(|(word, id)| ((*word).to_owned(), id.into())).collect();
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": {"type": "BertNormalizer"},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": null,
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
        "model": {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]"},
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let (h, wide) = (HIDDEN, 2 * HIDDEN);
    let mut shapes: Vec<(String, Vec<usize>)> = Vec::new();
    for (name, rows) in [("word", 9), ("position", 12), ("token_type", 2)] {
        shapes.push((format!("bert.embeddings.{name}_embeddings.weight"), vec![rows, h]));
    }
    let layer = "bert.encoder.layer.0";
    let dense = [
        ("attention.self.query", h, h),
        ("attention.self.key", h, h),
        ("attention.self.value", h, h),
        ("attention.output.dense", h, h),
        ("intermediate.dense", wide, h),
        ("output.dense", h, wide),
    ];
    for (name, rows, columns) in dense {
        shapes.push((format!("{layer}.{name}.weight"), vec![rows, columns]));
        shapes.push((format!("{layer}.{name}.bias"), vec![rows]));
    }
    for name in ["bert.embeddings".to_owned(), format!("{layer}.attention.output"), format!("{layer}.output")]
    {
        shapes.push((format!("{name}.LayerNorm.weight"), vec![h]));
        shapes.push((format!("{name}.LayerNorm.bias"), vec![h]));
    }
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from((state >> 16) as u16) / 32_768.0 - 1.0
    };
    let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let start = bytes.len();
        (0..shape.iter().product()).for_each(|_| bytes.extend(next().to_le_bytes()));
        let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()]});
        header.insert(name, entry);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let weights = [(header.len() as u64).to_le_bytes().as_slice(), &header, &bytes].concat();
    fs::write(folder.join(WEIGHTS_FILE), weights).unwrap();
}

pub(super) fn tiny_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_tiny_folder(folder.path());
    folder
}

fn tiny() -> (tempfile::TempDir, LocalEmbedder) {
    let folder = tiny_folder();
    let embedder = LocalEmbedder::open(LocalConfig::new("tiny", folder.path())).unwrap();
    (folder, embedder)
}

pub(super) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn vectors_have_unit_length_and_the_order_of_the_texts() {
    let (_folder, embedder) = tiny();
    let all = texts(&["A man is eating food", "bread", "a man", "food", "", &"man ".repeat(50)]);
    let together = embedder.embed(Purpose::Document, &all).await.unwrap();
    assert_eq!(embedder.dimensions().await.unwrap(), 8);
    for (text, vector) in all.iter().zip(&together.vectors) {
        let alone = embedder.embed(Purpose::Query, std::slice::from_ref(text)).await.unwrap();
        assert_eq!(&alone.vectors[0], vector, "the vector of {text:?} depends on its neighbours");
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
    }
    // The special tokens around each text count, and the long text is truncated to the model's 12 positions.
    assert_eq!(together.usage.prompt_tokens, 7 + 3 + 4 + 3 + 2 + 12);
}

#[tokio::test]
async fn first_token_pooling_is_respected() {
    let (folder, mean) = tiny();
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let pooling =
        r#"{"word_embedding_dimension":8,"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}"#;
    fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
    let first = LocalEmbedder::open(LocalConfig::new("tiny", folder.path())).unwrap();
    let text = texts(&["a man is eating"]);
    let mean = mean.embed(Purpose::Document, &text).await.unwrap();
    assert_ne!(first.embed(Purpose::Document, &text).await.unwrap().vectors, mean.vectors);
}

#[tokio::test]
async fn prompts_in_the_model_folder_are_used_and_part_of_the_name() {
    let (folder, _) = tiny();
    let prompts = r#"{"prompts":{"query":"food ","document":""}}"#;
    fs::write(folder.path().join("config_sentence_transformers.json"), prompts).unwrap();
    let embedder = LocalEmbedder::open(LocalConfig::new("tiny", folder.path())).unwrap();
    assert!(
        embedder.name().starts_with("local:tiny@")
            && embedder.name().ends_with(r#"[document="",query="food "]"#)
    );
    let query = embedder.embed(Purpose::Query, &texts(&["bread"])).await.unwrap();
    let document = embedder.embed(Purpose::Document, &texts(&["food bread"])).await.unwrap();
    assert_eq!(query.vectors, document.vectors);
}

fn check_refusal(file: &str, content: &str) -> String {
    let (folder, _) = tiny();
    if let Some(parent) = folder.path().join(file).parent() {
        fs::create_dir_all(parent).unwrap();
    }
    fs::write(folder.path().join(file), content).unwrap();
    let opened = LocalEmbedder::open(LocalConfig::new("tiny", folder.path()));
    let message = match opened.and_then(|embedder| embedder.check()) {
        Ok(()) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    message.replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn an_unusable_folder_is_refused_with_the_reason() {
    assert_eq!(
        check_refusal("1_Pooling/config.json", r#"{"pooling_mode_max_tokens":true}"#),
        "the model in DIR cannot be used: pooling by pooling_mode_max_tokens is not supported"
    );
    assert_eq!(
        check_refusal("modules.json", r#"[{"type":"sentence_transformers.models.Dense","path":"2_Dense"}]"#),
        "the model in DIR cannot be used: it needs a step Dense"
    );
    assert_eq!(check_refusal("config.json", "{"), "reading the settings in DIR/config.json");
    assert!(check_refusal("model.safetensors", "xx").starts_with("the model in DIR cannot be used: "));
    assert!(check_refusal("tokenizer.json", "{}").starts_with("the model in DIR cannot be used: "));
    assert_eq!(check_refusal("README.md", "hello"), "accepted");
}
