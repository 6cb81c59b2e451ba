//! The BERT encoder, for batches without padding.

use candle_core::{Module, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{LayerNorm, Linear, VarBuilder, layer_norm, linear};

use super::folder::{Activation, BertConfig};

/// A loaded encoder.
#[derive(Debug)]
pub(super) struct Bert {
    words: Tensor,
    /// Sum of position and segment embeddings.
    places: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    /// Loads the weights; their names may have a prefix for the model family.
    pub(super) fn new(config: &BertConfig, weights: VarBuilder<'_>) -> Result<Self> {
        const WORDS: &str = "embeddings.word_embeddings.weight";
        let prefix = ["bert", "roberta"]
            .into_iter()
            .find(|prefix| weights.contains_tensor(&format!("{prefix}.{WORDS}")));
        let weights = match prefix {
            Some(prefix) => weights.pp(prefix),
            None => weights,
        };
        let hidden = config.hidden_size;
        let embeddings = weights.pp("embeddings");
        let words = embeddings.get((config.vocab_size, hidden), "word_embeddings.weight")?;
        let positions =
            embeddings.get((config.max_position_embeddings, hidden), "position_embeddings.weight")?;
        let used = config.max_position_embeddings - config.position_offset;
        let mut places = positions.narrow(0, config.position_offset, used)?;
        if config.type_vocab_size > 0 {
            let types = embeddings.get((config.type_vocab_size, hidden), "token_type_embeddings.weight")?;
            places = places.broadcast_add(&types.narrow(0, 0, 1)?)?;
        }
        let norm = layer_norm(hidden, config.layer_norm_eps, embeddings.pp("LayerNorm"))?;
        let layers = weights.pp("encoder.layer");
        let layers = (0..config.num_hidden_layers)
            .map(|layer| Layer::new(config, layers.pp(layer.to_string())))
            .collect::<Result<_>>()?;
        Ok(Self { words, places, norm, layers })
    }

    /// Hidden states of shape (texts, tokens, hidden size) for ids of shape (texts, tokens).
    pub(super) fn forward(&self, ids: &Tensor) -> Result<Tensor> {
        let (texts, tokens) = ids.dims2()?;
        let words = self.words.index_select(&ids.flatten_all()?, 0)?.reshape((texts, tokens, ()))?;
        let places = self.places.narrow(0, 0, tokens)?;
        let mut hidden = self.norm.forward(&words.broadcast_add(&places)?)?;
        for layer in &self.layers {
            hidden = layer.forward(&hidden)?;
        }
        Ok(hidden)
    }
}

#[derive(Debug)]
struct Layer {
    heads: usize,
    scale: f64,
    /// Query, key and value in one multiplication.
    attention_input: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    widen: Linear,
    narrow: Linear,
    norm: LayerNorm,
    activation: Activation,
}

impl Layer {
    fn new(config: &BertConfig, weights: VarBuilder<'_>) -> Result<Self> {
        let (hidden, eps) = (config.hidden_size, config.layer_norm_eps);
        let attention = weights.pp("attention");
        let projections = ["query", "key", "value"]
            .into_iter()
            .map(|name| linear(hidden, hidden, attention.pp("self").pp(name)))
            .collect::<Result<Vec<_>>>()?;
        let rows: Vec<&Tensor> = projections.iter().map(Linear::weight).collect();
        let biases: Vec<&Tensor> = projections.iter().filter_map(Linear::bias).collect();
        Ok(Self {
            heads: config.num_attention_heads,
            scale: 1.0 / ((hidden / config.num_attention_heads) as f64).sqrt(),
            attention_input: Linear::new(Tensor::cat(&rows, 0)?, Some(Tensor::cat(&biases, 0)?)),
            attention_output: linear(hidden, hidden, attention.pp("output.dense"))?,
            attention_norm: layer_norm(hidden, eps, attention.pp("output.LayerNorm"))?,
            widen: linear(hidden, config.intermediate_size, weights.pp("intermediate.dense"))?,
            narrow: linear(config.intermediate_size, hidden, weights.pp("output.dense"))?,
            norm: layer_norm(hidden, eps, weights.pp("output.LayerNorm"))?,
            activation: config.activation,
        })
    }

    fn forward(&self, hidden: &Tensor) -> Result<Tensor> {
        let (texts, tokens, size) = hidden.dims3()?;
        let split = (texts, tokens, 3, self.heads, size / self.heads);
        // (3, texts, heads, tokens, head size)
        let parts =
            self.attention_input.forward(hidden)?.reshape(split)?.permute((2, 0, 3, 1, 4))?.contiguous()?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);
        let scores = (query * self.scale)?.matmul(&key.t()?)?;
        let heard = softmax_last_dim(&scores)?.matmul(&value)?;
        let heard = heard.transpose(1, 2)?.reshape((texts, tokens, size))?;
        let attended = self.attention_norm.forward(&(self.attention_output.forward(&heard)? + hidden)?)?;
        let wide = self.widen.forward(&attended)?;
        let wide = match self.activation {
            Activation::Gelu => wide.gelu_erf()?,
            Activation::GeluTanh => wide.gelu()?,
            Activation::Relu => wide.relu()?,
        };
        self.norm.forward(&(self.narrow.forward(&wide)? + attended)?)
    }
}
