//! `graphloom mcp`: serves a client of the Model Context Protocol on standard input and output.

use std::sync::Arc;

use graphloom_server::{Limits, McpConfig, serve_mcp};

use super::App;
use crate::args::McpArgs;
use crate::fault::Exit;
use crate::interrupt::Interrupt;
use crate::wire;
use crate::wire::serving::ServingHost;

/// Serves one client until it disconnects. Stdout carries only the protocol.
pub(crate) async fn run(app: &App, args: &McpArgs) -> anyhow::Result<Exit> {
    let config = &app.config;
    let interrupt = Interrupt::listen()?;
    let host = Arc::new(ServingHost::new(app, wire::register_server(config).await?)?);
    let mcp_config = McpConfig {
        data_dir: config.data_dir.clone(),
        workspace: config.workspace.clone(),
        read_only: args.read_only,
        limits: Limits {
            questions: app.serve.max_concurrent_questions,
            finish: app.serve.finish(),
            ..Limits::default()
        },
    };
    serve_mcp(mcp_config, host, interrupt.wait()).await?;
    Ok(Exit::Done)
}
