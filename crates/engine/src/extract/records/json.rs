//! Reads JSON with positions. Valid JSON is read as it is; damaged JSON is read as well as a person could.
//!
//! Every repair applies only where valid JSON is impossible, so valid JSON is never altered: a test
//! compares it with `serde_json`.

use super::marks::delimiter_at;
use super::steps::tally;

/// Maximum nesting depth; brackets beyond it are skipped.
const MAX_DEPTH: usize = 64;
/// Maximum length of a bare word, such as an unquoted key.
const MAX_WORD_BYTES: usize = 256;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: Json,
    /// Whether the text ended inside it.
    pub(super) cut: bool,
    /// Whether it, or something inside it, was invalid JSON.
    pub(super) repaired: bool,
}

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Text(String),
    /// As written.
    Number(String),
    Bool(bool),
    Null,
}

/// The outcome of reading.
pub(super) enum Outcome {
    /// A value.
    Value(Node),
    /// No JSON after all: at this byte is something that no repair explains, such as a tuple delimiter.
    Not(usize),
}

/// Reads the value that starts at `start`, with `{` or `[`.
pub(super) fn read(text: &str, start: usize) -> Outcome {
    let mut reader = Reader { text, at: start, depth: 0, arrays: 0, foreign: None };
    let node = reader.value(Place::Top);
    match reader.foreign {
        Some(at) => Outcome::Not(at),
        None => Outcome::Value(node),
    }
}

/// True if JSON plausibly starts at `at`: a bracket, and then something that may follow one.
pub(super) fn begins(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let Some(open) = rest.chars().next().filter(|c| matches!(c, '{' | '[')) else { return false };
    let inner = rest[1..].trim_start();
    let Some(first) = inner.chars().next() else { return false };
    match open {
        '{' => {
            matches!(first, '"' | '\'' | '“' | '}') || {
                let word =
                    inner.len() - inner.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
                word > 0 && word < MAX_WORD_BYTES && inner[word..].trim_start().starts_with([':', '：'])
            }
        }
        _ => matches!(first, '{' | '[' | '"' | ']' | '“'),
    }
}

/// What a value is part of, which decides what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Key,
    Object,
    Array,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Number of arrays around the current place.
    arrays: usize,
    /// Where reading gave up.
    foreign: Option<usize>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        tally(1);
        self.rest().chars().next()
    }

    fn skip(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Skips white space and comments. True if there was a comment.
    fn space(&mut self) -> bool {
        let mut commented = false;
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            tally(blank);
            let rest = self.rest();
            let end = if rest.starts_with("//") {
                rest.find('\n')
            } else if rest.starts_with("/*") {
                rest.find("*/").map(|end| end + 2)
            } else {
                return commented;
            };
            commented = true;
            self.at += end.unwrap_or(rest.len());
        }
    }

    fn value(&mut self, place: Place) -> Node {
        let start = self.at;
        let node = |value, end, cut, repaired| Node { start, end, value, cut, repaired };
        match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some(quote @ ('"' | '“' | '\'')) => {
                let (text, cut, repaired) = self.string(quote, place);
                node(Json::Text(text), self.at, cut, repaired)
            }
            Some(_) => {
                let word = self.word();
                let cut = self.at == self.text.len();
                let (value, repaired) = match word.as_str() {
                    "true" => (Json::Bool(true), false),
                    "false" => (Json::Bool(false), false),
                    "null" => (Json::Null, false),
                    "True" => (Json::Bool(true), true),
                    "False" => (Json::Bool(false), true),
                    "" | "None" | "NaN" | "undefined" => (Json::Null, true),
                    number if is_number(number) => (Json::Number(word), false),
                    _ => (Json::Text(word), true),
                };
                node(value, self.at, cut, repaired)
            }
            None => node(Json::Null, start, true, true),
        }
    }

    /// Reads a bare word up to what ends a value, without white space around it.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let window = &rest[..rest.floor_char_boundary(MAX_WORD_BYTES)];
        let end =
            window.find([',', '}', ']', ':', '\n', '"', '{', '[', '<', '，', '：']).unwrap_or(window.len());
        let end = window[..end].find("//").unwrap_or(end);
        let word = window[..end].trim().to_owned();
        self.at += end;
        tally(window.len());
        word
    }

    fn object(&mut self) -> Node {
        let start = self.at;
        let mut members = Vec::new();
        let (mut cut, mut repaired) = (false, false);
        self.at += 1;
        self.depth += 1;
        // True at the start and after a comma. Valid JSON has one comma between members, and none elsewhere.
        let mut comma = true;
        loop {
            repaired |= self.space();
            if self.foreign.is_some() {
                break;
            }
            match self.peek() {
                None => {
                    cut = true;
                    break;
                }
                Some('}') => {
                    repaired |= comma && !members.is_empty();
                    self.at += 1;
                    break;
                }
                Some(',' | '，') => {
                    repaired |= comma || self.peek() == Some('，');
                    comma = true;
                    self.skip();
                }
                // The object's closing bracket is missing.
                Some(']') if self.arrays > 0 => {
                    repaired = true;
                    break;
                }
                Some('{') if self.arrays > 0 && !members.is_empty() => {
                    repaired = true;
                    break;
                }
                Some('<' | '(' | '（' | '＜') => self.foreign = Some(self.at),
                Some('{' | '[' | ']' | ':' | '：') => {
                    repaired = true;
                    self.skip();
                }
                Some(first) => {
                    repaired |= !comma || first != '"';
                    comma = false;
                    let before = self.at;
                    let key = self.value(Place::Key);
                    if self.at == before {
                        self.skip();
                    }
                    repaired |= key.repaired || self.space();
                    match self.peek() {
                        Some(colon @ (':' | '：')) => {
                            repaired |= colon != ':';
                            self.skip();
                        }
                        None => {
                            cut = true;
                            break;
                        }
                        Some(_) => {
                            repaired = true;
                            continue;
                        }
                    }
                    repaired |= self.space();
                    if matches!(self.peek(), Some(',' | '，' | '}' | ']')) {
                        repaired = true;
                        continue;
                    }
                    if self.depth >= MAX_DEPTH && matches!(self.peek(), Some('{' | '[')) {
                        repaired = true;
                        self.skip();
                        continue;
                    }
                    let value = self.value(Place::Object);
                    repaired |= value.repaired;
                    cut |= value.cut;
                    if let Json::Text(key) = key.value {
                        members.push((key, value));
                    }
                }
            }
        }
        self.depth -= 1;
        Node { start, end: self.at, value: Json::Object(members), cut, repaired }
    }

    fn array(&mut self) -> Node {
        let start = self.at;
        let mut items: Vec<Node> = Vec::new();
        let (mut cut, mut repaired) = (false, false);
        self.at += 1;
        self.depth += 1;
        self.arrays += 1;
        let mut comma = true;
        loop {
            repaired |= self.space();
            if self.foreign.is_some() {
                break;
            }
            match self.peek() {
                None => {
                    cut = true;
                    break;
                }
                Some(']') => {
                    repaired |= comma && !items.is_empty();
                    self.at += 1;
                    break;
                }
                Some(',' | '，') => {
                    repaired |= comma || self.peek() == Some('，');
                    comma = true;
                    self.skip();
                }
                // The array's closing bracket is missing.
                Some('}') => {
                    repaired = true;
                    break;
                }
                Some('<' | '(' | '（' | '＜') => self.foreign = Some(self.at),
                Some('{' | '[') if self.depth >= MAX_DEPTH => {
                    repaired = true;
                    self.skip();
                }
                Some(_) => {
                    repaired |= !comma;
                    comma = false;
                    let before = self.at;
                    let item = self.value(Place::Array);
                    if self.at == before {
                        self.skip();
                    }
                    repaired |= item.repaired;
                    cut |= item.cut;
                    items.push(item);
                }
            }
        }
        self.depth -= 1;
        self.arrays -= 1;
        Node { start, end: self.at, value: Json::Array(items), cut, repaired }
    }

    /// Reads the string that starts here: its content, whether the text ended inside it, whether it was repaired.
    fn string(&mut self, quote: char, place: Place) -> (String, bool, bool) {
        let mut content = String::new();
        let mut repaired = quote != '"';
        self.skip();
        loop {
            let Some(c) = self.peek() else { return (content, true, true) };
            let closes = match quote {
                '"' => c == '"',
                '“' => matches!(c, '”' | '"'),
                _ => c == '\'',
            };
            if closes {
                self.skip();
                if self.may_end(place) {
                    return (content, false, repaired);
                }
                // A quotation mark inside the text.
                repaired = true;
                content.push(c);
            } else if c == '\\' {
                repaired |= self.escape(&mut content);
            } else if c == '\n' && self.next_line_is_structure() {
                return (content, false, true);
            } else {
                repaired |= c.is_control() && c < '\u{20}';
                content.push(c);
                self.skip();
            }
        }
    }

    /// True if what follows a quote can follow the end of a string at `place`. For valid JSON it always can.
    fn may_end(&self, place: Place) -> bool {
        let rest = self.rest();
        let space = rest.len() - rest.trim_start().len();
        tally(space);
        let next = rest[space..].chars().next();
        let after_comma = |rest: &str| rest.trim_start().chars().next();
        match (place, next) {
            (_, None) | (Place::Top, _) => true,
            (Place::Key, Some(c)) => {
                matches!(c, ':' | '：' | ',' | '}') || delimiter_at(rest, space, false).is_some()
            }
            (Place::Object | Place::Array, Some('}' | ']')) => true,
            (Place::Object, Some(comma @ (',' | '，'))) => {
                let after = &rest[space + comma.len_utf8()..];
                match after_comma(after) {
                    None | Some('"' | '“' | '\'' | '}' | ']' | '/' | ',') => true,
                    Some(c) if c.is_ascii_alphabetic() || c == '_' => is_bare_key(after.trim_start()),
                    Some(_) => false,
                }
            }
            (Place::Array, Some(comma @ (',' | '，'))) => {
                let after = rest[space + comma.len_utf8()..].trim_start();
                let literal = ["true", "false", "null", "None", "True", "False"];
                after.is_empty()
                    || after.starts_with(['"', '“', '\'', '{', '[', ']', '}', '/', '-', ','])
                    || after.starts_with(|c: char| c.is_ascii_digit())
                    || literal.iter().any(|word| after.starts_with(word))
            }
            // The comma is missing if the next string starts on a line of its own.
            (Place::Object | Place::Array, Some('"' | '“')) => rest[..space].contains('\n'),
            (Place::Object | Place::Array, Some('/')) => {
                rest[space..].starts_with("//") || rest[space..].starts_with("/*")
            }
            // The field of a tuple, and not JSON at all.
            (Place::Object | Place::Array, Some(_)) => delimiter_at(rest, space, false).is_some(),
        }
    }

    /// True if the line after this line break continues with structure, so the string's closing quote is missing.
    fn next_line_is_structure(&self) -> bool {
        let rest = self.rest()[1..].trim_start_matches([' ', '\t', '\r']);
        match rest.chars().next() {
            Some('}' | ']' | '{') => true,
            Some('"') => {
                let word = bounded(&rest[1..]);
                word.find('"').is_some_and(|end| word[end + 1..].trim_start().starts_with(':'))
            }
            Some(_) | None => false,
        }
    }

    /// Reads the escape that starts here. True if it was invalid and is kept as written.
    fn escape(&mut self, content: &mut String) -> bool {
        self.at += 1;
        let Some(c) = self.peek() else {
            content.push('\\');
            return true;
        };
        let plain = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(content),
            // Formulas and paths: `\alpha`, `C:\dir`.
            _ => {
                content.push('\\');
                return true;
            }
        };
        self.at += 1;
        content.push(plain);
        false
    }

    fn unicode(&mut self, content: &mut String) -> bool {
        let hex = |text: &str, at: usize| {
            let digits = text.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
            digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
        };
        let Some(first) = hex(self.text, self.at + 1) else {
            content.push('\\');
            return true;
        };
        self.at += 5;
        if let Some(c) = char::from_u32(first) {
            content.push(c);
            return false;
        }
        let second = if self.rest().starts_with("\\u") { hex(self.text, self.at + 2) } else { None };
        let joined = second
            .filter(|second| first < 0xdc00 && (0xdc00..0xe000).contains(second))
            .and_then(|second| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
        match joined {
            Some(c) => {
                self.at += 6;
                content.push(c);
                false
            }
            None => {
                content.push('\u{fffd}');
                true
            }
        }
    }
}

/// True if a number may be written like this; accepts every number that JSON allows.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'))
}

fn is_bare_key(rest: &str) -> bool {
    let word = bounded(rest);
    let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
    word[end..].trim_start().starts_with([':', '：'])
}

fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_WORD_BYTES)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn plain(node: &Node) -> Value {
        match &node.value {
            Json::Object(members) => {
                Value::Object(members.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
            }
            Json::Array(items) => Value::Array(items.iter().map(plain).collect()),
            Json::Text(text) => Value::String(text.clone()),
            Json::Number(number) => serde_json::from_str(number).unwrap_or(Value::Null),
            Json::Bool(is) => Value::Bool(*is),
            Json::Null => Value::Null,
        }
    }

    #[track_caller]
    fn check_repaired(text: &str, expected: &str) {
        let Outcome::Value(node) = read(text, 0) else { panic!("no JSON: {text}") };
        assert!(node.repaired || node.cut, "{text}");
        let expected: Value = serde_json::from_str(expected).expect("the expectation is JSON");
        assert_eq!(plain(&node), expected, "{text}");
    }

    #[test]
    fn damaged_json_is_repaired_as_a_person_would_read_it() {
        check_repaired(r#"{"a": "x", "b": "y",}"#, r#"{"a":"x","b":"y"}"#);
        check_repaired(r#"{"a": "he said "hi" to me", "b": 1}"#, r#"{"a":"he said \"hi\" to me","b":1}"#);
        check_repaired("{'a': 'x', b: None, “c”： “y”}", r#"{"a":"x","b":null,"c":"y"}"#);
        check_repaired("[{\"a\": 1}, {\"a\": 2", r#"[{"a":1},{"a":2}]"#);
        check_repaired("[{\"a\": 1} {\"a\": 2}]", r#"[{"a":1},{"a":2}]"#);
        check_repaired("{\"a\": \"one\ntwo\"}", r#"{"a":"one\ntwo"}"#);
        check_repaired("{\"a\": \"one,\n\"b\": \"two\"}", r#"{"a":"one,","b":"two"}"#);
        check_repaired(r#"{"a": "\alpha"} "#, r#"{"a":"\\alpha"}"#);
        check_repaired("{\"a\": 1 // note\n}", r#"{"a":1}"#);
        check_repaired("[{\"a\": 1, \"b\": 2]", r#"[{"a":1,"b":2}]"#);
    }

    #[test]
    fn tuples_in_brackets_are_not_json() {
        assert!(matches!(read("[\"entity\"<|>\"Ada\"]", 0), Outcome::Not(_)));
        assert!(!begins("[Ada](https://example.org)", 0));
        assert!(!begins("{name} is missing", 0));
    }

    #[test]
    fn endless_nesting_is_skipped() {
        let text = "[".repeat(100_000);
        assert!(matches!(read(&text, 0), Outcome::Value(Node { cut: true, .. })));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[ -~\"\\\\/:,{}\\[\\]\n\t<|#>é中“]{0,12}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"\\\\:, ]{0,6}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn valid_json_is_read_unchanged(value in values(), pretty in any::<bool>()) {
            let value = Value::Array(vec![value]);
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.expect("JSON");
            let Outcome::Value(node) = read(&text, 0) else { panic!("no JSON: {text}") };
            prop_assert!(!node.repaired && !node.cut, "{}", text);
            prop_assert_eq!(node.end, text.len());
            prop_assert_eq!(plain(&node), serde_json::from_str::<Value>(&text).expect("JSON"));
        }

        #[test]
        fn any_text_is_read(text in "[\\[{][\\PC\\[\\]{}\",:\\\\\n]{0,60}") {
            if let Outcome::Value(node) = read(&text, 0) {
                prop_assert!(node.end <= text.len());
            }
        }
    }
}
