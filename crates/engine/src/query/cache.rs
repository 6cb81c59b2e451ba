//! What a process remembers between questions: keywords, question vectors and token counts, all bounded.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::ContentHash;

use super::Keywords;
use crate::text::Tokenizer;

/// Questions whose keywords are remembered.
const MAX_KEYWORDS: usize = 1024;

/// Texts whose query vectors are remembered.
const MAX_VECTORS: usize = 1024;

/// Lines whose token counts are remembered.
const MAX_LINES: usize = 65_536;

/// Remembers what only depends on its key, so that a repeated question costs no model call. Clones share one memory.
///
/// Nothing here depends on the workspace's content, so nothing ever has to be forgotten but for space.
#[derive(Clone, Default)]
pub struct QueryCaches {
    memory: Arc<Memory>,
}

/// A model, `None` for rules, and what it was asked about.
type KeywordKey = (Option<String>, String);

/// An embedder and a text.
type VectorKey = (String, String);

#[derive(Default)]
struct Memory {
    keywords: Mutex<Generations<KeywordKey, Keywords>>,
    vectors: Mutex<Generations<VectorKey, Arc<[f32]>>>,
    lines: Mutex<Generations<ContentHash, u32>>,
}

impl QueryCaches {
    /// The keywords that `model`, or the rules, found in `question` before.
    pub(super) fn keywords(&self, model: Option<&str>, question: &str) -> Option<Keywords> {
        let key = (model.map(str::to_owned), question.to_owned());
        lock(&self.memory.keywords).get(&key, MAX_KEYWORDS)
    }

    pub(super) fn remember_keywords(&self, question: &str, keywords: Keywords) {
        lock(&self.memory.keywords).put(
            (keywords.model.clone(), question.to_owned()),
            keywords,
            MAX_KEYWORDS,
        );
    }

    /// The query vector that `embedder` made of `text` before.
    pub(super) fn vector(&self, embedder: &str, text: &str) -> Option<Arc<[f32]>> {
        lock(&self.memory.vectors).get(&(embedder.to_owned(), text.to_owned()), MAX_VECTORS)
    }

    pub(super) fn remember_vector(&self, embedder: &str, text: &str, vector: Arc<[f32]>) {
        lock(&self.memory.vectors).put((embedder.to_owned(), text.to_owned()), vector, MAX_VECTORS);
    }

    /// Tokens of `line`, counted once per distinct line.
    pub(super) fn count(&self, tokenizer: Tokenizer, line: &str) -> u32 {
        let key = ContentHash::of(line.as_bytes());
        if let Some(tokens) = lock(&self.memory.lines).get(&key, MAX_LINES) {
            return tokens;
        }
        let tokens = tokenizer.count(line);
        lock(&self.memory.lines).put(key, tokens, MAX_LINES);
        tokens
    }
}

/// A poisoned lock still guards whole entries: each is put in one call.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bounded map that forgets what was not used lately: when the young half is full it becomes the old half, and the
/// old half is dropped.
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Generations<K, V> {
    fn get(&mut self, key: &K, limit: usize) -> Option<V> {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let value = self.old.remove(key)?;
        self.put(key.clone(), value.clone(), limit);
        Some(value)
    }

    fn put(&mut self, key: K, value: V, limit: usize) {
        if self.young.len() >= limit / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_bounded_and_keeps_what_is_used() {
        let mut memory = Generations::default();
        for number in 0..100 {
            memory.put(number, number, 8);
            assert_eq!(memory.get(&0, 8), Some(0));
            assert!(memory.young.len() + memory.old.len() <= 8);
        }
        assert_eq!(memory.get(&1, 8), None);
        assert_eq!(memory.get(&99, 8), Some(99));
    }
}
