//! Looks at the tags of a page before it is built: how deep they nest, and which close themselves.

use std::borrow::Cow;
use std::collections::HashMap;

/// Elements that hold nothing and have no end.
const VOID: [&str; 15] = [
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end without a tag when the next one begins, so that many in a row do not nest.
const SELF_ENDING: [&str; 16] = [
    "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup",
    "rp", "rt", "body",
];
/// Elements whose content holds no tags.
const RAW: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "noframes"];

/// The page without the tags of elements that stand deeper than `max_depth`; their text stays.
pub(super) fn flattened(source: &str, max_depth: usize) -> Cow<'_, str> {
    let mut kept: Option<String> = None;
    // Start of what is not yet copied.
    let mut copied = 0;
    let mut open: Vec<Cow<'_, str>> = Vec::new();
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut deep: usize = 0;
    let mut tags = Tags { source, at: 0 };
    while let Some(tag) = tags.next() {
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
            out.push_str(&source[copied..tag.start]);
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

/// A page of XHTML as HTML reads it: `<title/>` becomes `<title></title>`, which HTML would take for the start of a title.
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
            // What looked like raw content was none.
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

/// The tags of a page, without those in comments and scripts.
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
                self.at = rest.find("-->").map_or(self.source.len(), |end| start + 1 + end + 3);
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
            let end = tag_end(self.source, start)?;
            self.at = end;
            let is_raw = RAW.iter().any(|raw| raw.eq_ignore_ascii_case(name));
            if !closes && is_raw && !self.source[..end].ends_with("/>") {
                self.at = raw_end(self.source, end, name);
            }
            return Some(Tag { start, end, name, closes });
        }
    }
}

/// One past the `>` that ends the tag at `start`, outside of quotes.
fn tag_end(source: &str, start: usize) -> Option<usize> {
    let mut quote: Option<u8> = None;
    for (at, byte) in source.bytes().enumerate().skip(start) {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') if source.as_bytes()[..at].ends_with(b"=") => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None | Some(_), _) => {}
        }
    }
    None
}

/// Where the content of a script or the like ends: at its closing tag.
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
    fn only_what_stands_too_deep_loses_its_tags() {
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
    fn elements_that_close_themselves_are_closed() {
        assert_eq!(
            with_closed_elements("<title/><br/><a id='x'/><p>t</p>"),
            "<title></title><br/><a id='x'></a><p>t</p>"
        );
        assert_eq!(with_closed_elements("<p>t</p>"), "<p>t</p>");
    }
}
