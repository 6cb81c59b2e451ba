//! The tokens of the encoding, in the program's file.

use crate::layout::{EMPTY, SLOTS, hash, id_of, slot_of, tagged};

include!(concat!(env!("OUT_DIR"), "/longest.rs"));

/// Where the bytes of each token begin, and where those of the last one end.
static STARTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starts"));
static SLOT_TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bytes"));

/// The number at a place of a table.
fn number(table: &[u8], at: usize) -> u32 {
    match table.get(4 * at..4 * at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        Some(_) | None => EMPTY,
    }
}

fn bytes_of(id: u32) -> &'static [u8] {
    let (start, end) = (number(STARTS, id as usize), number(STARTS, id as usize + 1));
    BYTES.get(start as usize..end as usize).unwrap_or_default()
}

/// Bytes of the token of this id; 0 where there is none.
pub fn length(id: u32) -> usize {
    bytes_of(id).len()
}

/// The token of these bytes, where they are one.
pub(crate) fn token_of(bytes: &[u8]) -> Option<u32> {
    if bytes.len() > LONGEST {
        return None;
    }
    let hash = hash(bytes);
    let mut at = slot_of(hash);
    loop {
        let slot = number(SLOT_TABLE, at);
        if slot == EMPTY {
            return None;
        }
        let id = id_of(slot);
        if slot == tagged(id, hash) && bytes_of(id) == bytes {
            return Some(id);
        }
        at = (at + 1) % SLOTS;
    }
}
