//! Arguments of `graphloom eval`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, RangedU64ValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Args, Subcommand};
use graphloom_engine::money::Limit;
use graphloom_engine::query::Mode;

use super::{Command, Global, key_value, limit, mode_parser};

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Ask the questions of a set in several modes and score the retrieved passages
    Retrieval(RetrievalArgs),
    /// Compare two runs of `eval retrieval`, question by question
    Compare(CompareArgs),
    /// Answer the questions of a set in several modes and score the answers
    Answers(AnswersArgs),
    /// Check the claims of answers to tell whether wrong answers come from retrieval or from the LLM (RAGChecker)
    Ragchecker(RagcheckerArgs),
    /// Let an LLM compare the answers of two runs of `eval answers`, in both orders
    Pairwise(PairwiseArgs),
}

/// The questions, the workspace, and where to write results.
#[derive(Debug, Args)]
pub(crate) struct EvaluationArgs {
    /// Folder of the question set
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Modes to evaluate, separated by commas [default: auto, unless --arm is given]
    #[arg(long, alias = "mode", value_delimiter = ',', value_name = "MODES",
        value_parser = TrimSpaces(mode_parser()))]
    pub(crate) modes: Vec<Mode>,
    /// A named variant with the fields of `ask --question-json`, such as --arm 'wide={"mode": "mix", "top_k":
    /// 80}'; repeatable
    #[arg(long, value_name = "NAME=JSON", value_parser = key_value)]
    pub(crate) arm: Vec<(String, String)>,
    /// Ask only the first N questions
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
    /// Write the report as JSON for `eval compare` and `eval pairwise`; results are saved beside it as they arrive
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Continue a stopped run: ask only questions without a result
    #[arg(long)]
    pub(crate) resume: bool,
    /// Number of questions in flight; more than one distorts the latencies
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) concurrency: usize,
    #[command(flatten)]
    pub(crate) indexing: SetIndexing,
}

#[derive(Debug, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct RetrievalArgs {
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    /// Ranks at which to compute recall, all-gold and nDCG
    #[arg(long, value_name = "K", value_delimiter = ',', default_values_t = [2, 5, 10, 20],
        value_parser = TrimSpaces(RangedU64ValueParser::<usize>::new().range(1..=1000)))]
    pub(crate) k: Vec<usize>,
    /// Write the report as an HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Ask each question N more times with a warm cache, and report the median latency
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = RangedU64ValueParser::<usize>::new().range(..=100))]
    pub(crate) timed: usize,
}

#[derive(Debug, Args)]
#[command(after_help = SET_HELP)]
pub(crate) struct AnswersArgs {
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    /// Form of the answers, unless an arm sets its own [default: a few words, as in the gold answers of question
    /// sets]
    #[arg(long, value_name = "FORM")]
    pub(crate) response_type: Option<String>,
    /// Write the answers and their passages for `eval ragchecker`; requires a single mode or arm
    #[arg(long, value_name = "FILE")]
    pub(crate) ragchecker: Option<PathBuf>,
}

const SET_HELP: &str = "\
DIR holds corpus.jsonl with lines {\"id\", \"title\", \"text\"} and questions.jsonl with lines {\"id\", \"question\", \"answers\", \
\"type\", \"gold\"}, where gold lists the ids of the passages that the answer needs. The passages are indexed into the workspace \
eval-DIR unless --workspace names one; passages that are already indexed are skipped. Without corpus.jsonl, the documents of \
--workspace are searched, and gold lists their sources. docs/reference/evaluation.md explains the metrics.";

#[derive(Debug, Args)]
#[command(after_help = "\
FILE has the layout of RAGChecker: {\"results\": [{\"query_id\", \"query\", \"gt_answer\", \"response\", \"retrieved_context\": \
[{\"doc_id\", \"text\"}]}]}; `eval answers --ragchecker FILE` writes one. Labels in the file are used as they are; \
claims without a label are judged by judge_llm. Verdicts are saved, so a stopped run continues where it ended.")]
pub(crate) struct RagcheckerArgs {
    /// File with the answers, judged or not
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the answers with claims, labels and metrics in the same layout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PairwiseArgs {
    /// Report written by `eval answers --out`
    #[arg(value_name = "FIRST")]
    pub(crate) first: PathBuf,
    /// Report written by `eval answers --out` over the same set
    #[arg(value_name = "SECOND")]
    pub(crate) second: PathBuf,
    /// Compare this arm of FIRST with that arm of SECOND [default: the only arm of each]
    #[arg(long, value_name = "FIRST=SECOND", value_parser = key_value)]
    pub(crate) arm: Option<(String, String)>,
    /// Compare only the first N questions
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
    /// Write the verdicts and the judge's reasons as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// How the passages of a set are indexed.
#[derive(Debug, Args)]
pub(crate) struct SetIndexing {
    /// Stop indexing before exceeding this budget: tokens such as 2M, or money such as 1.50
    #[arg(long, value_name = "AMOUNT", value_parser = limit)]
    pub(crate) budget: Option<Limit>,
    /// Remove documents from the workspace that are not passages of the set
    #[arg(long, conflicts_with = "with_others")]
    pub(crate) prune: bool,
    /// Keep documents in the workspace that are not passages of the set
    #[arg(long)]
    pub(crate) with_others: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing is significantly worse in SECOND; 3 a metric is significantly worse (p < .05 after Holm's correction); \
1 and 2 as for every command.")]
pub(crate) struct CompareArgs {
    /// Earlier report, written by `eval retrieval --out`
    #[arg(value_name = "FIRST")]
    pub(crate) first: PathBuf,
    /// Later report, written by `eval retrieval --out`
    #[arg(value_name = "SECOND")]
    pub(crate) second: PathBuf,
    /// Compare this arm of FIRST with that arm of SECOND; repeatable [default: arms with the same name]
    #[arg(long, value_name = "FIRST=SECOND", value_parser = key_value)]
    pub(crate) arm: Vec<(String, String)>,
    /// Questions to list per arm and direction; --json lists all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) most: usize,
}

/// Parses a list item without surrounding spaces: `2, 5` equals `2,5`.
#[derive(Clone)]
struct TrimSpaces<P>(P);

impl<P: TypedValueParser> TypedValueParser for TrimSpaces<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        let trimmed = value.to_str().map_or(value, |text| OsStr::new(text.trim()));
        self.0.parse_ref(command, arg, trimmed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The flag reported as the origin of a workspace named after a set.
pub(crate) const OWN_WORKSPACE: &str = "--data";

/// The workspace for a set if none is configured, and the flag it comes from.
pub(crate) fn own_workspace(global: &Global, command: &Command) -> Option<(String, String)> {
    let Command::Eval(eval) = command else { return None };
    let data = match eval {
        EvalCommand::Retrieval(args) => &args.evaluation.data,
        EvalCommand::Answers(args) => &args.evaluation.data,
        EvalCommand::Compare(_) | EvalCommand::Ragchecker(_) | EvalCommand::Pairwise(_) => return None,
    };
    let named = global.workspace.is_some() || global.set.iter().any(|(key, _)| key == "workspace");
    (!named).then(|| (workspace_name(data), OWN_WORKSPACE.to_owned()))
}

/// `eval-` and the folder's name, reduced to the characters allowed in workspace names.
fn workspace_name(data: &Path) -> String {
    const MOST: usize = 64;
    let real = data.canonicalize();
    let folder =
        real.as_deref().unwrap_or(data).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    format!("eval-{folder}").chars().map(clean).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use graphloom_core::WorkspaceId;

    use super::*;

    #[test]
    fn a_workspace_is_named_after_the_folder_of_the_set() {
        for (folder, name) in [("/x/My Set.v2/", "eval-my-set-v2"), ("/x/问题", "eval---"), ("/", "eval-")]
        {
            assert_eq!(workspace_name(Path::new(folder)), name);
            assert!(WorkspaceId::new(name).is_ok());
        }
        assert!(WorkspaceId::new(&workspace_name(Path::new(&"a".repeat(200)))).is_ok());
    }
}
