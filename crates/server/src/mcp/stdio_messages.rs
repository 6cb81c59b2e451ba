//! Messages on standard input and output, one in each line. What is no message gets an error of the protocol.

use std::io;
use std::sync::Arc;

use futures::{Sink, Stream, sink, stream};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::rpc_error::{misread, refused};
use crate::limits::MAX_MCP_BODY;

/// The UTF-8 byte order mark, which Windows programs put before the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns where to send messages, and the messages that arrive until the input ends.
pub(super) fn messages<R, W>(
    input: R,
    output: W,
) -> (
    impl Sink<TxJsonRpcMessage<RoleServer>, Error = io::Error> + Send + Unpin + 'static,
    impl Stream<Item = RxJsonRpcMessage<RoleServer>> + Send + Unpin + 'static,
)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // Two messages must not mix, so a writer holds the lock until its message is complete.
    let output = Arc::new(Mutex::new(output));
    let sent = sink::unfold(Arc::clone(&output), |output, message| async move {
        write(&output, &message).await?;
        Ok(output)
    });
    let arriving = Arriving { input: BufReader::new(input), output };
    let received = stream::unfold(arriving, |mut arriving| async move {
        let message = arriving.next().await?;
        Some((message, arriving))
    });
    (Box::pin(sent), Box::pin(received))
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// The messages of a client.
struct Arriving<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<W>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Arriving<R, W> {
    /// Returns the next message; `None` if the input ends or the client does not take errors any more.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let error = match self.line().await {
                Ok(Line::Whole(line)) => match read(&line) {
                    Read::Message(message) => return Some(*message),
                    Read::Nothing => continue,
                    Read::Error(error) => error,
                },
                Ok(Line::TooLong) => {
                    refused(&format!("the message is too long; the limit is {MAX_MCP_BODY} bytes"))
                }
                Ok(Line::End) => return None,
                Err(error) => {
                    tracing::error!(%error, "reading a message failed");
                    return None;
                }
            };
            tracing::debug!(%error, "a message was refused");
            write(&self.output, &error).await.ok()?;
        }
    }

    /// Reads to the end of a line, but keeps no more than a message may have.
    async fn line(&mut self) -> io::Result<Line> {
        let mut line = Vec::new();
        let most = MAX_MCP_BODY as u64 + 1;
        (&mut self.input).take(most).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(Line::End);
        }
        if line.ends_with(b"\n") || line.len() <= MAX_MCP_BODY {
            return Ok(Line::Whole(line));
        }
        while !line.is_empty() && !line.ends_with(b"\n") {
            line.clear();
            (&mut self.input).take(most).read_until(b'\n', &mut line).await?;
        }
        Ok(Line::TooLong)
    }
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
    /// The input has ended.
    End,
}

/// What a line contains.
enum Read {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Nothing to answer: an empty line, or a notification, which never has an answer.
    Nothing,
    Error(Value),
}

fn read(line: &[u8]) -> Read {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Read::Message(Box::new(message));
    }
    let is_notification = serde_json::from_slice::<Value>(line)
        .is_ok_and(|message| message["method"].is_string() && message.get("id").is_none());
    if is_notification { Read::Nothing } else { Read::Error(misread(line)) }
}

#[cfg(test)]
mod tests {
    use futures::{SinkExt, StreamExt};
    use serde_json::json;

    use super::*;

    /// Returns the ids or methods of the messages that arrive, and what is written meanwhile.
    async fn check(input: String) -> (Vec<Value>, Vec<Value>) {
        let (output, mut written) = tokio::io::duplex(1 << 20);
        let (sink, arriving) = messages(io::Cursor::new(input.into_bytes()), output);
        let arrived: Vec<RxJsonRpcMessage<RoleServer>> = arriving.collect().await;
        drop(sink);
        let mut lines = String::new();
        written.read_to_string(&mut lines).await.expect("text");
        let arrived = arrived.iter().map(|message| {
            let message = json!(message);
            message.get("id").unwrap_or(&message["method"]).clone()
        });
        (arrived.collect(), lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
    }

    fn ping(id: u32, x: &str) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping", "params": { "x": x } }).to_string()
    }

    #[tokio::test]
    async fn lines_that_are_no_messages_get_the_errors_of_the_protocol() {
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        for (line, code, id) in [
            ("this is no message", -32700, json!(null)),
            ("{", -32700, json!(null)),
            ("7", -32600, json!(null)),
            ("[]", -32600, json!(null)),
            (r#"{"foo":1}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"1.0","id":"a7","method":"ping"}"#, -32600, json!("a7")),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
        ] {
            let (arrived, written) = check(format!("{line}\n{ready}\r\n\n{}\n", ping(1, ""))).await;
            assert_eq!(arrived, [json!("notifications/initialized"), json!(1)], "{line}");
            let [error] = &written[..] else { panic!("{line}: {written:?}") };
            assert_eq!((&error["error"]["code"], error.get("id")), (&json!(code), Some(&id)), "{line}");
        }
        let notification = r#"{"method":"textDocument/didOpen"}"#;
        let (arrived, written) = check(format!("\u{feff}{}\n{notification}\n", ping(1, ""))).await;
        assert_eq!((arrived, written), (vec![json!(1)], Vec::new()));
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_gets_an_error_with_the_limit_and_the_next_one_arrives() {
        let room = MAX_MCP_BODY - ping(1, "").len();
        let (fits, too_long) = (ping(1, &"x".repeat(room)), ping(2, &"x".repeat(room + 1)));
        let (arrived, written) = check(format!("{fits}\n{too_long}\n{}", ping(3, ""))).await;
        assert_eq!(arrived, [json!(1), json!(3)]);
        assert_eq!(written.len(), 1, "{written:?}");
        assert_eq!((&written[0]["error"]["code"], &written[0]["id"]), (&json!(-32600), &json!(null)));
        assert!(written[0].to_string().contains("4194304 bytes"), "{written:?}");
    }

    #[tokio::test]
    async fn every_message_is_sent_as_a_line() {
        let (output, mut written) = tokio::io::duplex(1 << 10);
        let (mut sink, _arriving) = messages(io::Cursor::new(Vec::new()), output);
        let error = rmcp::model::ErrorData::invalid_params("two\nlines", None);
        for id in [1, 2] {
            let id = Some(rmcp::model::RequestId::Number(id));
            sink.send(TxJsonRpcMessage::<RoleServer>::error(error.clone(), id)).await.expect("sent");
        }
        drop((sink, _arriving));
        let mut lines = String::new();
        written.read_to_string(&mut lines).await.expect("text");
        assert_eq!(lines.lines().count(), 2, "{lines}");
    }
}
