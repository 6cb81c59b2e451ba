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
}

impl Plan {
    /// The plan of a mode.
    pub(super) fn of(mode: Mode) -> Self {
        match mode {
            Mode::Naive => Self { local: false, global: false, naive: true },
            Mode::Local => Self { local: true, global: false, naive: false },
            Mode::Global => Self { local: false, global: true, naive: false },
            Mode::Hybrid => Self { local: true, global: true, naive: false },
            Mode::Mix => Self { local: true, global: true, naive: true },
            Mode::Bypass => Self { local: false, global: false, naive: false },
        }
    }

    /// Whether the graph is searched, and keywords are needed.
    pub(super) fn searches_graph(self) -> bool {
        self.local || self.global
    }

    /// Whether anything is searched; else the model answers alone.
    pub(super) fn searches(self) -> bool {
        self.searches_graph() || self.naive
    }
}
