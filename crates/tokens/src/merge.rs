//! Merges the bytes of a piece into tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Token;
use crate::table::id_of;

/// Longest piece that is merged by scanning all neighbours at every step, in bytes; a longer piece uses a heap.
const SHORT: usize = 128;
/// Stands for "no token"; larger than every id.
const NONE: u32 = u32::MAX;

/// Calls `take` with each token of a piece, in order.
pub(crate) fn each_token(piece: &[u8], mut take: impl FnMut(Token)) {
    if piece.is_empty() {
        return;
    }
    // Most words are a single token.
    if let Some(id) = id_of(piece) {
        return take(Token { id, bytes: piece.len() });
    }
    let borders = if piece.len() <= SHORT { merge_short(piece) } else { merge_long(piece) };
    for pair in borders.windows(2) {
        // Every single byte is a token, and so is every merged range.
        take(Token { id: rank(piece, pair[0], pair[1]), bytes: pair[1] - pair[0] });
    }
}

/// Returns the id of the token with the bytes of this range, or [`NONE`].
fn rank(piece: &[u8], start: usize, end: usize) -> u32 {
    id_of(&piece[start..end]).unwrap_or(NONE)
}

/// Returns where each token begins, and the end of the last one.
fn merge_short(piece: &[u8]) -> Vec<usize> {
    let mut borders: Vec<usize> = (0..=piece.len()).collect();
    // `unions[n]` is the id of part `n` joined with the next part.
    let mut unions: Vec<u32> = (0..piece.len() - 1).map(|at| rank(piece, at, at + 2)).collect();
    loop {
        let best = unions.iter().enumerate().min_by_key(|(_, union)| **union);
        let Some((at, _)) = best.filter(|(_, union)| **union != NONE) else { return borders };
        borders.remove(at + 1);
        unions.remove(at);
        if at < unions.len() {
            unions[at] = rank(piece, borders[at], borders[at + 2]);
        }
        if at > 0 {
            unions[at - 1] = rank(piece, borders[at - 1], borders[at + 1]);
        }
    }
}

/// Does the same as [`merge_short`] in little more than linear time.
fn merge_long(piece: &[u8]) -> Vec<usize> {
    let end = piece.len();
    // For the start of each part: where the next part and the previous part begin. `next` is 0 where no part begins.
    let mut next: Vec<usize> = (1..=end + 1).collect();
    let mut before: Vec<usize> = (0..=end).map(|at| at.saturating_sub(1)).collect();
    let mut waiting = BinaryHeap::new();
    let offer = |waiting: &mut BinaryHeap<_>, start: usize, to: usize| {
        let union = rank(piece, start, to);
        if union != NONE {
            waiting.push(Reverse((union, start, to)));
        }
    };
    (0..end - 1).for_each(|at| offer(&mut waiting, at, at + 2));
    while let Some(Reverse((_, start, to))) = waiting.pop() {
        let middle = next[start];
        // One of the two parts may already be merged with another.
        if middle == 0 || middle >= end || next[middle] != to {
            continue;
        }
        (next[start], next[middle], before[to]) = (to, 0, start);
        if to < end {
            offer(&mut waiting, start, next[to]);
        }
        if start > 0 {
            offer(&mut waiting, before[start], to);
        }
    }
    let mut borders = vec![0];
    let mut at = 0;
    while at < end {
        at = next[at];
        borders.push(at);
    }
    borders
}
