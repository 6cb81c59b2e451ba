//! Turns JSON values into records, whatever their keys are called.

use std::collections::BTreeSet;

use graphloom_core::RejectReason;

use super::json::{Json, Node};
use super::record::{self, UNTYPED, Weight};
use super::{Damage, ParsedRecord, ParsedResponse};

const NAMES: [&str; 5] = ["name", "entityname", "entity", "title", "label"];
/// More keys for the name in a list of entities.
const MENTIONS: [&str; 3] = ["text", "mention", "value"];
const KINDS: [&str; 6] = ["type", "entitytype", "category", "kind", "class", "label"];
const DESCRIPTIONS: [&str; 7] =
    ["description", "entitydescription", "relationshipdescription", "desc", "summary", "details", "evidence"];
const SOURCES: [&str; 10] =
    ["source", "src", "sourceentity", "sourcename", "srcid", "from", "head", "subject", "entity1", "start"];
const TARGETS: [&str; 11] =
    ["target", "tgt", "targetentity", "targetname", "tgtid", "to", "tail", "object", "dst", "entity2", "end"];
const KEYWORDS: [&str; 9] = [
    "keywords",
    "relationshipkeywords",
    "keyword",
    "relation",
    "relationship",
    "relationtype",
    "predicate",
    "type",
    "label",
];
const WEIGHTS: [&str; 5] = ["weight", "strength", "relationshipstrength", "score", "confidence"];
const ENTITY_LISTS: [&str; 4] = ["entities", "entity", "nodes", "extractedentities"];
const RELATION_LISTS: [&str; 7] =
    ["relationships", "relations", "edges", "triples", "relationship", "facts", "extractedrelationships"];
const THEMES: [&str; 4] = ["contentkeywords", "themes", "highlevelkeywords", "topics"];

/// What the items of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListItems {
    Anything,
    Entities,
    Relations,
}

/// Adds the records of `root` to `found`, and what looks like a record but is not one to the rejects. True if anything was meant
/// as a record or a list of records.
pub(super) fn collect(root: &Node, found: &mut ParsedResponse) -> bool {
    Collector { found, meant: false }.run(root)
}

struct Collector<'r> {
    found: &'r mut ParsedResponse,
    meant: bool,
}

impl Collector<'_> {
    fn run(mut self, root: &Node) -> bool {
        self.node(root, ListItems::Anything, None);
        self.meant
    }

    /// `name`: the key of the node, in a list that is written as an object.
    fn node(&mut self, node: &Node, expected: ListItems, name: Option<&str>) {
        match &node.value {
            Json::Array(items) => {
                if self.tuple(node, items, expected) {
                    return;
                }
                for item in items {
                    self.node(item, expected, None);
                }
            }
            Json::Object(members) => self.object(node, members, expected, name),
            Json::Text(text) if expected == ListItems::Entities && name.is_none() => {
                // A list of names.
                self.add(
                    node,
                    record::entity(text, UNTYPED, "").map(ParsedRecord::Entity),
                    [Damage::FieldCount],
                );
            }
            Json::Text(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
        }
    }

    fn object(&mut self, node: &Node, members: &[(String, Node)], expected: ListItems, name: Option<&str>) {
        let folded: Vec<(String, &Node)> = members.iter().map(|(key, value)| (fold(key), value)).collect();
        let field = |keys: &[&str]| {
            keys.iter().find_map(|key| folded.iter().find(|(known, _)| known == key)).map(|(_, value)| *value)
        };
        let text = |keys: &[&str]| field(keys).and_then(text_of);
        let listed = folded.iter().any(|(key, value)| {
            let list = ENTITY_LISTS.contains(&key.as_str()) || RELATION_LISTS.contains(&key.as_str());
            list && matches!(value.value, Json::Array(_) | Json::Object(_))
        });
        let ends = (field(&SOURCES).is_some(), field(&TARGETS).is_some());
        let declared =
            text(&["recordtype", "record"]).or_else(|| text(&["type"])).map(|declared| fold(&declared));
        let tag = declared.as_deref().and_then(super::marks::tag_of);
        if !listed && (ends.0 || ends.1) && (ends == (true, true) || expected == ListItems::Relations) {
            return self.relation(node, &text, field(&KEYWORDS), field(&WEIGHTS), tag.is_some());
        }
        let mention = || if expected == ListItems::Entities { text(&MENTIONS) } else { None };
        let named = text(&NAMES).or_else(|| name.map(str::to_owned)).or_else(mention);
        if !listed && let Some(named) = named {
            let described = field(&KINDS).is_some() || field(&DESCRIPTIONS).is_some();
            if described || expected == ListItems::Entities {
                let kind = if tag.is_some() { text(&KINDS[1..]) } else { text(&KINDS) };
                let mut damage = BTreeSet::new();
                let kind = kind.filter(|kind| !kind.trim().is_empty()).unwrap_or_else(|| {
                    damage.insert(Damage::FieldCount);
                    UNTYPED.to_owned()
                });
                damage.extend(wrong_types(&folded, &[&NAMES, &KINDS, &DESCRIPTIONS]));
                let description = text(&DESCRIPTIONS).unwrap_or_default();
                let entity = record::entity(&named, &kind, &description).map(ParsedRecord::Entity);
                return self.add(node, entity, damage);
            }
        }
        let mut inside = false;
        for (key, value) in &folded {
            let key = key.as_str();
            if THEMES.contains(&key) {
                let themes = strings(value);
                if !themes.is_empty() && !value.cut {
                    self.meant = true;
                    inside = true;
                    self.found.add(value.start..value.end, ParsedRecord::Themes(themes), BTreeSet::new());
                }
                continue;
            }
            let within = match key {
                key if ENTITY_LISTS.contains(&key) => ListItems::Entities,
                key if RELATION_LISTS.contains(&key) => ListItems::Relations,
                _ => ListItems::Anything,
            };
            match &value.value {
                Json::Array(_) => {
                    self.meant |= within != ListItems::Anything;
                    inside = true;
                    self.node(value, if within == ListItems::Anything { expected } else { within }, None);
                }
                Json::Object(inner) => {
                    self.meant |= within != ListItems::Anything;
                    inside = true;
                    // `{"entities": {"Ada": {...}}}`
                    let by_name = within == ListItems::Entities
                        && inner.iter().all(|(_, value)| matches!(value.value, Json::Object(_)));
                    if by_name {
                        for (name, value) in inner {
                            self.node(value, within, Some(name));
                        }
                    } else {
                        self.node(value, if within == ListItems::Anything { expected } else { within }, None);
                    }
                }
                Json::Text(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
            }
        }
        if !inside && expected != ListItems::Anything {
            self.add(node, Err(RejectReason::FieldCount), []);
        }
    }

    fn relation(
        &mut self,
        node: &Node,
        text: &dyn Fn(&[&str]) -> Option<String>,
        keywords: Option<&Node>,
        weight: Option<&Node>,
        tagged: bool,
    ) {
        let (source, target) = (text(&SOURCES).unwrap_or_default(), text(&TARGETS).unwrap_or_default());
        let description = text(&DESCRIPTIONS).unwrap_or_default();
        let keywords = keywords
            .map(strings)
            .unwrap_or_default()
            .into_iter()
            .filter(|keyword| !(tagged && super::marks::tag_of(keyword).is_some()))
            .collect();
        let stated = weight.and_then(text_of).and_then(|weight| record::weight(&weight));
        let mut damage = BTreeSet::new();
        if matches!(stated, Some(Weight::Worded(_))) {
            damage.insert(Damage::Weight);
        }
        let weight = stated.map_or(1.0, Weight::value);
        let relation = record::relation(&source, &target, keywords, &description, weight);
        self.add(node, relation.map(ParsedRecord::Relation), damage);
    }

    /// Reads `["entity", name, type, description]`, and `[source, keywords, target]` where relations are expected.
    fn tuple(&mut self, node: &Node, items: &[Node], expected: ListItems) -> bool {
        let fields: Option<Vec<String>> = items
            .iter()
            .map(|item| match &item.value {
                Json::Text(_) | Json::Number(_) => text_of(item),
                Json::Object(_) | Json::Array(_) | Json::Bool(_) | Json::Null => None,
            })
            .collect();
        let Some(fields) = fields else { return false };
        let tag = fields.first().and_then(|first| super::marks::tag_of(first));
        let record = match (tag, fields.iter().map(String::as_str).collect::<Vec<_>>().as_slice()) {
            (Some(super::marks::Tag::Entity), [_, name, kind, description]) => {
                record::entity(name, kind, description).map(ParsedRecord::Entity)
            }
            (Some(super::marks::Tag::Relation), [_, source, target, keywords, description]) => {
                record::relation(source, target, record::keywords(keywords), description, 1.0)
                    .map(ParsedRecord::Relation)
            }
            (None, [source, keywords, target]) if expected == ListItems::Relations => {
                record::relation(source, target, record::keywords(keywords), "", 1.0)
                    .map(ParsedRecord::Relation)
            }
            _ => return false,
        };
        self.add(node, record, [Damage::FieldCount]);
        true
    }

    fn add(
        &mut self,
        node: &Node,
        record: Result<ParsedRecord, RejectReason>,
        damage: impl IntoIterator<Item = Damage>,
    ) {
        self.meant = true;
        if node.cut {
            return self.found.reject(RejectReason::Cut, node.start..node.end);
        }
        let mut damage: BTreeSet<Damage> = damage.into_iter().collect();
        if node.repaired {
            damage.insert(Damage::Json);
        }
        match record {
            Ok(record) => self.found.add(node.start..node.end, record, damage),
            Err(reason) => self.found.reject(reason, node.start..node.end),
        }
    }
}

/// Returns a key in lower case without punctuation: `Entity_Name` and `entityName` become equal.
fn fold(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the text of a value of any type; `None` for null and for an object without a name.
fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Json::Text(text) => Some(text.clone()),
        Json::Number(number) => Some(number.clone()),
        Json::Bool(is) => Some(is.to_string()),
        Json::Null => None,
        Json::Array(items) => Some(items.iter().filter_map(text_of).collect::<Vec<_>>().join(" ")),
        Json::Object(members) => {
            members.iter().find(|(key, _)| NAMES.contains(&fold(key).as_str())).and_then(|(_, value)| {
                if matches!(value.value, Json::Object(_)) { None } else { text_of(value) }
            })
        }
    }
}

/// Returns the keywords of a list, or of a comma-separated text.
fn strings(node: &Node) -> Vec<String> {
    match &node.value {
        Json::Text(text) => record::keywords(text),
        Json::Array(items) => {
            items.iter().filter_map(text_of).filter(|text| !text.trim().is_empty()).collect()
        }
        Json::Number(_) | Json::Bool(_) | Json::Null | Json::Object(_) => Vec::new(),
    }
}

fn wrong_types(members: &[(String, &Node)], fields: &[&[&str]]) -> Option<Damage> {
    let wrong = members.iter().any(|(key, value)| {
        let is_field = fields.iter().any(|names| names.contains(&key.as_str()));
        is_field && !matches!(value.value, Json::Text(_))
    });
    wrong.then_some(Damage::WrongType)
}
