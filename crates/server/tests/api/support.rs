//! A server for one test, and a client that sends its requests byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use graphloom_core::{
    Clock, Embedder, Embeddings, ModelError, Purpose, Store, StoreError, Timestamp, Worker, WorkspaceId,
    WorkspaceStore,
};
use graphloom_engine::derive::{Communities, derive};
use graphloom_engine::index::{self, Source, SourceText};
use graphloom_engine::money::Prices;
use graphloom_engine::{Engine, Models};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_readers::ParseLimits;
use graphloom_server::{
    AccessFile, Grant, Host, HostError, IfMissing, Limits, OpenWorkspace, Right, Routes, Server, ServerConfig,
};
use graphloom_storage::memory::MemoryStore;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the API description.
pub(crate) fn description() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).expect("JSON")
}

/// Workspaces in memory.
pub(crate) struct MemoryHost {
    stores: Mutex<BTreeMap<WorkspaceId, Arc<MemoryStore>>>,
    /// Opens to release held texts.
    gate: Arc<Semaphore>,
    /// Errors with which stores fail. A workspace whose name begins with `broken` does not open, others fail their probe. The
    /// embedder of a workspace whose name begins with `service` is a service, which costs money.
    pub(crate) faults: Mutex<BTreeMap<WorkspaceId, fn() -> StoreError>>,
}

impl Default for MemoryHost {
    fn default() -> Self {
        Self { stores: Mutex::default(), gate: Arc::new(Semaphore::new(0)), faults: Mutex::default() }
    }
}

#[async_trait]
impl Host for MemoryHost {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, HostError> {
        Ok(self.stores.lock().expect("a lock").keys().cloned().collect())
    }

    fn shared_texts(&self) -> Option<Arc<dyn graphloom_core::SharedTexts>> {
        None
    }

    async fn with_work(&self) -> Result<Option<Vec<WorkspaceId>>, HostError> {
        Ok(None)
    }

    async fn open(
        &self,
        workspace: &WorkspaceId,
        missing: IfMissing,
    ) -> Result<Option<OpenWorkspace>, HostError> {
        let fault = self.faults.lock().expect("a lock").get(workspace).copied();
        if let Some(fault) = fault
            && workspace.as_str().starts_with("broken")
        {
            return Err(HostError { message: fault().to_string(), remedy: None, is_of_store: true });
        }
        let mut stores = self.stores.lock().expect("a lock");
        if missing == IfMissing::Leave && !stores.contains_key(workspace) {
            return Ok(None);
        }
        let store = stores.entry(workspace.clone());
        let store = store.or_insert_with(|| Arc::new(MemoryStore::new(workspace.clone())));
        let engine = engine(Arc::clone(store) as Arc<dyn Store>, Arc::clone(&self.gate));
        Ok(Some(OpenWorkspace {
            asking: engine.clone(),
            indexing: engine,
            user_prompt_prefix: String::new(),
            prices: Prices::parse("other:model=1/2").expect("prices"),
            embeds_by_service: workspace.as_str().starts_with("service"),
            gone: Arc::new(|_| false),
            store: Arc::clone(store) as Arc<dyn WorkspaceStore>,
            worker: Arc::new(TestWorker { fault }),
            pauses: Arc::default(),
        }))
    }

    async fn read(&self, sources: Vec<Source>, limits: ParseLimits) -> Vec<SourceText> {
        let holds = |source: &Source| String::from_utf8_lossy(&source.bytes).contains(HELD);
        if sources.iter().any(holds) {
            let _open = self.gate.acquire().await.expect("never closed");
        }
        sources.into_iter().map(|source| index::read(source, &limits)).collect()
    }
}

/// A worker whose registration fails with this error.
struct TestWorker {
    fault: Option<fn() -> StoreError>,
}

impl Worker for TestWorker {
    fn name(&self) -> &str {
        "this process"
    }

    fn try_again(&self) -> Result<(), StoreError> {
        self.fault.map_or(Ok(()), |fault| Err(fault()))
    }
}

fn engine(store: Arc<dyn Store>, gate: Arc<Semaphore>) -> Engine {
    Engine::new(store, Models::offline(Arc::new(Moody { gate })), Arc::new(Wall))
}

/// The embedding service rejects texts that contain this.
pub(crate) const REFUSED: &str = "the refused text";
/// The embedding service cannot be reached for texts that contain this.
pub(crate) const UNREACHABLE: &str = "the unreachable text";
/// The embedder panics on texts that contain this.
pub(crate) const PANICKING: &str = "the panicking text";
/// Texts and questions that contain this are in progress until [`Running::release`].
pub(crate) const HELD: &str = "the text that is held";

/// The built-in embedder, which fails on certain words as services do.
struct Moody {
    gate: Arc<Semaphore>,
}

#[async_trait]
impl Embedder for Moody {
    fn name(&self) -> &str {
        BuiltinEmbedder.name()
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        BuiltinEmbedder.dimensions().await
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let holds = |words: &str| texts.iter().any(|text| text.contains(words));
        let (model, what) = (self.name().to_owned(), "injected by the test".to_owned());
        assert!(!holds(PANICKING), "injected by the test");
        if holds(HELD) {
            let _open = self.gate.acquire().await.expect("never closed");
        }
        if holds(REFUSED) {
            return Err(ModelError::Refused { model, status: 400, what });
        }
        if holds(UNREACHABLE) {
            return Err(ModelError::Unreachable { model, url: "http://127.0.0.1:1".to_owned(), what });
        }
        BuiltinEmbedder.embed(purpose, texts).await
    }
}

struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(since.expect("after 1970").as_millis() as u64)
    }
}

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
    host: Arc<MemoryHost>,
    stop: Option<oneshot::Sender<()>>,
    ended: tokio::task::JoinHandle<()>,
}

pub(crate) fn config(folder: &Path, limits: Limits) -> ServerConfig {
    ServerConfig {
        address: ([127, 0, 0, 1], 0).into(),
        data_dir: folder.to_owned(),
        workspace: WorkspaceId::default(),
        cors_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        routes: Routes::All,
        limits,
    }
}

impl Running {
    /// Starts a server without a rate limit for strangers, because attacks come from one address and exceed any limit.
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits { rate_of_stranger: None, ..Limits::default() }).await
    }

    pub(crate) async fn start_with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::start_as(config(folder.path(), limits), folder).await
    }

    /// Starts a server that trusts a proxy on this machine.
    pub(crate) async fn start_behind_a_proxy(limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let trusted_proxies = vec!["127.0.0.1".parse().expect("an address")];
        Self::start_as(ServerConfig { trusted_proxies, ..config(folder.path(), limits) }, folder).await
    }

    pub(crate) async fn start_as(config: ServerConfig, folder: TempDir) -> Self {
        Self::start_on(config, folder, MemoryHost::default()).await
    }

    pub(crate) async fn start_on(config: ServerConfig, folder: TempDir, host: MemoryHost) -> Self {
        let host = Arc::new(host);
        let server = Server::bind(config, host.clone()).await.expect("bound");
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, folder, host, stop: Some(stop), ended }
    }

    /// Derives the communities of the default workspace, as another process does.
    pub(crate) async fn derive_communities(&self) {
        let store = self.host.stores.lock().expect("a lock")[&WorkspaceId::default()].clone();
        let engine = engine(store, Arc::clone(&self.host.gate));
        let derived = derive(&engine, &Communities, &|_| {}, &|_| true).await.expect("derived");
        assert!(derived.current, "{derived:?}");
    }

    /// Pauses the queue of the default workspace, as another process does.
    pub(crate) async fn pause(&self) {
        let store = self.host.stores.lock().expect("a lock")[&WorkspaceId::default()].clone();
        index::pause(store.as_ref(), Timestamp(1)).await.expect("paused");
    }

    /// Lets everything continue that is held.
    pub(crate) fn release(&self) {
        self.host.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Starts a request and leaves it open.
    pub(crate) async fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        stream.write_all(bytes).await.expect("sent");
        stream
    }

    /// Waits until this many requests are in progress.
    pub(crate) async fn wait_until_in_progress(&self, key: Option<&str>, requests: usize) {
        let until = tokio::time::Instant::now() + PATIENCE;
        let looked =
            key.iter().fold(Request::get("/metrics"), |request, key| request.header("x-api-key", key));
        // The request for the metrics is one of them.
        let wanted = format!("graphloom_http_requests_in_flight {}\n", requests + 1);
        loop {
            let metrics = self.send(looked.clone()).await;
            if metrics.body.contains(&wanted) {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "not under way: {metrics:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asks the server to stop.
    pub(crate) fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        tokio::time::timeout(PATIENCE, &mut self.ended).await.expect("it stops").expect("without a panic");
    }

    pub(crate) fn access(&self) -> AccessFile {
        AccessFile::of(self.folder.path())
    }

    /// Creates a key.
    pub(crate) fn key(&self, right: Right, only: &[&str]) -> String {
        self.key_of("test", right, only)
    }

    /// Creates a key with this name.
    pub(crate) fn key_of(&self, name: &str, right: Right, only: &[&str]) -> String {
        let grant = grant(right, only);
        let key = self.access().change(|access| access.create_key(name, grant, Timestamp(1)));
        key.expect("a key").secret
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Request::post(path, body)).await
    }

    pub(crate) async fn send(&self, request: Request) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        // A server that rejects early closes the connection before everything is written; its response still arrives.
        let _ = stream.write_all(&request.bytes(self.address)).await;
        read_answer(&mut stream).await
    }

    /// Like [`send`](Self::send), but returns only the head of an event stream, because some streams never end.
    pub(crate) async fn send_until_events(&self, request: Request) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let _ = stream.write_all(&request.bytes(self.address)).await;
        let mut bytes = Vec::new();
        while head_end(&bytes).is_none() {
            let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut bytes)).await;
            if read.expect("an answer in time").unwrap_or(0) == 0 {
                break;
            }
        }
        if !String::from_utf8_lossy(&bytes).contains("content-type: text/event-stream") {
            let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("in time");
        }
        answer_of(&bytes)
    }

    /// Sends only these bytes; `None` if the server closes the connection without a response.
    pub(crate) async fn try_send(&self, bytes: &[u8]) -> Option<Answer> {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        // A server that rejects early closes the connection before everything is written; its response still arrives.
        let _ = stream.write_all(bytes).await;
        try_read(&mut stream).await
    }

    /// Creates a user.
    pub(crate) fn user(&self, name: &str, password: &str) {
        let made = self.access().change(|access| access.put_user(name, password, Grant::ALL, Timestamp(1)));
        made.expect("a user");
    }

    /// Waits until nothing is left to index.
    pub(crate) async fn wait_until_idle(&self, prefix: &str) {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let counts = self.get(&format!("{prefix}/documents/status_counts")).await.ok();
            if counts["status_counts"]["pending"] == 0 && counts["status_counts"]["processing"] == 0 {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "not indexed: {counts}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Adds a text to the request's workspace and waits until it is in the graph.
    pub(crate) async fn add(&self, prefix: &str, name: &str, text: &str) {
        let body = serde_json::json!({ "text": text, "file_source": name });
        let added = self.post(&format!("{prefix}/documents/text"), body).await.ok();
        self.wait_for(prefix, added["track_id"].as_str().expect("a track")).await;
    }

    /// Waits until the documents of a run are in the graph.
    pub(crate) async fn wait_for(&self, prefix: &str, track: &str) {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let status = self.get(&format!("{prefix}/documents/track_status/{track}")).await.ok();
            if status["status_summary"]["processed"] == 1 {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "not indexed: {status}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(crate) fn grant(right: Right, only: &[&str]) -> Grant {
    let only: BTreeSet<WorkspaceId> =
        only.iter().map(|name| WorkspaceId::new(name).expect("a name")).collect();
    Grant { workspaces: (!only.is_empty()).then_some(only), right }
}

/// A request to send.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self::new("POST", path).json(body)
    }

    pub(crate) fn delete(path: &str, body: Value) -> Self {
        Self::new("DELETE", path).json(body)
    }

    pub(crate) fn json(self, body: Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Adds a file in a multipart form.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.file_of(name, content.as_bytes())
    }

    /// Like [`file`](Self::file), with any bytes.
    pub(crate) fn file_of(self, name: &str, content: &[u8]) -> Self {
        let head =
            format!("--edge\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
        let body = [head.as_bytes(), content, b"\r\n--edge--\r\n"].concat();
        self.header("content-type", "multipart/form-data; boundary=edge").body(body)
    }

    pub(crate) fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        let has = |name: &str| self.headers.iter().any(|(known, _)| known == name);
        if !has("host") {
            head.push_str(&format!("host: {address}\r\n"));
        }
        if !has("content-length") && !has("transfer-encoding") {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// A received response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// The body as text. Compressed bodies are not text; their bytes are in the other field.
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the JSON of a successful response.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// Returns the detail of a problem with this status.
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], status, "{self:?}");
        match &body["detail"] {
            Value::Array(faults) => faults.iter().map(|fault| fault["msg"].as_str().expect("why")).collect(),
            detail => detail.as_str().expect("a detail").to_owned(),
        }
    }

    /// Returns the JSON values of the lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.body.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// Reads until the head of a response is complete.
pub(crate) async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while head_end(&bytes).is_none() {
        let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut bytes)).await;
        assert!(read.expect("an answer in time").expect("a connection") > 0, "closed without an answer");
    }
    bytes
}

/// Reads one response with a declared length, on a connection that may stay open.
pub(crate) async fn read_one(stream: &mut TcpStream) -> Answer {
    let mut bytes = read_head(stream).await;
    let end = head_end(&bytes).expect("a head") + 4;
    let length: usize = answer_of(&bytes).headers["content-length"].parse().expect("a length");
    while bytes.len() < end + length {
        let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut bytes)).await;
        assert!(read.expect("an answer in time").expect("a connection") > 0, "closed inside an answer");
    }
    answer_of(&bytes)
}

pub(crate) async fn read_answer(stream: &mut TcpStream) -> Answer {
    try_read(stream).await.expect("an answer")
}

async fn try_read(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    let read =
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer in time");
    // A reset after the response, because part of the request was never read, loses nothing.
    let _ = read;
    head_end(&bytes).map(|_| answer_of(&bytes))
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n")
}

fn answer_of(bytes: &[u8]) -> Answer {
    let end = head_end(bytes).expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let bytes = match headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        true => unchunk(rest),
        false => rest.to_vec(),
    };
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Answer { status: status.expect("a status"), headers, body, bytes }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        // The last chunk may be cut off.
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else { break };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
    body
}
