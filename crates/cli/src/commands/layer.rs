//! What the commands that show a layer share: its state, a node by the start of its id, places in documents.

use graphloom_core::{LayerName, NodeKey, Snapshot};
use graphloom_engine::derive::{LayerStatus, layer_states};

use super::App;
use crate::fault::Fault;
use crate::output::Output;
use crate::output::render::{one_line, plain};

/// How a command speaks of its layer.
pub(super) struct LayerWords {
    /// Printed if it was never derived.
    pub missing: &'static str,
    /// Printed if it is out of date.
    pub outdated: &'static str,
    /// One of its nodes.
    pub node: &'static str,
    /// What lists its nodes.
    pub list: &'static str,
}

impl LayerWords {
    /// The state of the layer, `None` if it was never derived; notes what is wrong with it.
    pub(super) async fn state(
        &self,
        app: &App,
        snapshot: &dyn Snapshot,
        name: &LayerName,
    ) -> anyhow::Result<Option<LayerStatus>> {
        let layer = layer_states(snapshot).await?.into_iter().find(|layer| layer.layer == *name);
        match &layer {
            None => app.output.note(self.missing),
            Some(layer) if !layer.current => app.output.note(self.outdated),
            Some(_) => {}
        }
        Ok(layer)
    }

    /// The one of the nodes that were found for `id`.
    pub(super) fn only<'a>(&self, found: &'a [NodeKey], id: &str) -> anyhow::Result<&'a NodeKey> {
        match found {
            [] => Err(self.unknown(id)),
            [key] => Ok(key),
            _ => {
                let what = format!("more than one {} has an id that starts with {id:?}", self.node);
                Err(Fault::usage(what).help("write more of the id").into())
            }
        }
    }

    /// No node has the id.
    pub(super) fn unknown(&self, id: &str) -> anyhow::Error {
        Fault::failed(format!("no {} {id:?}", self.node)).help(format!("`{}` lists them", self.list)).into()
    }
}

/// A title and the id behind it.
pub(super) fn titled(output: &Output, title: &str, id: &NodeKey) -> String {
    format!("{} {}", output.heading(&one_line(title, 200)), output.faint(id.as_str()))
}

/// Says how many nodes of a level are not listed.
pub(super) fn note_more(output: &Output, total: usize, listed: usize) {
    let more = total - listed;
    if more > 0 {
        output.note(format_args!("{more} more; --limit sets how many are listed"));
    }
}

/// `notes.md:3-7`.
pub(super) fn place(source: &str, (first, last): (u32, u32)) -> String {
    match first == last {
        true => format!("{}:{first}", plain(source)),
        false => format!("{}:{first}-{last}", plain(source)),
    }
}
