//! Reads XML as a stream of elements and text, within a depth limit.

use std::borrow::Cow;

use graphloom_core::Format;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ParseError;

/// The next item in a document.
pub(super) enum Node<'a> {
    /// An element begins.
    Open(Element<'a>),
    /// The element of this local name ends.
    Close(String),
    /// Text, with references resolved.
    Text(Cow<'a, str>),
}

/// The start of an element.
pub(super) struct Element<'a> {
    start: BytesStart<'a>,
}

impl Element<'_> {
    /// Returns its name without prefix.
    pub(super) fn name(&self) -> String {
        self.start.local_name().as_ref().to_owned()
    }

    /// Returns the value of the attribute with this local name.
    pub(super) fn attr(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
        Some(match quick_xml::escape::unescape(&found.value) {
            Ok(value) => value.into_owned(),
            Err(_) => found.value.into_owned(),
        })
    }

    /// Returns the value of the attribute with this local name and a prefix, such as `r:id` beside a plain `id`.
    pub(super) fn prefixed_attr(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        attributes.with_checks(false);
        let is_it =
            |key: quick_xml::name::QName<'_>| key.local_name().as_ref() == name && key.prefix().is_some();
        let found = attributes.flatten().find(|attribute| is_it(attribute.key))?;
        Some(found.value.into_owned())
    }
}

/// The nodes of an XML document.
pub(super) struct Nodes<'a> {
    reader: Reader<&'a [u8]>,
    format: Format,
    /// The end of an element without content, which is returned next.
    due: Option<String>,
    depth: usize,
    max_depth: usize,
}

impl<'a> Nodes<'a> {
    /// Creates a reader. `format` is the format of the document that contains the XML, for errors.
    pub(super) fn new(xml: &'a str, format: Format, max_depth: usize) -> Self {
        let mut reader = Reader::from_str(xml);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.check_end_names = false;
        Self { reader, format, due: None, depth: 0, max_depth }
    }

    /// Returns the next node; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Node<'a>>, ParseError> {
        if let Some(name) = self.due.take() {
            return Ok(Some(Node::Close(name)));
        }
        loop {
            let event = self.reader.read_event().map_err(|error| ParseError::Broken {
                format: self.format,
                reason: format!("its XML cannot be read: {error}"),
            })?;
            return Ok(Some(match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > self.max_depth {
                        return Err(ParseError::TooDeep { format: self.format, max_depth: self.max_depth });
                    }
                    Node::Open(Element { start })
                }
                Event::Empty(start) => {
                    self.due = Some(start.local_name().as_ref().to_owned());
                    Node::Open(Element { start })
                }
                Event::End(end) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::Close(end.local_name().as_ref().to_owned())
                }
                Event::Text(text) => Node::Text(text.into_inner()),
                Event::CData(text) => Node::Text(text.into_inner()),
                Event::GeneralRef(reference) => Node::Text(match reference.resolve_char_ref() {
                    Ok(Some(c)) => Cow::Owned(c.to_string()),
                    Ok(None) | Err(_) => Cow::Owned(named(&reference)),
                }),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => continue,
                Event::Eof => return Ok(None),
            }));
        }
    }
}

impl Nodes<'_> {
    /// Skips the rest of the element that was just opened.
    pub(super) fn skip(&mut self) -> Result<(), ParseError> {
        let mut open = 1usize;
        while open > 0 {
            match self.next()? {
                Some(Node::Open(_)) => open += 1,
                Some(Node::Close(_)) => open -= 1,
                Some(Node::Text(_)) => {}
                None => break,
            }
        }
        Ok(())
    }
}

/// Returns the character of a named reference. An unknown reference is kept as written.
fn named(name: &str) -> String {
    graphloom_text::unescape(&format!("&{name};")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_nodes(xml: &str, max_depth: usize) -> Result<String, ParseError> {
        let mut nodes = Nodes::new(xml, Format::Xml, max_depth);
        let mut said = String::new();
        while let Some(node) = nodes.next()? {
            match node {
                Node::Open(element) => {
                    said.push_str(&format!("<{}{}>", element.name(), element.attr("x").unwrap_or_default()));
                }
                Node::Close(name) => said.push_str(&format!("</{name}>")),
                Node::Text(text) => said.push_str(&text),
            }
        }
        Ok(said)
    }

    #[test]
    fn elements_and_text_are_returned_in_order() {
        let xml =
            "<?xml version='1.0'?><!-- c --><n:a n:x='1&amp;2'>b&#228;&eacute;&lt;<![CDATA[<d>]]><e/></n:a>";
        assert_eq!(check_nodes(xml, 2).as_deref(), Ok("<a1&2>bäé<<d><e></e></a>"));
    }

    #[test]
    fn depth_is_bounded_and_broken_xml_is_an_error() {
        let deep = "<a>".repeat(1000);
        assert_eq!(check_nodes(&deep, 100), Err(ParseError::TooDeep { format: Format::Xml, max_depth: 100 }));
        assert!(matches!(check_nodes("<a><b", 10), Err(ParseError::Broken { .. })));
    }
}
