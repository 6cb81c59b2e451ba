//! Texts that quote a document, stored as copies of its parts.
//!
//! ```text
//! quotation   bytes of a literal, the literal; then, unless that was the end, where a copy begins, its bytes; and again
//! numbers     7 bits a byte, the lowest first; all bytes but the last have the highest bit
//! ```
//!
//! The start of a copy counts from the beginning of the document.

/// Bytes that are hashed to find places with the same beginning.
const WINDOW: usize = 8;
/// Shorter copies save little.
const MIN_COPY: usize = 12;
/// Most places with the same hash that are compared.
const MAX_COMPARED: usize = 32;

/// A part of a document that texts may quote.
pub(super) struct Source {
    /// Where the part begins in the document.
    start: u64,
    bytes: Vec<u8>,
    /// The last place of each window hash, and for each place the previous one with the same hash. Both count from 1.
    last: Vec<u32>,
    before: Vec<u32>,
}

impl Source {
    pub(super) fn new(start: u64, bytes: Vec<u8>) -> Self {
        let mut last = vec![0; bytes.len().next_power_of_two()];
        let mut before = vec![0; bytes.len()];
        for (place, window) in (0u32..).zip(bytes.windows(WINDOW)) {
            let last = &mut last[hash(window, bytes.len())];
            before[place as usize] = *last;
            *last = place + 1;
        }
        Self { start, bytes, last, before }
    }

    /// Returns the text as copies. `None` if that takes half of its bytes or more.
    pub(super) fn quote(&self, text: &str) -> Option<Vec<u8>> {
        let text = text.as_bytes();
        let (mut quotation, mut at, mut literal) = (Vec::new(), 0, 0);
        while at < text.len() && quotation.len() * 2 < text.len() {
            let Some((place, length)) = self.longest(&text[at..]) else {
                at += 1;
                continue;
            };
            put_bytes(&mut quotation, &text[literal..at]);
            put_number(&mut quotation, self.start + place as u64);
            put_number(&mut quotation, length as u64);
            at += length;
            literal = at;
        }
        if literal < text.len() {
            put_bytes(&mut quotation, &text[literal..]);
        }
        (quotation.len() * 2 < text.len()).then_some(quotation)
    }

    /// Returns where the longest prefix of `text` occurs, and its length.
    fn longest(&self, text: &[u8]) -> Option<(usize, usize)> {
        let window = text.get(..WINDOW)?;
        let (mut next, mut best) = (*self.last.get(hash(window, self.bytes.len()))?, None);
        for _ in 0..MAX_COMPARED {
            let Some(place) = (next as usize).checked_sub(1) else { break };
            let alike = self.bytes[place..].iter().zip(text).take_while(|(one, other)| one == other).count();
            if alike >= MIN_COPY && best.is_none_or(|(_, length)| alike > length) {
                best = Some((place, alike));
            }
            next = self.before[place];
        }
        best
    }
}

/// Returns an index into a table with as many entries as `bytes`, rounded up to a power of two.
fn hash(window: &[u8], bytes: usize) -> usize {
    let window = u64::from_le_bytes(std::array::from_fn(|at| window.get(at).copied().unwrap_or(0)));
    let bits = bytes.next_power_of_two().trailing_zeros();
    // After multiplication by the golden ratio, the highest bits depend on all others.
    (window.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1 >> (63 - bits)) as usize
}

/// Reads what [`Source::quote`] wrote. `copy` appends bytes from a position in the document. `None` if it is not a quotation.
pub(super) fn read<E>(
    quotation: &[u8],
    mut copy: impl FnMut(u64, u64, &mut Vec<u8>) -> Result<(), E>,
) -> Result<Option<Vec<u8>>, E> {
    let (mut rest, mut text) = (quotation, Vec::new());
    while !rest.is_empty() {
        let Some(literal) = take_bytes(&mut rest) else { return Ok(None) };
        text.extend_from_slice(literal);
        if rest.is_empty() {
            break;
        }
        let (Some(start), Some(length)) = (take_number(&mut rest), take_number(&mut rest)) else {
            return Ok(None);
        };
        copy(start, length, &mut text)?;
    }
    Ok(Some(text))
}

/// Appends bytes, preceded by their number.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a number.
pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes what [`put_bytes`] wrote from the beginning.
pub(super) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

/// Takes a number from the beginning.
pub(super) fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte >> 7 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Quotes the text and reads it back. Returns the size of the quotation, or `None` if it is not quoted.
    fn check(document: &str, part: std::ops::Range<usize>, text: &str) -> Option<usize> {
        let source = Source::new(part.start as u64, document.as_bytes()[part].to_vec());
        let quotation = source.quote(text)?;
        let copy = |start: u64, length: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(&document.as_bytes()[start as usize..(start + length) as usize]);
            Ok::<(), ()>(())
        };
        let back = read(&quotation, copy).expect("no error").expect("a quotation");
        assert_eq!(String::from_utf8(back).expect("text"), text);
        Some(quotation.len())
    }

    #[test]
    fn sentences_of_a_document_take_few_bytes() {
        let document = "Not this. Marley was dead: to begin with. There is no doubt. Old Marley was as dead as a door-nail.";
        let text = "Marley was dead: to begin with. Old Marley was as dead as a door-nail.";
        assert!(check(document, 10..document.len(), text).expect("quoted") < 12);
        assert!(check(document, 10..document.len(), &format!("{text} So it is said.")).expect("quoted") < 30);
        assert_eq!(check(document, 10..document.len(), "A chemist of Warsaw."), None);
        assert_eq!(check("", 0..0, "A chemist of Warsaw."), None);
        assert_eq!(check("a", 0..1, ""), None);
    }

    proptest! {
        #[test]
        fn quotes_are_read_back_unchanged(
            document in "([ab]{0,9}[éß言 ]){0,30}",
            cuts in proptest::collection::vec((0usize..200, 0usize..80, "[ab é]{0,4}"), 0..6),
        ) {
            let mut text = String::new();
            for (start, length, between) in cuts {
                let start = document.floor_char_boundary(start.min(document.len()));
                let end = document.floor_char_boundary((start + length).min(document.len()));
                text.push_str(&document[start..end]);
                text.push_str(&between);
            }
            check(&document, 0..document.len(), &text);
        }

        #[test]
        fn arbitrary_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let copied = read(&bytes, |_, length, out| {
                out.extend(std::iter::repeat_n(b'x', length.min(9) as usize));
                Ok::<(), ()>(())
            });
            prop_assert!(copied.is_ok());
        }
    }
}
