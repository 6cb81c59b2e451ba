//! Arguments of the server and of the commands that manage access to it.

use clap::{Args, Subcommand, ValueEnum};
use graphloom_core::WorkspaceId;
use graphloom_server::{Grant, Right};

#[derive(Debug, Args)]
#[command(after_help = "\
One process answers requests and indexes added documents. Without keys and users it accepts requests from this machine only, \
without credentials. Once there is a key or a user, it requires one and can listen on other addresses. A request names its workspace \
with the header LIGHTRAG-WORKSPACE or a path below /w/NAME/; other requests use --workspace. Ctrl-C or SIGTERM stops it between \
two commits.")]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 picks a free one [default: 9621]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Allow web pages of this origin to send requests, such as https://app.example; repeatable
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// Trust the client address that the proxy at this address or network forwards, such as 10.0.0.0/8; repeatable
    #[arg(long = "trusted-proxy", value_name = "NETWORK")]
    pub(crate) trusted_proxies: Vec<String>,
    /// Workspaces indexed at the same time; 0 leaves queued documents to `graphloom worker` [default: 256]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u64>,
    /// Seconds to keep serving after a stop request while /readyz returns 503, so that load balancers notice
    /// [default: 0]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) drain: Option<u64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The client, such as an editor or a chat program, starts this command from its configuration and talks to it on standard input \
and output; the log goes to standard error. Added documents are indexed while it runs. It needs no other server and can run \
beside one on the same data folder.")]
pub(crate) struct McpArgs {
    /// Offer only tools that read, and do not index
    #[arg(long)]
    pub(crate) read_only: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print it once
    Create {
        /// What the key is for
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// List keys without their secrets
    List,
    /// Revoke a key; the server rejects it from then on
    Revoke {
        /// Id or name of the key
        #[arg(value_name = "KEY")]
        reference: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Create a user who can log in, or set a new password
    ///
    /// An existing user keeps role and workspaces unless you pass them. To allow all workspaces again, remove and
    /// add the user.
    Add {
        /// Name to log in with
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
        /// Read the password from standard input [default: generate one and print it once]
        #[arg(long)]
        password_stdin: bool,
    },
    /// List users
    List,
    /// Remove a user; existing logins are rejected from then on
    Remove {
        /// Name of the user
        name: String,
    },
}

/// Permissions of a key or user.
#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// Permission: read, write (includes read), admin (also clears workspaces) [default: read]
    #[arg(long, value_enum)]
    right: Option<RightArg>,
    /// Only this workspace; repeatable [default: all workspaces, also future ones]
    #[arg(long = "only", value_name = "WORKSPACE", value_parser = workspace)]
    only: Vec<WorkspaceId>,
}

impl GrantArgs {
    /// Returns the permissions of a new key or user.
    pub(crate) fn grant(&self) -> Grant {
        self.over(None)
    }

    /// Returns the permissions of an existing user; fields that were not passed keep their value.
    pub(crate) fn over(&self, held: Option<&Grant>) -> Grant {
        let right = match self.right {
            None => held.map_or(Right::Read, |held| held.right),
            Some(RightArg::Read) => Right::Read,
            Some(RightArg::Write) => Right::Write,
            Some(RightArg::Admin) => Right::Admin,
        };
        let workspaces = match self.only.is_empty() {
            true => held.and_then(|held| held.workspaces.clone()),
            false => Some(self.only.iter().cloned().collect()),
        };
        Grant { workspaces, right }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RightArg {
    /// Ask questions and read.
    Read,
    /// Also add, edit and remove documents.
    Write,
    /// Also clear whole workspaces.
    Admin,
}

fn workspace(name: &str) -> Result<WorkspaceId, String> {
    WorkspaceId::new(name).map_err(|error| error.to_string())
}
