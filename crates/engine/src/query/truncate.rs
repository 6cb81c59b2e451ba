//! Cuts ranked entities and relations to their token budgets.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{EntityKey, LayerNode, Relation};

use super::context::{LineCounter, entity_line, relation_line, summary_frame_tokens, summary_line};
use super::{FoundEntity, FoundNode, FoundRelation, QueryError, Question};
use crate::filtered::FilteredSnapshot;

/// Maximum number of nodes of layers in the context, and of tokens of their lines [RAPTOR].
const MAX_NODES: usize = 10;
const MAX_NODE_TOKENS: u32 = 3_500;
/// Relations whose names are looked up at once. A full section of usual lines needs one such block.
const NAME_BLOCK: usize = 192;

/// The entities and relations that fit, with their lines.
#[derive(Debug, Default)]
pub(super) struct FittedGraph {
    pub(super) entities: Vec<FoundEntity>,
    pub(super) relations: Vec<FoundRelation>,
    pub(super) entity_lines: Vec<String>,
    pub(super) relation_lines: Vec<String>,
    pub(super) nodes: Vec<FoundNode>,
    pub(super) node_lines: Vec<String>,
    /// Tokens of all lines.
    pub(super) tokens: u32,
}

/// Keeps the head of each list, up to the first line that does not fit.
///
/// - `claim_tokens`: tokens of the claims, which count towards the budget of relations.
pub(super) async fn truncate(
    scope: &FilteredSnapshot<'_>,
    question: &Question,
    entities: Vec<FoundEntity>,
    relations: Vec<(Relation, Option<f32>)>,
    claim_tokens: u32,
    counter: &LineCounter<'_>,
) -> Result<FittedGraph, QueryError> {
    let found = (entities.len(), relations.len());
    let mut names: BTreeMap<EntityKey, String> =
        entities.iter().map(|found| (found.entity.key.clone(), found.entity.name.clone())).collect();

    let mut section = Section::new(question.max_entity_tokens, counter);
    let mut kept_entities = Vec::new();
    for entity in entities {
        let line = entity_line(&entity.entity.name, &entity.entity.kind, &entity.entity.description);
        if !section.push(line) {
            break;
        }
        kept_entities.push(entity);
    }
    let (entity_lines, entity_tokens) = (section.lines, section.tokens);

    let mut section = Section::new(question.max_relation_tokens.saturating_sub(claim_tokens), counter);
    let mut kept_relations = Vec::new();
    let mut rest = relations.into_iter();
    'blocks: loop {
        let block: Vec<(Relation, Option<f32>)> = rest.by_ref().take(NAME_BLOCK).collect();
        if block.is_empty() {
            break;
        }
        look_up_names(scope, block.iter().map(|(relation, _)| relation), &mut names).await?;
        for (relation, score) in block {
            let ends = relation.key.ends().map(|end| name_of(&names, end));
            if !section.push(relation_line(&ends, &relation.description)) {
                break 'blocks;
            }
            kept_relations.push(FoundRelation { relation, ends, score });
        }
    }
    let dropped = (found.0 - kept_entities.len(), found.1 - kept_relations.len());
    if dropped != (0, 0) {
        tracing::debug!(entities = dropped.0, relations = dropped.1, "left out for the token budgets");
    }
    Ok(FittedGraph {
        entities: kept_entities,
        relations: kept_relations,
        entity_lines,
        relation_lines: section.lines,
        tokens: entity_tokens + section.tokens + claim_tokens,
        ..FittedGraph::default()
    })
}

impl FittedGraph {
    /// Adds the head of a list of nodes, within [`MAX_NODES`] and [`MAX_NODE_TOKENS`].
    pub(super) fn take_nodes(&mut self, nodes: Vec<(LayerNode, f32)>, counter: &LineCounter<'_>) {
        let mut section = Section::new(MAX_NODE_TOKENS, counter);
        for (node, score) in nodes.into_iter().take(MAX_NODES) {
            if !section.push(summary_line(&node.title, &node.text)) {
                break;
            }
            let LayerNode { key, layer, level, title, text, .. } = node;
            self.nodes.push(FoundNode { id: key, layer, level, title, text, score });
        }
        if !section.lines.is_empty() {
            self.tokens += section.tokens + summary_frame_tokens(counter);
        }
        self.node_lines = section.lines;
    }
}

/// Lines within a budget.
struct Section<'a> {
    lines: Vec<String>,
    tokens: u32,
    max_tokens: u32,
    counter: &'a LineCounter<'a>,
}

impl<'a> Section<'a> {
    fn new(max_tokens: u32, counter: &'a LineCounter<'a>) -> Self {
        Self { lines: Vec::new(), tokens: 0, max_tokens, counter }
    }

    /// Adds the line and returns true if it fits.
    fn push(&mut self, line: String) -> bool {
        let tokens = self.tokens.saturating_add(self.counter.tokens(&line));
        let fits = tokens <= self.max_tokens;
        if fits {
            self.tokens = tokens;
            self.lines.push(line);
        }
        fits
    }
}

/// Adds the missing display names of the relations' ends.
async fn look_up_names(
    scope: &FilteredSnapshot<'_>,
    relations: impl Iterator<Item = &Relation>,
    names: &mut BTreeMap<EntityKey, String>,
) -> Result<(), QueryError> {
    let ends: BTreeSet<&EntityKey> = relations.flat_map(|relation| relation.key.ends()).collect();
    let unknown: Vec<EntityKey> = ends.into_iter().filter(|end| !names.contains_key(*end)).cloned().collect();
    if !unknown.is_empty() {
        let entities = scope.entities(&unknown).await?;
        names.extend(entities.into_iter().flatten().map(|entity| (entity.key, entity.name)));
    }
    Ok(())
}

/// Returns the display name, or the key if the entity is unknown.
fn name_of(names: &BTreeMap<EntityKey, String>, key: &EntityKey) -> String {
    names.get(key).cloned().unwrap_or_else(|| key.to_string())
}

/// Returns the display names of both ends of each relation, in key order.
pub(super) async fn names_of_ends(
    scope: &FilteredSnapshot<'_>,
    relations: &[Relation],
) -> Result<Vec<[String; 2]>, QueryError> {
    let mut names = BTreeMap::new();
    look_up_names(scope, relations.iter(), &mut names).await?;
    Ok(relations.iter().map(|relation| relation.key.ends().map(|end| name_of(&names, end))).collect())
}
