//! A language model on loopback that speaks OpenAI's protocol: every answer is a function of the prompt alone.
//!
//! It counts whole answers by prompt, to find calls that were paid for twice, and fails calls when it is told to.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::history::ModelFault;
use crate::http;
use crate::text::{NAMES, THING, canaries, canary};

/// How long a stalled call is silent before its connection ends.
const STALL: Duration = Duration::from_secs(3);

/// The server; it serves as long as the program runs.
#[derive(Clone)]
pub(crate) struct Provider {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    latency: Duration,
    faults: VecDeque<ModelFault>,
    /// Whole answers to extraction prompts that name a canary, by hash of the prompt.
    answered: BTreeMap<u64, u64>,
    calls: u64,
    in_flight: u64,
    failed: BTreeMap<ModelFault, u64>,
}

impl Provider {
    /// Starts a server at a port; 0 is any free one.
    pub(crate) fn start(port: u16, latency: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?.to_string();
        let provider = Self { address, state: Arc::default() };
        provider.state().latency = latency;
        let serving = provider.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let provider = serving.clone();
                // A client that went away ends its connection and nothing else.
                thread::spawn(move || provider.serve(&stream).ok());
            }
        });
        Ok(provider)
    }

    /// Where it is.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Forgets what was counted and answers at this pace from now on.
    pub(crate) fn reset(&self, latency: Duration) {
        *self.state() = State { latency, ..State::default() };
    }

    /// Lets the next calls fail.
    pub(crate) fn fail(&self, fault: ModelFault, calls: u32) {
        self.state().faults.extend((0..calls).map(|_| fault));
    }

    /// Lets no further call fail, and answers at once.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.latency = Duration::ZERO;
    }

    /// Calls that came so far, and those that are being answered now.
    pub(crate) fn calls(&self) -> (u64, u64) {
        let state = self.state();
        (state.calls, state.in_flight)
    }

    /// Extractions that were answered in whole more than once: how often above once.
    pub(crate) fn paid_twice(&self) -> u64 {
        self.state().answered.values().map(|times| times - 1).sum()
    }

    /// Calls that failed, by kind.
    pub(crate) fn failed(&self) -> BTreeMap<ModelFault, u64> {
        self.state().failed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request after the other until the connection ends, as providers do.
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        loop {
            let (_, body) = http::receive(stream)?;
            let body: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
            let (latency, fault) = {
                let mut state = self.state();
                state.calls += 1;
                state.in_flight += 1;
                let fault = state.faults.pop_front();
                if let Some(fault) = fault {
                    *state.failed.entry(fault).or_default() += 1;
                }
                (state.latency, fault)
            };
            // From half to one and a half of the latency, so that answers overtake each other.
            thread::sleep(latency / 2 + latency * (hash(&body.to_string()) % 1000) as u32 / 1000);
            let answered = self.answer(stream, &body, fault);
            self.state().in_flight -= 1;
            answered?;
            if matches!(fault, Some(ModelFault::Stall | ModelFault::Cut)) {
                return Ok(());
            }
        }
    }

    fn answer(&self, mut stream: &TcpStream, body: &Value, fault: Option<ModelFault>) -> std::io::Result<()> {
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let said: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
        let prompt = said.join("\n");
        let asked = said.last().copied().unwrap_or_default();
        let (status, kind, text) = match fault {
            Some(ModelFault::TooMany) => (
                "429 Too Many Requests",
                "application/json",
                r#"{"error":{"message":"slow down"}}"#.to_owned(),
            ),
            Some(ModelFault::Broken) => {
                ("500 Internal Server Error", "text/html", "<h1>an accident on purpose</h1>".to_owned())
            }
            Some(ModelFault::Garbage) => ("200 OK", "application/json", "<html>not JSON".to_owned()),
            Some(ModelFault::Stall) => {
                thread::sleep(STALL);
                return Ok(());
            }
            Some(ModelFault::Cut) | None => reply(&prompt, asked, body["stream"] == json!(true)),
        };
        let sent = if fault == Some(ModelFault::Cut) { &text[..text.len() / 2] } else { &text[..] };
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{sent}",
            text.len()
        )?;
        stream.flush()?;
        if fault.is_none() && is_extraction(&prompt) && !canaries(asked).is_empty() {
            *self.state().answered.entry(hash(&prompt)).or_default() += 1;
        }
        Ok(())
    }
}

fn is_extraction(prompt: &str) -> bool {
    prompt.contains("<|#|>")
}

fn reply(prompt: &str, asked: &str, stream: bool) -> (&'static str, &'static str, String) {
    let answer = if is_extraction(prompt) {
        extract(asked)
    } else if prompt.contains("high_level_keywords") {
        json!({ "high_level_keywords": ["work"], "low_level_keywords": [NAMES[0]] }).to_string()
    } else {
        format!("What is known is number {:016x}.", hash(prompt))
    };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    if stream {
        let delta =
            json!({ "choices": [{ "index": 0, "delta": { "content": answer }, "finish_reason": null }] });
        let end =
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": usage });
        return ("200 OK", "text/event-stream", format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"));
    }
    let message = json!({ "role": "assistant", "content": answer });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    ("200 OK", "application/json", json!({ "choices": [choice], "usage": usage }).to_string())
}

/// The shared names and the canaries of a passage, each related to the next.
fn extract(passage: &str) -> String {
    let shared = NAMES.into_iter().filter(|name| passage.contains(name)).map(str::to_owned);
    let mut names: Vec<String> = shared.collect();
    for (source, version) in canaries(passage) {
        let name = canary(source, version);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let words = passage.split(|c: char| !c.is_alphanumeric());
    names.extend(words.filter(|word| word.starts_with(THING) && word.len() > THING.len()).map(str::to_owned));
    // Descriptions differ from passage to passage, so that those of shared names have to be summarised.
    let place = format!("{:016x}", hash(passage));
    let entity = |name: &String| format!("entity<|#|>{name}<|#|>Person<|#|>{name} is in passage {place}.");
    let mut lines: Vec<String> = names.iter().map(entity).collect();
    lines.extend(names.windows(2).map(|pair| {
        format!("relation<|#|>{}<|#|>{}<|#|>work<|#|>{} works with {}.", pair[0], pair[1], pair[0], pair[1])
    }));
    lines.push("<|COMPLETE|>".to_owned());
    lines.join("\n")
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
