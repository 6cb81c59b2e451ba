//! A scripted OpenAI-compatible chat model on loopback.
//!
//! It extracts one entity for each word of a chunk that begins with `Thing`, and relates each to the next, so its answers are a
//! function of the text. It can hold answers back until a test has seen that a request is waiting.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Graphloom;

/// The model; it serves until the test ends.
#[derive(Clone)]
pub(crate) struct ScriptedModel {
    address: String,
    shared: Arc<Shared>,
}

/// Returns the program with the model in all roles, one call at a time and no gleaning. `docs/` has a document for each name,
/// which relates it to `ThingZ`.
pub(crate) fn with_things(model: &ScriptedModel, names: &[&str]) -> Graphloom {
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_MAX_CONCURRENT_CALLS", "1")
        .with("GRAPHLOOM_GLEANING", "0");
    for name in names {
        graphloom.write(&format!("docs/{name}.md"), format!("{name} stands beside ThingZ.\n"));
    }
    graphloom
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Requests that may still be answered; `None` for all.
    allowed: Option<usize>,
    /// Number of requests that are held back.
    held: usize,
    /// Grows when held requests are dropped without an answer, or answered.
    round: u64,
    /// The last round whose requests are answered.
    answered: Option<u64>,
    /// How often each extraction prompt was received.
    asked: BTreeMap<String, usize>,
    /// How often each prompt of any kind was received.
    anything: BTreeMap<String, usize>,
    /// Prompts that contain this text are refused.
    refuse: Option<String>,
    /// The answer to calls other than extractions.
    answer: String,
    /// Text before the records of an extraction.
    preamble: String,
    /// How long each answer takes.
    delay: Duration,
    /// The next request is answered with status 429 and this many seconds to wait.
    retry_after: Option<u64>,
    /// Usage to report for every call: tokens sent, of them cached, and received; by default 10, 0 and 5.
    tokens: Option<[u64; 3]>,
    /// Whether answers lack the usage.
    is_uncounted: bool,
}

impl ScriptedModel {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let model = Self { address, shared: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = serving.clone();
                // A client that disconnects ends only its own connection.
                thread::spawn(move || model.serve(stream).ok());
            }
        });
        model
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers `count` more requests and holds all later ones back.
    pub(crate) fn allow(&self, count: usize) {
        self.change(|state| state.allowed = Some(count));
    }

    /// Answers everything again; held requests are dropped without an answer.
    pub(crate) fn release(&self) {
        self.change(|state| {
            state.allowed = None;
            state.round += 1;
        });
    }

    /// Answers everything again, held requests too.
    pub(crate) fn answer_held(&self) {
        self.change(|state| {
            state.allowed = None;
            state.answered = Some(state.round);
            state.round += 1;
        });
    }

    /// Waits until a request is held back.
    pub(crate) fn wait_for_held(&self) {
        let mut state = self.shared.state.lock().expect("not poisoned");
        while state.held == 0 {
            state = self.shared.changed.wait(state).expect("not poisoned");
        }
    }

    /// True if a request is held back.
    pub(crate) fn is_holding(&self) -> bool {
        self.shared.state.lock().expect("not poisoned").held > 0
    }

    /// Refuses prompts that contain `part`; `None` refuses nothing.
    pub(crate) fn refuse(&self, part: Option<&str>) {
        self.change(|state| state.refuse = part.map(str::to_owned));
    }

    /// Sets the answer to calls other than extractions.
    pub(crate) fn answer_with(&self, answer: &str) {
        self.change(|state| answer.clone_into(&mut state.answer));
    }

    /// Sets the text before the records of an extraction.
    pub(crate) fn set_preamble(&self, preamble: &str) {
        self.change(|state| preamble.clone_into(&mut state.preamble));
    }

    /// Reports this usage for every call: tokens sent, of them cached, and received.
    pub(crate) fn count_tokens(&self, tokens: [u64; 3]) {
        self.change(|state| state.tokens = Some(tokens));
    }

    /// Sets whether the usage of calls is reported.
    pub(crate) fn report_usage(&self, reports: bool) {
        self.change(|state| state.is_uncounted = !reports);
    }

    /// Answers the next request with status 429 and this many seconds to wait.
    pub(crate) fn answer_with_rate_limit(&self, seconds: u64) {
        self.change(|state| state.retry_after = Some(seconds));
    }

    /// Waits until that answer is sent.
    pub(crate) fn wait_until_rate_limited(&self) {
        let mut state = self.shared.state.lock().expect("not poisoned");
        while state.retry_after.is_some() {
            state = self.shared.changed.wait(state).expect("not poisoned");
        }
    }

    /// Delays every answer by this time.
    pub(crate) fn answer_after(&self, delay: Duration) {
        self.change(|state| state.delay = delay);
    }

    /// Waits until `count` extraction prompts were received, counting repetitions.
    pub(crate) fn wait_until_asked(&self, count: usize) {
        let mut state = self.shared.state.lock().expect("not poisoned");
        while state.asked.values().sum::<usize>() < count {
            state = self.shared.changed.wait(state).expect("not poisoned");
        }
    }

    /// Returns how often each extraction prompt was received.
    pub(crate) fn asked(&self) -> BTreeMap<String, usize> {
        self.shared.state.lock().expect("not poisoned").asked.clone()
    }

    /// Returns how often each prompt of any kind was received.
    pub(crate) fn prompts_of_any_kind(&self) -> BTreeMap<String, usize> {
        self.shared.state.lock().expect("not poisoned").anything.clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.state.lock().expect("not poisoned"));
        self.shared.changed.notify_all();
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let body = read_body(&mut stream)?;
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let said: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
        let prompt = said.join("\n");
        let is_extraction = prompt.contains("<|#|>");
        if !self.admit(&prompt, is_extraction) {
            return Ok(());
        }
        let retry_after = self.shared.state.lock().expect("not poisoned").retry_after.take();
        if let Some(seconds) = retry_after {
            self.shared.changed.notify_all();
            let status = format!("429 Too Many Requests\r\nretry-after: {seconds}");
            return respond(&mut stream, &status, "application/json", r#"{"error":{"message":"too many"}}"#);
        }
        let (delay, refuse, answer, preamble, [sent, cached, received]) = {
            let state = self.shared.state.lock().expect("not poisoned");
            let tokens = state.tokens.unwrap_or([10, 0, 5]);
            (state.delay, state.refuse.clone(), state.answer.clone(), state.preamble.clone(), tokens)
        };
        thread::sleep(delay);
        if refuse.is_some_and(|part| prompt.contains(&part)) {
            return respond(
                &mut stream,
                "400 Bad Request",
                "application/json",
                r#"{"error":{"message":"refused"}}"#,
            );
        }
        let answer = if is_extraction {
            preamble + &extract(said.last().copied().unwrap_or_default())
        } else {
            answer
        };
        let usage = match self.shared.state.lock().expect("not poisoned").is_uncounted {
            true => Value::Null,
            false => json!({
                "prompt_tokens": sent,
                "completion_tokens": received,
                "total_tokens": sent + received,
                "prompt_tokens_details": { "cached_tokens": cached },
            }),
        };
        if body["stream"] == json!(true) {
            let delta =
                json!({ "choices": [{ "index": 0, "delta": { "content": answer }, "finish_reason": null }] });
            let end =
                json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": usage });
            let events = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
            return respond(&mut stream, "200 OK", "text/event-stream", &events);
        }
        let message = json!({ "role": "assistant", "content": answer });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        respond(
            &mut stream,
            "200 OK",
            "application/json",
            &json!({ "choices": [choice], "usage": usage }).to_string(),
        )
    }

    /// Counts a request and waits until it may be answered. Returns `false` if it is dropped.
    fn admit(&self, prompt: &str, count: bool) -> bool {
        let mut state = self.shared.state.lock().expect("not poisoned");
        *state.anything.entry(prompt.to_owned()).or_default() += 1;
        if count {
            *state.asked.entry(prompt.to_owned()).or_default() += 1;
            self.shared.changed.notify_all();
        }
        match state.allowed.as_mut() {
            None => return true,
            Some(0) => {}
            Some(left) => {
                *left -= 1;
                return true;
            }
        }
        let round = state.round;
        state.held += 1;
        self.shared.changed.notify_all();
        while state.round == round {
            state = self.shared.changed.wait(state).expect("not poisoned");
        }
        state.held -= 1;
        state.answered == Some(round)
    }
}

/// Returns one entity for each word of the prompt that begins with `Thing`, each related to the next.
fn extract(prompt: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for word in prompt.split(|c: char| !c.is_alphanumeric()) {
        if word.starts_with("Thing") && !names.contains(&word) {
            names.push(word);
        }
    }
    let mut lines: Vec<String> =
        names.iter().map(|name| format!("entity<|#|>{name}<|#|>Concept<|#|>{name} is a thing.")).collect();
    lines.extend(names.windows(2).map(|pair| {
        format!(
            "relation<|#|>{}<|#|>{}<|#|>beside<|#|>{} stands beside {}.",
            pair[0], pair[1], pair[0], pair[1]
        )
    }));
    lines.push("<|COMPLETE|>".to_owned());
    lines.join("\n")
}

fn read_body(stream: &mut TcpStream) -> std::io::Result<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    serde_json::from_slice(&body).map_err(std::io::Error::other)
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}
