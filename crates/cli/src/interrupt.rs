//! Ctrl-C: the first asks the work to stop cleanly, the second ends the process at once.

use std::future::Future;

use tokio::sync::watch;

use crate::fault::Exit;
use crate::output::tell;

/// Whether somebody asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    requested: watch::Receiver<bool>,
}

impl Interrupt {
    /// Starts to listen for Ctrl-C and, on Unix, SIGTERM.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let (request, requested) = watch::channel(false);
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            signals.next().await;
            tell("stopping; once more to stop at once");
            // Without a receiver the work is over, and so is the reason to stop it.
            let _ = request.send(true);
            signals.next().await;
            std::process::exit(Exit::Interrupted as i32);
        });
        Ok(Self { requested })
    }

    /// Whether it was asked for.
    pub(crate) fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Waits until it is asked for.
    pub(crate) fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut requested = self.requested.clone();
        async move {
            if requested.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
