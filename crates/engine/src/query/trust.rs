//! How much mode auto trusts PageRank, depending on the names in the question that PageRank starts at.

use graphloom_core::EntityKey;
use serde::Serialize;

/// Up to this width of a name, PageRank has the whole weight. Two passages in a graph of a thousand nodes: PageRank starts at one place.
const TIGHT: f64 = 0.1;

/// From this width on, a name guides PageRank no better than no name. Four passages in a graph of a thousand nodes: their
/// neighbours are linked with much of the collection.
const LOOSE: f64 = 0.2;

/// How much more the words count in the choice of seeds if the question asks for one thing.
const ONE_THING: f64 = 3.0;

/// How much PageRank was trusted for a question, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageRankTrust {
    /// Weight of PageRank in the result, 0 to 1; the rest is the weight of a search for the words of the whole question.
    pub share: f64,
    /// 0 if the question names something rare, so that PageRank has one place to start at; 1 if it names nothing, or only
    /// entities that many passages mention.
    pub looseness: f64,
    /// The proper name in the question that the fewest passages mention.
    pub name: Option<EntityKey>,
    /// Number of passages that mention the name; 0 without a name.
    pub passages: usize,
}

impl PageRankTrust {
    /// Returns the trust in PageRank over `nodes` chunks, entities and relations, for a question with these proper names,
    /// each with the number of passages that mention it.
    ///
    /// - The width of a name is ln(passages) / ln(nodes): 0 for one passage, 1 for all nodes. Looseness grows from 0 to 1
    ///   while the width of the narrowest name grows from [`TIGHT`] to [`LOOSE`].
    /// - `direct` is the weight of the word search if looseness is 1. It is multiplied by the square of looseness, so it is
    ///   close to 0 while a name still guides PageRank.
    pub(super) fn of(names: impl IntoIterator<Item = (EntityKey, usize)>, nodes: usize, direct: f64) -> Self {
        let rarest =
            names.into_iter().min_by(|(one, few), (other, many)| few.cmp(many).then_with(|| one.cmp(other)));
        let (name, passages) = rarest.map_or((None, 0), |(name, passages)| (Some(name), passages));
        let looseness = match name {
            Some(_) => {
                let width = (passages.max(1) as f64).ln() / (nodes.max(2) as f64).ln();
                ((width - TIGHT) / (LOOSE - TIGHT)).clamp(0.0, 1.0)
            }
            None => 1.0,
        };
        Self { share: 1.0 - direct * looseness * looseness, looseness, name, passages }
    }

    /// Returns the weight of words relative to vectors in the choice of seeds: `given` if a rare name guides PageRank, four
    /// times as much if no name does, because words distinguish passages that names do not. Vectors of a neural network do so
    /// too; relative to these, words get at most twice as much. Relative to vectors of words, they get [`ONE_THING`] times as much
    /// if the question `is_whole`, not split into parts: then one passage is wanted, which usually contains most of the words.
    pub(super) fn words(&self, given: f64, lexical: bool, is_whole: bool) -> f64 {
        let of_lexical = if lexical { 2.0 * self.looseness * self.looseness } else { 0.0 };
        let focus = if lexical && is_whole { ONE_THING } else { 1.0 };
        given * focus * (1.0 + self.looseness + of_lexical)
    }

    /// Returns the same as a sentence for users.
    pub fn reason(&self) -> String {
        let why = match &self.name {
            Some(name) => {
                let mention = if self.passages == 1 { "passage mentions" } else { "passages mention" };
                format!("{} {mention} \"{}\", the rarest name of the question", self.passages, name.as_str())
            }
            None => "the question names nothing specific that is in the graph".to_owned(),
        };
        match (self.share * 100.0).round() {
            100.0 => format!("PageRank decides: {why}"),
            percent => {
                format!("PageRank has a weight of {percent}%, the word search {}%: {why}", 100.0 - percent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trust(names: &[(&str, usize)]) -> PageRankTrust {
        let names = names.iter().map(|&(name, passages)| (EntityKey::from_stored(name.to_owned()), passages));
        PageRankTrust::of(names, 10_000, 0.6)
    }

    #[test]
    fn a_rare_name_leaves_the_ranking_to_pagerank() {
        let trust = trust(&[("VELORA BRIDGE", 2), ("COUNTY", 400)]);
        assert_eq!((trust.share, trust.looseness), (1.0, 0.0));
        assert_eq!(
            trust.reason(),
            "PageRank decides: 2 passages mention \"VELORA BRIDGE\", the rarest name of the question"
        );
        assert_eq!((trust.words(0.5, true, false), trust.words(0.5, true, true)), (0.5, 1.5));
    }

    #[test]
    fn a_name_in_every_passage_guides_pagerank_no_better_than_none() {
        let (everywhere, none) = (trust(&[("LI HUA", 430)]), trust(&[]));
        assert_eq!((everywhere.share, everywhere.looseness), (0.4, 1.0));
        assert_eq!((none.share, none.looseness, none.passages), (0.4, 1.0, 0));
        assert_eq!((none.words(0.5, true, false), none.words(0.0, true, true)), (2.0, 0.0));
        assert_eq!((none.words(0.5, false, true), trust(&[("A", 1)]).words(0.5, false, true)), (1.0, 0.5));
        assert!(none.reason().contains("a weight of 40%, the word search 60%"), "{}", none.reason());
    }

    #[test]
    fn trust_falls_as_more_passages_mention_the_name() {
        let shares: Vec<f64> = [1, 3, 5, 8, 12, 20].map(|passages| trust(&[("A", passages)]).share).to_vec();
        assert!(shares.is_sorted_by(|one, other| one >= other), "{shares:?}");
        assert!(shares[0] > shares[2] && shares[2] > shares[5], "{shares:?}");
    }

    #[test]
    fn an_empty_graph_is_no_error() {
        let trust = PageRankTrust::of([(EntityKey::from_stored("A".to_owned()), 0)], 0, 0.6);
        assert_eq!(trust.looseness, 0.0);
    }
}
