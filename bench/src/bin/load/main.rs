//! Sends requests to a server on this machine, at a rate or over a number of connections, and reports the responses.
//!
//! `graphloom-bench-load --url URL --bodies FILE (--rates RATE:SECONDS,... [--under-way N] | --connections N:SECONDS)
//! [--header "NAME: VALUE"]...` prints one JSON object. FILE has one body per line; they are posted in turn, again and again.
//!
//! At a rate, requests are due at even intervals, independent of earlier responses, and latency counts from when a request was
//! due. So a server that stalls is charged for every request in the meantime. A request that is due while `--under-way` others
//! are in progress is not sent, and counted as not sent. Over connections, each connection sends its next request when it has the
//! response to the last. This program uses one thread, to leave the processors to the server.

mod outcome;
mod sender;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Uri};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use outcome::{Fault, Outcome, Report, ResponseOutcome};
use sender::{Connection, Sender};

const USAGE: &str = "usage: graphloom-bench-load --url http://127.0.0.1:PORT/PATH --bodies FILE \
     (--rates RATE:SECONDS,... [--under-way N] | --connections N:SECONDS) [--header \"NAME: VALUE\"]...";
/// Maximum duration of a run in seconds, and maximum requests of a run at a rate. All outcomes are kept in memory.
const MAX_SECONDS: f64 = 3600.0;
const MAX_REQUESTS: f64 = 10_000_000.0;
/// Default for `--under-way`; below the usual limit of open files per process.
const UNDER_WAY: usize = 900;
/// Pause of a connection that could not send, to avoid a busy loop if the server is down.
const REST: Duration = Duration::from_millis(10);

/// What decides when the next request is sent.
enum Pace {
    /// The clock: requests per second and duration of each phase, and the maximum requests in progress.
    Rates(Vec<(f64, Duration)>, usize),
    /// The responses: number of connections, and duration.
    Connections(usize, Duration),
}

impl Pace {
    /// Returns when each phase ends, from the start.
    fn phase_ends(&self) -> Vec<Duration> {
        match self {
            Self::Rates(phases, _) => phases
                .iter()
                .scan(Duration::ZERO, |end, (_, lasts)| {
                    *end += *lasts;
                    Some(*end)
                })
                .collect(),
            Self::Connections(_, seconds) => vec![*seconds],
        }
    }
}

struct Arguments {
    url: Uri,
    bodies: PathBuf,
    headers: HeaderMap,
    pace: Pace,
}

fn main() -> anyhow::Result<()> {
    let Arguments { url, bodies, headers, pace } = arguments()?;
    let address = address_of(&url)?;
    let read = std::fs::read(&bodies).with_context(|| format!("reading {}", bodies.display()))?;
    let bodies: Vec<Bytes> = read
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(Bytes::copy_from_slice)
        .collect();
    ensure!(!bodies.is_empty(), "there are no bodies to post");
    let sender = Arc::new(Sender { address, url, headers, bodies });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let phase_ends = pace.phase_ends();
    let outcomes = runtime.block_on(async {
        match pace {
            Pace::Rates(phases, under_way) => at_rates(sender, &phases, under_way).await,
            Pace::Connections(connections, seconds) => over_connections(sender, connections, seconds).await,
        }
    })?;
    println!("{}", serde_json::to_string(&Report::of(&outcomes, &phase_ends))?);
    Ok(())
}

/// Sends each request when it is due. Reuses connections, the most recently used one first.
async fn at_rates(
    sender: Arc<Sender>,
    phases: &[(f64, Duration)],
    most: usize,
) -> anyhow::Result<Vec<Outcome>> {
    let started = Instant::now();
    let (mut idle, mut outcomes) = (Vec::<Connection>::new(), Vec::new());
    let mut under_way = JoinSet::new();
    for (number, due) in due_times(phases).enumerate() {
        let mut timer = std::pin::pin!(sleep_until(started + due));
        loop {
            tokio::select! {
                biased;
                Some(done) = under_way.join_next() => keep(done, &mut idle, &mut outcomes)?,
                () = &mut timer => break,
            }
        }
        if under_way.len() >= most {
            outcomes.push(Outcome::not_sent(due));
            continue;
        }
        let (sender, connection) = (Arc::clone(&sender), idle.pop());
        under_way.spawn(async move { sender.send(number, connection, started, Some(due)).await });
    }
    while let Some(done) = under_way.join_next().await {
        keep(done, &mut idle, &mut outcomes)?;
    }
    Ok(outcomes)
}

/// Returns when each request is due, from the start.
fn due_times(phases: &[(f64, Duration)]) -> impl Iterator<Item = Duration> {
    let mut begin = Duration::ZERO;
    phases.iter().flat_map(move |&(rate, lasts)| {
        let began = begin;
        begin += lasts;
        let after = (0u32..).map(move |number| Duration::from_secs_f64(f64::from(number) / rate));
        after.take_while(move |after| *after < lasts).map(move |after| began + after)
    })
}

type Exchange = (Outcome, Option<Connection>);

fn keep(
    done: Result<Exchange, tokio::task::JoinError>,
    idle: &mut Vec<Connection>,
    outcomes: &mut Vec<Outcome>,
) -> anyhow::Result<()> {
    let (outcome, connection) = done?;
    outcomes.push(outcome);
    idle.extend(connection);
    Ok(())
}

/// Sends over each connection as fast as responses arrive.
async fn over_connections(
    sender: Arc<Sender>,
    connections: usize,
    seconds: Duration,
) -> anyhow::Result<Vec<Outcome>> {
    let started = Instant::now();
    let mut under_way = JoinSet::new();
    for first in 0..connections {
        let sender = Arc::clone(&sender);
        under_way.spawn(async move {
            let (mut outcomes, mut connection) = (Vec::new(), None);
            for number in (first..).step_by(connections) {
                if started.elapsed() >= seconds {
                    break;
                }
                let (outcome, kept) = sender.send(number, connection, started, None).await;
                if matches!(outcome.response, ResponseOutcome::Nothing(Fault::Refused | Fault::Broken)) {
                    tokio::time::sleep(REST).await;
                }
                outcomes.push(outcome);
                connection = kept;
            }
            outcomes
        });
    }
    let mut outcomes = Vec::new();
    while let Some(done) = under_way.join_next().await {
        outcomes.extend(done?);
    }
    Ok(outcomes)
}

/// Returns the address to connect to. Only this machine's is allowed, because other people's servers must not get this load.
fn address_of(url: &Uri) -> anyhow::Result<SocketAddr> {
    let host = url.host().context("the URL names no host")?;
    let address: IpAddr =
        host.trim_matches(['[', ']']).parse().context("the URL's host is not an address")?;
    ensure!(address.is_loopback(), "{address} is not this machine");
    ensure!(url.scheme_str() == Some("http"), "only http is supported");
    Ok(SocketAddr::new(address, url.port_u16().unwrap_or(80)))
}

fn arguments() -> anyhow::Result<Arguments> {
    let (mut url, mut bodies, mut headers) = (None, None, HeaderMap::new());
    let (mut rates, mut connections, mut under_way) = (None, None, UNDER_WAY);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().context(USAGE)?;
        match argument.as_str() {
            "--url" => url = Some(value.parse::<Uri>()?),
            "--bodies" => bodies = Some(PathBuf::from(value)),
            "--rates" => rates = Some(value.split(',').map(pair).collect::<anyhow::Result<Vec<_>>>()?),
            "--under-way" => under_way = value.parse()?,
            "--connections" => connections = Some(pair(&value)?),
            "--header" => {
                let (name, value) = value.split_once(':').context(USAGE)?;
                let name: HeaderName = name.trim().parse()?;
                headers.insert(name, HeaderValue::from_str(value.trim())?);
            }
            other => bail!("unknown argument {other}; {USAGE}"),
        }
    }
    ensure!(under_way > 0, "--under-way is at least 1");
    let pace = match (rates, connections) {
        (Some(phases), None) => {
            let requests: f64 = phases.iter().map(|(rate, lasts)| rate * lasts.as_secs_f64()).sum();
            ensure!(requests <= MAX_REQUESTS, "at most {MAX_REQUESTS} requests are sent in one run");
            Pace::Rates(phases, under_way)
        }
        (None, Some((connections, seconds))) => {
            let is_whole = connections.fract() == 0.0 && connections <= UNDER_WAY as f64;
            ensure!(is_whole, "connections are a whole number of at most {UNDER_WAY}");
            Pace::Connections(connections as usize, seconds)
        }
        _ => bail!("either --rates or --connections; {USAGE}"),
    };
    Ok(Arguments { url: url.context(USAGE)?, bodies: bodies.context(USAGE)?, headers, pace })
}

/// Parses a number above 0 and a duration in seconds.
fn pair(written: &str) -> anyhow::Result<(f64, Duration)> {
    let (number, seconds) = written.split_once(':').context(USAGE)?;
    let (number, seconds): (f64, f64) = (number.parse()?, seconds.parse()?);
    let is_bounded = number > 0.0 && number.is_finite() && seconds > 0.0 && seconds <= MAX_SECONDS;
    ensure!(is_bounded, "{written} is not a number above 0 and a time of at most {MAX_SECONDS} s");
    Ok((number, Duration::from_secs_f64(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly_within_each_phase() {
        let phases = [(2.0, Duration::from_secs(1)), (4.0, Duration::from_secs(1))];
        let due: Vec<u128> = due_times(&phases).map(|due| due.as_millis()).collect();
        assert_eq!(due, [0, 500, 1000, 1250, 1500, 1750]);
        assert_eq!(Pace::Rates(phases.to_vec(), 1).phase_ends(), [1, 2].map(Duration::from_secs));
    }

    #[test]
    fn only_servers_of_this_machine_are_asked() {
        let check = |url: &str| address_of(&url.parse().expect("a URL")).is_ok();
        assert!(check("http://127.0.0.1:9621/query") && check("http://[::1]:9621/query"));
        assert!(
            !check("http://10.0.0.1/query") && !check("http://localhost/") && !check("https://127.0.0.1/")
        );
    }
}
