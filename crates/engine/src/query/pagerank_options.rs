//! Options of PageRank: where it starts, how far it goes, and what else counts.

use serde::{Deserialize, Serialize};

use super::QueryError;
use super::plan::{Plan, Prior};

/// Maximum number of passages or facts that PageRank starts at.
pub const MAX_PAGERANK_SEEDS: usize = 1000;

/// Options of PageRank over the graph, in modes auto and ppr.
///
/// The defaults gave the best measurements; docs/methods/auto.md has a row for each of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRankOptions {
    /// The share of a node's weight that goes on to its neighbours at every step, 0 to 0.99. Relations are nodes too, so from
    /// entity to entity it takes two steps: 0.8 for each is 0.64 for both.
    pub damping: f64,
    /// A node passes on its remaining weight only if that is more than this for each of its links, 1e-9 to 1. The work of a
    /// search is therefore bounded by 1/`precision`, whatever the size of the graph.
    pub precision: f64,
    /// An entity linked with this share of all chunks, entities and relations gets 1/e of the weight that others get from
    /// their neighbours, 0.0001 to 1, because an entity that occurs everywhere is not specific. At 1 there is hardly a
    /// difference.
    pub hub_share: f64,
    /// Weight of all seed passages together, 0 to 1, relative to `facts` and `names`.
    pub passages: f64,
    /// Weight of all seed facts together, 0 to 1.
    pub facts: f64,
    /// Weight of all entities named in the question together, 0 to 1.
    pub names: f64,
    /// Passages read from each ranking.
    pub passage_hits: usize,
    /// Number of seed passages.
    pub passage_seeds: usize,
    /// A passage whose score is below the best one by this fraction of the best score gets 1/e of its weight.
    pub passage_temperature: f64,
    /// Number of seed facts.
    pub fact_seeds: usize,
    /// A fact whose score is below the best one by this fraction of the best score gets 1/e of its weight.
    pub fact_temperature: f64,
    /// Weight of a passage's BM25 score relative to its cosine, each divided by the best one. Up to four times as much if no
    /// name in the question gives a place to start, and three times as much if the question is not split. Mode auto only.
    pub passage_words: f64,
    /// The same for facts; mode auto only.
    pub fact_words: f64,
    /// Weight in the result of a search for the words of the whole question, next to PageRank, 0 to 1, if no name in the
    /// question gives a place to start. A name reduces the weight, a rare one to 0. Hits far ahead of the others always get a
    /// bonus in proportion to it. Mode auto only.
    pub direct: f64,
    /// How a question is split; mode auto only.
    pub decompose: Decompose,
    /// Share of the weight of passages and facts for the parts of a question, 0 to 1, if it has parts.
    pub parts: f64,
    /// True if a model selects which of the nearest facts help to answer: one call, mode ppr only.
    pub filter_facts: bool,
    /// Minimum cosine of two entities linked as synonyms, 0 to 1, if each is among the nearest of the other; `None` adds no
    /// links. Only entities that PageRank starts at get such links.
    pub synonyms: Option<f32>,
}

/// How a question is split into parts to search for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decompose {
    /// Not at all.
    Off,
    /// By rules, from the form of the question.
    Form,
    /// By the keyword model, in one call; by rules if none is configured.
    Model,
}

impl Default for PageRankOptions {
    fn default() -> Self {
        Self {
            damping: 0.8,
            precision: 1e-4,
            hub_share: 0.01,
            passages: 0.4,
            facts: 0.3,
            names: 0.3,
            passage_hits: 20,
            passage_seeds: 30,
            passage_temperature: 0.1,
            fact_seeds: 5,
            fact_temperature: 0.08,
            passage_words: 0.5,
            fact_words: 0.0,
            direct: 0.7,
            decompose: Decompose::Form,
            parts: 0.5,
            filter_facts: false,
            synonyms: None,
        }
    }
}

impl PageRankOptions {
    /// Returns the names of the options that differ from their default but have no effect: they belong to another mode, or to
    /// a keyword model that is not configured.
    pub(super) fn unused(&self, plan: Plan, has_model: bool) -> Vec<&'static str> {
        let default = Self::default();
        let prior = plan.page_rank();
        let (ranks, by_words) = (prior.is_some(), prior == Some(Prior::VectorAndWords));
        let filters = prior == Some(Prior::Vector) && has_model;
        let takes_apart = by_words && (has_model || self.decompose != Decompose::Model);
        let options = [
            ("damping", self.damping != default.damping, ranks),
            ("precision", self.precision != default.precision, ranks),
            ("hub_share", self.hub_share != default.hub_share, ranks),
            ("passages", self.passages != default.passages, ranks),
            ("facts", self.facts != default.facts, ranks),
            ("names", self.names != default.names, ranks),
            ("passage_hits", self.passage_hits != default.passage_hits, ranks),
            ("passage_seeds", self.passage_seeds != default.passage_seeds, ranks),
            ("passage_temperature", self.passage_temperature != default.passage_temperature, ranks),
            ("fact_seeds", self.fact_seeds != default.fact_seeds, ranks),
            ("fact_temperature", self.fact_temperature != default.fact_temperature, ranks),
            ("passage_words", self.passage_words != default.passage_words, by_words),
            ("fact_words", self.fact_words != default.fact_words, by_words),
            ("direct", self.direct != default.direct, by_words),
            ("decompose", self.decompose != default.decompose, takes_apart),
            ("parts", self.parts != default.parts, by_words),
            ("filter_facts", self.filter_facts != default.filter_facts, filters),
            ("synonyms", self.synonyms != default.synonyms, ranks),
        ];
        options
            .into_iter()
            .filter(|(_, is_set, is_used)| *is_set && !is_used)
            .map(|(name, ..)| name)
            .collect()
    }

    /// Rejects values out of range.
    pub(super) fn check(&self) -> Result<(), QueryError> {
        let synonyms = self.synonyms.map_or(0.0, f64::from);
        for (what, value, least, most) in [
            ("pagerank.damping", self.damping, 0.0, 0.99),
            ("pagerank.precision", self.precision, 1e-9, 1.0),
            ("pagerank.hub_share", self.hub_share, 1e-4, 1.0),
            ("pagerank.passages", self.passages, 0.0, 1.0),
            ("pagerank.facts", self.facts, 0.0, 1.0),
            ("pagerank.names", self.names, 0.0, 1.0),
            ("pagerank.passage_temperature", self.passage_temperature, 1e-3, 100.0),
            ("pagerank.fact_temperature", self.fact_temperature, 1e-3, 100.0),
            ("pagerank.passage_words", self.passage_words, 0.0, 100.0),
            ("pagerank.fact_words", self.fact_words, 0.0, 100.0),
            ("pagerank.direct", self.direct, 0.0, 1.0),
            ("pagerank.parts", self.parts, 0.0, 1.0),
            ("pagerank.synonyms", synonyms, 0.0, 1.0),
        ] {
            if !(least..=most).contains(&value) {
                return Err(QueryError::OutOfRange { what, value, least, most });
            }
        }
        for (what, size) in [
            ("pagerank.passage_hits", self.passage_hits),
            ("pagerank.passage_seeds", self.passage_seeds),
            ("pagerank.fact_seeds", self.fact_seeds),
        ] {
            if size > MAX_PAGERANK_SEEDS {
                return Err(QueryError::TooMuch { what, size, limit: MAX_PAGERANK_SEEDS });
            }
        }
        Ok(())
    }
}
