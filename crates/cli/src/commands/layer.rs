//! Shared by the commands that show a layer: its state, lookup of a node by the start of its id, places in documents.

use graphloom_core::{LayerName, NodeKey, Snapshot};
use graphloom_engine::derive::{LayerStatus, layer_states};

use super::App;
use crate::fault::Fault;
use crate::output::Output;
use crate::output::render::{name, one_line};

/// Texts about one layer.
pub(super) struct LayerWords {
    /// Printed if the layer was never derived.
    pub missing: &'static str,
    /// Printed if the layer is out of date.
    pub outdated: &'static str,
    /// What a node of the layer is called.
    pub node: &'static str,
    /// The command that lists the nodes.
    pub list: &'static str,
}

impl LayerWords {
    /// Returns the state of the layer, `None` if it was never derived. Prints a note if it is missing or out of date.
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

    /// Returns the only node in `found`; fails if there are none or several.
    pub(super) fn only<'a>(&self, found: &'a [NodeKey], id: &str) -> anyhow::Result<&'a NodeKey> {
        match found {
            [] => Err(self.unknown(id)),
            [key] => Ok(key),
            _ => {
                let what = format!("more than one {} has an id that starts with {id:?}", self.node);
                Err(Fault::usage(what).help("use a longer id").into())
            }
        }
    }

    /// Returns the error for an id that no node has.
    pub(super) fn unknown(&self, id: &str) -> anyhow::Error {
        Fault::failed(format!("there is no {} {id:?}", self.node))
            .help(format!("`{}` lists them", self.list))
            .into()
    }
}

/// Formats a title followed by the id.
pub(super) fn titled(output: &Output, title: &str, id: &NodeKey) -> String {
    format!("{} {}", output.heading(&one_line(title, 200)), output.faint(id.as_str()))
}

/// Prints how many nodes of a level are not listed.
pub(super) fn note_more(output: &Output, total: usize, listed: usize) {
    let more = total - listed;
    if more > 0 {
        output.note(format_args!("{more} more; --limit sets how many are listed"));
    }
}

/// Formats a place: `notes.md:3-7`.
pub(super) fn place(source: &str, (first, last): (u32, u32)) -> String {
    match first == last {
        true => format!("{}:{first}", name(source)),
        false => format!("{}:{first}-{last}", name(source)),
    }
}
