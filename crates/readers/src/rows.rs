//! Writes table rows so that each is self-explanatory: `Item: Pipes | Cost: 12`.

use super::label;

/// Maximum rows above a table's header: a title, a date or a blank row.
const MAX_ROWS_ABOVE_HEADER: usize = 10;
/// Maximum characters of a cell that may be a column name.
const MAX_HEADER_CHARS: usize = 80;

/// The rows of one table, in order.
#[derive(Default)]
pub(super) struct Rows {
    header: Option<Vec<String>>,
    seen: usize,
    /// Whether a blank row precedes the next one.
    after_blank: bool,
}

impl Rows {
    /// Records a blank row. A table with a different shape and its own header may begin below it.
    pub(super) fn blank(&mut self) {
        self.after_blank = true;
    }

    /// Returns the row as text; empty if the row is blank. The first row that looks like a header names the
    /// columns of the rows after it. Cells of unnamed columns are written without a name.
    pub(super) fn line(&mut self, row: &[String]) -> String {
        let filled = row.iter().filter(|cell| !cell.trim().is_empty()).count();
        if filled == 0 {
            return String::new();
        }
        self.seen += 1;
        let other_shape = |header: &Vec<String>| extent(header) != extent(row);
        let may_begin = match &self.header {
            Some(header) => std::mem::take(&mut self.after_blank) && other_shape(header),
            None => self.seen <= MAX_ROWS_ABOVE_HEADER,
        };
        if may_begin && is_header(row) {
            let names: Vec<String> = row.iter().map(|cell| label(cell)).collect();
            let line = names.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(" | ");
            self.header = Some(names);
            return line;
        }
        if self.header.is_none() && filled > 1 {
            // Data rows have begun without a header.
            self.header = Some(Vec::new());
        }
        let names = self.header.as_deref().unwrap_or_default();
        let cells = row.iter().enumerate().filter(|(_, cell)| !cell.trim().is_empty());
        let cells = cells.map(|(column, cell)| {
            let cell = cell.split_whitespace().collect::<Vec<_>>().join(" ");
            match names.get(column).filter(|name| !name.is_empty() && **name != cell) {
                Some(name) => format!("{name}: {cell}"),
                None => cell,
            }
        });
        cells.collect::<Vec<_>>().join(" | ")
    }
}

/// Returns the columns from the first filled cell to the last.
fn extent(row: &[String]) -> (usize, usize) {
    let filled = |cell: &String| !cell.trim().is_empty();
    let end = row.iter().rposition(filled).map_or(0, |last| last + 1);
    (row.iter().position(filled).unwrap_or(end), end)
}

/// True if a row names columns: two or more adjacent short cells, all different, none of them a number.
fn is_header(row: &[String]) -> bool {
    let (start, end) = extent(row);
    let mut names: Vec<&str> = row[start..end].iter().map(|cell| cell.trim()).collect();
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.chars().any(char::is_alphabetic)
            && name.parse::<f64>().is_err()
            && name.chars().count() <= MAX_HEADER_CHARS
    };
    let all_names = names.len() > 1 && names.iter().all(is_name);
    let columns = names.len();
    names.sort_unstable();
    names.dedup();
    all_names && names.len() == columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_rows(table: &[&[&str]], expected: &[&str]) {
        let mut rows = Rows::default();
        let lines: Vec<String> = table
            .iter()
            .map(|row| rows.line(&row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn rows_name_their_columns() {
        check_rows(
            &[&["", "Costs 2024"], &["Item", "Cost"], &["Pipes\nlong", "12"], &["", "3", "x"], &[""]],
            &["Costs 2024", "Item | Cost", "Item: Pipes long | Cost: 12", "Cost: 3 | x", ""],
        );
    }

    #[test]
    fn a_table_of_another_shape_below_a_blank_row_has_its_own_header() {
        let mut rows = Rows::default();
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        rows.line(&row(&["Item", "Cost"]));
        rows.blank();
        assert_eq!(rows.line(&row(&["Pipes", "cheap"])), "Item: Pipes | Cost: cheap");
        rows.blank();
        assert_eq!(rows.line(&row(&["Name", "Role", "Since"])), "Name | Role | Since");
        assert_eq!(rows.line(&row(&["Ada", "writer", "1843"])), "Name: Ada | Role: writer | Since: 1843");
    }

    #[test]
    fn rows_without_a_header_stand_alone() {
        check_rows(&[&["1", "2"], &["a", "b"]], &["1 | 2", "a | b"]);
        check_rows(&[&["x", "x"], &["a", "b"]], &["x | x", "a | b"]);
    }
}
