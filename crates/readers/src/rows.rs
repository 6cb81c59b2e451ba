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
    /// A row with years, which names the columns if the values below it show that.
    years: Option<Vec<String>>,
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
        if filled > 1
            && let Some(years) = self.years.take()
        {
            if are_years_over_values(&years, row) {
                self.header = Some(years.iter().map(|name| label(name)).collect());
            }
            self.header.get_or_insert_default();
        }
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
        if may_begin && names_years(row) {
            self.years = Some(row.to_vec());
            return filled_cells(row).map(|(_, cell)| cell).collect::<Vec<_>>().join(" | ");
        }
        if self.header.is_none() && filled > 1 {
            // Data rows have begun without a header.
            self.header = Some(Vec::new());
        }
        let names = self.header.as_deref().unwrap_or_default();
        let cells = filled_cells(row).map(|(column, cell)| {
            match names.get(column).filter(|name| !name.is_empty() && **name != cell) {
                Some(name) => format!("{name}: {cell}"),
                None => cell,
            }
        });
        cells.collect::<Vec<_>>().join(" | ")
    }
}

/// Returns the filled cells of a row with their columns, each on one line.
fn filled_cells(row: &[String]) -> impl Iterator<Item = (usize, String)> {
    let cells = row.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" "));
    cells.enumerate().filter(|(_, cell)| !cell.is_empty())
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
    end - start > 1 && row[start..end].iter().all(|cell| is_name(cell)) && are_different(&row[start..end])
}

/// True if a row may name columns after years: adjacent cells, all different, the first of the row no year, then two or more
/// years and otherwise names. Only the row below shows whether it does; see [`are_years_over_values`].
pub(super) fn names_years(row: &[String]) -> bool {
    let (start, end) = extent(row);
    let years = row[start..end].iter().filter(|cell| is_year(cell)).count();
    years > 1
        && !is_year(&row[0])
        && row[start..end].iter().all(|cell| is_year(cell) || is_name(cell))
        && are_different(&row[start..end])
}

/// True if the values below years are numbers and not all of them years themselves: `Clinic, 2020, 2021` over
/// `Harbor, 120, 135` names columns; `Curie, 1867, 1934` over `Bohr, 1885, 1962` does not.
pub(super) fn are_years_over_values(years: &[String], below: &[String]) -> bool {
    let values = years.iter().zip(below).filter(|(year, _)| is_year(year)).map(|(_, value)| value.trim());
    let is_number = |value: &str| {
        value.contains(|c: char| c.is_ascii_digit())
            && !value.contains(char::is_alphabetic)
            && !is_year(value)
    };
    values.into_iter().any(is_number)
}

fn is_name(cell: &str) -> bool {
    let name = cell.trim();
    name.chars().any(char::is_alphabetic)
        && name.parse::<f64>().is_err()
        && name.chars().count() <= MAX_HEADER_CHARS
}

/// True for years and the parts of years that columns have: `2020`, `2020/21`, `2020-03`.
fn is_year(cell: &str) -> bool {
    let cell = cell.trim();
    let (year, rest) = cell.split_at(cell.floor_char_boundary(4));
    year.len() == 4
        && year.parse().is_ok_and(|year: u32| (1500..2200).contains(&year))
        && (rest.is_empty() || rest.starts_with(['-', '/', '–']))
        && rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '/' | '–'))
}

fn are_different(cells: &[String]) -> bool {
    let mut cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    let columns = cells.len();
    cells.sort_unstable();
    cells.dedup();
    cells.len() == columns
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
    fn years_over_values_name_their_columns() {
        check_rows(
            &[
                &["Clinic", "2020", "2021/22"],
                &["Europe"],
                &["Harbor", "120", "1,350"],
                &["Hill", "2000", ""],
            ],
            &[
                "Clinic | 2020 | 2021/22",
                "Europe",
                "Clinic: Harbor | 2020: 120 | 2021/22: 1,350",
                "Clinic: Hill | 2020: 2000",
            ],
        );
        check_rows(
            &[&["", "2020", "2021"], &["Harbor", "7", "8"]],
            &["2020 | 2021", "Harbor | 2020: 7 | 2021: 8"],
        );
    }

    #[test]
    fn years_of_people_are_values() {
        check_rows(
            &[&["Curie", "1867", "1934"], &["Bohr", "1885", "1962"]],
            &["Curie | 1867 | 1934", "Bohr | 1885 | 1962"],
        );
    }

    #[test]
    fn rows_without_a_header_stand_alone() {
        check_rows(&[&["1", "2"], &["a", "b"]], &["1 | 2", "a | b"]);
        check_rows(&[&["x", "x"], &["a", "b"]], &["x | x", "a | b"]);
    }
}
