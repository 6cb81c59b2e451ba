//! Receives the whole request body before the request gets its turn, so that a slow upload does not block others.
//!
//! A small body waits in memory, a large one in a temporary file. Both have a total limit, which is shared fairly
//! among senders.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::limits::Limits;
use crate::problem::{Problem, chain};
use crate::route::{Route, Takes};
use crate::turns::{Holder, Turns};

/// Minimum bytes of a body per [`Limits::body_window`], unless it ends.
const MIN_BYTES_A_WINDOW: usize = 8 << 10;
/// Maximum bodies being received.
const MAX_ARRIVING: usize = 512;
/// Maximum size of a body in memory, in bytes.
pub(crate) const MAX_IN_MEMORY: usize = 1 << 20;
/// Maximum size of all bodies in memory, in bytes.
const MAX_MEMORY: usize = 128 << 20;
/// Maximum size of all temporary files, in bytes.
const MAX_DISK: usize = 2 << 30;
/// Bytes written to or read from a temporary file at once.
const PIECE: usize = 256 << 10;
/// An upload may take this many times the time of other bodies.
const UPLOAD_TIMES: u32 = 5;
/// Maximum time for a body, whatever the configuration.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// When to retry a body that did not fit.
const COME_BACK: Duration = Duration::from_secs(5);

/// Holds request bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    arriving: Turns,
    memory: Arc<Budget>,
    disk: Arc<Budget>,
    folder: PathBuf,
}

impl Bodies {
    /// - `folder`: for temporary files. They have no name, so they disappear with the process.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            arriving: Turns::new(MAX_ARRIVING),
            memory: Budget::new(MAX_MEMORY),
            disk: Budget::new(MAX_DISK),
            folder: folder.to_owned(),
        }
    }

    /// The request with its complete body, if it respects the limits of size, rate and time.
    pub(crate) async fn receive(
        &self,
        route: &Route,
        holder: &Holder,
        limits: &Limits,
        request: Request,
    ) -> Result<Request, Problem> {
        let times = match route.takes {
            Takes::Nothing | Takes::Query(_) => return Ok(request),
            Takes::Json(_) | Takes::Form(_) => 1,
            Takes::File => UPLOAD_TIMES,
        };
        check_encoding(&request)?;
        let full = |wait| Problem::busy("the server is receiving too many request bodies", wait);
        let _arriving = self.arriving.take(holder, limits.turn).await.map_err(full)?;
        let (head, body) = request.into_parts();
        let pace = Pace::of(limits, times);
        let kept = self.keep(holder, route.max_body, pace, body).await?;
        Ok(Request::from_parts(head, kept))
    }

    async fn keep(&self, holder: &Holder, most: usize, pace: Pace, mut body: Body) -> Result<Body, Problem> {
        let mut memory = Reservation::of(&self.memory, holder);
        let mut file: Option<Spool> = None;
        let mut bytes = BytesMut::new();
        let mut total = 0;
        let mut window = Window::begin(&pace);
        while let Some(piece) = window.next(&mut body).await? {
            total += piece.len();
            if total > most {
                return Err(Problem::too_large(most));
            }
            let stays =
                file.is_none() && bytes.len() + piece.len() <= MAX_IN_MEMORY && memory.add(piece.len());
            if !stays && file.is_none() {
                file = Some(Spool::open(&self.folder, Reservation::of(&self.disk, holder)).await?);
            }
            bytes.extend_from_slice(&piece);
            if let Some(file) = &mut file
                && bytes.len() >= PIECE
            {
                file.write(&mut bytes).await?;
                memory.release();
            }
        }
        let Some(mut file) = file else {
            let held = futures::stream::once(async move {
                // The body leaves the budget when the handler takes it.
                drop(memory);
                Ok::<_, Infallible>(bytes.freeze())
            });
            return Ok(Body::from_stream(held));
        };
        file.write(&mut bytes).await?;
        file.into_body().await
    }
}

/// Rejects compressed bodies, which could expand to any size.
fn check_encoding(request: &Request) -> Result<(), Problem> {
    let mut encodings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    match encodings.find(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        None => Ok(()),
        Some(encoding) => {
            let encoding = encoding.to_str().unwrap_or("unknown");
            let what = format!("unsupported Content-Encoding {encoding:?}");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what)
                .remedy(Some("send it without Content-Encoding")))
        }
    }
}

/// The required speed of a body.
#[derive(Debug, Clone, Copy)]
struct Pace {
    end: Instant,
    window: Duration,
}

impl Pace {
    fn of(limits: &Limits, times: u32) -> Self {
        let within = limits.body.saturating_mul(times).min(LONGEST);
        Self { end: Instant::now() + within, window: limits.body_window.min(LONGEST) }
    }
}

/// The current window of a body.
struct Window<'a> {
    pace: &'a Pace,
    end: Instant,
    bytes: usize,
}

impl<'a> Window<'a> {
    fn begin(pace: &'a Pace) -> Self {
        Self { pace, end: (Instant::now() + pace.window).min(pace.end), bytes: 0 }
    }

    /// The next piece of the body; `None` at the end.
    async fn next(&mut self, body: &mut Body) -> Result<Option<Bytes>, Problem> {
        loop {
            let frame = match timeout_at(self.end, body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) => {
                    return Err(Problem::new(
                        StatusCode::BAD_REQUEST,
                        "the connection closed before the end of the body",
                    ));
                }
                Err(_) => return Err(self.late()),
            };
            let Ok(data) = frame.into_data() else { continue };
            self.bytes += data.len();
            if self.bytes >= MIN_BYTES_A_WINDOW {
                *self = Self::begin(self.pace);
            }
            return Ok(Some(data));
        }
    }

    fn late(&self) -> Problem {
        let what = if self.end >= self.pace.end {
            "receiving the body took too long".to_owned()
        } else {
            let (least, window) = (MIN_BYTES_A_WINDOW, self.pace.window);
            format!("the body arrives too slowly: fewer than {least} bytes within {window:?}")
        };
        Problem::new(StatusCode::REQUEST_TIMEOUT, what)
    }
}

/// A body in a temporary file.
struct Spool {
    file: Option<File>,
    disk: Reservation,
}

impl Spool {
    async fn open(folder: &Path, disk: Reservation) -> Result<Self, Problem> {
        let folder = folder.to_owned();
        let open = move || {
            fs::create_dir_all(&folder)?;
            tempfile::tempfile_in(&folder)
        };
        Ok(Self { file: Some(on_disk(open).await?), disk })
    }

    /// Moves these bytes to the file.
    async fn write(&mut self, bytes: &mut BytesMut) -> Result<(), Problem> {
        if !self.disk.add(bytes.len()) {
            let what = "the server holds too many large request bodies";
            return Err(Problem::unavailable(what, COME_BACK));
        }
        let (file, piece) = (self.file.take(), bytes.split().freeze());
        let write = move || {
            let mut file = file.ok_or_else(broken)?;
            file.write_all(&piece).map(|()| file)
        };
        self.file = Some(on_disk(write).await?);
        Ok(())
    }

    /// A body that reads the file piece by piece.
    async fn into_body(self) -> Result<Body, Problem> {
        let Self { file, disk } = self;
        let rewind = move || {
            let mut file = file.ok_or_else(broken)?;
            file.rewind().map(|()| file)
        };
        let file = on_disk(rewind).await?;
        let pieces = futures::stream::try_unfold((file, disk), |(mut file, disk)| async move {
            let read = tokio::task::spawn_blocking(move || {
                let mut piece = Vec::with_capacity(PIECE);
                (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
                Ok::<_, io::Error>((piece, file))
            });
            let (piece, file) = read.await.map_err(io::Error::other)??;
            Ok::<_, io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), (file, disk))))
        });
        Ok(Body::from_stream(pieces))
    }
}

/// The error after an earlier write failed.
fn broken() -> io::Error {
    io::Error::other("the temporary file is missing")
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| {
        tracing::error!(error = chain(&error), "writing a request body to a temporary file failed");
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Problem::new(StatusCode::INSUFFICIENT_STORAGE, "the server's disk is full")
                    .remedy(Some("free space on the disk of the server's data folder"))
            }
            _ => Problem::internal(&error),
        }
    })
}

/// A number of bytes shared among holders.
#[derive(Debug)]
struct Budget {
    most: usize,
    used: Mutex<HashMap<Holder, usize>>,
}

impl Budget {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, used: Mutex::default() })
    }

    /// Reserves bytes if there is room; one holder gets at most half, unless it is the only one.
    fn take(&self, holder: &Holder, bytes: usize) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (used.values().sum::<usize>(), used.get(holder).copied().unwrap_or(0));
        let share = if *holder == Holder::Machine { self.most } else { self.most / 2 };
        if all + bytes > self.most || own + bytes > share {
            return false;
        }
        *used.entry(holder.clone()).or_default() += bytes;
        true
    }

    fn give_back(&self, holder: &Holder, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = used.get_mut(holder) {
            *own -= bytes;
            if *own == 0 {
                used.remove(holder);
            }
        }
    }
}

/// Reserved bytes, released when dropped.
struct Reservation {
    budget: Arc<Budget>,
    holder: Holder,
    bytes: usize,
}

impl Reservation {
    fn of(budget: &Arc<Budget>, holder: &Holder) -> Self {
        Self { budget: Arc::clone(budget), holder: holder.clone(), bytes: 0 }
    }

    /// Reserves more bytes if there is room.
    fn add(&mut self, bytes: usize) -> bool {
        let there = self.budget.take(&self.holder, bytes);
        self.bytes += if there { bytes } else { 0 };
        there
    }

    fn release(&mut self) {
        self.budget.give_back(&self.holder, std::mem::take(&mut self.bytes));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Holder {
        Holder::Credential(name.to_owned())
    }

    async fn keep(bodies: &Bodies, body: Vec<u8>, most: usize) -> Result<Vec<u8>, String> {
        let pace = Pace { end: Instant::now() + Duration::from_secs(600), window: Duration::from_secs(600) };
        let kept =
            bodies.keep(&key("a"), most, pace, Body::from(body)).await.map_err(|error| error.words())?;
        Ok(kept.collect().await.expect("a whole body").to_bytes().to_vec())
    }

    #[tokio::test]
    async fn a_body_comes_back_unchanged_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bodies = Bodies::new(&folder.path().join("made"));
        for size in [0, 1, MAX_IN_MEMORY, MAX_IN_MEMORY + 1, 3 * MAX_IN_MEMORY + 7] {
            let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            assert_eq!(keep(&bodies, body.clone(), size).await.as_ref(), Ok(&body), "{size}");
        }
        assert_eq!(fs::read_dir(folder.path().join("made")).expect("a folder").count(), 0);
        assert!(bodies.memory.used.lock().expect("a lock").is_empty());
        assert!(bodies.disk.used.lock().expect("a lock").is_empty());

        bodies.memory = Budget::new(10);
        let body = vec![7; 1000];
        assert_eq!(
            keep(&bodies, body.clone(), 1000).await,
            Ok(body),
            "without memory, the body goes to disk"
        );
        bodies.disk = Budget::new(10);
        assert!(
            keep(&bodies, vec![7; 1000], 1000).await.is_err_and(|words| words.contains("too many large"))
        );
        assert!(
            keep(&bodies, vec![7; 1000], 999).await.is_err_and(|words| words.contains("larger than 999"))
        );
    }

    #[test]
    fn one_holder_gets_at_most_half_of_a_budget() {
        let budget = Budget::new(100);
        let mut one = Reservation::of(&budget, &key("a"));
        assert!(one.add(50) && !one.add(1));
        let mut other = Reservation::of(&budget, &key("b"));
        assert!(other.add(50) && !Reservation::of(&budget, &Holder::Machine).add(1));
        drop(one);
        assert!(Reservation::of(&budget, &Holder::Machine).add(50));
    }
}
