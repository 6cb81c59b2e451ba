//! `graphloom graph`: shows and edits the graph.

mod edit;
mod explore;
mod history;
mod import;
mod show;

use super::App;
use crate::args::{GraphArgs, GraphCommand};
use crate::fault::Exit;

/// Runs the subcommand; a name alone shows the entity.
pub(crate) async fn run(app: &App, args: &GraphArgs) -> anyhow::Result<Exit> {
    match &args.command {
        None => show::run(app, &args.entity.join(" "), args.all).await,
        Some(GraphCommand::Show { entity, all }) => show::run(app, &entity.join(" "), *all).await,
        Some(GraphCommand::Labels { text, limit, all }) => {
            explore::labels(app, &text.join(" "), *limit, *all).await
        }
        Some(GraphCommand::Subgraph { entity, depth, max_nodes }) => {
            explore::subgraph(app, entity, *depth, *max_nodes).await
        }
        Some(GraphCommand::History { limit }) => history::run(app, *limit).await,
        Some(GraphCommand::Import { file, name, meta }) => {
            import::run(app, file, name.as_deref(), meta).await
        }
        Some(
            command @ (GraphCommand::Create { .. }
            | GraphCommand::Edit { .. }
            | GraphCommand::Rename { .. }
            | GraphCommand::Merge { .. }
            | GraphCommand::Split { .. }
            | GraphCommand::Delete { .. }
            | GraphCommand::NotSame { .. }
            | GraphCommand::Undo { .. }),
        ) => edit::run(app, command).await,
    }
}
