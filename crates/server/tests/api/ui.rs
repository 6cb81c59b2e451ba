//! The pages of the web UI, as sent by the server.

use std::num::NonZeroU32;

use graphloom_server::{Limits, Right};

use crate::support::{Request, Running};

#[tokio::test]
async fn browsers_are_redirected_to_the_ui_of_the_same_workspace() {
    let server = Running::start().await;
    for path in ["/", "/ui", "/w/alpha/", "/w/alpha/ui"] {
        let answer = server.get(path).await;
        assert_eq!((answer.status, answer.headers["location"].as_str()), (307, "ui/"), "{path}");
    }
}

#[tokio::test]
async fn every_path_of_the_ui_serves_one_page_with_the_right_base() {
    let server = Running::start().await;
    let first = server.get("/ui/").await;
    for (path, base) in [
        ("/ui/", "./"),
        ("/ui/documents", "./"),
        ("/w/alpha/ui/documents/doc-1", "../"),
        ("/ui/graph/entity/Ada%2FLovelace", "../../"),
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        let head = format!("<base href=\"{base}\"");
        assert!(answer.body.contains(&head), "{path}: {}", answer.body);
        let page = path.split("/ui/").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let (preloads, rest): (Vec<&str>, Vec<&str>) =
            answer.body.lines().partition(|line| line.contains("data-page="));
        assert!(
            preloads.iter().all(|line| line.contains(&format!("data-page=\"{page}\""))),
            "{path}: {preloads:?}"
        );
        assert_eq!(rest.join("\n").replacen(base, "./", 1), first.body.trim_end(), "{path}");
    }
}

#[tokio::test]
async fn the_page_can_load_only_from_its_own_server_and_nothing_inline() {
    let server = Running::start().await;
    let answer = server.get("/ui/").await;
    let policy = &answer.headers["content-security-policy"];
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(answer.headers["cache-control"], "no-cache");
    assert!(!answer.body.contains("<style") && !answer.body.contains(" style="), "{}", answer.body);
    server.get("/ui/assets/unknown.js").await.problem(404);
}

#[tokio::test]
async fn a_browser_without_a_login_can_load_all_files_of_the_ui_at_once() {
    let limits = Limits { rate_of_stranger: NonZeroU32::new(1), ..Limits::default() };
    let server = Running::start_behind_a_proxy(limits).await;
    server.key(Right::Read, &[]);
    let load = |path: &str| server.send(Request::get(path).header("x-forwarded-for", "192.0.2.1"));
    assert_eq!(load("/ui/").await.status, 200);
    for _ in 0..40 {
        load("/ui/assets/unknown.js").await.problem(404);
    }
    load("/ui/").await.problem(429);
}
