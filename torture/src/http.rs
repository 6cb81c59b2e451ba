//! A minimal HTTP implementation: one request per connection, and parsing requests in a server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Time limit of a request; a server that needs longer counts as hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);
/// Maximum body size that the model server reads.
const MAX_BODY: usize = 16 << 20;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// Its body.
    pub(crate) body: String,
}

/// Sends a request and reads the whole answer.
pub(crate) fn send(address: &str, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    send_and_read(address, (method, path), body, || false)
}

/// Sends a request and reads the whole answer, one KiB at a time while `pause` returns `true`.
pub(crate) fn send_and_read(
    address: &str,
    (method, path): (&str, &str),
    body: &str,
    pause: impl FnMut() -> bool,
) -> io::Result<Answer> {
    let to: SocketAddr = address.parse().map_err(io::Error::other)?;
    let mut stream = TcpStream::connect_timeout(&to, Duration::from_secs(30))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A server that closes a connection while a body still arrives resets it, and the rest of its answer is lost.
    let body = match method {
        "GET" => "\r\n".to_owned(),
        _ => {
            format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        }
    };
    let request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{body}");
    stream.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(Slow { stream, pause });
    let mut head = String::new();
    reader.read_line(&mut head)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("the connection ended without an answer"))?;
    let (length, chunked) = headers(&mut reader)?;
    let mut bytes = Vec::new();
    match length {
        _ if chunked => read_chunks(&mut reader, &mut bytes)?,
        Some(length) => {
            bytes.resize(length, 0);
            reader.read_exact(&mut bytes)?;
        }
        None => {
            reader.read_to_end(&mut bytes)?;
        }
    }
    Ok(Answer { status, body: String::from_utf8_lossy(&bytes).into_owned() })
}

/// A slow reader.
struct Slow<P> {
    stream: TcpStream,
    pause: P,
}

impl<P: FnMut() -> bool> Read for Slow<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = if (self.pause)() { buffer.len().min(1024) } else { buffer.len() };
        self.stream.read(&mut buffer[..most])
    }
}

/// Reads a request; returns its path and body.
pub(crate) fn receive(stream: &TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (length, _) = headers(&mut reader)?;
    let mut body = vec![0; length.unwrap_or(0).min(MAX_BODY)];
    reader.read_exact(&mut body)?;
    Ok((path, body))
}

/// The length of the body, and whether it is chunked.
fn headers(reader: &mut impl BufRead) -> io::Result<(Option<usize>, bool)> {
    let (mut length, mut chunked) = (None, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            return Ok((length, chunked));
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
    }
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + length, 0);
        reader.read_exact(&mut body[start..])?;
        let mut end = [0; 2];
        reader.read_exact(&mut end)?;
        if length == 0 {
            return Ok(());
        }
    }
}
