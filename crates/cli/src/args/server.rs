//! The command line of the server, and of who may use it.

use clap::{Args, Subcommand, ValueEnum};
use graphloom_core::WorkspaceId;
use graphloom_server::{Grant, Right};

/// `graphloom serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
One process answers requests and indexes what is added. It answers on this machine alone, without credentials, until \
there is a key or a user; then it asks for one, and can be bound to other addresses. Requests name their workspace by the \
header LIGHTRAG-WORKSPACE or a path below /w/NAME/; those that name none mean --workspace. Ctrl-C or SIGTERM ends it between \
two commits.")]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// Port to listen on; 0 takes a free one [default: 9621]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Lets web pages of this origin ask, such as https://app.example; repeatable
    #[arg(long = "cors-origin", value_name = "ORIGIN")]
    pub(crate) cors_origins: Vec<String>,
    /// Believes what the proxy at this address or network says about its clients, such as 10.0.0.0/8; repeatable
    #[arg(long = "trusted-proxy", value_name = "NETWORK")]
    pub(crate) trusted_proxies: Vec<String>,
    /// Seconds to go on serving once asked to stop, while /readyz says 503, so that a balancer can look away [default: 0]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) drain: Option<u64>,
}

/// `graphloom mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
A client, such as an editor or a chat program, starts it as a server of its configuration and speaks to it on standard input \
and output; the log goes to standard error. What is added is indexed while it runs. It needs no other server, and can run \
beside one on the same data folder.")]
pub(crate) struct McpArgs {
    /// Offer only the tools that read, and index nothing
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// `graphloom key`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key for a program, and print it this once
    Create {
        /// What it is for
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
    },
    /// List keys, without their secrets
    List,
    /// Revoke a key; it is refused from then on
    Revoke {
        /// Its id, or its name
        #[arg(value_name = "KEY")]
        reference: String,
    },
}

/// `graphloom user`.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Make a user who logs in, or give one another password
    ///
    /// A user who is there keeps the right and the workspaces that are not said anew. To let one into every workspace again,
    /// remove and add the user.
    Add {
        /// The name to log in with
        name: String,
        #[command(flatten)]
        grant: GrantArgs,
        /// Read the password from standard input; without it a random one is made and printed this once
        #[arg(long)]
        password_stdin: bool,
    },
    /// List users
    List,
    /// Remove a user; what they logged in with is refused from then on
    Remove {
        /// The name
        name: String,
    },
}

/// What a key or user is good for.
#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// What may be done: read, write (also read), admin (also clear workspaces) [default: read]
    #[arg(long, value_enum)]
    right: Option<RightArg>,
    /// Only this workspace; repeatable; all, those to come too, where none is named
    #[arg(long = "only", value_name = "WORKSPACE", value_parser = workspace)]
    only: Vec<WorkspaceId>,
}

impl GrantArgs {
    /// The grant of somebody new.
    pub(crate) fn grant(&self) -> Grant {
        self.over(None)
    }

    /// The grant of somebody who holds one: of what is not said the old one stays.
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
    /// Ask and look.
    Read,
    /// Also add, edit and remove.
    Write,
    /// Also clear whole workspaces.
    Admin,
}

fn workspace(name: &str) -> Result<WorkspaceId, String> {
    WorkspaceId::new(name).map_err(|error| error.to_string())
}
