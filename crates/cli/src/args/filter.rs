//! Flags that select documents, shared by all commands with a filter.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::Args;
use graphloom::project::Here;
use graphloom_core::{
    DocumentFilter, DocumentId, FilterError, IsoDate, MetaCondition, Snapshot, SourcePattern, StatusKind,
};

use crate::documents;

/// Conditions and documents; for commands that do not take documents as arguments.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FilterArgs {
    /// Only this document: source, id, or the start of an id; repeatable
    #[arg(long, value_name = "DOC", help_heading = HEADING)]
    pub(crate) document: Vec<String>,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
}

/// Conditions on documents; a document must meet all kinds of conditions that are given.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConditionArgs {
    /// Only sources that match, such as 'reports/**' or '*.pdf'; repeatable, one must match
    #[arg(long, value_name = "GLOB", value_parser = pattern, help_heading = HEADING)]
    pub(crate) source: Vec<SourcePattern>,
    /// Only documents with this metadata: key=value (repeated for the same key, one must match), key!=value,
    /// 'key>=2020', 'key<2024-05-31', key (present) or !key (absent)
    #[arg(long = "meta", value_name = "CONDITION", value_parser = read::<MetaCondition>, help_heading = HEADING)]
    pub(crate) meta: Vec<MetaCondition>,
    /// Only documents added at or after this day, month, year or time (UTC)
    #[arg(long, value_name = "DATE", value_parser = date, help_heading = HEADING)]
    pub(crate) after: Option<IsoDate>,
    /// Only documents added at or before this day, month, year or time (UTC)
    #[arg(long, value_name = "DATE", value_parser = date, help_heading = HEADING)]
    pub(crate) before: Option<IsoDate>,
    /// Only documents with this status: failed, incomplete, cancelled, indexing, waiting or ready; several
    /// separated by commas
    #[arg(long, value_name = "STATUS", value_parser = read::<StatusKind>, value_delimiter = ',', help_heading = HEADING)]
    pub(crate) status: Vec<StatusKind>,
}

const HEADING: &str = "Which documents";

impl FilterArgs {
    /// The filter; `None` if there are no conditions.
    pub(crate) async fn resolve(
        &self,
        snapshot: &dyn Snapshot,
        here: &Here,
    ) -> anyhow::Result<Option<DocumentFilter>> {
        self.conditions.resolve(&self.document, snapshot, here).await
    }

    /// Whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.document.is_empty() && self.conditions.is_empty()
    }
}

impl ConditionArgs {
    /// Combines these conditions with a list of documents; an empty list means all documents. Returns `None` if
    /// there is no condition at all. An unknown document is an error: skipping it could leave a filter that
    /// matches nothing.
    pub(crate) async fn resolve(
        &self,
        named: &[String],
        snapshot: &dyn Snapshot,
        here: &Here,
    ) -> anyhow::Result<Option<DocumentFilter>> {
        let mut documents: BTreeSet<DocumentId> = BTreeSet::new();
        for reference in named {
            let versions = documents::find(snapshot, reference, here).await?;
            documents.extend(versions.into_iter().map(|document| document.id));
        }
        let filter = DocumentFilter {
            documents,
            sources: self.source.clone(),
            meta: self.meta.clone(),
            accepted_after: self.after.clone(),
            accepted_before: self.before.clone(),
            status: self.status.iter().copied().collect(),
        };
        filter.check().map_err(with_remedy)?;
        Ok((!filter.is_empty()).then_some(filter))
    }

    /// Whether there are no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { source, meta, after, before, status } = self;
        source.is_empty() && meta.is_empty() && after.is_none() && before.is_none() && status.is_empty()
    }
}

fn with_remedy(error: FilterError) -> anyhow::Error {
    crate::fault::Fault::usage(error.to_string()).help(crate::remedies::of_filter(&error)).into()
}

/// Parses a pattern. A shell may complete `a` to `./a`; sources are stored without `./`.
fn pattern(text: &str) -> Result<SourcePattern, String> {
    read(text.strip_prefix("./").unwrap_or(text))
}

fn date(text: &str) -> Result<IsoDate, String> {
    text.parse::<IsoDate>().map_err(|error| error.to_string())
}

fn read<T: FromStr<Err = FilterError>>(text: &str) -> Result<T, String> {
    text.parse::<T>().map_err(|error| format!("{error}; {}", error.remedy()))
}
