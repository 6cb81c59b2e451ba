//! Packs whole numbers, most of which are zero, into few bits.
//!
//! ```text
//! header   count of numbers; its highest bit is the unit     2 bytes, little-endian
//!          low bits of a distance, low bits of a size        4 bits each
//! entry    zeros before it, sign, size minus one             Rice codes around one bit, from the lowest bit on
//! ```
//!
//! A Rice code is the part above the low bits as that many ones and a zero, followed by the low bits. The number of low
//! bits is chosen for each list, so that common sizes take few bits. The bits after the last entry are ones, which never
//! form an entry.
//!
//! Source: Rice, Plaunt, "Adaptive Variable-Length Coding for Efficient Compression of Spacecraft Television Data", 1971.

/// Length of the header in bytes.
const HEADER: usize = 3;
/// Maximum number of low bits that the header can express.
const MAX_LOW: u32 = 15;
/// Maximum number of ones in a code. A longer run is damage, or the end.
const MAX_ONES: u32 = 40;

/// Largest size of a number. A larger one means damage.
const MAX_SIZE: u32 = 512;

/// Highest bit of the count of numbers, set if the unit is [`Unit::Four`].
const IN_FOURS: u16 = 1 << 15;

/// Unit of the stored numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The number is read as it was written.
    One,
    /// The number is read as four times what was written.
    Four,
}

/// Appends the packed form of `codes` to `written`; `None` for lists that are too long for this form.
///
/// - `unit`: how many of its units each of `codes` is read as.
pub fn write(codes: &[i16], unit: Unit, written: Vec<u8>) -> Option<Vec<u8>> {
    let length = u16::try_from(codes.len()).ok().filter(|length| length & IN_FOURS == 0)?;
    let length = match unit {
        Unit::One => length,
        Unit::Four => length | IN_FOURS,
    };
    let (mut entries, mut next) = (Vec::new(), 0);
    for (at, &code) in codes.iter().enumerate().filter(|(_, code)| **code != 0) {
        entries.push(((at - next) as u32, code < 0, u32::from(code.unsigned_abs()) - 1));
        next = at + 1;
    }
    let gap_low = best_low(entries.iter().map(|entry| entry.0));
    let size_low = best_low(entries.iter().map(|entry| entry.2));
    let mut bits = BitWriter { bytes: written, open: 0, number: 0 };
    bits.bytes.extend(length.to_le_bytes());
    bits.bytes.push((gap_low | size_low << 4) as u8);
    for (gap, is_negative, size) in entries {
        bits.push_rice(gap, gap_low);
        bits.push(u64::from(is_negative), 1);
        bits.push_rice(size, size_low);
    }
    Some(bits.finish())
}

/// Returns the number of low bits with which these numbers take the least space and no code is too long.
fn best_low(numbers: impl Iterator<Item = u32> + Clone) -> u32 {
    let largest = numbers.clone().max().unwrap_or(0);
    let bits = |low: u32| numbers.clone().map(|number| (number >> low) + low).sum::<u32>();
    (0..=MAX_LOW).filter(|low| largest >> low < MAX_ONES).min_by_key(|&low| bits(low)).unwrap_or(MAX_LOW)
}

/// Returns the count of numbers, including zeros.
pub fn length(packed: &[u8]) -> usize {
    usize::from(head(packed) & !IN_FOURS)
}

fn head(packed: &[u8]) -> u16 {
    match packed {
        [low, high, _, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

/// Returns the nonzero numbers with their positions. Damaged bytes that refer to positions outside the list are ignored.
pub fn entries(packed: &[u8]) -> impl Iterator<Item = (usize, i16)> {
    let length = length(packed);
    let unit = if head(packed) & IN_FOURS == 0 { 1 } else { 4 };
    let low = packed.get(HEADER - 1).copied().unwrap_or(0);
    let (gap_low, size_low) = (u32::from(low & 15), u32::from(low >> 4));
    let mut bits = BitReader { rest: packed.get(HEADER..).unwrap_or_default(), open: 0, number: 0 };
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next + bits.take_rice(gap_low)? as usize;
        let is_negative = bits.take(1)? == 1;
        let size = unit * (bits.take_rice(size_low).filter(|size| *size < MAX_SIZE)? as i16 + 1);
        next = at + 1;
        (at < length).then_some((at, if is_negative { -size } else { size }))
    })
}

/// Writes bits, lowest first.
struct BitWriter {
    bytes: Vec<u8>,
    open: u64,
    number: u32,
}

impl BitWriter {
    /// Appends the lowest `number` bits of `value`, at most 40.
    fn push(&mut self, value: u64, number: u32) {
        self.open |= value << self.number;
        self.number += number;
        while self.number >= 8 {
            self.bytes.push(self.open as u8);
            self.open >>= 8;
            self.number -= 8;
        }
    }

    fn push_rice(&mut self, value: u32, low: u32) {
        let ones = value >> low;
        self.push((1 << ones) - 1, ones + 1);
        self.push(u64::from(value & ((1 << low) - 1)), low);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.number > 0 {
            self.bytes.push(self.open as u8 | u8::MAX << self.number);
        }
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote.
struct BitReader<'a> {
    rest: &'a [u8],
    open: u64,
    number: u32,
}

impl BitReader<'_> {
    /// Buffers as many bits as any code can take, if that many are left.
    fn fill(&mut self) {
        while self.number <= 56
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.open |= u64::from(*byte) << self.number;
            (self.rest, self.number) = (rest, self.number + 8);
        }
    }

    fn take(&mut self, number: u32) -> Option<u32> {
        if self.number < number {
            self.fill();
        }
        let left = self.number.checked_sub(number)?;
        let value = self.open & ((1 << number) - 1);
        (self.open, self.number) = (self.open >> number, left);
        Some(value as u32)
    }

    fn take_rice(&mut self, low: u32) -> Option<u32> {
        if self.number <= MAX_ONES + MAX_LOW {
            self.fill();
        }
        let ones = self.open.trailing_ones();
        if ones >= MAX_ONES.min(self.number) {
            return None;
        }
        (self.open, self.number) = (self.open >> (ones + 1), self.number - ones - 1);
        Some(ones << low | self.take(low)?)
    }
}
