//! Writes the rows of a data table, each with the names of its columns.

use std::ops::Range;

use crate::{MAX_COLUMNS, label};

/// A data table that is being read.
#[derive(Default)]
pub(super) struct Table {
    headers: Vec<String>,
    /// Cells of the rows above that also occupy the open row.
    above: Vec<Cell>,
    /// Cells of the open row.
    row: Vec<Cell>,
    /// Column of the next cell.
    column: usize,
    /// Where the text of the open cell starts.
    pub(super) cell: Option<usize>,
    /// Whether data rows have begun.
    has_data: bool,
}

/// A cell of a data table.
pub(super) struct Cell {
    column: usize,
    /// Number of columns it occupies.
    columns: usize,
    /// Number of further rows it occupies.
    rows_below: usize,
    is_header: bool,
    text: String,
}

impl Cell {
    /// Returns a cell for the next free column. It occupies at least its own row and column.
    pub(super) fn new(text: String, columns: usize, rows: usize, is_header: bool) -> Self {
        Self { column: 0, columns, rows_below: rows.saturating_sub(1), is_header, text }
    }

    fn range(&self) -> Range<usize> {
        self.column..self.column + self.columns
    }
}

impl Table {
    /// Adds a cell to the open row, in the next column that no cell of a row above occupies.
    pub(super) fn push(&mut self, cell: Cell) {
        while let Some(above) = self.above.iter().find(|above| above.range().contains(&self.column)) {
            self.column = above.range().end;
        }
        let column = self.column;
        self.column += cell.columns;
        self.row.push(Cell { column, ..cell });
    }

    /// Closes the open row and returns it as text; `None` if it is empty.
    ///
    /// - `labelled`: true to repeat the column names, and the cells of the rows above that also occupy this one.
    pub(super) fn close_row(&mut self, labelled: bool) -> Option<String> {
        self.column = 0;
        let row = std::mem::take(&mut self.row);
        let texts: Vec<&str> =
            row.iter().map(|cell| cell.text.as_str()).filter(|text| !text.is_empty()).collect();
        let is_header = !self.has_data && texts.len() > 1 && row.iter().all(|cell| cell.is_header);
        let line = match texts.len() {
            0 => None,
            _ if is_header => Some(texts.join(" | ")),
            _ => Some(self.line(&row, labelled)),
        };
        self.has_data |= texts.len() > 1 && !is_header;
        if is_header {
            self.add_headers(&row);
        }
        self.go_down(row);
        line
    }

    /// Remembers the cells that also occupy the next row.
    fn go_down(&mut self, row: Vec<Cell>) {
        self.above.extend(row.into_iter().filter(|cell| cell.column < MAX_COLUMNS));
        self.above.retain(|cell| cell.rows_below > 0);
        for cell in &mut self.above {
            cell.rows_below -= 1;
        }
    }

    fn add_headers(&mut self, row: &[Cell]) {
        for cell in row {
            for at in cell.column..cell.range().end.min(MAX_COLUMNS) {
                if self.headers.len() <= at {
                    self.headers.resize(at + 1, String::new());
                }
                let known = &mut self.headers[at];
                let name = if known.is_empty() || *known == cell.text {
                    cell.text.clone()
                } else {
                    format!("{known} {}", cell.text)
                };
                *known = label(&name);
            }
        }
    }

    fn line(&self, row: &[Cell], labelled: bool) -> String {
        let above = self.above.iter().filter(|_| labelled);
        let mut cells: Vec<&Cell> = row.iter().chain(above).filter(|cell| !cell.text.is_empty()).collect();
        cells.sort_by_key(|cell| cell.column);
        let mut line = String::new();
        let mut after_row_header = false;
        for cell in cells {
            let name = if labelled { self.name(cell) } else { String::new() };
            if !line.is_empty() {
                line.push_str(if after_row_header && name.is_empty() { ": " } else { " | " });
            }
            if !name.is_empty() {
                line.push_str(&name);
                line.push_str(": ");
            }
            line.push_str(&cell.text);
            after_row_header = cell.is_header;
        }
        line
    }

    /// Returns the names of a cell's columns; empty if they have none.
    fn name(&self, cell: &Cell) -> String {
        let columns = cell.column.min(self.headers.len())..cell.range().end.min(self.headers.len());
        let mut names: Vec<&str> = Vec::new();
        for name in &self.headers[columns] {
            if !name.is_empty() && *name != cell.text && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}
