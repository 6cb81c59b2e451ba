//! Real documents: readable ones are cited by page, slide and sheet; unreadable ones are refused with a reason.

use std::io::{Cursor, Write};

use graphloom_providers::testing::{Reply, ScriptedServer};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::common::Graphloom;
use crate::common::pdf::pdf;

/// Returns a ZIP archive of these members, with the content of each repeated as often as given.
fn archive(members: &[(&str, &str, usize)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content, times) in members {
        // The first member of an OpenDocument file names its type and is not compressed.
        let method =
            if *name == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).expect("memory does not fail");
        for _ in 0..*times {
            writer.write_all(content.as_bytes()).expect("memory does not fail");
        }
    }
    writer.finish().expect("memory does not fail").into_inner()
}

fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    archive(&[("word/document.xml", &document, 1)])
}

fn ods(sheet: &str, cells: &[&str]) -> Vec<u8> {
    let cells: String = cells
        .iter()
        .map(|cell| format!("<table:table-cell><text:p>{cell}</text:p></table:table-cell>"))
        .collect();
    let content = format!(
        "<office:document-content><office:body><office:spreadsheet><table:table table:name='{sheet}'><table:table-row>\
         {cells}</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    );
    archive(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet", 1),
        ("content.xml", &content, 1),
    ])
}

#[test]
fn good_files_are_cited_by_page_and_bad_ones_are_refused_with_reasons() {
    let graphloom = Graphloom::new();
    let pages =
        ["The Weir was built by Maren Oskoldt.", "", "The pump of the Weir was repaired by Tobias Finn."];
    graphloom.write("docs/report.pdf", pdf(&pages));
    graphloom.write("docs/budget.ods", ods("Costs", &["Dunmore paid nine thousand crowns for the turbine."]));
    graphloom
        .write("docs/letter.docx", docx("<w:p><w:r><w:t>Ida Brandt wrote the letter.</w:t></w:r></w:p>"));
    graphloom.write("docs/lock.rs", "/// Opens the sluice of Tarn Hollow.\npub fn open_sluice() {}\n");

    let locked = String::from_utf8(pdf(&["x"])).expect("ASCII").replace(
        "/Root 1 0 R",
        &format!(
            "/Root 1 0 R /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >> /ID [<00> <00>]",
            "ab".repeat(32)
        ),
    );
    graphloom.write("docs/bad/locked.pdf", locked);
    graphloom.write("docs/bad/scanned.pdf", pdf(&["", ""]));
    let whole = docx("<w:p/>");
    graphloom.write("docs/bad/broken.docx", &whole[..whole.len() / 2]);
    graphloom.write("docs/bad/picture.docx", b"\x89PNG\r\n\x1a\n".as_slice());
    let blanks = " ".repeat(1 << 20);
    graphloom.write("docs/bad/bomb.docx", archive(&[("word/document.xml", &blanks, 260)]));

    let ran = graphloom.run(&["add", "docs"]).exits(3).says("4 documents accepted, 5 refused");
    for reason in [
        "refused: docs/bad/bomb.docx: the source, a Word document, unpacks to more than 268435456 bytes",
        "refused: docs/bad/broken.docx: the source, a Word document, is damaged: ",
        "refused: docs/bad/locked.pdf: the source, a PDF document, is encrypted (save it without a password",
        "refused: docs/bad/picture.docx: the source is named like a Word document but is a PNG image",
        "refused: docs/bad/scanned.pdf: the PDF document has no text on any of its 2 pages",
        "partly read: docs/report.pdf: 1 of 3 pages hold no text: 2",
    ] {
        assert!(ran.stdout.contains(reason), "{reason}\n{}", ran.stdout);
    }

    let asked = graphloom.run(&["ask", "Who repaired the pump of the Weir?"]).exits(0);
    assert!(asked.stdout.contains("[1] docs/report.pdf, p. 3"), "{}", asked.stdout);
    let asked = graphloom.json(&["ask", "Who built the Weir?"]);
    let place = asked["citations"][0]["place"].clone();
    assert_eq!(place, serde_json::json!({ "first": { "page": 1 }, "last": { "page": 1 } }));
    let found = graphloom.ok(&["search", "Dunmore turbine crowns"]);
    assert!(found.contains("docs/budget.ods, sheet Costs  "), "{found}");
    assert!(graphloom.ok(&["search", "sluice of Tarn Hollow"]).contains("docs/lock.rs:1"));

    let before = graphloom.hash();
    graphloom.run(&["add", "docs/report.pdf"]).exits(0).says("1 unchanged");
    assert_eq!(graphloom.hash(), before);
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn a_sentence_across_two_pages_is_found_whole_and_cited_by_both() {
    let graphloom = Graphloom::new();
    let pages = ["The turbine of the mill was paid by the informa-", "tion office of Dunmore in 1911."];
    graphloom.write("docs/mill.pdf", pdf(&pages));
    graphloom.ok(&["add", "docs"]);
    let asked = graphloom.ok(&["ask", "Who paid the turbine of the mill?"]);
    assert!(asked.contains("paid by the information office of Dunmore in 1911."), "{asked}");
    assert!(asked.contains("[1] docs/mill.pdf, pp. 1-2"), "{asked}");
    graphloom.run(&["check"]).exits(0);
}

#[test]
fn text_of_markup_keeps_the_line_numbers_of_the_file() {
    let graphloom = Graphloom::new();
    graphloom.write(
        "docs/weir.rst",
        "The weir\n========\n\n.. note::\n\n   The *weir* was built by :ref:`Ada Holm <ada>`.\n",
    );
    graphloom.write(
        "docs/pump.tex",
        "\\section{The pump}\n% a draft\nThe pump was built by \\textbf{Bo Lund}~\\cite{lund}.\n",
    );
    graphloom.write(
        "docs/gate.srt",
        "1\n00:00:01,000 --> 00:00:02,000\nThe gate was built\n\n2\n00:00:02,000 --> 00:00:03,000\nby Cy Moor.\n",
    );
    graphloom.write(
        "docs/lamp.ipynb",
        r#"{"cells": [{"cell_type": "markdown", "source": ["The lamp was built\n", "by Di Voss."]}], "metadata": {}}"#,
    );
    graphloom.ok(&["add", "docs"]);
    for (thing, builder, source) in [
        ("weir", "Ada Holm.", "docs/weir.rst:6"),
        ("pump", "Bo Lund.", "docs/pump.tex:3"),
        ("gate", "Cy Moor.", "docs/gate.srt:3"),
        ("lamp", "Di Voss.", "docs/lamp.ipynb (text lines 1-2)"),
    ] {
        let asked = graphloom.ok(&["ask", &format!("Who built the {thing}?")]);
        assert!(asked.contains(&format!("The {thing} was built by {builder}")), "{asked}");
        assert!(asked.contains(&format!("[1] {source}")), "{asked}");
    }
}

#[test]
fn suggestions_and_answers_say_whether_their_lines_are_those_of_the_file() {
    let graphloom = Graphloom::new();
    let text = "Tobias Renn succeeded Maren Oskoldt as director of Weir Station in 1995.";
    graphloom.write("a.html", format!("<html><body>\n\n<h1>Weir</h1>\n<p>{text}</p></body></html>"));
    graphloom.ok(&["add", "a.html"]);
    for arguments in [&["suggest"][..], &["ask", "Who succeeded Maren Oskoldt?"]] {
        graphloom.run(arguments).exits(0).says("a.html (text line 3)");
    }
    graphloom.write("empty/b.md", "Bread.");
    graphloom.ok(&["--workspace", "other", "add", "empty"]);
    let nothing = graphloom.run(&["--workspace", "other", "suggest"]).exits(4);
    assert!(!nothing.says("help: with --llm").stderr.contains("add PATH"));
}

#[test]
fn answers_from_nested_quotations_have_no_quotation_marks() {
    let graphloom = Graphloom::new();
    let quoted = "> > The turbine of the mill was repaired by Tobias Finn in the\n> > spring of 1921, after the flood.\n";
    let mail = format!(
        "From: a@example.org\nSubject: Re: Mill\nDate: Fri, 17 May 2024 10:00:00 +0200\n\nSo he wrote:\n\n{quoted}"
    );
    graphloom.write("docs/mill.eml", mail);
    graphloom.ok(&["add", "docs"]);
    let answer = graphloom.json(&["ask", "Who repaired the turbine of the mill?"]);
    let said =
        "The turbine of the mill was repaired by Tobias Finn in the spring of 1921, after the flood. [1]";
    assert_eq!(answer["answer"].as_str().expect("an answer").trim(), said);
    let quote = answer["citations"][0]["quote"].as_str().expect("a quote");
    assert!(quote.contains("in the\n> > spring"), "{quote}");
}

#[test]
fn a_web_page_is_a_document_named_by_its_address() {
    let server = ScriptedServer::start(|_, request| match request.path.as_str() {
        "/page" => {
            Reply::of("text/html", "<html><title>Herons</title><p>Sigrid Voss feeds the herons.</p></html>")
        }
        _ => Reply::json(404, "{}"),
    });
    let graphloom = Graphloom::new();
    let page = format!("{}/page", server.url());
    let refused = graphloom.run(&["add", &page]).exits(3);
    refused.says("127.0.0.1 is an address of the local network").says("--allow-private-addresses");
    assert!(server.recorded().is_empty());

    let missing = format!("{}/missing", server.url());
    let ran = graphloom.run(&["add", "--allow-private-addresses", &format!("{page}#top"), &missing]).exits(3);
    ran.says("1 document accepted, 1 refused").says("the server returned 404");
    let asked = graphloom.run(&["ask", "Who feeds the herons?"]).exits(0);
    assert!(asked.stdout.contains(&format!("[1] {page} (text line 1)")), "{}", asked.stdout);
    graphloom.run(&["rm", &page]).exits(0);
}
