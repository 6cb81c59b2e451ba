//! The BERT encoder, which processes texts of different lengths side by side without padding.
//!
//! Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019.

use crate::folder::{Activation, BertConfig, Pooling};
use crate::matrix::{PackedMatrix, Rows, Scratch, multiply};
use crate::pointwise::{Norm, activate, softmax};
use crate::weights::{self, Tensors};

/// The weights of an encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    hidden: usize,
    heads: usize,
    activation: Activation,
    words: weights::Rows,
    /// Sums of position and segment embeddings.
    places: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Query, key and value side by side. Queries are already scaled by the root of the head's size.
    attention_input: PackedMatrix,
    attention_output: PackedMatrix,
    attention_norm: Norm,
    widen: PackedMatrix,
    narrow: PackedMatrix,
    norm: Norm,
}

/// Buffers of a forward pass, reused from pass to pass.
#[derive(Debug, Default)]
pub(crate) struct Space {
    hidden: Vec<f32>,
    /// Query, key and value of each token.
    inputs: Vec<f32>,
    attended: Vec<f32>,
    /// The output of a layer before it is added to the layer's input.
    change: Vec<f32>,
    wide: Vec<f32>,
    scores: Vec<f32>,
    keys: PackedMatrix,
    values: PackedMatrix,
    scratch: Scratch,
}

impl Encoder {
    /// Loads the weights. Their names may have a prefix for the model family.
    pub(crate) fn read(config: &BertConfig, weights: &mut dyn Tensors) -> Result<Self, String> {
        const WORDS: &str = "embeddings.word_embeddings.weight";
        let prefix =
            ["bert.", "roberta."].into_iter().find(|prefix| weights.contains(&format!("{prefix}{WORDS}")));
        let mut reader = Reader { weights, prefix: prefix.unwrap_or_default() };
        let (hidden, eps) = (config.hidden_size, config.layer_norm_eps);
        let words = reader.rows(WORDS, [config.vocab_size, hidden])?;
        let mut places = reader
            .tensor("embeddings.position_embeddings.weight", &[config.max_position_embeddings, hidden])?;
        places.drain(..config.position_offset * hidden);
        if config.type_vocab_size > 0 {
            let types = reader
                .tensor("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, hidden])?;
            for place in places.chunks_exact_mut(hidden) {
                place.iter_mut().zip(&types).for_each(|(x, segment)| *x += segment);
            }
        }
        let norm = reader.norm("embeddings.LayerNorm", hidden, eps)?;
        let layers = (0..config.num_hidden_layers)
            .map(|layer| Layer::read(config, &format!("encoder.layer.{layer}"), &mut reader))
            .collect::<Result<_, _>>()?;
        let (heads, activation) = (config.num_attention_heads, config.activation);
        Ok(Self { hidden, heads, activation, words, places, norm, layers })
    }

    /// Returns the vector of each text, before normalization. A vector depends only on its text.
    ///
    /// - `texts`: as in [`states`](Self::states).
    pub(crate) fn encode(&self, texts: &[&[u32]], pooling: Pooling, space: &mut Space) -> Vec<Vec<f32>> {
        let hidden = self.hidden;
        let mut rows = self.states(texts, space).chunks_exact(hidden);
        let pool = |text: &&[u32]| {
            let mut pooled = vec![0.0; hidden];
            for (place, row) in rows.by_ref().take(text.len()).enumerate() {
                if pooling == Pooling::Mean || place == 0 {
                    pooled.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                }
            }
            pooled
        };
        texts.iter().map(pool).collect()
    }

    /// Returns the last layer's vectors of all tokens of all texts, one after another.
    ///
    /// - `texts`: token ids below the vocabulary's size, at least one and at most as many as there are positions.
    pub(crate) fn states<'s>(&self, texts: &[&[u32]], space: &'s mut Space) -> &'s [f32] {
        let hidden = self.hidden;
        space.hidden.clear();
        space.change.clear();
        for text in texts {
            for &id in *text {
                self.words.append(id as usize, &mut space.hidden);
            }
            space.change.extend_from_slice(&self.places[..text.len() * hidden]);
        }
        self.norm.add_and_apply(&mut space.hidden, &space.change);
        for layer in &self.layers {
            self.apply(layer, texts, space);
        }
        &space.hidden
    }

    fn apply(&self, layer: &Layer, texts: &[&[u32]], space: &mut Space) {
        let hidden = self.hidden;
        let (tokens, wide) = (space.hidden.len() / hidden, layer.widen.columns());
        space.inputs.resize(tokens * 3 * hidden, 0.0);
        multiply(
            Rows::dense(&space.hidden, hidden),
            &layer.attention_input,
            &mut space.inputs,
            3 * hidden,
            &mut space.scratch,
        );
        space.attended.resize(tokens * hidden, 0.0);
        let mut first = 0;
        for text in texts {
            self.attend(first, text.len(), space);
            first += text.len();
        }
        multiply(
            Rows::dense(&space.attended, hidden),
            &layer.attention_output,
            &mut space.change,
            hidden,
            &mut space.scratch,
        );
        layer.attention_norm.add_and_apply(&mut space.hidden, &space.change);
        space.wide.resize(tokens * wide, 0.0);
        multiply(Rows::dense(&space.hidden, hidden), &layer.widen, &mut space.wide, wide, &mut space.scratch);
        activate(self.activation, &mut space.wide);
        multiply(
            Rows::dense(&space.wide, wide),
            &layer.narrow,
            &mut space.change,
            hidden,
            &mut space.scratch,
        );
        layer.norm.add_and_apply(&mut space.hidden, &space.change);
    }

    /// Computes attention among the tokens of one text, which start at row `first`.
    fn attend(&self, first: usize, tokens: usize, space: &mut Space) {
        if tokens == 0 {
            return;
        }
        let size = self.hidden / self.heads;
        space.scores.resize(tokens * tokens, 0.0);
        for head in 0..self.heads {
            let inputs = &space.inputs;
            let part = |part: usize| {
                let stride = 3 * self.hidden;
                let values = &inputs[first * stride + part * self.hidden + head * size..];
                Rows { values, stride, rows: tokens, columns: size }
            };
            space.keys.set_transposed(part(1));
            space.values.set(part(2));
            multiply(part(0), &space.keys, &mut space.scores, tokens, &mut space.scratch);
            softmax(&mut space.scores, tokens);
            let scores = Rows::dense(&space.scores, tokens);
            let out = &mut space.attended[first * self.hidden + head * size..];
            multiply(scores, &space.values, out, self.hidden, &mut space.scratch);
        }
    }
}

impl Layer {
    fn read(config: &BertConfig, name: &str, reader: &mut Reader<'_>) -> Result<Self, String> {
        let (hidden, wide, eps) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let scale = if part == "query" {
                ((hidden / config.num_attention_heads) as f32).sqrt().recip()
            } else {
                1.0
            };
            let (weight, bias) = reader.dense(&format!("{name}.attention.self.{part}"), hidden, hidden)?;
            weights.extend(weight.into_iter().map(|x| x * scale));
            biases.extend(bias.into_iter().map(|x| x * scale));
        }
        let attention_input = pack(&weights, &biases, hidden);
        drop(weights);
        let mut layer = |part: &str, from: usize, to: usize| -> Result<PackedMatrix, String> {
            let (weights, bias) = reader.dense(&format!("{name}.{part}"), from, to)?;
            Ok(pack(&weights, &bias, from))
        };
        let attention_output = layer("attention.output.dense", hidden, hidden)?;
        let widen = layer("intermediate.dense", hidden, wide)?;
        let narrow = layer("output.dense", wide, hidden)?;
        let attention_norm = reader.norm(&format!("{name}.attention.output.LayerNorm"), hidden, eps)?;
        let norm = reader.norm(&format!("{name}.output.LayerNorm"), hidden, eps)?;
        Ok(Self { attention_input, attention_output, attention_norm, widen, narrow, norm })
    }
}

fn pack(weights: &[f32], bias: &[f32], inputs: usize) -> PackedMatrix {
    PackedMatrix::layer(Rows::dense(weights, inputs), bias)
}

/// Reads weights whose names have a common prefix.
struct Reader<'a> {
    weights: &'a mut dyn Tensors,
    prefix: &'static str,
}

impl Reader<'_> {
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        self.weights.read(&format!("{}{name}", self.prefix), shape)
    }

    fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<weights::Rows, String> {
        self.weights.rows(&format!("{}{name}", self.prefix), shape)
    }

    /// Returns weights and bias of a dense layer.
    fn dense(&mut self, name: &str, from: usize, to: usize) -> Result<(Vec<f32>, Vec<f32>), String> {
        Ok((
            self.tensor(&format!("{name}.weight"), &[to, from])?,
            self.tensor(&format!("{name}.bias"), &[to])?,
        ))
    }

    fn norm(&mut self, name: &str, size: usize, epsilon: f32) -> Result<Norm, String> {
        let scale = self.tensor(&format!("{name}.weight"), &[size])?;
        Ok(Norm { scale, shift: self.tensor(&format!("{name}.bias"), &[size])?, epsilon })
    }
}
