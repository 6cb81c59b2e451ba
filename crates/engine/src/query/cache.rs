//! The cache of a question's model calls, in this process and in the workspace's store, and of token counts.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::{CacheKind, ChatRequest, ContentHash, StoreError};

use super::QueryCost;
use super::selection::FilterCache;
use crate::Engine;
use graphloom_text::Tokenizer;

/// Maximum number of values in this process; the store keeps more.
const MAX_VALUES: usize = 2048;

/// Maximum number of lines with a cached token count.
const MAX_LINES: usize = 65_536;

/// Format of the cached values, a part of every key. Changing it invalidates all older values.
const FORM: &str = "1";

/// Caches values that depend only on their key, so that a repeated question costs no model call. Clones share one cache.
///
/// The key is the hash of everything that can change the value: for a model's response the whole request, and thus for an
/// answer its context. An entry is therefore never out of date, whatever is added, edited or deleted. It is evicted only to
/// limit the size.
#[derive(Clone, Default)]
pub struct QueryCaches {
    memory: Arc<Memory>,
    off: bool,
}

/// Values by kind and key.
type Values = Generations<(CacheKind, ContentHash), Arc<[u8]>>;

#[derive(Default)]
struct Memory {
    values: Mutex<Values>,
    lines: Mutex<Generations<ContentHash, u32>>,
    resolved: FilterCache,
}

/// A value to cache.
pub(super) struct NewEntry {
    /// Kind of the value.
    pub(super) kind: CacheKind,
    /// Key of the value.
    pub(super) key: ContentHash,
    /// The value.
    pub(super) value: Vec<u8>,
    /// True if the value cost a call, so that it is worth a row in the store.
    pub(super) paid: bool,
}

impl QueryCaches {
    /// Returns a cache that keeps no model responses.
    pub fn off() -> Self {
        Self { memory: Arc::default(), off: true }
    }

    /// True if model responses to questions are cached.
    pub fn is_on(&self) -> bool {
        !self.off
    }

    pub(super) fn resolved(&self) -> &FilterCache {
        &self.memory.resolved
    }

    /// Returns the tokens of `line`; each distinct line is counted once.
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

/// Returns the cached value of each key. Returns `None` for every key if `wanted` is false. Records a hit in `cost`.
pub(super) async fn find(
    engine: &Engine,
    kind: CacheKind,
    keys: &[ContentHash],
    wanted: bool,
    cost: &mut QueryCost,
) -> Result<Vec<Option<Arc<[u8]>>>, StoreError> {
    let caches = &engine.caches;
    if caches.off || !wanted {
        return Ok(vec![None; keys.len()]);
    }
    let mut found: Vec<Option<Arc<[u8]>>> = {
        let mut values = lock(&caches.memory.values);
        keys.iter().map(|key| values.get(&(kind, key.clone()), MAX_VALUES)).collect()
    };
    let missing: Vec<(CacheKind, ContentHash)> = (keys.iter().zip(&found))
        .filter(|(_, value)| value.is_none())
        .map(|(key, _)| (kind, key.clone()))
        .collect();
    if !missing.is_empty() {
        let stored = engine.store.snapshot().await?.cached(&missing).await?;
        let places = found.iter_mut().filter(|value| value.is_none());
        for ((place, key), value) in places.zip(missing).zip(stored) {
            let Some(value) = value.map(Arc::<[u8]>::from) else { continue };
            lock(&caches.memory.values).put(key, value.clone(), MAX_VALUES);
            *place = Some(value);
        }
    }
    if found.iter().any(Option::is_some) {
        cost.hit(kind);
    }
    Ok(found)
}

/// Caches a value in this process. If it was paid for, also adds it to `cost` for the store.
pub(super) fn remember(engine: &Engine, entry: NewEntry, wanted: bool, cost: &mut QueryCost) {
    let caches = &engine.caches;
    if caches.off || !wanted {
        return;
    }
    let NewEntry { kind, key, value, paid } = entry;
    lock(&caches.memory.values).put((kind, key.clone()), value.as_slice().into(), MAX_VALUES);
    if paid {
        cost.keep(kind, key, value);
    }
}

/// Returns the key of a request to `model`: a hash of everything that can change the answer.
pub(super) fn request_key(kind: CacheKind, model: &str, request: &ChatRequest) -> ContentHash {
    // Streaming and prompt caching change how the answer arrives, not the answer.
    let ChatRequest {
        messages,
        max_output_tokens,
        stop,
        temperature,
        json_object,
        shape,
        shared_prefix_bytes: _,
        stream: _,
    } = request;
    let parameters = format!("{max_output_tokens:?} {temperature:?} {json_object} {shape:?}");
    let mut parts = vec![FORM.to_owned(), kind.name().to_owned(), model.to_owned(), parameters];
    for message in messages {
        parts.push(format!("{:?}", message.role));
        parts.push(message.content.clone());
    }
    // Without stops, the key is the same as before stops existed, so that answers paid for then are still found.
    if !stop.is_empty() {
        parts.push(format!("stop {stop:?}"));
    }
    ContentHash::of_parts(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the key of the query vector that `embedder` makes of `text`.
pub(super) fn vector_key(embedder: &str, text: &str) -> ContentHash {
    ContentHash::of_parts(&[FORM, CacheKind::Vector.name(), embedder, text])
}

/// Locks a mutex. Under a poisoned lock the entries are still whole, because each is added by one call.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A bounded map that drops entries not used recently: when the young half is full it becomes the old half, and the previous
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
    use graphloom_core::{ChatMessage, ChatRole};

    use super::*;

    #[test]
    fn everything_that_can_change_an_answer_is_in_its_key() {
        let message = |content: &str| ChatMessage::new(ChatRole::User, content);
        let request = ChatRequest { messages: vec![message("a"), message("b")], ..ChatRequest::default() };
        let key = |kind, model: &str, request: &ChatRequest| request_key(kind, model, request);
        let plain = key(CacheKind::Answer, "m", &request);
        assert_eq!(plain, key(CacheKind::Answer, "m", &ChatRequest { stream: true, ..request.clone() }));
        let mut others = vec![key(CacheKind::Keywords, "m", &request), key(CacheKind::Answer, "n", &request)];
        let mut roles = request.clone();
        roles.messages[0].role = ChatRole::Assistant;
        for changed in [
            roles,
            ChatRequest { messages: vec![message("ab"), message("")], ..request.clone() },
            ChatRequest { messages: vec![message("a")], ..request.clone() },
            ChatRequest { temperature: Some(0.0), ..request.clone() },
            ChatRequest { max_output_tokens: Some(9), ..request.clone() },
            ChatRequest { json_object: true, ..request.clone() },
            ChatRequest { stop: vec!["a".to_owned()], ..request.clone() },
        ] {
            others.push(key(CacheKind::Answer, "m", &changed));
        }
        others.push(plain);
        let distinct: std::collections::BTreeSet<_> = others.iter().collect();
        assert_eq!(distinct.len(), others.len());
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_entries() {
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
