//! Splits byte chunks, which may end anywhere, into lines and server-sent events.

use bytes::{Buf, Bytes, BytesMut};

/// Splits a byte stream into lines that end in LF, CR or CRLF.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    scanned: usize,
    after_cr: bool,
}

impl Lines {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the next complete line, without its line end.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        if self.after_cr && !self.buffer.is_empty() {
            self.after_cr = false;
            if self.buffer[0] == b'\n' {
                self.buffer.advance(1);
            }
        }
        let end = self.buffer[self.scanned..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end else {
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.scanned + end).freeze();
        self.after_cr = self.buffer[0] == b'\r';
        self.buffer.advance(1);
        self.scanned = 0;
        Some(line)
    }

    /// Returns the data after the last line end.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.scanned = 0;
        self.buffer.split().freeze()
    }
}

/// Parses the `data` of server-sent events. Other fields and comments are ignored.
#[derive(Debug, Default)]
pub(crate) struct SseEvents {
    lines: Lines,
    data: Option<Vec<u8>>,
    begun: bool,
}

impl SseEvents {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.lines.push(chunk);
    }

    /// Returns the data of the next complete event.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(line) = self.lines.next() {
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Some(data);
                }
            } else {
                self.read(&line);
            }
        }
        None
    }

    /// Returns the data of a last event without a closing blank line, which some servers send.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = self.lines.rest();
        self.read(&rest);
        self.data.take()
    }

    fn read(&mut self, line: &[u8]) {
        let line = if self.begun { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.begun = true;
        let Some(value) = line.strip_prefix(b"data") else { return };
        let value = match value.strip_prefix(b":") {
            Some(value) => value.strip_prefix(b" ").unwrap_or(value),
            None if value.is_empty() => value,
            None => return,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the events of `stream`, cut into chunks of `size` bytes.
    fn check_events(stream: &str, size: usize) -> Vec<String> {
        let mut events = SseEvents::default();
        let mut found = Vec::new();
        for chunk in stream.as_bytes().chunks(size) {
            events.push(chunk);
            found.extend(std::iter::from_fn(|| events.next()));
        }
        found.extend(events.finish());
        found.into_iter().map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        let stream = "\u{feff}: hello\r\n\r\nevent: x\r\ndata: {\"a\":\"ä€\u{1F600}\"}\r\n\r\ndata:two\n\
                      data: lines\n\nid: 7\rdata: mac\r\rdata: [DONE]";
        for size in 1..stream.len() {
            assert_eq!(
                check_events(stream, size),
                ["{\"a\":\"ä€\u{1F600}\"}", "two\nlines", "mac", "[DONE]"],
                "chunks of {size} bytes"
            );
        }
    }

    #[test]
    fn fields_that_only_start_like_data_are_not_data() {
        assert_eq!(check_events("database: x\n\ndata\n\n", 3), [""]);
    }
}
