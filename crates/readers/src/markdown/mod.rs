//! Reads Markdown into readable text. Every line stays on its line of the source.

mod markup;
mod unprinted;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::aligned::AlignedText;
use super::{Body, Heading, label};
use graphloom_text::sanitize;
use markup::{separator_of, without_tags};
use unprinted::without_unprinted;

/// Maximum indentation of a list.
const MAX_LIST_DEPTH: usize = 8;
/// The language for code without one. An opening fence always has a word after it, which distinguishes it from a closing fence.
const NO_LANGUAGE: &str = "text";

/// Returns the words of Markdown, each on its line of the source, with headings. The title is that of the
/// front matter, or else the first level 1 heading.
///
/// - Headings stay as `## Title`, list items as `- item`, and fenced code unchanged. Table rows name their
///   columns, `Item: Pipes | Cost: 12`. Lines of front matter stay, with values after a colon.
/// - Marks of emphasis, quotations and links, link targets, comments, tags, readings of ruby text, citations by key and
///   directives such as `{{#include ...}}` are removed.
pub(super) fn parse(source: &str) -> Body {
    let source = &without_unprinted(source);
    let mut writer = Writer::new(source);
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        writer.read(event, range);
    }
    let Writer { out, mut body, title, .. } = writer;
    let (text, lines_match_source) = out.finish();
    let title = title.or_else(|| body.headings.iter().find(|h| h.level == 1).map(|h| h.title.clone()));
    (body.text, body.title, body.lines_match_source) = (text, title, lines_match_source);
    body
}

/// True if a text whose name does not determine the format is Markdown: it has a heading with `#`, or front matter.
pub(super) fn looks_like(text: &str) -> bool {
    let mut events = Parser::new_ext(text, options()).into_offset_iter();
    let tells = |(event, range): (Event<'_>, std::ops::Range<usize>)| match event {
        Event::Start(Tag::Heading { .. }) => text[range].starts_with('#'),
        Event::Start(Tag::MetadataBlock(_)) => true,
        _ => false,
    };
    !text.starts_with("#!") && events.any(tells)
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_WIKILINKS
}

/// Writes the parser's events.
struct Writer<'a> {
    source: &'a str,
    out: AlignedText<'a>,
    /// The headings so far.
    body: Body,
    title: Option<String>,
    /// Open lists. Numbered lists have the number of the next item.
    lists: Vec<Option<u64>>,
    /// The mark of an item that has no words yet.
    mark: Option<String>,
    heading: Option<Heading>,
    code: Option<Code<'a>>,
    table: Option<Table>,
    /// The words of an open image.
    picture: Option<String>,
    /// Pieces of an HTML block, with their positions.
    html: Vec<(usize, String)>,
    /// The kind of the open front matter.
    front_matter: Option<MetadataBlockKind>,
    /// Whether the words are the reading of ruby text, as in `<ruby>漢字<rt>かんじ</rt></ruby>`.
    reading: bool,
}

/// An open code block.
struct Code<'a> {
    start: usize,
    /// `None` if the code is marked by indentation.
    language: Option<String>,
    lines: Vec<(usize, std::borrow::Cow<'a, str>)>,
}

/// An open table.
#[derive(Default)]
struct Table {
    header: Vec<String>,
    row: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            out: AlignedText::new(source),
            body: Body::default(),
            title: None,
            lists: Vec::new(),
            mark: None,
            heading: None,
            code: None,
            table: None,
            picture: None,
            html: Vec::new(),
            front_matter: None,
            reading: false,
        }
    }

    fn read(&mut self, event: Event<'a>, range: std::ops::Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.text(&text, range.start),
            Event::Code(code) => self.code_span(&format!("`{code}`"), range),
            Event::InlineMath(_) | Event::DisplayMath(_) => {
                let source = self.source;
                self.inline(&source[range.clone()], range.start);
            }
            Event::Html(html) => self.html.push((range.start, html.into_string())),
            Event::InlineHtml(tag) => {
                let tag = tag.to_ascii_lowercase();
                let name = tag.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '<' | '/'))).next();
                match name {
                    Some(name) if separator_of(name).is_some() => self.inline(" ", range.start),
                    Some("<rt" | "<rp") => self.reading = true,
                    Some("</rt" | "</rp" | "</ruby") => self.reading = false,
                    Some(_) | None => {}
                }
            }
            Event::SoftBreak | Event::HardBreak => match (&mut self.heading, &mut self.picture) {
                (_, Some(words)) => words.push(' '),
                (Some(heading), None) => heading.title.push(' '),
                (None, None) => {}
            },
            Event::TaskListMarker(done) => self.inline(if done { "[x] " } else { "[ ] " }, range.start),
            Event::FootnoteReference(_) | Event::Rule => {}
        }
    }

    fn start(&mut self, tag: Tag<'a>, start: usize) {
        match tag {
            Tag::Heading { level, .. } => {
                self.out.go_to(start);
                self.write_mark();
                self.heading = Some(Heading {
                    offset: self.out.text().len(),
                    level: level_of(level),
                    title: String::new(),
                });
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => Some(language(&info)),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some(Code { start, language, lines: Vec::new() });
            }
            Tag::List(first) => self.lists.push(first),
            Tag::Item => {
                let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(MAX_LIST_DEPTH));
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{indent}{}. ", *number - 1)
                    }
                    Some(None) | None => format!("{indent}- "),
                };
                self.mark = Some(mark);
            }
            Tag::Table(_) => self.table = Some(Table::default()),
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.row.push(String::new());
                }
            }
            Tag::Image { .. } => self.picture = Some(String::new()),
            Tag::MetadataBlock(kind) => self.front_matter = Some(kind),
            Tag::Paragraph
            | Tag::BlockQuote(_)
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::TableHead
            | Tag::TableRow
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. } => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: std::ops::Range<usize>) {
        match tag {
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::CodeBlock => self.end_code(&range),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => self.mark = None,
            TagEnd::Table => self.table = None,
            TagEnd::TableHead => self.end_row(range, true),
            TagEnd::TableRow => self.end_row(range, false),
            TagEnd::Image => self.end_picture(range.start),
            TagEnd::HtmlBlock => {
                let pieces = std::mem::take(&mut self.html);
                without_tags(&pieces, |start, words| self.inline(words, start));
            }
            TagEnd::MetadataBlock(_) => self.front_matter = None,
            // A reading that is never closed ends with its paragraph.
            TagEnd::Paragraph => self.reading = false,
            TagEnd::BlockQuote(_)
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link => {}
        }
    }

    fn text(&mut self, text: &str, start: usize) {
        if let Some(code) = &mut self.code {
            let mut at = start;
            for line in text.split_inclusive('\n') {
                code.lines.push((at, line.trim_end().to_owned().into()));
                at += line.len();
            }
            return;
        }
        if let Some(kind) = self.front_matter {
            let mut at = start;
            for line in text.split_inclusive('\n') {
                self.title = self.title.take().or_else(|| title_of(line));
                let bare = line.trim_end();
                self.out.new_line(at);
                self.out.push(&sanitize(&match kind {
                    MetadataBlockKind::YamlStyle => bare.into(),
                    MetadataBlockKind::PlusesStyle => toml_value(bare),
                }));
                at += line.len();
            }
            return;
        }
        self.inline(text, start);
    }

    /// Writes words that begin at byte `start` of the source. Line ends in them are line ends in the source,
    /// unless they are written as references.
    fn inline(&mut self, words: &str, start: usize) {
        let mut at = start;
        for (n, part) in words.split(['\n', '\r']).enumerate() {
            if n > 0 {
                self.words(" ", at.min(self.source.len()));
            }
            self.words(part, at.min(self.source.len()));
            at = self.source.ceil_char_boundary(at + part.len() + 1);
        }
    }

    /// Writes code between backticks, on the lines that it takes in the source.
    fn code_span(&mut self, code: &str, range: std::ops::Range<usize>) {
        let mut at = range.start;
        let pieces: Vec<(usize, &str)> = self.source[range.clone()]
            .split('\n')
            .map(|line| {
                let bare = line.trim_start_matches([' ', '\t', '>']);
                let piece = (at + line.len() - bare.len(), bare.trim_end());
                at += line.len() + 1;
                piece
            })
            .collect();
        let words = pieces.iter().flat_map(|(_, piece)| piece.split_whitespace());
        if pieces.len() == 1 || !words.eq(code.split_whitespace()) {
            return self.inline(code, range.start);
        }
        for (n, (at, piece)) in pieces.into_iter().enumerate() {
            if n > 0 {
                self.words(" ", at);
            }
            self.words(piece, at);
        }
    }

    fn words(&mut self, words: &str, start: usize) {
        let words = sanitize(words);
        if self.reading {
            return;
        }
        if let Some(picture) = &mut self.picture {
            return picture.push_str(&words);
        }
        if let Some(cell) = self.table.as_mut().and_then(|table| table.row.last_mut()) {
            return cell.push_str(&words);
        }
        if words.is_empty() {
            return;
        }
        let line = self.out.line();
        self.out.go_to(start);
        let words =
            if self.out.line() > line || self.out.at_line_start() { words.trim_start() } else { &words };
        if words.is_empty() {
            return;
        }
        self.write_mark();
        if let Some(heading) = &mut self.heading {
            if heading.title.is_empty() {
                heading.offset = self.out.text().len();
                self.out.push(&"#".repeat(usize::from(heading.level)));
                self.out.push(" ");
            }
            heading.title.push_str(words);
        }
        self.out.push(words);
    }

    fn write_mark(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.out.push(&mark);
        }
    }

    fn end_heading(&mut self) {
        if let Some(mut heading) = self.heading.take() {
            self.out.trim_line();
            heading.title = heading.title.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
            if !heading.title.is_empty() {
                self.body.push_heading(heading);
            }
        }
    }

    fn end_row(&mut self, range: std::ops::Range<usize>, is_header: bool) {
        let Some(table) = &mut self.table else { return };
        let mut row: Vec<String> = std::mem::take(&mut table.row)
            .iter()
            .map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        if is_header {
            table.header = row.iter().map(|cell| label(cell)).collect();
        } else {
            let further = cells(&self.source[range.clone()]).skip(table.header.len());
            row.extend(
                further.map(|cell| parse(cell.trim()).text.split_whitespace().collect::<Vec<_>>().join(" ")),
            );
        }
        let cells = row.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(column, cell)| match table.header.get(column) {
            Some(name) if !is_header && !name.is_empty() && name != cell => format!("{name}: {cell}"),
            Some(_) | None => cell.clone(),
        });
        let line = cells.collect::<Vec<_>>().join(" | ");
        if !line.is_empty() {
            self.out.go_to(range.start);
            self.write_mark();
            self.out.push(&line);
        }
    }

    /// Writes the description of an image in brackets; nothing if it is a single ASCII word, such as a file name.
    fn end_picture(&mut self, start: usize) {
        let words = self.picture.take().unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.contains(' ') || !words.is_ascii() {
            self.inline(&format!("[{words}]"), start);
        }
    }

    /// Writes code between fences. For indented code, the fences are written on the blank lines around it;
    /// without such lines it stays as it is.
    fn end_code(&mut self, range: &std::ops::Range<usize>) {
        let Some(Code { start, language, mut lines }) = self.code.take() else { return };
        lines.retain(|(_, line)| !is_directive(line));
        let (Some(first), Some(last)) = (
            lines.iter().position(|(_, line)| !line.is_empty()),
            lines.iter().rposition(|(_, line)| !line.is_empty()),
        ) else {
            return;
        };
        // A fence is on a line of its own.
        self.mark = None;
        let fenced = language.is_some();
        let fence = format!("```{}", language.as_deref().unwrap_or(NO_LANGUAGE));
        let top = if fenced { Some(start) } else { self.blank_line_before(lines[first].0) };
        let bottom = self.source[lines[last].0..].find('\n').map(|at| lines[last].0 + at + 1);
        let is_blank = |at: usize| self.source[at..].lines().next().is_none_or(|line| line.trim().is_empty());
        let has_room = top.is_some() && (fenced || bottom.is_none_or(is_blank));
        if let Some(top) = top.filter(|_| has_room) {
            self.out.new_line(top);
            self.out.push(&fence);
        }
        for (at, line) in &lines {
            self.out.new_line(*at);
            self.out.push(&sanitize(line));
        }
        if has_room {
            self.out.go_to(range.end.saturating_sub(1).max(lines[last].0));
            if !self.out.at_line_start() {
                self.out.end_line();
            }
            self.out.push("```");
        }
    }

    /// Returns the start of the line before byte `at`, if that line is blank and nothing is written there.
    fn blank_line_before(&mut self, at: usize) -> Option<usize> {
        let line = self.source[..at].rfind('\n')?;
        let before = self.source[..line].rfind('\n').map_or(0, |at| at + 1);
        let blank = self.out.line_at(at).saturating_sub(1);
        let is_free = self.out.line() < blank || self.out.line() == blank && self.out.at_line_start();
        (self.source[before..line].trim().is_empty() && is_free).then_some(before)
    }
}

fn level_of(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the language that an opening fence names.
fn language(info: &str) -> String {
    let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.');
    let language: String = info.trim_start().chars().take_while(is_part).collect();
    if language.is_empty() { NO_LANGUAGE.to_owned() } else { language }
}

/// True if a line of code includes another file, as in mdBook.
fn is_directive(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("{{#") && line.ends_with("}}")
}

/// Returns a line of TOML with its value after a colon: `tags: a` for `tags = "a"`.
fn toml_value(line: &str) -> std::borrow::Cow<'_, str> {
    match line.split_once('=').filter(|(name, _)| !name.contains('"')) {
        Some((name, value)) => format!("{}: {}", name.trim_end(), value.trim().trim_matches('"')).into(),
        None => line.into(),
    }
}

/// Returns the title in a line of front matter.
fn title_of(line: &str) -> Option<String> {
    let value = line.strip_prefix("title")?.trim_start().strip_prefix([':', '='])?;
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the cells of a row as written. The parser drops cells beyond the columns of the header.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(row);
    let mut escaped = false;
    row.split(move |c: char| {
        let divides = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        divides
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks that every line of a document is the expected one.
    #[track_caller]
    fn check_markdown(source: &str, expected: &str) -> Body {
        let body = parse(source);
        assert_eq!(body.text.trim_end_matches('\n'), expected.trim_end_matches('\n'));
        assert!(body.lines_match_source);
        body
    }

    #[track_caller]
    fn check_headings(source: &str, expected: &[(usize, u8, &str)]) {
        let body = parse(source);
        let found: Vec<_> = body.headings.iter().map(|h| (h.offset, h.level, h.title.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn code_keeps_its_lines() {
        let source = "It is `git\n  push --force`. See\n> `a` and `b\n> c`.\n";
        check_markdown(source, "It is `git\npush --force`. See\n`a` and `b\nc`.");
    }

    #[test]
    fn atx_and_setext_headings_are_found() {
        check_headings(
            "# One #\ntext\n\nTwo\n---\n### [Three](x) `code` {#id}\n",
            &[(0, 1, "One"), (12, 2, "Two"), (20, 3, "Three code")],
        );
        check_headings("Title\n=====\n", &[(0, 1, "Title")]);
    }

    #[test]
    fn code_rules_and_hash_tags_are_not_headings() {
        check_headings("```sh\n# comment\n```\n~~~\n## x\n", &[]);
        check_headings("#tag\n\n####### seven\n\n    # indented code\n", &[]);
        check_headings("- item\n---\n", &[]);
    }

    #[test]
    fn the_front_matter_gives_the_title_and_its_lines_stay() {
        let body = check_markdown(
            "---\ntitle: \"Radium\"\ntags: x\n---\n# Other\n",
            "\ntitle: \"Radium\"\ntags: x\n\n# Other",
        );
        assert_eq!((body.title.as_deref(), body.headings.len()), (Some("Radium"), 1));
        check_markdown(
            "+++\ntitle = \"Radium\"\ntags=[\"x\"]\n[extra]\n+++\nIt glows.\n",
            "\ntitle: Radium\ntags: [\"x\"]\n[extra]\n\nIt glows.",
        );
        assert_eq!(parse("text\n# First\n").title.as_deref(), Some("First"));
    }

    #[test]
    fn emphasis_quotation_and_link_marks_are_removed_and_lines_stay() {
        check_markdown(
            "_Ownership_ is a set of **rules** ~~that~~\n*govern* [how](x.md \"t\") a_b `p_q` works\\_.\n\n> quoted\n> [text][1] <https://a.example>\nand on\n\n[1]: https://b.example\nEnd &amp; done.",
            "Ownership is a set of rules that\ngovern how a_b `p_q` works_.\n\nquoted\ntext https://a.example\nand on\n\n\nEnd & done.",
        );
    }

    #[test]
    fn notes_and_links_in_brackets_leave_no_target() {
        check_markdown(
            "The Mallard is a duck.[[9]](#cite_note-Carboneras540-9) It [[eats]](https://a.example/Foo_bar) [[Grass]].",
            "The Mallard is a duck. It eats Grass.",
        );
    }

    #[test]
    fn an_emphasized_term_is_an_entity_and_markup_is_not() {
        let body = parse(
            "_Ownership_ is a set of rules. See [`Vec`][vec].\n<!-- Media -->\n```rust\nlet Spring = Town;\n```\n\n[vec]: https://a.example/Std",
        );
        let names: Vec<String> =
            graphloom_offline::extract(&body.text).entities.into_iter().map(|entity| entity.name).collect();
        assert!(names.contains(&"Ownership".to_owned()), "{names:?}");
        assert!(
            !names.iter().any(|name| ["Media", "Spring", "Town", "Std"].contains(&name.as_str())),
            "{names:?}"
        );
    }

    #[test]
    fn lists_keep_their_markers() {
        check_markdown(
            "- one\n  goes on\n  1. inner\n  2. next\n- [x] done\n\n  more\n",
            "- one\ngoes on\n  1. inner\n  2. next\n- [x] done\n\nmore",
        );
    }

    #[test]
    fn comments_tags_directives_and_definitions_leave_blank_lines() {
        check_markdown(
            "{{#include a.rs:here}}\n\n<!-- a\ncomment -->\n<Listing number=\"4-1\" caption=\"x\">\n\n```rust\n{{#rustdoc_include a.rs:here}}\n```\n\n</Listing>\n\nText <!-- x --> with <b>bold</b><br>words.[^1]\n\n[^1]: A note.\n\n[x]: http://a.example\n\n<p align=\"center\">Words\n<!-- no --> &amp; more</p>",
            "\n\n\n\n\n\n\n\n\n\n\n\nText  with bold words.\n\nA note.\n\n\n\nWords\n& more",
        );
    }

    #[test]
    fn ruby_readings_are_removed() {
        check_markdown(
            "<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を<ruby>書<rt>か</ruby>く。\n\n<p><ruby>東京<rt>とうきょう</rt></ruby>駅</p>",
            "漢字を書く。\n\n東京駅",
        );
    }

    #[test]
    fn text_that_a_page_does_not_show_is_dropped() {
        check_markdown(
            "# Pipes {{ page.x }}\n{% include toc.md %}\nThey leak [@ada1843].\n\n| A {{ x }} |\n|---|\n| b [@c] |\n\nSee [how]({{< ref \"x y\" >}}) and `{{ x }}`.",
            "# Pipes\n\nThey leak.\n\nA\n\nA: b\n\nSee how and `{{ x }}`.",
        );
    }

    #[test]
    fn a_comment_that_never_ends_hides_no_text() {
        check_markdown("One.\n\n<!-- forgotten\n\nTwo.", "One.\n\nforgotten\n\nTwo.");
    }

    #[test]
    fn code_stays_between_fences_and_keeps_its_place() {
        check_markdown(
            "Call:\n~~~\nlet a = *b;\n\n~~~\n\n    indented _code_\n\nEnd.\n",
            "Call:\n```text\nlet a = *b;\n\n```\n```text\nindented _code_\n```\nEnd.",
        );
        let body = parse("Call:\n```rust,ignore\nlet A = B;\n```\nDone.");
        assert_eq!(body.text, "Call:\n```rust\nlet A = B;\n```\nDone.\n");
        let sentences: Vec<&str> =
            graphloom_text::sentences(&body.text).into_iter().map(|range| &body.text[range]).collect();
        assert_eq!(sentences, ["Call:", "Done."]);
    }

    #[test]
    fn rows_of_tables_name_their_columns() {
        check_markdown(
            "| Item | *Cost* |\n|---|--:|\n| Pipes<br>old | 12 |\n| Valves | |\n\nEnd",
            "Item | Cost\n\nItem: Pipes old | Cost: 12\nItem: Valves\n\nEnd",
        );
    }

    #[test]
    fn cells_beyond_the_header_are_kept() {
        check_markdown(
            "| Item | Cost |\n|---|---|\n| Pipes | 12 | *old* | a \\| b |\n| Valves |\n",
            "Item | Cost\n\nItem: Pipes | Cost: 12 | old | a | b\nItem: Valves",
        );
    }

    #[test]
    fn images_become_their_alternative_text_or_nothing() {
        check_markdown(
            "![Ferris the *crab*](a.png) ![image](b.png) ![](c.png) ![d.png](d.png)\n\nEnd",
            "[Ferris the crab]\n\nEnd",
        );
    }

    #[test]
    fn formulas_and_prices_are_verbatim() {
        check_markdown(
            "From $5 to $6, $a_1 * b_1$ and\n$$\nx_1\n$$",
            "From $5 to $6, $a_1 * b_1$ and\n$$\nx_1\n$$",
        );
    }

    proptest! {
        #[test]
        fn no_markdown_gets_more_lines(text in "(word[a-z]|[ _*>\n-]|\n\n|# |> |- |1\\. |`|\\| |<b>|\\[x\\]\\(y\\)){0,40}") {
            let body = parse(&text);
            // Code that is never closed gets an end fence.
            prop_assert!(!body.lines_match_source || body.text.lines().count() <= text.lines().count().max(1) + 1);
        }
    }
}
