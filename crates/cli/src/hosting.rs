//! A server within this process, told when to stop by us rather than by signals.

use anyhow::Context as _;
use tabellion_server::{Config, Ready, Secrets, ServeError, serve_until};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs beside us; dropping it stops it without waiting.
pub(crate) struct Hosted {
    runtime: Runtime,
    serving: JoinHandle<Result<(), ServeError>>,
    stop: oneshot::Sender<()>,
    ready: Ready,
}

impl Hosted {
    /// Starts a server and returns when it takes requests.
    pub(crate) fn start(config: Config) -> anyhow::Result<Self> {
        let runtime = Runtime::new().context("cannot start threads")?;
        let (ready, is_ready) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let told = async move {
            // Dropping the sender means the same as sending.
            let _told = stopped.await;
        };
        let serving = runtime.spawn(serve_until(config, Secrets::default(), ready, told));
        match runtime.block_on(is_ready) {
            Ok(ready) => Ok(Self { runtime, serving, stop, ready }),
            Err(_) => {
                runtime.block_on(serving)??;
                anyhow::bail!("the server ended before it was ready")
            }
        }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.ready.address)
    }

    /// The key of the admin, if this was a first start.
    pub(crate) fn admin_key(&self) -> Option<&str> {
        self.ready.first_start.as_ref().map(|first| first.admin_key.as_str())
    }

    /// Stops it and waits for its end.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        let Self { runtime, serving, stop, ready: _ } = self;
        drop(stop);
        runtime.block_on(serving)??;
        Ok(())
    }
}
