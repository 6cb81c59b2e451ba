//! A scripted LLM and embedder on loopback with OpenAI's protocol; every answer is a function of the prompt.
//!
//! Counts complete answers by prompt to find calls that were paid for twice, and fails calls on request.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::history::ModelFault;
use crate::http;
use crate::random::Random;
use crate::text::{NAMES, THING, canaries, canary};

/// The model all processes are configured with.
pub(crate) const MODEL: &str = "scripted";
/// Another model, with different answers for the same passage.
pub(crate) const OTHER_MODEL: &str = "scripted-other";
/// Dimensions of the vectors.
const DIMENSIONS: usize = 32;
/// How long a stalled call sends nothing before its connection closes.
const STALL: Duration = Duration::from_secs(3);

/// The server; it runs until the program ends.
#[derive(Clone)]
pub(crate) struct Provider {
    address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    latency: Duration,
    faults: VecDeque<ModelFault>,
    /// Number of complete answers to extraction prompts with a canary, by model and hash of the prompt.
    answered: BTreeMap<(String, u64), u64>,
    /// Time of the last extraction request.
    last_extraction: Option<Instant>,
    calls: u64,
    in_flight: u64,
    failed: BTreeMap<ModelFault, u64>,
}

impl Provider {
    /// Starts a server on a port; 0 picks a free one.
    pub(crate) fn start(port: u16, latency: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?.to_string();
        let provider = Self { address, state: Arc::default() };
        provider.state().latency = latency;
        let serving = provider.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let provider = serving.clone();
                // A client that disconnects affects only its own connection.
                thread::spawn(move || provider.serve(&stream).ok());
            }
        });
        Ok(provider)
    }

    /// Its URL.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Resets the counters and sets the latency.
    pub(crate) fn reset(&self, latency: Duration) {
        *self.state() = State { latency, ..State::default() };
    }

    /// Makes the next calls fail.
    pub(crate) fn fail(&self, fault: ModelFault, calls: u32) {
        self.state().faults.extend((0..calls).map(|_| fault));
    }

    /// Stops failing calls, and answers without delay.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.latency = Duration::ZERO;
    }

    /// Number of calls so far, and of calls in progress.
    pub(crate) fn calls(&self) -> (u64, u64) {
        let state = self.state();
        (state.calls, state.in_flight)
    }

    /// Number of complete extraction answers beyond the `allowed` number for their model.
    pub(crate) fn paid_twice(&self, allowed: impl Fn(&str) -> u64) -> u64 {
        let state = self.state();
        state.answered.iter().map(|((model, _), times)| times.saturating_sub(allowed(model))).sum()
    }

    /// Time of the last extraction request.
    pub(crate) fn last_extraction(&self) -> Option<Instant> {
        self.state().last_extraction
    }

    /// Number of failed calls by kind.
    pub(crate) fn failed(&self) -> BTreeMap<ModelFault, u64> {
        self.state().failed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests of a connection until it closes.
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        loop {
            let (path, body) = http::receive(stream)?;
            let body: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
            let (latency, fault) = {
                let mut state = self.state();
                state.calls += 1;
                if is_extraction(&prompt(&body)) {
                    state.last_extraction = Some(Instant::now());
                }
                state.in_flight += 1;
                let fault = state.faults.pop_front();
                if let Some(fault) = fault {
                    *state.failed.entry(fault).or_default() += 1;
                }
                (state.latency, fault)
            };
            // Between half and one and a half of the latency, so that answers overtake each other.
            thread::sleep(latency / 2 + latency * (hash(&body.to_string()) % 1000) as u32 / 1000);
            let answered = self.answer(stream, &path, &body, fault);
            self.state().in_flight -= 1;
            answered?;
            if matches!(fault, Some(ModelFault::Stall | ModelFault::Cut)) {
                return Ok(());
            }
        }
    }

    fn answer(
        &self,
        mut stream: &TcpStream,
        path: &str,
        body: &Value,
        fault: Option<ModelFault>,
    ) -> std::io::Result<()> {
        let prompt = prompt(body);
        let last_message = messages(body).last().unwrap_or_default();
        let model = body["model"].as_str().unwrap_or_default();
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
            Some(ModelFault::Cut) | None if path.ends_with("/embeddings") => {
                ("200 OK", "application/json", embeddings(body))
            }
            Some(ModelFault::Cut) | None => {
                reply(model, &prompt, last_message, body["stream"] == json!(true))
            }
        };
        let sent = if fault == Some(ModelFault::Cut) { &text[..text.len() / 2] } else { &text[..] };
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{sent}",
            text.len()
        )?;
        stream.flush()?;
        if fault.is_none() && is_extraction(&prompt) && !canaries(last_message).is_empty() {
            *self.state().answered.entry((model.to_owned(), hash(&prompt))).or_default() += 1;
        }
        Ok(())
    }
}

/// The texts of a request.
fn messages(body: &Value) -> impl Iterator<Item = &str> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_str())
}

fn prompt(body: &Value) -> String {
    messages(body).collect::<Vec<_>>().join("\n")
}

/// A vector for each text, which depends on that text only.
fn embeddings(body: &Value) -> String {
    let texts = match &body["input"] {
        Value::Array(texts) => texts.clone(),
        text => vec![text.clone()],
    };
    let as_base64 = body["encoding_format"] == "base64";
    let vector = |text: &Value| {
        let mut random = Random::new(hash(&text.to_string()));
        let numbers: Vec<f32> = (0..DIMENSIONS).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect();
        match as_base64 {
            true => {
                json!(base64(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()))
            }
            false => json!(numbers),
        }
    };
    let row = |(index, text)| json!({ "object": "embedding", "index": index, "embedding": vector(text) });
    let data: Vec<Value> = texts.iter().enumerate().map(row).collect();
    let usage = json!({ "prompt_tokens": 1, "total_tokens": 1 });
    json!({ "object": "list", "model": body["model"], "data": data, "usage": usage }).to_string()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        (0..4)
            .map(move |digit| match digit > three.len() {
                true => '=',
                false => char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63]),
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}

fn is_extraction(prompt: &str) -> bool {
    prompt.contains("<|#|>")
}

fn reply(
    model: &str,
    prompt: &str,
    last_message: &str,
    stream: bool,
) -> (&'static str, &'static str, String) {
    let answer = if is_extraction(prompt) {
        extract(model, last_message)
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

/// The shared names and canaries of a passage, each related to the next, with wording that differs between models.
fn extract(model: &str, passage: &str) -> String {
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
    // Descriptions differ between passages, so that those of shared names must be summarized.
    let place = format!("{:016x}", hash(passage));
    let entity = |name: &String| {
        format!("entity<|#|>{name}<|#|>Person<|#|>{name} is in passage {place}, as {model} says.")
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded_to_whole_groups() {
        let encoded: Vec<String> = [&b"f"[..], b"fo", b"foo", b"foob"].map(base64).into();
        assert_eq!(encoded, ["Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }

    #[test]
    fn the_vector_depends_only_on_the_text() {
        let body = json!({ "model": "m", "input": ["one", "other", "one"] });
        let answer: Value = serde_json::from_str(&embeddings(&body)).expect("JSON");
        let vector = |at: usize| &answer["data"][at]["embedding"];
        assert_eq!(vector(0), vector(2));
        assert_ne!(vector(0), vector(1));
    }

    #[test]
    fn an_extraction_contains_the_names_of_the_passage() {
        let answer = extract(MODEL, "Anna Berg met Canary1x2z and Thing1v2p0n0.");
        let names = ["entity<|#|>Anna Berg<", "entity<|#|>Canary1x2z<", "entity<|#|>Thing1v2p0n0<"];
        assert!(names.iter().all(|name| answer.contains(name)), "{answer}");
    }
}
