//! Reads XML with any schema: titles become headings, running text becomes paragraphs, and plain values become `name: value`.

use graphloom_core::Format;

use super::draft::Draft;
use super::xml_events::{Element, Node, Nodes};
use super::{Body, ParseError, ParseLimits, html};

/// Maximum heading levels that are distinguished.
const MAX_HEADING_LEVEL: usize = 6;
/// Maximum characters of a value that is written beside its name. Longer values are paragraphs.
const MAX_VALUE_CHARS: usize = 200;

/// Elements that contain parts of a sentence.
const INLINE: [&str; 40] = [
    "a",
    "abbr",
    "b",
    "bold",
    "cite",
    "code",
    "em",
    "emphasis",
    "ext-link",
    "fn",
    "font",
    "foreign",
    "hi",
    "i",
    "inline-formula",
    "italic",
    "kbd",
    "link",
    "literal",
    "monospace",
    "named-content",
    "ph",
    "q",
    "quote",
    "ref",
    "rend",
    "s",
    "sc",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "term",
    "tt",
    "u",
    "ulink",
    "underline",
    "xref",
];

/// Returns the document's text. An element `title` or `head` at the start of another element becomes its
/// heading. An element with only text and inline elements is a paragraph, or `name: value` if its neighbours
/// are values too. Attributes and comments are left out.
pub(super) fn parse(source: &str, limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut nodes = Nodes::new(source, Format::Xml, limits.max_depth);
    let mut reader = Reader { draft: Draft::new(limits.max_bytes), open: Vec::new(), inline: 0, skipped: 0 };
    while let Some(node) = nodes.next()? {
        reader.node(node, limits);
        if reader.draft.is_full() {
            break;
        }
    }
    reader.draft.finish()
}

/// Returns the text of the first element with this local name; empty if there is none.
pub(super) fn text_of_first(
    xml: &str,
    name: &str,
    format: Format,
    limits: &ParseLimits,
) -> Result<String, ParseError> {
    let mut nodes = Nodes::new(xml, format, limits.max_depth);
    let mut found: Option<String> = None;
    while let Some(node) = nodes.next()? {
        match (node, &mut found) {
            (Node::Open(element), None) if element.name() == name => found = Some(String::new()),
            (Node::Text(text), Some(found)) => found.push_str(&text),
            (Node::Close(closed), Some(_)) if closed == name => break,
            (Node::Open(_) | Node::Close(_) | Node::Text(_), _) => {}
        }
    }
    Ok(found.unwrap_or_default())
}

/// An open element that is not part of a sentence.
struct Open {
    name: String,
    text: String,
    /// Whether it has a heading, so that the headings inside it are deeper.
    titled: bool,
    /// The rows and the open row of a table.
    table: Option<Vec<Vec<String>>>,
}

struct Reader {
    draft: Draft,
    open: Vec<Open>,
    /// Number of inline elements that are open inside the innermost block.
    inline: usize,
    /// Number of open elements inside one that is left out.
    skipped: usize,
}

impl Reader {
    fn node(&mut self, node: Node<'_>, limits: &ParseLimits) {
        match node {
            Node::Open(_) if self.skipped > 0 => self.skipped += 1,
            Node::Open(element) => self.open(&element),
            Node::Close(_) if self.skipped > 0 => self.skipped -= 1,
            Node::Close(name) => self.close(&name, limits),
            Node::Text(_) if self.skipped > 0 => {}
            Node::Text(text) => {
                if let Some(open) = self.open.last_mut() {
                    open.text.push_str(&text);
                }
            }
        }
    }

    fn open(&mut self, element: &Element<'_>) {
        let name = element.name();
        if matches!(name.as_str(), "script" | "style" | "svg" | "annotation") {
            self.skipped = 1;
        } else if self.is_inline(&name) {
            self.inline += 1;
        } else {
            // Text before a block inside a block is a separate paragraph.
            self.put_text();
            self.inline = 0;
            let table = matches!(name.as_str(), "table" | "informaltable").then(Vec::new);
            self.open.push(Open { name, text: String::new(), titled: false, table });
        }
    }

    /// True if an element is part of the sentence that is being read.
    fn is_inline(&self, name: &str) -> bool {
        let in_text = self.inline > 0 || self.open.last().is_some_and(|open| !open.text.trim().is_empty());
        INLINE.contains(&name)
            && !self.open.is_empty()
            && (in_text
                || self.open.last().is_some_and(|open| {
                    matches!(
                        open.name.as_str(),
                        "p" | "para" | "title" | "td" | "th" | "li" | "label" | "article-title"
                    )
                }))
    }

    fn close(&mut self, name: &str, limits: &ParseLimits) {
        if self.inline > 0 && self.open.last().is_some_and(|open| open.name != name) {
            self.inline -= 1;
            return;
        }
        let Some(open) = self.open.pop() else { return };
        self.inline = 0;
        if let Some(rows) = open.table {
            self.draft.table(&rows);
            return;
        }
        let in_table = self.open.iter_mut().rev().find_map(|outer| outer.table.as_mut());
        if let Some(rows) = in_table {
            let text = open.text.trim();
            match open.name.as_str() {
                "tr" | "row" => rows.push(Vec::new()),
                _ if text.is_empty() && !matches!(open.name.as_str(), "td" | "th" | "entry") => {}
                _ => {
                    if rows.is_empty() {
                        rows.push(Vec::new());
                    }
                    if let Some(row) = rows.last_mut() {
                        row.push(text.to_owned());
                    }
                }
            }
            return;
        }
        self.put(&open, limits);
    }

    /// Writes the text of the innermost element that precedes an element inside it.
    fn put_text(&mut self) {
        if let Some(open) = self.open.last_mut()
            && open.table.is_none()
        {
            let text = std::mem::take(&mut open.text);
            let in_table = self.open.iter().any(|open| open.table.is_some());
            if !in_table {
                self.draft.paragraph(&one_block(&text));
            }
        }
    }

    fn put(&mut self, open: &Open, limits: &ParseLimits) {
        let text = one_block(&open.text);
        if text.is_empty() {
            return;
        }
        let is_title =
            matches!(open.name.as_str(), "title" | "head" | "heading" | "article-title" | "book-title");
        if is_title {
            let level = self.open.iter().filter(|outer| outer.titled).count() + 1;
            if let Some(outer) = self.open.last_mut() {
                outer.titled = true;
            }
            self.draft.title(&text);
            self.draft.heading(level.min(MAX_HEADING_LEVEL) as u8, &text);
        } else if looks_like_html(&text) {
            // Feeds contain pages as text.
            self.draft.append(html::parse(&open.text, limits), MAX_HEADING_LEVEL as u8 - 1);
        } else if is_prose(&open.name) || text.chars().count() > MAX_VALUE_CHARS {
            self.draft.paragraph(&text);
        } else {
            self.draft.line(&format!("{}: {text}", open.name));
        }
    }
}

/// True for names of elements that contain sentences.
fn is_prose(name: &str) -> bool {
    matches!(
        name,
        "p" | "para"
            | "simpara"
            | "text"
            | "content"
            | "body"
            | "abstract"
            | "description"
            | "note"
            | "l"
            | "line"
    )
}

fn looks_like_html(text: &str) -> bool {
    text.starts_with('<') && text.contains("</") || text.contains("<p>") || text.contains("<br")
}

/// Returns the text on one line. Line breaks inside XML text have no meaning.
fn one_block(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_xml(source: &str, expected: &str) -> Body {
        let body = parse(source, &ParseLimits::default()).expect("a document");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn titles_are_headings_and_sentences_stay_whole() {
        let body = check_xml(
            "<article><title>Radium</title><p>Found by <b>Marie</b> <i>Curie</i>\n in Paris.</p>\
             <sec><title>Uses &amp; risks</title><p>Many.</p><sec><title>Risks</title><p>Some.</p></sec></sec></article>",
            "# Radium\n\nFound by Marie Curie in Paris.\n\n## Uses & risks\n\nMany.\n\n### Risks\n\nSome.\n",
        );
        assert_eq!(body.title.as_deref(), Some("Radium"));
        assert_eq!(body.headings.iter().map(|heading| heading.level).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn values_keep_their_names_and_embedded_html_is_read() {
        check_xml(
            "<rss><channel><title>News</title><item><title>Pipes</title><link>https://example.org/1</link>\
             <description>&lt;p&gt;Long &lt;b&gt;pipes&lt;/b&gt;&lt;/p&gt;</description></item></channel></rss>",
            "# News\n\n## Pipes\n\nlink: https://example.org/1\n\nLong pipes\n",
        );
    }

    #[test]
    fn rows_of_tables_name_their_columns() {
        check_xml(
            "<doc><table><thead><tr><th>Item</th><th>Cost</th></tr></thead><tr><td><b>Valve</b></td><td>3</td></tr></table></doc>",
            "Item | Cost\nItem: Valve | Cost: 3\n",
        );
    }
}
