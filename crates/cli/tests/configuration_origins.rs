//! Origins of configuration values, and errors for invalid values.

use serde_json::{Value, json};

use crate::common::Graphloom;

fn check_origin(graphloom: &Graphloom, arguments: &[&str], key: &str) -> (String, String) {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["config", "show", "--origin"]).collect();
    let shown = graphloom.json(&arguments);
    let row = shown.as_array().expect("a list").iter().find(|row| row["key"] == key).expect("known").clone();
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    (text("value"), text("origin"))
}

#[test]
fn flags_override_variables_which_override_dotenv_files_and_defaults() {
    let graphloom = Graphloom::new();
    assert_eq!(check_origin(&graphloom, &[], "workspace").1, "default");
    graphloom.write("home/.config/graphloom/config.toml", "workspace = \"user\"\n");
    assert_eq!(check_origin(&graphloom, &[], "workspace").0, "user");
    graphloom.write("graphloom.toml", "workspace = \"project\"\n");
    assert_eq!(check_origin(&graphloom, &[], "workspace").0, "project");
    graphloom.write(".env", "GRAPHLOOM_WORKSPACE=dotenv\n");
    assert_eq!(check_origin(&graphloom, &[], "workspace").1, ".env GRAPHLOOM_WORKSPACE");
    let graphloom = graphloom.with("GRAPHLOOM_WORKSPACE", "environment");
    assert_eq!(check_origin(&graphloom, &[], "workspace").1, "environment GRAPHLOOM_WORKSPACE");
    let flagged = check_origin(&graphloom, &["--workspace", "flag"], "workspace");
    assert_eq!(flagged, ("flag".to_owned(), "flag --workspace".to_owned()));
}

#[test]
fn settings_before_and_after_a_command_all_count_and_the_last_one_wins() {
    let graphloom = Graphloom::new();
    let before = ["--set", "workspace=first", "--set", "chunk_tokens=700", "config"];
    let between = ["--set", "workspace=second", "--set", "max_documents=8", "show"];
    let after = ["--origin", "--set", "max_concurrent_calls=9", "--set", "workspace=last"];
    let shown = graphloom.json(&[&before[..], &between, &after].concat());
    for (key, value) in [
        ("chunk_tokens", "700"),
        ("max_documents", "8"),
        ("max_concurrent_calls", "9"),
        ("workspace", "last"),
    ] {
        let row = shown.as_array().expect("a list").iter().find(|row| row["key"] == key).expect("known");
        assert_eq!((&row["value"], &row["origin"]), (&json!(value), &json!(format!("flag --set {key}"))));
    }
    graphloom.run(&["--set", "workspace=first", "status", "--set", "embeder=builtin"]).exits(2);
    graphloom.run(&["--set", "embeder=builtin", "status", "--set", "workspace=first"]).exits(2);
}

#[test]
fn database_addresses_of_single_workspaces_are_shown_without_passwords() {
    let graphloom = Graphloom::new();
    let address = "postgres://me:do-not-print@db-2.example/graphloom?sslmode=require";
    graphloom.write("graphloom.toml", format!("[stores]\narchive = \"{address}\"\n"));
    let (value, origin) = check_origin(&graphloom, &[], "stores.archive");
    assert_eq!(value, "postgres://db-2.example/graphloom");
    assert!(origin.ends_with("graphloom.toml"), "{origin}");
    let shown = graphloom.run(&["config", "show"]).exits(0).says("stores.archive");
    assert!(!shown.stdout.contains("do-not-print"));
}

#[test]
fn a_key_is_never_printed_and_selects_no_model() {
    let graphloom = Graphloom::new().with("OPENAI_API_KEY", "sk-do-not-print-me");
    let shown = graphloom.run(&["config", "show", "--origin"]).exits(0).says("environment OPENAI_API_KEY");
    assert!(!shown.stdout.contains("sk-do-not"));
    assert_eq!(check_origin(&graphloom, &[], "llm").0, "none");
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom.ok(&["add", "a.md"]);
    let status = graphloom.json(&["status"]);
    assert_eq!(status["calls"], Value::Array(Vec::new()));
    graphloom.run(&["ask", "Who wrote the first program?"]).exits(0).says("--llm openai:MODEL");
    let everything = graphloom.run(&["doctor"]).exits(0).says("an API key is set");
    assert!(!everything.stdout.contains("sk-do-not") && !everything.stderr.contains("sk-do-not"));
}

#[test]
fn an_unknown_key_suggests_the_nearest_known_one() {
    let graphloom = Graphloom::new();
    graphloom.run(&["--set", "embeder=builtin", "status"]).exits(2).says("did you mean \"embedder\"?");
    graphloom.write("graphloom.toml", "wrkspace = \"x\"\n");
    graphloom.run(&["status"]).exits(2).says("graphloom.toml").says("did you mean \"workspace\"?");
    let graphloom = Graphloom::new().with("GRAPHLOOM_LMM", "none");
    graphloom.run(&["config", "show"]).exits(0).says("did you mean GRAPHLOOM_LLM?");
}

#[test]
fn an_invalid_model_is_an_error_at_start_and_stores_nothing() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    graphloom
        .run(&["--llm", "gpt-4o", "add", "a.md"])
        .exits(2)
        .says("openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL");
    graphloom.run(&["--llm", "openai:gpt-4o", "add", "a.md"]).exits(2).says("help: set OPENAI_API_KEY");
    graphloom.run(&["--embedder", "local:nope", "add", "a.md"]).exits(1).says("graphloom model");
    assert!(!graphloom.path(".graphloom/default.graphloom").exists());
}

#[test]
fn an_unreachable_model_is_an_error_with_a_remedy() {
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let graphloom = Graphloom::new().with("OLLAMA_HOST", &format!("127.0.0.1:{port}"));
    graphloom.write("a.md", "Ada Lovelace wrote the first program.\n");
    let ran = graphloom.run(&["--llm", "ollama:none", "add", "a.md"]).exits(1);
    ran.says("error: ").says("reaching model ollama:none").says("help: ");
    // Accepted documents are stored, and wait for their model until `--switch` chooses another.
    graphloom.run(&["work"]).exits(1).says("reaching model ollama:none");
    graphloom.run(&["--llm", "none", "work"]).exits(2).says("--switch");
    graphloom.run(&["--llm", "none", "work", "--switch"]).exits(0).says("1 document in the graph");
}

#[test]
fn the_password_and_the_query_of_an_address_are_not_printed() {
    let address = "http://ada:do-not-print-me@models.example/v1?key=nor-me";
    let graphloom = Graphloom::new().with("GRAPHLOOM_BASE_URL", address);
    graphloom.write("graphloom.toml", "jina_base_url = \"https://:do-not-print-me@jina.example/v1\"\n");
    for arguments in [&["config", "show"][..], &["config", "show", "--json"]] {
        let shown = graphloom.run(arguments).exits(0).stdout;
        assert!(!shown.contains("do-not-print-me") && !shown.contains("nor-me"), "{shown}");
    }
    assert_eq!(check_origin(&graphloom, &[], "base_url").0, "http://models.example/v1");
    assert_eq!(check_origin(&graphloom, &[], "jina_base_url").0, "https://jina.example/v1");
    // An address without either is printed as it was written.
    assert_eq!(check_origin(&graphloom, &[], "anthropic_base_url").0, "https://api.anthropic.com");
}
