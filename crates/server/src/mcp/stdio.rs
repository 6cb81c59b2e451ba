//! The tools over standard input and output, for a client that starts this program.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use graphloom_core::WorkspaceId;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::stdio;
use tokio::sync::watch;

use super::stdio_messages::messages;
use super::{Tools, Transport};
use crate::access::{AccessError, Caller, Grant, Right, random};
use crate::app::{App, Indexing, Parts};
use crate::host::{Host, IfMissing};
use crate::limits::Limits;
use crate::turns::Holder;

/// Settings for serving one client.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// The data folder.
    pub data_dir: PathBuf,
    /// The workspace of the tools.
    pub workspace: WorkspaceId,
    /// Offer only tools that read, and do not index.
    pub read_only: bool,
    /// Limits on concurrent work.
    pub limits: Limits,
}

/// Why the tools cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// There are no random bytes.
    #[error("starting")]
    Access(#[from] AccessError),
    /// The client uses another protocol.
    #[error("the client does not speak the Model Context Protocol on standard input")]
    Handshake(#[source] Box<ServerInitializeError>),
}

/// Serves the tools on standard input and output until the client disconnects or `stop` completes. Indexes added
/// documents meanwhile; the rest is left to the next process.
pub async fn serve_mcp(
    config: McpConfig,
    host: Arc<dyn Host>,
    stop: impl Future<Output = ()>,
) -> Result<(), McpError> {
    let McpConfig { data_dir, workspace, read_only, limits } = config;
    let (stopping, stopped) = watch::channel(false);
    let app = App::new(Parts {
        host,
        data_dir: &data_dir,
        default_workspace: workspace.clone(),
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        cors_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        limits,
        guest_secret: random()?,
        indexing: if read_only { Indexing::Off } else { Indexing::On },
        draining: stopped.clone(),
        cut: stopped.clone(),
        stop: stopped,
    });
    let (opening, opened) = (app.clone(), workspace.clone());
    tokio::spawn(async move {
        // Opening it now starts indexing what is queued and speeds up the first call. It may not exist yet.
        if let Err(problem) = opening.spaces.get(&opened, IfMissing::Leave).await {
            tracing::info!(why = problem.words(), "the workspace is not open yet");
        }
    });
    let right = if read_only { Right::Read } else { Right::Write };
    let caller = Caller { name: "standard input".to_owned(), grant: Grant { workspaces: None, right } };
    let tools = Tools::new(app.clone(), caller, workspace, Transport::Stdio, Holder::Machine, None);
    let (input, output) = stdio();
    let serving = async {
        match serve_server(tools, messages(input, output)).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "serving the tools panicked");
                }
                Ok(())
            }
            // The client disconnected before the handshake.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(McpError::Handshake(Box::new(error))),
        }
    };
    let served = tokio::select! {
        served = serving => served,
        () = stop => Ok(()),
    };
    // There may be no receiver.
    let _ = stopping.send(true);
    if tokio::time::timeout(app.limits.stop, app.spaces.stopped()).await.is_err() {
        tracing::warn!("indexing was still running when the stop timeout ended");
    }
    served
}
