//! Low-rank changes of a model's weights, which give the model another task.
//!
//! A file contains, with little-endian numbers: the rank in 32 bits; for each layer and each of its six dense layers, `rank` rows
//! with a number for each input and `rank` rows with a number for each output, in 4-bit blocks as in a
//! [packed file](crate::PACKED_FILE), where the last block of a row is filled up; and a vector of the model's width in 32-bit
//! floats, which turns the model's output into a number.
//!
//! Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022.

use std::collections::HashMap;

use crate::folder::BertConfig;
use crate::packed::{packed_bytes, unpack};
use crate::weights::{Rows, Tensors};

/// A row with a number for each input, and one with a number for each output.
type Pair = (Vec<f32>, Vec<f32>);

/// The changes of a model.
#[derive(Debug)]
pub(crate) struct Adapter {
    /// The pairs of each changed matrix. The change is the sum of their outer products.
    changes: HashMap<String, Vec<Pair>>,
    /// The vector that turns the model's output into a number.
    pub(crate) head: Vec<f32>,
}

impl Adapter {
    /// Reads a file for a model of this shape. `None` if the file is for another shape.
    pub(crate) fn read(bytes: &[u8], config: &BertConfig) -> Option<Self> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let (rank, mut rest) = bytes.split_first_chunk::<4>()?;
        let rank = u32::from_le_bytes(*rank) as usize;
        let mut row = |length: usize| {
            let (blocks, after) = rest.split_at_checked(packed_bytes(length))?;
            rest = after;
            let mut values = Vec::new();
            unpack(blocks, &mut values);
            values.truncate(length);
            Some(values)
        };
        let mut changes = HashMap::new();
        for layer in 0..config.num_hidden_layers {
            for (name, inputs, outputs) in [
                ("attention.self.query", hidden, hidden),
                ("attention.self.key", hidden, hidden),
                ("attention.self.value", hidden, hidden),
                ("attention.output.dense", hidden, hidden),
                ("intermediate.dense", hidden, wide),
                ("output.dense", wide, hidden),
            ] {
                let from = (0..rank).map(|_| row(inputs)).collect::<Option<Vec<_>>>()?;
                let to = (0..rank).map(|_| row(outputs)).collect::<Option<Vec<_>>>()?;
                let name = format!("encoder.layer.{layer}.{name}.weight");
                changes.insert(name, from.into_iter().zip(to).collect());
            }
        }
        let (head, left) = rest.as_chunks::<4>();
        let head: Vec<f32> = head.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (head.len() == hidden && left.is_empty()).then_some(Self { changes, head })
    }
}

/// The weights of a model with the changes of an adapter.
pub(crate) struct AdaptedWeights<'a> {
    pub(crate) weights: &'a mut dyn Tensors,
    pub(crate) adapter: &'a Adapter,
}

impl Tensors for AdaptedWeights<'_> {
    fn contains(&self, name: &str) -> bool {
        self.weights.contains(name)
    }

    fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<Rows, String> {
        self.weights.rows(name, shape)
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let mut values = self.weights.read(name, shape)?;
        for (from, to) in self.adapter.changes.get(name).into_iter().flatten() {
            for (row, output) in values.chunks_exact_mut(from.len()).zip(to) {
                row.iter_mut().zip(from).for_each(|(value, input)| *value += output * input);
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::folder::Activation;

    pub(crate) fn config(hidden: usize, wide: usize, layers: usize) -> BertConfig {
        BertConfig {
            vocab_size: 1,
            hidden_size: hidden,
            num_hidden_layers: layers,
            num_attention_heads: 1,
            intermediate_size: wide,
            max_position_embeddings: 1,
            position_offset: 0,
            type_vocab_size: 0,
            layer_norm_eps: 1e-12,
            activation: Activation::Gelu,
        }
    }

    /// Returns a file with rank 1, in which every number is `value`, and all numbers of the head are 1.
    pub(crate) fn file(config: &BertConfig, value: f32) -> Vec<u8> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let half = if value == 0.0 { 0u16 } else { 0x3c00 };
        let block = [&half.to_le_bytes()[..], &[0x99; 16]].concat();
        let row = |length: usize| block.repeat(length.div_ceil(32));
        let mut file = 1u32.to_le_bytes().to_vec();
        for _ in 0..config.num_hidden_layers {
            for (inputs, outputs) in [(hidden, hidden); 4].into_iter().chain([(hidden, wide), (wide, hidden)])
            {
                file.extend(row(inputs).into_iter().chain(row(outputs)));
            }
        }
        file.extend(std::iter::repeat_n(1f32.to_le_bytes(), hidden).flatten());
        file
    }

    /// Weights that are 0.5 everywhere.
    struct Halves;

    impl Tensors for Halves {
        fn contains(&self, _: &str) -> bool {
            true
        }

        fn read(&mut self, _: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
            Ok(vec![0.5; shape.iter().product()])
        }

        fn rows(&mut self, _: &str, _: [usize; 2]) -> Result<Rows, String> {
            Err("no rows".to_owned())
        }
    }

    #[test]
    fn the_products_of_its_rows_are_added_to_the_dense_layers_alone() {
        let config = config(4, 40, 2);
        let adapter = Adapter::read(&file(&config, 1.0), &config).unwrap();
        let mut adapted = AdaptedWeights { weights: &mut Halves, adapter: &adapter };
        assert_eq!(adapted.read("encoder.layer.1.intermediate.dense.weight", &[40, 4]).unwrap(), [1.5; 160]);
        assert_eq!(adapted.read("encoder.layer.1.output.dense.weight", &[4, 40]).unwrap(), [1.5; 160]);
        assert_eq!(adapted.read("encoder.layer.1.output.dense.bias", &[4]).unwrap(), [0.5; 4]);
        assert_eq!(adapted.read("encoder.layer.2.output.dense.weight", &[4, 40]).unwrap(), [0.5; 160]);
        assert_eq!(adapter.head, [1.0; 4]);
    }

    #[test]
    fn a_file_for_another_shape_is_refused() {
        let file = file(&config(4, 40, 2), 1.0);
        assert!(Adapter::read(&file, &config(4, 40, 3)).is_none());
        assert!(Adapter::read(&file, &config(4, 40, 1)).is_none());
        assert!(Adapter::read(&file, &config(5, 40, 2)).is_none());
        assert!(Adapter::read(&file[..file.len() - 1], &config(4, 40, 2)).is_none());
        assert!(Adapter::read(&[], &config(4, 40, 2)).is_none());
    }
}
