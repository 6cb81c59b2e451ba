//! A pipe from a thread to a response body, with a small buffer.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::Notify;

/// Buffered bytes above which the writer blocks.
const MAX_WAITING: usize = 512 << 10;
/// Bytes per chunk of the body.
const PIECE: usize = 64 << 10;
/// Maximum number of [`LOOK`]s in a row in which a client reads nothing before the pipe breaks, because the writer holds a thread
/// and a snapshot. Counts looks instead of time, because time also passes on a machine that is overloaded or asleep.
const PATIENCE: u32 = 120;
/// How long the writer waits before it looks again.
const LOOK: Duration = Duration::from_secs(1);

/// The writing end, for a thread that may block. Only [`PipeWriter::finish`] ends the body regularly; dropping the
/// writer breaks it off, so that a partial body cannot look complete.
pub(crate) struct PipeWriter {
    shared: Arc<Shared>,
    piece: Vec<u8>,
}

/// The reading end; dropping it notifies the writer.
struct PipeReader(Arc<Shared>);

struct Shared {
    /// How long the writer waits before it looks again.
    look: Duration,
    state: Mutex<State>,
    taken: Condvar,
    added: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// Pieces that the reader took.
    taken: u64,
    end: End,
    left: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    #[default]
    NotYet,
    Whole,
    Broken,
}

/// The writing end and the body.
pub(crate) fn pipe() -> (PipeWriter, Body) {
    pipe_looking(LOOK)
}

fn pipe_looking(look: Duration) -> (PipeWriter, Body) {
    let shared = Shared { look, state: Mutex::default(), taken: Condvar::new(), added: Notify::new() };
    let shared = Arc::new(shared);
    let reader = PipeReader(Arc::clone(&shared));
    let stream = futures::stream::unfold(Some(reader), |reader| async move {
        let reader = reader?;
        match reader.next().await {
            Some(Ok(bytes)) => Some((Ok(bytes), Some(reader))),
            Some(Err(error)) => Some((Err(error), None)),
            None => None,
        }
    });
    (PipeWriter { shared, piece: Vec::new() }, Body::from_stream(stream))
}

impl PipeWriter {
    /// Sends the rest and ends the body.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.shared.end(End::Whole);
        Ok(())
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.shared.add(Bytes::from(std::mem::take(&mut self.piece)))
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.shared.end(End::Broken);
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.lock().left = true;
        self.0.taken.notify_all();
    }
}

impl PipeReader {
    async fn next(&self) -> Option<io::Result<Bytes>> {
        loop {
            {
                let mut state = self.0.lock();
                if let Some(bytes) = state.waiting.pop_front() {
                    state.bytes -= bytes.len();
                    state.taken += 1;
                    self.0.taken.notify_all();
                    return Some(Ok(bytes));
                }
                match state.end {
                    End::NotYet => {}
                    End::Whole => return None,
                    End::Broken => return Some(Err(io::Error::other("the writer stopped before the end"))),
                }
            }
            self.0.added.notified().await;
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the end; the first call wins.
    fn end(&self, end: End) {
        let mut state = self.lock();
        if state.end == End::NotYet {
            state.end = end;
        }
        drop(state);
        self.added.notify_one();
    }

    fn add(&self, bytes: Bytes) -> io::Result<()> {
        let mut state = self.lock();
        let mut in_vain = 0;
        while state.bytes > MAX_WAITING && !state.left {
            let before = state.taken;
            state = self.taken.wait_timeout(state, self.look).unwrap_or_else(PoisonError::into_inner).0;
            in_vain = if state.taken == before { in_vain + 1 } else { 0 };
            if in_vain >= PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the client read nothing for too long"));
            }
        }
        if state.left {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client disconnected"));
        }
        state.bytes += bytes.len();
        state.waiting.push_back(bytes);
        drop(state);
        self.added.notify_one();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn everything_arrives_in_order_and_the_buffer_stays_small() {
        let (mut writer, mut body) = pipe();
        let writing = std::thread::spawn(move || {
            let mut most = 0;
            for number in 0..200_000u32 {
                writeln!(writer, "line {number}").expect("a reader");
                most = most.max(writer.shared.lock().bytes);
            }
            writer.finish().expect("a reader");
            most
        });
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            text.extend_from_slice(&frame.expect("whole").into_data().expect("data"));
        }
        assert!(writing.join().expect("no panic") <= MAX_WAITING + 2 * PIECE);
        let text = String::from_utf8(text).expect("text");
        assert!(text.lines().enumerate().all(|(at, line)| line == format!("line {at}")));
        assert_eq!(text.lines().count(), 200_000);
    }

    #[tokio::test]
    async fn a_pipe_without_an_end_is_an_error() {
        let (mut writer, body) = pipe();
        writer.write_all(b"half").expect("a reader");
        writer.flush().expect("a reader");
        drop(writer);
        assert!(body.collect().await.is_err());
    }

    #[test]
    fn a_write_times_out_if_the_reader_takes_nothing() {
        let (mut writer, _body) = pipe_looking(Duration::from_millis(1));
        let written = (0..MAX_WAITING / PIECE + 2).try_for_each(|_| writer.write_all(&[0; PIECE]));
        assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }

    #[test]
    fn a_write_fails_once_the_reader_has_left() {
        let (mut writer, body) = pipe();
        drop(body);
        let written = writer.write_all(&vec![0; PIECE]);
        assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
    }
}
