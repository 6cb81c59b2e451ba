//! Links to the cited place in a document: a line, a page, or the words on a web page.

use graphloom_core::{Part, Place};

/// Returns `address` with the cited place, as far as the program that opens it can show one.
///
/// - `line`: the line in the file; `None` if lines of the text are not those of the file.
/// - `quote`: the cited text.
///
/// A file with lines gets `#12`, as editors and terminals read it, a PDF document `#page=3`, and a web page, or a file of one, a text
/// fragment (`#:~:text=...`), to which browsers scroll.
pub(crate) fn to_place(address: String, line: Option<u32>, place: Option<&Place>, quote: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or_default().to_lowercase();
    let has_ending = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    let is_file = path.starts_with("file:");
    match (line, place.map(|place| &place.first)) {
        (_, Some(Part::Page(page))) if has_ending(&[".pdf"]) => format!("{address}#page={page}"),
        (_, Some(_)) => address,
        (Some(line), None) if is_file => format!("{address}#{line}"),
        (_, None) if is_file && !has_ending(&[".html", ".htm", ".xhtml"]) => address,
        (_, None) => match text_to_find(quote) {
            Some(text) if address.contains('#') => format!("{address}:~:text={text}"),
            Some(text) => format!("{address}#:~:text={text}"),
            None => address,
        },
    }
}

/// Returns the first words of a quote as a text fragment, as they most likely are on the page: up to the first mark of Markdown or
/// of a table, which the page does not have. `None` if these words are too few to find the place.
fn text_to_find(quote: &str) -> Option<String> {
    const MIN_WORDS: usize = 3;
    const MAX_WORDS: usize = 8;
    const MAX_CHARS: usize = 60;
    const MIN_CHARS_UNSPACED: usize = 6;
    let line = quote.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches(['#', '-', '*', '>', ' ']);
    let is_plain = |word: &&str| {
        word.contains(char::is_alphanumeric) && !word.contains(['*', '_', '[', ']', '|', '`', '<', '>', '\\'])
    };
    let words: Vec<&str> = line.split_whitespace().take_while(is_plain).take(MAX_WORDS).collect();
    let text: String = words.join(" ").chars().take(MAX_CHARS).collect();
    let is_unspaced = !text.is_ascii() && text.chars().count() >= MIN_CHARS_UNSPACED;
    (words.len() >= MIN_WORDS || is_unspaced).then(|| encoded(&text, "._~"))
}

/// Percent-encodes a text for a URL, except letters and digits of ASCII and the `plain` characters.
pub(crate) fn encoded(text: &str, plain: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte);
    let encode =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, line: Option<u32>, place: Option<Part>, quote: &str, expected: &str) {
        let place = place.map(|part| Place { first: part.clone(), last: part });
        assert_eq!(to_place(address.to_owned(), line, place.as_ref(), quote), expected);
    }

    #[test]
    fn a_file_with_lines_is_opened_at_the_line_and_a_pdf_at_the_page() {
        let quote = "Ada Lovelace wrote it.";
        check("file:///a/b.md", Some(12), None, quote, "file:///a/b.md#12");
        check("file:///a/b.PDF", None, Some(Part::Page(3)), quote, "file:///a/b.PDF#page=3");
        check("https://a.example/b.pdf", None, Some(Part::Page(3)), quote, "https://a.example/b.pdf#page=3");
        check("file:///a/b.pptx", None, Some(Part::Slide(3)), quote, "file:///a/b.pptx");
        check("file:///a/b.rtf", None, None, quote, "file:///a/b.rtf");
    }

    #[test]
    fn a_web_page_is_opened_at_the_first_words_of_the_quote() {
        let page = "file:///a/b.html";
        let words = "Ada%20Lovelace%20wrote%20it%2C%20in%201843.";
        check(page, None, None, "Ada Lovelace wrote it, in 1843.", &format!("{page}#:~:text={words}"));
        check(
            page,
            None,
            None,
            "\n- Ada Lovelace wrote | 1843",
            &format!("{page}#:~:text=Ada%20Lovelace%20wrote"),
        );
        check(
            page,
            None,
            None,
            "one two three four five six seven eight nine",
            &format!("{page}#:~:text=one%20two%20three%20four%20five%20six%20seven%20eight"),
        );
        check(
            "https://a.example/b?c=1#d",
            None,
            None,
            "a well-known word",
            "https://a.example/b?c=1#d:~:text=a%20well%2Dknown%20word",
        );
        check(page, None, None, "长城有多长？", &format!("{page}#:~:text={}", encoded("长城有多长？", "")));
    }

    #[test]
    fn a_page_is_opened_at_its_top_if_the_quote_has_too_few_plain_words() {
        for quote in ["", "Ada", "**Ada** wrote it", "Name | Year"] {
            check("https://a.example/b", None, None, quote, "https://a.example/b");
        }
    }
}
