//! Layout of the token table, which the build script writes and the library reads.
//!
//! Tokens whose hashes share the same bits are in the same bucket. Each entry holds the token's length in bytes (one byte),
//! its id (three bytes), and its bytes.

/// Number of buckets, a power of two; a bucket holds three tokens on average.
pub(crate) const BUCKETS: usize = 1 << 16;
/// Size of a token id in the table, in bytes.
pub(crate) const ID_BYTES: usize = 3;

/// Returns the bucket of the token with these bytes: its FNV-1a hash, with the two halves mixed.
pub(crate) fn bucket_of(bytes: &[u8]) -> usize {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as usize % BUCKETS
}
