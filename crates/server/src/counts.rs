//! Counts that all servers of a database share.

use std::sync::Arc;
use std::time::Duration;

use graphloom_core::{Clock, SharedTexts, StoreError, try_change_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::app::now;

/// Maximum time for a change, so that a database that is down does not delay requests that can do without the counts.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Counts in texts that the servers of a database share. They may be lost, and backups do not contain them.
pub(crate) struct SharedCounts {
    texts: Arc<dyn SharedTexts>,
    clock: Option<Arc<dyn Clock>>,
    /// Lets the requests of this server change the counts one after another; otherwise their changes would conflict.
    turn: Mutex<()>,
}

impl SharedCounts {
    /// Counts in these texts.
    pub(crate) fn new(texts: Arc<dyn SharedTexts>) -> Self {
        let clock = texts.clock();
        Self { texts, clock, turn: Mutex::default() }
    }

    /// Returns the time in milliseconds since 1970, by the clock that all servers share.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.as_ref().map_or_else(now, |clock| clock.now()).0
    }

    /// [Changes](try_change_json) the counts with this name. Calls `change` again if another server was faster.
    ///
    /// # Errors
    ///
    /// The database did not accept the change within two seconds.
    pub(crate) async fn change<Value, Output>(
        &self,
        name: &str,
        change: impl Fn(&mut Value) -> (Output, bool),
    ) -> Result<Output, StoreError>
    where
        Value: Default + Serialize + DeserializeOwned,
    {
        let changed = async {
            let _turn = self.turn.lock().await;
            loop {
                if let Some(output) = try_change_json(self.texts.as_ref(), name, &change).await? {
                    return Ok(output);
                }
            }
        };
        let late = |_| Err(StoreError::Busy { path: self.texts.place(), holder: None });
        tokio::time::timeout(MAX_WAIT, changed).await.unwrap_or_else(late)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Texts for tests.

    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    use async_trait::async_trait;

    use super::*;

    /// Texts in memory.
    #[derive(Default)]
    pub(crate) struct MemoryTexts(pub(crate) Mutex<HashMap<String, (u64, String)>>);

    #[async_trait]
    impl SharedTexts for MemoryTexts {
        fn place(&self) -> String {
            "memory".to_owned()
        }

        fn clock(&self) -> Option<Arc<dyn Clock>> {
            None
        }

        async fn read(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
            Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
        }

        async fn replace(&self, name: &str, version: u64, text: &str) -> Result<bool, StoreError> {
            let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_current = texts.get(name).map_or(0, |(version, _)| *version) == version;
            if is_current {
                texts.insert(name.to_owned(), (version + 1, text.to_owned()));
            }
            Ok(is_current)
        }
    }
}
