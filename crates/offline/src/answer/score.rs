//! How well a line answers a question, compared with others that answer it.

use super::asked::{Role, Wants};
use super::evidence::Evidence;
use super::kinds;
use super::lines::Word;
use super::measures;

impl Evidence<'_, '_> {
    /// How well a line that answers does so, compared with others; `held` is the share of what is asked that it holds.
    pub(super) fn score(&self, at: usize, held: f32) -> f32 {
        let line = &self.reading.lines[at];
        let measure = if measures::tells_measure(self.asked, line) { 0.25 } else { 0.0 };
        let named = match self.asked.terms.iter().any(|term| term.role == Role::Class)
            && self.asked.wants == Wants::Thing
        {
            true if kinds::marks(self.asked, line) > 0 => 0.15,
            true | false => 0.0,
        };
        let mut classes =
            self.asked.terms.iter().zip(&self.direct[at]).filter(|(term, _)| term.role == Role::Class);
        let classed = if classes.any(|(_, held)| *held > 0.0) { 0.1 } else { 0.0 };
        let rank = 1.0 - line.passage as f32 / self.reading.passages.len().max(1) as f32;
        let short = 1.0 / (1.0 + line.words.len() as f32 / 40.0);
        let manner = match self.asked.wants {
            Wants::Manner => {
                let lower = line.text.to_lowercase();
                let tells = ["to ", "you ", "use ", "um "].iter().any(|start| lower.starts_with(start));
                if tells { 0.1 } else { 0.0 }
            }
            Wants::Person if kinds::names_person(self.asked, line) => 0.08,
            Wants::Meaning if line.words.len() > 3 => {
                let lower = line.text.to_lowercase();
                let defines =
                    [" is a ", " is an ", " is the ", "refers to", " means ", "指", " ist ein", "bezeichnet"];
                if defines.iter().any(|mark| lower.contains(mark)) { 0.1 } else { 0.0 }
            }
            _ => 0.0,
        };
        let own = self.own_share(at);
        let label = if kinds::is_label(self.asked, line) { 0.12 } else { 0.0 };
        0.5 * held
            + 0.2 * self.share(at)
            + 0.05 * own
            + 0.1 * self.nearness(at)
            + 0.15 * self.sequence(at)
            + 0.05 * rank
            + 0.05 * short
            + manner
            + measure
            + named
            + classed
            + label
            - if self.is_far_from_a_name(at) { 0.1 } else { 0.0 }
    }

    /// Share of what is asked, names aside, that stands in the line itself.
    pub(super) fn own_share(&self, at: usize) -> f32 {
        let terms = self
            .asked
            .terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.role != Role::Name && term.role != Role::Class);
        let (all, own) = terms.fold((0.0, 0.0), |(all, own), (term, _)| {
            (all + self.weights[term], own + self.weights[term] * self.direct[at][term])
        });
        if all == 0.0 { 1.0 } else { own / all }
    }

    /// How long a run of words of the question stands in a line as it is; 1 for a long one.
    pub(super) fn sequence(&self, at: usize) -> f32 {
        const LONG: f32 = 5.0;
        let (asked, words) = (&self.asked.roots, &self.reading.lines[at].words);
        let tells = |root: &str| self.asked.terms.iter().any(|term| term.root == root);
        let mut best = 0_usize;
        // Of each word of the question, the run that ends at it and how many of its words tell something.
        let mut runs = vec![(0_usize, 0_usize); asked.len() + 1];
        for word in words {
            let telling = usize::from(tells(&word.root));
            for place in (0..asked.len()).rev() {
                runs[place + 1] = match asked[place] == word.root {
                    true => (runs[place].0 + 1, runs[place].1 + telling),
                    false => (0, 0),
                };
                if runs[place + 1].1 >= 2 {
                    best = best.max(runs[place + 1].0);
                }
            }
        }
        (best.saturating_sub(1) as f32 / (LONG - 1.0)).min(1.0)
    }

    /// How near to each other the words of the question stand in a line.
    pub(super) fn nearness(&self, at: usize) -> f32 {
        let line = &self.reading.lines[at];
        let is_asked = |word: &Word<'_>| {
            self.asked
                .terms
                .iter()
                .any(|term| term.role != Role::Common && (term.root == word.root || term.is_related(word)))
        };
        let mut places =
            line.words.iter().enumerate().filter(|(_, word)| is_asked(word)).map(|(place, _)| place);
        let Some(first) = places.next() else { return 0.5 };
        let (last, count) = places.fold((first, 1), |(_, count), place| (place, count + 1));
        count as f32 / (last - first + 1) as f32
    }
}
