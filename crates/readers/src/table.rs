//! Converts comma-, semicolon- and tab-separated values to self-explanatory lines.

use csv::{ReaderBuilder, StringRecord};

use super::{Body, MAX_COLUMNS, columns_left_out, format, label};

/// Separators in order of preference.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Maximum rows that are examined to find the separator.
const SAMPLE_ROWS: usize = 50;
/// Maximum bytes that are examined to find the separator.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Returns one line per row, `name: Curie | field: physics`, on the line where the row starts in the source.
///
/// The first line lists the columns. Empty cells are left out. Cells beyond the header are kept as `column 5: x`. Cells after
/// the first [`MAX_COLUMNS`] columns are left out. Line ends inside a cell become spaces, and blank lines follow so that line
/// numbers stay correct. Without a header row, cells have no names. `None` if the text would be longer than `max_bytes`.
pub(super) fn parse(source: &str, delimiter: Option<u8>, max_bytes: usize) -> Option<Body> {
    let delimiter = delimiter.unwrap_or_else(|| sniff(source));
    let mut reader = reader(source, delimiter);
    let mut record = StringRecord::new();
    let mut lines = LineCounter { source, offset: 0, line: 0 };
    let mut text = String::with_capacity(source.len());
    let mut written = 0;
    let mut in_step = true;
    let mut header: Option<Vec<String>> = None;
    let mut is_wide = false;
    // The source is valid UTF-8 and rows may have any length, so reading cannot fail.
    while reader.read_record(&mut record).unwrap_or(false) {
        let start = record.position().map_or(0, |position| position.byte() as usize);
        let line = lines.line_at(start);
        while written < line {
            text.push('\n');
            written += 1;
        }
        in_step &= written == line;
        is_wide |= record.len() > MAX_COLUMNS;
        match &header {
            None if is_header(&record) => {
                let names: Vec<String> = record.iter().take(MAX_COLUMNS).map(label).collect();
                text.push_str("Columns: ");
                text.push_str(&names.join(" | "));
                header = Some(names);
            }
            None => {
                header = Some(Vec::new());
                write_row(&mut text, &record, &[]);
            }
            Some(names) => write_row(&mut text, &record, names),
        }
        text.push('\n');
        written += 1;
        if text.len() > max_bytes {
            return None;
        }
    }
    let remarks = if is_wide { vec![columns_left_out()] } else { Vec::new() };
    Some(Body { lines_match_source: in_step, remarks, ..Body::verbatim(text) })
}

/// Returns the separator that the extension of a name determines.
pub(super) fn delimiter_of(name: &str) -> Option<u8> {
    match format::extension(name)?.as_str() {
        "tsv" | "tab" => Some(b'\t'),
        _ => None,
    }
}

/// True if a text whose name does not determine the format is a table: three or more rows with the same
/// number of short cells, at least three.
pub(super) fn looks_like(text: &str) -> bool {
    let rows = sample(text, sniff(text));
    let cells = rows.first().map_or(0, StringRecord::len);
    let short = rows.iter().flatten().all(|cell| cell.len() <= 60);
    rows.len() >= 3 && cells >= 3 && short && rows.iter().all(|row| row.len() == cells)
}

fn reader(source: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(source.as_bytes())
}

fn sample(source: &str, delimiter: u8) -> Vec<StringRecord> {
    let head = &source[..source.floor_char_boundary(SAMPLE_BYTES)];
    let cut = head.len() < source.len();
    let mut rows: Vec<_> = reader(head, delimiter).into_records().flatten().take(SAMPLE_ROWS).collect();
    if cut && rows.len() > 1 && rows.len() < SAMPLE_ROWS {
        rows.pop();
    }
    rows
}

/// Returns the separator with which most rows have the same number of cells, above one; among equals, the one with more cells.
fn sniff(source: &str) -> u8 {
    let score = |delimiter: u8| {
        let lengths: Vec<usize> = sample(source, delimiter).iter().map(StringRecord::len).collect();
        let common = |cells: usize| lengths.iter().filter(|&&length| length == cells).count();
        let best = lengths.iter().map(|&cells| (common(cells), cells)).filter(|&(_, cells)| cells > 1).max();
        best.map_or((0, 0), |(rows, cells)| (rows * 100 / lengths.len().max(1), cells))
    };
    let mut best = (DELIMITERS[0], score(DELIMITERS[0]));
    for &delimiter in &DELIMITERS[1..] {
        let other = score(delimiter);
        if other > best.1 {
            best = (delimiter, other);
        }
    }
    best.0
}

/// True if a first row names columns: every cell is filled, differs from the others, and is not a number.
fn is_header(row: &StringRecord) -> bool {
    let mut names: Vec<&str> = row.iter().map(str::trim).collect();
    let words = names.iter().all(|name| !name.is_empty() && name.parse::<f64>().is_err());
    names.sort_unstable();
    names.dedup();
    words && names.len() == row.len()
}

fn write_row(text: &mut String, row: &StringRecord, header: &[String]) {
    let mut first = true;
    for (column, cell) in row.iter().enumerate().take(MAX_COLUMNS) {
        let mut words = cell.split_whitespace().peekable();
        if words.peek().is_none() {
            continue;
        }
        if !first {
            text.push_str(" | ");
        }
        first = false;
        match header.get(column) {
            Some(name) => {
                text.push_str(name);
                text.push_str(": ");
            }
            None if header.is_empty() => {}
            None => text.push_str(&format!("column {}: ", column + 1)),
        }
        for (i, word) in words.enumerate() {
            if i > 0 {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
}

/// Converts ascending byte offsets to line numbers from 0.
struct LineCounter<'a> {
    source: &'a str,
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    /// Returns the line of the first character at or after `offset` that is not a line end, because readers skip blank lines.
    fn line_at(&mut self, offset: usize) -> usize {
        let bytes = self.source.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            if self.offset >= offset && !matches!(byte, b'\r' | b'\n') {
                break;
            }
            self.line += usize::from(byte == b'\n');
            self.offset += 1;
        }
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_table(source: &str, expected: &str) {
        let body = parse(source, None, 10_000).expect("a table within the limit");
        assert_eq!(body.text, expected);
        assert!(body.lines_match_source);
    }

    #[test]
    fn rows_name_their_columns() {
        check_table(
            "name,born\r\nCurie,1867\r\nBohr,\r\n",
            "Columns: name | born\nname: Curie | born: 1867\nname: Bohr\n",
        );
        check_table("a;b\n1,5;2\n3;4\n", "Columns: a | b\na: 1,5 | b: 2\na: 3 | b: 4\n");
        check_table("a\tb\n1\t2", "Columns: a | b\na: 1 | b: 2\n");
    }

    #[test]
    fn rows_are_on_the_line_where_they_start() {
        check_table("a,b\n\n\"x\ny\",1\nz,2\n", "Columns: a | b\n\na: x y | b: 1\n\na: z | b: 2\n");
    }

    #[test]
    fn ragged_rows_and_tables_without_header_are_kept() {
        check_table("a,b\n1,2,3\n4\n", "Columns: a | b\na: 1 | b: 2 | column 3: 3\na: 4\n");
        check_table("1,2\n3,4\n", "1 | 2\n3 | 4\n");
    }

    #[test]
    fn columns_beyond_the_limit_are_dropped_and_the_table_says_so() {
        let row = |start: usize| (0..1002).map(|n| format!("x{}", start + n)).collect::<Vec<_>>().join(",");
        let body = parse(&format!("{}\n{}\n", row(0), row(5000)), None, 100_000).expect("a table");
        assert!(body.text.contains("x999: x5999") && !body.text.contains("x6000"));
        assert_eq!(body.remarks, ["columns after the first 1000 of a table were left out"]);
    }

    #[test]
    fn too_much_text_is_refused() {
        assert!(parse("a,b\n1,2\n", None, 10).is_none());
    }
}
