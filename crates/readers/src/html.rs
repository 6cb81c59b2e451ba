//! Converts HTML to readable text that keeps headings, paragraphs, lists and tables recognizable.

mod content;
mod hidden;
mod table;
mod tags;

use std::borrow::Cow;
use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use scraper::node::Element;
use scraper::{Html, Node};

use super::superscript::superscript;
use super::{Body, Heading, ParseLimits};
use content::{Content, main_content};
use graphloom_text::sanitize;
use hidden::unread;
use table::{Cell, Table};
pub(super) use tags::with_closed_elements;

/// Maximum cells that a cell may span. A larger span is not a real table.
const MAX_SPAN: usize = 100;

/// Start of the classes of code blocks by Sphinx and GitHub.
const HIGHLIGHT: &str = "highlight-";
/// Language of a code block that names none.
const TEXT: &str = "text";

/// Returns the page's visible text, with headings as `## Title`, list items as `- item` and table rows as
/// `column: value | ...`.
///
/// Scripts, styles, navigation, form controls and elements that stay hidden are removed. The title is that of the head, or else
/// the first level 1 heading. Column names are no longer repeated once the text has `max_bytes`. Of elements nested deeper than
/// `max_depth`, only the text is kept, because building the page takes time proportional to the square of its depth.
pub(super) fn parse(source: &str, limits: &ParseLimits) -> Body {
    let html = Html::parse_document(&tags::flattened(source, limits.max_depth));
    let unread = unread(&html);
    let all = Content { roots: vec![html.tree.root()], left_out: unread.clone() };
    write(&html, &unread, &all, limits.max_bytes)
}

/// Like [`parse`], for a web page: only its main content, without the content beside it. `source` is freed
/// before the text is written.
pub(super) fn parse_page(source: Cow<'_, str>, limits: &ParseLimits) -> Body {
    let html = Html::parse_document(&tags::flattened(&source, limits.max_depth));
    drop(source);
    let unread = unread(&html);
    write(&html, &unread, &main_content(&html, &unread), limits.max_bytes)
}

fn write(html: &Html, unread: &HashSet<NodeId>, content: &Content<'_>, max_bytes: usize) -> Body {
    let mut titles = Survey::default();
    walk(html.tree.root(), unread, &mut titles);
    let mut survey = Survey::default();
    for root in &content.roots {
        walk(*root, &content.left_out, &mut survey);
    }
    let mut writer = Writer { layout_tables: survey.layout_tables, max_bytes, ..Writer::default() };
    for root in &content.roots {
        walk(*root, &content.left_out, &mut writer);
    }
    let title = Some(collapse(&titles.title)).filter(|title| !title.is_empty());
    let Writer { out: mut text, mut body, .. } = writer;
    let title = title.or_else(|| body.headings.iter().find(|h| h.level == 1).map(|h| h.title.clone()));
    text.truncate(text.trim_end().len());
    text.push('\n');
    (body.text, body.title) = (text, title);
    body
}

/// Visits the nodes of a page in document order.
trait Visit {
    fn text(&mut self, text: &str);
    /// Returns whether to enter the element. `close` is called only for entered elements.
    fn open(&mut self, element: &Element) -> bool;
    fn close(&mut self, element: &Element);
}

/// Visits `root` and its descendants except `left_out`. Not recursive, because pages may be nested deeper than any stack.
fn walk(root: NodeRef<'_, Node>, left_out: &HashSet<NodeId>, visitor: &mut impl Visit) {
    let mut node = root;
    loop {
        let inside = match node.value() {
            Node::Text(text) => {
                visitor.text(text);
                false
            }
            Node::Element(element) => !left_out.contains(&node.id()) && visitor.open(element),
            Node::Document | Node::Fragment => true,
            Node::Comment(_) | Node::Doctype(_) | Node::ProcessingInstruction(_) => false,
        };
        if let Some(child) = node.first_child().filter(|_| inside) {
            node = child;
            continue;
        }
        if let (Node::Element(element), true) = (node.value(), inside) {
            visitor.close(element);
        }
        loop {
            if node.id() == root.id() {
                return;
            }
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            let Some(parent) = node.parent() else { return };
            node = parent;
            if let Node::Element(element) = node.value() {
                visitor.close(element);
            }
        }
    }
}

/// First pass: finds the title, and the tables that contain other tables and therefore only lay out the page.
#[derive(Default)]
struct Survey {
    title: String,
    in_title: bool,
    layout_tables: Vec<bool>,
    open_tables: Vec<usize>,
}

impl Visit for Survey {
    fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.push_str(text);
        }
    }

    fn open(&mut self, element: &Element) -> bool {
        match element.name() {
            "title" => self.in_title = self.title.is_empty(),
            "table" => {
                if let Some(&outer) = self.open_tables.last() {
                    self.layout_tables[outer] = true;
                }
                self.open_tables.push(self.layout_tables.len());
                self.layout_tables.push(false);
            }
            _ => {}
        }
        true
    }

    fn close(&mut self, element: &Element) {
        match element.name() {
            "title" => self.in_title = false,
            "table" => {
                self.open_tables.pop();
            }
            _ => {}
        }
    }
}

/// Second pass: writes the text.
#[derive(Default)]
struct Writer {
    out: String,
    /// The headings so far.
    body: Body,
    max_bytes: usize,
    /// Line ends to write before the next text.
    breaks: usize,
    /// Whether to write a space before the next text.
    space: bool,
    /// A list mark or heading mark to write before the next text.
    mark: Option<String>,
    /// The open heading: its level, and its start once it has text.
    heading: Option<(u8, Option<usize>)>,
    /// Open lists. Numbered lists have the number of the last item.
    lists: Vec<Option<usize>>,
    preformatted: usize,
    /// Number of open elements with raised text.
    raised: usize,
    /// White space to write before the next text of a preformatted line.
    blank: String,
    /// Languages of the open elements that contain code, outermost first.
    code: Vec<String>,
    /// Whether the preformatted text is code, which is written between fences.
    fenced: bool,
    layout_tables: Vec<bool>,
    tables_seen: usize,
    /// Open tables; `None` for tables that only lay out the page.
    tables: Vec<Option<Table>>,
    /// Number of open cells of data tables.
    open_cells: usize,
}

impl Visit for Writer {
    fn text(&mut self, text: &str) {
        let text = sanitize(text);
        let text = if self.raised > 0 { superscript(&text).into() } else { text };
        if self.preformatted > 0 && !self.in_cell() {
            for (i, line) in text.split('\n').enumerate() {
                if i > 0 {
                    self.breaks += 1;
                    self.blank.clear();
                }
                let (written, blank) = line.split_at(line.trim_end().len());
                if !written.is_empty() {
                    self.flush();
                    self.out.push_str(&std::mem::take(&mut self.blank));
                    self.out.push_str(written);
                }
                self.blank.push_str(blank);
            }
            return;
        }
        if self.outside_cells() && text.trim().is_empty() {
            return;
        }
        self.space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.flush();
            self.out.push_str(word);
            self.space = true;
        }
        if !text.trim().is_empty() {
            self.space = text.ends_with(char::is_whitespace);
        }
    }

    fn open(&mut self, element: &Element) -> bool {
        let name = element.name();
        if name == "head" {
            return false;
        }
        self.break_lines(breaks_around(name, self.lists.len()));
        if is_code(element) {
            self.code.push(language(element));
        }
        match name {
            "br" => self.break_line(),
            "img" => {
                if let Some(alt) = element.attr("alt").map(collapse).filter(|alt| !alt.is_empty()) {
                    self.text(&format!(" [{alt}] "));
                }
            }
            "math" => {
                if let Some(formula) = element.attr("alttext") {
                    self.text(formula);
                    return false;
                }
            }
            "pre" => {
                self.preformatted += 1;
                let named = |language: &&String| *language != TEXT;
                if let Some(language) = self.code.iter().rev().find(named).or(self.code.last()).cloned() {
                    self.open_fence(&language);
                }
            }
            "code" if self.preformatted > 0 => self.open_fence(&language(element)),
            "sup" => self.raised += 1,
            // A lowered number is not part of the number before it.
            "sub" if self.out.ends_with(|c: char| c.is_ascii_digit()) && !self.space && self.breaks == 0 => {
                self.out.push('_');
            }
            "ul" | "menu" => self.lists.push(None),
            "ol" => {
                let start = element.attr("start").and_then(|start| start.parse::<usize>().ok()).unwrap_or(1);
                self.lists.push(Some(start.saturating_sub(1)));
            }
            "li" => self.open_item(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if !self.in_cell() => {
                let level = name.as_bytes()[1] - b'0';
                self.mark = Some("#".repeat(usize::from(level)) + " ");
                self.heading = Some((level, None));
            }
            "table" => {
                let layout =
                    self.in_cell() || self.layout_tables.get(self.tables_seen).copied().unwrap_or(true);
                self.tables_seen += 1;
                self.tables.push((!layout).then(Table::default));
            }
            "td" | "th" => {
                let start = self.out.len();
                if let Some(Some(table)) = self.tables.last_mut() {
                    self.open_cells += usize::from(table.cell.is_none());
                    table.cell = Some(start);
                    (self.breaks, self.space, self.mark) = (0, false, None);
                }
            }
            _ => {}
        }
        true
    }

    fn close(&mut self, element: &Element) {
        let name = element.name();
        match name {
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.blank.clear();
                if self.preformatted == 0 && std::mem::take(&mut self.fenced) {
                    self.breaks = self.breaks.max(1);
                    self.flush();
                    self.out.push_str("```");
                }
            }
            "ul" | "ol" | "menu" => {
                self.lists.pop();
            }
            "li" => self.mark = None,
            "sup" => self.raised = self.raised.saturating_sub(1),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.close_heading(),
            "td" | "th" => self.close_cell(element),
            "tr" => self.close_row(),
            "table" => {
                let closed = self.tables.pop().flatten();
                self.open_cells -= usize::from(closed.is_some_and(|table| table.cell.is_some()));
            }
            _ => {}
        }
        if is_code(element) {
            self.code.pop();
        }
        self.break_lines(breaks_around(name, self.lists.len()));
    }
}

impl Writer {
    /// Writes the first line of a code block, unless the text is not a block of its own or the line is already there.
    fn open_fence(&mut self, language: &str) {
        if self.fenced || self.in_cell() || self.heading.is_some() {
            return;
        }
        self.fenced = true;
        self.break_lines(1);
        self.flush();
        self.out.push_str("```");
        self.out.push_str(language);
        self.breaks = 1;
    }

    fn in_cell(&self) -> bool {
        self.open_cells > 0
    }

    /// True between the cells of a data table, where only white space is valid.
    fn outside_cells(&self) -> bool {
        matches!(self.tables.last(), Some(Some(table)) if table.cell.is_none())
    }

    /// Starts a new line, with a blank line before it if `breaks` is 2. Inside cells and headings, writes only a space.
    fn break_lines(&mut self, breaks: usize) {
        let inline = self.in_cell() || self.heading.is_some();
        self.space |= inline && breaks > 0;
        if !inline {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn break_line(&mut self) {
        if self.in_cell() || self.heading.is_some() {
            self.space = true;
        } else {
            self.breaks = (self.breaks + 1).min(2);
        }
    }

    /// Writes everything that is pending before text.
    fn flush(&mut self) {
        let in_cell = self.in_cell();
        if self.out.is_empty() {
            (self.breaks, self.space) = (0, false);
        }
        if self.breaks > 0 && !in_cell {
            let kept = self.out.trim_end_matches(' ').len();
            self.out.truncate(kept);
            self.out.extend(std::iter::repeat_n('\n', self.breaks));
            self.space = false;
        }
        self.breaks = 0;
        if let Some((_, start @ None)) = &mut self.heading {
            *start = Some(self.out.len());
            self.space = false;
        }
        if let Some(mark) = self.mark.take() {
            self.out.push_str(&mark);
            self.space = false;
        }
        if self.space {
            self.out.push(' ');
            self.space = false;
        }
    }

    fn open_item(&mut self) {
        if self.in_cell() {
            return;
        }
        let depth = self.lists.len().saturating_sub(1).min(8);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.mark = Some("  ".repeat(depth) + &mark);
    }

    fn close_heading(&mut self) {
        self.mark = None;
        if let Some((level, Some(offset))) = self.heading.take() {
            let title = collapse(self.out[offset..].trim_start_matches('#'));
            if !title.is_empty() {
                self.body.push_heading(Heading { offset, level, title });
            }
        }
        self.heading = None;
    }

    fn close_cell(&mut self, element: &Element) {
        let Some(Some(table)) = self.tables.last_mut() else { return };
        let Some(start) = table.cell.take() else { return };
        self.open_cells -= 1;
        let text = self.out.split_off(start.min(self.out.len())).trim().to_owned();
        self.space = false;
        let span = |name: &str| {
            element.attr(name).and_then(|n| n.trim().parse::<usize>().ok()).unwrap_or(1).clamp(1, MAX_SPAN)
        };
        let (columns, rows) = (span("colspan"), span("rowspan"));
        table.push(Cell::new(text, columns, rows, element.name() == "th"));
    }

    fn close_row(&mut self) {
        let Some(Some(table)) = self.tables.last_mut() else { return };
        let Some(line) = table.close_row(self.out.len() < self.max_bytes) else { return };
        self.breaks = self.breaks.max(1);
        self.flush();
        self.out.push_str(&line);
        self.breaks = 1;
    }
}

/// Returns the number of line ends before and after an element; 2 leave a blank line.
fn breaks_around(name: &str, list_depth: usize) -> usize {
    match name {
        "ul" | "ol" | "menu" if list_depth > 0 => 1,
        "p" if list_depth > 0 => 1,
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "table" | "ul" | "ol" | "menu" | "dl"
        | "blockquote" | "figure" | "section" | "article" | "main" | "header" | "footer" | "aside" | "hr"
        | "details" => 2,
        "div" | "li" | "dt" | "dd" | "tr" | "caption" | "figcaption" | "address" | "form" | "fieldset"
        | "legend" | "summary" | "center" | "body" | "button" => 1,
        _ => 0,
    }
}

/// True if the class of an element says that preformatted text in it is code: in pages by Sphinx, GitHub, Docutils and DocBook.
fn is_code(element: &Element) -> bool {
    let names_code = |class: &str| {
        matches!(class, "highlight" | "literal-block" | "programlisting" | "screen")
            || class.starts_with(HIGHLIGHT)
    };
    matches!(element.name(), "div" | "pre")
        && element.attr("class").unwrap_or_default().split_whitespace().any(names_code)
}

/// Returns the language that the class of a code block names, as in `language-rust` and `highlight-rust`.
fn language(code: &Element) -> String {
    let mut classes = code.attr("class").unwrap_or_default().split_whitespace();
    let prefixes = ["language-", "lang-", "highlight-source-", HIGHLIGHT];
    let named = classes.find_map(|class| prefixes.iter().find_map(|prefix| class.strip_prefix(prefix)));
    let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '-' | '#' | '_');
    let language: String = named.unwrap_or_default().chars().take_while(is_part).collect();
    if matches!(language.as_str(), "" | "default" | "none") { TEXT.to_owned() } else { language }
}

fn collapse(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_html(source: &str, expected: &str) {
        assert_eq!(check_limits(source).text, expected);
    }

    fn check_limits(source: &str) -> Body {
        parse(source, &ParseLimits { max_bytes: 10_000, ..ParseLimits::default() })
    }

    #[test]
    fn blocks_become_paragraphs_and_scripts_are_removed() {
        check_html(
            "<head><title>T</title><style>x</style></head><h1>Ra<b>di</b>um</h1><p>Found\n by  <a href=x>Curie</a>.<p>Two<br>lines<script>x</script>",
            "# Radium\n\nFound by Curie.\n\nTwo\nlines\n",
        );
        check_html("<pre>a\n  b\n</pre><div>c</div>", "a\n  b\n\nc\n");
    }

    #[track_caller]
    fn check_page(source: &str, expected: &str) {
        assert_eq!(parse_page(source.into(), &ParseLimits::default()).text, expected);
    }

    #[test]
    fn a_page_is_read_by_its_main_content() {
        check_page(
            "<title>Duck - Encyclopedia</title><body><a class=mw-jump-link href=#c>Jump to content</a>\
             <header><div>Search</div></header><nav>Main page</nav>\
             <main id=content><header><h1>Duck</h1><div class='mw-portlet x'><label>136 languages</label><ul><li>Deutsch</ul></div></header>\
             <p>Ducks swim.<sup class=reference>[1]</sup> They fly.</p><aside>A note.</aside>\
             <div id=toc>Contents</div><footer>Retrieved</footer></main>\
             <aside>Advertisement</aside><footer>Privacy</footer>",
            "# Duck\n\nDucks swim. They fly.\n\nA note.\n",
        );
    }

    #[test]
    fn a_sidebar_is_dropped_if_it_consists_of_links() {
        check_page(
            "<div class=sidebar><a href=/>Home</a> <a href=/blog>Blog</a></div><p>The mill was built in 1931.\
             <div class=sidebar><p><b>Origin of the name</b><p>It is named after <a href=/o>the owner's</a> two daughters.</div>\
             <p>It burnt down.<ul class=docnav><li><a href=/2>Next: The bridge</a></ul>",
            "The mill was built in 1931.\n\nOrigin of the name\n\nIt is named after the owner's two daughters.\n\nIt burnt down.\n",
        );
        check_page(
            "<div role=main><p>Text.<aside class=note>A note in it.</aside></div><aside>Advertisement</aside>",
            "Text.\n\nA note in it.\n",
        );
        let nested = "<div class=nav>".repeat(100_000) + "deep";
        assert_eq!(parse_page(nested.into(), &ParseLimits::default()).text, "deep\n");
    }

    #[test]
    fn the_title_of_a_page_can_be_outside_its_main_content() {
        check_page(
            "<header><h1>The mill</h1><ul><li><a href=/>Home</a></ul></header><article><p>It was built in 1931.</article><p>More posts",
            "# The mill\n\nIt was built in 1931.\n",
        );
    }

    #[test]
    fn a_page_without_main_content_is_read_completely() {
        check_page(
            "<div class=navbar>Home</div><p>First.<p>Second.<aside>Buy</aside><footer>Imprint</footer>",
            "First.\n\nSecond.\n",
        );
        let long = "<p>This paragraph stands outside of what the page calls its main content.".repeat(3);
        let body = parse_page(format!("<main>Few.</main>{long}").into(), &ParseLimits::default());
        assert!(body.text.contains("Few.") && body.text.contains("stands outside"));
        check_page("<header>Only a header</header>", "Only a header\n");
        check_page("<article>One.</article><article>Two.</article>", "One.\n\nTwo.\n");
    }

    #[test]
    fn a_button_that_is_a_title_is_read() {
        check_html(
            "<h2><button>How long?</button></h2><p>Nine days.<dl><dt><button>By whom?</button><dd hidden>By Nordfrakt.</dl>\
             <button class=accordion>How dear?</button><div>Five euros.</div><h3>Returns <button>Copy</button></h3><p>Free.\
             <button>Send</button>",
            "## How long?\n\nNine days.\n\nBy whom?\nBy Nordfrakt.\n\nHow dear?\nFive euros.\n\n### Returns\n\nFree.\n",
        );
    }

    #[test]
    fn hidden_text_is_read_if_a_control_opens_it() {
        check_html(
            "<div role=tabpanel hidden>400 volts.</div><div hidden=until-found>14 days.</div>\
             <a data-bs-target='#more'>More</a><p id=more hidden>It floats.<p hidden>A draft.",
            "400 volts.\n14 days.\nMore\n\nIt floats.\n",
        );
        check_html(
            "<p>Pipes.</p><button aria-controls='a b'>Menu</button><ul id=a hidden><li>Home</ul><div id=b role=dialog hidden>Log in</div>",
            "Pipes.\n",
        );
        check_page(
            "<p>Pipes.</p><button aria-expanded=false aria-controls=m>Menu</button><div id=m hidden><a href=/>Home</a></div>",
            "Pipes.\n\nMenu\n",
        );
    }

    #[test]
    fn raised_and_lowered_numbers_do_not_join_the_number_before() {
        check_html(
            "<p>10<sup>5</sup> Pa, 25 million<sup><a href=#3>3</a></sup> kroner, 1<sup>st</sup>, H<sub>2</sub>O, 101<sub>2</sub>.",
            "10⁵ Pa, 25 million³ kroner, 1st, H2O, 101_2.\n",
        );
    }

    #[test]
    fn boxes_that_ask_for_consent_are_dropped_and_articles_about_cookies_are_not() {
        let page = "<p>The bridge was opened on Friday.";
        for named in
            ["id=onetrust-consent-sdk", "class='x cc-window'", "id=cookieBanner", "class=gdpr-notice"]
        {
            check_page(
                &format!("<div {named}><div>We use cookies.</div></div>{page}"),
                "The bridge was opened on Friday.\n",
            );
        }
        for kept in ["<article class=cookie-banner>", "<main><div class=cookie-notice>", "<div id=cookies>"] {
            check_page(&format!("{kept}They are baked.</div>"), "They are baked.\n");
        }
        let long = format!("<div class=cookie-message>{}</div>", "They are baked. ".repeat(300));
        assert!(parse_page((long + page).into(), &ParseLimits::default()).text.contains("baked"));
    }

    #[test]
    fn code_is_put_between_fences() {
        check_html(
            "<p>Call:<pre><code class='hljs language-rust'>let a = 1;\n  b();\n</code></pre><p>Done",
            "Call:\n\n```rust\nlet a = 1;\n  b();\n```\n\nDone\n",
        );
    }

    #[test]
    fn headings_and_title_are_found() {
        let body = check_limits("<title> The\n page</title><p>x</p><h2>Early <i>life</i></h2><h1></h1>");
        assert_eq!(body.title.as_deref(), Some("The page"));
        assert_eq!(body.headings, [Heading { offset: 3, level: 2, title: "Early life".to_owned() }]);
        assert!(body.text[3..].starts_with("## Early life"));
    }

    #[test]
    fn lists_keep_markers_and_depth() {
        check_html("<ul><li><p>a</p><ol><li>b<li>c</ol><li></li></ul>", "- a\n  1. b\n  2. c\n");
    }

    #[test]
    fn table_rows_name_their_columns() {
        check_html(
            "<table><tr><th>Name<th>Born<tr><td rowspan=2>Curie<td>1867<tr><td>Warsaw</table>",
            "Name | Born\nName: Curie | Born: 1867\nName: Curie | Born: Warsaw\n",
        );
        check_html(
            "<table><tr><th>Born<td>1867</tr><tr><th>Died<td>1934</table>",
            "Born: 1867\nDied: 1934\n",
        );
        check_html("<table><tr><td><table><tr><td>a<td>b</table><p>text</table>", "a | b\n\ntext\n");
    }

    #[test]
    fn a_spanning_cell_counts_in_every_row_and_column_it_covers() {
        check_html(
            "<table><tr><th rowspan=2>Account<th colspan=2>Effect<tr><th>Debit<th>Credit\
             <tr><td>Assets<td rowspan=2>up<td>down<tr><td>Expenses<td>none<tr><td>Income<td colspan=2>other</table>",
            "Account | Effect\nDebit | Credit\nAccount: Assets | Effect Debit: up | Effect Credit: down\n\
             Account: Expenses | Effect Debit: up | Effect Credit: none\nAccount: Income | Effect Debit, Effect Credit: other\n",
        );
    }

    #[test]
    fn white_space_between_the_parts_of_a_code_line_is_kept() {
        check_html(
            "<div class='highlight-sh notranslate'><div class=highlight><pre><span></span><span>dcut</span> <span>dm</span>  <span>-x</span>\n\
             <span>    </span><span>end</span> \n</pre></div></div><p>Done",
            "```sh\ndcut dm  -x\n    end\n```\n\nDone\n",
        );
        check_html("<pre class=screen>$ ls</pre><pre>A letter.</pre>", "```text\n$ ls\n```\n\nA letter.\n");
    }

    #[test]
    fn link_and_footnote_marks_are_not_text() {
        check_page(
            "<h1>Channels<a class=headerlink href=#c>\u{b6}</a></h1><p>These are the lines\
             <a class='footnote-reference brackets' href=#f>5</a> for <a class='reference internal' href=/u>unstable</a>.",
            "# Channels\n\nThese are the lines for unstable.\n",
        );
    }

    #[test]
    fn ruby_readings_are_removed() {
        check_html("<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を書く。", "漢字を書く。\n");
        check_html("<p><ruby>東<rt>とう<rb>京<rt>きょう</ruby>駅", "東京駅\n");
    }

    #[test]
    fn deep_nesting_is_read() {
        let source = "<div>".repeat(100_000) + "deep" + &"</div>".repeat(100_000) + "<p>after";
        check_html(&source, "deep\n\nafter\n");
        check_html(&("<b><i>".repeat(100_000) + "deep"), "deep\n");
    }
}
