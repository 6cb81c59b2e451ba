//! How the hash table of tokens is laid out; the build writes it, the program reads it.

/// Slots of the table, some two fifths of them taken.
pub(crate) const SLOTS: usize = 1 << 19;
/// Bits of a slot that hold a token's id; the others hold part of its hash.
const ID_BITS: u32 = 18;
/// More tokens than there are.
#[allow(dead_code, reason = "only the build asks")]
pub(crate) const MAX_TOKENS: u32 = (1 << ID_BITS) - 1;
/// A slot without a token: its id is of none.
pub(crate) const EMPTY: u32 = u32::MAX;

/// FNV-1a, with its halves mixed.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

/// The first slot that a token of this hash may have.
pub(crate) fn slot_of(hash: u64) -> usize {
    hash as usize % SLOTS
}

/// The slot of a token: its id and a part of its hash that does not choose the slot.
pub(crate) fn tagged(id: u32, hash: u64) -> u32 {
    (hash >> 40) as u32 & !((1 << ID_BITS) - 1) | id
}

/// The id in a slot.
#[allow(dead_code, reason = "only the program asks")]
pub(crate) fn id_of(slot: u32) -> u32 {
    slot & ((1 << ID_BITS) - 1)
}
