//! Hostile input: names, headers, bodies and paths of strangers.

use serde_json::json;

use crate::support::{Request, Running};

#[tokio::test]
async fn no_name_of_an_upload_becomes_a_path_or_breaks_a_list() {
    let server = Running::start().await;
    let deep = "a/".repeat(600);
    let names = [
        "../../etc/passwd.md",
        "..\\..\\windows\\win.md",
        "/etc/passwd.md",
        "a/../../b.md",
        ".",
        "..",
        " ",
        "a\\b.md",
        "a<SEP>b.md",
        "C:\\a.md",
        &deep,
        "%2e%2e\u{202e}/a.md",
        "a\u{0}.md",
        "a\u{7f}.md",
        "\u{feff}.md/../x.md",
    ];
    let before = std::fs::read_dir(server.folder.path()).expect("a folder").count();
    for name in names {
        let upload = Request::new("POST", "/documents/upload").file(name, "text");
        let status = server.send(upload).await.status;
        assert!([400, 422].contains(&status), "{name:?}: {status}");
        let text = json!({ "text": "text", "file_source": name });
        let status = server.post("/documents/text", text).await.status;
        assert!(status == 400 || name.trim().is_empty(), "{name:?}: {status}");
    }
    let upload = Request::new("POST", "/documents/upload").file("program.exe", "MZ");
    server.send(upload).await.problem(400);
    assert_eq!(std::fs::read_dir(server.folder.path()).expect("a folder").count(), before);
}

#[tokio::test]
async fn broken_forms_and_bodies_are_refused_and_the_server_goes_on() {
    let server = Running::start().await;
    let form = |body: &str| {
        Request::new("POST", "/documents/upload")
            .header("content-type", "multipart/form-data; boundary=edge")
            .body(body)
    };
    for (request, statuses) in [
        (form(""), vec![400, 422]),
        (form("--edge\r\n"), vec![400, 422]),
        (form("--edge--\r\n"), vec![400, 422]),
        (form("--edge\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nx\r\n--edge--\r\n"), vec![422]),
        (
            form(
                "--edge\r\ncontent-disposition: form-data; name=\"other\"; filename=\"a.md\"\r\n\r\nx\r\n--edge--\r\n",
            ),
            vec![422],
        ),
        (
            Request::new("POST", "/documents/upload").header("content-type", "multipart/form-data").body("x"),
            vec![415],
        ),
        (Request::post("/documents/upload", json!({})), vec![415]),
        (
            Request::new("POST", "/query").header("content-type", "application/json").body([0xff, 0xfe]),
            vec![422],
        ),
        (
            Request::new("POST", "/query")
                .header("content-type", "application/json")
                .body("[".repeat(100_000)),
            vec![422],
        ),
        (Request::new("POST", "/query").json(json!({ "query": { "$gt": "" } })), vec![422]),
        (Request::new("POST", "/query").header("content-length", "99999999999").body("{}"), vec![413]),
        (Request::new("POST", "/login").header("content-type", "text/plain").body("username=a"), vec![415]),
        (Request::new("BREW", "/query"), vec![405]),
        (Request::get("/graphs?label=%ff%fe"), vec![200, 422]),
        (Request::get("/documents/track_status/..%2f..%2fetc"), vec![422]),
        (Request::get("/w//graph/label/list"), vec![404, 422]),
        (Request::get("/../../etc/passwd"), vec![404]),
        (Request::get("/%2e%2e/%2e%2e/etc/passwd"), vec![404]),
        (Request::get("/graph/label/list").header("lightrag-workspace", "\u{e9}"), vec![422]),
    ] {
        let answer = server.send(request.clone()).await;
        assert!(statuses.contains(&answer.status), "{request:?}: {answer:?}");
    }
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn markup_in_names_and_texts_comes_back_as_data_that_no_browser_runs() {
    let server = Running::start().await;
    let script = "<script>alert(1)</script>";
    let made = json!({ "entity_name": script, "entity_data": { "description": script } });
    server.post("/graph/entity/create", made).await.ok();
    let label = "%3Cscript%3Ealert(1)%3C/script%3E";
    for path in
        ["/graph/label/list".to_owned(), format!("/graphs?label={label}"), format!("/nowhere/{label}")]
    {
        let answer = server.get(&path).await;
        assert!(answer.headers["content-type"].contains("json"), "{answer:?}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
    }
}

#[tokio::test]
async fn an_id_of_a_request_is_kept_where_it_can_stand_in_a_log() {
    let server = Running::start().await;
    let ask = |id: &str| Request::get("/livez").header("x-request-id", id);
    assert_eq!(server.send(ask("abc-1.2_3")).await.headers["x-request-id"], "abc-1.2_3");
    for id in ["a b", "a\"b", &"x".repeat(65), "{}", "a=b"] {
        let given = server.send(ask(id)).await.headers["x-request-id"].clone();
        assert!(given != *id && given.len() == 16, "{given}");
    }
}
