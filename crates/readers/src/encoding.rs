//! Detects the encoding of bytes and decodes them.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::ParseError;

/// Maximum bytes used for statistical detection.
const DETECTION_BYTES: usize = 1024 * 1024;
/// Number of bytes that are searched for an HTML declaration.
const DECLARATION_BYTES: usize = 1024;
/// Content with more than one control character or undecodable byte in this many characters is not text.
const MIN_CHARS_PER_FAULT: usize = 50;

/// Returns the text of `bytes` and the name of the detected encoding.
pub(super) fn decode(bytes: &[u8]) -> Result<(Cow<'_, str>, String), ParseError> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(ParseError::Undecodable { encoding: "UTF-16 (it has the byte order mark of UTF-32)" });
    }
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let name = if encoding == UTF_8 { "UTF-8 with BOM" } else { encoding.name() };
        return strict(encoding, &bytes[mark..]).map(|text| (text, name.to_owned()));
    }
    if let Some(encoding) = utf_16_without_mark(bytes) {
        return strict(encoding, bytes).map(|text| (text, encoding.name().to_owned()));
    }
    if bytes.contains(&0) {
        return Err(ParseError::Binary { reason: "it holds NUL bytes" });
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        // ISO-2022-JP consists of ASCII bytes and switches to Japanese with this escape.
        if bytes.windows(2).any(|pair| pair == b"\x1b$")
            && let Some(text) = ISO_2022_JP.decode_without_bom_handling_and_without_replacement(bytes)
        {
            return Ok((text, ISO_2022_JP.name().to_owned()));
        }
        return plausible(text.chars()).map(|()| (Cow::Borrowed(text), UTF_8.name().to_owned()));
    }
    if let Some((text, faults)) = damaged_utf_8(bytes) {
        return Ok((Cow::Owned(text), format!("UTF-8 ({faults} invalid sequences replaced)")));
    }
    if let Some(encoding) = declared(bytes)
        && let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes)
    {
        return Ok((text, encoding.name().to_owned()));
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(DETECTION_BYTES)], bytes.len() <= DETECTION_BYTES);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = strict(encoding, bytes)?;
    plausible(text.chars())?;
    Ok((text, encoding.name().to_owned()))
}

/// Returns the decoded text with a few faults replaced, or an error if there are many faults.
fn strict<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Result<Cow<'a, str>, ParseError> {
    let (text, faulty) = encoding.decode_without_bom_handling(bytes);
    if faulty {
        let faults = text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count();
        if faults * MIN_CHARS_PER_FAULT > text.chars().count() {
            return Err(ParseError::Undecodable { encoding: encoding.name() });
        }
    }
    Ok(text)
}

/// Detects UTF-16 by NUL bytes that occur only at even or only at odd positions.
fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |lane: usize| bytes.iter().skip(lane).step_by(2).filter(|&&byte| byte == 0).count();
    let units = bytes.len() / 2;
    let encoding = match (zeros(0), zeros(1)) {
        (0, odd) if odd * 20 >= units => UTF_16LE,
        (even, 0) if even * 20 >= units => UTF_16BE,
        _ => return None,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    plausible(text.chars()).ok().map(|()| encoding)
}

/// Returns an error for text with many control characters.
fn plausible(chars: impl Iterator<Item = char>) -> Result<(), ParseError> {
    let (mut all, mut odd) = (0, 0);
    for c in chars {
        all += 1;
        odd += usize::from(c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}'));
    }
    if odd * MIN_CHARS_PER_FAULT > all {
        Err(ParseError::Binary { reason: "it has too many control characters" })
    } else {
        Ok(())
    }
}

/// Returns UTF-8 text with its faults replaced and counted, if there are so few that no other encoding explains it.
fn damaged_utf_8(bytes: &[u8]) -> Option<(String, usize)> {
    let (mut good, mut faults) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        faults += usize::from(!chunk.invalid().is_empty());
    }
    (good >= faults * 10).then(|| (String::from_utf8_lossy(bytes).into_owned(), faults))
}

/// Returns the encoding that an HTML or XML document declares in its head.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES)]).to_ascii_lowercase();
    if !head.trim_start().starts_with('<') {
        return None;
    }
    let at = head.find("charset=").map(|at| at + 8).or_else(|| head.find("encoding=").map(|at| at + 9))?;
    let label = head[at..].trim_start_matches(['"', '\'', ' ']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':' | '.'));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_decode(bytes: &[u8], expected: &str, expected_encoding: &str) {
        let (text, encoding) = decode(bytes).expect("decodable bytes");
        assert_eq!((text.as_ref(), encoding.as_str()), (expected, expected_encoding));
    }

    fn utf_16(text: &str, bytes_of: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes_of).collect()
    }

    #[test]
    fn byte_order_marks_name_the_encoding() {
        check_decode("\u{feff}héllo".as_bytes(), "héllo", "UTF-8 with BOM");
        check_decode(&utf_16("\u{feff}héllo", u16::to_le_bytes), "héllo", "UTF-16LE");
        check_decode(&utf_16("\u{feff}héllo", u16::to_be_bytes), "héllo", "UTF-16BE");
    }

    #[test]
    fn utf_16_is_found_without_a_mark() {
        check_decode(&utf_16("Radium was found.", u16::to_le_bytes), "Radium was found.", "UTF-16LE");
        check_decode(&utf_16("Radium was found.", u16::to_be_bytes), "Radium was found.", "UTF-16BE");
    }

    #[test]
    fn legacy_encodings_are_found_by_statistics() {
        let western = "Le café est fermé à cause de l'été. “Où êtes-vous?”";
        let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(western);
        check_decode(&bytes, western, "windows-1252");
        let japanese = "日本語の文章です。東京は日本の首都である。";
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
        check_decode(&bytes, japanese, "Shift_JIS");
        let (bytes, _, _) = ISO_2022_JP.encode(japanese);
        check_decode(&bytes, japanese, "ISO-2022-JP");
    }

    #[test]
    fn a_declaration_wins_over_statistics() {
        let page = "<html><head><meta charset=\"iso-8859-7\"></head>άδεια</html>";
        let (bytes, _, _) = encoding_rs::ISO_8859_7.encode(page);
        check_decode(&bytes, page, "ISO-8859-7");
    }

    #[test]
    fn utf_8_with_a_broken_byte_stays_utf_8() {
        let bytes = [b"Z\xff ".as_slice(), "äöüßéèçñ漢字🚀".as_bytes()].concat();
        check_decode(&bytes, "Z\u{fffd} äöüßéèçñ漢字🚀", "UTF-8 (1 invalid sequences replaced)");
    }
}
