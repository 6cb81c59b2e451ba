//! Pseudo-random numbers that depend only on names, so a change to one part of the input leaves the rest unchanged.

/// Returns a number determined by `seed` and `name`. It is well mixed, but not meant to resist an attacker.
pub(crate) fn of_name(seed: u64, name: &str) -> u64 {
    // FNV-1a over the bytes, then the finalizer of SplitMix64.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ mix(seed);
    for byte in name.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(hash)
}

/// The finalizer of SplitMix64: a bijection in which every bit of the input changes half of the output's bits.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::of_name;

    #[test]
    fn different_names_and_seeds_give_different_numbers() {
        assert_eq!(of_name(1, "CURIE"), of_name(1, "CURIE"));
        assert_ne!(of_name(1, "CURIE"), of_name(1, "CURIF"));
        assert_ne!(of_name(1, "CURIE"), of_name(2, "CURIE"));
    }
}
