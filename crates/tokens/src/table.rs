//! The token table of the encoding, embedded in the binary.

use crate::layout::{ID_BYTES, bucket_of};

/// Offset of each bucket, and the end of the last one.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));
static TOKENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tokens"));

/// Returns the id of the token with these bytes; `None` if they are not a token.
pub(crate) fn id_of(bytes: &[u8]) -> Option<u32> {
    let bucket = bucket_of(bytes);
    let mut rest = TOKENS.get(start(bucket)?..start(bucket + 1)?)?;
    while let Some((&length, entry)) = rest.split_first() {
        let (id, entry) = entry.split_first_chunk::<ID_BYTES>()?;
        let (token, further) = entry.split_at_checked(usize::from(length))?;
        if token == bytes {
            return Some(u32::from_le_bytes([id[0], id[1], id[2], 0]));
        }
        rest = further;
    }
    None
}

/// Returns the offset of a bucket.
fn start(bucket: usize) -> Option<usize> {
    let start = STARTS.get(4 * bucket..)?.first_chunk()?;
    Some(u32::from_le_bytes(*start) as usize)
}
