//! Groups search requests the way stores run them: by kind and stored id, with several vectors in one search.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphloom_core::{By, FilteredIds, Hit, ItemKey, ItemKind, LayerName, SearchRequest};

use crate::words::words;

/// What a search is restricted to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Only {
    /// Only these entries; `None` for all.
    pub filtered: Option<Arc<FilteredIds>>,
    /// Only nodes of this layer; `None` for all entries.
    pub layer: Option<LayerName>,
}

impl Only {
    /// True if the entry may be found.
    pub fn admits(&self, kind: ItemKind, id: &str) -> bool {
        self.filtered.as_deref().is_none_or(|filtered| filtered.admits(kind, id))
            && self.layer.as_ref().is_none_or(|layer| kind == ItemKind::Node && layer.holds(id))
    }

    /// True if both are certain to admit the same entries, because they are identical.
    fn is_same(&self, other: &Self) -> bool {
        let same_ids = match (&self.filtered, &other.filtered) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        same_ids && self.layer == other.layer
    }
}

/// Nearest-neighbor searches that differ only in their vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// Kind of entries to search.
    pub kind: ItemKind,
    /// The query vectors, each with as many dimensions as the embedding space.
    pub vectors: Vec<Vec<f32>>,
    /// Maximum hits per vector.
    pub limit: usize,
    /// Minimum cosine.
    pub min_score: f32,
    /// The entries to which the search is restricted.
    pub only: Only,
}

/// A search by words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    /// Kind of entries.
    pub kind: ItemKind,
    /// The words.
    pub text: String,
    /// Words that count a quarter as much as the others.
    pub faint: Vec<String>,
    /// Maximum hits.
    pub limit: usize,
    /// The entries to which the search is restricted.
    pub only: Only,
}

/// Weight of a faint word. A power of two, so that all stores round alike.
const FAINT: f32 = 0.25;

impl TextQuery {
    /// Returns the first `most` words, normalized as in the index, each once, with its weight.
    pub fn weighted_words(&self, most: usize) -> BTreeMap<String, f32> {
        let faint: BTreeSet<String> = self.faint.iter().flat_map(|word| words(word)).collect();
        let weight = |word: &String| if faint.contains(word) { FAINT } else { 1.0 };
        words(&self.text).into_iter().take(most).map(|word| (word.clone(), weight(&word))).collect()
    }
}

/// An entry with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredId {
    /// The stored id.
    pub id: String,
    /// Cosine or BM25 score.
    pub score: f32,
}

/// Requests, grouped into searches.
#[derive(Debug, Default)]
pub struct Searches {
    /// Vector searches, each with the positions of its requests, in the order of its vectors.
    pub by_vector: Vec<(VectorQuery, Vec<usize>)>,
    /// Word searches, each with the position of its request.
    pub by_words: Vec<(TextQuery, usize)>,
}

impl Searches {
    /// Groups the requests that one pass can answer.
    pub fn of(requests: &[SearchRequest]) -> Self {
        let mut searches = Self::default();
        for (place, request) in requests.iter().enumerate() {
            let SearchRequest { kind, by, limit, filtered, layer } = request;
            let only = Only { filtered: filtered.clone(), layer: layer.clone() };
            match by {
                By::Vector { vector, min_score } => {
                    let alike = searches.by_vector.iter_mut().find(|(query, _)| {
                        query.kind == *kind
                            && query.limit == *limit
                            && query.min_score.total_cmp(min_score).is_eq()
                            && query.only.is_same(&only)
                    });
                    match alike {
                        Some((query, places)) => {
                            query.vectors.push(vector.clone());
                            places.push(place);
                        }
                        None => {
                            let vectors = vec![vector.clone()];
                            let (kind, limit, min_score) = (*kind, *limit, *min_score);
                            let query = VectorQuery { kind, vectors, limit, min_score, only };
                            searches.by_vector.push((query, vec![place]));
                        }
                    }
                }
                By::Words { text, faint } => {
                    let (text, faint) = (text.clone(), faint.clone());
                    let query = TextQuery { kind: *kind, text, faint, limit: *limit, only };
                    searches.by_words.push((query, place));
                }
            }
        }
        searches
    }

    /// Returns the hits of each request, in the order of the requests.
    ///
    /// - `by_vector`, `by_words`: the results of each of these searches.
    pub fn hits(&self, by_vector: Vec<Vec<Vec<ScoredId>>>, by_words: Vec<Vec<ScoredId>>) -> Vec<Vec<Hit>> {
        let requests =
            self.by_words.len() + self.by_vector.iter().map(|(_, places)| places.len()).sum::<usize>();
        let mut all = vec![Vec::new(); requests];
        for ((query, places), found) in self.by_vector.iter().zip(by_vector) {
            for (place, found) in places.iter().zip(found) {
                all[*place] = hits(query.kind, found);
            }
        }
        for ((query, place), found) in self.by_words.iter().zip(by_words) {
            all[*place] = hits(query.kind, found);
        }
        all
    }
}

fn hits(kind: ItemKind, found: Vec<ScoredId>) -> Vec<Hit> {
    let hit = |ScoredId { id, score }| Some(Hit { item: ItemKey::from_id(kind, &id)?, score });
    found.into_iter().filter_map(hit).collect()
}

/// Returns the positions and ids of the items of each kind, so that each kind is read once.
pub fn by_kind(items: &[ItemKey]) -> Vec<(ItemKind, Vec<usize>, Vec<String>)> {
    let of = |kind| {
        let of_kind = items.iter().enumerate().filter(|(_, item)| item.kind() == kind);
        let (places, ids) = of_kind.map(|(place, item)| (place, item.id().into_owned())).unzip();
        (kind, places, ids)
    };
    ItemKind::ALL
        .map(of)
        .into_iter()
        .filter(|(_, places, _): &(_, Vec<usize>, _)| !places.is_empty())
        .collect()
}
