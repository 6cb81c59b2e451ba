//! The modes: one table with a row for each, used by every interface, and the plan that a row describes.

use serde::{Deserialize, Serialize};

/// What a mode does: which operators run, how their results become one list, and how the answer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// The searches, in the order in which their results are interleaved.
    pub(super) operators: &'static [Operator],
    /// How the results of several operators become one list.
    pub(super) fusion: Fusion,
    /// How the answer is made.
    pub(super) answer: AnswerStrategy,
}

/// A search of a plan; each has its own file in `search/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// From the question to chunks, by vector.
    Dense,
    /// From the question to chunks, by vector and full text with weighted ranks.
    Fused,
    /// From low-level keywords to entities, then to their relations and chunks.
    Entities,
    /// From high-level keywords to relations, then to their entities and chunks.
    Relations,
    /// PageRank from matches of the question to chunks.
    PageRank(Prior),
    /// From the question to summaries of chunks by vector, then down to chunks.
    Tree(TreeOrder),
    /// Reports of communities: all of one level, or by descending into relevant ones.
    Reports,
    /// From the question to entities, then to the reports of their communities, their relations and their chunks.
    Community,
    /// The nearest reports, then the results of follow-up questions.
    Drift,
}

/// How the tree is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeOrder {
    /// All levels at once.
    Collapsed,
    /// Level by level from the top.
    Descent,
}

/// How the results of several operators become one list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fusion {
    /// The results are interleaved [LightRAG]; those of a single operator stay as they are.
    TakeTurns,
    /// Each operator gets a share of the context's tokens [GraphRAG].
    Shares,
}

/// How an answer is made from the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerStrategy {
    /// One call reads the whole context.
    Single,
    /// Several calls draw points from parts of the results, and one call answers from the points.
    MapReduce,
    /// No documents are used: the LLM answers on its own.
    None,
}

/// How the passages that PageRank starts from are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prior {
    /// By their vectors.
    Vector,
    /// By their vectors and their words.
    VectorAndWords,
}

macro_rules! modes {
    ($($mode:ident $name:literal $summary:literal [$($operator:expr),*] $fusion:ident $answer:ident;)*) => {
        /// Which searches run and how the answer is made.
        ///
        /// `local`, `global`, `hybrid`, `naive`, `mix` and `bypass` are LightRAG's modes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Mode {
            $(#[doc = $summary] #[serde(rename = $name)] $mode,)*
        }

        impl Mode {
            /// Every mode, the default first.
            pub const ALL: &[Self] = &[$(Self::$mode),*];

            /// The name in commands, requests and results.
            pub fn name(self) -> &'static str {
                match self { $(Self::$mode => $name),* }
            }

            /// What the mode does, as a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$mode => $summary),* }
            }
        }

        impl Plan {
            /// Returns the plan of a mode.
            pub(super) fn of(mode: Mode) -> Self {
                match mode {
                    $(Mode::$mode => Self {
                        operators: &[$($operator),*],
                        fusion: Fusion::$fusion,
                        answer: AnswerStrategy::$answer,
                    }),*
                }
            }
        }
    };
}

modes! {
    Auto "auto" "Personalized PageRank from passages by vector and full text, relations, and entities named in the question."
        [Operator::PageRank(Prior::VectorAndWords)] TakeTurns Single;
    Ppr "ppr" "Personalized PageRank from passages and relations by vector, and entities named in the question (HippoRAG 2)."
        [Operator::PageRank(Prior::Vector)] TakeTurns Single;
    Mix "mix" "Hybrid and naive."
        [Operator::Dense, Operator::Entities, Operator::Relations] TakeTurns Single;
    Hybrid "hybrid" "Local and global."
        [Operator::Entities, Operator::Relations] TakeTurns Single;
    Local "local" "Entities by names and details, with their relations and chunks."
        [Operator::Entities] TakeTurns Single;
    Global "global" "Relations by themes, with their entities and chunks."
        [Operator::Relations] TakeTurns Single;
    Naive "naive" "Chunks by vector."
        [Operator::Dense] TakeTurns Single;
    Contextual "contextual" "Chunks by vector and full text; works best if chunks have a context (Contextual Retrieval)."
        [Operator::Fused] TakeTurns Single;
    Tree "tree" "Passages and summaries of passages by vector, all levels of the tree at once (RAPTOR)."
        [Operator::Tree(TreeOrder::Collapsed)] TakeTurns Single;
    TreeDescent "tree_descent" "Summaries by vector from the top of the tree down to passages (RAPTOR's tree traversal)."
        [Operator::Tree(TreeOrder::Descent)] TakeTurns Single;
    CommunityGlobal "community_global" "Reports of communities, for questions about the documents as a whole (GraphRAG)."
        [Operator::Reports] TakeTurns MapReduce;
    CommunityLocal "community_local" "Entities near the question, with the reports of their communities, relations and chunks (GraphRAG)."
        [Operator::Community] Shares Single;
    Drift "drift" "Reports, then local searches for follow-up questions; needs an LLM (GraphRAG)."
        [Operator::Drift] TakeTurns MapReduce;
    Bypass "bypass" "No search; the LLM answers on its own."
        [] TakeTurns None;
}

impl Mode {
    /// Returns the mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }

    /// True if the mode searches the documents; otherwise the LLM answers on its own.
    pub fn searches(self) -> bool {
        Plan::of(self).searches()
    }

    /// True if the mode searches with keywords.
    pub fn needs_keywords(self) -> bool {
        Plan::of(self).needs_keywords()
    }

    /// True if the mode needs an answer model.
    pub fn needs_answer_model(self) -> bool {
        let plan = Plan::of(self);
        plan.answer == AnswerStrategy::None || plan.has(Operator::Drift)
    }

    /// True if the mode reads reports of communities, which are written from all documents.
    pub fn reads_reports(self) -> bool {
        Plan::of(self).reads_reports()
    }
}

impl Operator {
    /// True if the operator searches with the vector of the question.
    pub(super) fn reads_question(self) -> bool {
        match self {
            Self::Dense | Self::Fused | Self::PageRank(_) | Self::Tree(_) => true,
            Self::Reports | Self::Community | Self::Drift => true,
            Self::Entities | Self::Relations => false,
        }
    }

    /// True if the operator searches the graph.
    fn reads_graph(self) -> bool {
        match self {
            Self::Entities | Self::Relations | Self::PageRank(_) => true,
            Self::Reports | Self::Community | Self::Drift => true,
            Self::Dense | Self::Fused | Self::Tree(_) => false,
        }
    }
}

impl Plan {
    /// True if this operator runs.
    pub(super) fn has(self, operator: Operator) -> bool {
        self.operators.contains(&operator)
    }

    /// Returns how PageRank finds its seed passages, if it runs.
    pub(super) fn page_rank(self) -> Option<Prior> {
        [Prior::Vector, Prior::VectorAndWords].into_iter().find(|prior| self.has(Operator::PageRank(*prior)))
    }

    /// True if the tree is searched.
    pub(super) fn searches_tree(self) -> bool {
        self.operators.iter().any(|operator| matches!(operator, Operator::Tree(_)))
    }

    /// True if keywords are needed, to find entities, relations and the chunks behind them.
    pub(super) fn needs_keywords(self) -> bool {
        self.has(Operator::Entities) || self.has(Operator::Relations)
    }

    /// True if reports of communities are read.
    pub(super) fn reads_reports(self) -> bool {
        [Operator::Reports, Operator::Community, Operator::Drift]
            .into_iter()
            .any(|operator| self.has(operator))
    }

    /// True if the question is split into parts.
    pub(super) fn decomposes(self) -> bool {
        self.page_rank() == Some(Prior::VectorAndWords)
    }

    /// True if the graph is searched.
    pub(super) fn searches_graph(self) -> bool {
        self.operators.iter().any(|operator| operator.reads_graph())
    }

    /// True if anything is searched; otherwise the model answers on its own.
    pub(super) fn searches(self) -> bool {
        self.answer != AnswerStrategy::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_parsed_and_printed_by_its_name() {
        for mode in Mode::ALL.iter().copied() {
            assert_eq!(Mode::named(mode.name()), Some(mode));
            assert_eq!(serde_json::to_value(mode).expect("JSON"), mode.name());
        }
        assert_eq!(Mode::named("best"), None);
    }

    #[test]
    fn a_mode_answers_from_documents_if_and_only_if_it_has_operators() {
        for mode in Mode::ALL.iter().copied() {
            assert_eq!(mode.searches(), !Plan::of(mode).operators.is_empty(), "{}", mode.name());
        }
    }
}
