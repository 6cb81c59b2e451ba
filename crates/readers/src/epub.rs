//! Reads EPUB books chapter by chapter.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::Format;

use super::archive::{Archive, relative};
use super::draft::Draft;
use super::xml_events::{Node, Nodes};
use super::{Body, ParseError, ParseLimits, html};

/// Encryption methods that only protect fonts from copying.
const FONT_ALGORITHMS: [&str; 2] = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];
/// Names of pages added by the publisher, in `epub:type` of EPUB 3 and in the guide of EPUB 2. Title pages,
/// forewords and notes belong to the text.
const BOILERPLATE: [&str; 6] = ["imprint", "colophon", "copyright-page", "landmarks", "toc", "loi"];

/// Returns the book's chapters in reading order, each read as an HTML page. The table of contents is left
/// out, and pages added by the publisher are marked.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let mut archive = Archive::open(bytes, Format::Epub, limits)?;
    if let Some(xml) = archive.text("META-INF/encryption.xml")?
        && is_locked(&xml, limits)?
    {
        return Err(ParseError::Encrypted { format: Format::Epub });
    }
    let container = archive.required("META-INF/container.xml")?;
    let package_path = first_attr(&container, "rootfile", "full-path", limits)?.ok_or_else(|| {
        ParseError::Broken { format: Format::Epub, reason: "it does not name its package".to_owned() }
    })?;
    let package = Package::read(&archive.required(&package_path)?, limits)?;
    limits.check_parts("chapters", package.chapters.len())?;
    let mut draft = Draft::new(limits.max_bytes);
    draft.title(&package.title);
    let (total, mut missing) = (package.chapters.len(), 0);
    for chapter in package.chapters {
        let path = relative(&package_path, &chapter);
        let page = match archive.text(&path)? {
            Some(page) => page,
            // Addresses may be percent-encoded although the names in the archive are not.
            None => match archive.text(&unescape(&path))? {
                Some(page) => page,
                None => {
                    missing += 1;
                    continue;
                }
            },
        };
        let body = html::parse(&html::with_closed_elements(&page), limits);
        if package.boilerplate.contains(&chapter) || is_boilerplate(&page, limits) {
            draft.append_boilerplate(body);
        } else {
            draft.append(body, 0);
        }
        if draft.is_full() {
            break;
        }
    }
    if missing > 0 {
        draft.remark(format!("{missing} of {total} chapters are missing in the file"));
    }
    draft.finish()
}

/// The content of the book's package file.
#[derive(Default)]
struct Package {
    title: String,
    /// Addresses of the chapters, relative to the package file.
    chapters: Vec<String>,
    /// The addresses of those chapters that the publisher added.
    boilerplate: BTreeSet<String>,
}

impl Package {
    fn read(xml: &str, limits: &ParseLimits) -> Result<Self, ParseError> {
        let mut nodes = Nodes::new(xml, Format::Epub, limits.max_depth);
        let mut package = Self::default();
        let mut items: BTreeMap<String, (String, bool)> = BTreeMap::new();
        let mut in_title = false;
        while let Some(node) = nodes.next()? {
            match node {
                Node::Open(element) => match element.name().as_str() {
                    "title" => in_title = package.title.is_empty(),
                    "item" => {
                        let contents = element
                            .attr("properties")
                            .is_some_and(|all| all.split(' ').any(|one| one == "nav"));
                        if let (Some(id), Some(href)) = (element.attr("id"), element.attr("href")) {
                            items.insert(id, (href, contents));
                        }
                    }
                    "itemref" => {
                        let item = element.attr("idref").and_then(|id| items.get(&id));
                        package
                            .chapters
                            .extend(item.filter(|(_, contents)| !contents).map(|(href, _)| href.clone()));
                    }
                    "reference" if element.attr("type").is_some_and(|kind| names_boilerplate(&kind)) => {
                        let href = element.attr("href").unwrap_or_default();
                        let page = href.split('#').next().unwrap_or_default();
                        package.boilerplate.insert(page.to_owned());
                    }
                    _ => {}
                },
                Node::Text(text) if in_title => package.title.push_str(&text),
                Node::Text(_) => {}
                Node::Close(name) => in_title &= name != "title",
            }
        }
        Ok(package)
    }
}

fn names_boilerplate(kinds: &str) -> bool {
    kinds.split_whitespace().any(|kind| BOILERPLATE.contains(&kind))
}

/// True if the first part of a page that has a type, its body or a section, was added by the publisher. A
/// page that cannot be read as XML is text.
fn is_boilerplate(page: &str, limits: &ParseLimits) -> bool {
    let mut nodes = Nodes::new(page, Format::Epub, limits.max_depth);
    let mut depth = 0;
    while let Ok(Some(node)) = nodes.next() {
        match node {
            Node::Open(element) => match element.name().as_str() {
                "body" | "section" | "div" => {
                    if element.prefixed_attr("type").is_some_and(|kinds| names_boilerplate(&kinds)) {
                        return true;
                    }
                    depth += 1;
                }
                // Content before a section with a type is text.
                _ if depth > 0 => return false,
                _ => {}
            },
            Node::Text(text) if depth > 0 && !text.trim().is_empty() => return false,
            Node::Text(_) | Node::Close(_) => {}
        }
    }
    false
}

/// True if anything besides fonts is encrypted.
fn is_locked(xml: &str, limits: &ParseLimits) -> Result<bool, ParseError> {
    let mut nodes = Nodes::new(xml, Format::Epub, limits.max_depth);
    let mut in_data = false;
    while let Some(node) = nodes.next()? {
        match node {
            Node::Open(element) => match element.name().as_str() {
                "EncryptedData" => in_data = true,
                // The encryption of the key is in a separate element, outside the encrypted data.
                "EncryptedKey" => in_data = false,
                "EncryptionMethod" if in_data => {
                    let algorithm = element.attr("Algorithm").unwrap_or_default();
                    if !FONT_ALGORITHMS.contains(&algorithm.as_str()) {
                        return Ok(true);
                    }
                }
                _ => {}
            },
            Node::Close(_) | Node::Text(_) => {}
        }
    }
    Ok(false)
}

fn first_attr(
    xml: &str,
    element: &str,
    attr: &str,
    limits: &ParseLimits,
) -> Result<Option<String>, ParseError> {
    let mut nodes = Nodes::new(xml, Format::Epub, limits.max_depth);
    while let Some(node) = nodes.next()? {
        if let Node::Open(found) = node
            && found.name() == element
        {
            return Ok(found.attr(attr));
        }
    }
    Ok(None)
}

/// Decodes the percent-encoding of an address.
fn unescape(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = path.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    const CONTAINER: &str =
        "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>";
    const PACKAGE: &str = "<package><metadata><dc:title>A &amp; B</dc:title></metadata><manifest>\
        <item id='n' href='nav.xhtml' properties='nav'/><item id='b' href='text/two.xhtml'/>\
        <item id='a' href='text/chapter%201.xhtml'/></manifest>\
        <spine><itemref idref='n'/><itemref idref='a'/><itemref idref='b'/><itemref idref='x'/></spine></package>";

    fn check_epub(more: &[(&str, &str)]) -> Result<Body, ParseError> {
        let page = |body: &str| {
            format!(
                "<?xml version='1.0'?><html><head><title/><script src='x'/></head><body>{body}</body></html>"
            )
        };
        let (nav, one, two) =
            (page("Contents"), page("<h1>One</h1><p>First.</p>"), page("<h2>Two</h2><p>Last.</p>"));
        let mut members = vec![("mimetype", "application/epub+zip"), ("META-INF/container.xml", CONTAINER)];
        members.extend([("OEBPS/book.opf", PACKAGE), ("OEBPS/nav.xhtml", &nav)]);
        members.extend([("OEBPS/text/two.xhtml", two.as_str()), ("OEBPS/text/chapter 1.xhtml", &one)]);
        members.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        members.extend(more);
        parse(&pack(&members), &ParseLimits::default())
    }

    #[test]
    fn chapters_are_read_in_reading_order() {
        let body = check_epub(&[]).expect("a book");
        assert_eq!(body.text, "# One\n\nFirst.\n\n## Two\n\nLast.\n");
        assert_eq!(body.title.as_deref(), Some("A & B"));
        assert_eq!(body.headings.iter().map(|heading| heading.offset).collect::<Vec<_>>(), [0, 15]);
    }

    #[test]
    fn missing_chapters_are_counted() {
        let package = PACKAGE.replace("text/two.xhtml", "text/lost.xhtml");
        let body = check_epub(&[("OEBPS/book.opf", &package)]).expect("a book");
        assert_eq!(body.text, "# One\n\nFirst.\n");
        assert_eq!(body.remarks, ["1 of 2 chapters are missing in the file"]);
        assert_eq!(check_epub(&[]).map(|body| body.remarks), Ok(Vec::new()));
    }

    #[test]
    fn imprint_pages_are_marked_as_boilerplate() {
        let imprint = "<html><body epub:type='frontmatter'><section epub:type='imprint'><p>Halden Press.</p></section></body></html>";
        let body = check_epub(&[("OEBPS/text/two.xhtml", imprint)]).expect("a book");
        let marked: Vec<_> = body.boilerplate.iter().filter_map(|span| span.slice(&body.text)).collect();
        assert_eq!(marked.iter().map(|text| text.trim()).collect::<Vec<_>>(), ["Halden Press."]);
        assert_eq!(check_epub(&[]).map(|body| body.boilerplate), Ok(Vec::new()));

        let guide = "</spine><guide><reference type='copyright-page' href='text/two.xhtml#rights'/></guide>";
        let package = PACKAGE.replace("</spine>", guide);
        let body = check_epub(&[("OEBPS/book.opf", &package)]).expect("a book");
        let marked: Vec<_> = body.boilerplate.iter().filter_map(|span| span.slice(&body.text)).collect();
        assert_eq!(marked.iter().map(|text| text.trim()).collect::<Vec<_>>(), ["## Two\n\nLast."]);
    }

    #[test]
    fn obfuscated_fonts_are_accepted_and_encrypted_chapters_refused() {
        let locked = |algorithm: &str| {
            let xml =
                format!("<e><EncryptedData><EncryptionMethod Algorithm='{algorithm}'/></EncryptedData></e>");
            check_epub(&[("META-INF/encryption.xml", &xml)])
        };
        assert!(locked(FONT_ALGORITHMS[0]).is_ok());
        let refused = locked("http://www.w3.org/2001/04/xmlenc#aes128-cbc").map(|body| body.text);
        assert_eq!(refused, Err(ParseError::Encrypted { format: Format::Epub }));
    }
}
