//! Identifiers: typed, scoped to one workspace, and mostly hashes of content.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Member, Timestamp};

/// Bytes of the hash in an identifier. With 128 bits, collisions are not a concern for any corpus.
const ID_BYTES: usize = 16;

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Returns the identifier as stored and printed.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Restores an identifier from storage, unchecked.
            pub fn from_stored(stored: impl Into<String>) -> Self {
                Self(stored.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

string_id!(
    /// The unit of isolation: the documents, graph and vectors of one workspace are never visible in another.
    WorkspaceId
);
string_id!(
    /// One version of one source: hash of source name and content.
    DocumentId
);
string_id!(
    /// One chunk: hash of its document, ordinal and span.
    ChunkId
);
string_id!(
    /// One run that queued documents: a given or generated name under which its documents are listed.
    TrackId
);
string_id!(
    /// One extraction: hash of chunk text, prompt, model and parameters. It is also the key of the extraction
    /// cache.
    ExtractionKey
);
string_id!(
    /// One context: hash of document, chunk text, prompt and model, or of the rule and its result.
    ChunkContextKey
);
string_id!(
    /// One stored summary: hash of its sorted inputs, prompt and model.
    SummaryKey
);
string_id!(
    /// The name of a layer, such as `communities`.
    LayerName
);
string_id!(
    /// One node of a layer: hash of layer, level and sorted members. Begins with the name of the layer.
    NodeKey
);
string_id!(
    /// One decision: hash of its position in the order and its action.
    DecisionId
);
string_id!(
    /// One stored conversation. The id is random, so that it cannot be guessed.
    ConversationId
);
string_id!(
    /// Hash of the bytes of a text or other input.
    ContentHash
);
string_id!(
    /// An entity's normalized name, under which its mentions merge, such as `SARAH_CHEN`.
    EntityKey
);

/// The error for an invalid workspace name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "workspace name {0:?} must be 1 to 64 of the characters a-z, 0-9, '-' and '_', starting with a letter or digit"
)]
pub struct InvalidWorkspaceId(pub String);

impl WorkspaceId {
    /// Checks a workspace name. It becomes a file name, so only `[a-z0-9][a-z0-9_-]{0,63}` is allowed.
    pub fn new(name: &str) -> Result<Self, InvalidWorkspaceId> {
        let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts_well && name.len() <= 64 && name.chars().all(ok) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidWorkspaceId(name.to_owned()))
        }
    }
}

impl Default for WorkspaceId {
    fn default() -> Self {
        Self("default".to_owned())
    }
}

/// The error for an invalid run name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "track {0:?} must be 1 to 100 of the characters a-z, A-Z, 0-9, '-', '_' and '.', starting with a letter or digit"
)]
pub struct InvalidTrackId(pub String);

impl TrackId {
    /// Checks a run name: `[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}`, which is easy to type and safe in a URL.
    pub fn new(name: &str) -> Result<Self, InvalidTrackId> {
        let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 100 && name.chars().all(ok)
        {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidTrackId(name.to_owned()))
        }
    }

    /// Generates the name of a run: `WHAT-20261121-204337-1a2b3c4d`, in UTC. The last eight digits come from
    /// `unique`, which must differ between the runs of a workspace.
    pub fn of_run(what: &str, started_at: Timestamp, unique: &str) -> Self {
        let second = started_at.0 / 1000;
        let (year, month, day) = civil_date(second / 86_400);
        let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
        let digits = &hash_strs(&[unique])[..8];
        Self(format!("{what}-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{digits}"))
    }

    /// Returns `WHAT` and the start of the run as text that sorts by time; `None` if the name was not generated.
    pub fn run(&self) -> Option<(&str, &str)> {
        let (rest, digits) = self.0.rsplit_once('-')?;
        let (date_at, _) = rest.rmatch_indices('-').nth(1)?;
        let (what, when) = (&rest[..date_at], &rest[date_at + 1..]);
        let is_generated = digits.len() == 8
            && when.len() == "20261121-204337".len()
            && when
                .bytes()
                .enumerate()
                .all(|(at, byte)| if at == 8 { byte == b'-' } else { byte.is_ascii_digit() });
        is_generated.then_some((what, when))
    }
}

/// Returns the Gregorian date that is this many days after 1970-01-01.
///
/// Source: Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub(crate) fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

impl DocumentId {
    /// Returns the id of the version of `source` whose text has the hash `content`.
    pub fn new(source: &str, content: &ContentHash) -> Self {
        Self(format!("doc-{}", hash_parts(&[source.as_bytes(), content.0.as_bytes()])))
    }
}

impl ChunkId {
    /// Returns the id of the chunk at `ordinal`, which covers `start..end` of a document.
    pub fn new(document: &DocumentId, ordinal: u32, start: u64, end: u64) -> Self {
        let parts = [document.0.as_bytes(), &ordinal.to_be_bytes(), &start.to_be_bytes(), &end.to_be_bytes()];
        Self(format!("chunk-{}", hash_parts(&parts)))
    }
}

impl ExtractionKey {
    /// Returns the key of an extraction request: a hash of everything that can change the answer, in a fixed order.
    pub fn new(parts: &[&str]) -> Self {
        Self(hash_strs(parts))
    }
}

impl ChunkContextKey {
    /// Returns the key of a context: a hash of everything that can change the text, in a fixed order.
    pub fn new(parts: &[&str]) -> Self {
        Self(hash_strs(parts))
    }
}

impl SummaryKey {
    /// Returns the key of a summary of `parts`: prompt, model, and inputs in canonical order.
    pub fn new(parts: &[&str]) -> Self {
        Self(hash_strs(parts))
    }
}

/// The error for an invalid layer name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("layer name {0:?} must be 1 to 64 of the characters a-z, 0-9 and '_', starting with a letter")]
pub struct InvalidLayerName(pub String);

impl LayerName {
    /// Checks a layer name: `[a-z][a-z0-9_]{0,63}`.
    pub fn new(name: &str) -> Result<Self, InvalidLayerName> {
        let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
        if starts_well && name.len() <= 64 && name.chars().all(ok) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidLayerName(name.to_owned()))
        }
    }

    /// Returns the prefix that the keys of its nodes, and no other keys, begin with.
    pub fn key_prefix(&self) -> String {
        format!("{self}-")
    }

    /// True if the node id belongs to this layer.
    pub fn holds(&self, node: &str) -> bool {
        node.strip_prefix(self.as_str()).is_some_and(|rest| rest.starts_with('-'))
    }
}

impl NodeKey {
    /// Returns the key of a node with this layer, level and members. `members` must be sorted and unique.
    pub fn new(layer: &LayerName, level: u32, members: &[Member]) -> Self {
        let mut hasher = PartsHasher::default();
        hasher.push_bytes(&level.to_be_bytes());
        for member in members {
            hasher.push(member.kind());
            hasher.push(member.id());
        }
        Self(format!("{}{}", layer.key_prefix(), hasher.hex()))
    }

    /// Returns the layer that the key begins with.
    pub fn layer(&self) -> LayerName {
        let (layer, _) = self.0.rsplit_once('-').unwrap_or_default();
        LayerName(layer.to_owned())
    }
}

impl ContentHash {
    /// Returns the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hash_parts(&[bytes]))
    }

    /// Returns the hash of a list of strings. The boundaries between them are significant.
    pub fn of_parts(parts: &[&str]) -> Self {
        Self(hash_strs(parts))
    }
}

/// Hashes a list of strings like [`ContentHash::of_parts`], but one string at a time, so that a long list
/// need not be in memory.
#[derive(Debug, Default)]
pub struct PartsHasher(blake3::Hasher);

impl PartsHasher {
    /// Adds the next string.
    pub fn push(&mut self, part: &str) {
        self.push_bytes(part.as_bytes());
    }

    /// Adds the length before the part, so that moving a byte to the next part changes the hash.
    fn push_bytes(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Returns the hash of all added strings.
    pub fn finish(&self) -> ContentHash {
        ContentHash(self.hex())
    }

    fn hex(&self) -> String {
        self.0.finalize().to_hex()[..ID_BYTES * 2].to_owned()
    }
}

/// An unordered pair of entities, stored so that `a <= b`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RelationKey {
    a: EntityKey,
    b: EntityKey,
}

impl RelationKey {
    /// Returns the pair of these entities; `None` if they are the same.
    pub fn new(one: EntityKey, other: EntityKey) -> Option<Self> {
        match one.cmp(&other) {
            std::cmp::Ordering::Less => Some(Self { a: one, b: other }),
            std::cmp::Ordering::Greater => Some(Self { a: other, b: one }),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// Returns the smaller entity.
    pub fn a(&self) -> &EntityKey {
        &self.a
    }

    /// Returns the larger entity.
    pub fn b(&self) -> &EntityKey {
        &self.b
    }

    /// Returns both entities, the smaller first.
    pub fn ends(&self) -> [&EntityKey; 2] {
        [&self.a, &self.b]
    }

    /// Parses the output of [`Display`](fmt::Display); `None` unless there is exactly one tab.
    pub fn parse(text: &str) -> Option<Self> {
        let (a, b) = text.split_once('\t')?;
        if b.contains('\t') {
            return None;
        }
        Self::new(EntityKey(a.to_owned()), EntityKey(b.to_owned()))
    }
}

/// Writes `a` and `b` separated by a tab. Keys contain no tab.
impl fmt::Display for RelationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}", self.a, self.b)
    }
}

/// A store's commit counter: the number of commits so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn hash_strs(parts: &[&str]) -> String {
    hash_parts(&parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>())
}

fn hash_parts(parts: &[&[u8]]) -> String {
    let mut hasher = PartsHasher::default();
    parts.iter().for_each(|part| hasher.push_bytes(part));
    hasher.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_names_are_safe_file_names() {
        assert!(WorkspaceId::new("research-2").is_ok());
        for bad in ["", "..", "a/b", "A", "-x", "ä", &"x".repeat(65)] {
            assert_eq!(WorkspaceId::new(bad), Err(InvalidWorkspaceId(bad.to_owned())));
        }
    }

    #[test]
    fn tracks_are_named_by_command_and_time_and_custom_names_are_checked() {
        let track = TrackId::of_run("add", Timestamp(1_709_210_096_999), "worker");
        assert!(track.as_str().starts_with("add-20240229-123456-"), "{track}");
        assert_ne!(track, TrackId::of_run("add", Timestamp(1_709_210_096_999), "another"));
        assert_eq!(
            TrackId::of_run("re-extract", Timestamp(0), "").run(),
            Some(("re-extract", "19700101-000000"))
        );
        for other in ["mine", "a-b-c", "a-2024-02-29", "add-20240229-123456-12"] {
            assert_eq!(TrackId::new(other).expect("a name").run(), None, "{other}");
        }
        assert_eq!(TrackId::new(track.as_str()), Ok(track));
        assert_eq!(civil_date(0), (1970, 1, 1));
        for bad in ["", "-x", "a b", "a/b", "ä", &"x".repeat(101)] {
            assert_eq!(TrackId::new(bad), Err(InvalidTrackId(bad.to_owned())));
        }
    }

    #[test]
    fn a_pair_is_unordered_and_survives_printing() {
        let key = |s: &str| EntityKey::from_stored(s);
        let ab = RelationKey::new(key("A"), key("B"));
        assert_eq!(ab, RelationKey::new(key("B"), key("A")));
        assert_eq!(RelationKey::new(key("A"), key("A")), None);
        let ab = ab.expect("two different ends");
        assert_eq!(RelationKey::parse(&ab.to_string()), Some(ab));
    }

    #[test]
    fn strings_hashed_one_by_one_equal_a_hashed_list() {
        let mut hasher = PartsHasher::default();
        ["ab", "", "c"].iter().for_each(|part| hasher.push(part));
        assert_eq!(hasher.finish(), ContentHash::of_parts(&["ab", "", "c"]));
    }

    #[test]
    fn moving_a_byte_to_the_next_part_changes_the_hash() {
        assert_ne!(ContentHash::of_parts(&["ab", "c"]), ContentHash::of_parts(&["a", "bc"]));
    }
}
