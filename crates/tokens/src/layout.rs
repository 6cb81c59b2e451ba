//! How the table of tokens is laid out; the build writes it, the program reads it.
//!
//! Tokens with the same bits of their hash stand together in a bucket. Of each, the table holds the number of its bytes, its id in
//! three bytes, and its bytes.

/// Buckets, a power of two; three tokens in each on average.
pub(crate) const BUCKETS: usize = 1 << 16;
/// Bytes of the id of a token.
pub(crate) const ID_BYTES: usize = 3;

/// The bucket that a token of these bytes is in: FNV-1a, with its halves mixed.
pub(crate) fn bucket_of(bytes: &[u8]) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as usize % BUCKETS
}
