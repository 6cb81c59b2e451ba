//! Splits text into words for tantivy, as every search of this crate does.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words;

/// Provides our words to tantivy. tantivy splits the text in its own thread, so only plain text waits in its queue.
#[derive(Clone)]
pub(super) struct Words;

/// The words of one text.
pub(super) struct WordStream {
    words: std::vec::IntoIter<Token>,
    current: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream(&mut self, text: &str) -> WordStream {
        let mut tokens = Vec::new();
        words::for_each_word(text, |word| {
            // The index keeps only how often a word occurs in a text, not where.
            tokens.push(Token { position: tokens.len(), text: word.to_owned(), ..Token::default() });
        });
        WordStream { words: tokens.into_iter(), current: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        match self.words.next() {
            Some(token) => {
                self.current = token;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.current
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.current
    }
}
