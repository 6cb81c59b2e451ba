//! Metrics of a ranking: how many of the needed passages are ranked first.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A metric of one ranking, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// The share of gold passages among the first k.
    Recall(usize),
    /// 1 if all gold passages are among the first k, otherwise 0.
    AllGold(usize),
    /// Normalised discounted cumulative gain of the first k, where a gold passage gains 1 and the passage at rank
    /// r counts `1 / log2(1 + r)`.
    ///
    /// Source: Järvelin, Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    Ndcg(usize),
    /// 1 / rank of the first gold passage; 0 if none was found.
    Mrr,
}

impl Metric {
    /// All metrics for these k, grouped by kind.
    pub fn of(ks: &[usize]) -> Vec<Self> {
        let each = |metric: fn(usize) -> Self| ks.iter().map(move |k| metric(*k));
        each(Self::Recall).chain(each(Self::AllGold)).chain(each(Self::Ndcg)).chain([Self::Mrr]).collect()
    }

    /// Returns the value for a ranking.
    ///
    /// - `ranked`: best first; only the first occurrence of a passage counts.
    /// - `gold`: the needed passages, without duplicates. If empty, the value is 0; leave out such questions.
    pub fn value(self, ranked: &[String], gold: &[String]) -> f64 {
        let ranks: Vec<usize> = ranks(ranked, gold).into_iter().flatten().collect();
        let among = |k: usize| ranks.iter().filter(|rank| **rank <= k).count();
        let needed = gold.len();
        if needed == 0 {
            return 0.0;
        }
        match self {
            Self::Recall(k) => among(k) as f64 / needed as f64,
            Self::AllGold(k) => f64::from(u8::from(among(k) == needed)),
            Self::Ndcg(k) => {
                let discount = |rank: usize| 1.0 / ((1 + rank) as f64).log2();
                let gain: f64 = ranks.iter().filter(|rank| **rank <= k).map(|rank| discount(*rank)).sum();
                let best: f64 = (1..=needed.min(k)).map(discount).sum();
                // An empty sum is negative zero, which would be printed as `-0`.
                if gain > 0.0 { gain / best } else { 0.0 }
            }
            Self::Mrr => ranks.iter().min().map_or(0.0, |rank| 1.0 / *rank as f64),
        }
    }
}

/// Returns the rank, from 1, of each gold passage in `ranked`, ascending; passages that were not found (`None`) come last.
/// Repeated passages in `ranked` take no rank.
pub fn ranks(ranked: &[String], gold: &[String]) -> Vec<Option<usize>> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for id in ranked {
        let next = found.len() + 1;
        found.entry(id).or_insert(next);
    }
    let mut ranks: Vec<Option<usize>> = gold.iter().map(|id| found.get(id.as_str()).copied()).collect();
    ranks.sort_by_key(|rank| rank.unwrap_or(usize::MAX));
    ranks
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recall(k) => write!(f, "recall@{k}"),
            Self::AllGold(k) => write!(f, "all_gold@{k}"),
            Self::Ndcg(k) => write!(f, "ndcg@{k}"),
            Self::Mrr => f.write_str("mrr"),
        }
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown =
            || format!("unknown metric {text:?}: expected for example recall@5, all_gold@5, ndcg@5 or mrr");
        if text == "mrr" {
            return Ok(Self::Mrr);
        }
        let (kind, k) = text.split_once('@').ok_or_else(unknown)?;
        let k = k.parse().map_err(|_| unknown())?;
        match kind {
            "recall" => Ok(Self::Recall(k)),
            "all_gold" => Ok(Self::AllGold(k)),
            "ndcg" => Ok(Self::Ndcg(k)),
            _ => Err(unknown()),
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn check(metric: &str, ranked: &str, gold: &str) -> f64 {
        metric.parse::<Metric>().expect("a metric").value(&ids(ranked), &ids(gold))
    }

    #[test]
    fn values_equal_those_computed_by_hand() {
        let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        close(check("recall@2", "a x b", "a b"), 0.5);
        close(check("recall@3", "a x b", "a b"), 1.0);
        close(check("all_gold@2", "a x b", "a b"), 0.0);
        close(check("all_gold@3", "a x b", "a b"), 1.0);
        close(check("mrr", "x y b", "a b"), 1.0 / 3.0);
        close(check("mrr", "x y", "a"), 0.0);
        // 1/log2(2) + 1/log2(4) over 1/log2(2) + 1/log2(3).
        close(check("ndcg@3", "a x b", "a b"), 1.5 / (1.0 + 1.0 / 3f64.log2()));
        // If only one passage counts, the best possible result is one gold passage.
        close(check("ndcg@1", "a x b", "a b"), 1.0);
        close(check("recall@2", "a a b", "a b"), 1.0);
        close(check("recall@5", "", "a"), 0.0);
    }

    #[test]
    fn finding_nothing_scores_a_positive_zero() {
        for metric in ["recall@5", "all_gold@5", "ndcg@5", "ndcg@0", "mrr"] {
            for ranked in ["", "x y"] {
                assert!(check(metric, ranked, "a").is_sign_positive(), "{metric}");
            }
        }
    }

    #[test]
    fn a_metric_can_be_parsed_from_its_name() {
        for metric in Metric::of(&[1, 20]) {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert!("recall".parse::<Metric>().is_err() && "recall@x".parse::<Metric>().is_err());
    }

    #[test]
    fn ranks_count_distinct_passages() {
        assert_eq!(ranks(&ids("x a x b"), &ids("b c a")), [Some(2), Some(3), None]);
    }

    proptest! {
        #[test]
        fn every_value_is_between_0_and_1_and_recall_never_falls_with_k(
            ranked in proptest::collection::vec(0_u8..12, 0..20),
            gold in proptest::collection::btree_set(0_u8..12, 1..6),
        ) {
            let ranked: Vec<String> = ranked.iter().map(u8::to_string).collect();
            let gold: Vec<String> = gold.iter().map(u8::to_string).collect();
            for metric in Metric::of(&[1, 2, 5, 10]) {
                let value = metric.value(&ranked, &gold);
                prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{metric}: {value}");
            }
            for k in 1..12 {
                for metric in [Metric::Recall as fn(usize) -> Metric, Metric::AllGold] {
                    prop_assert!(metric(k).value(&ranked, &gold) <= metric(k + 1).value(&ranked, &gold));
                }
                prop_assert!(Metric::AllGold(k).value(&ranked, &gold) <= Metric::Recall(k).value(&ranked, &gold));
            }
        }

        #[test]
        fn moving_a_needed_passage_up_lowers_no_score(
            order in Just((0..10_u8).collect::<Vec<_>>()).prop_shuffle(),
            gold in proptest::collection::btree_set(0_u8..10, 1..4),
        ) {
            let names = |list: &[u8]| list.iter().map(u8::to_string).collect::<Vec<_>>();
            let needed = names(&gold.iter().copied().collect::<Vec<_>>());
            let mut better = order.clone();
            if let Some(at) = (1..10).find(|at| gold.contains(&order[*at]) && !gold.contains(&order[*at - 1])) {
                better.swap(at - 1, at);
            }
            for metric in Metric::of(&[1, 3, 5]) {
                prop_assert!(metric.value(&names(&better), &needed) >= metric.value(&names(&order), &needed));
            }
        }
    }
}
