//! The material from which a report is written: the entities and relations of a community, or the reports of its parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use graphloom_core::{
    ChunkId, ContentHash, Decisions, Entity, EntityKey, GraphKey, IsoDate, LayerNode, Member, NodeKey,
    Relation, Snapshot, StoreError,
};

use super::LayerPlan;
use super::communities::MAX_REPORT_CONTEXT_TOKENS;
use super::report::{Report, ReportSource};
use crate::Engine;
use crate::claims::{MergedClaim, claims_about};
use crate::filtered::FilteredSnapshot;
use graphloom_offline::is_proper;
use graphloom_text::{Tokenizer, one_line};

/// More entities than this never fit into the context, even without descriptions.
const MAX_GRAPH_ENTITIES: usize = 500;
/// Number of entities whose relations are read at once.
const PAGE: usize = 500;
/// Maximum number of relations between parts that are kept for the context, the most salient ones.
const MAX_RELATIONS: usize = 1000;
/// Maximum number of chunks per entity or relation that are searched for references.
const MAX_CHUNKS: usize = 16;
/// Number of entities in the title of a report by rules, and number of candidates from which they are chosen.
const LEADING: usize = 3;
const LEADING_CANDIDATES: usize = 24;
/// Maximum number of relations that a report by rules considers.
const LEADING_RELATIONS: usize = 20;
/// Maximum tokens per description, tried in this order until the context fits. A community with parts is written from their
/// reports before its descriptions get as short as the last values.
const DESCRIPTION_TOKENS: [u32; 7] = [1200, 400, 200, 100, 50, 25, 0];
/// Maximum number of claims in the context of a report.
const MAX_CLAIMS: usize = 30;
/// Minimum for [`DESCRIPTION_TOKENS`] in a community with parts.
const SHORTEST_WITH_PARTS: u32 = 100;

/// The material from which a report is written.
pub(super) struct Material {
    /// The data as the LLM gets it.
    pub(super) text: String,
    /// What each id in the text refers to.
    pub(super) sources: BTreeMap<String, Source>,
    /// The chunks behind the entities and relations of the text.
    pub(super) chunks: BTreeMap<GraphKey, Vec<ChunkId>>,
    /// Hash of the evidence that references can point to.
    pub(super) evidence: ContentHash,
    pub(super) source: ReportSource,
    /// The nodes on which it is built.
    pub(super) parts: Vec<LayerNode>,
    /// All entities of the community, ascending.
    pub(super) members: Vec<EntityKey>,
    /// The entities with the most relations, names before common nouns.
    pub(super) leading: Vec<Entity>,
    /// The most salient relations of the text.
    pub(super) leading_relations: Vec<Relation>,
    /// Claims that connect its entities, one line each.
    claims: Vec<String>,
    /// Names by key.
    names: BTreeMap<EntityKey, String>,
    pub(super) entities: u32,
    pub(super) relations: u32,
    pub(super) omitted_relations: u32,
}

/// What an id refers to.
pub(super) enum Source {
    /// An entity or a relation.
    Item(GraphKey),
    /// A part of the community, by its position among the parts.
    Part(usize),
}

impl Material {
    /// Reads the material of a node.
    pub(super) async fn read(
        engine: &Engine,
        snapshot: &dyn Snapshot,
        planned: &LayerPlan,
        node: &LayerNode,
        parts: &[LayerNode],
    ) -> Result<Self, StoreError> {
        let places = places(planned, node, parts);
        let entities: Vec<EntityKey> = places.keys().cloned().collect();
        let degrees: BTreeMap<EntityKey, u32> =
            entities.iter().cloned().zip(snapshot.degrees(&entities).await?).collect();
        let fits_graph = entities.len() <= MAX_GRAPH_ENTITIES;
        let relations = read_relations(snapshot, &places, &degrees, fits_graph).await?;
        let mut ranked = entities.clone();
        ranked.sort_by(|one, other| degrees[other].cmp(&degrees[one]).then_with(|| one.cmp(other)));
        let candidates = &ranked[..ranked.len().min(LEADING_CANDIDATES)];
        let mut leading: Vec<Entity> = snapshot.entities(candidates).await?.into_iter().flatten().collect();
        leading.sort_by_cached_key(|entity| !is_proper(&entity.name));
        leading.truncate(LEADING);
        let mut material = Self {
            text: String::new(),
            sources: BTreeMap::new(),
            chunks: BTreeMap::new(),
            evidence: ContentHash::of(&[]),
            source: ReportSource::Graph,
            parts: parts.to_vec(),
            leading,
            leading_relations: Vec::new(),
            claims: Vec::new(),
            names: BTreeMap::new(),
            entities: entities.len() as u32,
            members: entities,
            relations: relations.internal,
            omitted_relations: 0,
        };
        material
            .names
            .extend(material.leading.iter().map(|entity| (entity.key.clone(), entity.name.clone())));
        let mut hash = vec![
            ContentHash::of_parts(&parts.iter().map(|part| part.inputs_hash.as_str()).collect::<Vec<_>>())
                .to_string(),
        ];
        let written = fits_graph && {
            let described: Vec<Entity> = snapshot.entities(&ranked).await?.into_iter().flatten().collect();
            material.names.extend(described.iter().map(|entity| (entity.key.clone(), entity.name.clone())));
            material.claims = claim_lines(snapshot, &material.members).await?;
            material.write_graph(engine.tokenizer, &described, &relations.kept)
        };
        if !written {
            let between: Vec<Relation> =
                relations.kept.into_iter().filter(|relation| is_between(&places, relation)).collect();
            let ends: BTreeSet<EntityKey> =
                between.iter().flat_map(|relation| relation.key.ends().map(EntityKey::clone)).collect();
            let ends: Vec<EntityKey> = ends.into_iter().collect();
            let named = snapshot.entities(&ends).await?.into_iter().flatten();
            material.names.extend(named.map(|entity| (entity.key, entity.name)));
            material.write_reports(engine.tokenizer, &between, relations.between);
        }
        let keys: Vec<GraphKey> = (material.sources.values())
            .filter_map(|source| match source {
                Source::Item(key) => Some(key.clone()),
                Source::Part(_) => None,
            })
            .collect();
        let chunks = snapshot.chunks_behind(&keys, None, MAX_CHUNKS).await?;
        hash.extend(chunks.iter().flatten().map(ToString::to_string));
        material.evidence = ContentHash::of_parts(&hash.iter().map(String::as_str).collect::<Vec<_>>());
        material.chunks = keys.into_iter().zip(chunks).collect();
        Ok(material)
    }

    /// Returns the name of an entity in the text.
    pub(super) fn name_of<'a>(&'a self, key: &'a EntityKey) -> &'a str {
        self.names.get(key).map_or(key.as_str(), String::as_str)
    }

    /// Writes all entities and relations; returns `false` if they do not fit.
    fn write_graph(&mut self, tokenizer: Tokenizer, entities: &[Entity], relations: &[Relation]) -> bool {
        let has_parts = !self.parts.is_empty();
        for max_tokens in DESCRIPTION_TOKENS {
            if has_parts && max_tokens < SHORTEST_WITH_PARTS {
                return false;
            }
            let mut text = String::from("Entities:\n");
            for (number, entity) in (1..).zip(entities) {
                let description = described(tokenizer, &entity.description, max_tokens);
                let _ = writeln!(text, "[E{number}] {} ({}){description}", entity.name, entity.kind);
            }
            text.push_str("\nRelations, the most important first:\n");
            self.write_relations(tokenizer, relations, max_tokens, &mut text);
            if !self.claims.is_empty() {
                text.push_str("\nClaims, with when they held:\n");
                text.extend(self.claims.iter().map(|line| format!("- {line}\n")));
            }
            // The shortest form is used even if it does not fit; the sizes of communities and names bound it.
            if tokenizer.count(&text) > MAX_REPORT_CONTEXT_TOKENS && max_tokens > 0 {
                continue;
            }
            let items = (1..).zip(entities).map(|(number, entity): (usize, &Entity)| {
                (format!("E{number}"), Source::Item(GraphKey::Entity(entity.key.clone())))
            });
            self.sources.extend(items);
            self.add_relations(relations);
            self.text = text;
            return true;
        }
        false
    }

    /// Writes the reports of the parts, as far as they fit, and the relations between the parts.
    ///
    /// - `between`: the number of relations between parts, of which `relations` are the most salient.
    fn write_reports(&mut self, tokenizer: Tokenizer, relations: &[Relation], between: u32) {
        self.source = ReportSource::Reports;
        let reports: Vec<Option<Report>> = self.parts.iter().map(Report::of).collect();
        let mut shown = relations;
        let mut detail = Detail::Full;
        let mut description_tokens = 200;
        let text = loop {
            let mut text = String::from("Reports about parts of the community:\n");
            for (number, (part, report)) in (1..).zip(self.parts.iter().zip(&reports)) {
                let body = body_of(part, report.as_ref(), detail);
                let _ = writeln!(text, "[C{number}] {}{body}", part.title);
            }
            text.push_str("\nRelations between the parts, the most important first:\n");
            self.write_relations(tokenizer, shown, description_tokens, &mut text);
            if tokenizer.count(&text) <= MAX_REPORT_CONTEXT_TOKENS {
                break text;
            }
            match detail.shorter() {
                Some(shorter) => detail = shorter,
                None if description_tokens > 0 => description_tokens /= 2,
                None if !shown.is_empty() => shown = &shown[..shown.len() / 2],
                None => break tokenizer.truncate(&text, MAX_REPORT_CONTEXT_TOKENS).to_owned(),
            }
        };
        self.omitted_relations = between - shown.len() as u32;
        self.text = text;
        self.sources.extend((0..self.parts.len()).map(|part| (format!("C{}", part + 1), Source::Part(part))));
        self.add_relations(shown);
    }

    fn write_relations(
        &self,
        tokenizer: Tokenizer,
        relations: &[Relation],
        max_tokens: u32,
        text: &mut String,
    ) {
        for (number, relation) in (1..).zip(relations) {
            let [a, b] = relation.key.ends().map(|end| self.name_of(end));
            let keywords = relation.keywords.join(", ");
            let description = described(tokenizer, &relation.description, max_tokens);
            let _ = writeln!(text, "[R{number}] {a} - {b} ({}){description}", one_line(&keywords));
        }
    }

    fn add_relations(&mut self, relations: &[Relation]) {
        let items = (1..).zip(relations).map(|(number, relation): (usize, &Relation)| {
            (format!("R{number}"), Source::Item(GraphKey::Relation(relation.key.clone())))
        });
        self.sources.extend(items);
        self.leading_relations = relations.iter().take(LEADING_RELATIONS).cloned().collect();
    }
}

/// Returns the claims that involve only these entities, latest start first, up to the maximum for a report.
async fn claim_lines(snapshot: &dyn Snapshot, entities: &[EntityKey]) -> Result<Vec<String>, StoreError> {
    let scope = FilteredSnapshot::new(snapshot, None, Tokenizer).await?;
    let decisions = Decisions::read(snapshot).await?;
    let inside: BTreeSet<&EntityKey> = entities.iter().collect();
    let mut claims = claims_about(&scope, &decisions, entities).await?;
    claims.retain(|claim| claim.entities().all(|entity| inside.contains(entity)));
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.period.start.as_ref().map(IsoDate::start_ms)));
    Ok(claims.iter().take(MAX_CLAIMS).map(MergedClaim::line).collect())
}

/// How much of a part's report is shown.
#[derive(Clone, Copy)]
enum Detail {
    Full,
    Findings,
    Summary,
    Title,
}

impl Detail {
    fn shorter(self) -> Option<Self> {
        match self {
            Self::Full => Some(Self::Findings),
            Self::Findings => Some(Self::Summary),
            Self::Summary => Some(Self::Title),
            Self::Title => None,
        }
    }
}

fn body_of(part: &LayerNode, report: Option<&Report>, detail: Detail) -> String {
    let Some(report) = report else { return String::new() };
    match detail {
        Detail::Full => format!(" (rating {}): {}", report.rating, one_line(&part.text)),
        Detail::Findings => {
            let findings = report.findings.iter().map(|finding| finding.summary.as_str());
            let findings = findings.collect::<Vec<_>>().join(" ");
            format!(" (rating {}): {} {findings}", report.rating, report.summary)
        }
        Detail::Summary => format!(" (rating {}): {}", report.rating, report.summary),
        Detail::Title => String::new(),
    }
}

/// Returns `: description`, cut to `max_tokens` tokens; empty if nothing is left.
fn described(tokenizer: Tokenizer, description: &str, max_tokens: u32) -> String {
    let line = one_line(description);
    let cut = tokenizer.truncate(&line, max_tokens).trim_end();
    if cut.is_empty() { String::new() } else { format!(": {cut}") }
}

/// Returns for each entity of the community the position of the part that contains it, or `None` if no part does.
fn places(planned: &LayerPlan, node: &LayerNode, parts: &[LayerNode]) -> BTreeMap<EntityKey, Option<usize>> {
    let mut places = BTreeMap::new();
    let by_key: BTreeMap<&NodeKey, usize> =
        parts.iter().enumerate().map(|(place, part)| (&part.key, place)).collect();
    for member in &node.members {
        match member {
            Member::Entity(key) => drop(places.insert(key.clone(), None)),
            Member::Node(key) => {
                let Some(place) = by_key.get(key).copied() else { continue };
                let below = planned.below(&parts[place].members).into_iter();
                places.extend(below.filter_map(|member| match member {
                    Member::Entity(entity) => Some((entity, Some(place))),
                    Member::Chunk(_) | Member::Node(_) => None,
                }));
            }
            Member::Chunk(_) => {}
        }
    }
    places
}

/// Relations within a community.
struct Relations {
    /// The most salient first: all relations, or only those between parts.
    kept: Vec<Relation>,
    /// Their number.
    internal: u32,
    /// The number of relations between parts.
    between: u32,
}

/// Reads the relations within a community. A relation is more salient if its entities have more relations, and then if it
/// has more weight [GraphRAG].
async fn read_relations(
    snapshot: &dyn Snapshot,
    places: &BTreeMap<EntityKey, Option<usize>>,
    degrees: &BTreeMap<EntityKey, u32>,
    keep_all: bool,
) -> Result<Relations, StoreError> {
    let salience = |relation: &Relation| {
        relation.key.ends().into_iter().map(|end| degrees.get(end).copied().unwrap_or(0)).sum::<u32>()
    };
    let mut relations = Relations { kept: Vec::new(), internal: 0, between: 0 };
    let entities: Vec<EntityKey> = places.keys().cloned().collect();
    for page in entities.chunks(PAGE) {
        for (entity, found) in page.iter().zip(snapshot.relations_of(page).await?) {
            // Each relation only once: at its smaller entity.
            let internal = found
                .into_iter()
                .filter(|relation| relation.key.a() == entity && places.contains_key(relation.key.b()));
            for relation in internal {
                relations.internal += 1;
                let between = is_between(places, &relation);
                relations.between += u32::from(between);
                if keep_all || between {
                    relations.kept.push(relation);
                }
            }
        }
        let order = |one: &Relation, other: &Relation| {
            (salience(other).cmp(&salience(one)))
                .then_with(|| other.weight.total_cmp(&one.weight))
                .then_with(|| one.key.cmp(&other.key))
        };
        relations.kept.sort_by(order);
        if !keep_all {
            relations.kept.truncate(MAX_RELATIONS);
        }
    }
    Ok(relations)
}

/// True if a relation is not inside a single part.
fn is_between(places: &BTreeMap<EntityKey, Option<usize>>, relation: &Relation) -> bool {
    let [a, b] = relation.key.ends().map(|end| places.get(end).copied().flatten());
    a.is_none() || a != b
}
