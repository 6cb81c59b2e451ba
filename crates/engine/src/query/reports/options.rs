//! Options of the modes that read reports.

use serde::{Deserialize, Serialize};

use crate::query::QueryError;
use crate::query::plan::{Operator, Plan};

/// Upper limit of LLM calls for one question.
pub const MAX_REPORT_CALLS: usize = 200;
/// Upper limit of rounds of follow-up questions, and of follow-up questions per round.
pub const MAX_DRIFT_STEPS: usize = 20;
/// Minimum and maximum tokens of data that one call reads.
const CALL_TOKENS: [u32; 2] = [500, 200_000];

/// Options of the modes that read reports of communities (`community_global`, `community_local`, `drift`).
///
/// docs/explanation/communities.md has the source of every default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportOptions {
    /// Level of the communities whose reports are read, 0 for the coarsest. A community that is not divided that far is read
    /// itself. `None` descends from level 0 into relevant communities; `community_local` then reads the finest level.
    pub level: Option<u32>,
    /// How the relevance of reports is rated during the descent.
    pub rate: RateReports,
    /// Tokens of data that one call reads; in `community_local`, tokens of the whole context.
    pub call_tokens: u32,
    /// Maximum number of LLM calls for one question, including the call that writes the answer.
    pub max_calls: usize,
    /// Rounds of follow-up questions in `drift`.
    pub depth: usize,
    /// Follow-up questions per round.
    pub follow_ups: usize,
}

/// How the relevance of reports to a question is rated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateReports {
    /// By vectors and words, without a call.
    Search,
    /// By the keyword model, many reports per call; by vectors and words if there is no such model.
    Model,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            level: None,
            rate: RateReports::Search,
            call_tokens: 12_000,
            max_calls: 20,
            depth: 3,
            follow_ups: 5,
        }
    }
}

impl ReportOptions {
    /// Returns the names of the options that differ from the defaults but have no effect in this plan.
    pub(in crate::query) fn unused(&self, plan: Plan, has_model: bool) -> Vec<&'static str> {
        let default = Self::default();
        let [global, drift] = [Operator::Reports, Operator::Drift].map(|operator| plan.has(operator));
        let reads = global || drift || plan.has(Operator::Community);
        let rates = global && self.level.is_none() && has_model;
        let options = [
            ("reports.level", self.level != default.level, reads && !drift),
            ("reports.rate", self.rate != default.rate, rates),
            ("reports.call_tokens", self.call_tokens != default.call_tokens, reads),
            ("reports.max_calls", self.max_calls != default.max_calls, global || drift),
            ("reports.depth", self.depth != default.depth, drift),
            ("reports.follow_ups", self.follow_ups != default.follow_ups, drift),
        ];
        options.into_iter().filter(|(_, set, used)| *set && !used).map(|(name, ..)| name).collect()
    }

    /// Rejects values out of range.
    pub(in crate::query) fn check(&self) -> Result<(), QueryError> {
        let [least, most] = CALL_TOKENS.map(f64::from);
        for (what, value, least, most) in [
            ("reports.call_tokens", f64::from(self.call_tokens), least, most),
            ("reports.max_calls", self.max_calls as f64, 2.0, MAX_REPORT_CALLS as f64),
            ("reports.depth", self.depth as f64, 0.0, MAX_DRIFT_STEPS as f64),
            ("reports.follow_ups", self.follow_ups as f64, 1.0, MAX_DRIFT_STEPS as f64),
        ] {
            if !(least..=most).contains(&value) {
                return Err(QueryError::OutOfRange { what, value, least, most });
            }
        }
        Ok(())
    }
}
