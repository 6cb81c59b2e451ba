//! Notes that are shown with an answer: what was not done as requested.

use graphloom_core::LayerName;
use serde::Serialize;

/// Something that was not done as requested, although there is an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum QueryNote {
    /// The reranker failed; the passages are in the order of the search.
    NotReranked {
        /// The reranker.
        reranker: String,
        /// The cause.
        reason: String,
        /// What the user can do about it, if anything.
        remedy: Option<String>,
    },
    /// A model should have said which facts help to answer, but its response was invalid; all facts were used.
    FactsNotFiltered {
        /// The model.
        model: String,
    },
    /// PageRank options that have no effect: the mode does not use them, or no keyword model is configured.
    #[serde(rename = "pagerank_options_unused")]
    PageRankOptionsUnused {
        /// Their names.
        options: Vec<&'static str>,
    },
    /// The mode searches a layer that was never derived; passages were found by their vectors alone.
    LayerMissing {
        /// The layer.
        layer: LayerName,
    },
    /// The mode searches a layer that is out of date; passages that it lacks were found by vectors alone.
    LayerOutdated {
        /// The layer.
        layer: LayerName,
    },
    /// The mode searches a layer whose texts were written from all documents, not only from those of the filter; passages
    /// were found by their vectors alone.
    LayerUnfiltered {
        /// The layer.
        layer: LayerName,
    },
    /// Options for reading reports that have no effect, because the mode does not use them.
    ReportOptionsUnused {
        /// Their names.
        options: Vec<&'static str>,
    },
    /// The question asks about the documents as a whole, but the layer that would answer it does not exist.
    NoLayer {
        /// The layer.
        layer: LayerName,
    },
    /// Some calls that draw points from reports and passages failed; the answer was written without them.
    MapCallsFailed {
        /// Number of failed calls.
        failed: usize,
        /// Number of all calls.
        calls: usize,
        /// Why the last of them failed.
        reason: String,
    },
    /// Some calls that rate reports failed; the reports of these calls are read anyway.
    RatingCallsFailed {
        /// Number of failed calls.
        failed: usize,
        /// Number of all calls.
        calls: usize,
        /// Why the first of them failed.
        reason: String,
    },
    /// The budget of calls was too small for all reports.
    ReportsLeftOut {
        /// Number of reports that were not read.
        left_out: usize,
        /// Number of all reports.
        reports: usize,
    },
    /// Follow-up questions were not searched for, because the budget of calls or rounds was used up.
    FollowUpsLeftOut {
        /// Number of these follow-up questions.
        left_out: usize,
    },
    /// Passages were found, but none fits into the prompt's budget together with everything else.
    NoneFits {
        /// Number of passages found.
        passages: usize,
    },
    /// The question is asked as of a date, but no claim says what held when, or the mode reads reports or no documents.
    AsOfUnused,
    /// The conversation is longer than half of the prompt's budget; its oldest messages are not in the prompt.
    HistoryCut {
        /// Number of messages left out.
        left_out: usize,
    },
}

impl std::fmt::Display for QueryNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReranked { reason, .. } => {
                write!(f, "passages are in the order of the search, not reranked: {reason}")
            }
            Self::FactsNotFiltered { model } => {
                write!(f, "facts are not filtered: {model} did not say which of them help")
            }
            Self::PageRankOptionsUnused { options } => {
                let options = options.join(", ");
                write!(f, "these PageRank options have no effect in this mode with these models: {options}")
            }
            Self::LayerMissing { layer } => {
                write!(f, "the layer {layer} is not derived yet; passages are found by their vectors alone")
            }
            Self::LayerOutdated { layer } => write!(f, "the layer {layer} is out of date"),
            Self::LayerUnfiltered { layer } => write!(
                f,
                "the layer {layer} was written from all documents, so the filter leaves it out; passages are found by their \
                 vectors alone"
            ),
            Self::ReportOptionsUnused { options } => {
                let options = options.join(", ");
                write!(f, "these options have no effect in this mode with these models: {options}")
            }
            Self::NoLayer { layer } => {
                write!(
                    f,
                    "the question asks about the documents as a whole, and there are no {layer} to answer it from"
                )
            }
            Self::MapCallsFailed { failed, calls, reason } => {
                write!(f, "{failed} of {calls} map calls failed, the answer is made without them: {reason}")
            }
            Self::RatingCallsFailed { failed, calls, reason } => {
                write!(
                    f,
                    "{failed} of {calls} calls that rate reports failed, these reports are read: {reason}"
                )
            }
            Self::ReportsLeftOut { left_out, reports } => {
                write!(f, "{left_out} of {reports} reports are not read: reports.max_calls is used up")
            }
            Self::FollowUpsLeftOut { left_out } => {
                write!(
                    f,
                    "follow-up questions that were not looked up: {left_out}; reports.max_calls or reports.depth is \
                     used up"
                )
            }
            Self::NoneFits { passages } => {
                write!(f, "no passage fits into max_total_tokens ({passages} found)")
            }
            Self::AsOfUnused => {
                write!(
                    f,
                    "the date changes nothing: no dated claim is about what the question asks for, or the mode reads no claims"
                )
            }
            Self::HistoryCut { left_out } => {
                write!(f, "oldest messages of the conversation left out of the prompt: {left_out}")
            }
        }
    }
}

impl QueryNote {
    /// Returns what the user can do about it, if anything.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            Self::NotReranked { remedy, .. } => remedy.as_deref(),
            Self::FactsNotFiltered { .. } => Some("another keywords model, or pagerank.filter_facts = false"),
            Self::PageRankOptionsUnused { .. } => {
                Some("leave them out, or see which mode takes them in docs/methods/auto.md")
            }
            Self::LayerMissing { .. } | Self::LayerOutdated { .. } => Some("derive the layer"),
            Self::LayerUnfiltered { .. } => Some("another mode, or no filter"),
            Self::ReportOptionsUnused { .. } => {
                Some("leave them out, or see which mode takes them in docs/explanation/communities.md")
            }
            Self::NoLayer { .. } => Some("derive them"),
            Self::MapCallsFailed { .. } | Self::RatingCallsFailed { .. } => {
                Some("ask again; what succeeded is cached and not paid for again")
            }
            Self::ReportsLeftOut { .. } => Some("a larger reports.max_calls, or a coarser reports.level"),
            Self::FollowUpsLeftOut { .. } => Some("a larger reports.max_calls or reports.depth"),
            Self::AsOfUnused => Some("ask without a date, or see `graphloom claims` for what is dated"),
            Self::NoneFits { .. } => Some("a larger max_total_tokens, or a shorter conversation"),
            Self::HistoryCut { .. } => {
                Some("a larger max_total_tokens leaves more room for the conversation")
            }
        }
    }
}
