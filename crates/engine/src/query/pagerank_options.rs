//! How PageRank searches: where it starts, how far it goes, and what else it may use.

use serde::{Deserialize, Serialize};

use super::QueryError;
use super::plan::{Plan, Prior};

/// Most passages or facts that PageRank starts at.
pub const MAX_PAGERANK_SEEDS: usize = 1000;

/// How PageRank searches the graph, in modes auto and ppr.
///
/// The defaults are what was measured best: docs/methods/auto.md has a row for every one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageRankOptions {
    /// The share that goes on to the neighbours at every step, 0 to 0.99. Relations are nodes too, so a step from entity
    /// to entity is two: 0.8 each is 0.64 for both.
    pub damping: f64,
    /// A node whose part still to be handed on is below this for each of its links keeps it, 1e-9 to 1. The work of a
    /// search is bounded by one over it, whatever the size of the graph.
    pub precision: f64,
    /// An entity that is linked with this share of all chunks, entities and relations gets 1/e of what others get of their
    /// neighbours, 0.0001 to 1: what everything speaks of leads nowhere in particular. At 1 hardly any difference is made.
    pub hub_share: f64,
    /// What passages near to the question get together, 0 to 1; counts beside `facts` and `names`.
    pub passages: f64,
    /// What facts near to the question get together, 0 to 1.
    pub facts: f64,
    /// What entities named in the question get together, 0 to 1.
    pub names: f64,
    /// Passages looked at in each ranking.
    pub passage_hits: usize,
    /// Passages that are seeds.
    pub passage_seeds: usize,
    /// A passage whose score is this much below the best one's, relative to it, gets 1/e of its weight.
    pub passage_temperature: f64,
    /// Facts that are seeds.
    pub fact_seeds: usize,
    /// A fact whose score is this much below the best one's, relative to it, gets 1/e of its weight.
    pub fact_temperature: f64,
    /// What the BM25 score of a passage counts beside its cosine, each relative to the best one; up to four times as much where no name
    /// in the question says where to start. Mode auto only.
    pub passage_words: f64,
    /// The same for facts; mode auto only.
    pub fact_words: f64,
    /// What the words of the whole question count in the result beside PageRank, 0 to 1, where no name in the question says where to
    /// start; less where one does, nothing where it is rare. Mode auto only.
    pub direct: f64,
    /// Who takes a question apart; mode auto only.
    pub decompose: Decompose,
    /// What the parts of a question get of the weight of passages and facts, 0 to 1, where it has parts.
    pub parts: f64,
    /// Whether a model says which of the nearest facts help to answer; one call, mode ppr only.
    pub filter_facts: bool,
    /// Least cosine of entities that are linked as synonyms, 0 to 1, where each is among the nearest of the other; `None`
    /// links none. Of those that PageRank starts at only.
    pub synonyms: Option<f32>,
}

/// Who takes a question apart into what can be looked for on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decompose {
    /// Nobody.
    Off,
    /// Rules, by its form.
    Form,
    /// The keyword model, in one call; rules where there is none.
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
    /// The names of the options that are not as they are by default and change nothing: of another mode, or of a keyword model
    /// where there is none.
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

    /// Refuses what is out of range.
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
