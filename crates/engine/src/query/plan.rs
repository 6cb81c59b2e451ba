//! Modes are plans: which searches run, and what an answer is made from.

use super::Mode;

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
    /// A walk over the graph from what the question is near to and names, to chunks; alone.
    pub(super) walk: Option<Prior>,
}

/// What says which passages a walk begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prior {
    /// Their vectors.
    Vector,
    /// Their vectors and their words.
    VectorAndWords,
}

impl Plan {
    /// The plan of a mode.
    pub(super) fn of(mode: Mode) -> Self {
        let nothing = Self { local: false, global: false, naive: false, fused: false, walk: None };
        match mode {
            Mode::Auto => Self { walk: Some(Prior::VectorAndWords), ..nothing },
            Mode::Ppr => Self { walk: Some(Prior::Vector), ..nothing },
            Mode::Naive => Self { naive: true, ..nothing },
            Mode::Contextual => Self { fused: true, ..nothing },
            Mode::Local => Self { local: true, ..nothing },
            Mode::Global => Self { global: true, ..nothing },
            Mode::Hybrid => Self { local: true, global: true, ..nothing },
            Mode::Mix => Self { local: true, global: true, naive: true, ..nothing },
            Mode::Bypass => nothing,
        }
    }

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
