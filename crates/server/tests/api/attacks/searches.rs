//! Search words with a meaning for an index, a database, a pattern or a shell.

use serde_json::json;

use super::{Attack, check_all, tool_call};
use crate::support::{Request, Running};

const WORDS: &[&str] = &[
    "' OR '1'='1",
    "\" OR 1=1 --",
    "'; DROP TABLE chunks; --",
    "1 UNION SELECT key FROM access",
    "*",
    "**",
    "%",
    "_%_",
    "label:* AND text:*",
    "NEAR(a b, 5)",
    "+a -b !c &&d ||e",
    "(((((((((((",
    ")))))",
    "[a TO z}",
    "{* TO *}",
    "\"unbalanced",
    "a~9999999",
    "a^9999999",
    "field:\"x\"~1",
    "/.*/",
    "(a+)+$",
    "\\",
    "\\\\\\",
    "a\u{0}b",
    "$(cat /etc/passwd)",
    "`id`",
    "../../etc/passwd",
    "\u{202e}\u{200b}\u{feff}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
    "e\u{301}\u{301}\u{301}\u{301}",
    "😀 日本語 العربية",
];

pub(super) fn table() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let (long, marks) = ("a ".repeat(4000), "e\u{301}".repeat(5000));
    for words in WORDS.iter().copied().chain([long.as_str(), &marks]) {
        let what = |place: &str| format!("{place} {words:.40?}");
        let encoded: String = words.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for path in ["/graph/label/search?q=", "/graphs?label=", "/graph/entity/exists?name="] {
            let looked = Request::get(&format!("{path}{encoded}"));
            attacks.push(Attack::new(what(path), looked, &[200, 400, 422]));
        }
        let asked = json!({ "query": words, "mode": "naive", "only_need_context": true });
        attacks.push(Attack::new(what("query"), Request::post("/query", asked), &[200, 422]));
        let searched = tool_call("/mcp", "search", json!({ "query": words }));
        attacks.push(Attack::new(what("search"), searched, &[200]));
    }
    for (path, raw) in [
        ("/graphs?label=", "%ff%fe"),
        ("/graphs?label=", "%"),
        ("/graphs?label=", "%zz"),
        ("/graphs?label=x&label=", "y"),
        ("/graphs?label=x&max_depth=", "-1"),
        ("/graphs?label=x&max_nodes=", "99999999999999999999"),
        ("/graphs?label=x&max_depth=", "1e9"),
        ("/graph/label/search?q=x&limit=", "0"),
        ("/graph/label/search?q=x&limit=", "1000000"),
        ("/graph/label/popular?limit=", "NaN"),
        ("/graph/label/popular?limit=", "1;2"),
    ] {
        let looked = Request::get(&format!("{path}{raw}"));
        attacks.push(Attack::new(format!("{path}{raw}"), looked, &[200, 400, 422]));
    }
    attacks
}

#[tokio::test]
async fn search_terms_are_never_interpreted_as_syntax() {
    let server = Running::start().await;
    server.add("", "radium.md", "Marie Curie found radium in Paris. Radium glows.").await;
    check_all(&server, table()).await;
}
