//! File names in multipart forms, which browsers and programs send in several ways.

use crate::problem::Problem;

/// The file name of a form part. `filename*` (RFC 5987), which declares its encoding, takes precedence over
/// `filename`.
///
/// - `plain`: the value of `filename`, if present and valid UTF-8.
/// - `disposition`: the raw `Content-Disposition` of the part.
pub(crate) fn of(plain: Option<&str>, disposition: &[u8]) -> Result<String, Problem> {
    if let Some(extended) = extended(disposition) {
        return decoded(&extended).ok_or_else(|| {
            Problem::invalid("invalid file name in filename*")
                .remedy(Some("send filename*=UTF-8''NAME with non-ASCII bytes as %XX"))
        });
    }
    if let Some(name) = plain {
        return Ok(name.to_owned());
    }
    Err(match has_parameter(disposition, b"filename") {
        true => Problem::invalid("the file name is not valid UTF-8")
            .remedy(Some("send it in UTF-8, or as filename*=UTF-8''NAME with non-ASCII bytes as %XX")),
        false => Problem::invalid("the field `file` has no file name"),
    })
}

/// The parameters after the disposition type; semicolons in quotes do not separate.
fn parameters(disposition: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut quoted = false;
    let parts = disposition.split(move |byte| {
        quoted ^= *byte == b'"';
        *byte == b';' && !quoted
    });
    parts.skip(1).filter_map(|part| {
        let at = part.iter().position(|byte| *byte == b'=')?;
        Some((part[..at].trim_ascii(), part[at + 1..].trim_ascii()))
    })
}

fn has_parameter(disposition: &[u8], wanted: &[u8]) -> bool {
    parameters(disposition).any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

/// The value of `filename*`.
fn extended(disposition: &[u8]) -> Option<Vec<u8>> {
    let (_, value) = parameters(disposition).find(|(name, _)| name.eq_ignore_ascii_case(b"filename*"))?;
    let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    Some(unquoted.unwrap_or(value).to_owned())
}

/// Decodes `UTF-8'LANGUAGE'NAME`; `None` for other encodings or invalid UTF-8.
fn decoded(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (encoding, _, name) = (parts.next()?, parts.next()?, parts.next()?);
    if !encoding.eq_ignore_ascii_case(b"utf-8") {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (mut bytes, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((first, after)) = rest.split_first() {
        (rest, bytes) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                bytes.push(digit(*high)? * 16 + digit(*low)?);
                (after, bytes)
            }
            (b'%', _) => return None,
            (byte, after) => {
                bytes.push(*byte);
                (after, bytes)
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_name(plain: Option<&str>, disposition: &[u8]) -> Result<String, String> {
        of(plain, disposition).map_err(|problem| problem.words())
    }

    #[test]
    fn the_extended_name_takes_precedence_over_the_plain_one() {
        let both = b"form-data; name=\"file\"; filename=\"a.md\"; filename*=UTF-8''%C3%84rger%20%E2%82%AC.md";
        assert_eq!(check_name(Some("a.md"), both).as_deref(), Ok("Ärger €.md"));
        let tagged = b"form-data; name=\"file\"; FileName*=utf-8'de'b.md";
        assert_eq!(check_name(None, tagged).as_deref(), Ok("b.md"));
        let plain = b"form-data; name=\"file\"; filename=\"x; filename*=y.md\"";
        assert_eq!(check_name(Some("x; filename*=y.md"), plain).as_deref(), Ok("x; filename*=y.md"));
    }

    #[test]
    fn an_unreadable_name_is_an_error_with_the_reason() {
        let disposition = |name: &str| format!("form-data; name=\"file\"; {name}").into_bytes();
        for name in
            ["filename*=UTF-8''%ff.md", "filename*=UTF-8''%4", "filename*=latin1''a.md", "filename*=a.md"]
        {
            assert!(
                check_name(Some("a.md"), &disposition(name)).is_err_and(|said| said.contains("filename*")),
                "{name}"
            );
        }
        let bytes = [b"form-data; name=\"file\"; filename=\"".as_slice(), b"\xe4.md\""].concat();
        assert!(check_name(None, &bytes).is_err_and(|said| said.contains("not valid UTF-8")));
        assert!(
            check_name(None, b"form-data; name=\"file\"").is_err_and(|said| said.contains("no file name"))
        );
    }
}
