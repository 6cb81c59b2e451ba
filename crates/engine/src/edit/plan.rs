//! Turns a requested edit into a decision and checks it against the graph.

use std::collections::BTreeSet;

use graphloom_core::{
    Action, ChunkId, Decision, Decisions, Entity, EntityKey, Relation, RelationKey, Snapshot, StoreError,
};

use super::merge::plan_merge;
use super::{DescriptionRule, Edit, EditError, KindRule};
use crate::Engine;
use crate::graph::SUMMARY_TOKENS;
use graphloom_text::{MAX_NAME_BYTES, MAX_NAME_CHARS, clean_name, entity_key, sanitize};

/// Maximum length of a type or keyword, in characters.
const MAX_WORD_CHARS: usize = 256;
/// Maximum weight, so that sums of many weights stay finite and exact enough to compare.
const MAX_WEIGHT: f64 = 1e9;
/// Minimum length of an id prefix to search for.
const MIN_ID_DIGITS: usize = 4;

/// Returns the entity with that name, in any spelling that leads to its key, or the entity that the name was merged into; `None`
/// if there is none.
pub async fn find_entity(snapshot: &dyn Snapshot, name: &str) -> Result<Option<Entity>, StoreError> {
    let decisions = Decisions::read(snapshot).await?;
    known(snapshot, &decisions, name).await
}

pub(super) async fn plan(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    edit: &Edit,
) -> Result<EditPlan, EditError> {
    let plan = Plan { engine, snapshot, decisions };
    let action = match edit {
        Edit::CreateEntity { name, kind, description } => {
            plan.create(name, kind.as_deref(), description).await
        }
        Edit::EditEntity { name, kind, description } => {
            plan.edit(name, kind.as_deref(), description.as_deref()).await
        }
        Edit::RenameEntity { name, to, merge, kind, description } => {
            let renamed = plan.rename(name, to, *merge).await?;
            return plan.and_edit(renamed, kind.as_deref(), description.as_deref());
        }
        Edit::DeleteEntity { name } => {
            Ok(Action::DeleteEntity { key: find(snapshot, decisions, name).await?.key })
        }
        Edit::Merge { sources, into, description, kind } => {
            plan_merge(engine, snapshot, decisions, sources, into, description, kind).await
        }
        Edit::Split { name, chunks, into } => plan.split(name, chunks, into).await,
        Edit::NotSame { one, other } => plan.not_same(one, other).await,
        Edit::CreateRelation { source, target, keywords, description, weight } => {
            plan.create_relation([source, target], keywords, description, *weight).await
        }
        Edit::EditRelation { source, target, keywords, description, weight } => {
            plan.edit_relation([source, target], keywords.as_deref(), description.as_deref(), *weight).await
        }
        Edit::DeleteRelation { source, target } => {
            Ok(Action::DeleteRelation { relation: plan.relation([source, target]).await?.key })
        }
        Edit::Undo { decision } => Ok(Action::Undo { decision: undoable(decisions, decision.as_deref())? }),
    };
    Ok(EditPlan { action: action?, after: None })
}

/// The result of planning an edit: one decision, or two for one commit.
pub(super) struct EditPlan {
    pub(super) action: Action,
    /// A second decision, made right after the first.
    pub(super) after: Option<Action>,
}

struct Plan<'a> {
    engine: &'a Engine,
    snapshot: &'a dyn Snapshot,
    decisions: &'a Decisions,
}

impl Plan<'_> {
    async fn create(&self, name: &str, kind: Option<&str>, description: &str) -> Result<Action, EditError> {
        if let Some(known) = known(self.snapshot, self.decisions, name).await? {
            return Err(self.taken(name, known, false));
        }
        let (key, name) = key_of(name)?;
        let kind = kind.map(|kind| text_of(self.engine, "type", kind)).transpose()?;
        let description = text_of(self.engine, "description", description)?;
        Ok(Action::CreateEntity { key, name, kind, description })
    }

    async fn edit(
        &self,
        name: &str,
        kind: Option<&str>,
        description: Option<&str>,
    ) -> Result<Action, EditError> {
        let entity = find(self.snapshot, self.decisions, name).await?;
        if kind.is_none() && description.is_none() {
            return Err(EditError::NothingToChange { name: entity.name });
        }
        let kind = kind.map(|kind| text_of(self.engine, "type", kind)).transpose()?;
        let description = description.map(|text| text_of(self.engine, "description", text)).transpose()?;
        Ok(Action::EditEntity { key: entity.key, name: None, kind, description })
    }

    async fn rename(&self, name: &str, to: &str, merge: bool) -> Result<Action, EditError> {
        let entity = find(self.snapshot, self.decisions, name).await?;
        let (into, new_name) = key_of(to)?;
        if into == entity.key {
            if new_name == entity.name {
                return Err(EditError::NothingToChange { name: entity.name });
            }
            let name = Some(new_name);
            return Ok(Action::EditEntity { key: entity.key, name, kind: None, description: None });
        }
        match known(self.snapshot, self.decisions, to).await?.filter(|known| known.key != entity.key) {
            Some(known) if merge => {
                let (description, kind) = (DescriptionRule::default(), KindRule::default());
                let sources = [entity.key.to_string()];
                let into = known.key.as_str();
                plan_merge(self.engine, self.snapshot, self.decisions, &sources, into, &description, &kind)
                    .await
            }
            Some(known) => Err(self.taken(&new_name, known, true)),
            None => {
                let ours = BTreeSet::from([entity.key.clone()]);
                match self.decisions.apart(&ours, &BTreeSet::from([into.clone()])) {
                    Some(verdict) => Err(EditError::Apart {
                        one: entity.name,
                        other: new_name,
                        decision: verdict.id.clone(),
                    }),
                    None => Ok(Action::RenameEntity { key: entity.key, into, name: new_name }),
                }
            }
        }
    }

    /// Adds another type or description to a renaming, for the entity under its new name.
    fn and_edit(
        &self,
        renamed: Action,
        kind: Option<&str>,
        description: Option<&str>,
    ) -> Result<EditPlan, EditError> {
        let Some(key) = super::about(&renamed, self.decisions).filter(|_| kind.or(description).is_some())
        else {
            return Ok(EditPlan { action: renamed, after: None });
        };
        let kind = kind.map(|kind| text_of(self.engine, "type", kind)).transpose()?;
        let description = description.map(|text| text_of(self.engine, "description", text)).transpose()?;
        let after = Some(Action::EditEntity { key, name: None, kind, description });
        Ok(EditPlan { action: renamed, after })
    }

    /// Returns the error for a name that belongs to another entity.
    fn taken(&self, name: &str, known: Entity, can_merge: bool) -> EditError {
        let key_of_name = key_of(name).map(|(key, _)| key).ok().filter(|key| *key != known.key);
        let by = key_of_name.and_then(|key| self.decisions.moved_by(&key).cloned());
        EditError::EntityExists { name: name.to_owned(), known: known.name, by, can_merge }
    }

    async fn split(&self, name: &str, chunks: &[ChunkId], into: &str) -> Result<Action, EditError> {
        let entity = find(self.snapshot, self.decisions, name).await?;
        let (into, into_name, existing) = target(self.snapshot, self.decisions, into).await?;
        // A name that was merged into the entity may be split off again, but not the entity's own name.
        let (own_key, own_name) = key_of(&into_name)?;
        let (into, name) = match existing {
            Some(known) if known.key == entity.key => (own_key, own_name),
            Some(known) => (known.key, known.name),
            None => (into, into_name),
        };
        if into == entity.key {
            return Err(EditError::OneEntity { one: entity.name, other: name });
        }
        if chunks.is_empty() {
            return Err(EditError::NothingToChange { name: entity.name });
        }
        let key = std::slice::from_ref(&entity.key);
        let mentions = self.snapshot.mentions_of(key).await?.into_iter().flatten();
        let mut speaking: BTreeSet<ChunkId> =
            mentions.filter(|mention| !mention.set_aside).map(|mention| mention.chunk).collect();
        let facts = self.snapshot.facts_touching(key).await?.into_iter().flatten();
        speaking.extend(facts.filter(|fact| !fact.set_aside).map(|fact| fact.chunk));
        if let Some(foreign) = chunks.iter().find(|chunk| !speaking.contains(chunk)) {
            return Err(EditError::ForeignChunk { chunk: foreign.to_string(), name: entity.name });
        }
        let chunks: Vec<ChunkId> = chunks.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        Ok(Action::SplitEntity { key: entity.key, chunks, into, name })
    }

    async fn not_same(&self, one: &str, other: &str) -> Result<Action, EditError> {
        let (a, b) = (self.key_in_use(one).await?, self.key_in_use(other).await?);
        let pair = RelationKey::new(a, b)
            .ok_or_else(|| EditError::OneEntity { one: one.to_owned(), other: other.to_owned() })?;
        let action = Action::NotSame { pair };
        match self.decisions.holding().find(|decision| decision.action == action) {
            Some(decision) => Err(EditError::AlreadyDecided { decision: decision.id.clone() }),
            None => Ok(action),
        }
    }

    /// Returns the key for a name: that of an entity, or a key that was merged into an entity.
    async fn key_in_use(&self, name: &str) -> Result<EntityKey, EditError> {
        if let Ok((key, _)) = key_of(name)
            && self.decisions.moved_by(&key).is_some()
        {
            return Ok(key);
        }
        Ok(find(self.snapshot, self.decisions, name).await?.key)
    }

    /// Returns two different entities and the key of their relation.
    async fn ends(&self, [source, target]: [&str; 2]) -> Result<([Entity; 2], RelationKey), EditError> {
        let source = find(self.snapshot, self.decisions, source).await?;
        let target = find(self.snapshot, self.decisions, target).await?;
        match RelationKey::new(source.key.clone(), target.key.clone()) {
            Some(key) => Ok(([source, target], key)),
            None => Err(EditError::OneEntity { one: source.name, other: target.name }),
        }
    }

    async fn relation(&self, names: [&str; 2]) -> Result<Relation, EditError> {
        let ([source, target], key) = self.ends(names).await?;
        let found = self.snapshot.relations(&[key]).await?.into_iter().flatten().next();
        found.ok_or(EditError::UnknownRelation { source_name: source.name, target: target.name })
    }

    async fn create_relation(
        &self,
        names: [&str; 2],
        keywords: &[String],
        description: &str,
        weight: Option<f64>,
    ) -> Result<Action, EditError> {
        let ([source, target], key) = self.ends(names).await?;
        if self.snapshot.relations(&[key]).await?.into_iter().flatten().next().is_some() {
            return Err(EditError::RelationExists { source_name: source.name, target: target.name });
        }
        Ok(Action::CreateRelation {
            source: source.key,
            target: target.key,
            source_name: source.name,
            target_name: target.name,
            keywords: self.keywords(keywords)?,
            description: text_of(self.engine, "description", description)?,
            weight: checked_weight(weight.unwrap_or(1.0))?,
        })
    }

    async fn edit_relation(
        &self,
        names: [&str; 2],
        keywords: Option<&[String]>,
        description: Option<&str>,
        weight: Option<f64>,
    ) -> Result<Action, EditError> {
        let relation = self.relation(names).await?.key;
        if keywords.is_none() && description.is_none() && weight.is_none() {
            return Err(EditError::NothingToChange { name: names.join(" - ") });
        }
        Ok(Action::EditRelation {
            relation,
            keywords: keywords.map(|keywords| self.keywords(keywords)).transpose()?,
            description: description.map(|text| text_of(self.engine, "description", text)).transpose()?,
            weight: weight.map(checked_weight).transpose()?,
        })
    }

    fn keywords(&self, keywords: &[String]) -> Result<Vec<String>, EditError> {
        let words: Result<BTreeSet<String>, EditError> =
            keywords.iter().map(|keyword| text_of(self.engine, "keyword", keyword)).collect();
        Ok(words?.into_iter().collect())
    }
}

/// Returns the entity with that name; fails if there is none.
pub(super) async fn find(
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    name: &str,
) -> Result<Entity, EditError> {
    known(snapshot, decisions, name).await?.ok_or_else(|| EditError::UnknownEntity { name: name.to_owned() })
}

/// Returns the key and the name of an existing or future entity, and the entity if it exists.
pub(super) async fn target(
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    name: &str,
) -> Result<(EntityKey, String, Option<Entity>), EditError> {
    if let Some(entity) = known(snapshot, decisions, name).await? {
        return Ok((entity.key.clone(), entity.name.clone(), Some(entity)));
    }
    let (key, name) = key_of(name)?;
    Ok((key, name, None))
}

async fn known(
    snapshot: &dyn Snapshot,
    decisions: &Decisions,
    name: &str,
) -> Result<Option<Entity>, StoreError> {
    let keys_of_name: Vec<EntityKey> = clean_name(name)
        .and_then(|name| entity_key(&name))
        .into_iter()
        .chain([EntityKey::from_stored(name)])
        .collect();
    let resolved = keys_of_name.iter().map(|key| decisions.resolve(key)).collect::<Vec<_>>();
    let keys: Vec<EntityKey> = keys_of_name.into_iter().chain(resolved).collect();
    Ok(snapshot.entities(&keys).await?.into_iter().flatten().next())
}

/// Returns the key and the clean form of a name. Names that are too long are rejected: truncated, they would be other names.
fn key_of(name: &str) -> Result<(EntityKey, String), EditError> {
    let (chars, bytes) = (name.trim().chars().count(), name.trim().len());
    if chars > MAX_NAME_CHARS || bytes > MAX_NAME_BYTES {
        let what = format!(
            "a name of {chars} characters ({bytes} bytes) is too long for an entity: the limit is {MAX_NAME_CHARS} characters and \
             {MAX_NAME_BYTES} bytes"
        );
        return Err(EditError::BadValue { what });
    }
    let clean = clean_name(name).and_then(|clean| Some((entity_key(&clean)?, clean)));
    clean.ok_or_else(|| EditError::BadValue { what: format!("{name:?} is not a valid entity name") })
}

/// Returns a text in the form in which it may be stored: without control characters, not empty, not too long.
pub(super) fn text_of(engine: &Engine, what: &str, text: &str) -> Result<String, EditError> {
    let text = sanitize(text).trim().to_owned();
    let bad = |why: String| Err(EditError::BadValue { what: format!("the {what} {why}") });
    if text.is_empty() {
        return bad("is empty".to_owned());
    }
    if what != "description" {
        return match text.chars().count() {
            count if count > MAX_WORD_CHARS => {
                bad(format!("has {count} characters, the limit is {MAX_WORD_CHARS}"))
            }
            _ => Ok(text),
        };
    }
    match engine.tokenizer.count(&text) {
        count if count > SUMMARY_TOKENS => bad(format!("has {count} tokens, the limit is {SUMMARY_TOKENS}")),
        _ => Ok(text),
    }
}

fn checked_weight(weight: f64) -> Result<f64, EditError> {
    if (0.0..=MAX_WEIGHT).contains(&weight) {
        return Ok(weight);
    }
    Err(EditError::BadValue { what: format!("the weight {weight:e} is not a number from 0 to {MAX_WEIGHT}") })
}

/// Returns the decision with that id or id prefix, if it is in effect; without an id, the latest decision in effect.
fn undoable(decisions: &Decisions, id: Option<&str>) -> Result<graphloom_core::DecisionId, EditError> {
    let Some(given) = id else {
        return decisions.holding().last().map(|last| last.id.clone()).ok_or(EditError::NothingToUndo);
    };
    let digits = given.strip_prefix("dec-").unwrap_or(given);
    let is_match = |decision: &&Decision| {
        digits.len() >= MIN_ID_DIGITS && decision.id.as_str().trim_start_matches("dec-").starts_with(digits)
    };
    let matches: Vec<&Decision> = decisions.all().iter().filter(is_match).collect();
    match matches.as_slice() {
        [one] => match decisions.undone_by(&one.id) {
            Some(by) => Err(EditError::AlreadyUndone { decision: one.id.clone(), by: by.clone() }),
            None => Ok(one.id.clone()),
        },
        _ => Err(EditError::UnknownDecision { id: given.to_owned(), matches: matches.len() }),
    }
}
