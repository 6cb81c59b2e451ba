//! Reads OpenDocument texts, spreadsheets and presentations.

use std::collections::BTreeMap;

use graphloom_core::{Format, Part};

use super::archive::Archive;
use super::draft::Draft;
use super::numerals::Numerals;
use super::rows::Rows;
use super::xml_events::{Element, Node, Nodes};
use super::{Body, MAX_COLUMNS, ParseError, ParseLimits, columns_left_out};

/// Maximum copies that are written of a row with a repeat count.
const MAX_REPEATED_ROWS: usize = 1000;
/// Maximum characters before and after the numbers of list items.
const MAX_MARK_CHARS: usize = 20;
/// Maximum spaces that one element may stand for.
const MAX_BLANKS: usize = 100;

/// Returns the document's text without recorded deletions. Sheets and slides are its parts. Pages are those
/// of the last layout, if the document contains them.
pub(super) fn parse(bytes: &[u8], format: Format, limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut archive = Archive::open(bytes, format, limits)?;
    if archive.text("META-INF/manifest.xml")?.is_some_and(|xml| xml.contains("encryption-data")) {
        return Err(ParseError::Encrypted { format });
    }
    let content = archive.required("content.xml")?;
    let mut draft = Draft::new(limits.max_bytes);
    if let Some(xml) = archive.text("meta.xml")? {
        draft.title(&super::xml::text_of_first(&xml, "title", format, limits)?);
    }
    let mut levels = list_levels(&content, "automatic-styles", format, limits)?;
    if let Some(xml) = archive.text("styles.xml")? {
        levels.extend(list_levels(&xml, "styles", format, limits)?);
    }
    let mut reader = Reader { draft, list_levels: levels, ..Reader::default_of(format) };
    if content.contains("soft-page-break") && format == Format::Odt {
        reader.page = Some(1);
        reader.draft.part(Part::Page(1));
    }
    reader.read(&content, limits)?;
    reader.draft.finish()
}

/// A paragraph that is being read.
struct Paragraph {
    text: String,
    /// The level of a heading.
    level: Option<u8>,
    /// Whether it is the text of a note. A note is inside the paragraph that it refers to.
    is_note: bool,
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    rows: Rows,
    row: Vec<String>,
    cell: String,
    /// Number of columns that the open cell fills.
    columns: usize,
    /// Number of rows that the open row stands for.
    repeats: usize,
}

/// A list that is being read.
struct List {
    style: String,
    /// The number of the last item; `None` before the first one.
    number: Option<u32>,
    /// The number of the next item, if it does not follow the last one.
    next: Option<u32>,
}

/// A numbered level of a list style.
struct Level {
    numerals: Numerals,
    before: String,
    after: String,
    start: u32,
    /// Number of levels whose numbers are shown.
    shown: usize,
}

struct Reader {
    draft: Draft,
    format: Format,
    paragraphs: Vec<Paragraph>,
    /// The numbered levels of each list style.
    list_levels: BTreeMap<(String, usize), Level>,
    /// Open lists, outermost first.
    lists: Vec<List>,
    /// The number of the last item on each level of each list style, for lists that continue another.
    counted: BTreeMap<(String, usize), u32>,
    /// Whether the open list item has no text yet.
    item_due: bool,
    tables: Vec<Table>,
    parts: u32,
    page: Option<u32>,
    page_due: bool,
    in_notes: bool,
    notes_labelled: bool,
    in_title: bool,
}

impl Reader {
    fn default_of(format: Format) -> Self {
        Self {
            draft: Draft::default(),
            format,
            paragraphs: Vec::new(),
            list_levels: BTreeMap::new(),
            lists: Vec::new(),
            counted: BTreeMap::new(),
            item_due: false,
            tables: Vec::new(),
            parts: 0,
            page: None,
            page_due: false,
            in_notes: false,
            notes_labelled: false,
            in_title: false,
        }
    }

    fn read(&mut self, xml: &str, limits: &ParseLimits) -> Result<(), ParseError> {
        let mut nodes = Nodes::new(xml, self.format, limits.max_depth);
        while let Some(node) = nodes.next()? {
            match node {
                Node::Open(element) => {
                    let name = element.name();
                    let is_skipped = matches!(
                        name.as_str(),
                        "tracked-changes"
                            | "automatic-styles"
                            | "font-face-decls"
                            | "scripts"
                            | "note-citation"
                            // The reading repeats its base.
                            | "ruby-text"
                    ) || matches!(name.as_str(), "creator" | "date")
                        && !self.paragraphs.is_empty();
                    if is_skipped {
                        nodes.skip()?;
                        continue;
                    }
                    self.open(&name, &element, limits)?;
                }
                Node::Close(name) => self.close(&name),
                Node::Text(text) => self.write(&text),
            }
            if self.draft.is_full() {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn open(&mut self, name: &str, element: &Element<'_>, limits: &ParseLimits) -> Result<(), ParseError> {
        let number = |name: &str| element.attr(name).and_then(|number| number.parse::<usize>().ok());
        match name {
            "p" | "h" => {
                let level = (name == "h").then(|| number("outline-level").unwrap_or(1).clamp(1, 9) as u8);
                let is_note = self.paragraphs.last().is_some();
                self.paragraphs.push(Paragraph { text: String::new(), level, is_note });
            }
            "tab" => self.write("\t"),
            "line-break" => self.write("\n"),
            "s" => self.write(&" ".repeat(number("c").unwrap_or(1).min(MAX_BLANKS))),
            "soft-page-break" => self.break_page(),
            "list" => self.open_list(element),
            "list-item" => {
                self.item_due = true;
                if let (Some(list), Some(start)) = (self.lists.last_mut(), element.attr("start-value")) {
                    list.next = start.parse().ok();
                }
            }
            "table" => {
                if self.format == Format::Ods {
                    self.parts += 1;
                    limits.check_parts("sheets", self.parts as usize)?;
                    let sheet = element.attr("name").unwrap_or_else(|| format!("{}", self.parts));
                    self.draft.part(Part::Sheet(sheet));
                }
                self.tables.push(Table::default());
            }
            "table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.repeats = number("number-rows-repeated").unwrap_or(1).clamp(1, MAX_REPEATED_ROWS);
                }
            }
            "table-cell" | "covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    table.columns = number("number-columns-repeated").unwrap_or(1).clamp(1, MAX_COLUMNS);
                }
            }
            "page" if self.format == Format::Odp => {
                self.parts += 1;
                limits.check_parts("slides", self.parts as usize)?;
                self.draft.part(Part::Slide(self.parts));
            }
            "notes" => (self.in_notes, self.notes_labelled) = (true, false),
            "frame" => self.in_title = element.attr("class").as_deref() == Some("title"),
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "h" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.put(paragraph);
                }
            }
            "list" => {
                let depth = self.lists.len().saturating_sub(1);
                if let Some(List { style, number: Some(number), .. }) = self.lists.pop() {
                    self.counted.insert((style, depth), number);
                }
            }
            "table-cell" | "covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    let cell = std::mem::take(&mut table.cell);
                    let room = MAX_COLUMNS.saturating_sub(table.row.len());
                    if table.columns > room && !cell.is_empty() {
                        self.draft.remark(columns_left_out());
                    }
                    table.row.extend(std::iter::repeat_n(cell, table.columns.min(room)));
                }
            }
            "table-row" => self.close_row(),
            "table" => {
                self.tables.pop();
                if self.tables.is_empty() {
                    self.draft.apart();
                    self.turn_page();
                }
            }
            "notes" => self.in_notes = false,
            "frame" => self.in_title = false,
            _ => {}
        }
    }

    /// Opens a list. A list without a style has that of the list around it.
    fn open_list(&mut self, element: &Element<'_>) {
        let outer = || self.lists.last().map(|list| list.style.clone());
        let style = element.attr("style-name").or_else(outer).unwrap_or_default();
        let continues = element.attr("continue-numbering").as_deref() == Some("true")
            || element.attr("continue-list").is_some();
        let counted = self.counted.get(&(style.clone(), self.lists.len()));
        let number = counted.copied().filter(|_| continues);
        self.lists.push(List { style, number, next: None });
    }

    /// Returns the mark of the next item of the innermost list.
    fn mark(&mut self) -> String {
        let depth = self.lists.len().saturating_sub(1);
        let level_of = |list: &List, depth| self.list_levels.get(&(list.style.clone(), depth));
        let Some(list) = self.lists.last_mut() else { return "-".to_owned() };
        let Some(level) = level_of(list, depth) else { return "-".to_owned() };
        let next = list.number.map_or(level.start, |number| number.saturating_add(1));
        list.number = Some(list.next.take().unwrap_or(next));
        let first = (depth + 1).saturating_sub(level.shown);
        let numbers = self.lists.iter().enumerate().skip(first).filter_map(|(depth, list)| {
            let level = level_of(list, depth)?;
            Some(level.numerals.write(list.number.unwrap_or(level.start)))
        });
        format!("{}{}{}", level.before, numbers.collect::<Vec<_>>().join("."), level.after).trim().to_owned()
    }

    fn close_row(&mut self) {
        let Some(table) = self.tables.last_mut() else { return };
        let row = std::mem::take(&mut table.row);
        if row.iter().all(String::is_empty) {
            return;
        }
        if let [.., outer, _] = self.tables.as_mut_slice() {
            // A table inside a cell becomes part of the cell's text.
            outer.cell.push_str(&row.join(", "));
            outer.cell.push_str("; ");
            return;
        }
        let Some(table) = self.tables.last_mut() else { return };
        for _ in 0..table.repeats.max(1) {
            self.draft.line(&table.rows.line(&row));
        }
    }

    /// Starts a page: immediately if its paragraph has no text yet, otherwise with the next paragraph.
    fn break_page(&mut self) {
        let Some(page) = &mut self.page else { return };
        *page += 1;
        self.page_due = true;
        if self.paragraphs.iter().all(|paragraph| paragraph.text.trim().is_empty()) {
            self.turn_page();
        }
    }

    fn turn_page(&mut self) {
        if let (Some(page), true, true) = (self.page, self.page_due, self.tables.is_empty()) {
            self.draft.part(Part::Page(page));
            self.page_due = false;
        }
    }

    fn put(&mut self, paragraph: Paragraph) {
        let text = paragraph.text.trim();
        if paragraph.is_note {
            // The words of the note follow the word that it refers to.
            if !text.is_empty() {
                self.write(&format!(" ({text})"));
            }
            return;
        }
        if let Some(table) = self.tables.last_mut() {
            if !table.cell.is_empty() && !text.is_empty() {
                table.cell.push('\n');
            }
            table.cell.push_str(text);
            return;
        }
        if !text.is_empty() {
            let depth = self.lists.len().saturating_sub(1);
            if let Some(level) = paragraph.level.or(self.in_title.then_some(1)) {
                self.draft.heading(level, text);
            } else if self.in_notes {
                let start = if std::mem::replace(&mut self.notes_labelled, true) { "" } else { "Notes: " };
                self.draft.paragraph(&format!("{start}{text}"));
            } else if self.lists.is_empty() {
                self.draft.paragraph(text);
            } else {
                let mark = if std::mem::take(&mut self.item_due) { self.mark() } else { " ".to_owned() };
                self.draft.item(depth, &mark, text);
            }
        }
        self.turn_page();
    }
}

/// Returns the numbered levels of the list styles in the element `within` of a file. Levels count from 0.
fn list_levels(
    xml: &str,
    within: &str,
    format: Format,
    limits: &ParseLimits,
) -> Result<BTreeMap<(String, usize), Level>, ParseError> {
    let mut nodes = Nodes::new(xml, format, limits.max_depth);
    let mut levels = BTreeMap::new();
    let mut style = String::new();
    while let Some(node) = nodes.next()? {
        let Node::Open(element) = node else { continue };
        match element.name().as_str() {
            // Those of headers and footers may have the same names.
            other @ ("styles" | "automatic-styles") if other != within => nodes.skip()?,
            "list-style" => style = element.attr("name").unwrap_or_default(),
            "list-level-style-number" => {
                let number = |name: &str| element.attr(name).and_then(|number| number.parse::<u32>().ok());
                let around = |name: &str| {
                    element.attr(name).unwrap_or_default().chars().take(MAX_MARK_CHARS).collect::<String>()
                };
                if let (Some(level), Some(numerals)) =
                    (number("level"), numerals(element.attr("num-format").as_deref()))
                {
                    let level_style = Level {
                        numerals,
                        before: around("num-prefix"),
                        after: around("num-suffix"),
                        start: number("start-value").unwrap_or(1),
                        shown: number("display-levels").unwrap_or(1).max(1) as usize,
                    };
                    let depth = level.saturating_sub(1) as usize;
                    levels.insert((style.clone(), depth), level_style);
                }
            }
            "body" => break,
            _ => {}
        }
    }
    Ok(levels)
}

/// Returns how a level with this format is numbered; `None` if it shows no numbers.
fn numerals(format: Option<&str>) -> Option<Numerals> {
    match format {
        None | Some("") => None,
        Some("a") => Some(Numerals::LowerLetter),
        Some("A") => Some(Numerals::UpperLetter),
        Some("i") => Some(Numerals::LowerRoman),
        Some("I") => Some(Numerals::UpperRoman),
        Some(_) => Some(Numerals::Decimal),
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    fn check_odf(format: Format, body: &str) -> Body {
        check_styled(format, "", body)
    }

    fn check_styled(format: Format, styles: &str, body: &str) -> Body {
        let content = format!(
            "<office:document-content>{styles}<office:body>{body}</office:body></office:document-content>"
        );
        let meta = "<office:meta><dc:title>The title</dc:title></office:meta>";
        let bytes = pack(&[("mimetype", "x"), ("content.xml", &content), ("meta.xml", meta)]);
        parse(&bytes, format, &ParseLimits::default()).expect("a document")
    }

    #[test]
    fn texts_keep_headings_lists_tables_and_notes() {
        let body = check_odf(
            Format::Odt,
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>\
             <text:h text:outline-level='2'>Pipes</text:h>\
             <text:p>Long<text:s text:c='2'/><text:ruby><text:ruby-base>pipes</text:ruby-base><text:ruby-text>paips</text:ruby-text></text:ruby><text:note><text:note-citation>1</text:note-citation><text:note-body>\
             <text:p>see below</text:p></text:note-body></text:note>.</text:p>\
             <text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item>\
             </text:list></text:list-item></text:list>\
             <table:table><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell><table:table-cell>\
             <text:p>Cost</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>Valve\
             </text:p></table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row>\
             </table:table><text:p>after<text:soft-page-break/></text:p><text:p>next</text:p>",
        );
        let expected =
            "## Pipes\n\nLong pipes (see below).\n- a\n  - b\nItem | Cost\nItem: Valve | Cost: 3\n";
        assert!(
            body.text.replace("\n\n-", "\n-").replace("\n\nItem", "\nItem").starts_with(expected),
            "{}",
            body.text
        );
        assert_eq!(body.title.as_deref(), Some("The title"));
        assert_eq!(body.parts.last().map(|mark| &mark.part), Some(&Part::Page(2)));
        assert!(body.text[body.parts[1].offset as usize..].starts_with("next"));
    }

    #[test]
    fn items_of_numbered_lists_have_their_numbers() {
        let styles = "<office:automatic-styles><text:list-style style:name='L1'><text:list-level-style-number text:level='1' \
            style:num-format='1' style:num-suffix='.'/><text:list-level-style-number text:level='2' style:num-format='a' \
            style:num-prefix='(' style:num-suffix=')'/><text:list-level-style-number text:level='3' style:num-format='i' \
            text:display-levels='2'/></text:list-style><text:list-style style:name='L2'><text:list-level-style-bullet \
            text:level='1'/></text:list-style></office:automatic-styles>";
        let list = |attributes: &str, items: &str| format!("<text:list {attributes}>{items}</text:list>");
        let item = |content: &str| format!("<text:list-item>{content}</text:list-item>");
        let p = |text: &str| format!("<text:p>{text}</text:p>");
        let inner = list("", &(item(&(p("left") + &list("", &item(&p("slowly"))))) + &item(&p("right"))));
        let first = list(
            "text:style-name='L1'",
            &(item(&(p("Open") + &p("the valve"))) + &item(&(p("Press") + &inner))),
        );
        let second = list(
            "text:style-name='L1' text:continue-numbering='true'",
            &(item(&p("Wait")) + &item(&p("Leave"))),
        );
        let third = list(
            "text:style-name='L1'",
            &format!(
                "{}<text:list-item text:start-value='7'>{}</text:list-item>",
                item(&p("Close")),
                p("Lock")
            ),
        );
        let bullets = list("text:style-name='L2'", &item(&p("a key")));
        let body = [first, p("Then:"), second, p("At last:"), third, bullets].concat();
        assert_eq!(
            check_styled(Format::Odt, styles, &body).text,
            "1. Open\n  the valve\n2. Press\n  (a) left\n    a.i slowly\n  (b) right\n\nThen:\n\n3. Wait\n4. Leave\n\n\
             At last:\n\n1. Close\n7. Lock\n- a key\n"
        );
    }

    #[test]
    fn sheets_are_parts_and_repeated_cells_are_bounded() {
        let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
        let row = |cells: &str| format!("<table:table-row>{cells}</table:table-row>");
        let blank = "<table:table-row table:number-rows-repeated='1048576'><table:table-cell \
                     table:number-columns-repeated='16384'/></table:table-row>";
        let sheet =
            |name: &str, rows: &str| format!("<table:table table:name='{name}'>{rows}{blank}</table:table>");
        let one = row(&(cell("Item") + &cell("Cost"))) + &row(&(cell("Valve") + &cell("3")));
        let two = row(
            "<table:table-cell table:number-columns-repeated='9999999'><text:p>7</text:p></table:table-cell>",
        );
        let body = check_odf(Format::Ods, &(sheet("Budget", &one) + &sheet("Costs", &two)));
        assert!(body.text.starts_with("Item | Cost\nItem: Valve | Cost: 3\n\n7 | 7"), "{}", body.text);
        assert_eq!(body.text.matches('7').count(), MAX_COLUMNS);
        let sheets: Vec<_> = body.parts.iter().map(|mark| mark.part.to_string()).collect();
        assert_eq!(sheets, ["sheet Budget", "sheet Costs"]);
    }

    #[test]
    fn slides_are_parts_with_title_and_notes() {
        let body = check_odf(
            Format::Odp,
            "<draw:page><draw:frame presentation:class='title'><draw:text-box><text:p>Plan</text:p></draw:text-box>\
             </draw:frame><draw:frame><draw:text-box><text:p>Text</text:p></draw:text-box></draw:frame>\
             <presentation:notes><text:p>Slowly.</text:p></presentation:notes></draw:page>",
        );
        assert_eq!(body.text, "# Plan\n\nText\n\nNotes: Slowly.\n");
        assert_eq!(body.parts[0].part, Part::Slide(1));
    }

    #[test]
    fn an_encrypted_document_is_refused() {
        let bytes = pack(&[("META-INF/manifest.xml", "<m:encryption-data/>"), ("content.xml", "x")]);
        let refused = parse(&bytes, Format::Odt, &ParseLimits::default());
        assert_eq!(refused.map(|body| body.text), Err(ParseError::Encrypted { format: Format::Odt }));
    }
}
