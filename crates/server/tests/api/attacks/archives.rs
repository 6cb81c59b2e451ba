//! Files that unpack to more than their size suggests, or that are not what they claim to be.

use std::io::{Cursor, Write};

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Attack, check_all, check_harmless};
use crate::support::{Request, Running};

const WORD: &str = "word/document.xml";
const EXCEL: &str = "xl/workbook.xml";
const TYPES: &str =
    "<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>";

/// One byte more than a document may unpack to.
const TOO_MUCH: usize = (256 << 20) + 1;

/// Returns an archive with these members.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in members {
        writer.start_file(*name, options).expect("a member");
        writer.write_all(content).expect("written");
    }
    writer.finish().expect("an archive").into_inner()
}

/// Returns a Word document with this body.
fn word(body: &str) -> Vec<u8> {
    let xml = format!(
        "<?xml version=\"1.0\"?>{body}<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">\
         <w:body><w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body></w:document>"
    );
    archive(&[("[Content_Types].xml", TYPES.into()), (WORD, xml.into_bytes())])
}

/// Returns an archive whose directory and headers claim that its member unpacks to `size` bytes.
fn lying(name: &str, size: u32) -> Vec<u8> {
    let mut bytes = archive(&[("[Content_Types].xml", TYPES.into()), (name, b"<w/>".to_vec())]);
    for (signature, at) in [(b"PK\x03\x04", 22), (b"PK\x01\x02", 24)] {
        let starts: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter(|(_, four)| four == signature)
            .map(|(start, _)| start)
            .collect();
        for start in starts {
            bytes[start + at..start + at + 4].copy_from_slice(&size.to_le_bytes());
        }
    }
    bytes
}

/// Returns nested entities, each of which expands ten times as far as the one before.
fn laughs() -> String {
    let mut entities = String::from("<!ENTITY l0 \"lollollollol\">");
    for level in 1..10 {
        let inner = format!("&l{};", level - 1).repeat(10);
        entities.push_str(&format!("<!ENTITY l{level} \"{inner}\">"));
    }
    format!("<!DOCTYPE x [{entities}<!ENTITY a \"&l9;\">]>")
}

pub(super) fn table() -> Vec<Attack> {
    // One real bomb, and others that only claim their size, because making real ones takes time.
    let word_bomb = archive(&[("[Content_Types].xml", TYPES.into()), (WORD, vec![b' '; TOO_MUCH])]);
    let large = |name| lying(name, TOO_MUCH as u32);
    let nested = archive(&[
        ("[Content_Types].xml", TYPES.into()),
        (WORD, word_bomb.clone()),
        ("b.zip", word_bomb.clone()),
    ]);
    let outside = archive(&[
        ("../../../evil.md", b"x".to_vec()),
        ("/etc/evil", b"x".to_vec()),
        ("..\\evil", b"x".to_vec()),
    ]);
    let passwd = "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>";
    let deep = "<w:p>".repeat(100_000);
    let many: Vec<(String, Vec<u8>)> = (0..20_000).map(|part| (format!("p{part}.xml"), Vec::new())).collect();
    let many: Vec<(&str, Vec<u8>)> =
        many.iter().map(|(name, content)| (name.as_str(), content.clone())).collect();
    let epub = archive(&[
        ("mimetype", b"application/epub+zip".to_vec()),
        (
            "META-INF/container.xml",
            b"<container><rootfiles><rootfile full-path=\"../../../etc/passwd\"/></rootfiles></container>"
                .to_vec(),
        ),
    ]);
    let gzip = [&b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"[..], &[0; 100]].concat();
    let rtf = format!("{{\\rtf1 {}", "{\\b ".repeat(200_000));
    let html = "<div>".repeat(200_000);
    let pdf =
        b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
            .to_vec();
    let mail = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n".repeat(5000);
    let (refused, read): (&[u16], &[u16]) = (&[400, 422], &[200, 400, 422]);
    [
        ("unpacks to too much", "a.docx", word_bomb.clone(), refused),
        ("unpacks to too much", "b.xlsx", large(EXCEL), refused),
        ("unpacks to too much", "c.pptx", large("ppt/presentation.xml"), refused),
        ("unpacks to too much", "d.odt", large("content.xml"), refused),
        ("unpacks to too much", "e.epub", large("META-INF/container.xml"), refused),
        ("holds archives", "f.docx", nested, refused),
        ("leads outside", "g.docx", outside.clone(), refused),
        ("leads outside", "h.epub", outside, refused),
        ("names a file outside", "i.epub", epub, refused),
        ("says that it is small", "j.docx", lying(WORD, 1), refused),
        ("says that it is large", "k.docx", lying(WORD, u32::MAX), refused),
        ("entities of entities", "l.docx", word(&laughs()), read),
        ("an entity of this machine", "m.docx", word(passwd), read),
        (
            "entities of entities",
            "n.xml",
            format!("<?xml version=\"1.0\"?>{}<x>&a;</x>", laughs()).into(),
            read,
        ),
        (
            "an entity of this machine",
            "o.xml",
            format!("<?xml version=\"1.0\"?>{passwd}<x>&a;</x>").into(),
            read,
        ),
        ("deep", "p.docx", word(&deep), refused),
        ("deep", "q.xml", format!("<?xml version=\"1.0\"?>{}", "<a>".repeat(100_000)).into(), refused),
        ("many members", "r.docx", archive(&many), refused),
        ("a gzip", "s.gz", gzip.clone(), refused),
        ("a gzip", "t.docx", gzip, refused),
        ("cut off", "u.docx", word_bomb[..word_bomb.len() / 2].to_vec(), refused),
        ("an archive of nothing", "v.docx", b"PK\x05\x06".iter().copied().chain([0; 18]).collect(), refused),
        ("another format", "w.pdf", word(""), refused),
        ("a program", "x.pdf", b"MZ\x90\x00".repeat(1000), refused),
        ("pages of themselves", "y.pdf", pdf, refused),
        ("deep", "z.json", "[".repeat(100_000).into(), read),
        ("deep", "za.rtf", rtf.into(), read),
        ("deep", "zb.html", html.into(), read),
        ("deep", "zc.eml", mail.into(), read),
        ("no text", "zd.md", (0..=255).cycle().take(10_000).collect(), refused),
    ]
    .into_iter()
    .map(|(what, name, bytes, safe)| {
        let upload = Request::new("POST", "/documents/upload").file_of(name, &bytes);
        Attack::new(format!("{name}: {what}"), upload, safe)
    })
    .collect()
}

#[tokio::test]
async fn no_archive_unpacks_beyond_the_limit_or_outside_its_folder() {
    let server = Running::start().await;
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for attack in table() {
        match &attack.safe {
            super::Safe::Status([200, ..]) => kept.push(attack),
            super::Safe::Status(_) | super::Safe::ToolError => refused.push(attack),
        }
    }
    check_all(&server, refused).await;
    for attack in kept {
        attack.check(&server).await;
    }
    // Entities were not expanded in what was read.
    let listed = server.post("/documents/paginated", json!({})).await;
    check_harmless("what was read", &listed);
    for document in listed.ok()["documents"].as_array().expect("a list") {
        let summary = document["content_summary"].as_str().expect("text");
        assert!(!summary.contains("lollol") && !summary.contains("root:"), "{document}");
        assert!(document["content_length"].as_u64().is_some_and(|bytes| bytes < 2 << 20), "{document}");
    }
    assert_eq!(server.get("/readyz").await.status, 200);
}
