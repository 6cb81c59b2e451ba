//! Reads e-mail messages and mailboxes: sender, recipients, subject, text, and the names of attachments.

mod mailbox;
mod outlook;

use std::borrow::Cow;
use std::collections::HashSet;

use graphloom_core::{Format, Part};
use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{Address, Message, MessageParser, MimeHeaders, PartType};

use super::draft::{Draft, words};
use super::{Body, ParseError, ParseLimits, html};
use mailbox::with_quoted_text;

/// Maximum nesting of forwarded messages.
const MAX_MESSAGE_DEPTH: usize = 5;
/// Maximum attachments that are listed.
const MAX_ATTACHMENTS: usize = 1000;

/// Maximum boundaries that are open at the same time in one message.
const MAX_BOUNDARIES: usize = 50;
/// Maximum bytes of a boundary. RFC 2046 allows 70.
const MAX_BOUNDARY_BYTES: usize = 200;

/// Minimum share of the characters of a page that its plain form has.
const MIN_PLAIN_SHARE: f64 = 0.25;
/// Minimum share of the words of a shorter plain form that its page has too.
const MIN_COMMON_WORDS: f64 = 0.5;

/// Returns the message as people see it: subject, sender, recipients, date and text. If the text exists in
/// two forms, the plain one is read, unless it only stands in for the other. Forwarded messages follow; other
/// attachments are listed but not read.
/// Every message of a mailbox is a part. If there is only one message, it provides the document's title.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    if bytes.starts_with(COMPOUND_FILE) {
        return outlook::parse(bytes, limits);
    }
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes).trim_ascii_start();
    let mut draft = Draft::new(limits.max_bytes);
    let mut unread = 0;
    if bytes.starts_with(b"From ") {
        read_mailbox(bytes, limits, &mut draft, &mut unread)?;
    } else {
        let whole = with_closed_parts(bytes);
        let message = message(&whole)?;
        draft.title(message.subject().unwrap_or_default());
        write(&message, 1, limits, &mut draft, &mut unread);
    }
    finish(draft, unread)
}

/// The first bytes of messages saved by Outlook.
const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the messages of a mailbox, each as a part. Counts the messages that cannot be read; an error if none can be read.
fn read_mailbox(
    bytes: &[u8],
    limits: &ParseLimits,
    draft: &mut Draft,
    unread: &mut usize,
) -> Result<(), ParseError> {
    let (mut number, mut lost) = (0, 0);
    let mut first_error = None;
    // Reading from memory cannot fail.
    for raw in MessageIterator::new(&*with_quoted_text(bytes)).flatten() {
        number += 1;
        limits.check_parts("messages", number as usize)?;
        match message(&with_closed_parts(raw.contents())) {
            Ok(message) => {
                draft.part(Part::Message(number));
                write(&message, 1, limits, draft, unread);
            }
            Err(error) => {
                lost += 1;
                first_error.get_or_insert(error);
            }
        }
        if draft.is_full() {
            break;
        }
    }
    if lost == number {
        let broken = ParseError::Broken { format: Format::Eml, reason: "it holds no message".to_owned() };
        return Err(first_error.unwrap_or(broken));
    }
    if lost > 0 {
        let messages = if lost == 1 { "1 message" } else { &format!("{lost} messages") };
        draft.remark(format!("{messages} of {number} could not be read"));
    }
    Ok(())
}

/// Reads one message; an error if it is not a message or is encrypted.
fn message(bytes: &[u8]) -> Result<Message<'_>, ParseError> {
    // The library accepts anything as a message. A real one has a sender, a subject, a date or a MIME version.
    let has_headers = |message: &Message<'_>| {
        ["From", "Subject", "Date", "MIME-Version"].iter().any(|name| message.header(*name).is_some())
    };
    let message = MessageParser::default()
        .parse(bytes)
        .filter(has_headers)
        .ok_or_else(|| ParseError::Broken { format: Format::Eml, reason: "it has no headers".to_owned() })?;
    if is_encrypted(&message) {
        return Err(ParseError::Encrypted { format: Format::Eml });
    }
    Ok(message)
}

/// Returns a message in which every part has an end: the closing line of a multipart is added where it is missing, as in
/// messages that were cut off. The library takes a part without an end for an attachment.
fn with_closed_parts(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut whole: Vec<u8> = Vec::new();
    let mut copied = 0;
    // Boundaries that may be open, outermost first, and whether a part has begun.
    let mut open: Vec<(&[u8], bool)> = Vec::new();
    let mut close = |unclosed: std::vec::Drain<'_, (&[u8], bool)>, before: usize| {
        for (boundary, _) in unclosed.rev().filter(|(_, begun)| *begun) {
            whole.extend_from_slice(&bytes[copied..before]);
            whole.extend_from_slice(&[b"\r\n--", boundary, b"--\r\n"].concat());
            copied = before;
        }
    };
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"--")
            && let Some(nth) = open.iter().rposition(|(boundary, _)| rest.starts_with(boundary))
        {
            close(open.drain(nth + 1..), at);
            if rest[open[nth].0.len()..].starts_with(b"--") {
                open.truncate(nth);
            } else {
                open[nth].1 = true;
            }
        } else if let Some(boundary) = boundary_in(line)
            && open.len() < MAX_BOUNDARIES
            && !open.iter().any(|(known, _)| *known == boundary)
        {
            open.push((boundary, false));
        }
        at += line.len();
    }
    close(open.drain(..), bytes.len());
    if whole.is_empty() {
        return Cow::Borrowed(bytes);
    }
    whole.extend_from_slice(&bytes[copied..]);
    Cow::Owned(whole)
}

/// Returns the boundary that a header line names: `Content-Type: multipart/mixed; boundary="x"`.
fn boundary_in(line: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"boundary=";
    let at = line.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))?;
    let value = &line[at + NAME.len()..];
    let (value, ends): (&[u8], &[u8]) =
        value.strip_prefix(b"\"").map_or((value, b"; \t\r\n"), |quoted| (quoted, b"\"\r\n"));
    let length = value.iter().position(|byte| ends.contains(byte)).unwrap_or(value.len());
    (1..=MAX_BOUNDARY_BYTES).contains(&length).then(|| &value[..length])
}

/// Returns the text, with a remark about the number of attachments that were not read.
fn finish(draft: Draft, unread: usize) -> Result<Body, ParseError> {
    let mut body = draft.finish()?;
    if unread > 0 {
        let files = if unread == 1 { "1 attachment was" } else { &format!("{unread} attachments were") };
        body.remarks.push(format!("{files} not read; save and add what matters"));
    }
    Ok(body)
}

fn write(message: &Message<'_>, level: u8, limits: &ParseLimits, draft: &mut Draft, unread: &mut usize) {
    draft.heading(level, message.subject().unwrap_or("Message without subject"));
    let mut head = Vec::new();
    for (label, address) in [("From", message.from()), ("To", message.to()), ("Cc", message.cc())] {
        let people = address.map(addresses).unwrap_or_default();
        if !people.is_empty() {
            head.push(format!("{label}: {people}"));
        }
    }
    head.extend(message.date().map(|date| format!("Date: {}", date.to_rfc3339())));
    draft.paragraph(&head.join("\n"));
    for part in body_of(message, limits) {
        match part {
            Form::Plain(text) => paragraphs(text, draft),
            Form::Page(page) => draft.append(page, level),
        }
    }
    for attachment in message.attachments().take(MAX_ATTACHMENTS) {
        match &attachment.body {
            PartType::Message(inner) if usize::from(level) < MAX_MESSAGE_DEPTH && !is_encrypted(inner) => {
                write(inner, level + 1, limits, draft, unread);
            }
            PartType::Text(_)
            | PartType::Html(_)
            | PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => {
                *unread += 1;
                draft.paragraph(&format!(
                    "Attachment: {}",
                    words(attachment.attachment_name().unwrap_or("unnamed"))
                ));
            }
        }
        if draft.is_full() {
            return;
        }
    }
}

/// A part of the text of a message.
enum Form<'a> {
    Plain(&'a str),
    Page(Body),
}

impl Form<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Page(page) => &page.text,
        }
    }
}

/// Returns the text of a message: in its plain form, or as a page if the plain form is blank or only stands in for the page.
fn body_of<'a>(message: &'a Message<'_>, limits: &ParseLimits) -> Vec<Form<'a>> {
    let read = |ids: &[u32]| {
        let parts = ids.iter().filter_map(|id| message.parts.get(*id as usize));
        let forms = parts.filter_map(|part| match &part.body {
            PartType::Text(text) => Some(Form::Plain(text)),
            PartType::Html(page) => Some(Form::Page(html::parse(page, limits))),
            PartType::Binary(_)
            | PartType::InlineBinary(_)
            | PartType::Message(_)
            | PartType::Multipart(_) => None,
        });
        forms.collect::<Vec<_>>()
    };
    let plain = read(&message.text_body);
    if message.text_body == message.html_body {
        return plain;
    }
    let page = read(&message.html_body);
    let all = |forms: &[Form<'_>]| forms.iter().map(Form::text).collect::<Vec<_>>().join("\n");
    if stands_in_for(&all(&plain), &all(&page)) { page } else { plain }
}

/// True if a plain text says much less than the page of the same message, or something else, as in "Your program cannot show
/// this message."
fn stands_in_for(plain: &str, page: &str) -> bool {
    let length = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
    let words = |text: &str| -> HashSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (plain_length, page_length) = (length(plain), length(page));
    if plain_length >= page_length {
        return false;
    }
    let (plain_words, page_words) = (words(plain), words(page));
    let common = plain_words.intersection(&page_words).count();
    (plain_length as f64) < MIN_PLAIN_SHARE * page_length as f64
        || (common as f64) < MIN_COMMON_WORDS * plain_words.len() as f64
}

/// Writes the blocks between blank lines as paragraphs.
fn paragraphs(text: &str, draft: &mut Draft) {
    let mut block = String::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            draft.paragraph(&std::mem::take(&mut block));
        } else {
            block.push_str(line);
            block.push('\n');
        }
    }
    draft.paragraph(&block);
}

fn addresses(all: &Address<'_>) -> String {
    let formatted = all.iter().map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    words(&formatted.filter(|formatted| !formatted.is_empty()).collect::<Vec<_>>().join(", "))
}

fn is_encrypted(message: &Message<'_>) -> bool {
    let Some(root) = message.parts.first() else { return false };
    root.content_type().is_some_and(|kind| {
        let sub = kind.subtype().unwrap_or_default().to_ascii_lowercase();
        let enveloped =
            kind.attribute("smime-type").is_none_or(|kind| kind.eq_ignore_ascii_case("enveloped-data"));
        sub == "encrypted" || (matches!(sub.as_str(), "pkcs7-mime" | "x-pkcs7-mime") && enveloped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_mail(message: &str, expected: &str) -> Body {
        let body =
            parse(message.replace('\n', "\r\n").as_bytes(), &ParseLimits::default()).expect("a message");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn headers_text_and_attachments_are_kept() {
        let body = check_mail(
            "From: Ada <ada@example.org>\nTo: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>, b@example.org\n\
             Date: Fri, 17 May 2024 10:00:00 +0200\nSubject: =?utf-8?B?UMO8cGVz?=\nMIME-Version: 1.0\n\
             Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: multipart/alternative; boundary=y\n\n\
             --y\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nDear J=C3=BC,\n\n\
             the pipes\nare here.\n--y\nContent-Type: text/html\n\n<p>the pipes</p>\n--y--\n--x\n\
             Content-Type: application/pdf; name=\"plan.pdf\"\nContent-Disposition: attachment; filename=\"plan.pdf\"\n\
             Content-Transfer-Encoding: base64\n\nJVBERg==\n--x--\n",
            "# Püpes\n\nFrom: Ada <ada@example.org>\nTo: Jürgen <j@example.org>, b@example.org\n\
             Date: 2024-05-17T10:00:00+02:00\n\nDear Jü,\n\nthe pipes\nare here.\n\nAttachment: plan.pdf\n",
        );
        assert_eq!(body.title.as_deref(), Some("Püpes"));
        assert_eq!(body.remarks, ["1 attachment was not read; save and add what matters"]);
    }

    #[test]
    fn a_message_with_only_html_is_read() {
        check_mail(
            "From: a@example.org\nSubject: Hi\nContent-Type: text/html\n\n<h1>News</h1><p>The <b>pipes</b>.\n",
            "# Hi\n\nFrom: a@example.org\n\n# News\n\nThe pipes.\n",
        );
    }

    #[test]
    fn a_page_is_read_if_its_plain_form_only_stands_in_for_it() {
        let check = |plain: &str, expected: &str| {
            check_mail(
                &format!(
                    "From: a@example.org\nSubject: Hi\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=y\n\n\
                     --y\nContent-Type: text/plain\n\n{plain}\n--y\nContent-Type: text/html\n\n\
                     <p>The bill of Kranz Ltd amounts to <b>480 euros</b>.</p>\n--y--\n"
                ),
                &format!("# Hi\n\nFrom: a@example.org\n\n{expected}\n"),
            )
        };
        let page = "The bill of Kranz Ltd amounts to 480 euros.";
        check(" ", page);
        check("The bill.", page);
        check("Your program cannot show this.", page);
        check("The bill of Kranz Ltd: 480 euros", "The bill of Kranz Ltd: 480 euros");
        let longer = "Our long letter says something else than the page does.";
        check(longer, longer);
    }

    #[test]
    fn a_line_of_a_message_that_begins_with_from_stays_in_it() {
        let text = "# Pipes\n\nFrom: ada@example.org\n\nThey leak.\n\nFrom Monday on, Karl repairs them.\nAt noon.\n\n\
                    # Re: Pipes\n\nFrom: bo@example.org\n\nNo more.\n";
        let mailbox = "From ada@example.org Fri May 17 10:00:00 2024\nFrom: ada@example.org\nSubject: Pipes\n\nThey leak.\n\n\
                       From Monday on, Karl repairs them.\nAt noon.\n\n\
                       From bo@example.org Sat May 18 10:00:00 2024\nFrom: bo@example.org\nSubject: Re: Pipes\n\nNo more.\n";
        let body = check_mail(mailbox, text);
        assert_eq!((body.parts.len(), body.remarks.len()), (2, 0));
        check_mail(&format!("\u{feff}{mailbox}"), text);
        check_mail(&format!("\n \n{mailbox}"), text);
    }

    #[test]
    fn every_message_of_a_mailbox_is_a_part() {
        let body = check_mail(
            "From ada@example.org Fri May 17 10:00:00 2024\nFrom: ada@example.org\nSubject: Pipes\n\nThey leak.\n\n>From here on.\n\n\
             From nobody Fri May 17 10:00:00 2024\n\n\
             From bo@example.org Sat May 18 10:00:00 2024\nFrom: bo@example.org\nSubject: Re: Pipes\n\n> They leak.\nNo more.\n",
            "# Pipes\n\nFrom: ada@example.org\n\nThey leak.\n\nFrom here on.\n\n\
             # Re: Pipes\n\nFrom: bo@example.org\n\n> They leak.\nNo more.\n",
        );
        let parts: Vec<_> = body.parts.iter().map(|mark| (mark.offset, mark.part.clone())).collect();
        assert_eq!(parts, [(0, Part::Message(1)), (59, Part::Message(3))]);
        assert_eq!(body.title, None);
        assert_eq!(body.remarks, ["1 message of 3 could not be read"]);
    }

    #[test]
    fn the_last_part_of_a_truncated_message_is_read() {
        let head = "From: a@example.org\nSubject: Hi\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x y\"\n\n";
        let text = "# Hi\n\nFrom: a@example.org\n\nThe pipes leak.\n\nThe valves too.\n";
        let part = |words: &str| format!("Content-Type: text/plain\n\n{words}\n");
        let (first, second) = (part("The pipes leak."), part("The valves too."));
        check_mail(&format!("{head}--x y\n{first}--x y\n{second}"), text);
        // An inner multipart without an end ends where the next part of the outer one begins.
        let inner = format!("Content-Type: multipart/alternative;\n boundary=z\n\n--z\n{first}");
        check_mail(&format!("{head}--x y\n{inner}--x y\n{second}--x y--\n"), text);
        check_mail(&format!("{head}--x y\n{first}--x y\n{second}--x y--\n"), text);
    }

    #[test]
    fn an_encrypted_message_is_refused() {
        let message = "From: a@example.org\r\nContent-Type: multipart/encrypted; boundary=x\r\n\r\n--x\r\n\r\nx\r\n--x--\r\n";
        let refused = parse(message.as_bytes(), &ParseLimits::default()).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::Encrypted { format: Format::Eml }));
    }
}
