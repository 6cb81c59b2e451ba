//! Scripted servers on loopback, for the tests of this and other crates.
//!
//! They run on plain threads, so they work with any runtime and with child processes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A received request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReceivedRequest {
    /// The path with its query.
    pub path: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

impl ReceivedRequest {
    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// The reaction of a scripted server to one request.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    chunks: Vec<Vec<u8>>,
    end: End,
    delay: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The response is complete.
    Complete,
    /// The connection is closed early.
    Cut,
    /// Nothing more is sent until the server is dropped.
    Hang,
}

impl Reply {
    /// Creates a JSON response.
    pub fn json(status: u16, body: impl Into<String>) -> Self {
        Self::new(status, "application/json", vec![body.into().into_bytes()])
    }

    /// Creates a response with any content type.
    pub fn of(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, content_type, vec![body.into()])
    }

    /// Creates server-sent events: one transfer chunk per item, which may split events.
    pub fn sse<T: AsRef<[u8]>>(chunks: impl IntoIterator<Item = T>) -> Self {
        Self::new(200, "text/event-stream", chunks.into_iter().map(|chunk| chunk.as_ref().to_vec()).collect())
    }

    /// Creates JSON lines: one transfer chunk per item.
    pub fn ndjson<T: AsRef<[u8]>>(chunks: impl IntoIterator<Item = T>) -> Self {
        Self::new(
            200,
            "application/x-ndjson",
            chunks.into_iter().map(|chunk| chunk.as_ref().to_vec()).collect(),
        )
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Closes the connection before the end.
    pub fn cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    /// Stops sending before the end until the server is dropped.
    pub fn hang(self) -> Self {
        Self { end: End::Hang, ..self }
    }

    /// Delays the response, like a slow model.
    pub fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    fn new(status: u16, content_type: &str, chunks: Vec<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, chunks, end: End::Complete, delay: Duration::ZERO }
    }
}

type Script = dyn Fn(usize, &ReceivedRequest) -> Reply + Send + Sync;

/// A server that responds according to a script and records requests. Dropping it closes every connection.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    recorded: Mutex<Vec<ReceivedRequest>>,
    connections: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    stopped: AtomicBool,
    stop: (Mutex<bool>, Condvar),
}

impl ScriptedServer {
    /// Starts a server; `script` gets the number of the request, from 0, and the request.
    pub fn start(script: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            recorded: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: Mutex::default(),
            stopped: AtomicBool::new(false),
            stop: (Mutex::new(false), Condvar::new()),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accepting.accept(&listener));
        Self { address, shared }
    }

    /// Starts a server that returns `replies` in order, and then repeats the last one.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::start(move |at, _| match replies.get(at).or(replies.last()) {
            Some(reply) => reply.clone(),
            None => Reply::json(404, r#"{"error":"the script is empty"}"#),
        })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request so far, in order.
    pub fn recorded(&self) -> Vec<ReceivedRequest> {
        locked(&self.shared.recorded).clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        *locked(&self.shared.stop.0) = true;
        self.shared.stop.1.notify_all();
        for connection in locked(&self.shared.open).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes the accepting thread so that it ends.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for connection in listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(connection) = connection else { continue };
            self.connections.fetch_add(1, Ordering::SeqCst);
            if let Ok(clone) = connection.try_clone() {
                locked(&self.open).push(clone);
            }
            let serving = Arc::clone(&self);
            thread::spawn(move || {
                // Errors are ignored, because many scripts include clients that disconnect.
                let _ = serving.serve(&connection);
                let _ = connection.shutdown(Shutdown::Both);
            });
        }
    }

    fn serve(&self, connection: &TcpStream) -> std::io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::new(connection);
        while let Some(request) = read_request(&mut reader)? {
            let at = {
                let mut recorded = locked(&self.recorded);
                recorded.push(request.clone());
                recorded.len() - 1
            };
            let reply = (self.script)(at, &request);
            if !reply.delay.is_zero() && self.wait(Some(reply.delay)) {
                return Ok(());
            }
            if !self.answer(connection, &reply)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends `reply`. False if the connection must be closed afterwards.
    fn answer(&self, mut connection: &TcpStream, reply: &Reply) -> std::io::Result<bool> {
        let mut head = format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        connection.write_all(head.as_bytes())?;
        for chunk in reply.chunks.iter().filter(|chunk| !chunk.is_empty()) {
            let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
            connection.write_all(&framed)?;
        }
        match reply.end {
            End::Complete => connection.write_all(b"0\r\n\r\n").map(|()| true),
            End::Cut => Ok(false),
            End::Hang => {
                self.wait(None);
                Ok(false)
            }
        }
    }

    /// Waits at most `limit` for the server to be dropped. True if it was dropped.
    fn wait(&self, limit: Option<Duration>) -> bool {
        let stopped = locked(&self.stop.0);
        match limit {
            Some(limit) => {
                let waited = self.stop.1.wait_timeout_while(stopped, limit, |stopped| !*stopped);
                *waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                *self.stop.1.wait_while(stopped, |stopped| !*stopped).unwrap_or_else(PoisonError::into_inner)
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(ReceivedRequest { path, headers, body: String::from_utf8_lossy(&body).into_owned() }))
}

/// An OpenAI-compatible model on a [`ScriptedServer`]: scripted chat answers, and embeddings that count letters.
pub struct ScriptedOpenAi {
    server: ScriptedServer,
}

/// Maps the contents of a conversation's messages to the model's answer.
pub type AnswerScript = dyn Fn(&[String]) -> String + Send + Sync;

/// The behaviour of a [`ScriptedOpenAi`].
pub struct OpenAiScript {
    /// Returns the answer to the contents of the messages, in order.
    pub answer: Box<AnswerScript>,
    /// Delay of each chat answer.
    pub chat_delay: Duration,
    /// Delay of each embedding response.
    pub embed_delay: Duration,
    /// Dimensions of the vectors.
    pub dimensions: usize,
}

impl Default for OpenAiScript {
    fn default() -> Self {
        Self {
            answer: Box::new(|messages| extraction_of(messages.last().map_or("", String::as_str))),
            chat_delay: Duration::ZERO,
            embed_delay: Duration::ZERO,
            dimensions: 32,
        }
    }
}

impl ScriptedOpenAi {
    /// Starts the server.
    pub fn start(script: OpenAiScript) -> Self {
        Self {
            server: ScriptedServer::start(move |_, request| match request.path.split('?').next() {
                Some("/v1/chat/completions") => chat_reply(&script, &request.json()).after(script.chat_delay),
                Some("/v1/embeddings") => embed_reply(&script, &request.json()).after(script.embed_delay),
                _ => Reply::json(404, r#"{"error":{"message":"no such route"}}"#),
            }),
        }
    }

    /// Returns the base URL, with `/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    /// Returns every chat request so far.
    pub fn chats(&self) -> Vec<ReceivedRequest> {
        self.recorded("/v1/chat/completions")
    }

    /// Returns every embedding request so far.
    pub fn embeddings(&self) -> Vec<ReceivedRequest> {
        self.recorded("/v1/embeddings")
    }

    fn recorded(&self, path: &str) -> Vec<ReceivedRequest> {
        self.server.recorded().into_iter().filter(|request| request.path == path).collect()
    }
}

fn chat_reply(script: &OpenAiScript, request: &Value) -> Reply {
    let contents: Vec<String> = request["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect();
    let text = (script.answer)(&contents);
    let characters: usize = contents.iter().map(String::len).sum();
    let usage = json!({"prompt_tokens": characters / 4, "completion_tokens": text.len() / 4});
    if request["stream"].as_bool() != Some(true) {
        let choice =
            json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        return Reply::json(200, json!({"choices": [choice], "usage": usage}).to_string());
    }
    let event = |value: Value| format!("data: {value}\n\n");
    let mut events: Vec<String> = text
        .split_inclusive(' ')
        .map(|word| {
            event(json!({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": null}]}))
        })
        .collect();
    events.push(event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})));
    events.push(event(json!({"choices": [], "usage": usage})));
    events.push("data: [DONE]\n\n".to_owned());
    Reply::sse(events)
}

fn embed_reply(script: &OpenAiScript, request: &Value) -> Reply {
    let texts: Vec<&str> =
        request["input"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let base64 = request["encoding_format"] == "base64";
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let vector = letter_counts(text, script.dimensions.max(1));
            json!({"index": index, "embedding": if base64 { base64_of(&vector).into() } else { json!(vector) }})
        })
        .collect();
    let tokens: usize = texts.iter().map(|text| text.len() / 4).sum();
    Reply::json(
        200,
        json!({"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}).to_string(),
    )
}

/// Returns a vector that is similar for similar texts: letter frequencies, and a constant so that it is never zero.
pub fn letter_counts(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0; dimensions];
    vector[0] = 0.1;
    for letter in text.chars().flat_map(char::to_lowercase).filter(|letter| letter.is_alphanumeric()) {
        vector[u32::from(letter) as usize % dimensions] += 1.0;
    }
    vector
}

/// Returns a vector in OpenAI's base64 format.
pub fn base64_of(vector: &[f32]) -> String {
    use base64::Engine;
    let bytes: Vec<u8> = vector.iter().flat_map(|float| float.to_le_bytes()).collect();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Returns a plausible extraction of `text`: each capitalized word is an entity, and adjacent ones are related.
pub fn extraction_of(text: &str) -> String {
    let is_name = |word: &&str| word.len() > 1 && word.starts_with(char::is_uppercase);
    let trimmed =
        text.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let mut names: Vec<&str> = Vec::new();
    for name in trimmed.filter(is_name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut records: Vec<String> = names
        .iter()
        .map(|name| format!("entity<|#|>{name}<|#|>Concept<|#|>{name} is named in the text."))
        .collect();
    records.extend(names.windows(2).map(|pair| {
        format!("relation<|#|>{0}<|#|>{1}<|#|>near<|#|>{0} is named next to {1}.", pair[0], pair[1])
    }));
    records.push("<|COMPLETE|>".to_owned());
    records.join("\n")
}
