//! LightRAG's graph file: GraphML as written by NetworkX.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::SEPARATOR;
use crate::MigrateError;

/// The graph.
#[derive(Debug, Default)]
pub(super) struct GraphFile {
    /// Entities by name.
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) edges: Vec<Edge>,
}

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) kind: String,
    pub(super) description: String,
    /// Ids of chunks.
    pub(super) sources: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct Edge {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) description: String,
    pub(super) keywords: Vec<String>,
    pub(super) weight: f64,
    pub(super) sources: Vec<String>,
}

/// The element that is being read.
#[derive(Default)]
struct Item {
    /// Name of a node, or both ends of an edge.
    ends: Vec<String>,
    /// Values by attribute name.
    data: BTreeMap<String, String>,
}

impl GraphFile {
    pub(super) fn read(path: &Path) -> Result<Self, MigrateError> {
        let damaged = |what: String| MigrateError::Damaged { path: path.to_owned(), what };
        let file = File::open(path).map_err(|source| MigrateError::Read { path: path.to_owned(), source })?;
        let mut reader = Reader::from_reader(BufReader::new(file));
        let mut graph = Self::default();
        // Attributes by their short ids, such as `d0`.
        let mut attributes: BTreeMap<String, String> = BTreeMap::new();
        let (mut item, mut open_data, mut closed) = (Item::default(), None::<String>, false);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = reader.read_event_into(&mut buffer).map_err(|error| damaged(error.to_string()))?;
            match &event {
                Event::Start(start) | Event::Empty(start) => match start.local_name().as_ref() {
                    "key" => {
                        let id = attribute(start, "id").unwrap_or_default();
                        attributes.insert(id, attribute(start, "attr.name").unwrap_or_default());
                    }
                    "node" | "edge" => {
                        let ends = ["id", "source", "target"];
                        let is_node = start.local_name().as_ref() == "node";
                        let ends = if is_node { &ends[..1] } else { &ends[1..] };
                        let ends = ends.iter().filter_map(|name| attribute(start, name)).collect();
                        item = Item { ends, data: BTreeMap::new() };
                        if matches!(event, Event::Empty(_)) {
                            graph.take(std::mem::take(&mut item));
                        }
                    }
                    "data" => {
                        let key = attribute(start, "key").unwrap_or_default();
                        open_data = Some(attributes.get(&key).cloned().unwrap_or(key));
                    }
                    _ => {}
                },
                Event::Text(text) => {
                    if let Some(name) = &open_data {
                        item.data.entry(name.clone()).or_default().push_str(text);
                    }
                }
                Event::GeneralRef(reference) => {
                    if let Some(name) = &open_data {
                        let reference: &str = reference;
                        let text = quick_xml::escape::unescape(&format!("&{reference};"))
                            .map_err(|error| damaged(error.to_string()))?
                            .into_owned();
                        item.data.entry(name.clone()).or_default().push_str(&text);
                    }
                }
                Event::End(end) => match end.local_name().as_ref() {
                    "node" | "edge" => graph.take(std::mem::take(&mut item)),
                    "data" => open_data = None,
                    "graphml" => closed = true,
                    _ => {}
                },
                Event::Eof => break,
                _ => {}
            }
        }
        if closed { Ok(graph) } else { Err(damaged("the file is truncated".to_owned())) }
    }

    fn take(&mut self, item: Item) {
        let Item { ends, mut data } = item;
        let mut field = |name: &str| data.remove(name).unwrap_or_default();
        let list = |text: String, separator: &str| {
            let items = text.split(separator).map(str::trim).filter(|item| !item.is_empty());
            items.map(str::to_owned).collect::<Vec<_>>()
        };
        let (description, sources) = (field("description"), list(field("source_id"), SEPARATOR));
        match <[String; 2]>::try_from(ends) {
            Ok([source, target]) => self.edges.push(Edge {
                source,
                target,
                description,
                keywords: list(field("keywords").replace([',', '，'], SEPARATOR), SEPARATOR),
                weight: field("weight")
                    .parse()
                    .ok()
                    .filter(|it: &f64| it.is_finite() && *it >= 0.0)
                    .unwrap_or(1.0),
                sources,
            }),
            Err(ends) => {
                let Some(name) = ends.into_iter().next() else { return };
                self.nodes.insert(name, Node { kind: field("entity_type"), description, sources });
            }
        }
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = start.try_get_attribute(name).ok()??;
    quick_xml::escape::unescape(&attribute.value).ok().map(std::borrow::Cow::into_owned)
}
