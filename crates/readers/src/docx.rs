//! Reads Word documents: headings, paragraphs, lists, tables, notes and comments.

use std::collections::BTreeMap;

use graphloom_core::{Format, Part};

use super::archive::{Archive, relative};
use super::draft::Draft;
use super::numerals::Numerals;
use super::package::{diagram_lines, links_of, main_part};
use super::superscript::superscript;
use super::xml_events::{Element, Node, Nodes};
use super::{Body, ParseError, ParseLimits};

/// Maximum columns that a cell may span.
const MAX_SPAN: usize = 100;
/// Maximum styles to follow from a style to the style it is based on.
const MAX_STYLE_CHAIN: usize = 20;
/// Number of levels that a list may have.
const LIST_LEVELS: usize = 9;
/// Maximum characters around the numbers of list items.
const MAX_MARK_CHARS: usize = 40;

/// Returns the document's text as last saved, with changes accepted. Headings are paragraphs with a heading style or an outline
/// level. Pages are those of Word's last layout, if the file contains them. Headers and footers are left out.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut archive = Archive::open(bytes, Format::Docx, limits)?;
    let (main, document) = main_part(&mut archive, "word/document.xml", Format::Docx, limits)?;
    let links = links_of(&mut archive, &main, Format::Docx, limits)?;
    let part = |kind: &str| match links.values().find(|link| link.is(kind)) {
        Some(link) => link.target.clone(),
        None => relative(&main, &format!("{kind}.xml")),
    };
    let styles = match archive.text(&part("styles"))? {
        Some(xml) => styles(&xml, limits)?,
        None => BTreeMap::new(),
    };
    let lists = match archive.text(&part("numbering"))? {
        Some(xml) => Lists::read(&xml, limits)?,
        None => Lists::default(),
    };
    let mut diagrams = BTreeMap::new();
    for (id, link) in links.iter().filter(|(_, link)| link.is("diagramData")) {
        if let Some(xml) = archive.text(&link.target)? {
            diagrams.insert(id.clone(), diagram_lines(&xml, Format::Docx, limits)?.join("\n"));
        }
    }
    let mut draft = Draft::new(limits.max_bytes);
    if let Some(xml) = archive.text("docProps/core.xml")? {
        draft.title(&super::xml::text_of_first(&xml, "title", Format::Docx, limits)?);
    }
    let mut reader = Reader { draft, styles, lists, diagrams, ..Reader::default() };
    if document.contains("lastRenderedPageBreak") {
        reader.page = Some(1);
        reader.draft.part(Part::Page(1));
    }
    reader.read(&document, limits)?;
    reader.page = None;
    for (kind, heading) in [("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments")] {
        if let Some(xml) = archive.text(&part(kind))? {
            reader.heading_due = Some(heading);
            reader.read(&xml, limits)?;
            reader.heading_due = None;
        }
    }
    reader.draft.finish()
}

/// The properties of a paragraph style.
#[derive(Default, Clone)]
struct Style {
    name: String,
    based_on: Option<String>,
    level: Option<u8>,
    list: Option<(String, usize)>,
}

/// The paragraph that is being read.
#[derive(Default)]
struct Paragraph {
    text: String,
    level: Option<u8>,
    style: Option<String>,
    list: Option<String>,
    depth: Option<usize>,
    is_title: bool,
}

/// The table that is being read.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: String,
    span: usize,
}

/// Reads the parts of a document into one draft.
#[derive(Default)]
struct Reader {
    draft: Draft,
    styles: BTreeMap<String, Style>,
    lists: Lists,
    /// The text of the diagrams that were not reached yet, by the id of their link.
    diagrams: BTreeMap<String, String>,
    /// Open paragraphs. They can be nested, because text boxes are inside paragraphs.
    paragraphs: Vec<Paragraph>,
    tables: Vec<Table>,
    page: Option<u32>,
    /// Whether a page begins after the paragraph in which it was found.
    page_due: bool,
    /// The heading of a part. It is written before the part's first paragraph.
    heading_due: Option<&'static str>,
    /// The author of the comment that is being read.
    author: Option<String>,
    /// Whether the open run is raised.
    is_raised: bool,
    /// Number of open exponents of formulas.
    exponents: usize,
}

impl Reader {
    fn read(&mut self, xml: &str, limits: &ParseLimits) -> Result<(), ParseError> {
        let mut nodes = Nodes::new(xml, Format::Docx, limits.max_depth);
        let mut in_text = false;
        while let Some(node) = nodes.next()? {
            match node {
                Node::Open(element) => {
                    let name = element.name();
                    // A fallback repeats the content of the choice before it in an older form, moved text is repeated where it
                    // is now, and the reading of ruby text repeats its base.
                    if matches!(name.as_str(), "Fallback" | "moveFrom" | "rt")
                        || (name == "footnote" || name == "endnote") && is_separator(&element)
                    {
                        nodes.skip()?;
                        continue;
                    }
                    in_text = name == "t";
                    self.open(&name, &element);
                }
                Node::Close(name) => {
                    in_text = false;
                    self.close(&name);
                }
                Node::Text(text) if in_text && (self.is_raised || self.exponents > 0) => {
                    self.write(&superscript(&text));
                }
                Node::Text(text) if in_text => self.write(&text),
                Node::Text(_) => {}
            }
            if self.draft.is_full() {
                break;
            }
        }
        (self.paragraphs, self.tables) = (Vec::new(), Vec::new());
        Ok(())
    }

    fn write(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn open(&mut self, name: &str, element: &Element<'_>) {
        let value = || element.attr("val");
        match name {
            "p" => self.paragraphs.push(Paragraph::default()),
            "tbl" => self.tables.push(Table::default()),
            "gridSpan" => {
                if let Some(table) = self.tables.last_mut() {
                    table.span = value().and_then(|span| span.parse().ok()).unwrap_or(1).clamp(1, MAX_SPAN);
                }
            }
            "tab" => self.write("\t"),
            "br" | "cr" => self.write("\n"),
            "noBreakHyphen" => self.write("-"),
            "lastRenderedPageBreak" => self.break_page(),
            "comment" => self.author = element.attr("author"),
            "r" => self.is_raised = false,
            "vertAlign" => self.is_raised = value().as_deref() == Some("superscript"),
            "sup" => self.exponents += 1,
            "relIds" => {
                if let Some(text) = element.attr("dm").and_then(|id| self.diagrams.remove(&id)) {
                    self.write(&format!("\n{text}\n"));
                }
            }
            _ => {}
        }
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match name {
            "pStyle" => {
                paragraph.style = value();
                paragraph.is_title = paragraph.style.as_deref() == Some("Title");
            }
            "outlineLvl" => paragraph.level = value().and_then(|level| outline_level(&level)),
            "numId" => paragraph.list = value(),
            "ilvl" => paragraph.depth = value().and_then(|depth| depth.parse().ok()),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "sup" => self.exponents = self.exponents.saturating_sub(1),
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.put(paragraph);
                }
            }
            "tc" => {
                if let Some(table) = self.tables.last_mut() {
                    let cell = std::mem::take(&mut table.cell);
                    table.row.push(cell);
                    let spanned = std::mem::replace(&mut table.span, 1).saturating_sub(1);
                    table.row.extend(std::iter::repeat_n(String::new(), spanned));
                }
            }
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    let row = std::mem::take(&mut table.row);
                    table.rows.push(row);
                }
            }
            "tbl" => {
                let Some(table) = self.tables.pop() else { return };
                match self.tables.last_mut() {
                    // A table inside a cell becomes part of the cell's text.
                    Some(outer) => {
                        let rows = table.rows.iter().map(|row| row.join(", "));
                        outer.cell.push_str(&rows.collect::<Vec<_>>().join("; "));
                    }
                    None => self.draft.table(&table.rows),
                }
                self.turn_page();
            }
            _ => {}
        }
    }

    /// Starts a page: immediately if its paragraph has no text yet, otherwise with the next paragraph.
    fn break_page(&mut self) {
        let Some(page) = &mut self.page else { return };
        *page += 1;
        self.page_due = true;
        let begun = self.paragraphs.iter().any(|paragraph| !paragraph.text.trim().is_empty());
        if !begun && self.tables.is_empty() {
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
        if let Some(table) = self.tables.last_mut() {
            if !table.cell.is_empty() && !paragraph.text.trim().is_empty() {
                table.cell.push('\n');
            }
            table.cell.push_str(paragraph.text.trim());
            return;
        }
        if !paragraph.text.trim().is_empty() {
            if let Some(heading) = self.heading_due.take() {
                self.draft.heading(1, heading);
            }
            self.place(&paragraph);
        }
        self.turn_page();
    }

    fn place(&mut self, paragraph: &Paragraph) {
        let style = self.style_of(paragraph.style.as_deref());
        if paragraph.is_title {
            self.draft.title(&paragraph.text);
        }
        let level = paragraph.level.or(style.level).or(paragraph.is_title.then_some(1));
        let list = paragraph.list.clone().map(|list| (list, paragraph.depth.unwrap_or(0))).or(style.list);
        match (level, list) {
            (Some(level), _) => self.draft.heading(level, &paragraph.text),
            (None, Some((list, depth))) if list != "0" => {
                let mark = self.lists.mark(&list, depth);
                self.draft.item(depth, &mark, &paragraph.text);
            }
            (None, Some(_) | None) => match self.author.take() {
                Some(author) => self.draft.paragraph(&format!("{author}: {}", paragraph.text)),
                None => self.draft.paragraph(&paragraph.text),
            },
        }
    }

    /// Returns a style with the properties that it inherits from other styles.
    fn style_of(&self, id: Option<&str>) -> Style {
        let mut found = Style::default();
        let mut next = id.map(str::to_owned);
        for _ in 0..MAX_STYLE_CHAIN {
            let Some(style) = next.and_then(|id| self.styles.get(&id)) else { break };
            found.level = found.level.or(style.level);
            found.list = found.list.or_else(|| style.list.clone());
            next = style.based_on.clone();
        }
        found
    }
}

/// True for notes that contain the line between text and notes instead of words.
fn is_separator(element: &Element<'_>) -> bool {
    element.attr("type").is_some_and(|kind| kind != "normal")
}

/// Parses an outline level. Levels count from 0; 9 is body text.
fn outline_level(value: &str) -> Option<u8> {
    value.parse::<u8>().ok().filter(|level| *level < 9).map(|level| level + 1)
}

/// Returns the paragraph styles by id.
fn styles(xml: &str, limits: &ParseLimits) -> Result<BTreeMap<String, Style>, ParseError> {
    let mut nodes = Nodes::new(xml, Format::Docx, limits.max_depth);
    let mut styles = BTreeMap::new();
    let mut open: Option<(String, Style)> = None;
    while let Some(node) = nodes.next()? {
        match node {
            Node::Open(element) => {
                let name = element.name();
                let value = element.attr("val");
                match (name.as_str(), &mut open, value) {
                    ("style", _, _) => {
                        open = element.attr("styleId").map(|id| (id, Style::default()));
                    }
                    ("name", Some((_, style)), Some(value)) => style.name = value.to_lowercase(),
                    ("basedOn", Some((_, style)), Some(value)) => style.based_on = Some(value),
                    ("outlineLvl", Some((_, style)), Some(value)) => style.level = outline_level(&value),
                    ("numId", Some((_, style)), Some(value)) => {
                        let depth = style.list.as_ref().map_or(0, |(_, depth)| *depth);
                        style.list = Some((value, depth));
                    }
                    ("ilvl", Some((_, style)), Some(value)) => {
                        let list = style.list.take().map_or(String::new(), |(list, _)| list);
                        style.list = Some((list, value.parse().unwrap_or(0)));
                    }
                    _ => {}
                }
            }
            Node::Close(name) if name == "style" => {
                if let Some((id, mut style)) = open.take() {
                    let level = style.name.strip_prefix("heading ").and_then(|level| level.parse().ok());
                    style.level = style.level.or(level);
                    styles.insert(id, style);
                }
            }
            Node::Close(_) | Node::Text(_) => {}
        }
    }
    Ok(styles)
}

/// A level of a list.
#[derive(Default)]
struct Level {
    /// `None` if its items have bullets.
    numerals: Option<Numerals>,
    /// The first number; 1 if it is not given.
    start: Option<u32>,
    /// The numbers with the text around them: `%1.%2)` has the numbers of the first two levels.
    text: Option<String>,
}

/// Lists: how their levels are numbered, and the current numbers.
#[derive(Default)]
struct Lists {
    /// The definition of each list.
    definitions: BTreeMap<String, String>,
    /// The levels of each definition.
    levels: BTreeMap<(String, usize), Level>,
    /// The levels that a list has in place of those of its definition.
    own_levels: BTreeMap<(String, usize), Level>,
    /// The first numbers of levels at which a list begins again. A number is removed where it is used.
    restarts: BTreeMap<(String, usize), u32>,
    /// For each definition, the number of the last item on each open level.
    counted: BTreeMap<String, Vec<Option<u32>>>,
}

impl Lists {
    fn read(xml: &str, limits: &ParseLimits) -> Result<Self, ParseError> {
        let mut nodes = Nodes::new(xml, Format::Docx, limits.max_depth);
        let mut lists = Self::default();
        // The definition or the list that is being read, and its level.
        let (mut of, mut depth, mut in_list) = (String::new(), 0, false);
        while let Some(node) = nodes.next()? {
            let Node::Open(element) = node else { continue };
            let name = element.name();
            let value = element.attr("val");
            let number = || value.as_ref().and_then(|value| value.parse().ok());
            match name.as_str() {
                "abstractNum" => {
                    (of, in_list) = (element.attr("abstractNumId").unwrap_or_default(), false);
                }
                "num" => (of, in_list) = (element.attr("numId").unwrap_or_default(), true),
                "abstractNumId" => {
                    lists.definitions.insert(of.clone(), value.unwrap_or_default());
                }
                "lvl" | "lvlOverride" => {
                    depth = element.attr("ilvl").and_then(|depth| depth.parse().ok()).unwrap_or(0);
                }
                "startOverride" => {
                    lists.restarts.extend(number().map(|start| ((of.clone(), depth), start)));
                }
                "start" | "numFmt" | "lvlText" => {
                    let levels = if in_list { &mut lists.own_levels } else { &mut lists.levels };
                    let level = levels.entry((of.clone(), depth)).or_default();
                    match name.as_str() {
                        "start" => level.start = number(),
                        "numFmt" => level.numerals = numerals(value.as_deref()),
                        _ => level.text = value.map(|text| text.chars().take(MAX_MARK_CHARS).collect()),
                    }
                }
                _ => {}
            }
        }
        Ok(lists)
    }

    /// Returns the mark of the next item of a list at `depth`.
    fn mark(&mut self, list: &str, depth: usize) -> String {
        let depth = depth.min(LIST_LEVELS - 1);
        let definition = self.definitions.get(list).cloned().unwrap_or_default();
        let level_at = |depth: usize| {
            let own = self.own_levels.get(&(list.to_owned(), depth));
            own.or_else(|| self.levels.get(&(definition.clone(), depth)))
        };
        let Some(level) = level_at(depth).filter(|level| level.numerals.is_some()) else {
            return "-".to_owned();
        };
        // Lists with the same definition share their numbers.
        let counted = self.counted.entry(definition.clone()).or_default();
        counted.resize(depth + 1, None);
        let next = counted[depth].map_or(level.start.unwrap_or(1), |number| number.saturating_add(1));
        counted[depth] = Some(self.restarts.remove(&(list.to_owned(), depth)).unwrap_or(next));
        let mut mark = level.text.clone().unwrap_or_else(|| format!("%{}.", depth + 1));
        for (at, number) in counted.iter().enumerate() {
            let Some(level) = level_at(at) else { continue };
            let number = number.or(level.start).unwrap_or(1);
            let written = level.numerals.map_or_else(String::new, |numerals| numerals.write(number));
            mark = mark.replace(&format!("%{}", at + 1), &written);
        }
        if mark.trim().is_empty() { "-".to_owned() } else { mark.trim().to_owned() }
    }
}

/// Returns how a level with this format is numbered; `None` if it has bullets.
fn numerals(format: Option<&str>) -> Option<Numerals> {
    match format {
        None | Some("bullet" | "none") => None,
        Some("lowerLetter") => Some(Numerals::LowerLetter),
        Some("upperLetter") => Some(Numerals::UpperLetter),
        Some("lowerRoman") => Some(Numerals::LowerRoman),
        Some("upperRoman") => Some(Numerals::UpperRoman),
        Some(_) => Some(Numerals::Decimal),
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    const STYLES: &str = "<w:styles><w:style w:styleId='H1'><w:name w:val='heading 1'/></w:style>\
        <w:style w:styleId='Sub'><w:basedOn w:val='H2'/></w:style>\
        <w:style w:styleId='H2'><w:name w:val='Heading 2'/></w:style></w:styles>";
    const NUMBERING: &str = "<w:numbering><w:abstractNum w:abstractNumId='7'><w:lvl w:ilvl='0'><w:numFmt \
        w:val='decimal'/></w:lvl><w:lvl w:ilvl='1'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum><w:num \
        w:numId='3'><w:abstractNumId w:val='7'/></w:num></w:numbering>";

    fn check_docx(body: &str, more: &[(&str, &str)]) -> Body {
        check_parts(body, &[&[("word/numbering.xml", NUMBERING)], more].concat())
    }

    fn check_parts(body: &str, more: &[(&str, &str)]) -> Body {
        let document = format!("<w:document><w:body>{body}</w:body></w:document>");
        let mut members = vec![("word/document.xml", document.as_str()), ("word/styles.xml", STYLES)];
        members.extend(more);
        parse(&pack(&members), &ParseLimits::default()).expect("a document")
    }

    fn p(style: &str, text: &str) -> String {
        format!("<w:p><w:pPr>{style}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
    }

    #[test]
    fn headings_lists_and_paragraphs_keep_their_form() {
        let list = |depth| format!("<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='3'/></w:numPr>");
        let body = [
            p("<w:pStyle w:val='H1'/>", "Ra</w:t></w:r><w:r><w:t>dium"),
            p("", "Found by<w:br/>Curie"),
            p("<w:pStyle w:val='Sub'/>", "Uses &amp; more"),
            p(&list(0), "one"),
            p(&list(1), "inner"),
            p(&list(0), "two"),
            p("", "<w:delText>gone</w:delText>"),
            p(
                "",
                "<w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby>",
            ),
        ];
        let body = check_docx(&body.concat().replace("Found by<w:br/>", "Found by</w:t><w:br/><w:t>"), &[]);
        assert_eq!(
            body.text,
            "# Radium\n\nFound by\nCurie\n\n## Uses & more\n\n1. one\n  - inner\n2. two\n\n漢字\n"
        );
        assert_eq!(body.headings.len(), 2);
    }

    #[test]
    fn list_items_have_the_numbers_that_word_shows() {
        let numbering = "<w:numbering><w:abstractNum w:abstractNumId='7'><w:lvl w:ilvl='0'><w:start w:val='3'/>\
            <w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl><w:lvl w:ilvl='1'><w:numFmt \
            w:val='lowerLetter'/><w:lvlText w:val='(%2)'/></w:lvl><w:lvl w:ilvl='2'><w:numFmt w:val='upperRoman'/>\
            <w:lvlText w:val='%1.%2.%3'/></w:lvl></w:abstractNum><w:num w:numId='3'><w:abstractNumId w:val='7'/></w:num>\
            <w:num w:numId='4'><w:abstractNumId w:val='7'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='1'/>\
            </w:lvlOverride></w:num></w:numbering>";
        let item = |(list, depth, text): &(u8, u8, &str)| {
            p(&format!("<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='{list}'/></w:numPr>"), text)
        };
        let items = [
            (3, 0, "Open the valve"),
            (3, 0, "Press a button"),
            (3, 1, "the left one"),
            (3, 1, "the right one"),
            (3, 2, "gently"),
            (3, 0, "Wait"),
            (4, 0, "Close the tap"),
            (4, 1, "slowly"),
            (4, 0, "Leave"),
        ];
        let body = items.iter().map(item).collect::<String>();
        assert_eq!(
            check_parts(&body, &[("word/numbering.xml", numbering)]).text,
            "3. Open the valve\n4. Press a button\n  (a) the left one\n  (b) the right one\n    4.b.I gently\n5. Wait\n\
             1. Close the tap\n  (a) slowly\n2. Leave\n"
        );
    }

    #[test]
    fn raised_digits_and_exponents_stay_apart_from_their_numbers() {
        let run = |style: &str, text: &str| format!("<w:r><w:rPr>{style}</w:rPr><w:t>{text}</w:t></w:r>");
        let body = format!(
            "<w:p>{}{}{}<m:oMath><m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>-4</m:t></m:r></m:sup></m:sSup>\
             </m:oMath>{}</w:p>",
            run("", "From 10"),
            run("<w:vertAlign w:val='superscript'/>", "5"),
            run("<w:vertAlign w:val='subscript'/>", " to 2×"),
            run("", " pascal.")
        );
        assert_eq!(check_docx(&body, &[]).text, "From 10⁵ to 2×10⁻⁴ pascal.\n");
    }

    #[test]
    fn moved_text_is_read_where_it_is_now() {
        let moved =
            |tag: &str, text: &str| format!("<w:p><w:{tag}><w:r><w:t>{text}</w:t></w:r></w:{tag}></w:p>");
        let body = moved("moveFrom", "The deposit is 900.")
            + &p("", "Middle.")
            + &moved("moveTo", "The deposit is 750.");
        assert_eq!(check_docx(&body, &[]).text, "Middle.\n\nThe deposit is 750.\n");
    }

    #[test]
    fn parts_are_found_by_their_links() {
        let root = "<Relationships><Relationship Id='a' Type='x/officeDocument' Target='word/document2.xml'/></Relationships>";
        let links = "<Relationships><Relationship Id='a' Type='x/styles' Target='styles2.xml'/><Relationship Id='b' \
            Type='x/diagramData' Target='diagrams/data1.xml'/></Relationships>";
        let diagram = "<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>Inspect</a:t></a:r><a:r><a:t> it</a:t></a:r></a:p>\
            </dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>Repair it</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>";
        let drawing = "<w:p><w:r><w:drawing><dgm:relIds r:dm='b'/></w:drawing></w:r></w:p>";
        let body = p("<w:pStyle w:val='H1'/>", "Pumps") + drawing + drawing;
        let document = format!("<w:document><w:body>{body}</w:body></w:document>");
        let bytes = pack(&[
            ("_rels/.rels", root),
            ("word/document2.xml", &document),
            ("word/_rels/document2.xml.rels", links),
            ("word/styles2.xml", STYLES),
            ("word/diagrams/data1.xml", diagram),
        ]);
        let body = parse(&bytes, &ParseLimits::default()).expect("a document");
        assert_eq!(body.text, "# Pumps\n\nInspect it\nRepair it\n");
    }

    #[test]
    fn tables_notes_and_comments_are_kept() {
        let cell = |text: &str| format!("<w:tc>{}</w:tc>", p("", text));
        let row = |cells: [&str; 2]| format!("<w:tr>{}</w:tr>", cells.map(cell).concat());
        let table = format!("<w:tbl>{}{}</w:tbl>", row(["Item", "Cost"]), row(["Pipes", "12"]));
        let notes = format!(
            "<w:footnotes><w:footnote w:type='separator'>{}</w:footnote><w:footnote>{}</w:footnote></w:footnotes>",
            p("", "---"),
            p("", "A note.")
        );
        let comments =
            format!("<w:comments><w:comment w:author='Ada'>{}</w:comment></w:comments>", p("", "Why?"));
        let body = check_docx(&table, &[("word/footnotes.xml", &notes), ("word/comments.xml", &comments)]);
        assert_eq!(
            body.text,
            "Item | Cost\nItem: Pipes | Cost: 12\n\n# Footnotes\n\nA note.\n\n# Comments\n\nAda: Why?\n"
        );
    }

    #[test]
    fn pages_follow_the_last_layout() {
        let pages = "<w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>\
            <w:p><w:r><w:t>still two</w:t><w:lastRenderedPageBreak/><w:t>and three</w:t></w:r></w:p>\
            <w:p><w:r><w:t>three</w:t></w:r></w:p>";
        let body = check_docx(pages, &[("docProps/core.xml", "<x><dc:title>The title</dc:title></x>")]);
        let pages: Vec<_> = body.parts.iter().map(|mark| (mark.offset, mark.part.clone())).collect();
        assert_eq!(pages, [(0, Part::Page(1)), (5, Part::Page(2)), (30, Part::Page(3))]);
        assert_eq!(body.title.as_deref(), Some("The title"));
    }

    #[test]
    fn text_boxes_are_read_once() {
        let inner = p("", "boxed");
        let text = format!(
            "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{inner}</w:txbxContent></mc:Choice>\
             <mc:Fallback><w:txbxContent>{inner}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>\
             <w:r><w:t>around</w:t></w:r></w:p>"
        );
        assert_eq!(check_docx(&text, &[]).text, "boxed\n\naround\n");
    }
}
