//! A workspace keeps PDF files to show their pages, and removes them with their documents.

use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::pdf::pdf;
use crate::common::serving::Serving;

const PAGES: [&str; 2] = ["Tobias Renn directs Weir Station.", "Maren Oskoldt lives in Weirholm."];

/// Returns the id of the only document and the size of its file, as reported by the server.
fn only_document(serving: &Serving) -> (String, Value) {
    let listed = serving.ok("POST", "/documents/paginated", "", &json!({}));
    let id = listed["documents"][0]["id"].as_str().expect("a document").to_owned();
    let detail = serving.ok("GET", &format!("/documents/{id}"), "", &json!({}));
    (id, detail["original_bytes"].clone())
}

#[cfg(unix)]
#[test]
fn the_original_of_a_pdf_is_stored_copied_and_removed_with_its_document() {
    let graphloom = Graphloom::new();
    let file = pdf(&PAGES);
    graphloom.write("docs/report.pdf", &file);
    graphloom.write("docs/note.md", "Ada met Bob.");
    graphloom.ok(&["add", "docs/report.pdf"]);
    graphloom.ok(&["check"]);
    let dump = graphloom.ok(&["dump"]);
    assert_eq!(dump.matches("\"kind\":\"original\"").count(), 1, "{dump}");
    let serving = Serving::start(&graphloom, &[]);
    let (id, bytes) = only_document(&serving);
    assert_eq!(bytes, file.len());
    let (status, body) = serving.send("GET", &format!("/documents/{id}/original"), "", &json!({}));
    assert_eq!((status, body.as_bytes()), (200, file.as_slice()));
    serving.stop();

    // Kept files are part of the state that is copied.
    graphloom.ok(&["copy", ".graphloom", "elsewhere"]);
    graphloom.ok(&["--data-dir", "elsewhere", "check"]);
    assert_eq!(graphloom.ok(&["--data-dir", "elsewhere", "dump", "--hash"]).trim(), graphloom.hash());
    graphloom.ok(&["add", "docs/note.md"]);
    graphloom.ok(&["rm", "docs/report.pdf"]);
    assert!(!graphloom.ok(&["dump"]).contains("\"kind\":\"original\""));
    let serving = Serving::start(&graphloom, &[]);
    let (status, said) = serving.send("GET", &format!("/documents/{id}/original"), "", &json!({}));
    assert_eq!(status, 404, "{said}");
    let (_, none) = only_document(&serving);
    assert_eq!(none, Value::Null);
    serving.stop();
}

#[cfg(unix)]
#[test]
fn an_original_is_stored_once_it_is_allowed_and_its_file_is_added_again() {
    let graphloom = Graphloom::new();
    graphloom.write("report.pdf", pdf(&PAGES));
    graphloom.ok(&["--set", "max_original_mb=0", "add", "report.pdf"]);
    let before = graphloom.hash();
    let serving = Serving::start(&graphloom, &[]);
    let (id, bytes) = only_document(&serving);
    assert_eq!(bytes, Value::Null);
    let (status, said) = serving.send("GET", &format!("/documents/{id}/original"), "", &json!({}));
    assert!(status == 404 && said.contains("max_original_mb"), "{status} {said}");
    serving.stop();

    graphloom.run(&["add", "report.pdf"]).exits(0).says("1 unchanged");
    let serving = Serving::start(&graphloom, &[]);
    assert!(only_document(&serving).1.is_u64());
    serving.stop();
    let kept = graphloom.hash();
    assert_ne!(kept, before);
    // Kept files stay when the setting changes.
    graphloom.ok(&["--set", "max_original_mb=0", "add", "report.pdf"]);
    assert_eq!(graphloom.hash(), kept);
}
