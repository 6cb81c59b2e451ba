//! Pairwise comparison of answers by a judge, in both orders.
//!
//! Source: the criteria are those of LightRAG's evaluation (Guo et al., EMNLP 2025). Judges tend to prefer the
//! first or the last answer, so each pair is judged in both orders; if the verdicts disagree, it is a tie.

use std::collections::BTreeMap;
use std::fmt;

use graphloom_engine::prompt::JUDGE_PAIRWISE;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::{Judge, JudgeError, JudgeSpent, json_in};
use crate::stats::{self, Estimate};

/// The `kind` of report files.
pub const KIND: &str = "graphloom pairwise evaluation 1";

/// A criterion of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// How much of the question is covered.
    Comprehensiveness,
    /// How many sides are shown.
    Diversity,
    /// How well a reader can judge for themselves.
    Empowerment,
    /// Overall quality.
    Overall,
}

impl Criterion {
    /// All criteria in order.
    pub const ALL: [Self; 4] = [Self::Comprehensiveness, Self::Diversity, Self::Empowerment, Self::Overall];
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Comprehensiveness => "comprehensiveness",
            Self::Diversity => "diversity",
            Self::Empowerment => "empowerment",
            Self::Overall => "overall",
        })
    }
}

/// The better answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The first system.
    First,
    /// The second system.
    Second,
    /// Neither.
    Tie,
}

impl Winner {
    fn swapped(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
            Self::Tie => Self::Tie,
        }
    }
}

/// Two answers to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The question's id.
    pub id: String,
    /// Its text.
    pub question: String,
    /// The answer of the first system.
    pub first: String,
    /// The answer of the second.
    pub second: String,
}

/// The judge's verdict on a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairVerdict {
    /// The question's id.
    pub id: String,
    /// Its text.
    pub question: String,
    /// Verdicts by criterion; empty if judging failed.
    pub verdicts: Vec<Verdict>,
    /// The error, if judging failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The verdict by one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The criterion.
    pub criterion: Criterion,
    /// The better answer; a tie if the two orders disagree.
    pub winner: Winner,
    /// The better answer with the first system's answer first.
    pub in_order: Winner,
    /// The better answer with the second system's answer first.
    pub swapped: Winner,
    /// The judge's reasons, in order and swapped.
    pub reasons: [String; 2],
}

/// The verdicts on all pairs and their totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairwiseReport {
    /// [`KIND`].
    pub kind: String,
    /// The first system.
    pub first: String,
    /// The second.
    pub second: String,
    /// The judge.
    pub judge: String,
    /// Number of judged pairs.
    pub pairs: usize,
    /// Number of pairs that could not be judged, which are left out.
    pub failed: usize,
    /// Totals by criterion.
    pub criteria: Vec<CriterionSummary>,
    /// Cost of judging in this run.
    pub spent: JudgeSpent,
    /// Each pair.
    pub rows: Vec<PairVerdict>,
}

/// Totals of one criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CriterionSummary {
    /// The criterion.
    pub criterion: Criterion,
    /// Pairs in which the first system wins in both orders.
    pub first_wins: usize,
    /// Pairs in which the second system wins in both orders.
    pub second_wins: usize,
    /// All other pairs.
    pub ties: usize,
    /// The first system's share of decided pairs, with its Wilson confidence interval.
    pub first_share: Estimate,
    /// Probability of a lead at least as large by chance (sign-flip permutation test over the pairs).
    pub p: f64,
    /// Share of pairs with the same verdict in both orders.
    pub agreement: f64,
    /// Share of verdicts, without ties, for the answer shown first; .5 means no position bias.
    pub for_answer_1: f64,
}

/// Judges a pair in both orders.
pub async fn judge_pair(judge: &Judge, pair: &Pair) -> Result<PairVerdict, JudgeError> {
    let in_order = one_order(judge, &pair.question, &pair.first, &pair.second).await?;
    let swapped = one_order(judge, &pair.question, &pair.second, &pair.first).await?;
    let verdicts = Criterion::ALL.into_iter().zip(in_order).zip(swapped).map(|((criterion, one), other)| {
        let (in_order, swapped) = (one.0, other.0.swapped());
        let winner = if in_order == swapped { in_order } else { Winner::Tie };
        Verdict { criterion, winner, in_order, swapped, reasons: [one.1, other.1] }
    });
    Ok(PairVerdict { verdicts: verdicts.collect(), ..PairVerdict::without(pair, None) })
}

impl PairVerdict {
    /// A pair without verdicts.
    pub fn without(pair: &Pair, failed: Option<String>) -> Self {
        Self { id: pair.id.clone(), question: pair.question.clone(), verdicts: Vec::new(), failed }
    }
}

impl PairwiseReport {
    /// Builds the report.
    pub fn of(names: [&str; 2], judge: &Judge, rows: Vec<PairVerdict>) -> Self {
        let failed = rows.iter().filter(|row| row.failed.is_some()).count();
        let [first, second] = names.map(str::to_owned);
        Self {
            kind: KIND.to_owned(),
            first,
            second,
            judge: judge.name().to_owned(),
            pairs: rows.len() - failed,
            failed,
            criteria: Criterion::ALL
                .into_iter()
                .map(|criterion| CriterionSummary::of(criterion, &rows))
                .collect(),
            spent: judge.spent(),
            rows,
        }
    }
}

impl CriterionSummary {
    fn of(criterion: Criterion, rows: &[PairVerdict]) -> Self {
        let verdicts: Vec<&Verdict> = rows
            .iter()
            .flat_map(|row| &row.verdicts)
            .filter(|verdict| verdict.criterion == criterion)
            .collect();
        let count = |winner: Winner| verdicts.iter().filter(|verdict| verdict.winner == winner).count();
        let (first_wins, second_wins) = (count(Winner::First), count(Winner::Second));
        let leads: Vec<f64> = verdicts
            .iter()
            .map(|verdict| match verdict.winner {
                Winner::First => 1.0,
                Winner::Second => -1.0,
                Winner::Tie => 0.0,
            })
            .collect();
        let agree = verdicts.iter().filter(|verdict| verdict.in_order == verdict.swapped).count();
        // Answer 1 is from the first system in the first order, and from the second system in the swapped order.
        let answer_1 = |verdict: &&Verdict| {
            usize::from(verdict.in_order == Winner::First) + usize::from(verdict.swapped == Winner::Second)
        };
        let decided = |verdict: &&Verdict| {
            usize::from(verdict.in_order != Winner::Tie) + usize::from(verdict.swapped != Winner::Tie)
        };
        let share = |count: usize, all: usize, of_none: f64| {
            if all == 0 { of_none } else { count as f64 / all as f64 }
        };
        Self {
            criterion,
            first_wins,
            second_wins,
            ties: count(Winner::Tie),
            first_share: stats::share(first_wins, first_wins + second_wins),
            p: stats::sign_flip_p(&leads),
            agreement: share(agree, verdicts.len(), 1.0),
            for_answer_1: share(verdicts.iter().map(answer_1).sum(), verdicts.iter().map(decided).sum(), 0.5),
        }
    }
}

/// A judge's answer by criterion, in order. Keys ignore case. The keys of LightRAG's own prompt are accepted too, because a
/// custom prompt may use them.
#[derive(Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
struct Verdicts4([CriterionVerdict; 4]);

struct CriterionVerdict {
    reason: String,
    winner: String,
}

impl TryFrom<BTreeMap<String, Value>> for Verdicts4 {
    type Error = String;

    fn try_from(members: BTreeMap<String, Value>) -> Result<Self, String> {
        let one = |criterion: Criterion| {
            let name = criterion.to_string();
            let names = match criterion {
                Criterion::Overall => vec![name.as_str(), "overall winner", "overall_winner"],
                Criterion::Comprehensiveness | Criterion::Diversity | Criterion::Empowerment => {
                    vec![name.as_str()]
                }
            };
            let members = member(members.iter(), &names).ok_or_else(|| format!("{name} is missing"))?;
            let members = members.as_object().ok_or_else(|| format!("{name} is not a JSON object"))?;
            let text =
                |names: &[&str]| member(members.iter(), names).and_then(Value::as_str).map(str::to_owned);
            let winner = text(&["winner"]).ok_or_else(|| format!("{name} has no winner"))?;
            Ok::<_, String>(CriterionVerdict {
                reason: text(&["reason", "explanation"]).unwrap_or_default(),
                winner,
            })
        };
        let [comprehensiveness, diversity, empowerment, overall] = Criterion::ALL.map(one);
        Ok(Self([comprehensiveness?, diversity?, empowerment?, overall?]))
    }
}

/// Returns the member of an object with one of these names, ignoring case.
fn member<'a>(
    mut members: impl Iterator<Item = (&'a String, &'a Value)>,
    names: &[&str],
) -> Option<&'a Value> {
    members.find(|(key, _)| names.contains(&key.trim().to_lowercase().as_str())).map(|(_, value)| value)
}

/// Returns the verdicts by all criteria with reasons, with `first` shown first.
async fn one_order(
    judge: &Judge,
    question: &str,
    first: &str,
    second: &str,
) -> Result<[(Winner, String); 4], JudgeError> {
    let read = |answer: &str| {
        let Verdicts4([comprehensiveness, diversity, empowerment, overall]) = json_in(answer, '{')?;
        let read = |answer: CriterionVerdict| Ok::<_, String>((winner_of(&answer.winner)?, answer.reason));
        Ok([read(comprehensiveness)?, read(diversity)?, read(empowerment)?, read(overall)?])
    };
    judge.ask(JUDGE_PAIRWISE, &[("question", question), ("first", first), ("second", second)], read).await
}

fn winner_of(text: &str) -> Result<Winner, String> {
    match text.trim().to_lowercase().as_str() {
        "answer 1" => Ok(Winner::First),
        "answer 2" => Ok(Winner::Second),
        "tie" => Ok(Winner::Tie),
        _ => Err(format!("{text:?} is not a winner; use Answer 1, Answer 2 or Tie")),
    }
}

#[cfg(test)]
mod tests {
    use graphloom_engine::prompt::Prompts;

    use crate::judge::tests::{Script, judge, wait};

    use super::*;

    /// A judge's answer with the winner of each criterion.
    fn says(winners: [&str; 4]) -> String {
        let one = |at: usize| {
            format!("\"{}\": {{\"reason\": \"r\", \"winner\": \"{}\"}}", Criterion::ALL[at], winners[at])
        };
        format!("{{{}}}", (0..4).map(one).collect::<Vec<_>>().join(", "))
    }

    fn pair(id: &str) -> Pair {
        Pair {
            id: id.to_owned(),
            question: format!("{id}?"),
            first: "long answer".to_owned(),
            second: "short".to_owned(),
        }
    }

    #[test]
    fn a_verdict_counts_only_if_both_orders_agree() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, two, tie] = ["Answer 1", "Answer 2", "tie"];
        let model = Script::of(&[&says([one, one, two, tie]), &says([two, one, one, tie])]);
        let judge = judge(model.clone(), folder.path());
        let row = wait(judge_pair(&judge, &pair("q1"))).expect("judged");
        let winners: Vec<Winner> = row.verdicts.iter().map(|verdict| verdict.winner).collect();
        assert_eq!(winners, [Winner::First, Winner::Tie, Winner::Second, Winner::Tie]);
        let asked = model.asked.lock().expect("not poisoned").clone();
        assert!(
            asked[0].contains("Answer 1:\nlong answer") && asked[1].contains("Answer 1:\nshort"),
            "{asked:?}"
        );
        let report = PairwiseReport::of(
            ["a", "b"],
            &judge,
            vec![row, PairVerdict::without(&pair("q2"), Some("x".to_owned()))],
        );
        assert_eq!((report.pairs, report.failed), (1, 1));
        let diversity = &report.criteria[1];
        assert_eq!((diversity.ties, diversity.agreement, diversity.for_answer_1), (1, 0.0, 1.0));
        let first = &report.criteria[0];
        assert_eq!((first.first_wins, first.second_wins, first.first_share.mean, first.p), (1, 0, 1.0, 1.0));
        assert_eq!((first.agreement, first.for_answer_1), (1.0, 0.5));
    }

    #[test]
    fn a_judge_that_always_prefers_the_first_decides_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let always = says(["Answer 1"; 4]);
        let judge = judge(Script::of(&[always.as_str(); 20]), folder.path());
        let rows: Vec<PairVerdict> =
            (0..10).map(|at| wait(judge_pair(&judge, &pair(&format!("q{at}")))).expect("judged")).collect();
        for summary in PairwiseReport::of(["a", "b"], &judge, rows).criteria {
            assert_eq!(
                (summary.ties, summary.first_wins, summary.for_answer_1, summary.p),
                (10, 0, 1.0, 1.0)
            );
        }
    }

    #[test]
    fn verdicts_are_read_with_keys_in_any_case_and_with_lightrags_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = r#"{"Comprehensiveness": {"Winner": "Answer 1", "Explanation": "more"}, "Diversity": {"Winner": "Answer 1"},
            "EMPOWERMENT": {"winner": "answer 1"}, "Overall Winner": {"Winner": "Tie", "Explanation": "even"}}"#;
        let judge = judge(Script::of(&[said, said]), folder.path());
        let row = wait(judge_pair(&judge, &pair("q1"))).expect("judged");
        let orders: Vec<_> = row.verdicts.iter().map(|verdict| (verdict.in_order, verdict.swapped)).collect();
        let first = (Winner::First, Winner::Second);
        assert_eq!(orders, [first, first, first, (Winner::Tie, Winner::Tie)]);
        assert_eq!(row.verdicts[0].reasons, ["more", "more"]);
    }

    #[test]
    fn missing_parts_of_a_verdict_are_named() {
        for (said, expected) in [
            (r#"{"diversity": {"winner": "Tie"}}"#, "comprehensiveness is missing"),
            (r#"{"comprehensiveness": "Tie"}"#, "comprehensiveness is not a JSON object"),
            (r#"{"comprehensiveness": {"reason": "x"}}"#, "comprehensiveness has no winner"),
        ] {
            assert_eq!(json_in::<Verdicts4>(said, '{').err().as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_prompt_of_the_judge_renders_as_reviewed() {
        let variables = [("question", "Q?"), ("first", "A {{second}}"), ("second", "B")];
        let messages = Prompts::default().messages(JUDGE_PAIRWISE, &variables);
        insta::assert_snapshot!(messages[1].content, @r"
        Question:
        Q?

        Answer 1:
        A {{second}}

        Answer 2:
        B
        ");
    }
}
