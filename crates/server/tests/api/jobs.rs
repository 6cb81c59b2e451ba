//! Jobs, and following them.

use std::time::Duration;

use graphloom_core::Timestamp;
use graphloom_server::{Limits, Right};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, PANICKING, REFUSED, Request, Running, UNREACHABLE, read_answer};

/// A received event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Returns the events of a complete stream.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "text/event-stream"));
    assert!(answer.body.ends_with("\n\n"), "{answer:?}");
    let field = |block: &str, name: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        lines.collect::<String>()
    };
    let blocks = answer.body.split("\n\n").filter(|block| block.contains("data: "));
    let event = |block: &str| Event {
        id: field(block, "id"),
        name: field(block, "event"),
        data: serde_json::from_str(&field(block, "data")).expect("JSON"),
    };
    blocks.map(event).collect()
}

async fn add(server: &Running, name: &str, text: &str) -> String {
    let added = server.post("/documents/text", json!({ "text": text, "file_source": name })).await.ok();
    added["track_id"].as_str().expect("a track").to_owned()
}

#[tokio::test]
async fn a_run_can_be_followed_to_its_end_and_again_from_any_event() {
    let server = Running::start().await;
    let track = add(&server, "a.md", "Tobias Renn lives in Weirholm.").await;
    let path = format!("/jobs/events?track_id={track}");
    let seen = events(&server.get(&path).await);
    assert_eq!(seen[0].name, "state");
    let end = seen.last().expect("an end");
    assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("done")));
    assert_eq!(end.data["status_counts"], json!({ "ready": 1 }));

    // All stored events, from the first event of this log on.
    let first = format!("{}-0", end.id.split('-').next().expect("a name"));
    let all = events(&server.send(Request::get(&path).header("last-event-id", &first)).await);
    let names: Vec<&str> = all.iter().map(|event| event.name.as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"accepted"), Some(&"end")), "{names:?}");
    assert!(names.contains(&"finished") && !names.contains(&"state"), "{names:?}");
    let after = all.iter().position(|event| event.name == "finished").expect("it finished");
    let again = Request::get(&path).header("last-event-id", &all[after - 1].id);
    let rest: Vec<String> = events(&server.send(again).await).into_iter().map(|event| event.name).collect();
    assert_eq!(rest, names[after..]);

    let lost = Request::get(&path).header("last-event-id", "elsewhere-7");
    let names: Vec<String> = events(&server.send(lost).await).into_iter().map(|event| event.name).collect();
    assert_eq!(names, ["missed", "state", "end"]);
    server.get("/jobs/events?track_id=nothing").await.problem(404);
    server.get("/jobs/events?track_id=not%20a%20track").await.problem(422);
}

#[tokio::test]
async fn jobs_are_listed_page_by_page_by_status_and_run() {
    let server = Running::start().await;
    for name in ["a.md", "b.md", "c.md"] {
        server.add("", name, &format!("Tobias Renn wrote {name}.")).await;
    }
    let (mut listed, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/jobs?limit=2{after}")).await.ok();
        listed.extend(page["jobs"].as_array().expect("jobs").clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let mut names: Vec<&str> = listed.iter().filter_map(|job| job["file_path"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a.md", "b.md", "c.md"]);
    assert!(listed.iter().all(|job| job["status"] == "ready" && job["chunks"] == 1), "{listed:?}");
    assert_eq!(server.get("/jobs?status=failed,cancelled").await.ok()["jobs"], json!([]));
    let track = listed[0]["track_ids"][0].as_str().expect("a track");
    let of_track = server.get(&format!("/jobs?track_id={track}")).await.ok();
    assert_eq!(of_track["jobs"], json!([listed[0]]));
    assert_eq!(server.get("/jobs?track_id=none").await.ok()["jobs"], json!([]));

    let id = listed[0]["id"].as_str().expect("an id");
    assert_eq!(server.get(&format!("/jobs/{id}")).await.ok(), listed[0]);
    let ended = events(&server.get(&format!("/jobs/{id}/events")).await);
    assert_eq!(ended.last().expect("an end").data["job"], listed[0]);
    for action in ["cancel", "retry"] {
        let job = server.send(Request::new("POST", &format!("/jobs/{id}/{action}"))).await.ok();
        assert_eq!((&job["id"], &job["status"]), (&json!(id), &json!("ready")), "{action}: nothing to do");
        server.send(Request::new("POST", &format!("/jobs/doc-0/{action}"))).await.problem(404);
    }
    for path in ["/jobs/doc-0", "/jobs/doc-0/events"] {
        server.get(path).await.problem(404);
    }
    for query in ["status=lost", "limit=0", "limit=201", "after=doc-0", "track_id=%20"] {
        server.get(&format!("/jobs?{query}")).await.problem(422);
    }
}

/// A stream that is read as it arrives.
struct Following {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Following {
    async fn start(server: &Running, path: &str, key: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(server.address).await.expect("connected");
        let key = key.map(|key| format!("x-api-key: {key}\r\n")).unwrap_or_default();
        let head =
            format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{key}\r\n", server.address);
        stream.write_all(head.as_bytes()).await.expect("written");
        Self { stream, read: Vec::new() }
    }

    /// Reads until these words have arrived.
    async fn until(&mut self, words: &str) {
        let reading = async {
            while !String::from_utf8_lossy(&self.read).contains(words) {
                let mut buffer = [0; 4096];
                let read = self.stream.read(&mut buffer).await.expect("read");
                assert!(read > 0, "ended without {words:?}: {}", String::from_utf8_lossy(&self.read));
                self.read.extend_from_slice(&buffer[..read]);
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reading).await.expect("in time");
    }

    async fn ends(&mut self) -> bool {
        let mut rest = Vec::new();
        let reading = self.stream.read_to_end(&mut rest);
        tokio::time::timeout(Duration::from_secs(60), reading).await.is_ok()
    }
}

#[tokio::test]
async fn a_stream_of_all_jobs_reports_their_events_and_the_end_of_the_server() {
    let server = Running::start().await;
    let mut following = Following::start(&server, "/jobs/events", None).await;
    following.until("event: state").await;
    add(&server, "a.md", "Tobias Renn lives in Weirholm.").await;
    following.until("event: accepted").await;
    following.until("event: finished").await;
    let stopping = tokio::spawn(server.stop());
    following.until("\"reason\":\"stopped\"").await;
    assert!(following.ends().await);
    stopping.await.expect("it stops with readers there");
}

#[tokio::test]
async fn cancelling_or_removing_a_job_ends_the_streams_that_follow_it() {
    let server = Running::start().await;
    server.add("", "a.md", "Tobias Renn lives in Weirholm.").await;
    server.pause().await;
    for (name, change, reason) in [
        ("b.md", "cancel", "\"reason\":\"cancelled\""),
        ("c.md", "cancel_pipeline", "\"reason\":\"cancelled\""),
        ("d.md", "remove", "\"reason\":\"removed\""),
    ] {
        let track = add(&server, name, &format!("Maren Oskoldt wrote {name}.")).await;
        let jobs = server.get(&format!("/jobs?track_id={track}")).await.ok();
        assert_eq!((&jobs["paused"], &jobs["jobs"][0]["status"]), (&json!(true), &json!("waiting")));
        let id = jobs["jobs"][0]["id"].as_str().expect("an id").to_owned();
        let mut following = Following::start(&server, &format!("/jobs/{id}/events"), None).await;
        following.until("event: state").await;
        let change = match change {
            "cancel" => Request::new("POST", &format!("/jobs/{id}/cancel")),
            "cancel_pipeline" => Request::new("POST", "/documents/cancel_pipeline"),
            _ => Request::delete("/documents/delete_document", json!({ "doc_ids": [id] })),
        };
        server.send(change).await.ok();
        following.until(reason).await;
        assert!(following.ends().await);
    }
}

#[tokio::test]
async fn failing_work_ends_its_stream_with_the_reason() {
    for (text, will_retry) in [(REFUSED, false), (UNREACHABLE, true), (PANICKING, true)] {
        let server = Running::start().await;
        let mut following = Following::start(&server, "/jobs/events", None).await;
        following.until("event: state").await;
        let track = add(&server, "failing.md", &format!("This is {text}.")).await;
        let first = String::from_utf8_lossy(&following.read).into_owned();
        let first = first.split("\nid: ").nth(1).and_then(|rest| rest.lines().next()).expect("an id");
        let path = format!("/jobs/events?track_id={track}");
        let seen = events(&server.send(Request::get(&path).header("last-event-id", first)).await);
        let end = seen.last().expect("an end");
        assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("failed")), "{text}: {seen:?}");
        assert_eq!(end.data["will_retry"], will_retry, "{text}: {seen:?}");
        let why = if text == PANICKING { "panicked" } else { "injected by the test" };
        assert!(end.data.to_string().contains(why), "{text}: {seen:?}");
    }
}

#[tokio::test]
async fn a_stream_opened_after_a_failure_ends_with_the_reason() {
    let server = Running::start().await;
    let track = add(&server, "failing.md", &format!("This is {REFUSED}.")).await;
    let path = format!("/jobs/events?track_id={track}");
    let ended = |seen: &[Event]| seen.last().expect("an end").data.clone();
    let first = ended(&events(&server.send(Request::get(&path)).await));
    let late = ended(&events(&server.send(Request::get(&path)).await));
    for end in [first, late] {
        assert_eq!((&end["reason"], &end["will_retry"]), (&json!("failed"), &json!(false)), "{end}");
        assert!(end["message"].to_string().contains("injected by the test"), "{end}");
    }
}

#[tokio::test]
async fn messages_of_a_service_are_visible_only_with_the_right_to_write() {
    let server = Running::start().await;
    let (reader, writer) = (server.key(Right::Read, &[]), server.key(Right::Write, &[]));
    let text = json!({ "text": format!("This is {REFUSED}."), "file_source": "failing.md" });
    let added = server.send(Request::post("/documents/text", text).header("x-api-key", &writer)).await.ok();
    let track = added["track_id"].as_str().expect("a track");
    let of = |path: &str, key: &str| Request::get(path).header("x-api-key", key);
    let ended = events(&server.send(of(&format!("/jobs/events?track_id={track}"), &writer)).await);
    assert_eq!(ended.last().expect("an end").data["reason"], "failed");
    // The run ends after its last document.
    while server.send(of("/documents/pipeline_status", &writer)).await.ok()["busy"] == true {}
    let jobs = server.send(of("/jobs", &writer)).await.ok();
    let id = jobs["jobs"][0]["id"].as_str().expect("an id").to_owned();
    for path in [
        "/jobs".to_owned(),
        format!("/jobs/{id}"),
        format!("/jobs/{id}/events"),
        format!("/documents/{id}"),
        format!("/documents/track_status/{track}"),
        "/documents/pipeline_status".to_owned(),
    ] {
        // A reconnected stream repeats what happened.
        let again = |key: &str| of(&path, key).header("last-event-id", &ended[0].id);
        let (full, told) = (server.send(again(&writer)).await, server.send(again(&reader)).await);
        assert_eq!((full.status, told.status), (200, 200), "{path}");
        assert!(full.body.contains("injected by the test"), "{path}: {full:?}");
        assert!(!told.body.contains("injected by the test"), "{path}: {told:?}");
        assert!(told.body.contains("the reason is visible with the right to write"), "{path}: {told:?}");
    }
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused_until_one_ends() {
    let limits = Limits { streams: 1, turn: Duration::from_millis(20), ..Limits::default() };
    let server = Running::start_with(limits).await;
    let key = server.key(Right::Read, &[]);
    let mut first = Following::start(&server, "/jobs/events", Some(&key)).await;
    first.until("event: state").await;
    let mut second = Following::start(&server, "/jobs/events", Some(&key)).await;
    read_answer(&mut second.stream).await.problem(429);
    drop(first);
    // The place becomes free once the server has noticed the disconnect.
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let mut next = Following::start(&server, "/jobs/events", Some(&key)).await;
        let mut buffer = [0; 12];
        next.stream.read_exact(&mut buffer).await.expect("a status");
        if buffer.ends_with(b"200") {
            break;
        }
        assert!(tokio::time::Instant::now() < until, "the place is not released");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.access().change(|access| access.revoke_key("test", Timestamp(2))).expect("revoked");
}

#[tokio::test]
async fn changes_of_jobs_are_reported_even_while_nothing_runs() {
    let server = Running::start().await;
    server.pause().await;
    let track = add(&server, "a.md", "Tobias Renn lives in Weirholm.").await;
    let jobs = server.get(&format!("/jobs?track_id={track}")).await.ok();
    let id = jobs["jobs"][0]["id"].as_str().expect("an id").to_owned();
    let mut following = Following::start(&server, "/jobs/events", None).await;
    following.until("event: state").await;
    for (change, event) in [
        (Request::new("POST", &format!("/jobs/{id}/cancel")), "event: cancelled"),
        (Request::new("POST", &format!("/jobs/{id}/retry")), "event: queued"),
        (Request::new("POST", "/documents/cancel_pipeline"), "event: cancelled"),
        (Request::new("POST", "/documents/reprocess_failed"), "event: queued"),
        (Request::delete("/documents/delete_document", json!({ "doc_ids": [id] })), "event: removed"),
    ] {
        following.read.clear();
        server.send(change).await.ok();
        following.until(event).await;
    }
}

#[tokio::test]
async fn a_layer_can_be_estimated_derived_in_the_background_and_followed_to_its_end() {
    let server = Running::start().await;
    for (name, text) in [
        ("a.md", "Tobias Renn lives in Weirholm."),
        ("b.md", "Maren Oskoldt lives in Weirholm."),
        ("c.md", "The weir station measures the river."),
    ] {
        server.add("", name, text).await;
    }
    let before = server.get("/layers").await.ok();
    let tree = json!({
        "layer": "tree", "derived": false, "current": false, "deriving": false, "levels": [], "failed": 0,
    });
    assert_eq!(before["layers"][1], tree);
    let estimate = server.send(Request::new("POST", "/layers/tree/estimate")).await.ok();
    assert_eq!(
        (&estimate["steps"], &estimate["nodes"]),
        (&json!([]), &estimate["free"]),
        "rules cost nothing"
    );
    let started = server.send(Request::new("POST", "/layers/tree/derive")).await.ok();
    assert_eq!(started["layer"], json!("tree"));
    let seen = events(&server.get("/layers/tree/events").await);
    assert_eq!(seen[0].name, "state");
    let end = seen.last().expect("an end");
    assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("done")), "{seen:?}");
    assert_eq!(end.data["layer"]["current"], json!(true));

    let listed = server.get("/tree").await.ok();
    let id = listed["nodes"][0]["id"].as_str().expect("a node");
    let node = server.get(&format!("/tree/{id}")).await.ok();
    assert_eq!(node["title"], listed["nodes"][0]["title"]);
    assert_eq!(
        (&node["members"][0]["source"], &node["members"][0]["lines"]),
        (&json!("a.md"), &json!([1, 1]))
    );
    let found =
        server.post("/query/data", json!({ "query": "Who lives in Weirholm?", "mode": "tree" })).await.ok();
    assert_eq!(found["data"]["chunks"][0]["found_by"], json!("tree"), "{found}");
    for (method, path) in [
        ("GET", "/tree/none"),
        ("POST", "/layers/none/derive"),
        ("POST", "/layers/none/estimate"),
        ("GET", "/layers/none/events"),
    ] {
        server.send(Request::new(method, path)).await.problem(404);
    }
    server.get("/tree?limit=0").await.problem(422);
}

#[tokio::test]
async fn deriving_a_layer_stops_before_it_exceeds_its_budget_and_resumes_with_a_larger_one() {
    let server = Running::start().await;
    for (name, text) in
        [("a.md", "Tobias Renn lives in Weirholm."), ("b.md", "Maren Oskoldt lives in Weirholm.")]
    {
        server.add("/w/service", name, text).await;
    }
    for wrong in ["much", "0tokens", "1.50"] {
        let path = format!("/w/service/layers/tree/derive?budget={wrong}");
        let problem = server.send(Request::new("POST", &path)).await.problem(422);
        assert!(problem.contains("budget"), "{problem}");
    }
    let end = async |budget: &str| {
        let path = format!("/w/service/layers/tree/derive{budget}");
        server.send(Request::new("POST", &path)).await.ok();
        events(&server.get("/w/service/layers/tree/events").await).last().expect("an end").data.clone()
    };
    let stopped = end("?budget=1tokens").await;
    assert_eq!((&stopped["reason"], &stopped["layer"]["current"]), (&json!("failed"), &json!(false)));
    let status = server.get("/w/service/documents/pipeline_status").await.ok();
    assert!(status.to_string().contains("stopped by the budget"), "{status}");
    let done = end("?budget=2M").await;
    assert_eq!((&done["reason"], &done["layer"]["current"]), (&json!("done"), &json!(true)));
}
