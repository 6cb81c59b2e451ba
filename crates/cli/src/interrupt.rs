//! Ctrl-C: the first press stops the work cleanly, the second ends the process immediately.

use std::future::Future;

use tokio::sync::watch;

use crate::fault::Exit;
use crate::output::tell;

/// Whether a stop was requested.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    requested: watch::Receiver<bool>,
}

impl Interrupt {
    /// Starts listening for Ctrl-C and, on Unix, SIGTERM.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let (request, requested) = watch::channel(false);
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            signals.next().await;
            tell("stopping; press Ctrl-C again to stop immediately");
            // If there is no receiver, the work is already done.
            let _ = request.send(true);
            signals.next().await;
            std::process::exit(Exit::Interrupted as i32);
        });
        Ok(Self { requested })
    }

    /// Whether a stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Waits until a stop is requested.
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
