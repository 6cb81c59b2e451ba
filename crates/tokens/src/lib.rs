//! Encodes text as o200k_base tokens, with the same ids as tiktoken.
//!
//! The text is split into pieces, mostly words. Each piece is merged from single bytes: of all adjacent parts that together
//! form a token, the two that form the token with the smallest id are joined, until no adjacent parts form a token. Tokens
//! are looked up in a hash table that the build script writes into the binary, so nothing is read or built at startup and
//! the table takes no private memory of the process.

mod layout;
mod merge;
mod pieces;
mod table;

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its id; frequent tokens have small ids.
    pub id: u32,
    /// Length of its text, in bytes.
    pub bytes: usize,
}

/// Returns the number of tokens in `text`.
pub fn count(text: &str) -> usize {
    let mut tokens = 0;
    for piece in pieces::of(text) {
        merge::each_token(piece.as_bytes(), |_| tokens += 1);
    }
    tokens
}

/// Returns the tokens of `text`, in order. It reads only as much of `text` as the caller consumes.
pub fn encode(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut pieces = pieces::of(text);
    let mut waiting = Vec::new();
    std::iter::from_fn(move || {
        while waiting.is_empty() {
            merge::each_token(pieces.next()?.as_bytes(), |token| waiting.push(token));
            // Tokens are popped from the end.
            waiting.reverse();
        }
        waiting.pop()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let ours: Vec<Token> = encode(text).collect();
        let ids: Vec<u32> = ours.iter().map(|token| token.id).collect();
        assert_eq!(ids, tiktoken_rs::o200k_base_singleton().encode_ordinary(text), "{text:?}");
        assert_eq!(count(text), ours.len());
        assert_eq!(ours.iter().map(|token| token.bytes).sum::<usize>(), text.len());
    }

    #[test]
    fn tokens_equal_those_of_o200k_base() {
        for text in [
            "",
            "hello world",
            "Marie Curie's discoveries (1898): radium & polonium.\r\n\r\n\tShe'LL win 2 Nobel prizes; 10000000 francs!",
            "Größe, Übermut und Straßenbahn; die Koordinierungsstelle für Donaudampfschifffahrtsgesellschaften",
            "居里夫人发现了镭。彼女はラジウムを発見した。 한국어 텍스트입니다",
            "fn main() {\n    println!(\"{}\", 1 << 20); // done\n}\n   \n",
            "trailing spaces   ",
            "🜁🜂🜃 👩‍🔬 e\u{301} \u{a0}\u{2003}x",
            "/usr/lib//x/\n//\r\n",
        ] {
            check(text);
        }
    }

    #[test]
    fn long_pieces_are_merged_like_short_ones() {
        // Long enough for `merge_long`; tiktoken gives the expected tokens.
        for text in
            ["a".repeat(1000), "xyz居".repeat(300), "=-".repeat(700), " ".repeat(999), "\n".repeat(500)]
        {
            check(&text);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_the_tokens_of_o200k_base(text in any::<String>(), plain in "([a-zA-Z']{0,12}[ \t\n.,/0-9-]{0,3}|[äöüß漢字かな한글]{1,30}){0,60}") {
            check(&text);
            check(&plain);
        }
    }
}
