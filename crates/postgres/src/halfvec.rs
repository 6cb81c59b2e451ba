//! Vectors on the wire: pgvector's `halfvec` in its binary form.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use half::f16;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A vector in half precision.
#[derive(Debug)]
pub(crate) struct HalfVec(Vec<f16>);

impl HalfVec {
    /// Returns the whole numbers of a stored vector. Half precision holds whole numbers up to 2048 exactly.
    pub(crate) fn of_codes(codes: &[i16]) -> Self {
        Self(codes.iter().map(|&code| f16::from_f32(f32::from(code))).collect())
    }

    /// Returns a unit vector in half precision, and the length of the rounding error.
    pub(crate) fn rounded(vector: &[f32]) -> (Self, f32) {
        let halves: Vec<f16> = vector.iter().map(|&x| f16::from_f32(x)).collect();
        let squares = vector.iter().zip(&halves).map(|(x, half)| (x - half.to_f32()).powi(2));
        let residual = squares.sum::<f32>().sqrt();
        (Self(halves), residual)
    }

    pub(crate) fn to_codes(&self) -> Vec<i16> {
        self.0.iter().map(|half| half.to_f32() as i16).collect()
    }
}

impl ToSql for HalfVec {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_u16(u16::try_from(self.0.len())?);
        out.put_u16(0);
        self.0.iter().for_each(|half| out.put_u16(half.to_bits()));
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "halfvec"
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for HalfVec {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let halves = raw.get(4..).ok_or("a vector without a header")?;
        Ok(Self(
            halves.as_chunks().0.iter().map(|&bytes| f16::from_bits(u16::from_be_bytes(bytes))).collect(),
        ))
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "halfvec"
    }
}
