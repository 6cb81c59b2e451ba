//! Reads XML with any schema: titles become headings, running text becomes paragraphs, and plain values become `name: value`.

mod citation;

use graphloom_core::Format;

use super::draft::Draft;
use super::xml_events::{Element, Node, Nodes};
use super::{Body, ParseError, ParseLimits, html};
use citation::{Citation, is_given_name, is_person, is_surname};

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
/// are values too. A reference to a publication is one line, and so is the name of a person. Attributes and comments are left out.
pub(super) fn parse(source: &str, limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut nodes = Nodes::new(source, Format::Xml, limits.max_depth);
    let mut reader = Reader {
        draft: Draft::new(limits.max_bytes),
        open: Vec::new(),
        inline: 0,
        skipped: 0,
        citation: None,
    };
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
    /// The open reference to a publication.
    citation: Option<Citation>,
}

impl Reader {
    fn node(&mut self, node: Node<'_>, limits: &ParseLimits) {
        if let Some(citation) = &mut self.citation {
            if citation.read(node) {
                let line = citation.line();
                self.citation = None;
                self.draft.paragraph(&line);
            }
            return;
        }
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
        } else if Citation::begins(&name) && self.open.iter().all(|open| open.table.is_none()) {
            self.put_text();
            self.citation = Some(Citation::default());
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
            && !is_person(&open.name)
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
        if let Some(person) = self.open.last_mut().filter(|outer| is_person(&outer.name)) {
            if is_surname(&open.name) {
                person.text = format!("{} {text}", person.text);
                return;
            } else if is_given_name(&open.name) {
                person.text = format!("{text} {}", person.text);
                return;
            }
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
    fn a_reference_is_one_line_and_no_heading() {
        check_xml(
            "<article><title>Ducks</title><contrib><name><surname>Allen</surname><given-names>Bo</given-names></name></contrib>\
             <ref-list><title>References</title>\
             <ref><element-citation><person-group person-group-type=\"author\"><name><surname>Allen</surname>\
             <given-names>BT</given-names></name><name><surname>Voss</surname></name><etal/></person-group><year>2009</year>\
             <article-title>Why <italic>Anas</italic> dives.</article-title><source>Pond Letters</source><volume>37</volume>\
             <issue>2</issue><fpage>12</fpage><lpage>18</lpage><pub-id pub-id-type=\"doi\">10.1/x</pub-id>\
             <pub-id pub-id-type=\"pmid\">7</pub-id></element-citation></ref>\
             <ref><element-citation><collab>Duck Society</collab><source>Atlas of Ducks</source>\
             <publisher-loc>Kelm</publisher-loc><publisher-name>Halden Press</publisher-name></element-citation></ref>\
             <ref><mixed-citation><name><surname>Lind</surname> <given-names>A</given-names></name>, <year>1999</year>.\n\
             <article-title>On reed</article-title>. Kelm.</mixed-citation></ref></ref-list></article>",
            "# Ducks\n\nname: Bo Allen\n\n## References\n\n\
             Allen BT, Voss, et al. (2009). Why Anas dives. Pond Letters 37(2), 12-18. doi:10.1/x\n\n\
             Duck Society. Atlas of Ducks, Kelm, Halden Press.\n\n\
             Lind A, 1999. On reed. Kelm.\n",
        );
    }

    #[test]
    fn a_reference_in_tei_is_one_line() {
        check_xml(
            "<TEI><head>Ducks</head><listBibl><biblStruct><analytic><title level=\"a\">Why ducks dive</title><author><persName>\
             <forename>Bo</forename><surname>Allen</surname></persName></author></analytic><monogr><title level=\"j\">Pond Letters</title>\
             <imprint><biblScope unit=\"volume\">37</biblScope><biblScope unit=\"page\" from=\"12\" to=\"18\"/>\
             <date when=\"2009\"/></imprint></monogr></biblStruct></listBibl></TEI>",
            "# Ducks\n\nAllen Bo (2009). Why ducks dive. Pond Letters 37, 12-18.\n",
        );
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
