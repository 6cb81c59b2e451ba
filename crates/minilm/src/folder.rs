//! Reads a model folder: one with the layout of sentence-transformers, or one with a packed file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::packed::{PACKED_FILE, PROMPTS, PackedFile};
use crate::tokenizer::Tokenizer;
use crate::weights::{Tensors, Weights};

/// Name of the weights file.
pub const WEIGHTS_FILE: &str = "model.safetensors";

/// Maximum text length in tokens if the folder does not specify it.
const DEFAULT_MAX_TOKENS: usize = 256;

/// Why a model folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file is missing.
    #[error("the model folder {folder} has no {file}", folder = folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The file.
        file: String,
    },
    /// A file cannot be read.
    #[error("reading {file}", file = file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The model has not been distilled.
    #[error("the model in {folder} has no table of tokens", folder = folder.display())]
    NoTable {
        /// The folder.
        folder: PathBuf,
    },
    /// The model is not one that can score sentences.
    #[error("the model in {folder} cannot score sentences", folder = folder.display())]
    NoScorer {
        /// The folder.
        folder: PathBuf,
    },
    /// A file cannot be written.
    #[error("writing {file}", file = file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A settings file is invalid.
    #[error("reading the settings in {file}", file = file.display())]
    Settings {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// The model's kind is not supported, or its files do not match.
    #[error("the model in {folder} cannot be used: {what}", folder = folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        what: String,
    },
}

impl FolderError {
    /// Returns a remedy.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "a model folder needs config.json, tokenizer.json and model.safetensors",
            Self::Read { .. } => "check that the file can be read",
            Self::NoTable { .. } => {
                "use the model itself; adding or downloading a model again makes its table if its weights are in safetensors format"
            }
            Self::NoScorer { .. } => "use all-minilm-l6-v2 or multilingual-e5-small",
            Self::Write { .. } => "check that the folder can be written to and has room",
            Self::Settings { .. } => "download the model again; the file may be incomplete",
            Self::Unusable { .. } => {
                "choose a BERT sentence model with a WordPiece vocabulary and mean or first-token pooling, such as \
                 all-minilm-l6-v2"
            }
        }
    }
}

/// How the vector of a text is computed from the vectors of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    FirstToken,
}

/// The function between the two feed-forward layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Gelu,
    GeluTanh,
    Relu,
}

/// The shape of the network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BertConfig {
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) max_position_embeddings: usize,
    /// The first position. The RoBERTa family starts after its padding id.
    pub(crate) position_offset: usize,
    pub(crate) type_vocab_size: usize,
    pub(crate) layer_norm_eps: f32,
    pub(crate) activation: Activation,
}

/// The settings of a model folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub(crate) bert: BertConfig,
    pub(crate) pooling: Pooling,
    pub(crate) max_tokens: usize,
    pub(crate) long_texts: LongTexts,
    document_prompt: String,
    query_prompt: String,
    format: Format,
}

/// How a text with more tokens than the model accepts is embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongTexts {
    /// Only the start is embedded, as in sentence-transformers.
    Cut,
    /// The vector is the mean of the vectors of its parts.
    Parts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    SentenceTransformers,
    Packed,
}

impl Settings {
    /// Reads the settings in `folder` and checks that the model is supported and that its files exist.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let refuse = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        if folder.join(PACKED_FILE).is_file() {
            let bert = open_packed(folder)?.bert.clone();
            let (document_prompt, query_prompt) = (PROMPTS.0.to_owned(), PROMPTS.1.to_owned());
            return Ok(Self {
                pooling: Pooling::Mean,
                max_tokens: bert.max_position_embeddings,
                long_texts: LongTexts::Parts,
                bert,
                document_prompt,
                query_prompt,
                format: Format::Packed,
            });
        }
        for file in [WEIGHTS_FILE, "tokenizer.json"] {
            if !folder.join(file).is_file() {
                return Err(FolderError::Missing { folder: folder.to_owned(), file: file.to_owned() });
            }
        }
        let missing = || FolderError::Missing { folder: folder.to_owned(), file: "config.json".to_owned() };
        let bert = settings::<WireConfig>(folder, "config.json")?.ok_or_else(missing)?;
        let bert = bert.check().map_err(refuse)?;
        let modules: Vec<WireModule> = settings(folder, "modules.json")?.unwrap_or_default();
        let known = ["Transformer", "Pooling", "Normalize"];
        if let Some(module) = modules.iter().find(|module| !known.contains(&module.kind())) {
            return Err(refuse(format!("it needs a step {}", module.kind())));
        }
        let pooling_folder = modules.iter().find(|module| module.kind() == "Pooling");
        let pooling_folder = pooling_folder.map_or("1_Pooling", |module| module.path.as_str());
        let pooling = match settings::<WirePooling>(folder, &format!("{pooling_folder}/config.json"))? {
            Some(pooling) => pooling.check().map_err(refuse)?,
            None => Pooling::Mean,
        };
        let sentence: Option<WireSentence> = settings(folder, "sentence_bert_config.json")?;
        let tokenizer: Option<WireTokenizer> = settings(folder, "tokenizer_config.json")?;
        let declared = sentence.and_then(|config| config.max_seq_length).or_else(|| {
            let length = tokenizer.and_then(|config| config.model_max_length)?;
            // Tokenizers without a limit have 1e30 here.
            (length >= 1.0 && length <= bert.max_position_embeddings as f64).then_some(length as usize)
        });
        let positions = bert.max_position_embeddings - bert.position_offset;
        let max_tokens = declared.unwrap_or(DEFAULT_MAX_TOKENS).clamp(3, positions);
        let prompts =
            settings::<WirePrompts>(folder, "config_sentence_transformers.json")?.unwrap_or_default().prompts;
        let prompt =
            |names: &[&str]| names.iter().find_map(|name| prompts.get(*name)?.clone()).unwrap_or_default();
        Ok(Self {
            bert,
            pooling,
            max_tokens,
            long_texts: LongTexts::Cut,
            format: Format::SentenceTransformers,
            document_prompt: prompt(&["document", "passage"]),
            query_prompt: prompt(&["query"]),
        })
    }

    /// Returns the name of the folder's weights file.
    pub fn weights_file(&self) -> &'static str {
        match self.format {
            Format::SentenceTransformers => WEIGHTS_FILE,
            Format::Packed => PACKED_FILE,
        }
    }

    /// True if a table can be distilled from the model. A packed model has a large vocabulary for many
    /// languages, so its table would be larger than the model.
    pub fn makes_table(&self) -> bool {
        self.format == Format::SentenceTransformers
    }

    /// Returns the weights in `folder`.
    pub(crate) fn weights(&self, folder: &Path) -> Result<Box<dyn Tensors>, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        Ok(match self.format {
            Format::SentenceTransformers => {
                Box::new(Weights::open(open_file(folder, WEIGHTS_FILE)?).map_err(unusable)?)
            }
            Format::Packed => Box::new(open_packed(folder)?),
        })
    }

    /// Returns the tokenizer in `folder`. All of its tokens have weights.
    pub(crate) fn tokenizer(&self, folder: &Path) -> Result<Tokenizer, FolderError> {
        let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
        let tokenizer = match self.format {
            Format::SentenceTransformers => Tokenizer::read(&read_file(folder, "tokenizer.json")?),
            Format::Packed => open_packed(folder)?.tokenizer(),
        };
        let tokenizer = tokenizer.map_err(unusable)?;
        if tokenizer.id_limit() > self.bert.vocab_size {
            let (ids, words) = (tokenizer.id_limit(), self.bert.vocab_size);
            return Err(unusable(format!("its tokenizer has {ids} tokens, but its weights have {words}")));
        }
        Ok(tokenizer)
    }

    /// Returns the length of the vectors.
    pub fn dimensions(&self) -> usize {
        self.bert.hidden_size
    }

    /// Returns the prefix that the model expects before a document; often empty.
    pub fn document_prompt(&self) -> &str {
        &self.document_prompt
    }

    /// Returns the prefix that the model expects before a query; often empty.
    pub fn query_prompt(&self) -> &str {
        &self.query_prompt
    }
}

fn open_packed(folder: &Path) -> Result<PackedFile, FolderError> {
    let unusable = |what: String| FolderError::Unusable { folder: folder.to_owned(), what };
    PackedFile::open(open_file(folder, PACKED_FILE)?).map_err(unusable)
}

fn open_file(folder: &Path, file: &str) -> Result<File, FolderError> {
    let file = folder.join(file);
    File::open(&file).map_err(|source| FolderError::Read { file, source })
}

/// Returns the bytes of a file in the folder.
fn read_file(folder: &Path, file: &str) -> Result<Vec<u8>, FolderError> {
    let file = folder.join(file);
    fs::read(&file).map_err(|source| FolderError::Read { file, source })
}

/// Parses a JSON settings file; `None` if it does not exist.
fn settings<T: DeserializeOwned>(folder: &Path, file: &str) -> Result<Option<T>, FolderError> {
    if !folder.join(file).is_file() {
        return Ok(None);
    }
    let bytes = read_file(folder, file)?;
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|source| FolderError::Settings { file: folder.join(file), source })
}

#[derive(Debug, Deserialize)]
struct WireConfig {
    #[serde(default)]
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default)]
    type_vocab_size: usize,
    #[serde(default = "default_eps")]
    layer_norm_eps: f32,
    #[serde(default)]
    hidden_act: Option<String>,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn default_eps() -> f32 {
    1e-12
}

impl WireConfig {
    fn check(self) -> Result<BertConfig, String> {
        let position_offset = match self.model_type.as_str() {
            "bert" | "" => 0,
            "roberta" | "xlm-roberta" | "camembert" => self.pad_token_id.unwrap_or(1).saturating_add(1),
            other => return Err(format!("models of type {other} are not supported")),
        };
        let activation = match self.hidden_act.as_deref() {
            None | Some("gelu") => Activation::Gelu,
            Some("gelu_new" | "gelu_pytorch_tanh") => Activation::GeluTanh,
            Some("relu") => Activation::Relu,
            Some(other) => return Err(format!("the activation {other} is not supported")),
        };
        if let Some(kind) = self.position_embedding_type.filter(|kind| kind != "absolute") {
            return Err(format!("{kind} positions are not supported"));
        }
        if self.num_attention_heads == 0 || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let (size, heads) = (self.hidden_size, self.num_attention_heads);
            return Err(format!("hidden size {size} cannot be divided among {heads} attention heads"));
        }
        // Two positions are for the special tokens around a text.
        if self.max_position_embeddings < position_offset.saturating_add(3) {
            return Err(format!("{} positions leave no room for text", self.max_position_embeddings));
        }
        if self.hidden_size == 0 || self.intermediate_size == 0 || self.vocab_size == 0 {
            return Err("its sizes must be positive".to_owned());
        }
        Ok(BertConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            intermediate_size: self.intermediate_size,
            max_position_embeddings: self.max_position_embeddings,
            position_offset,
            type_vocab_size: self.type_vocab_size,
            layer_norm_eps: self.layer_norm_eps,
            activation,
        })
    }
}

#[derive(Debug, Deserialize)]
struct WireModule {
    r#type: String,
    #[serde(default)]
    path: String,
}

impl WireModule {
    fn kind(&self) -> &str {
        self.r#type.rsplit('.').next().unwrap_or_default()
    }
}

/// Pooling as flags. Exactly one of them may be true.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct WirePooling(BTreeMap<String, serde_json::Value>);

impl WirePooling {
    fn check(self) -> Result<Pooling, String> {
        let is_on = |(name, value): (&String, &serde_json::Value)| {
            (name.starts_with("pooling_mode_") && value.as_bool() == Some(true)).then(|| name.clone())
        };
        let on: Vec<String> = self.0.iter().filter_map(is_on).collect();
        match on.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] | ["pooling_mode_mean_tokens"] => Ok(Pooling::Mean),
            ["pooling_mode_cls_token"] => Ok(Pooling::FirstToken),
            modes => Err(format!("pooling by {} is not supported", modes.join(" and "))),
        }
    }
}

#[derive(Debug, Deserialize)]
struct WireSentence {
    max_seq_length: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct WireTokenizer {
    model_max_length: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
struct WirePrompts {
    #[serde(default)]
    prompts: BTreeMap<String, Option<String>>,
}
