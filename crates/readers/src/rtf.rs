//! Reads Rich Text Format: paragraphs, headings, tables, and characters in any code page.

use encoding_rs::{Encoding, WINDOWS_1252};
use graphloom_core::Format;

use super::draft::Draft;
use super::{Body, ParseError, ParseLimits};

/// Groups that contain no text of the document.
const SKIPPED: [&str; 23] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "pict",
    "object",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "themedata",
    "datastore",
    "xmlnstbl",
    "fldinst",
    "filetbl",
    // Repeats the text of a shape for old readers.
    "shprslt",
];

/// Returns the document's text. Footnotes stand in parentheses at their marks, text boxes after their paragraphs. Images,
/// headers and footers are left out.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut reader = Reader {
        draft: Draft::new(limits.max_bytes),
        groups: vec![Group::default()],
        encoding: WINDOWS_1252,
        bytes: Vec::new(),
        text: String::new(),
        info_title: String::new(),
        high: None,
        to_skip: 0,
        row: Vec::new(),
        rows: Vec::new(),
        level: None,
        in_row: false,
        outer: Vec::new(),
        boxes: Vec::new(),
    };
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => {
                if reader.groups.len() > limits.max_depth {
                    return Err(ParseError::TooDeep { format: Format::Rtf, max_depth: limits.max_depth });
                }
                reader.flush();
                let group = reader.group().clone();
                reader.groups.push(Group { begins: true, aside: None, ..group });
            }
            b'}' => {
                reader.flush();
                reader.end_aside();
                reader.groups.pop();
                if reader.groups.len() <= 1 {
                    break;
                }
            }
            b'\\' => at = reader.control(bytes, at),
            b'\r' | b'\n' => {}
            byte => reader.byte(byte),
        }
        if reader.draft.is_full() {
            break;
        }
    }
    reader.flush();
    while !reader.outer.is_empty() {
        reader.end_aside();
        reader.groups.pop();
    }
    reader.end_paragraph();
    reader.end_table();
    reader.write_boxes();
    reader.draft.title(&reader.info_title);
    reader.draft.finish()
}

/// The state that a group changes until it ends.
#[derive(Clone, Default)]
struct Group {
    is_skipped: bool,
    is_title: bool,
    /// Whether nothing of the group has been read. Its first control word says what it is for.
    begins: bool,
    /// Number of bytes that represent a numbered character for old readers.
    fallback_bytes: Option<usize>,
    /// Whether the group is a shape of the document, whose text is read.
    is_shape: bool,
    /// The text beside the paragraph that the group is.
    aside: Option<Aside>,
}

/// Text beside the paragraph that it is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aside {
    Note,
    Box,
}

struct Reader {
    draft: Draft,
    groups: Vec<Group>,
    encoding: &'static Encoding,
    /// Bytes in the document's code page that are not decoded yet.
    bytes: Vec<u8>,
    text: String,
    info_title: String,
    /// The first half of a character with two UTF-16 units.
    high: Option<u16>,
    to_skip: usize,
    row: Vec<String>,
    rows: Vec<Vec<String>>,
    level: Option<u8>,
    in_row: bool,
    /// The texts around the open notes and boxes, outermost first.
    outer: Vec<String>,
    /// The boxes of the open paragraph.
    boxes: Vec<String>,
}

impl Reader {
    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() {
            self.groups.push(Group::default());
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn byte(&mut self, byte: u8) {
        self.group().begins = false;
        if self.to_skip > 0 {
            self.to_skip -= 1;
        } else if !self.group().is_skipped {
            self.bytes.push(byte);
        }
    }

    fn push(&mut self, text: &str) {
        self.flush();
        self.write(text);
    }

    fn write(&mut self, text: &str) {
        let group = self.group();
        if group.is_title {
            self.info_title.push_str(text);
        } else if !group.is_skipped {
            self.text.push_str(text);
        }
    }

    /// Decodes the bytes read so far.
    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let (text, _) = self.encoding.decode_without_bom_handling(&bytes);
            self.write(&text);
        }
    }

    /// Reads the control that a backslash at `at - 1` begins. Returns where it ends.
    fn control(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(&first) = bytes.get(at) else { return at };
        if !first.is_ascii_alphabetic() {
            return self.symbol(bytes, at, first);
        }
        let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = String::from_utf8_lossy(&bytes[at..at + letters]).into_owned();
        let mut end = at + letters;
        let negative = bytes.get(end) == Some(&b'-');
        let digits_at = end + usize::from(negative);
        let digits = bytes[digits_at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut number: Option<i64> = None;
        if digits > 0 {
            let value = String::from_utf8_lossy(&bytes[digits_at..digits_at + digits]).parse().unwrap_or(0);
            number = Some(if negative { -value } else { value });
            end = digits_at + digits;
        }
        end += usize::from(bytes.get(end) == Some(&b' '));
        let begins = std::mem::take(&mut self.group().begins);
        if word == "bin" {
            return end.saturating_add(number.unwrap_or(0).max(0) as usize).min(bytes.len());
        }
        if begins && self.begins_aside(&word) {
            return end;
        }
        if begins && (SKIPPED.contains(&word.as_str()) || word == "info") {
            self.group().is_skipped = true;
        } else if begins && word == "title" {
            self.flush();
            (self.group().is_title, self.group().is_skipped) = (true, false);
        } else {
            self.word(&word, number);
        }
        end
    }

    fn symbol(&mut self, bytes: &[u8], at: usize, first: u8) -> usize {
        let begins = std::mem::take(&mut self.group().begins);
        match first {
            b'\'' => {
                let code = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
                if let Some(byte) = code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    self.byte(byte);
                    return at + 3;
                }
            }
            // Readers must skip destinations that they do not know; most of them are not text.
            b'*' if begins => (self.group().is_skipped, self.group().begins) = (true, true),
            b'\\' | b'{' | b'}' => self.byte(first),
            b'~' => self.push("\u{a0}"),
            b'_' => self.push("-"),
            b'\r' | b'\n' => self.end_paragraph(),
            _ => {}
        }
        at + 1
    }

    /// Begins a note or a box if the first word of a group says so.
    fn begins_aside(&mut self, word: &str) -> bool {
        let around = self.groups.iter().rev().nth(1);
        let is_read = around.is_some_and(|around| !around.is_skipped);
        let aside = match word {
            "shpinst" => {
                self.group().is_shape = is_read;
                return false;
            }
            "footnote" if is_read => Aside::Note,
            "shptxt" if self.group().is_shape => Aside::Box,
            _ => return false,
        };
        self.flush();
        self.outer.push(std::mem::take(&mut self.text));
        (self.group().is_skipped, self.group().aside) = (false, Some(aside));
        true
    }

    /// Goes on with the paragraph if the group that ends is a note or a box.
    fn end_aside(&mut self) {
        let Some(aside) = self.group().aside else { return };
        let text = std::mem::replace(&mut self.text, self.outer.pop().unwrap_or_default());
        let text = text.trim();
        match aside {
            _ if text.is_empty() => {}
            Aside::Note => {
                self.text.truncate(self.text.trim_end().len());
                self.text.push_str(" (");
                self.text.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" "));
                self.text.push(')');
            }
            Aside::Box => self.boxes.push(text.to_owned()),
        }
    }

    fn word(&mut self, word: &str, number: Option<i64>) {
        // Notes and boxes neither end the paragraph around them nor change its format.
        let word = match word {
            _ if self.outer.is_empty() => word,
            "par" | "sect" | "page" | "row" | "nestrow" => "line",
            "cell" | "nestcell" => "tab",
            "pard" | "outlinelevel" | "trowd" | "intbl" => return,
            _ => word,
        };
        match (word, number) {
            ("ansicpg", Some(page)) => self.encoding = code_page(page).unwrap_or(self.encoding),
            ("mac", _) => self.encoding = encoding_rs::MACINTOSH,
            ("uc", Some(count)) => self.group().fallback_bytes = Some(count.clamp(0, 8) as usize),
            ("u", Some(unit)) => {
                self.flush();
                self.unit((unit & 0xffff) as u16);
                self.to_skip = self.group().fallback_bytes.unwrap_or(1);
            }
            ("par" | "sect" | "page", _) if !self.group().is_skipped => self.end_paragraph(),
            ("line", _) => self.push("\n"),
            ("tab", _) => self.push("\t"),
            ("emdash", _) => self.push("\u{2014}"),
            ("endash", _) => self.push("\u{2013}"),
            ("lquote", _) => self.push("\u{2018}"),
            ("rquote", _) => self.push("\u{2019}"),
            ("ldblquote", _) => self.push("\u{201c}"),
            ("rdblquote", _) => self.push("\u{201d}"),
            ("bullet", _) => self.push("\u{2022}"),
            ("emspace" | "enspace", _) => self.push(" "),
            ("outlinelevel", Some(level)) => {
                self.level = u8::try_from(level + 1).ok().filter(|level| *level <= 9)
            }
            ("pard", _) => {
                self.level = None;
                self.in_row = false;
            }
            ("trowd", _) => self.in_row = true,
            ("intbl", _) => self.in_row = true,
            ("cell" | "nestcell", _) => {
                self.flush();
                let cell = std::mem::take(&mut self.text);
                self.row.push(cell.trim().to_owned());
            }
            ("row", _) => {
                let row = std::mem::take(&mut self.row);
                self.rows.push(row);
                self.in_row = false;
            }
            _ => {}
        }
    }

    /// Reads a UTF-16 unit.
    fn unit(&mut self, unit: u16) {
        let units: Vec<u16> = self.high.take().into_iter().chain([unit]).collect();
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
            return;
        }
        self.write(&String::from_utf16_lossy(&units));
    }

    fn end_paragraph(&mut self) {
        self.flush();
        if self.in_row {
            self.text.push('\n');
            return;
        }
        self.end_table();
        let text = std::mem::take(&mut self.text);
        match self.level {
            Some(level) => self.draft.heading(level, &text),
            None => self.draft.paragraph(&text),
        }
        self.write_boxes();
    }

    fn write_boxes(&mut self) {
        for text in std::mem::take(&mut self.boxes) {
            self.draft.paragraph(&text);
        }
    }

    fn end_table(&mut self) {
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.draft.table(&rows);
        }
    }
}

/// Returns the encoding of a Windows code page.
fn code_page(number: i64) -> Option<&'static Encoding> {
    match number {
        932 => Some(encoding_rs::SHIFT_JIS),
        936 => Some(encoding_rs::GBK),
        949 => Some(encoding_rs::EUC_KR),
        950 => Some(encoding_rs::BIG5),
        10000 => Some(encoding_rs::MACINTOSH),
        65001 => Some(encoding_rs::UTF_8),
        number => Encoding::for_label(format!("windows-{number}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rtf(source: &str, expected: &str) -> Body {
        let body = parse(source.as_bytes(), &ParseLimits::default()).expect("a document");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn paragraphs_headings_and_tables_are_read() {
        let body = check_rtf(
            "{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}{\\info{\\title The \\'fcber plan}{\\author X}}\n\
             \\pard\\outlinelevel0 Pipes\\par\\pard Long \\b pipes\\b0 .\\line Thin.\\par\n\
             \\trowd\\pard\\intbl Item\\cell Cost\\cell\\row\\trowd\\intbl Valve\\cell 3\\cell\\row\\pard End.\\par}",
            "# Pipes\n\nLong pipes.\nThin.\n\nItem | Cost\nItem: Valve | Cost: 3\n\nEnd.\n",
        );
        assert_eq!(body.title.as_deref(), Some("The über plan"));
        assert_eq!(body.headings.len(), 1);
    }

    #[test]
    fn characters_of_code_pages_and_of_unicode_are_read() {
        check_rtf(
            "{\\rtf1\\ansi\\ansicpg1251 \\'cf\\'f0 \\u8364?\\u-10179?\\u-8704? \\{x\\}\\~y}",
            "Пр €😀 {x} y\n",
        );
        check_rtf("{\\rtf1\\uc2\\u233 xx{\\*\\hidden gone}\\bin3 \\}}kept}", "ékept\n");
    }

    #[test]
    fn footnotes_stand_in_parentheses_and_text_boxes_after_their_paragraph() {
        check_rtf(
            "{\\rtf1 {\\header x{\\shp{\\*\\shpinst{\\shptxt gone}}}{\\footnote gone}}\\pard\\outlinelevel0 Sold by Ada\
             {\\super\\chftn}{\\footnote\\pard{\\super\\chftn} In Hamar.\\par At noon.} \
             to Bo{\\*\\footnote\\ftnalt In 1950.}{\\shp{\\*\\shpinst{\\sp{\\sn a}{\\sv 1}}{\\shptxt\\pard A box.\\par Two.\\par}}\
             {\\shprslt A box.\\par}} today.\\par\\pard End.}",
            "# Sold by Ada (In Hamar. At noon.) to Bo (In 1950.) today.\n\nA box.\nTwo.\n\nEnd.\n",
        );
        check_rtf("{\\rtf1 Sold{\\footnote In {Hamar", "Sold (In Hamar)\n");
    }

    #[test]
    fn nesting_is_bounded_and_a_truncated_document_keeps_its_text() {
        let deep = format!("{{\\rtf1 {}", "{".repeat(1000));
        let refused = parse(deep.as_bytes(), &ParseLimits::default()).map(|body| body.text);
        assert!(matches!(refused, Err(ParseError::TooDeep { .. })));
        check_rtf("{\\rtf1 Words", "Words\n");
        check_rtf("{\\rtf1 Words\\'", "Words\n");
    }
}
