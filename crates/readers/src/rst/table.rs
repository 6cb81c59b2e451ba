//! Reads the tables of reStructuredText: grids, and columns under `====`.

use std::ops::Range;

use csv::{ReaderBuilder, Trim};

use super::super::rows::Rows;

/// Reads the table that begins at line `at` and returns the line after it; `None` if there is none. Each row is written on its
/// first line of `out` and names its columns. `plain` returns the words of a cell.
pub(super) fn read(
    lines: &[&str],
    at: usize,
    out: &mut [String],
    plain: impl Fn(&str) -> String,
) -> Option<usize> {
    let first = lines[at].trim();
    let indent = lines[at].len() - lines[at].trim_start().len();
    let is_grid = is_grid_border(first);
    if !is_grid && !is_column_border(first) {
        return None;
    }
    let end = if is_grid {
        let is_part = |line: &str| line.trim_start().starts_with(['+', '|']);
        (at..lines.len()).find(|&line| !is_part(lines[line])).unwrap_or(lines.len())
    } else {
        // The last border is followed by a blank line.
        let ends = |line: &usize| {
            is_column_border(lines[*line].trim())
                && lines.get(line + 1).is_none_or(|next| next.trim().is_empty())
        };
        (at + 1..lines.len()).find(ends)? + 1
    };
    let columns: Vec<usize> = if is_grid {
        first.char_indices().filter(|(_, c)| *c == '+').map(|(at, _)| indent + at + 1).collect()
    } else {
        let starts =
            first.char_indices().filter(|&(at, c)| c != ' ' && (at == 0 || first.as_bytes()[at - 1] == b' '));
        starts.map(|(at, _)| indent + at).collect()
    };
    let mut rows = Rows::default();
    let mut open: Option<(usize, Vec<String>)> = None;
    for (line, text) in lines.iter().enumerate().take(end).skip(at) {
        if is_grid_border(text.trim()) || is_column_border(text.trim()) || text.trim().is_empty() {
            put(open.take(), &mut rows, out, &plain);
            continue;
        }
        let cells = cells_of(text, &columns, is_grid);
        let continues = is_grid || cells.first().is_some_and(String::is_empty);
        match open.as_mut().filter(|_| continues) {
            Some((_, row)) => {
                for (cell, more) in row.iter_mut().zip(&cells).filter(|(_, more)| !more.is_empty()) {
                    cell.push(' ');
                    cell.push_str(more);
                }
            }
            None => {
                put(open.take(), &mut rows, out, &plain);
                open = Some((line, cells));
            }
        }
    }
    put(open.take(), &mut rows, out, &plain);
    Some(end)
}

/// Reads the rows of a `list-table`, which are items of items: `* - cell`. Each row is written on its first line of `out`.
pub(super) fn read_list(
    lines: &[&str],
    range: Range<usize>,
    out: &mut [String],
    plain: impl Fn(&str) -> String,
) {
    let mut rows = Rows::default();
    let mut open: Option<(usize, Vec<String>)> = None;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let outer = lines[range.clone()].iter().find(|line| !line.trim().is_empty()).map(|line| indent(line));
    for at in range {
        let bare = lines[at].trim();
        let row = bare.strip_prefix("* ").filter(|_| Some(indent(lines[at])) == outer);
        if row.is_some() {
            put(open.take(), &mut rows, out, &plain);
        }
        let cells = &mut open.get_or_insert_with(|| (at, Vec::new())).1;
        let item = row.unwrap_or(bare).trim_start();
        let cell = item.strip_prefix('-').filter(|cell| cell.is_empty() || cell.starts_with(' '));
        match (cell, cells.last_mut()) {
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(item);
            }
            (cell, _) => cells.push(cell.unwrap_or(item).trim().to_owned()),
        }
    }
    put(open.take(), &mut rows, out, &plain);
}

/// Reads the rows of a `csv-table`, whose header may be among its options. Each row is written on its first line of `out`.
pub(super) fn read_values(
    lines: &[&str],
    options: Range<usize>,
    content: Range<usize>,
    out: &mut [String],
    plain: impl Fn(&str) -> String,
) {
    let option = |name: &str| {
        let mut values = options.clone().map(|at| (at, lines[at].trim()));
        values.find_map(|(at, line)| Some((at, line.strip_prefix(name)?.trim())))
    };
    let delimiter = match option(":delim:") {
        Some((_, "tab")) => b'\t',
        Some((_, "space")) => b' ',
        Some((_, given)) => given.bytes().next().filter(u8::is_ascii).unwrap_or(b','),
        None => b',',
    };
    let mut rows = Rows::default();
    let mut read = |first: usize, values: &str| {
        // White space may precede a quotation mark.
        let values =
            values.replace(&format!("{} \"", char::from(delimiter)), &format!("{}\"", char::from(delimiter)));
        let mut reader = ReaderBuilder::new();
        reader.has_headers(false).flexible(true).trim(Trim::All).delimiter(delimiter);
        for record in reader.from_reader(values.as_bytes()).records().flatten() {
            let (line, byte) =
                record.position().map_or((1, 0), |at| (at.line() as usize, at.byte() as usize));
            // A record begins behind the blank lines before it.
            let blank = values[byte..].bytes().take_while(|byte| *byte == b'\n').count();
            let cells = record.iter().map(str::to_owned).collect();
            put(Some((first + line - 1 + blank, cells)), &mut rows, out, &plain);
        }
    };
    if let Some((at, header)) = option(":header:") {
        read(at, header);
    }
    let values: Vec<&str> = lines[content.clone()].iter().map(|line| line.trim()).collect();
    read(content.start, &values.join("\n"));
}

fn put(
    row: Option<(usize, Vec<String>)>,
    rows: &mut Rows,
    out: &mut [String],
    plain: &impl Fn(&str) -> String,
) {
    if let Some((line, cells)) = row {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell.trim())).collect();
        out[line] = rows.line(&cells);
    }
}

/// True for `+-----+---+` and `+=====+===+`.
fn is_grid_border(line: &str) -> bool {
    line.len() > 2 && line.starts_with("+") && line.ends_with('+') && line.chars().all(|c| "+-=".contains(c))
}

/// True for `===== ===`, which has at least two columns.
fn is_column_border(line: &str) -> bool {
    line.starts_with('=') && line.contains("= ") && line.chars().all(|c| "= ".contains(c))
}

/// Returns the cells of a line. Columns are places of characters.
fn cells_of(line: &str, columns: &[usize], is_grid: bool) -> Vec<String> {
    let place = |column: usize| line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let ends = columns.iter().skip(1).map(|start| if is_grid { start - 1 } else { *start });
    let ends = ends.map(place).chain((!is_grid).then_some(line.len()));
    columns
        .iter()
        .map(|start| place(*start))
        .zip(ends)
        .map(|(start, end)| line.get(start..end).unwrap_or_default().trim_matches(['|', ' ']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn lists_of_rows_are_tables() {
        let list = ".. list-table:: Crew\n   :header-rows: 1\n\n   * - Name\n     - Role\n   * - Sigrid\n       *Moen*\n     - captain\n   * -\n     - cook\n\nEnd\n";
        assert_eq!(
            parse(list).text,
            "Crew\n\n\nName | Role\n\nName: Sigrid Moen | Role: captain\n\n\nRole: cook\n\n\nEnd\n"
        );
    }

    #[test]
    fn separated_values_are_tables() {
        let values = ".. csv-table:: Ports\n   :header: \"Port\", \"Depth\"\n\n   \"Halden, old\", \"12 m\"\n   Narvik, \"30\n   m\"\n   Bodø, 9\n\nEnd\n";
        assert_eq!(
            parse(values).text,
            "Ports\nPort | Depth\n\nPort: Halden, old | Depth: 12 m\nPort: Narvik | Depth: 30 m\n\nPort: Bodø | Depth: 9\n\nEnd\n"
        );
        let tabs = ".. csv-table::\n   :delim: ;\n\n   Port; Depth\n   Oslo; 3\n";
        assert_eq!(parse(tabs).text, "\n\n\nPort | Depth\nPort: Oslo | Depth: 3\n");
    }

    #[test]
    fn rows_of_tables_name_their_columns() {
        let grid = "+-------+------+\n| Item  | Cost |\n+=======+======+\n| Old   | 12   |\n| pipes |      |\n+-------+------+\n\nEnd\n";
        assert_eq!(parse(grid).text, "\nItem | Cost\n\nItem: Old pipes | Cost: 12\n\n\n\nEnd\n");
        let simple = "===== =====\nItem  Cost\n===== =====\nPipes 12\n      euros\n*Tap* 3 of them\n===== =====\n\nEnd\n";
        assert_eq!(
            parse(simple).text,
            "\nItem | Cost\n\nItem: Pipes | Cost: 12 euros\n\nItem: Tap | Cost: 3 of them\n\n\nEnd\n"
        );
    }
}
