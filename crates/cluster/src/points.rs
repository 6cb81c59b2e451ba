//! Vectors with names, ordered only by their names.

/// Why a list of vectors cannot be clustered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PointsError {
    /// The number of values does not match the names and dimensions.
    #[error("{names} vectors of {dimensions} dimensions have {expected} values, but there are {values}")]
    Shape {
        /// Number of names.
        names: usize,
        /// Dimensions of each vector.
        dimensions: usize,
        /// Their product.
        expected: usize,
        /// Number of values.
        values: usize,
    },
    /// A value is infinite or not a number.
    #[error("vector {vector} has the value {value}; values must be finite")]
    Value {
        /// Position of the vector.
        vector: usize,
        /// Its value.
        value: f32,
    },
    /// Two vectors have the same name.
    #[error("two vectors are named {name:?}")]
    SameName {
        /// The name.
        name: String,
    },
}

/// Vectors of length 1, numbered in ascending order of their names.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    names: Vec<String>,
    dimensions: usize,
    values: Vec<f32>,
}

impl Points {
    /// Returns the vectors with these names, scaled to length 1; `values` holds them one after the other. Zero vectors stay
    /// zero.
    pub fn new<N: AsRef<str>>(names: &[N], dimensions: usize, values: &[f32]) -> Result<Self, PointsError> {
        let expected = names.len().saturating_mul(dimensions);
        if values.len() != expected {
            return Err(PointsError::Shape {
                names: names.len(),
                dimensions,
                expected,
                values: values.len(),
            });
        }
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            let vector = position / dimensions.max(1);
            return Err(PointsError::Value { vector, value: values[position] });
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by(|a, b| names[*a].as_ref().cmp(names[*b].as_ref()));
        if let Some(pair) = order.windows(2).find(|pair| names[pair[0]].as_ref() == names[pair[1]].as_ref()) {
            return Err(PointsError::SameName { name: names[pair[0]].as_ref().to_owned() });
        }
        let mut sorted = Vec::with_capacity(values.len());
        for position in &order {
            let vector = &values[position * dimensions..(position + 1) * dimensions];
            let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            // Scaled by the largest value first, so squares neither vanish nor overflow.
            let scaled = vector.iter().map(|value| if largest > 0.0 { value / largest } else { 0.0 });
            let length = scaled.clone().map(|value| value * value).sum::<f32>().sqrt();
            sorted.extend(scaled.map(|value| if length > 0.0 { value / length } else { 0.0 }));
        }
        let names = order.iter().map(|position| names[*position].as_ref().to_owned()).collect();
        Ok(Self { names, dimensions, values: sorted })
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the number of dimensions of each vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the names in ascending order; a vector's number is its position here.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the vector with this number.
    pub fn vector(&self, number: usize) -> &[f32] {
        &self.values[number * self.dimensions..(number + 1) * self.dimensions]
    }
}

/// Returns the dot product, in eight lanes that are added in a fixed order: fast, and equal on every machine.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_sorted_by_name_and_have_unit_length() {
        let points = Points::new(&["b", "a", "zero"], 2, &[3.0, 4.0, 0.0, 1e30, 0.0, 0.0]).expect("points");
        assert_eq!(points.names(), ["a", "b", "zero"]);
        assert_eq!(points.vector(0), [0.0, 1.0]);
        assert!((points.vector(1)[0] - 0.6).abs() < 1e-6);
        assert_eq!(points.vector(2), [0.0, 0.0]);
    }

    #[test]
    fn invalid_vectors_are_refused() {
        let shape = Points::new(&["a"], 2, &[1.0]).expect_err("a value is missing");
        assert_eq!(shape.to_string(), "1 vectors of 2 dimensions have 2 values, but there are 1");
        let value = Points::new(&["a", "b"], 1, &[1.0, f32::INFINITY]);
        assert_eq!(value, Err(PointsError::Value { vector: 1, value: f32::INFINITY }));
        let name = Points::new(&["a", "a"], 1, &[1.0, 2.0]);
        assert_eq!(name, Err(PointsError::SameName { name: "a".into() }));
    }
}
