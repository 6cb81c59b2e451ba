//! Scans the tags of a page before it is parsed: nesting depth and self-closing tags.

use std::borrow::Cow;
use std::collections::HashMap;

/// Elements without content and without an end tag.
const VOID: [&str; 15] = [
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end without a tag when the next one begins, so that many in a row do not nest.
const SELF_ENDING: [&str; 16] = [
    "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup",
    "rp", "rt", "body",
];
/// Elements whose content contains no tags.
const RAW: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "noframes"];

/// Maximum attributes of a tag that are read, because building a page takes time proportional to the square
/// of the attributes of a tag.
const MAX_ATTRIBUTES: usize = 256;

/// Returns the page without the tags of elements nested deeper than `max_depth`, whose text is kept, and
/// without the attributes of a tag after the first [`MAX_ATTRIBUTES`].
pub(super) fn flattened(source: &str, max_depth: usize) -> Cow<'_, str> {
    let mut kept: Option<String> = None;
    // Start of the part that is not copied yet.
    let mut copied = 0;
    let mut open: Vec<Cow<'_, str>> = Vec::new();
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut deep: usize = 0;
    let mut tags = Tags { source, at: 0 };
    while let Some(tag) = tags.next() {
        if let Some(excess) = tag.excess {
            let out = kept.get_or_insert_with(String::new);
            out.push_str(&source[copied..excess]);
            copied = if source[..tag.end].ends_with('>') { tag.end - 1 } else { tag.end };
        }
        let name = tag.lower_case();
        if VOID.contains(&&*name) || SELF_ENDING.contains(&&*name) {
            continue;
        }
        let left_out = if tag.closes {
            if deep > 0 {
                deep -= 1;
                true
            } else {
                if counts.get(&name).is_some_and(|count| *count > 0) {
                    while let Some(last) = open.pop() {
                        let found = last == name;
                        counts.entry(last).and_modify(|count| *count -= 1);
                        if found {
                            break;
                        }
                    }
                }
                false
            }
        } else if open.len() >= max_depth {
            deep += 1;
            true
        } else {
            open.push(name.clone());
            *counts.entry(name).or_default() += 1;
            false
        };
        if left_out {
            let out = kept.get_or_insert_with(String::new);
            match source.get(copied..tag.start) {
                Some(before) => out.push_str(before),
                // The tag was shortened, so its beginning is already copied.
                None => out.truncate(out.rfind('<').unwrap_or(0)),
            }
            out.push(' ');
            copied = tag.end;
        }
    }
    match kept {
        Some(mut out) => {
            out.push_str(&source[copied..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(source),
    }
}

/// Rewrites an XHTML page for HTML parsers: `<title/>` becomes `<title></title>`, because HTML would read it
/// as the start of a title.
pub(in super::super) fn with_closed_elements(source: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut tags = Tags { source, at: 0 };
    while let Some(tag) = tags.next() {
        let is_void = VOID.contains(&&*tag.lower_case());
        if !tag.closes && !is_void && source[..tag.end].ends_with("/>") {
            out.push_str(&source[copied..tag.end - 2]);
            out.push_str("></");
            out.push_str(tag.name);
            out.push('>');
            copied = tag.end;
            // What looked like raw content was not.
            tags.at = tag.end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(source);
    }
    out.push_str(&source[copied..]);
    Cow::Owned(out)
}

/// A tag in its source.
struct Tag<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    closes: bool,
    /// Start of the surplus attributes.
    excess: Option<usize>,
}

impl<'a> Tag<'a> {
    fn lower_case(&self) -> Cow<'a, str> {
        if self.name.contains(|c: char| c.is_ascii_uppercase()) {
            Cow::Owned(self.name.to_ascii_lowercase())
        } else {
            Cow::Borrowed(self.name)
        }
    }
}

/// Iterates over the tags of a page, except those in comments and scripts.
struct Tags<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Tags<'a> {
    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let start = self.at + self.source.get(self.at..)?.find('<')?;
            let rest = &self.source[start + 1..];
            if rest.starts_with("!--") {
                let ends = [("-->", 3), ("--!>", 4)].map(|(mark, length)| Some(rest.find(mark)? + length));
                let end = ends.into_iter().flatten().min();
                self.at = end.map_or(self.source.len(), |end| start + 1 + end);
                continue;
            }
            let closes = rest.starts_with('/');
            let named = &rest[usize::from(closes)..];
            let length = named
                .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | ':'))
                .unwrap_or(named.len());
            if length == 0 || !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
                self.at = start + 1;
                continue;
            }
            let name = &named[..length];
            let TagEnd { end, excess } = tag_end(self.source, start + 1 + usize::from(closes))?;
            self.at = end;
            let is_raw = RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name));
            if !closes && is_raw && !self.source[..end].ends_with("/>") {
                self.at = raw_end(self.source, end, name);
            }
            return Some(Tag { start, end, name, closes, excess });
        }
    }
}

/// The end of a tag.
struct TagEnd {
    /// One past its `>`, or the end of the page.
    end: usize,
    /// Start of the surplus attributes.
    excess: Option<usize>,
}

/// Finds the end of the tag whose name starts at `from`, with HTML's rules for attributes. `None` if the page
/// ends inside a tag that does not have too many attributes.
fn tag_end(source: &str, from: usize) -> Option<TagEnd> {
    /// The syntax element that the next byte belongs to.
    enum At {
        TagName,
        BeforeName,
        Name,
        AfterName,
        BeforeValue,
        Value,
        Quoted(u8),
    }
    let mut at = At::TagName;
    let (mut attributes, mut excess) = (0, None);
    for (place, byte) in source.bytes().enumerate().skip(from) {
        let blank = byte.is_ascii_whitespace();
        at = match (at, byte) {
            (At::Quoted(quote), _) if byte == quote => At::BeforeName,
            (At::Quoted(quote), _) => At::Quoted(quote),
            (_, b'>') => return Some(TagEnd { end: place + 1, excess }),
            (At::BeforeValue, b'"' | b'\'') => At::Quoted(byte),
            (At::BeforeValue, _) if blank => At::BeforeValue,
            (At::BeforeValue, _) => At::Value,
            (At::Value, _) if !blank => At::Value,
            (At::Name | At::AfterName, b'=') => At::BeforeValue,
            (At::Name | At::AfterName, _) if blank => At::AfterName,
            (At::TagName, _) if !blank && byte != b'/' => At::TagName,
            (_, b'/') => At::BeforeName,
            (_, _) if blank => At::BeforeName,
            (At::Name, _) => At::Name,
            (_, _) => {
                attributes += 1;
                if attributes == MAX_ATTRIBUTES + 1 {
                    excess = Some(place);
                }
                At::Name
            }
        };
    }
    excess.map(|_| TagEnd { end: source.len(), excess })
}

/// Returns where the content of a script or similar element ends: at its closing tag.
fn raw_end(source: &str, from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(found) = source[at..].find("</") {
        let start = at + found;
        let is_it = source
            .get(start + 2..start + 2 + name.len())
            .is_some_and(|close| close.eq_ignore_ascii_case(name));
        if is_it {
            return start;
        }
        at = start + 2;
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_flat(source: &str, max_depth: usize, expected: &str) {
        assert_eq!(flattened(source, max_depth), expected);
    }

    #[test]
    fn only_elements_nested_too_deeply_lose_their_tags() {
        check_flat("<a><b>x<c y='>'>z</c></b></a><b>w</b>", 2, "<a><b>x z </b></a><b>w</b>");
        check_flat("<p>a<p>b<p>c<br><br><br>", 1, "<p>a<p>b<p>c<br><br><br>");
        check_flat("<a><B><i></A><a>x</a>", 3, "<a><B><i></A><a>x</a>");
        check_flat(
            "<a><script>'<b><b><b>'</script><!-- <b><b> --></a>",
            2,
            "<a><script>'<b><b><b>'</script><!-- <b><b> --></a>",
        );
        check_flat("a < b <1 <", 0, "a < b <1 <");
    }

    #[test]
    fn attributes_beyond_the_limit_are_dropped_in_any_notation() {
        let many = |from: usize, to: usize| (from..to).map(|n| format!(" y{n}=1")).collect::<String>();
        for (before, attributes) in
            [("", MAX_ATTRIBUTES), (" a= \">\"", MAX_ATTRIBUTES - 1), (" =\"", MAX_ATTRIBUTES - 1)]
        {
            let kept = format!("<p{before}{} ", many(0, attributes));
            let source = format!("{}{}>x</p>", kept.trim_end(), many(attributes, 2000));
            check_flat(&source, 9, &format!("{kept}>x</p>"));
            check_flat(&source[..source.len() - 6], 9, &kept);
            check_flat(&source.replace("<p", "<b"), 0, " x</p>");
        }
        check_flat("<!-- --!><a b='>'>x<!-- <b> -->", 0, "<!-- --!> x<!-- <b> -->");
    }

    #[test]
    fn implicitly_closed_elements_are_closed() {
        assert_eq!(
            with_closed_elements("<title/><br/><a id='x'/><p>t</p>"),
            "<title></title><br/><a id='x'></a><p>t</p>"
        );
        assert_eq!(with_closed_elements("<p>t</p>"), "<p>t</p>");
    }
}
