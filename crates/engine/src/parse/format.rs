//! Tells what bytes are: by magic numbers, by the name's extension, by content.

use graphloom_core::Format;

use super::{encoding, json, markdown, table};

/// Bytes of a document that are looked at where its name does not tell the format.
const SNIFF_BYTES: usize = 256 * 1024;

/// The format of a source: by the extension of its name, by its content where that says nothing.
///
/// Bytes that are no text count as [`Format::Text`]; [`super::parse`] says what is wrong with them.
pub fn format_of(name: &str, bytes: &[u8]) -> Format {
    by_extension(name)
        .or_else(|| encoding::decode(bytes).ok().map(|(text, _)| by_content(&text)))
        .unwrap_or(Format::Text)
}

/// As [`format_of`], of decoded text. What is named JSON but is not one value is JSON lines or text.
pub(super) fn detect(name: &str, text: &str) -> Format {
    match by_extension(name) {
        Some(Format::Json) if !json::is_value(text) => {
            if json::is_lines(text) {
                Format::JsonLines
            } else {
                Format::Text
            }
        }
        Some(format) => format,
        None => by_content(text),
    }
}

/// The extension of a path or URL in lower case, without the dot.
pub(super) fn extension(name: &str) -> Option<String> {
    let path = if name.contains("://") { name.split(['?', '#']).next().unwrap_or(name) } else { name };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, extension)| extension.to_ascii_lowercase())
}

fn by_extension(name: &str) -> Option<Format> {
    match extension(name)?.as_str() {
        "txt" | "text" | "log" | "rst" | "adoc" | "asciidoc" | "org" | "tex" => Some(Format::Text),
        "md" | "markdown" | "mdown" | "mkd" | "mdx" => Some(Format::Markdown),
        "html" | "htm" | "xhtml" => Some(Format::Html),
        "csv" | "tsv" | "tab" => Some(Format::Csv),
        "json" | "geojson" | "ipynb" => Some(Format::Json),
        "jsonl" | "ndjson" => Some(Format::JsonLines),
        _ => None,
    }
}

fn by_content(text: &str) -> Format {
    let start = text.trim_start();
    let head = &text[..text.floor_char_boundary(SNIFF_BYTES)];
    let lower: String = start.chars().take(512).collect::<String>().to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.contains("<body") {
        Format::Html
    } else if start.starts_with(['{', '[']) && json::is_value(text) {
        Format::Json
    } else if start.starts_with(['{', '[']) && json::is_lines(text) {
        Format::JsonLines
    } else if markdown::looks_like(head) {
        Format::Markdown
    } else if table::looks_like(head) {
        Format::Csv
    } else {
        Format::Text
    }
}

/// What a binary file is, by its first bytes, with its article; `None` for what may be text.
pub(super) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 25] = [
        (b"%PDF-", "a PDF document"),
        (b"{\\rtf", "an RTF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an older Microsoft Office program"),
        (b"\x89PNG\r\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF87a", "a GIF image"),
        (b"GIF89a", "a GIF image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"\0\0\x01\0", "an icon"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"BZh91AY&SY", "a bzip2 archive"),
        (b"\xfd7zXZ\0", "an xz archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"\x7fELF", "a program"),
        (b"MZ\x90\0", "a program"),
        (b"\xca\xfe\xba\xbe", "a program"),
        (b"\0asm", "a program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PAR1", "a Parquet table"),
        (b"ID3", "an audio file"),
        (b"OggS", "an audio or video file"),
        (b"\x1aE\xdf\xa3", "a video file"),
    ];
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(zip_kind(bytes));
    }
    if bytes.starts_with(b"RIFF")
        && bytes.get(8..12).is_some_and(|kind| matches!(kind, b"WEBP" | b"WAVE" | b"AVI "))
    {
        return Some("an image, audio or video file");
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some("a video or image file");
    }
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, kind)| kind)
}

/// Office documents are ZIP archives that list their parts by name.
fn zip_kind(bytes: &[u8]) -> &'static str {
    const PARTS: [(&[u8], &str); 5] = [
        (b"word/", "a Word document"),
        (b"xl/", "an Excel workbook"),
        (b"ppt/", "a PowerPoint presentation"),
        (b"mimetypeapplication/epub", "an EPUB book"),
        (b"mimetypeapplication/vnd.oasis", "an OpenDocument file"),
    ];
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    let has = |part: &[u8]| head.windows(part.len()).any(|window| window == part);
    PARTS.iter().find(|(part, _)| has(part)).map_or("a ZIP archive", |&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format() {
        for (name, format) in [
            ("notes.TXT", Format::Text),
            ("a/b.md", Format::Markdown),
            ("https://example.org/page.html?x=1.csv", Format::Html),
            ("C:\\data.tsv", Format::Csv),
            ("x.ndjson", Format::JsonLines),
        ] {
            assert_eq!(format_of(name, b"anything"), format, "{name}");
        }
    }

    #[test]
    fn the_content_tells_the_format_where_the_name_does_not() {
        for (text, format) in [
            ("Dear Sir, I write, as promised, today.\nYours, Ada", Format::Text),
            ("Intro\n\n# Heading\n\ntext", Format::Markdown),
            ("<!DOCTYPE html><p>x", Format::Html),
            ("{\"a\": [1, 2]}", Format::Json),
            ("{\"a\": 1}\n{\"a\": 2}\n", Format::JsonLines),
            ("a;b;c\n1;2;3\n4;5;6\n", Format::Csv),
        ] {
            assert_eq!(format_of("README", text.as_bytes()), format, "{text}");
        }
    }

    #[test]
    fn what_is_named_json_but_is_not_is_kept() {
        assert_eq!(detect("a.json", "{\"a\": 1}\n{\"a\": 2}"), Format::JsonLines);
        assert_eq!(detect("a.json", "{broken"), Format::Text);
    }
}
