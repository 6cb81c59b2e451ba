//! Reads Excel workbooks sheet by sheet, cell by cell.

use std::io::{Cursor, Read, Seek};

use calamine::{Data, DataRef, Reader, Sheets, Xls, XlsError, Xlsx, XlsxError};
use graphloom_core::{Format, Part};

use super::archive::Archive;
use super::draft::Draft;
use super::rows::Rows;
use super::{Body, MAX_COLUMNS, ParseError, ParseLimits, columns_left_out};

/// Number of blank rows after which a new table may begin.
const ROWS_BETWEEN_TABLES: u32 = 1;

/// Returns the sheets' cells with their last calculated values: a heading with the sheet's name, then one line per row.
pub(super) fn parse_xlsx(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    // The reader below unpacks without a limit, so everything that it may read is unpacked once to measure it.
    let mut archive = Archive::open(bytes, Format::Xlsx, limits)?;
    for name in archive.names() {
        if name.ends_with(".xml") || name.ends_with(".rels") {
            archive.read(&name)?;
        }
    }
    let title = match archive.text("docProps/core.xml")? {
        Some(xml) => super::xml::text_of_first(&xml, "title", Format::Xlsx, limits)?,
        None => String::new(),
    };
    drop(archive);
    let mut workbook = Xlsx::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsxError::Password => ParseError::Encrypted { format: Format::Xlsx },
        error => broken(Format::Xlsx, &error),
    })?;
    let mut draft = Draft::new(limits.max_bytes);
    draft.title(&title);
    let sheets = workbook.sheet_names();
    limits.check_parts("sheets", sheets.len())?;
    let mut without_value = 0;
    for sheet in sheets {
        begin_sheet(&mut draft, &sheet);
        without_value += write_cells(&mut workbook, &sheet, &mut draft)?;
        if draft.is_full() {
            break;
        }
    }
    if without_value > 0 {
        draft.remark(format!("{without_value} formulas have no stored value"));
    }
    draft.finish()
}

/// Like [`parse_xlsx`], for the older binary format.
pub(super) fn parse_xls(bytes: &[u8], limits: &ParseLimits) -> Result<Body, ParseError> {
    let workbook = Xls::new(Cursor::new(bytes)).map_err(|error| match error {
        XlsError::Password => ParseError::Encrypted { format: Format::Xls },
        error => broken(Format::Xls, &error),
    })?;
    let mut workbook = Sheets::Xls(workbook);
    let mut draft = Draft::new(limits.max_bytes);
    let sheets = workbook.sheet_names();
    limits.check_parts("sheets", sheets.len())?;
    for sheet in sheets {
        let cells = workbook.worksheet_range(&sheet).map_err(|error| broken(Format::Xls, &error))?;
        begin_sheet(&mut draft, &sheet);
        let mut lines = Lines::default();
        for (row, column, cell) in cells.used_cells() {
            lines.cell(&mut draft, row as u32, column, of_cell(cell));
        }
        lines.end(&mut draft);
    }
    draft.finish()
}

fn begin_sheet(draft: &mut Draft, sheet: &str) {
    draft.part(Part::Sheet(sheet.to_owned()));
    draft.heading(1, sheet);
}

/// Writes a sheet cell by cell and returns the number of formulas without a value. A sheet with a cell in its
/// last row and one in its last column has few cells; memory must not be allocated for all cells in between.
fn write_cells<R: Read + Seek>(
    workbook: &mut Xlsx<R>,
    sheet: &str,
    draft: &mut Draft,
) -> Result<usize, ParseError> {
    let mut cells = match workbook.worksheet_cells_reader(sheet) {
        Ok(cells) => cells,
        // Chart and macro sheets have no cells.
        Err(XlsxError::NotAWorksheet(_) | XlsxError::WorksheetNotFound(_)) => return Ok(0),
        Err(error) => return Err(broken(Format::Xlsx, &error)),
    };
    let mut lines = Lines::default();
    let mut without_value = 0;
    while let Some(cell) =
        cells.next_cell_with_formula_metadata().map_err(|error| broken(Format::Xlsx, &error))?
    {
        let (row, column) = cell.pos;
        without_value += usize::from(cell.formula.is_some() && cell.value == DataRef::Empty);
        let value = match cell.value {
            DataRef::SharedString(value) => value.to_owned(),
            other => of_cell(&Data::from(other)),
        };
        lines.cell(draft, row, column as usize, value);
        if draft.is_full() {
            break;
        }
    }
    lines.end(draft);
    Ok(without_value)
}

/// The rows of a sheet, collected from their cells.
#[derive(Default)]
struct Lines {
    rows: Rows,
    /// The row of the collected cells.
    at: u32,
    row: Vec<String>,
    /// Whether there are cells in columns that are not read.
    is_wide: bool,
}

impl Lines {
    fn cell(&mut self, draft: &mut Draft, row: u32, column: usize, value: String) {
        if row != self.at {
            self.end(draft);
            if row.saturating_sub(self.at) > ROWS_BETWEEN_TABLES {
                // Another table may begin below a blank row.
                self.rows.blank();
                draft.apart();
            }
            self.at = row;
        }
        self.is_wide |= column >= MAX_COLUMNS && !value.is_empty();
        if column < MAX_COLUMNS && !value.is_empty() {
            if self.row.len() <= column {
                self.row.resize(column + 1, String::new());
            }
            self.row[column] = value;
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        let row = std::mem::take(&mut self.row);
        draft.line(&self.rows.line(&row));
        if std::mem::take(&mut self.is_wide) {
            draft.remark(columns_left_out());
        }
    }
}

/// Returns a cell as text: dates as `2024-05-17`, times as `14:30`, booleans as `true`, errors as in Excel.
fn of_cell(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::DateTime(at) if at.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
            let (date, time) = (format!("{year:04}-{month:02}-{day:02}"), (hour, minute, second));
            match (time, at.as_f64() < 1.0) {
                ((0, 0, 0), false) => date,
                (_, true) => clock(time),
                (_, false) => format!("{date} {}", clock(time)),
            }
        }
        Data::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

fn clock((hour, minute, second): (u8, u8, u8)) -> String {
    match second {
        0 => format!("{hour:02}:{minute:02}"),
        second => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

fn broken(format: Format, error: &impl ToString) -> ParseError {
    ParseError::Broken { format, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::archive::pack;
    use super::*;

    const WORKBOOK: &str = "<workbook xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main' \
        xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets>\
        <sheet name='Budget' sheetId='1' r:id='rId1'/><sheet name='Far' sheetId='2' r:id='rId2'/></sheets></workbook>";
    const LINKS: &str = "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
        <Relationship Id='rId1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet' \
        Target='worksheets/sheet1.xml'/><Relationship Id='rId2' \
        Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet' \
        Target='worksheets/sheet2.xml'/></Relationships>";
    const ROOT: &str = "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
        <Relationship Id='rId1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' \
        Target='xl/workbook.xml'/></Relationships>";
    const STYLES: &str = "<styleSheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><cellXfs>\
        <xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>";

    fn check_xlsx(rows: &str, limits: &ParseLimits) -> Result<Body, ParseError> {
        let sheet = format!(
            "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>{rows}</sheetData>\
             </worksheet>"
        );
        let far = "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData><row r='1'>\
            <c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c><c r='B1048576'><v>3</v></c></row>\
            </sheetData></worksheet>";
        let bytes = pack(&[
            ("_rels/.rels", ROOT),
            ("xl/workbook.xml", WORKBOOK),
            ("xl/_rels/workbook.xml.rels", LINKS),
            ("xl/styles.xml", STYLES),
            ("xl/worksheets/sheet1.xml", &sheet),
            ("xl/worksheets/sheet2.xml", far),
        ]);
        parse_xlsx(&bytes, limits)
    }

    const ROWS: &str = "<row r='1'><c r='A1' t='inlineStr'><is><t>Item</t></is></c><c r='B1' t='inlineStr'><is><t>Due</t>\
        </is></c></row><row r='2'><c r='A2' t='inlineStr'><is><t>Pipes</t></is></c><c r='B2' s='1'><v>45429</v></c></row>\
        <row r='3'><c r='A3' t='b'><v>1</v></c><c r='B3'><f>1/4</f><v>0.25</v></c></row>";

    #[test]
    fn sheets_are_parts_and_rows_name_their_columns() {
        let body = check_xlsx(ROWS, &ParseLimits::default()).expect("a workbook");
        assert_eq!(
            body.text,
            "# Budget\n\nItem | Due\nItem: Pipes | Due: 2024-05-17\nItem: true | Due: 0.25\n\n# Far\n\n1\n\n3\n"
        );
        let sheets: Vec<_> = body.parts.iter().map(|mark| mark.part.to_string()).collect();
        assert_eq!(sheets, ["sheet Budget", "sheet Far"]);
    }

    #[test]
    fn formulas_without_a_value_are_counted() {
        let rows = "<row r='1'><c r='A1'><f>1+1</f></c><c r='B1'><f>1+2</f><v></v></c><c r='C1'><f>1+3</f><v>4</v></c>\
            <c r='D1' t='str'><f>\"\"</f><v></v></c><c r='E1' s='1'/></row>";
        let body = check_xlsx(rows, &ParseLimits::default()).expect("a workbook");
        // The other remark is about the second sheet.
        assert_eq!(body.remarks[1..], ["2 formulas have no stored value"]);
        assert!(check_xlsx(ROWS, &ParseLimits::default()).is_ok_and(|body| body.remarks.len() == 1));
    }

    #[test]
    fn a_workbook_that_unpacks_to_too_much_is_refused() {
        let limits = ParseLimits { max_unpacked_bytes: 1000, ..ParseLimits::default() };
        let refused = check_xlsx(ROWS, &limits).map(|body| body.text);
        assert_eq!(refused, Err(ParseError::Bomb { format: Format::Xlsx, max_bytes: 1000 }));
    }
}
