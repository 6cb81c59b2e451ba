//! Reads what people wrote on pages: the values of form fields and notes.

use pdf_extract::{Dictionary, Document, Object, ObjectId, decode_text_string};

use super::super::draft::words;

/// Maximum fields to follow from a field to the field that it belongs to.
const MAX_FIELD_DEPTH: usize = 20;
/// The flag of an annotation that is not shown.
const HIDDEN: i64 = 1 << 1;
/// The flag of a field for a password.
const PASSWORD: i64 = 1 << 13;

/// Returns the filled form fields of a page, `name: value`, and its notes, in the order of the file. Stops after more than
/// `max_bytes`.
pub(super) fn written_on(document: &Document, page: ObjectId, max_bytes: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut bytes = 0;
    for annotation in document.get_page_annotations(page).unwrap_or_default() {
        let is_hidden = annotation.get(b"F").and_then(Object::as_i64).is_ok_and(|flags| flags & HIDDEN != 0);
        let text = match annotation.get(b"Subtype").and_then(Object::as_name) {
            _ if is_hidden => None,
            Ok(b"Widget") => field(document, annotation),
            Ok(b"FreeText" | b"Text") => get(document, annotation, b"Contents").and_then(text_of),
            Ok(_) | Err(_) => None,
        };
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            bytes += text.len();
            texts.push(text);
        }
        if bytes > max_bytes {
            break;
        }
    }
    texts
}

/// Returns a form field with its name; `None` if it is not filled in.
fn field(document: &Document, widget: &Dictionary) -> Option<String> {
    let flags = inherited(document, widget, b"Ff").and_then(|flags| flags.as_i64().ok()).unwrap_or(0);
    if flags & PASSWORD != 0 {
        return None;
    }
    let described = inherited(document, widget, b"TU").and_then(text_of);
    let named = || inherited(document, widget, b"T").and_then(text_of).filter(|name| is_readable(name));
    let name = words(&described.or_else(named).unwrap_or_default());
    let value = match inherited(document, widget, b"V")? {
        // The value of several boxes names the one that is ticked.
        Object::Name(ticked) => {
            let state = get(document, widget, b"AS").and_then(|state| state.as_name().ok());
            let is_ticked = ticked != b"Off" && state == Some(ticked.as_slice()) && !name.is_empty();
            is_ticked.then(|| String::from_utf8_lossy(ticked).into_owned())
        }
        Object::Array(chosen) => {
            let chosen: Vec<String> = chosen.iter().filter_map(text_of).collect();
            Some(chosen.join(", "))
        }
        value => text_of(value),
    };
    let value = value.filter(|value| !value.trim().is_empty())?;
    Some(if name.is_empty() { value } else { format!("{name}: {value}") })
}

/// True if the name of a field is made of words, unlike `f1_01[0]`.
fn is_readable(name: &str) -> bool {
    name.chars().all(|c| c.is_alphabetic() || c.is_whitespace() || matches!(c, '-' | '_' | '\''))
}

/// Returns the value of a field or of the nearest field that it belongs to.
fn inherited<'a>(document: &'a Document, field: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    let mut field = field;
    for _ in 0..MAX_FIELD_DEPTH {
        if let Some(value) = get(document, field, key) {
            return Some(value);
        }
        field = get(document, field, b"Parent")?.as_dict().ok()?;
    }
    None
}

fn get<'a>(document: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    document.dereference(dictionary.get(key).ok()?).ok().map(|(_, value)| value)
}

fn text_of(object: &Object) -> Option<String> {
    decode_text_string(object).ok()
}

#[cfg(test)]
mod tests {
    use super::super::super::{Body, ParseLimits};
    use super::super::parse;
    use super::super::tests::{file, show};

    /// Reads a page with a line of text and these annotations, which may belong to field 20.
    #[track_caller]
    fn check_written(annotations: &[&str], expected: &str) -> Body {
        let references: Vec<String> = (0..annotations.len()).map(|at| format!("{} 0 R", 30 + at)).collect();
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> \
             /Annots [{}] >>",
            references.join(" ")
        );
        let content = show(&[(50, 700, 10, "Please fill in.")]);
        let mut objects = vec![
            (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
            (2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned()),
            (3, page),
            (4, format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len())),
            (5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned()),
            (20, "<< /FT /Btn /T (Colour) /V /Red /Parent 20 0 R >>".to_owned()),
        ];
        objects.extend(annotations.iter().enumerate().map(|(at, text)| (30 + at, (*text).to_owned())));
        let body = parse(&file(&objects), &ParseLimits::default()).expect("a document");
        assert_eq!(body.text, expected);
        body
    }

    #[test]
    fn filled_fields_and_notes_are_read_at_their_page() {
        check_written(
            &[
                "<< /Subtype /Widget /FT /Tx /T (f1[0]) /TU (Name of the applicant) /V (Gunnar Hauge) >>",
                "<< /Subtype /Widget /FT /Tx /T (f2[0]) /V (Stavanger) >>",
                "<< /Subtype /Widget /FT /Ch /T (Days) /V [(Monday) (Friday)] >>",
                "<< /Subtype /Widget /Parent 20 0 R /AS /Off >>",
                "<< /Subtype /Widget /Parent 20 0 R /AS /Red >>",
                "<< /Subtype /FreeText /Contents (Approved by Tove Lie.) >>",
            ],
            "Please fill in.\n\nName of the applicant: Gunnar Hauge\n\nStavanger\n\nDays: Monday, Friday\n\nColour: Red\n\n\
             Approved by Tove Lie.\n",
        );
    }

    #[test]
    fn empty_and_hidden_fields_and_passwords_are_left_out() {
        check_written(
            &[
                "<< /Subtype /Widget /FT /Tx /T (Name) /V () >>",
                "<< /Subtype /Widget /FT /Tx /T (Key) /V (secret) /Ff 8192 >>",
                "<< /Subtype /Widget /FT /Tx /T (Code) /V (x) /F 2 >>",
                "<< /Subtype /Widget /FT /Sig /T (Signature) /V << /M (now) >> >>",
                "<< /Subtype /Link /Contents (a link) >>",
            ],
            "Please fill in.\n",
        );
    }
}
