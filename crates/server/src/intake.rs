//! Who gets a connection, and how long may they hesitate?
//!
//! Bounds the number of connections, and closes one that says nothing: until its first bytes arrive, no HTTP time-out
//! runs. Plain and TLS connections go through here alike.

use axum_server::accept::Accept;
use axum_server::tls_rustls::RustlsConfig;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// After so many bytes the HTTP version is known, and hyper's own time-outs run.
const OPENING_BYTES: usize = 24;

/// Reads certificate and key.
///
/// # Errors
/// When one of them cannot be read or they do not fit.
pub(crate) async fn tls(cert: &Path, key: &Path) -> io::Result<RustlsConfig> {
    // Fails when a provider is installed already: then that one serves.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    RustlsConfig::from_pem_file(cert, key).await.map_err(|error| {
        let files = format!("TLS with certificate {} and key {}: {error}", cert.display(), key.display());
        io::Error::new(error.kind(), files)
    })
}

/// Says what is wrong with a certificate that clients may not accept of a server although it can be read: that of an authority.
pub(crate) fn authority_in_place_of_server(cert: &Path, key: &Path) -> Option<String> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(cert).ok()?.collect::<Result<_, _>>().ok()?;
    let (own, others) = chain.split_first()?;
    let mut roots = RootCertStore::empty();
    roots.add(own.clone()).ok()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
    let name = ServerName::try_from("localhost").ok()?;
    let refused = verifier.verify_server_cert(own, others, &name, &[], UnixTime::now()).err()?;
    format!("{refused:?}").contains("CaUsedAsEndEntity").then(|| {
        let (cert, key) = (cert.display(), key.display());
        format!(
            "the certificate {cert} is that of an authority (CA:TRUE), and strict clients, `tabellion` among them, accept none such \
             of a server; make one for the server: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
             -days 365 -keyout {key} -out {cert} -subj /CN=localhost -addext basicConstraints=critical,CA:FALSE \
             -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
        )
    })
}

/// Bounds what another acceptor lets in.
#[derive(Clone)]
pub(crate) struct Intake<A> {
    inner: A,
    places: Arc<Semaphore>,
    patience: Duration,
}

impl<A> Intake<A> {
    /// Room for so many connections, each with so long to say its first bytes.
    pub(crate) fn new(inner: A, connections_max: usize, patience: Duration) -> Self {
        let places = Arc::new(Semaphore::new(connections_max.min(Semaphore::MAX_PERMITS)));
        Self { inner, places, patience }
    }
}

type Accepted<T, S> = Pin<Box<dyn Future<Output = io::Result<(Bounded<T>, S)>> + Send>>;

impl<A, S> Accept<TcpStream, S> for Intake<A>
where
    A: Accept<TcpStream, S>,
    A::Future: Send + 'static,
    A::Stream: Send + 'static,
    A::Service: Send + 'static,
{
    type Stream = Bounded<A::Stream>;
    type Service = A::Service;
    type Future = Accepted<A::Stream, A::Service>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let patience = self.patience;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            metrics::counter!("tabellion_connections_refused_total").increment(1);
            return Box::pin(std::future::ready(Err(io::Error::other("too many connections"))));
        };
        // Small answers must not wait for the acknowledgement of the ones before them.
        let _kept_as_it_was = stream.set_nodelay(true);
        let accepted = self.inner.accept(stream, service);
        Box::pin(async move {
            let (stream, service) = accepted.await?;
            let waiting = Some(Box::pin(tokio::time::sleep(patience)));
            Ok((Bounded { stream, waiting, received: 0, _place: place }, service))
        })
    }
}

/// A connection that holds its place and has to say something soon.
pub(crate) struct Bounded<T> {
    stream: T,
    waiting: Option<Pin<Box<Sleep>>>,
    received: usize,
    _place: OwnedSemaphorePermit,
}

impl<T: AsyncRead + Unpin> AsyncRead for Bounded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buf);
        let Some(waiting) = &mut this.waiting else { return read };
        this.received += buf.filled().len().saturating_sub(before);
        if this.received >= OPENING_BYTES {
            this.waiting = None;
        } else if read.is_pending() && waiting.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Bounded<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
