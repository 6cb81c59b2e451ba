//! The tokens of the encoding, in the program's file.

use crate::layout::{ID_BYTES, bucket_of};

/// Where each bucket begins, and where the last one ends.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));
static TOKENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tokens"));

/// The id of the token of these bytes; `None` if they are no token.
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

/// Where a bucket begins.
fn start(bucket: usize) -> Option<usize> {
    let start = STARTS.get(4 * bucket..)?.first_chunk()?;
    Some(u32::from_le_bytes(*start) as usize)
}
