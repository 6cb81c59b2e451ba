//! The modes: a table with one row for each, read by every surface, and the plan that a row describes.

use serde::{Deserialize, Serialize};

/// What a mode does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Low-level keywords to entities.
    pub(super) local: bool,
    /// High-level keywords to relations.
    pub(super) global: bool,
    /// The question to chunks.
    pub(super) naive: bool,
    /// The question to chunks by vector and by words.
    pub(super) fused: bool,
    /// PageRank from what matches the question, to chunks; alone.
    pub(super) walk: Option<Prior>,
}

/// What says which passages PageRank starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prior {
    /// Their vectors.
    Vector,
    /// Their vectors and their words.
    VectorAndWords,
}

const NOTHING: Plan = Plan { local: false, global: false, naive: false, fused: false, walk: None };

macro_rules! modes {
    ($($mode:ident $name:literal $summary:literal $plan:expr;)*) => {
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
            /// The plan of a mode.
            pub(super) fn of(mode: Mode) -> Self {
                match mode { $(Mode::$mode => $plan),* }
            }
        }
    };
}

modes! {
    Auto "auto" "Personalized PageRank from passages by vector and full text, relations, and entities named in the question."
        Plan { walk: Some(Prior::VectorAndWords), ..NOTHING };
    Ppr "ppr" "Personalized PageRank from passages and relations by vector, and entities named in the question (HippoRAG 2)."
        Plan { walk: Some(Prior::Vector), ..NOTHING };
    Mix "mix" "Hybrid and naive."
        Plan { local: true, global: true, naive: true, ..NOTHING };
    Hybrid "hybrid" "Local and global."
        Plan { local: true, global: true, ..NOTHING };
    Local "local" "Entities by names and details, with their relations and chunks."
        Plan { local: true, ..NOTHING };
    Global "global" "Relations by themes, with their entities and chunks."
        Plan { global: true, ..NOTHING };
    Naive "naive" "Chunks by vector."
        Plan { naive: true, ..NOTHING };
    Contextual "contextual" "Chunks by vector and full text; works best if chunks have a context (Contextual Retrieval)."
        Plan { fused: true, ..NOTHING };
    Bypass "bypass" "No search; the LLM answers on its own."
        NOTHING;
}

impl Mode {
    /// The mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

impl Plan {
    /// Whether keywords are needed.
    pub(super) fn needs_keywords(self) -> bool {
        self.local || self.global
    }

    /// Whether the question is taken apart into what can be looked for on its own.
    pub(super) fn decomposes(self) -> bool {
        self.walk == Some(Prior::VectorAndWords)
    }

    /// Whether the graph is searched.
    pub(super) fn searches_graph(self) -> bool {
        self.needs_keywords() || self.walk.is_some()
    }

    /// Whether anything is searched; else the model answers alone.
    pub(super) fn searches(self) -> bool {
        self.searches_graph() || self.naive || self.fused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_found_and_written_by_its_name() {
        for mode in Mode::ALL.iter().copied() {
            assert_eq!(Mode::named(mode.name()), Some(mode));
            assert_eq!(serde_json::to_value(mode).expect("JSON"), mode.name());
        }
        assert_eq!(Mode::named("best"), None);
    }
}
