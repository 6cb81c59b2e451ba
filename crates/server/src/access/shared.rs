//! Keys and users that all servers of a database share.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use graphloom_core::SharedTexts;

use super::Access;
use super::file::{AccessError, AccessFile};

/// Name of the text with keys and users.
const NAME: &str = "access";
/// How often a change is tried while other processes change the text.
const MAX_TRIES: u32 = 10;

/// Where keys and users are kept.
pub struct AccessStore(Place);

enum Place {
    /// A file of the data folder, which is read again whenever it changes.
    File(AccessFile),
    /// The database with the workspaces.
    Shared(SharedAccess),
}

/// Keys and users in a database, as of the latest refresh.
struct SharedAccess {
    texts: Arc<dyn SharedTexts>,
    known: Mutex<Option<Arc<Access>>>,
}

impl AccessStore {
    /// Returns the keys and users in `texts`, which all processes share, or without `texts` the file of a data folder. Shared
    /// ones are unknown until the first [`refresh`](Self::refresh).
    pub fn of(texts: Option<Arc<dyn SharedTexts>>, data_dir: &Path) -> Self {
        Self(match texts {
            Some(texts) => Place::Shared(SharedAccess { texts, known: Mutex::default() }),
            None => Place::File(AccessFile::of(data_dir)),
        })
    }

    /// Reads what other processes changed in the database. Does nothing for a file.
    pub async fn refresh(&self) -> Result<(), AccessError> {
        match &self.0 {
            Place::File(_) => Ok(()),
            Place::Shared(shared) => shared.refresh().await,
        }
    }

    /// Returns the current keys and users.
    ///
    /// # Errors
    ///
    /// They existed but are missing, or cannot be read. Then no request may be accepted.
    pub fn read(&self) -> Result<Arc<Access>, AccessError> {
        match &self.0 {
            Place::File(file) => file.read(),
            Place::Shared(shared) => {
                let known = shared.known().clone();
                known.ok_or_else(|| AccessError::Missing { place: shared.texts.place() })
            }
        }
    }

    /// Returns keys and users as a text for a backup, with hashes instead of secrets; `None` if there never were any.
    pub fn export(&self) -> Result<Option<String>, AccessError> {
        let access = self.read()?;
        if access.is_empty() {
            return Ok(None);
        }
        let text = serde_json::to_string_pretty(access.as_ref());
        text.map(Some).map_err(|error| AccessError::unreadable("a backup".to_owned(), error))
    }

    /// Takes over the keys and users of a backup, unless some exist already. Returns whether it did.
    pub async fn import(&self, text: &str) -> Result<bool, AccessError> {
        let read = || {
            serde_json::from_str(text).map_err(|error| AccessError::unreadable("a backup".to_owned(), error))
        };
        self.change(|access: &mut Access| {
            let is_empty = access.is_empty();
            if is_empty {
                *access = read()?;
            }
            Ok(is_empty)
        })
        .await
    }

    /// Changes keys and users atomically. Calls `change` again if another process was faster.
    pub async fn change<T>(
        &self,
        mut change: impl FnMut(&mut Access) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let shared = match &self.0 {
            Place::File(file) => return file.change(change),
            Place::Shared(shared) => shared,
        };
        for _ in 0..MAX_TRIES {
            let (version, mut access) = shared.stored().await?.unwrap_or_default();
            let made = change(&mut access)?;
            let text = serde_json::to_string(&access)
                .map_err(|error| AccessError::unreadable(shared.texts.place(), error))?;
            if shared.texts.replace(NAME, version, &text).await? {
                *shared.known() = Some(Arc::new(access));
                return Ok(made);
            }
        }
        Err(AccessError::Overtaken { place: shared.texts.place() })
    }
}

impl SharedAccess {
    async fn refresh(&self) -> Result<(), AccessError> {
        let stored = self.stored().await?;
        let mut known = self.known();
        *known = match (stored, known.as_ref()) {
            (Some((_, access)), _) => Some(Arc::new(access)),
            // Keys that disappear must not open the server to everyone.
            (None, Some(before)) if !before.is_empty() => None,
            (None, _) => Some(Arc::default()),
        };
        Ok(())
    }

    async fn stored(&self) -> Result<Option<(u64, Access)>, AccessError> {
        let Some((version, text)) = self.texts.read(NAME).await? else { return Ok(None) };
        let access = serde_json::from_str(&text)
            .map_err(|error| AccessError::unreadable(self.texts.place(), error))?;
        Ok(Some((version, access)))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Option<Arc<Access>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use graphloom_core::Timestamp;

    use super::super::Grant;
    use super::*;
    use crate::counts::testing::MemoryTexts;

    #[tokio::test]
    async fn a_key_of_one_server_is_valid_on_all_and_vanished_keys_refuse_everybody() {
        let texts = Arc::new(MemoryTexts::default());
        let [ours, theirs] = [(); 2].map(|()| AccessStore::of(Some(texts.clone()), Path::new("unused")));
        assert!(ours.read().is_err(), "the keys are not read yet");
        ours.refresh().await.expect("read");
        assert!(ours.read().expect("known").is_empty());
        let key =
            theirs.change(|access| access.create_key("k", Grant::ALL, Timestamp(1))).await.expect("written");
        ours.change(|access| access.create_key("other", Grant::ALL, Timestamp(1))).await.expect("written");
        theirs.refresh().await.expect("read");
        let both = theirs.read().expect("known");
        assert_eq!(both.keys.len(), 2);
        assert_eq!(both.keys[0].id, key.id);
        texts.0.lock().expect("a lock").clear();
        ours.refresh().await.expect("read");
        assert!(matches!(ours.read(), Err(AccessError::Missing { .. })));
    }
}
