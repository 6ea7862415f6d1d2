//! One connection to one gate, made when it is needed and made again when it is gone.

use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response, Uri};

/// How often an idle connection is asked whether it is still there, and how long it has to answer.
const PING_EVERY: Duration = Duration::from_secs(20);
const PORT: u16 = 80;

/// The way to one gate. Clones share the connection.
#[derive(Clone)]
pub(super) struct Channel {
    place: Arc<(String, u16)>,
    open: Arc<Mutex<Option<SendRequest<Body>>>>,
}

impl Channel {
    /// The way to host and port of an address.
    pub(super) fn to(origin: &Uri) -> Self {
        let host = origin.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let place = (host.to_owned(), origin.port_u16().unwrap_or(PORT));
        Self { place: Arc::new(place), open: Arc::default() }
    }

    /// The connection; asks that find none make it once between them.
    async fn sender(&self) -> io::Result<SendRequest<Body>> {
        let mut open = self.open.lock().await;
        if let Some(sender) = open.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let (host, port) = &*self.place;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        stream.set_nodelay(true)?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_EVERY)
            .keep_alive_while_idle(true);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // It ends when the gate does, or when nobody holds a sender any more.
        tokio::spawn(connection);
        *open = Some(sender.clone());
        Ok(sender)
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let channel = self.clone();
        Box::pin(async move {
            let mut sender = channel.sender().await?;
            sender.ready().await.map_err(io::Error::other)?;
            sender.send_request(request).await.map_err(io::Error::other)
        })
    }
}
