//! Names of documents, entities and runs that could lead elsewhere, deceive, or break a list.

use serde_json::json;

use super::{Attack, check_all};
use crate::support::{Request, Running};

/// Names that no document may have.
const NAMES: &[&str] = &[
    "../../etc/passwd.md",
    "..\\..\\windows\\win.md",
    "/etc/passwd.md",
    "a/../../b.md",
    "./a.md",
    "a/./b.md",
    ".",
    "..",
    "../",
    "\\\\server\\share\\a.md",
    "a\\b.md",
    "C:\\a.md",
    "a<SEP>b.md",
    "a\u{0}.md",
    "a.md\u{0}.exe",
    "a\u{7f}.md",
    "a\u{1b}[2Ja.md",
    "a\u{85}b.md",
    "\u{202e}dm.exe.md",
    "a\u{200b}.md",
    "a\u{2066}b.md",
    "a\u{2028}b.md",
    "\u{feff}a.md",
];

pub(super) fn table() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let long = format!("{}.md", "x".repeat(2000));
    let deep = format!("{}b.md", "a/".repeat(600));
    let names = NAMES.iter().copied().chain([long.as_str(), &deep, "a\r\nx-injected: 1.md", "a\n## b.md"]);
    for name in names {
        let upload = Request::new("POST", "/documents/upload").file(name, "text");
        attacks.push(Attack::new(format!("upload {name:?}"), upload, &[400, 422]));
        let text = json!({ "text": "text", "file_source": name });
        let text = Request::post("/documents/text", text);
        attacks.push(Attack::new(format!("text {name:?}"), text, &[400]));
        let texts = json!({ "texts": ["a", "b"], "file_sources": ["fine.md", name] });
        let texts = Request::post("/documents/texts", texts);
        attacks.push(Attack::new(format!("texts {name:?}"), texts, &[400]));
        let added = json!({ "name": name, "text": "text" });
        attacks.push(Attack::tool(format!("add_document {name:?}"), "add_document", added));
        let read = json!({ "document": name });
        attacks.push(Attack::tool(format!("get_source {name:?}"), "get_source", read));
    }
    for ending in ["exe", "dll", "md.exe", "zip", "tar.gz", "svg.gz", "so", "msi", "md.", ""] {
        let name = format!("program.{ending}");
        let upload = Request::new("POST", "/documents/upload").file(&name, "MZ");
        attacks.push(Attack::new(format!("upload {name:?}"), upload, &[400, 422]));
    }
    attacks
}

#[tokio::test]
async fn no_document_name_becomes_a_path_or_deceives_its_reader() {
    let server = Running::start().await;
    check_all(&server, table()).await;
}
