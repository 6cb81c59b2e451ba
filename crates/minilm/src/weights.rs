//! Reads single tensors from a file in the safetensors format, so that the whole file is never in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use half::f16;
use serde::Deserialize;

use crate::packed::unpack;

/// Maximum length of the header in bytes, as in the format's own library.
const MAX_HEADER: u64 = 100_000_000;

/// The weights of a model, by their names in the layout of BERT.
pub(crate) trait Tensors {
    /// True if there is a tensor with this name.
    fn contains(&self, name: &str) -> bool;

    /// Returns the values of a tensor in row-major order. An error is part of a sentence that says what is wrong.
    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String>;

    /// Returns a matrix whose rows are used one at a time.
    fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<Rows, String>;
}

/// A matrix in memory.
#[derive(Debug)]
pub(crate) enum Rows {
    /// 16-bit values: half the memory, and vectors with a cosine of at least .999999 to those of 32-bit values.
    Half { values: Vec<f16>, columns: usize },
    /// Blocks of 4-bit values.
    Packed { blocks: Vec<u8>, row_bytes: usize },
}

impl Rows {
    /// Appends the values of a row.
    pub(crate) fn append(&self, row: usize, out: &mut Vec<f32>) {
        match self {
            Self::Half { values, columns } => {
                out.extend(values[row * columns..][..*columns].iter().map(|value| value.to_f32()));
            }
            Self::Packed { blocks, row_bytes } => unpack(&blocks[row * row_bytes..][..*row_bytes], out),
        }
    }
}

/// An open weights file.
#[derive(Debug)]
pub(crate) struct Weights {
    file: File,
    tensors: BTreeMap<String, Tensor>,
    /// Offset at which the tensors' bytes start.
    start: u64,
    end: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl Weights {
    /// Reads the header. An error is part of a sentence that says what is wrong.
    pub(crate) fn open(mut file: File) -> Result<Self, String> {
        let end = file.metadata().map_err(|error| error.to_string())?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| "the weights have no header".to_owned())?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER || length + 8 > end {
            return Err("the weights have an invalid header".to_owned());
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(|error| error.to_string())?;
        let entries: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&header)
            .map_err(|error| format!("the weights have an invalid header: {error}"))?;
        let tensors = entries
            .into_iter()
            .filter(|(name, _)| name != "__metadata__")
            .map(|(name, entry)| match serde_json::from_value(entry) {
                Ok(tensor) => Ok((name, tensor)),
                Err(error) => Err(format!("the weights have an invalid entry {name}: {error}")),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { file, tensors, start: length + 8, end })
    }

    /// Returns what `keep` makes of the values of a tensor, in row-major order.
    fn values<T>(&mut self, name: &str, shape: &[usize], keep: fn(f32) -> T) -> Result<Vec<T>, String> {
        let missing = || format!("the weights have no tensor {name}");
        let tensor = self.tensors.get(name).cloned().ok_or_else(missing)?;
        if tensor.shape != shape {
            return Err(format!("the tensor {name} has shape {:?}, expected {shape:?}", tensor.shape));
        }
        let (widen, size): (fn(&[u8]) -> f32, usize) = match tensor.dtype.as_str() {
            "F32" => (|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]), 4),
            "F16" => (|bytes| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 2),
            "BF16" => (|bytes| f32::from_bits(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])) << 16), 2),
            other => {
                return Err(format!(
                    "the tensor {name} has values of type {other}, expected F32, F16 or BF16"
                ));
            }
        };
        let bytes = shape.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length));
        let wrong = || format!("the tensor {name} is cut or has a wrong length");
        let bytes = bytes.ok_or_else(wrong)?;
        let (from, to) = tensor.data_offsets;
        let inside = self.start.checked_add(to).is_some_and(|end| end <= self.end);
        if !inside || to.checked_sub(from) != Some(bytes as u64) {
            return Err(wrong());
        }
        let fail = |error: std::io::Error| format!("reading the tensor {name}: {error}");
        self.file.seek(SeekFrom::Start(self.start + from)).map_err(fail)?;
        let mut out = Vec::with_capacity(bytes / size);
        let mut buffer = vec![0; bytes.min(1 << 16)];
        let mut left = bytes;
        while left > 0 {
            let part = &mut buffer[..left.min(1 << 16)];
            self.file.read_exact(part).map_err(fail)?;
            out.extend(part.chunks_exact(size).map(widen).map(keep));
            left -= part.len();
        }
        Ok(out)
    }
}

impl Tensors for Weights {
    fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn rows(&mut self, name: &str, shape: [usize; 2]) -> Result<Rows, String> {
        Ok(Rows::Half { values: self.values(name, &shape, f16::from_f32)?, columns: shape[1] })
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        self.values(name, shape, |value| value)
    }
}

/// Writes a file with one tensor.
pub(crate) fn write_tensor(
    file: &mut File,
    name: &str,
    shape: &[usize],
    values: &[f32],
) -> std::io::Result<()> {
    let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [0, values.len() * 4]});
    let header = serde_json::json!({ name: entry }).to_string();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    let mut all = (header.len() as u64).to_le_bytes().to_vec();
    all.extend(header.into_bytes());
    all.extend(bytes);
    file.write_all(&all)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_read(header: &str, bytes: &[u8], shape: &[usize]) -> Result<Vec<f32>, String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        Weights::open(file)?.read("x", shape)
    }

    #[test]
    fn numbers_of_16_bits_are_widened() {
        let halves = [0x3c00u16, 0xc000, 0x0001, 0x7bff].map(u16::to_le_bytes).concat();
        let header = r#"{"x":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},"__metadata__":{"a":"b"}}"#;
        assert_eq!(check_read(header, &halves, &[2, 2]).unwrap(), [1.0, -2.0, 2f32.powi(-24), 65504.0]);
        let brains = [0x3f80u16, 0xc0a0].map(u16::to_le_bytes).concat();
        let header = r#"{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}"#;
        assert_eq!(check_read(header, &brains, &[2]).unwrap(), [1.0, -5.0]);
    }

    #[test]
    fn truncated_and_inconsistent_files_are_refused() {
        let header = r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        assert_eq!(check_read(header, &[0; 8], &[2]).unwrap(), [0.0, 0.0]);
        assert_eq!(
            check_read(header, &[0; 7], &[2]).unwrap_err(),
            "the tensor x is cut or has a wrong length"
        );
        assert!(check_read(header, &[0; 8], &[3]).unwrap_err().contains("has shape [2], expected [3]"));
        for offsets in ["[8,0]", "[0,4]", "[18446744073709551615,18446744073709551615]"] {
            let header = header.replace("[0,8]", offsets);
            assert!(check_read(&header, &[0; 8], &[2]).is_err(), "{offsets}");
        }
        assert!(check_read("{", &[], &[2]).is_err());
        assert!(check_read(r#"{"x":{}}"#, &[], &[2]).is_err());
    }
}
