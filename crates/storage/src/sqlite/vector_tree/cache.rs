//! Recently read nodes.
//!
//! Reading a node from the file takes many times as long as scoring its rows, and the questions of a process mostly
//! lead to the same nodes.

use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use rusqlite::Result;

use super::super::changes::Mark;
use super::node::Node;

/// Nodes of all kinds by id, as in one state of the file. The least recently used ones are dropped first.
pub(crate) struct NodeCache {
    most_bytes: usize,
    recent: Mutex<RecentNodes>,
}

struct RecentNodes {
    /// The end of the change log in that state. A commit that changes a node moves the end.
    mark: Mark,
    nodes: LruCache<i64, Arc<Node>>,
    bytes: usize,
}

impl NodeCache {
    pub(crate) fn new(most_bytes: usize) -> Self {
        let recent = RecentNodes { mark: Mark::default(), nodes: LruCache::unbounded(), bytes: 0 };
        Self { most_bytes, recent: Mutex::new(recent) }
    }

    /// Returns the node in the snapshot at `now`. Calls `read` if the cache does not have it.
    pub(super) fn get(&self, now: Mark, id: i64, read: impl FnOnce() -> Result<Node>) -> Result<Arc<Node>> {
        if let Some(node) = self.at(now, |recent| recent.nodes.get(&id).cloned()).flatten() {
            return Ok(node);
        }
        let node = Arc::new(read()?);
        self.at(now, |recent| {
            recent.bytes += node.size();
            if let Some((_, old)) = recent.nodes.push(id, Arc::clone(&node)) {
                recent.bytes -= old.size();
            }
            while recent.bytes > self.most_bytes
                && let Some((_, old)) = recent.nodes.pop_lru()
            {
                recent.bytes -= old.size();
            }
        });
        Ok(node)
    }

    /// Calls `work` with the nodes of the snapshot at `now`, which replace those of older snapshots. `None` if the
    /// snapshot is older than the cache.
    fn at<T>(&self, now: Mark, work: impl FnOnce(&mut RecentNodes) -> T) -> Option<T> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if now.id > recent.mark.id {
            *recent = RecentNodes { mark: now, nodes: LruCache::unbounded(), bytes: 0 };
        }
        (recent.mark == now).then(|| work(&mut recent))
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
    fn a_node_is_read_once_per_state_of_the_file() {
        let cache = NodeCache::new(1 << 20);
        check_get(&cache, 1, 7, true);
        check_get(&cache, 1, 7, false);
        check_get(&cache, 2, 7, true);
        check_get(&cache, 2, 7, false);
        check_get(&cache, 1, 7, true);
        check_get(&cache, 2, 7, false);
    }

    #[test]
    fn the_least_recently_read_node_is_dropped_first() {
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
    fn a_tree_larger_than_the_cache_is_still_searched() {
        let cache = NodeCache::new(0);
        check_get(&cache, 1, 1, true);
        check_get(&cache, 1, 1, true);
    }
}
