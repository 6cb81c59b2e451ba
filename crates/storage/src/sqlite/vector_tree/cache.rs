//! Recently read nodes.
//!
//! Reading a node from the file takes many times as long as scoring its rows, and questions of one process mostly
//! lead to the same nodes.

use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use rusqlite::Result;

use super::super::changes::Mark;
use super::node::Node;

/// Nodes by id as one state of the file has them, of all kinds; those that were not read for longest go first.
pub(crate) struct NodeCache {
    most_bytes: usize,
    lately: Mutex<Lately>,
}

struct Lately {
    /// The end of the change log of that state. A commit that changes a node goes on from there.
    mark: Mark,
    nodes: LruCache<i64, Arc<Node>>,
    bytes: usize,
}

impl NodeCache {
    pub(crate) fn new(most_bytes: usize) -> Self {
        let lately = Lately { mark: Mark::default(), nodes: LruCache::unbounded(), bytes: 0 };
        Self { most_bytes, lately: Mutex::new(lately) }
    }

    /// The node as the snapshot at `now` has it; `read` reads it where that is not at hand.
    pub(super) fn get(&self, now: Mark, id: i64, read: impl FnOnce() -> Result<Node>) -> Result<Arc<Node>> {
        if let Some(node) = self.at(now, |lately| lately.nodes.get(&id).cloned()).flatten() {
            return Ok(node);
        }
        let node = Arc::new(read()?);
        self.at(now, |lately| {
            lately.bytes += node.size();
            if let Some((_, old)) = lately.nodes.push(id, Arc::clone(&node)) {
                lately.bytes -= old.size();
            }
            while lately.bytes > self.most_bytes
                && let Some((_, old)) = lately.nodes.pop_lru()
            {
                lately.bytes -= old.size();
            }
        });
        Ok(node)
    }

    /// What is kept for the snapshot at `now`, which takes the place of what is older; `None` for a snapshot that is older.
    fn at<T>(&self, now: Mark, work: impl FnOnce(&mut Lately) -> T) -> Option<T> {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if now.id > lately.mark.id {
            *lately = Lately { mark: now, nodes: LruCache::unbounded(), bytes: 0 };
        }
        (lately.mark == now).then(|| work(&mut lately))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_get(cache: &NodeCache, mark: i64, id: i64, is_read: bool) {
        let mut read = false;
        let now = Mark { id: mark, nonce: mark };
        let node = cache.get(now, id, || {
            read = true;
            Ok(Node::default())
        });
        assert!(node.is_ok());
        assert_eq!(read, is_read, "node {id} at {mark}");
    }

    #[test]
    fn a_node_is_read_once_for_a_state_of_the_file() {
        let cache = NodeCache::new(1 << 20);
        check_get(&cache, 1, 7, true);
        check_get(&cache, 1, 7, false);
        check_get(&cache, 2, 7, true);
        check_get(&cache, 2, 7, false);
        check_get(&cache, 1, 7, true);
        check_get(&cache, 2, 7, false);
    }

    #[test]
    fn the_node_not_read_for_longest_goes_first() {
        let cache = NodeCache::new(2 * Node::default().size());
        for id in [1, 2] {
            check_get(&cache, 1, id, true);
        }
        check_get(&cache, 1, 1, false);
        check_get(&cache, 1, 3, true);
        check_get(&cache, 1, 1, false);
        check_get(&cache, 1, 2, true);
    }

    #[test]
    fn what_is_larger_than_the_cache_is_still_found() {
        let cache = NodeCache::new(0);
        check_get(&cache, 1, 1, true);
        check_get(&cache, 1, 1, true);
    }
}
