//! Reads messages saved by Outlook.

use graphloom_core::Format;
use msg_parser::{Attachment, Outlook, Person};

use super::super::draft::{Draft, words};
use super::super::{Body, ParseError, ParseLimits, html};
use super::{MAX_ATTACHMENTS, MAX_MESSAGE_DEPTH, finish, paragraphs};

/// Returns the message as people see it, like other e-mail: its plain text if there is one, otherwise its HTML.
pub(super) fn parse(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let message = Outlook::from_slice(bytes)
        .map_err(|error| ParseError::Broken { format: Format::Eml, reason: error.to_string() })?;
    if message.message_class.to_ascii_uppercase().ends_with("SMIME") {
        return Err(ParseError::Encrypted { format: Format::Eml });
    }
    let mut draft = Draft::new(limits.max_bytes);
    draft.title(&message.subject);
    let mut unread = 0;
    write(&message, 1, limits, &mut draft, &mut unread);
    finish(draft, unread)
}

fn write(message: &Outlook, level: u8, limits: &ParseLimits, draft: &mut Draft, unread: &mut usize) {
    let subject = words(&message.subject);
    draft.heading(level, if subject.is_empty() { "Message without subject" } else { &subject });
    let mut head = Vec::new();
    let sender = std::slice::from_ref(&message.sender);
    for (label, people) in [("From", sender), ("To", &message.to), ("Cc", &message.cc)] {
        let formatted = addresses(people);
        if !formatted.is_empty() {
            head.push(format!("{label}: {formatted}"));
        }
    }
    let dates = [&message.client_submit_time, &message.message_delivery_time, &message.headers.date];
    if let Some(date) = dates.into_iter().find(|date| !date.trim().is_empty()) {
        head.push(format!("Date: {}", words(date)));
    }
    draft.paragraph(&head.join("\n"));
    if message.body.trim().is_empty() {
        let page = if message.html.trim().is_empty() {
            message.html_from_rtf().unwrap_or_default()
        } else {
            message.html.clone()
        };
        draft.append(html::parse(&page, limits), level);
    } else {
        paragraphs(&message.body, draft);
    }
    for attachment in message.attachments.iter().take(MAX_ATTACHMENTS) {
        match attachment.as_message() {
            Some(Ok(inner)) if usize::from(level) < MAX_MESSAGE_DEPTH => {
                write(&inner, level + 1, limits, draft, unread);
            }
            Some(_) | None => {
                *unread += 1;
                draft.paragraph(&format!("Attachment: {}", name_of(attachment)));
            }
        }
        if draft.is_full() {
            return;
        }
    }
}

fn addresses(people: &[Person]) -> String {
    let formatted = people.iter().map(|person| match (words(&person.name), words(&person.email)) {
        (name, email) if name.is_empty() || name == email => email,
        (name, email) if email.is_empty() => name,
        (name, email) => format!("{name} <{email}>"),
    });
    formatted.filter(|formatted| !formatted.is_empty()).collect::<Vec<_>>().join(", ")
}

fn name_of(attachment: &Attachment) -> String {
    let names = [&attachment.long_file_name, &attachment.file_name, &attachment.display_name];
    names.into_iter().map(|name| words(name)).find(|name| !name.is_empty()).unwrap_or("unnamed".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    /// Creates a message with these streams.
    fn saved(streams: &[(&str, &str)]) -> Vec<u8> {
        let mut file = cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new()))
            .expect("a compound file");
        let mut add = |path: &str, bytes: &[u8]| {
            let mut stream = file.create_stream(path).expect("a stream");
            stream.write_all(bytes).expect("a stream in memory");
        };
        add("/__properties_version1.0", &[0; 32]);
        for (path, text) in streams {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            add(path, &bytes);
        }
        file.flush().expect("a file in memory");
        file.into_inner().into_inner()
    }

    #[test]
    fn an_outlook_message_is_read_like_others() {
        let bytes = saved(&[
            ("/__substg1.0_0037001F", "Pipes"),
            ("/__substg1.0_0C1A001F", "Ada Müller"),
            ("/__substg1.0_5D01001F", "ada@example.org"),
            ("/__substg1.0_1000001F", "Dear Bo,\r\n\r\nthe pipes leak.\r\n"),
        ]);
        let body = super::super::parse(&bytes, &ParseLimits::default()).expect("a message");
        assert_eq!(
            body.text,
            "# Pipes\n\nFrom: Ada Müller <ada@example.org>\n\nDear Bo,\n\nthe pipes leak.\n"
        );
        assert_eq!(body.title.as_deref(), Some("Pipes"));
    }

    #[test]
    fn a_damaged_outlook_message_is_refused() {
        let mut bytes = saved(&[("/__substg1.0_0037001F", "Pipes")]);
        bytes.truncate(600);
        assert!(super::super::parse(&bytes, &ParseLimits::default()).is_err());
    }
}
