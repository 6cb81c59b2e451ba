//! Detects the format of bytes by magic numbers, file extension or content.

use std::io::{Cursor, Read};

use graphloom_core::Format;
use zip::ZipArchive;

use super::{ParseError, encoding, json, markdown, notebook, subtitles, table};

/// Maximum bytes of a document that are examined if its name does not determine the format.
const SNIFF_BYTES: usize = 256 * 1024;

/// Returns the format of a source: by the extension of its name, or by its content if the extension is unknown.
///
/// Bytes that are not text count as [`Format::Text`]; [`super::parse`] reports what is wrong with them.
pub fn format_of(name: &str, bytes: &[u8]) -> Format {
    let by_bytes = || match kind_of(bytes) {
        Some(Kind::Known(format)) => Some(format),
        Some(Kind::Encrypted | Kind::DamagedArchive | Kind::Foreign(_)) | None => None,
    };
    format_by_name(name)
        .or_else(by_bytes)
        .or_else(|| encoding::decode(bytes).ok().map(|(text, _)| by_content(&text)))
        .unwrap_or(Format::Text)
}

/// Like [`format_of`], for decoded text. `given` is the caller's format. Text named JSON that is not a single
/// JSON value is JSON lines or plain text.
pub(super) fn detect(name: &str, text: &str, given: Option<Format>) -> Format {
    match given.or_else(|| format_by_name(name)) {
        Some(Format::Json) if !json::is_value(text) => {
            if json::is_lines(text) {
                Format::JsonLines
            } else {
                Format::Text
            }
        }
        // What is named after another format, but has none of its marks, is plain text.
        Some(Format::Subtitles) if !subtitles::looks_like(text) => Format::Text,
        Some(Format::Notebook) if !notebook::looks_like(text) => detect(name, text, Some(Format::Json)),
        Some(format) => format,
        None => by_content(text),
    }
}

/// Returns the extension of a path or URL in lower case, without the dot.
pub(super) fn extension(name: &str) -> Option<String> {
    let path = if name.contains("://") { name.split(['?', '#']).next().unwrap_or(name) } else { name };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, extension)| extension.to_ascii_lowercase())
}

/// Returns the format that the extension of a name determines; `None` if it is unknown.
pub fn format_by_name(name: &str) -> Option<Format> {
    let extension = extension(name)?;
    if CODE_EXTENSIONS.binary_search(&extension.as_str()).is_ok() {
        return Some(Format::Code);
    }
    let of = |(extensions, _): &&(&[&str], Format)| extensions.contains(&extension.as_str());
    BY_EXTENSION.iter().find(of).map(|(_, format)| *format)
}

/// Returns every extension that determines a format, without the dot, ascending.
pub fn extensions() -> Vec<&'static str> {
    let others = BY_EXTENSION.iter().flat_map(|(extensions, _)| extensions.iter().copied());
    let mut all: Vec<&'static str> = CODE_EXTENSIONS.into_iter().chain(others).collect();
    all.sort_unstable();
    all
}

/// Extensions of all formats except source code.
const BY_EXTENSION: [(&[&str], Format); 22] = [
    (&["txt", "text", "log", "adoc", "asciidoc", "org"], Format::Text),
    (&["md", "markdown", "mdown", "mkd", "mdx"], Format::Markdown),
    (&["html", "htm", "xhtml"], Format::Html),
    (&["csv", "tsv", "tab"], Format::Csv),
    (&["json", "geojson"], Format::Json),
    (&["jsonl", "ndjson"], Format::JsonLines),
    (&["xml", "rss", "atom", "nxml", "opml", "dita", "docbook", "tei"], Format::Xml),
    (&["pdf"], Format::Pdf),
    (&["docx", "docm", "dotx"], Format::Docx),
    (&["pptx", "pptm", "ppsx"], Format::Pptx),
    (&["xlsx", "xlsm"], Format::Xlsx),
    (&["xls"], Format::Xls),
    (&["odt", "ott"], Format::Odt),
    (&["ods"], Format::Ods),
    (&["odp"], Format::Odp),
    (&["epub"], Format::Epub),
    (&["rtf"], Format::Rtf),
    (&["eml", "mbox", "msg"], Format::Eml),
    (&["rst", "rest"], Format::Rst),
    (&["tex", "latex", "ltx"], Format::Latex),
    (&["srt", "vtt"], Format::Subtitles),
    (&["ipynb"], Format::Notebook),
];

/// Returns the format for a media type such as `text/html; charset=utf-8`; `None` if it does not determine
/// one. `text/plain` does not: servers send it for anything unknown.
pub fn format_by_media_type(media_type: &str) -> Option<Format> {
    let media_type = media_type.split(';').next().unwrap_or(media_type).trim().to_ascii_lowercase();
    match media_type.as_str() {
        "text/html" | "application/xhtml+xml" => Some(Format::Html),
        "text/markdown" | "text/x-markdown" => Some(Format::Markdown),
        "text/csv" | "text/tab-separated-values" => Some(Format::Csv),
        "application/json" | "application/geo+json" | "application/ld+json" => Some(Format::Json),
        "application/x-ndjson" | "application/jsonl" => Some(Format::JsonLines),
        "text/xml" | "application/xml" | "application/rss+xml" | "application/atom+xml" => Some(Format::Xml),
        "application/pdf" => Some(Format::Pdf),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Some(Format::Docx),
        "application/vnd.openxmlformats-officedocument.presentationml.presentation" => Some(Format::Pptx),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => Some(Format::Xlsx),
        "application/vnd.ms-excel" => Some(Format::Xls),
        "application/vnd.oasis.opendocument.text" => Some(Format::Odt),
        "application/vnd.oasis.opendocument.spreadsheet" => Some(Format::Ods),
        "application/vnd.oasis.opendocument.presentation" => Some(Format::Odp),
        "application/epub+zip" => Some(Format::Epub),
        "application/rtf" | "text/rtf" => Some(Format::Rtf),
        "text/x-rst" | "text/prs.fallenstein.rst" => Some(Format::Rst),
        "text/x-tex" | "application/x-tex" | "application/x-latex" => Some(Format::Latex),
        "text/vtt" | "application/x-subrip" => Some(Format::Subtitles),
        "application/x-ipynb+json" => Some(Format::Notebook),
        "message/rfc822" | "application/mbox" | "application/vnd.ms-outlook" => Some(Format::Eml),
        _ => None,
    }
}

/// Extensions of source code, sorted.
const CODE_EXTENSIONS: [&str; 77] = [
    "adb", "asm", "awk", "bash", "bat", "bzl", "c", "cc", "cfg", "clj", "cljs", "cmake", "conf", "cpp", "cs",
    "css", "cu", "cxx", "d", "dart", "el", "elm", "erl", "ex", "exs", "f90", "fs", "fsx", "go", "gradle",
    "graphql", "groovy", "h", "hcl", "hh", "hpp", "hs", "ini", "java", "jl", "js", "jsx", "kt", "kts",
    "less", "lisp", "lua", "m", "mjs", "ml", "mli", "nim", "php", "pl", "pm", "proto", "ps1", "py", "pyi",
    "r", "rb", "rs", "scala", "scm", "scss", "sh", "sol", "sql", "svelte", "swift", "tf", "toml", "ts",
    "tsx", "vue", "yaml", "yml",
];

/// The kind of a binary file, according to its first bytes and the names it contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A supported format.
    Known(Format),
    /// A document in a supported format, protected by a password.
    Encrypted,
    /// A ZIP archive whose list of members cannot be read.
    DamagedArchive,
    /// An unsupported format, with its article.
    Foreign(&'static str),
}

/// Returns the format to read a source as; `None` if only its text can show it.
///
/// The bytes of containers and binary documents determine their format. If it differs from the caller's
/// format or the name, the source is mislabelled.
pub(super) fn identify(
    name: &str,
    bytes: &[u8],
    given: Option<Format>,
) -> Result<Option<Format>, ParseError> {
    let named = given.or_else(|| format_by_name(name));
    match (kind_of(bytes), named) {
        (Some(Kind::Known(found)), None) => Ok(Some(found)),
        (Some(Kind::Known(found)), Some(named)) if found == named => Ok(Some(named)),
        (Some(Kind::Known(found)), Some(named)) => {
            Err(ParseError::Mislabelled { named, kind: found.described() })
        }
        (Some(Kind::Encrypted), named) => Err(ParseError::Encrypted {
            format: named.filter(|named| is_container(*named)).unwrap_or(Format::Docx),
        }),
        // The reader says what is wrong with it.
        (Some(Kind::DamagedArchive), Some(named)) if is_container(named) => Ok(Some(named)),
        (Some(Kind::DamagedArchive), Some(named)) => {
            Err(ParseError::Mislabelled { named, kind: "a ZIP archive" })
        }
        (Some(Kind::DamagedArchive), None) => Err(ParseError::Unsupported { kind: "a ZIP archive" }),
        (Some(Kind::Foreign(kind)), Some(named)) => Err(ParseError::Mislabelled { named, kind }),
        (Some(Kind::Foreign(kind)), None) => Err(ParseError::Unsupported { kind }),
        (None, Some(named)) if has_magic(named) => Err(match encoding::decode(bytes) {
            Ok(_) => ParseError::Mislabelled { named, kind: "text" },
            Err(_) => ParseError::Broken { format: named, reason: "it does not begin as one".to_owned() },
        }),
        (None, named) => Ok(named),
    }
}

/// True for formats that are recognized by their first bytes.
fn has_magic(format: Format) -> bool {
    is_container(format) || matches!(format, Format::Pdf | Format::Xls | Format::Rtf)
}

/// True for formats that are ZIP archives.
fn is_container(format: Format) -> bool {
    match format {
        Format::Docx
        | Format::Pptx
        | Format::Xlsx
        | Format::Odt
        | Format::Ods
        | Format::Odp
        | Format::Epub => true,
        Format::Text
        | Format::Markdown
        | Format::Html
        | Format::Csv
        | Format::Json
        | Format::JsonLines
        | Format::Xml
        | Format::Code
        | Format::Pdf
        | Format::Xls
        | Format::Rtf
        | Format::Eml
        | Format::Rst
        | Format::Latex
        | Format::Subtitles
        | Format::Notebook => false,
    }
}

fn by_content(text: &str) -> Format {
    let start = text.trim_start();
    let head = &text[..text.floor_char_boundary(SNIFF_BYTES)];
    let lower: String = start.chars().take(512).collect::<String>().to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.contains("<body") {
        Format::Html
    } else if start.starts_with("<?xml") {
        Format::Xml
    } else if is_mail(&lower) {
        Format::Eml
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

/// True if a text begins with the headers of a message. The text must be in lower case.
fn is_mail(start: &str) -> bool {
    let headers = start.lines().take_while(|line| !line.trim().is_empty());
    let names: Vec<&str> = headers.filter_map(|line| line.split_once(": ").map(|(name, _)| name)).collect();
    let has = |name: &str| names.contains(&name);
    has("from")
        && (has("mime-version") || has("message-id") || has("received") || (has("subject") && has("date")))
}

/// Number of bytes within which the PDF signature must start: some programs write before it.
const PDF_MARK_BYTES: usize = 1024;

/// Maximum bytes of the media type that an archive declares.
const MAX_MEDIA_TYPE_BYTES: u64 = 256;

/// Returns the kind of a binary file by its first bytes; `None` if the bytes may be text.
pub(super) fn kind_of(bytes: &[u8]) -> Option<Kind> {
    const MAGIC: [(&[u8], &str); 22] = [
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
    if bytes.starts_with(b"{\\rtf") {
        return Some(Kind::Known(Format::Rtf));
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Some(compound_kind(bytes));
    }
    let head = &bytes[..bytes.len().min(PDF_MARK_BYTES)];
    let pdf = head.windows(5).position(|window| window == b"%PDF-");
    if pdf.is_some_and(|at| {
        at == 0
            || bytes[..at].iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0xff)
            || bytes.contains(&0)
            || std::str::from_utf8(bytes).is_err()
    }) {
        return Some(Kind::Known(Format::Pdf));
    }
    if bytes.starts_with(b"RIFF")
        && bytes.get(8..12).is_some_and(|kind| matches!(kind, b"WEBP" | b"WAVE" | b"AVI "))
    {
        return Some(Kind::Foreign("an image, audio or video file"));
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some(Kind::Foreign("a video or image file"));
    }
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|&(_, kind)| Kind::Foreign(kind))
}

/// Returns the kind of a ZIP archive by its list of members and by the media type that it declares.
fn zip_kind(bytes: &[u8]) -> Kind {
    const MEDIA_TYPES: [(&str, Format); 4] = [
        ("application/epub", Format::Epub),
        ("application/vnd.oasis.opendocument.text", Format::Odt),
        ("application/vnd.oasis.opendocument.spreadsheet", Format::Ods),
        ("application/vnd.oasis.opendocument.presentation", Format::Odp),
    ];
    const PARTS: [(&str, Kind); 4] = [
        ("xl/workbook.bin", Kind::Foreign("an Excel workbook in its binary form (XLSB)")),
        ("word/", Kind::Known(Format::Docx)),
        ("xl/", Kind::Known(Format::Xlsx)),
        ("ppt/", Kind::Known(Format::Pptx)),
    ];
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else { return Kind::DamagedArchive };
    let mut declared = String::new();
    if let Ok(member) = zip.by_name("mimetype") {
        // A media type that cannot be read is none.
        let _ = member.take(MAX_MEDIA_TYPE_BYTES).read_to_string(&mut declared);
    }
    let by_type = MEDIA_TYPES.iter().find(|(start, _)| declared.starts_with(start));
    if let Some((_, format)) = by_type {
        return Kind::Known(*format);
    }
    let has = |part: &str| zip.file_names().flatten().any(|name| name.starts_with(part));
    PARTS.iter().find(|(part, _)| has(part)).map_or(Kind::Foreign("a ZIP archive"), |&(_, kind)| kind)
}

/// Returns the kind of a compound file. Older Office documents, Outlook messages and encrypted documents are
/// compound files that name their streams in UTF-16.
fn compound_kind(bytes: &[u8]) -> Kind {
    // Outlook messages contain their attachments, including the names of their streams.
    const STREAMS: [(&str, Kind); 6] = [
        ("__properties_version1.0", Kind::Known(Format::Eml)),
        ("EncryptedPackage", Kind::Encrypted),
        ("WordDocument", Kind::Foreign("an older Word document (DOC)")),
        ("PowerPoint Document", Kind::Foreign("an older PowerPoint presentation (PPT)")),
        ("Workbook", Kind::Known(Format::Xls)),
        ("Book", Kind::Known(Format::Xls)),
    ];
    let has = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.windows(name.len()).any(|window| window == name)
    };
    let found = STREAMS.iter().find(|(name, _)| has(name));
    found.map_or(Kind::Foreign("a document of an older Microsoft Office program"), |&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    #[test]
    fn the_extension_determines_the_format() {
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
    fn the_content_determines_the_format_if_the_name_does_not() {
        for (text, format) in [
            ("Dear Sir, I write, as promised, today.\nYours, Ada", Format::Text),
            ("Intro\n\n# Heading\n\ntext", Format::Markdown),
            ("<!DOCTYPE html><p>x", Format::Html),
            ("{\"a\": [1, 2]}", Format::Json),
            ("{\"a\": 1}\n{\"a\": 2}\n", Format::JsonLines),
            ("a;b;c\n1;2;3\n4;5;6\n", Format::Csv),
            ("<?xml version=\"1.0\"?><a>x</a>", Format::Xml),
            ("Subject: x\nFrom: a@example.org\nDate: today\n\nhello", Format::Eml),
        ] {
            assert_eq!(format_of("README", text.as_bytes()), format, "{text}");
        }
    }

    #[track_caller]
    fn check_identity(name: &str, bytes: &[u8], expected: &str) {
        let said = match identify(name, bytes, None) {
            Ok(Some(format)) => format.name().to_owned(),
            Ok(None) => "unknown".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn content_that_contradicts_the_name_is_mislabelled() {
        check_identity(
            "a.docx",
            b"%PDF-1.7",
            "the source is named like a Word document but is a PDF document",
        );
        check_identity(
            "a.pdf",
            &pack(&[("word/x", "")]),
            "the source is named like a PDF document but is a Word document",
        );
        check_identity("a.txt", b"\x89PNG\r\n", "the source is named like plain text but is a PNG image");
        check_identity("a.xlsx", b"a;b\n1;2\n", "the source is named like an Excel workbook but is text");
        check_identity(
            "a.pdf",
            b"\0\x01\x02\x03",
            "the source, a PDF document, is damaged: it does not begin as one",
        );
    }

    #[test]
    fn containers_are_recognized_without_a_name() {
        check_identity("a", &pack(&[("mimetype", "application/epub+zip")]), "epub");
        check_identity("a", &pack(&[("ppt/presentation.xml", "")]), "pptx");
        check_identity("a.zip", &pack(&[("x", "")]), "the source is a ZIP archive, which is not supported");
        check_identity("a", b"{\\rtf1 x}", "rtf");
        check_identity("a", b"\xff\n%PDF-1.4", "pdf");
        check_identity("notes", b"The mark %PDF- begins a file.", "unknown");
        let stream = |name: &str| {
            let name = name.encode_utf16().flat_map(u16::to_le_bytes);
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".iter().copied().chain(name).collect::<Vec<u8>>()
        };
        check_identity("a.docx", &stream("EncryptedPackage"), "the source, a Word document, is encrypted");
        check_identity("a", &stream("Workbook"), "xls");
        let old = "the source is an older Word document (DOC), which is not supported";
        check_identity("a.doc", &stream("WordDocument"), old);
    }

    #[test]
    fn bytes_inside_the_members_of_an_archive_do_not_determine_its_format() {
        let photo = ("ppt/media/photo.jpg", "\u{1}xl/\u{2}word/\u{3}mimetypeapplication/epub+zip");
        check_identity("a.pptx", &pack(&[photo, ("ppt/presentation.xml", "")]), "pptx");
        let photos = pack(&[("photo.jpg", photo.1)]);
        check_identity("a.zip", &photos, "the source is a ZIP archive, which is not supported");
    }

    #[test]
    fn a_damaged_archive_is_not_called_another_format() {
        check_identity("a.pptx", b"PK\x03\x04..xl/workbook.xml", "pptx");
        check_identity("a.txt", b"PK\x03\x04..", "the source is named like plain text but is a ZIP archive");
        check_identity("a.zip", b"PK\x03\x04..", "the source is a ZIP archive, which is not supported");
    }

    #[test]
    fn extensions_of_code_are_sorted_for_the_search() {
        assert!(CODE_EXTENSIONS.is_sorted());
        assert_eq!(format_by_name("src/main.rs"), Some(Format::Code));
    }

    #[test]
    fn media_types_determine_formats() {
        assert_eq!(format_by_media_type("Text/HTML; charset=utf-8"), Some(Format::Html));
        assert_eq!(format_by_media_type("text/plain"), None);
    }

    #[test]
    fn invalid_json_files_are_read_as_json_lines_or_text() {
        assert_eq!(detect("a.json", "{\"a\": 1}\n{\"a\": 2}", None), Format::JsonLines);
        assert_eq!(detect("a.json", "{broken", None), Format::Text);
    }
}
