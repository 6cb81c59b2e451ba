//! Converts comma-, semicolon- and tab-separated values to self-explanatory lines.

use csv::{ReaderBuilder, StringRecord};

use super::rows::{are_years_over_values, names_years};
use super::{Body, MAX_COLUMNS, columns_left_out, format, label};

/// Separators in order of preference.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Maximum rows that are examined to find the separator.
const SAMPLE_ROWS: usize = 50;
/// Maximum bytes that are examined to find the separator.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Returns one line per row, `name: Curie | field: physics`, on the line where the row starts in the source.
///
/// The first line, or the first one below a title, lists the columns. Empty cells are left out. Cells beyond the header are kept
/// as `column 5: x`. Cells after the first [`MAX_COLUMNS`] columns are left out. Line ends inside a cell become spaces, and blank
/// lines follow so that line numbers stay correct. Without a header row, cells have no names. A first line such as `sep=;`, which
/// names the separator, is left out. `None` if the text would be longer than `max_bytes`.
pub(super) fn parse(source: &str, delimiter: Option<u8>, max_bytes: usize) -> Option<Body> {
    let named = named_separator(source);
    let delimiter = named.or(delimiter).unwrap_or_else(|| sniff(source));
    let top = sample(source, delimiter);
    let has_columns = top.iter().any(|row| filled(row) > 1);
    let mut reader = reader(source, delimiter);
    let mut record = StringRecord::new();
    let mut lines = LineCounter { source, offset: 0, line: 0 };
    let mut text = String::with_capacity(source.len());
    let mut written = 0;
    let mut in_step = true;
    let mut header: Option<Vec<String>> = None;
    let mut is_wide = false;
    if named.is_some() {
        // The line that names the separator is no row. The source is valid UTF-8, so reading cannot fail.
        reader.read_record(&mut record).unwrap_or(false);
    }
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
            // A title.
            None if has_columns && filled(&record) == 1 => write_row(&mut text, &record, &[]),
            None if is_header(&record) || is_header_of_years(&record, &top) => {
                let names: Vec<String> = record.iter().take(MAX_COLUMNS).map(label).collect();
                text.push_str("Columns: ");
                let filled: Vec<&str> =
                    names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
                text.push_str(&filled.join(" | "));
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

/// Returns the separator that a first line such as `sep=;` names. Excel reads and writes such lines.
fn named_separator(source: &str) -> Option<u8> {
    let line = source.lines().next()?.trim_end_matches('\r').trim_matches('"');
    match *line.strip_prefix("sep=")?.as_bytes() {
        [separator] => Some(separator),
        _ => None,
    }
}

/// Number of cells that are not blank.
fn filled(row: &StringRecord) -> usize {
    row.iter().filter(|cell| !cell.trim().is_empty()).count()
}

/// True if a first row names columns: every cell differs from the others and is not a number. Blank cells may be at both ends.
fn is_header(row: &StringRecord) -> bool {
    let cells: Vec<&str> = row.iter().map(str::trim).collect();
    let first = cells.iter().position(|name| !name.is_empty()).unwrap_or(cells.len());
    let end = cells.iter().rposition(|name| !name.is_empty()).map_or(first, |last| last + 1);
    let mut names = cells[first..end].to_vec();
    let words = names.iter().all(|name| !name.is_empty() && name.parse::<f64>().is_err());
    names.sort_unstable();
    names.dedup();
    words && !names.is_empty() && names.len() == end - first
}

/// True if a row names columns after years. `top` are the first rows of the table.
fn is_header_of_years(row: &StringRecord, top: &[StringRecord]) -> bool {
    let cells = |row: &StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
    let years = cells(row);
    let next = top.iter().skip_while(|other| *other != row).skip(1).find(|row| filled(row) > 1);
    names_years(&years) && next.is_some_and(|next| are_years_over_values(&years, &cells(next)))
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
            Some(name) if name.is_empty() => {}
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
    fn years_may_name_columns() {
        check_table(
            "Clinic,2020,2021\nHarbor,120,135\n",
            "Columns: Clinic | 2020 | 2021\nClinic: Harbor | 2020: 120 | 2021: 135\n",
        );
        check_table("Curie,1867,1934\nBohr,1885,1962\n", "Curie | 1867 | 1934\nBohr | 1885 | 1962\n");
    }

    #[test]
    fn columns_at_the_ends_need_no_name() {
        check_table(
            ",name,born,\n1,Curie,1867,x\n2,Bohr,,\n",
            "Columns: name | born\n1 | name: Curie | born: 1867 | x\n2 | name: Bohr\n",
        );
    }

    #[test]
    fn a_title_above_the_header_is_no_header() {
        check_table(
            "Staff of the clinic,,\n\nname,role,\nWeber,nurse,\n",
            "Staff of the clinic\n\nColumns: name | role\nname: Weber | role: nurse\n",
        );
        check_table("name\nWeber\nBerg\n", "Columns: name\nname: Weber\nname: Berg\n");
    }

    #[test]
    fn a_line_that_names_the_separator_is_no_row() {
        check_table(
            "sep=;\nname;born\nCurie, M.;1867\n",
            "\nColumns: name | born\nname: Curie, M. | born: 1867\n",
        );
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
