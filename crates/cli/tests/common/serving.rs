//! A running `graphloom serve`, and a client that sends its requests byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Graphloom;

/// How long a test waits for an expected event.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server of the built program; killed when dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start(graphloom: &Graphloom, arguments: &[&str]) -> Self {
        Self::start_with_log(graphloom, arguments, Stdio::null())
    }

    pub(crate) fn start_with_log(graphloom: &Graphloom, arguments: &[&str], log: Stdio) -> Self {
        let arguments: Vec<&str> =
            ["--json", "serve", "--port", "0"].iter().chain(arguments).copied().collect();
        let mut command = graphloom.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address");
        Self { child, address: address.to_owned() }
    }

    /// Sends a request; returns the status and the body of the response.
    pub(crate) fn send(&self, method: &str, path: &str, key: &str, body: &Value) -> (u16, String) {
        send(&self.address, method, path, key, body)
    }

    pub(crate) fn ok(&self, method: &str, path: &str, key: &str, body: &Value) -> Value {
        let (status, body) = self.send(method, path, key, body);
        assert_eq!(status, 200, "{method} {path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    #[cfg(unix)]
    pub(crate) fn stop(mut self) {
        let pid = self.child.id().to_string();
        let killed = std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(killed.success());
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
    }
}

/// Sends a request to the server at `address`; returns the status and the body of the response.
pub(crate) fn send(address: &str, method: &str, path: &str, key: &str, body: &Value) -> (u16, String) {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let answer = send_with(address, method, path, &headers, &body.to_string());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (status_of(&answer), body)
}

/// Sends a request with these headers; returns the response including its head.
pub(crate) fn send_with(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Returns the status of a response.
pub(crate) fn status_of(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
