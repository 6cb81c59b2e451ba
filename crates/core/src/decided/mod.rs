//! Applies decisions to the graph: a pure function of the set of decisions.
//!
//! Decisions in effect are applied in order to every record. A record starts at the key of its name. Each
//! decision that names its current key moves it or sets it aside. A record indexed years later therefore ends
//! up in the same place, and the order of indexing does not matter.

mod follow;
mod stated;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Action, ChunkId, Decision, DecisionId, EntityKey, Fact, RelationKey, Snapshot, StoreError, table,
};
use follow::{Act, End, Groups, Rule, Trace};
use stated::{At, DecidedFact, Statement};
pub use stated::{DecidedEntity, DecidedRelation};

/// The chunk id of facts that no document states. It sorts after all other chunk ids.
const DECIDED_CHUNK: &str = "decided";

/// A set of decisions, ready to apply.
#[derive(Debug, Clone, Default)]
pub struct Decisions {
    /// All decisions in order, including undone ones.
    all: Vec<Decision>,
    /// For each undone decision, the one that undid it.
    undone: BTreeMap<DecisionId, DecisionId>,
    /// The rules that move or set aside records, in order.
    rules: Vec<Rule>,
    by_key: BTreeMap<EntityKey, Vec<usize>>,
    by_pair: BTreeMap<RelationKey, Vec<usize>>,
    entities: BTreeMap<EntityKey, DecidedEntity>,
    relations: BTreeMap<RelationKey, DecidedRelation>,
}

/// The entity that a mention counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionPlace {
    /// Key of the entity.
    pub key: EntityKey,
    /// Whether the mention is kept out of the graph.
    pub set_aside: bool,
}

/// Differences between two sets of decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Keys whose stored mentions may move.
    pub mentions_of: BTreeSet<EntityKey>,
    /// Keys whose stored facts may move.
    pub facts_touching: BTreeSet<EntityKey>,
    /// Entities with different decisions.
    pub entities: BTreeSet<EntityKey>,
    /// Entities with a different decided name.
    pub renamed: BTreeSet<EntityKey>,
    /// Relations with different decisions.
    pub relations: BTreeSet<RelationKey>,
}

impl Decisions {
    /// Reads all decisions of the store.
    pub async fn read(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        Ok(Self::new(snapshot.pages(table::Decisions).all().await?))
    }

    /// Builds the set from decisions in any order.
    pub fn new(mut all: Vec<Decision>) -> Self {
        all.sort_by(|one, other| (one.order, &one.id).cmp(&(other.order, &other.id)));
        all.dedup_by(|one, other| one.id == other.id);
        let mut decisions = Self { undone: undone(&all), ..Self::default() };
        let holding: Vec<&Decision> =
            all.iter().filter(|decision| !decisions.undone.contains_key(&decision.id)).collect();
        let statements = decisions.collect_rules(&holding);
        decisions.index();
        for statement in statements {
            decisions.apply(statement);
        }
        for relation in decisions.relations.values_mut() {
            for (ordinal, fact) in (0..).zip(&mut relation.facts) {
                fact.ordinal = ordinal;
            }
        }
        decisions.all = all;
        decisions
    }

    /// Returns this set with further decisions added.
    pub fn with(&self, more: &[Decision]) -> Self {
        Self::new(self.all.iter().chain(more).cloned().collect())
    }

    /// Returns all decisions in order, including undone ones.
    pub fn all(&self) -> &[Decision] {
        &self.all
    }

    /// Returns the decisions in effect, in order, without undo decisions.
    pub fn holding(&self) -> impl Iterator<Item = &Decision> {
        self.all.iter().filter(|decision| {
            !matches!(decision.action, Action::Undo { .. }) && !self.undone.contains_key(&decision.id)
        })
    }

    /// Returns the decision that undid the given one; `None` if it is in effect.
    pub fn undone_by(&self, id: &DecisionId) -> Option<&DecisionId> {
        self.undone.get(id)
    }

    /// Returns the order number of the next decision.
    pub fn next_order(&self) -> u64 {
        self.all.last().map_or(0, |last| last.order.saturating_add(1))
    }

    /// True if there are no decisions.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the combined decisions about an entity.
    pub fn entity(&self, key: &EntityKey) -> Option<&DecidedEntity> {
        self.entities.get(key)
    }

    /// Returns the combined decisions about a relation.
    pub fn relation(&self, key: &RelationKey) -> Option<&DecidedRelation> {
        self.relations.get(key)
    }

    /// Returns all entities with decisions, by key.
    pub fn entities(&self) -> impl Iterator<Item = (&EntityKey, &DecidedEntity)> {
        self.entities.iter()
    }

    /// Returns all relations with decisions, by key.
    pub fn relations(&self) -> impl Iterator<Item = (&RelationKey, &DecidedRelation)> {
        self.relations.iter()
    }

    /// Returns the current key of the entity that had this key originally.
    pub fn resolve(&self, key: &EntityKey) -> EntityKey {
        self.place_mention(key, None).key
    }

    /// Returns the merge or rename that moved `key`; `None` if it was not moved.
    pub fn moved_by(&self, key: &EntityKey) -> Option<&DecisionId> {
        self.by_key.get(key)?.iter().map(|at| &self.rules[*at]).find_map(|rule| match &rule.act {
            Act::Move { .. } => Some(&rule.decision),
            Act::MoveIn { .. } | Act::Hide(_) | Act::Show(_) | Act::HidePair(_) | Act::ShowPair(_) => None,
        })
    }

    /// Returns the decision that keeps one of `ones` apart from one of `others`. Keys that were merged into
    /// one of them count too.
    pub fn apart(&self, ones: &BTreeSet<EntityKey>, others: &BTreeSet<EntityKey>) -> Option<&Decision> {
        let (ones, others) = (self.with_merged(ones), self.with_merged(others));
        self.holding().find(|decision| match &decision.action {
            Action::NotSame { pair } => {
                (ones.contains(pair.a()) && others.contains(pair.b()))
                    || (ones.contains(pair.b()) && others.contains(pair.a()))
            }
            _ => false,
        })
    }

    /// Returns the keys that were merged into `key` or renamed to it, ascending.
    pub fn leading_to(&self, key: &EntityKey) -> Vec<EntityKey> {
        let mut all = self.with_merged(&BTreeSet::from([key.clone()]));
        all.remove(key);
        all.into_iter().collect()
    }

    /// Returns these keys and all keys that were merged into them.
    fn with_merged(&self, keys: &BTreeSet<EntityKey>) -> BTreeSet<EntityKey> {
        let mut all = keys.clone();
        all.extend(self.by_key.keys().filter(|key| keys.contains(&self.resolve(key))).cloned());
        all
    }

    /// Returns the entity that a mention counts for.
    ///
    /// - `key`: the key of its name.
    /// - `chunk`: its chunk; with `None`, splits do not apply.
    pub fn place_mention(&self, key: &EntityKey, chunk: Option<&ChunkId>) -> MentionPlace {
        let mut end = End { key: key.clone(), hidden: false };
        let mut at = 0;
        while let Some(next) = self.next_of_key(&end.key, at) {
            end.follow(&self.rules[next].act, chunk);
            at = next + 1;
        }
        MentionPlace { key: end.key, set_aside: end.hidden }
    }

    /// Returns the relation that a fact counts for. If its two entities were merged, the fact is set aside
    /// under their original pair. Returns `None` for a fact about an entity and itself.
    pub fn place_fact(&self, source: &EntityKey, target: &EntityKey, chunk: &ChunkId) -> Option<FactPlace> {
        let original = RelationKey::new(source.clone(), target.clone())?;
        let mut trace = Trace::new(source, target, 0);
        while let Some(at) = trace.next(self) {
            trace.follow(&self.rules[at].act, Some(chunk));
        }
        let set_aside = trace.is_aside();
        let (relation, source) = match trace.pair() {
            Some(pair) => (pair, trace.source.key),
            None => (original, source.clone()),
        };
        let source_is_a = *relation.a() == source;
        Some(FactPlace { relation, source_is_a, set_aside })
    }

    /// Returns what must be derived again if `other` replaces this set.
    pub fn difference(&self, other: &Self) -> Difference {
        let rules = |decisions: &Self| decisions.rules.iter().cloned().collect::<BTreeSet<Rule>>();
        let (ours, theirs) = (rules(self), rules(other));
        let (mut of_keys, mut of_pairs) = (BTreeSet::new(), BTreeSet::new());
        for rule in ours.symmetric_difference(&theirs) {
            match &rule.act {
                Act::Move { from, .. } => of_keys.extend(from.iter().cloned()),
                Act::MoveIn { from, .. } => drop(of_keys.insert(from.clone())),
                Act::Hide(key) | Act::Show(key) => drop(of_keys.insert(key.clone())),
                // A record of the pair passes through both entities, so one of them is enough to find it.
                Act::HidePair(pair) | Act::ShowPair(pair) => drop(of_pairs.insert(pair.a().clone())),
            }
        }
        let edges: Vec<(EntityKey, EntityKey)> = self.edges().into_iter().chain(other.edges()).collect();
        let mentions_of = closure(of_keys.clone(), &edges, false);
        let starts: BTreeSet<EntityKey> = of_keys.into_iter().chain(of_pairs).collect();
        let mut facts_touching = closure(starts.clone(), &edges, false);
        // Facts whose entities were merged are stored under their original pair.
        facts_touching.extend(closure(starts, &edges, true));
        let name = |decided: Option<&DecidedEntity>| decided.and_then(|decided| decided.name.clone());
        let entities: BTreeSet<EntityKey> = (self.entities.keys().chain(other.entities.keys()))
            .filter(|key| self.entity(key) != other.entity(key))
            .cloned()
            .collect();
        let renamed = entities
            .iter()
            .filter(|key| name(self.entity(key)) != name(other.entity(key)))
            .cloned()
            .collect();
        let relations = (self.relations.keys().chain(other.relations.keys()))
            .filter(|key| self.relation(key) != other.relation(key))
            .cloned()
            .collect();
        Difference { mentions_of, facts_touching, entities, renamed, relations }
    }

    fn edges(&self) -> Vec<(EntityKey, EntityKey)> {
        let mut edges = Vec::new();
        for rule in &self.rules {
            match &rule.act {
                Act::Move { from, into, .. } => {
                    edges.extend(from.iter().map(|from| (from.clone(), into.clone())))
                }
                Act::MoveIn { from, into, .. } => edges.push((from.clone(), into.clone())),
                Act::Hide(_) | Act::Show(_) | Act::HidePair(_) | Act::ShowPair(_) => {}
            }
        }
        edges
    }

    /// Collects the rules and returns people's statements, each with the number of rules before it.
    fn collect_rules(&mut self, holding: &[&Decision]) -> Vec<Statement> {
        let verdicts: Vec<&RelationKey> = (holding.iter())
            .filter_map(|decision| match &decision.action {
                Action::NotSame { pair } => Some(pair),
                _ => None,
            })
            .collect();
        let mut groups = Groups::default();
        let mut statements = Vec::new();
        for decision in holding {
            let mut rule = |act| self.rules.push(Rule { decision: decision.id.clone(), act });
            let mut edit = None;
            match decision.action.clone() {
                Action::CreateEntity { key, name, kind, description } => {
                    rule(Act::Show(key.clone()));
                    let what = DecidedFact::Created { name, kind, description };
                    statements.push(Statement { after: self.rules.len(), at: At::Entity(key), what });
                }
                Action::EditEntity { key, name, kind, description } => {
                    edit = Some((key, name, kind, description));
                }
                Action::RenameEntity { key, into, name } => {
                    if groups.join(&key, &into, &verdicts) {
                        rule(Act::Move { from: BTreeSet::from([key]), into: into.clone(), merges: false });
                        edit = Some((into, Some(name), None, None));
                    }
                }
                Action::DeleteEntity { key } => rule(Act::Hide(key)),
                Action::MergeEntities { sources, into, name, kind, description } => {
                    let from: BTreeSet<EntityKey> = (sources.into_iter())
                        .filter(|source| *source != into && groups.join(source, &into, &verdicts))
                        .collect();
                    if !from.is_empty() {
                        rule(Act::Move { from, into: into.clone(), merges: true });
                        edit = Some((into, Some(name), kind, description));
                    }
                }
                Action::SplitEntity { key, chunks, into, name } => {
                    let chunks = chunks.into_iter().collect();
                    rule(Act::MoveIn { from: key, chunks, into: into.clone() });
                    edit = Some((into, Some(name), None, None));
                }
                Action::CreateRelation {
                    source,
                    target,
                    source_name,
                    target_name,
                    keywords,
                    description,
                    weight,
                } => {
                    let Some(relation) = RelationKey::new(source.clone(), target.clone()) else { continue };
                    rule(Act::ShowPair(relation.clone()));
                    let fact = Fact {
                        chunk: ChunkId::from_stored(DECIDED_CHUNK),
                        ordinal: 0,
                        relation,
                        source: source_name,
                        target: target_name,
                        source_is_a: source < target,
                        keywords,
                        description,
                        weight,
                        set_aside: false,
                    };
                    let (at, what) = (At::Relation { source, target }, DecidedFact::Fact(fact));
                    statements.push(Statement { after: self.rules.len(), at, what });
                }
                Action::EditRelation { relation, keywords, description, weight } => {
                    let at = At::Relation { source: relation.a().clone(), target: relation.b().clone() };
                    let what = DecidedFact::EditedRelation { keywords, description, weight };
                    statements.push(Statement { after: self.rules.len(), at, what });
                }
                Action::DeleteRelation { relation } => rule(Act::HidePair(relation)),
                Action::NotSame { .. } | Action::Undo { .. } => {}
            }
            if let Some((key, name, kind, description)) = edit {
                let what = DecidedFact::Edited { name, kind, description };
                statements.push(Statement { after: self.rules.len(), at: At::Entity(key), what });
            }
        }
        statements
    }

    /// Indexes the rules by the keys and pairs they concern.
    fn index(&mut self) {
        for (at, rule) in self.rules.iter().enumerate() {
            let mut of = |key: &EntityKey| self.by_key.entry(key.clone()).or_default().push(at);
            match &rule.act {
                Act::Move { from, .. } => from.iter().for_each(&mut of),
                Act::MoveIn { from, .. } => of(from),
                Act::Hide(key) | Act::Show(key) => of(key),
                Act::HidePair(pair) | Act::ShowPair(pair) => {
                    self.by_pair.entry(pair.clone()).or_default().push(at);
                }
            }
        }
    }

    /// Applies a statement to the entity or relation where it counts now. A later deletion removes it for good.
    fn apply(&mut self, Statement { after, at, what }: Statement) {
        match at {
            At::Entity(key) => {
                let mut end = End { key, hidden: false };
                let (mut at, mut merged) = (after, false);
                while let Some(next) = self.next_of_key(&end.key, at) {
                    let act = &self.rules[next].act;
                    merged |= matches!(act, Act::Move { merges: true, .. });
                    end.follow(act, None);
                    at = next + 1;
                    if end.hidden {
                        return;
                    }
                }
                self.entities.entry(end.key).or_default().add(what, merged);
            }
            At::Relation { source, target } => {
                let mut trace = Trace::new(&source, &target, after);
                while let Some(at) = trace.next(self) {
                    trace.follow(&self.rules[at].act, None);
                    if trace.is_aside() {
                        return;
                    }
                }
                let Some(pair) = trace.pair() else { return };
                let source_is_a = trace.source.key == *pair.a();
                let decided = self.relations.entry(pair.clone()).or_default();
                decided.add(what, pair, source_is_a, trace.merged);
            }
        }
    }

    fn next_of_key(&self, key: &EntityKey, from: usize) -> Option<usize> {
        next(self.by_key.get(key)?, from)
    }

    fn next_of_pair(&self, pair: &RelationKey, from: usize) -> Option<usize> {
        next(self.by_pair.get(pair)?, from)
    }
}

/// The relation that a fact counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactPlace {
    /// The pair.
    pub relation: RelationKey,
    /// Whether the fact's source is entity `a` of the pair.
    pub source_is_a: bool,
    /// Whether the fact is kept out of the graph.
    pub set_aside: bool,
}

/// Maps undone decisions to the decisions that undid them. Later decisions are processed first: an undo refers only to earlier
/// decisions, so it is already known whether it is in effect when its target is processed.
fn undone(all: &[Decision]) -> BTreeMap<DecisionId, DecisionId> {
    let mut undone = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for decision in all.iter().rev() {
        if let Action::Undo { decision: earlier } = &decision.action
            && !undone.contains_key(&decision.id)
            && !seen.contains(earlier)
        {
            undone.entry(earlier.clone()).or_insert_with(|| decision.id.clone());
        }
        seen.insert(decision.id.clone());
    }
    undone
}

fn next(places: &[usize], from: usize) -> Option<usize> {
    places.get(places.partition_point(|at| *at < from)).copied()
}

/// Returns all keys reachable over the edges, or with `backwards` all keys that reach the starts. Includes the starts.
fn closure(
    starts: BTreeSet<EntityKey>,
    edges: &[(EntityKey, EntityKey)],
    backwards: bool,
) -> BTreeSet<EntityKey> {
    let mut onward: BTreeMap<&EntityKey, Vec<&EntityKey>> = BTreeMap::new();
    for (from, into) in edges {
        let (from, into) = if backwards { (into, from) } else { (from, into) };
        onward.entry(from).or_default().push(into);
    }
    let mut open: Vec<EntityKey> = starts.iter().cloned().collect();
    let mut reached = starts;
    while let Some(key) = open.pop() {
        for further in onward.get(&key).into_iter().flatten() {
            if reached.insert((*further).clone()) {
                open.push((*further).clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Timestamp;

    fn key(name: &str) -> EntityKey {
        EntityKey::from_stored(name)
    }

    fn pair(one: &str, other: &str) -> RelationKey {
        RelationKey::new(key(one), key(other)).expect("two ends")
    }

    fn merge(sources: &[&str], into: &str) -> Action {
        Action::MergeEntities {
            sources: sources.iter().map(|source| key(source)).collect(),
            into: key(into),
            name: into.to_lowercase(),
            kind: None,
            description: None,
        }
    }

    fn edit(of: &str, description: &str) -> Action {
        Action::EditEntity { key: key(of), name: None, kind: None, description: Some(description.to_owned()) }
    }

    fn rename(of: &str, into: &str) -> Action {
        Action::RenameEntity { key: key(of), into: key(into), name: into.to_lowercase() }
    }

    fn create(of: &str) -> Action {
        let name = of.to_lowercase();
        Action::CreateEntity { key: key(of), name, kind: None, description: format!("New {of}.") }
    }

    fn delete(of: &str) -> Action {
        Action::DeleteEntity { key: key(of) }
    }

    fn decide(actions: Vec<Action>) -> Decisions {
        let decided = (0..).zip(actions).map(|(order, action)| Decision::new(order, Timestamp(0), action));
        Decisions::new(decided.collect())
    }

    /// Returns the entity that a mention of each name in chunk `c` counts for, with `-` in front if the mention is set aside.
    fn check_places(actions: Vec<Action>, names: &[&str]) -> Vec<String> {
        let decisions = decide(actions);
        let place = |name: &&str| {
            let place = decisions.place_mention(&key(name), Some(&ChunkId::from_stored("c")));
            format!("{}{}", if place.set_aside { "-" } else { "" }, place.key)
        };
        names.iter().map(place).collect()
    }

    fn check_fact(actions: Vec<Action>, ends: (&str, &str)) -> (String, bool) {
        let chunk = ChunkId::from_stored("c");
        let place = decide(actions).place_fact(&key(ends.0), &key(ends.1), &chunk).expect("two ends");
        (place.relation.to_string().replace('\t', "-"), place.set_aside)
    }

    #[test]
    fn records_follow_merges_renames_and_splits_in_order() {
        assert_eq!(check_places(vec![merge(&["A"], "B"), rename("B", "C")], &["A", "B", "C"]), ["C"; 3]);
        // A record that is moved to B after B was renamed stays there.
        assert_eq!(check_places(vec![rename("B", "C"), merge(&["A"], "B")], &["A", "B"]), ["B", "C"]);
        let split = |chunk: &str, into: &str| Action::SplitEntity {
            key: key("B"),
            chunks: vec![ChunkId::from_stored(chunk)],
            into: key(into),
            name: into.to_owned(),
        };
        assert_eq!(check_places(vec![merge(&["A"], "B"), split("c", "A")], &["A", "B"]), ["A", "A"]);
        assert_eq!(check_places(vec![merge(&["A"], "B"), split("d", "A")], &["A", "B"]), ["B", "B"]);
    }

    #[test]
    fn a_deleted_entity_is_set_aside_until_it_is_created_again() {
        assert_eq!(check_places(vec![delete("A")], &["A", "B"]), ["-A", "B"]);
        assert_eq!(check_places(vec![delete("A"), create("A")], &["A"]), ["A"]);
        // A record deleted under a name stays deleted if another entity is renamed to that name.
        assert_eq!(check_places(vec![delete("A"), rename("B", "A")], &["A", "B"]), ["-A", "A"]);
    }

    #[test]
    fn a_fact_whose_ends_were_merged_is_set_aside_under_its_original_pair() {
        assert_eq!(check_fact(vec![merge(&["A"], "B")], ("A", "B")), ("A-B".to_owned(), true));
        assert_eq!(check_fact(vec![merge(&["A"], "B")], ("A", "C")), ("B-C".to_owned(), false));
        let gone = Action::DeleteRelation { relation: pair("A", "C") };
        assert_eq!(check_fact(vec![gone.clone(), rename("A", "Z")], ("C", "A")), ("C-Z".to_owned(), true));
        assert_eq!(check_fact(vec![gone, merge(&["A"], "B")], ("C", "B")), ("B-C".to_owned(), false));
    }

    #[test]
    fn a_not_same_decision_disables_every_merge_of_the_two() {
        let apart = |one, other| Action::NotSame { pair: pair(one, other) };
        assert_eq!(check_places(vec![merge(&["A"], "B"), apart("A", "B")], &["A", "B"]), ["A", "B"]);
        let via = vec![apart("A", "B"), merge(&["A"], "C"), merge(&["B"], "C")];
        assert_eq!(check_places(via, &["A", "B", "C"]), ["C", "B", "C"]);
    }

    #[test]
    fn edits_follow_a_rename_and_become_descriptions_in_a_merge() {
        let renamed = decide(vec![edit("A", "Edited."), rename("A", "Z")]);
        let decided = renamed.entity(&key("Z")).expect("decided");
        assert_eq!((decided.name.as_deref(), decided.description.as_deref()), (Some("z"), Some("Edited.")));
        let merged = decide(vec![edit("A", "Edited."), merge(&["A"], "B")]);
        let decided = merged.entity(&key("B")).expect("decided");
        assert_eq!((decided.name.as_deref(), &decided.description), (Some("b"), &None));
        assert!(decided.descriptions.contains("Edited."));
    }

    #[test]
    fn of_two_edits_the_later_wins_per_field_and_a_deletion_ends_both() {
        let kind =
            Action::EditEntity { key: key("A"), name: None, kind: Some("Place".into()), description: None };
        let decisions = decide(vec![edit("A", "One."), kind, edit("A", "Two.")]);
        let decided = decisions.entity(&key("A")).expect("decided");
        assert_eq!((decided.kind.as_deref(), decided.description.as_deref()), (Some("Place"), Some("Two.")));
        let decisions = decide(vec![edit("A", "Old."), delete("A"), create("A")]);
        assert_eq!(decisions.entity(&key("A")).expect("created").description, None);
    }

    #[test]
    fn undoing_an_undo_restores_the_decision() {
        let mut all = decide(vec![merge(&["A"], "B")]).all().to_vec();
        for expected in ["A", "B", "A"] {
            let last = all.last().expect("one").id.clone();
            all.push(Decision::new(all.len() as u64, Timestamp(0), Action::Undo { decision: last }));
            assert_eq!(Decisions::new(all.clone()).resolve(&key("A")), key(expected));
        }
    }

    fn action() -> impl Strategy<Value = Action> {
        let name = || prop::sample::select(vec!["A", "B", "C", "D"]);
        prop_oneof![
            (name(), name()).prop_map(|(one, other)| merge(&[one], other)),
            (name(), name()).prop_map(|(one, other)| rename(one, other)),
            name().prop_map(create),
            name().prop_map(delete),
            (name(), "[xy]").prop_map(|(name, text)| edit(name, &text)),
            (name(), name()).prop_filter_map("two", |(one, other)| Some(Action::NotSame {
                pair: RelationKey::new(key(one), key(other))?
            })),
            (name(), name()).prop_filter_map("two", |(one, other)| Some(Action::DeleteRelation {
                relation: RelationKey::new(key(one), key(other))?
            })),
        ]
    }

    proptest! {
        #[test]
        fn the_outcome_depends_only_on_the_set_of_decisions(actions in prop::collection::vec(action(), 0..8)) {
            let decisions = decide(actions);
            let mut reversed = decisions.all().to_vec();
            reversed.reverse();
            reversed.extend(decisions.all().iter().take(1).cloned());
            let other = Decisions::new(reversed);
            prop_assert_eq!(decisions.difference(&other), Difference::default());
            prop_assert_eq!(&decisions.entities, &other.entities);
        }

        #[test]
        fn everything_that_moves_is_in_the_difference(
            actions in prop::collection::vec(action(), 1..8),
            gone in any::<prop::sample::Index>(),
        ) {
            let before = decide(actions);
            let undone = before.all()[gone.index(before.all().len())].id.clone();
            let undo = Decision::new(before.next_order(), Timestamp(0), Action::Undo { decision: undone });
            let after = before.with(&[undo]);
            let difference = before.difference(&after);
            for name in ["A", "B", "C", "D"].map(key) {
                let old = before.place_mention(&name, None);
                if old != after.place_mention(&name, None) {
                    prop_assert!(difference.mentions_of.contains(&old.key));
                }
                for other in ["A", "B", "C", "D"].map(key) {
                    let chunk = ChunkId::from_stored("c");
                    let old = before.place_fact(&name, &other, &chunk);
                    if old != after.place_fact(&name, &other, &chunk) {
                        let relation = old.expect("two ends").relation;
                        prop_assert!(relation.ends().into_iter().any(|end| difference.facts_touching.contains(end)));
                    }
                }
            }
        }
    }
}
