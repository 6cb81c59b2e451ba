//! A request and its response on a persistent connection.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::outcome::{Fault, Outcome, ResponseOutcome};

/// Maximum duration of a response.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// An idle connection.
pub(crate) type Connection = SendRequest<Full<Bytes>>;

/// The requests and their destination.
pub(crate) struct Sender {
    pub(crate) address: SocketAddr,
    pub(crate) url: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) bodies: Vec<Bytes>,
}

impl Sender {
    /// Posts a body and returns the connection if it can be reused. Latency counts from when the request was due,
    /// or from now.
    pub(crate) async fn send(
        &self,
        number: usize,
        connection: Option<Connection>,
        started: Instant,
        due: Option<Duration>,
    ) -> (Outcome, Option<Connection>) {
        let sent = started.elapsed();
        let due = due.unwrap_or(sent);
        let late = sent.saturating_sub(due);
        let answered = match timeout(MAX_WAIT, self.exchange(number, connection)).await {
            Ok(answered) => answered,
            Err(_) => Err(Fault::Slow),
        };
        let latency = started.elapsed().saturating_sub(due);
        let (response, connection) = match answered {
            Ok((response, connection)) => (response, Some(connection)),
            Err(fault) => (ResponseOutcome::Nothing(fault), None),
        };
        (Outcome { due, late, latency, response }, connection)
    }

    async fn exchange(
        &self,
        number: usize,
        connection: Option<Connection>,
    ) -> Result<(ResponseOutcome, Connection), Fault> {
        let mut connection = match connection.filter(|connection| !connection.is_closed()) {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let broken = |_| Fault::Broken;
        connection.ready().await.map_err(broken)?;
        let answer = connection.send_request(self.request(number)?).await.map_err(broken)?;
        let retry_after =
            answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let status = answer.status().as_u16();
        let mut body = answer.into_body();
        while let Some(frame) = body.frame().await {
            frame.map_err(broken)?;
        }
        Ok((ResponseOutcome::Status { status, retry_after }, connection))
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let stream = TcpStream::connect(self.address).await.map_err(|_| Fault::Refused)?;
        stream.set_nodelay(true).map_err(|_| Fault::Broken)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|_| Fault::Broken)?;
        // Errors of the connection are reported by the request in progress.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    fn request(&self, number: usize) -> Result<Request<Full<Bytes>>, Fault> {
        let body = self.bodies[number % self.bodies.len()].clone();
        let path = self.url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path).body(Full::new(body)).map_err(|_| Fault::Broken)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let host = self.address.to_string();
        headers.insert(HOST, HeaderValue::from_str(&host).map_err(|_| Fault::Broken)?);
        headers.extend(self.headers.clone());
        Ok(request)
    }
}
