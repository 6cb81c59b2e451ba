//! Boosted decision trees that estimate how likely a line answers, from its [features](super::features).
//!
//! Single facts about a line say little: a date counts for much in an answer to `when`, and for nothing in one to `who`. The trees
//! were trained as `bench/lines.py` does, on the questions in `bench/lines`, `bench/honesty/development` and `bench/manuals`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::evidence::Evidence;
use super::features::LINE_FEATURES;
use super::lines::LineForm;
use super::turns::Turn;
use super::{MAX_PASSAGES, Passage, Passages, Window, whole};

/// Without scores: the share of the log odds by the rules that is added to those of the trees, and the log odds by the rules that change
/// nothing. The rules were fitted on other texts and questions, so they hold for texts unlike those that the trees were trained on.
const RULES_SHARE: f32 = 0.2;
const RULES_NEUTRAL: f32 = -1.3;
/// Greatest log odds by the rules, in both directions.
const RULES_MOST: f32 = 6.0;
/// Maximum number of lines that are compared: those with most of the question.
const MAX_CANDIDATES: usize = 40;

/// A decision.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// The log odds that this tree adds.
    Leaf(f32),
    /// Continues at the next node if the feature is at most the threshold, otherwise at the node `other`.
    Split { feature: usize, threshold: f32, other: usize },
}

/// The trees, each with its nodes in depth-first order.
struct Trees {
    /// Log odds before the first tree.
    base: f32,
    trees: Vec<Vec<Node>>,
}

static TREES: LazyLock<Trees> = LazyLock::new(|| Trees::read(include_str!("trees.txt")));

/// The trees for lines that a model scored.
static TREES_WITH_SCORES: LazyLock<Trees> =
    LazyLock::new(|| Trees::read(include_str!("trees_with_scores.txt")));

impl Trees {
    /// Reads the base on the first line and a tree on each other: `FEATURE:THRESHOLD` before its two branches, and `=VALUE` for a
    /// leaf.
    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let base = lines.next().and_then(|base| base.parse().ok()).unwrap_or_default();
        let trees = lines.map(|line| {
            let mut nodes = Vec::new();
            push_branch(&mut line.split(' '), &mut nodes);
            nodes
        });
        Self { base, trees: trees.collect() }
    }

    /// Returns the log odds for these features.
    fn estimate(&self, features: &[f32]) -> f32 {
        self.base + self.trees.iter().map(|tree| value(tree, features)).sum::<f32>()
    }
}

/// Adds the nodes of a branch.
fn push_branch<'t>(tokens: &mut impl Iterator<Item = &'t str>, nodes: &mut Vec<Node>) {
    let Some(token) = tokens.next() else { return };
    if let Some(leaf) = token.strip_prefix('=') {
        nodes.push(Node::Leaf(leaf.parse().unwrap_or_default()));
        return;
    }
    let (feature, threshold) = token.split_once(':').unwrap_or_default();
    let at = nodes.len();
    let (feature, threshold) = (feature.parse().unwrap_or_default(), threshold.parse().unwrap_or_default());
    nodes.push(Node::Split { feature, threshold, other: 0 });
    push_branch(tokens, nodes);
    let other = nodes.len();
    nodes[at] = Node::Split { feature, threshold, other };
    push_branch(tokens, nodes);
}

/// Returns the value of the leaf that the features lead to.
fn value(tree: &[Node], features: &[f32]) -> f32 {
    let mut at = 0;
    loop {
        match tree.get(at) {
            Some(Node::Leaf(value)) => return *value,
            Some(Node::Split { feature, threshold, other }) => {
                at = if features[*feature] <= *threshold { at + 1 } else { *other };
            }
            None => return 0.0,
        }
    }
}

/// What the trees know about a line.
#[derive(Debug, Clone)]
pub struct LineFeatures {
    /// Its text, with the lines that are quoted with it.
    pub text: String,
    /// Its features, see [`LINE_FEATURES`].
    pub values: Vec<f32>,
}

/// Returns the features of the lines with most of the question, and of those with the highest scores, for training.
///
/// - `passages`: best first; only the first [`MAX_PASSAGES`] are read.
/// - `scores`: the [`scores`](super::scores) of the same question and passages; empty without a model that scores lines.
pub fn line_features(
    question: &str,
    passages: &[Passage<'_>],
    scores: &[(Window, Vec<f32>)],
) -> Vec<LineFeatures> {
    let passages = &passages[..passages.len().min(MAX_PASSAGES)];
    let reading = Passages::read(question, passages);
    let parsed = reading.parse_question(question);
    if parsed.terms.is_empty() {
        return Vec::new();
    }
    let evidence = Evidence::scored(&reading, &parsed, scores);
    let of_line = |at: usize| {
        let texts: Vec<&str> = whole(&evidence, at).into_iter().map(|at| reading.lines[at].text).collect();
        LineFeatures { text: texts.join("\n"), values: evidence.features(at) }
    };
    let mut lines: Vec<usize> = evidence.compared().chain(evidence.best_scored(MAX_CANDIDATES)).collect();
    let mut seen = BTreeSet::new();
    lines.retain(|at| seen.insert(*at));
    lines.into_iter().map(of_line).collect()
}

impl Evidence<'_, '_> {
    /// Returns the log odds that a line answers.
    pub(super) fn odds(&self, at: usize) -> f32 {
        if let Some(known) = self.estimates.borrow().get(&at) {
            return *known;
        }
        let features = self.features(at);
        debug_assert_eq!(features.len(), LINE_FEATURES.len());
        let estimate = if self.is_scored() {
            TREES_WITH_SCORES.estimate(&features)
        } else {
            // The first feature.
            let rules = features[0].clamp(-RULES_MOST, RULES_MOST);
            TREES.estimate(&features) + RULES_SHARE * (rules - RULES_NEUTRAL)
        };
        self.estimates.borrow_mut().insert(at, estimate);
        estimate
    }

    /// Returns the log odds that a conversation turn answers: those of its best line.
    pub(super) fn odds_of_turn(&self, turn: &Turn) -> f32 {
        turn.lines.clone().map(|at| self.odds(at)).fold(f32::MIN, f32::max)
    }

    /// Returns the lines that are compared, those with most of the question first.
    fn compared(&self) -> impl Iterator<Item = usize> {
        let lines = &self.reading.lines;
        let may_answer = |at: &usize| match lines[*at].form {
            LineForm::Heading(_) | LineForm::Cell | LineForm::Code => false,
            LineForm::Question => self.reply_to(*at).is_some(),
            LineForm::Prose | LineForm::Item | LineForm::Row | LineForm::Property => true,
        };
        let mut found: Vec<(f32, usize)> =
            (0..lines.len()).filter(may_answer).map(|at| (self.share(at), at)).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found.truncate(MAX_CANDIDATES);
        found.into_iter().map(|(_, at)| at)
    }

    /// Returns the highest log odds by the rules, and the highest share of the question, of all lines.
    pub(super) fn best_candidate(&self) -> (f32, f32) {
        *self.best_candidate.get_or_init(|| {
            self.compared().fold((f32::MIN, 0.0), |(odds, share), at| {
                (odds.max(self.rule_odds_of_line(at)), share.max(self.share(at)))
            })
        })
    }

    /// Returns the log odds by the rules that a line answers or, in a conversation, its turn.
    pub(super) fn rule_odds_of_line(&self, at: usize) -> f32 {
        self.turn_with(at).map_or_else(|| self.odds_by_rules(at), |turn| self.turn_odds_by_rules(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::scores_of;
    use super::*;

    #[test]
    fn trees_lead_from_features_to_log_odds() {
        let trees = Trees::read("-1.5\n0:0.5 =1 1:2 =2 =3\n=0.25");
        assert_eq!(trees.estimate(&[0.5, 9.0]), -0.25);
        assert_eq!(trees.estimate(&[0.6, 2.0]), 0.75);
        assert_eq!(trees.estimate(&[0.6, 2.5]), 1.75);
    }

    #[test]
    fn the_trees_read_known_features_only() {
        for trees in [&TREES, &TREES_WITH_SCORES] {
            assert!(!trees.trees.is_empty());
            for node in trees.trees.iter().flatten() {
                if let Node::Split { feature, .. } = node {
                    assert!(*feature < LINE_FEATURES.len());
                }
            }
        }
    }

    #[test]
    fn the_scores_of_a_model_are_among_the_features() {
        let text = "The depot of Arnbury opens at seven. Parcels stay on the shelf for nine days.";
        let passages = [Passage { text, title: "", headings: &[] }];
        let question = "How long does the depot keep parcels?";
        let at = |name: &str| LINE_FEATURES.iter().position(|feature| *feature == name).unwrap_or_default();
        let scored = line_features(question, &passages, &scores_of(question, &passages, "nine", 5.0));
        let of = |lines: &[LineFeatures], word: &str, name: &str| {
            let line = lines.iter().find(|line| line.text.starts_with(word));
            line.map(|line| line.values[at(name)])
        };
        assert_eq!(of(&scored, "Parcels", "score"), Some(5.0));
        assert_eq!(of(&scored, "Parcels", "score_ahead"), Some(11.0));
        assert_eq!(of(&scored, "The depot", "score_behind"), Some(-11.0));
        assert_eq!(of(&scored, "The depot", "score_around"), Some(5.0));
        assert_eq!(of(&line_features(question, &passages, &[]), "Parcels", "score"), Some(0.0));
    }
}
