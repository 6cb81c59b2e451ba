//! Any number of servers and workers share one database: nothing is lost, nothing waits forever, nothing is paid for twice.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use graphloom_postgres::testing::{Server, TestDatabase, execute, new_workspace, postgres_folder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::Graphloom;
use crate::common::model::{ScriptedModel, with_things};
use crate::common::serving::{Serving, send, send_with, status_of};

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(120);

/// A worker process on its own simulated host; killed when dropped.
struct Host {
    graphloom: Graphloom,
    child: Child,
    address: String,
}

impl Host {
    fn start(graphloom: Graphloom, arguments: &[&str]) -> Self {
        let (child, address) = worker(&graphloom, arguments);
        Self { graphloom, child, address }
    }

    /// Kills the worker, as in a crash, and starts a new one on the same host.
    fn kill_and_restart(&mut self, arguments: &[&str]) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
        (self.child, self.address) = worker(&self.graphloom, arguments);
    }

    fn terminate(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let told = std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
        assert!(told.success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn worker(graphloom: &Graphloom, arguments: &[&str]) -> (Child, String) {
    let arguments: Vec<&str> = ["--json", "worker"].iter().chain(arguments).copied().collect();
    let mut child =
        graphloom.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(said["event"], "working");
    (child, said["url"].as_str().and_then(|url| url.strip_prefix("http://")).expect("an address").to_owned())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Creates a folder for a server that runs as another user.
fn folder() -> TempDir {
    std::fs::create_dir_all(postgres_folder()).expect("a folder");
    let folder = TempDir::new_in(postgres_folder()).expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("readable");
    folder
}

#[test]
fn killed_workers_and_a_crashed_database_lose_nothing_and_pay_for_nothing_twice() {
    const DOCUMENTS: usize = 90;
    const CALLS: usize = 2;
    const AT_ONCE: usize = 2;
    let folder = folder();
    let mut database = Server::start(folder.path(), &[]);
    let url = database.url();
    let model = ScriptedModel::start();
    model.answer_after(Duration::from_millis(30));
    let workspaces = ["one", "two", "three"];
    let names: Vec<String> = (0..DOCUMENTS).map(|number| format!("Thing{number}")).collect();
    let of_workspace = |place: usize| names.iter().map(String::as_str).skip(place).step_by(workspaces.len());
    let calls = CALLS.to_string();
    let machine = |names: &[&str]| {
        let machine = with_things(&model, names);
        machine.with("GRAPHLOOM_STORE", &url).with("GRAPHLOOM_MAX_CONCURRENT_CALLS", &calls)
    };
    let queued: Vec<Graphloom> = (0..workspaces.len())
        .map(|place| {
            machine(&of_workspace(place).collect::<Vec<_>>()).with("GRAPHLOOM_WORKSPACE", workspaces[place])
        })
        .collect();
    for graphloom in &queued {
        graphloom.ok(&["add", "docs", "--no-wait"]);
    }
    let arguments = ["--workers", &AT_ONCE.to_string()];
    let mut hosts: Vec<Host> = (0..4).map(|_| Host::start(machine(&[]), &arguments)).collect();
    let (mut kills, mut chosen) = (0, 7usize);
    for step in 1..=6 {
        model.wait_until_asked(step * DOCUMENTS / 8);
        chosen = chosen.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        hosts[(chosen >> 16) % 4].kill_and_restart(&arguments);
        kills += 1;
        if step % 3 == 0 {
            database.crash_and_restart();
        }
    }
    let is_done = |graphloom: &Graphloom| {
        graphloom.json(&["status"])["by_status"]["ready"] == json!(DOCUMENTS / workspaces.len())
    };
    wait_until("documents are stuck", || queued.iter().all(&is_done));
    for host in &mut hosts {
        assert_eq!(host.terminate(), Some(0));
    }
    let asked = model.asked();
    assert_eq!(asked.len(), DOCUMENTS, "every document was read");
    let again: usize = asked.values().map(|times| times - 1).sum();
    assert!(again <= kills * CALLS * AT_ONCE, "{again} calls were paid for again after {kills} kills");
    for (place, graphloom) in queued.iter().enumerate() {
        let here = with_things(&model, &of_workspace(place).collect::<Vec<_>>());
        here.ok(&["add", "docs"]);
        assert_eq!(graphloom.hash(), here.hash(), "the state equals that of a file");
        graphloom.run(&["check"]).exits(0).says("no contradictions");
    }
}

#[test]
fn workers_share_the_budget_of_a_workspace() {
    const COST: usize = 4000;
    // A separate server, because workers of other tests would claim the documents.
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let model = ScriptedModel::start();
    model.count_tokens([3000, 0, 1000]);
    model.answer_after(Duration::from_millis(50));
    let names: Vec<String> = (0..40).map(|number| format!("Thing{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let machine = |names: &[&str]| {
        let machine = with_things(&model, names).with("GRAPHLOOM_STORE", &database.url());
        machine.with("GRAPHLOOM_MAX_CONCURRENT_CALLS", "4")
    };
    let queued = machine(&names);
    queued.ok(&["budget", "60k"]);
    queued.ok(&["add", "docs", "--no-wait"]);
    let paid = || model.prompts_of_any_kind().values().sum::<usize>() * COST;
    let mut hosts: Vec<Host> = (0..2).map(|_| Host::start(machine(&[]), &[])).collect();
    wait_until("the budget is not used", || paid() >= 40_000);
    for host in &mut hosts {
        assert_eq!(host.terminate(), Some(0));
    }
    assert!(paid() <= 60_000, "{} tokens were paid for", paid());
    let spent = || queued.json(&["budget"])["budget"]["spent"].as_f64().expect("a number") as usize;
    // A call that is cut off stays booked with what it may have cost, even if the model never received it.
    assert!((paid()..=60_000).contains(&spent()), "{} are booked, {} paid for", spent(), paid());
    queued.run(&["work"]).exits(5).says("the workspace has spent");
    assert!(paid() <= 60_000, "{} tokens were paid for", paid());
    queued.ok(&["budget", "1M"]);
    queued.ok(&["work"]);
    assert_eq!(queued.json(&["status"])["by_status"]["ready"], 40);
    assert!((paid()..paid() + COST).contains(&spent()), "{} are booked, {} paid for", spent(), paid());
}

#[test]
fn all_workers_honor_a_pause_that_a_service_requests_from_one() {
    const PAUSE_S: u64 = 4;
    // A separate server, because workers of other tests would claim the documents.
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let model = ScriptedModel::start();
    let names: Vec<String> = (0..120).map(|number| format!("Thing{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let queued = with_things(&model, &names).with("GRAPHLOOM_STORE", &database.url());
    queued.ok(&["add", "docs", "--no-wait"]);
    let hosts: Vec<Host> = (0..3)
        .map(|_| Host::start(with_things(&model, &[]).with("GRAPHLOOM_STORE", &database.url()), &[]))
        .collect();
    let asked = || model.asked().values().sum::<usize>();
    // Longer than it takes for the others to learn of the pause.
    model.answer_after(Duration::from_millis(250));
    model.wait_until_asked(6);
    model.answer_with_rate_limit(PAUSE_S);
    model.wait_until_rate_limited();
    let (began, before) = (Instant::now(), asked());
    let mut during = 0;
    while began.elapsed() < Duration::from_secs(PAUSE_S) - Duration::from_millis(500) {
        during = asked() - before;
        std::thread::sleep(Duration::from_millis(50));
    }
    // Each of the others may have one call in flight, and may send the next before it learns of the pause. Without a pause, each
    // sends a dozen.
    let most = 2 * (hosts.len() - 1);
    assert!(during <= most, "{during} calls were sent in the pause");
    model.answer_after(Duration::ZERO);
    wait_until("documents are stuck", || {
        queued.json(&["status"])["by_status"]["ready"] == json!(names.len())
    });
    drop(hosts);
}

#[test]
fn a_few_documents_do_not_wait_for_the_many_of_another_workspace() {
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let model = ScriptedModel::start();
    model.answer_after(Duration::from_millis(100));
    let queue = |workspace: &str, documents: usize| {
        let names: Vec<String> = (0..documents).map(|number| format!("Thing{workspace}{number}")).collect();
        let queued = with_things(&model, &names.iter().map(String::as_str).collect::<Vec<_>>())
            .with("GRAPHLOOM_STORE", &database.url())
            .with("GRAPHLOOM_WORKSPACE", workspace);
        queued.ok(&["add", "docs", "--no-wait"]);
        queued
    };
    let ready =
        |queued: &Graphloom| queued.json(&["status"])["by_status"]["ready"].as_u64().unwrap_or_default();
    let many = queue("many", 200);
    let worker = with_things(&model, &[]).with("GRAPHLOOM_STORE", &database.url());
    let host = Host::start(worker, &["--workers", "1"]);
    model.wait_until_asked(10);
    let few = queue("few", 5);
    wait_until("the few wait", || ready(&few) == 5);
    assert!(ready(&many) < 195, "the few documents waited for the many");
    drop(host);
}

#[test]
fn a_stopping_worker_stores_the_answers_it_is_waiting_for() {
    // A separate server, because workers of other tests would claim the documents.
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let model = ScriptedModel::start();
    let queued = with_things(&model, &["ThingA", "ThingB", "ThingC", "ThingD"])
        .with("GRAPHLOOM_STORE", &database.url());
    queued.ok(&["add", "docs", "--no-wait"]);
    model.answer_after(Duration::from_millis(700));
    let mut host = Host::start(with_things(&model, &[]).with("GRAPHLOOM_STORE", &database.url()), &[]);
    model.wait_until_asked(1);
    assert_eq!(host.terminate(), Some(0));
    let asked = model.asked();
    assert!(asked.len() < 4, "it was stopped early");
    model.answer_after(Duration::ZERO);
    queued.ok(&["work"]);
    assert!(
        model.asked().values().all(|times| *times == 1),
        "nothing is paid for again: {:?}",
        model.asked()
    );
    assert_eq!(queued.json(&["status"])["by_status"]["ready"], 4);
}

#[test]
fn servers_without_workers_leave_documents_to_a_worker_and_show_its_progress() {
    let database = TestDatabase::shared();
    let workspaces: Vec<_> = (0..10).map(|_| new_workspace()).collect();
    let machine = || Graphloom::new().with("GRAPHLOOM_STORE", &database.url);
    let (one, two) = (machine(), machine());
    let own = workspaces[0].as_str();
    let servers = [
        Serving::start(&one, &["--workspace", own, "--workers", "0"]),
        Serving::start(&two, &["--workspace", own, "--workers", "0"]),
    ];
    let mut tracks = Vec::new();
    for (place, workspace) in workspaces.iter().enumerate() {
        // Each workspace has a canary that no other workspace may show.
        let text = format!("Canary{place} Oskoldt was director of Weir Station in 199{place}.");
        let path = format!("/w/{workspace}/documents/text");
        let body = json!({ "text": text, "file_source": format!("canary-{place}.md") });
        let accepted = servers[place % 2].ok("POST", &path, "", &body);
        tracks.push(accepted["track_id"].as_str().expect("a track").to_owned());
    }
    let counts = |server: &Serving, workspace: &str| {
        server.ok("GET", &format!("/w/{workspace}/documents/status_counts"), "", &json!({}))["status_counts"]
            .clone()
    };
    assert_eq!(counts(&servers[0], own)["pending"], 1, "no process is indexing");
    let mut host = Host::start(machine(), &[]);
    for (place, (workspace, track)) in workspaces.iter().zip(&tracks).enumerate() {
        // The server that did not accept the document follows its run to the end.
        let server = &servers[1 - place % 2];
        let (status, events) =
            server.send("GET", &format!("/w/{workspace}/jobs/events?track_id={track}"), "", &json!({}));
        assert_eq!(status, 200);
        assert!(events.contains("event: end") && events.contains("\"reason\":\"done\""), "{events}");
        let question = json!({ "query": "Who was director of Weir Station?" });
        let answer =
            server.ok("POST", &format!("/w/{workspace}/query"), "", &question)["response"].to_string();
        let shown: Vec<usize> =
            (0..workspaces.len()).filter(|other| answer.contains(&format!("Canary{other}"))).collect();
        assert_eq!(shown, [place], "{answer}");
    }
    let metrics = send(&host.address, "GET", "/metrics", "", &json!({}));
    assert_eq!(metrics.0, 200);
    assert!(metrics.1.contains("graphloom_"), "{}", metrics.1);
    assert_eq!(host.terminate(), Some(0));
    for server in servers {
        server.stop();
    }
    for workspace in &workspaces {
        delete(&database, workspace);
    }
}

#[test]
fn workspaces_are_served_and_indexed_where_they_are_placed_even_after_a_move() {
    let folders = [folder(), folder()];
    let [first, second] = folders.each_ref().map(|folder| Server::start(folder.path(), &["fsync=off"]));
    let machine = || Graphloom::new().with("GRAPHLOOM_STORE", &first.url());
    let (serving, working, elsewhere) = (machine(), machine(), machine());
    let server = Serving::start(&serving, &["--workers", "0"]);
    let place = |graphloom: &Graphloom| {
        graphloom.write("graphloom.toml", format!("[stores]\nbeta = \"{}\"\n", second.url()));
    };
    let add = |workspace: &str, number: u32| {
        let text = format!("Canary{workspace}{number} Oskoldt was director of Weir Station in 199{number}.");
        let body = json!({ "text": text, "file_source": format!("canary-{number}.md") });
        server.ok("POST", &format!("/w/{workspace}/documents/text"), "", &body);
    };
    let ready = |workspace: &str| {
        let path = format!("/w/{workspace}/documents/status_counts");
        server.send("GET", &path, "", &json!({})).1.contains("\"pending\":0")
    };
    let shown = |workspace: &str| {
        let question = json!({ "query": "Who was director of Weir Station?" });
        let (_, answer) = server.send("POST", &format!("/w/{workspace}/query"), "", &question);
        ["alpha", "beta"].map(|name| answer.contains(&format!("Canary{name}")))
    };
    add("alpha", 1);
    add("beta", 1);
    working.write("graphloom.toml", "");
    let mut host = Host::start(working, &[]);
    wait_until("documents are stuck", || ready("alpha") && ready("beta"));
    assert_eq!((shown("alpha"), shown("beta")), ([true, false], [false, true]));

    elsewhere.ok(&["workspace", "move", "beta", &second.url()]);
    place(&serving);
    place(&host.graphloom);
    assert_eq!((shown("alpha"), shown("beta")), ([true, false], [false, true]), "after the move");
    add("beta", 2);
    add("alpha", 2);
    wait_until("documents are stuck", || ready("alpha") && ready("beta"));
    assert_eq!((shown("alpha"), shown("beta")), ([true, false], [false, true]));
    let listed = |graphloom: &Graphloom| {
        let rows = graphloom.json(&["workspace", "list"]);
        let names = rows
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| format!("{} {}", row["workspace"].as_str().expect("a name"), row["documents"]));
        // A server creates its default workspace.
        names.filter(|name| name != "default 0").collect::<Vec<_>>()
    };
    assert_eq!(listed(&serving), ["alpha 2", "beta 2"]);
    assert_eq!(listed(&elsewhere), ["alpha 2"], "beta has no rows in the first database");
    assert_eq!(listed(&Graphloom::new().with("GRAPHLOOM_STORE", &second.url())), ["beta 2"]);
    serving.run(&["backup", "kept"]).exits(0).says("backed up alpha: 2").says("backed up beta: 2");
    assert_eq!(host.terminate(), Some(0));
    server.stop();
}

#[test]
fn a_key_created_or_revoked_on_one_host_takes_effect_on_all_servers() {
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let machine = || Graphloom::new().with("GRAPHLOOM_STORE", &database.url());
    let (first, second, elsewhere) = (machine(), machine(), machine());
    let servers = [Serving::start(&first, &[]), Serving::start(&second, &["--workers", "0"])];
    let key = elsewhere.json(&["key", "create", "admin", "--right", "admin"]);
    let secret = key["key"].as_str().expect("a key");
    assert!(!elsewhere.path(".graphloom/access.json").exists());
    let refuses = |server: &Serving, key: &str| {
        matches!(server.send("GET", "/documents/status_counts", key, &json!({})).0, 401 | 403)
    };
    let status =
        |server: &Serving, key: &str| server.send("GET", "/documents/status_counts", key, &json!({})).0;
    for server in &servers {
        wait_until("the server does not know that there is a key", || refuses(server, ""));
        assert_eq!(status(server, secret), 200);
    }
    elsewhere.ok(&["key", "revoke", "admin"]);
    for server in &servers {
        wait_until("the key still counts", || refuses(server, secret));
    }
}

#[test]
fn requests_and_wrong_logins_of_an_address_are_counted_across_all_servers() {
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let machine = |rate: &str| {
        let machine = Graphloom::new().with("GRAPHLOOM_STORE", &database.url());
        machine.with("GRAPHLOOM_TRUSTED_PROXIES", "127.0.0.1").with("GRAPHLOOM_RATE_LIMIT_UNKNOWN", rate)
    };
    machine("0")
        .run_with_input(&["user", "add", "ada", "--password-stdin"], "correct horse battery")
        .exits(0);

    let machines = [(); 2].map(|()| machine("1"));
    let servers = machines.each_ref().map(|machine| Serving::start(machine, &["--workers", "0"]));
    let from = |client| [("x-forwarded-for", client), ("content-type", "application/x-www-form-urlencoded")];
    let ask = |server: &Serving| send_with(&server.address, "GET", "/jobs", &from("192.0.2.1"), "");
    for server in &servers {
        assert_eq!(
            status_of(&ask(server)),
            401,
            "one a minute is accepted, and the other server not known yet"
        );
    }
    let wait_s = |answer: &str| -> u64 {
        let header = answer.lines().find_map(|line| line.strip_prefix("retry-after: "));
        header.map_or(0, |wait| wait.parse().expect("seconds"))
    };
    for server in &servers {
        let learned = || {
            let answer = ask(server);
            status_of(&answer) == 429 && wait_s(&answer) > 60
        };
        wait_until("the server does not know what the other one accepted", learned);
    }

    let machines = [(); 2].map(|()| machine("0"));
    let servers = machines.each_ref().map(|machine| Serving::start(machine, &["--workers", "0"]));
    let log_in = |server: &Serving, client, password: &str| {
        let form = format!("username=ada&password={password}");
        status_of(&send_with(&server.address, "POST", "/login", &from(client), &form))
    };
    let tries: Vec<u16> = (0..6).map(|place| log_in(&servers[place % 2], "192.0.2.2", "wrong")).collect();
    assert_eq!(tries, [401, 401, 401, 401, 401, 429]);
    assert_eq!(log_in(&servers[0], "192.0.2.2", "correct+horse+battery"), 429);
    assert_eq!(log_in(&servers[1], "192.0.2.3", "correct+horse+battery"), 200);
}

#[test]
fn a_migration_is_announced_first_and_a_later_release_is_not_touched() {
    let folder = folder();
    let database = Server::start(folder.path(), &["fsync=off"]);
    let graphloom = Graphloom::new().with("GRAPHLOOM_STORE", &database.url());
    graphloom.run(&["migrate", "--check"]).exits(1).says("no tables");
    graphloom.run(&["migrate", "--check"]).exits(1).says("no tables");
    graphloom.run(&["migrate"]).exits(0).says("migrated from version 0");
    graphloom.run(&["migrate"]).exits(0).says("up to date");
    let checked = graphloom.json(&["migrate", "--check"]);
    let [place] = checked["after"].as_array().expect("places").as_slice() else { panic!("{checked}") };
    assert_eq!(place["found"], place["supported"], "{place}");
    assert!(!place["place"].to_string().contains('@'), "without user and password: {place}");

    let later = place["supported"].as_u64().expect("a version") + 1;
    execute(&database.url(), &format!("INSERT INTO graphloom_schema (version) VALUES ({later})"))
        .expect("a later release");
    graphloom.run(&["migrate"]).exits(1).says("later release");

    let here = Graphloom::new();
    here.run(&["migrate", "--check"]).exits(0).says("no workspaces");
    here.write("a.md", "Oskoldt was director of Weir Station.");
    here.ok(&["add", "a.md"]);
    here.run(&["migrate", "--check"]).exits(0).says("default.graphloom: version").says("up to date");
}

fn delete(database: &TestDatabase, workspace: &graphloom_core::WorkspaceId) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(database.open().delete(workspace)).expect("the workspace is deleted");
}
