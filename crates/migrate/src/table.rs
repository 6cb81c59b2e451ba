//! Tables in Parquet files, as rows of named cells.

use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Field, Row as ParquetRow};
use parquet::schema::types::{Type, TypePtr};

use crate::MigrateError;

/// A cell. Types that the tables of these systems do not use become [`Cell::Null`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Text(String),
    Number(f64),
    List(Vec<Cell>),
    Record(Row),
}

/// A row: cells by column. Absent columns read as [`Cell::Null`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row(BTreeMap<String, Cell>);

impl Row {
    fn cell(&self, column: &str) -> &Cell {
        self.0.get(column).unwrap_or(&Cell::Null)
    }

    /// Returns a text or number as text; empty for anything else.
    pub(crate) fn text(&self, column: &str) -> String {
        self.cell(column).text()
    }

    /// Returns the text of the first of these columns that has one; releases name columns differently.
    pub(crate) fn first_text(&self, columns: &[&str]) -> String {
        columns.iter().map(|column| self.text(column)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        match self.cell(column) {
            Cell::Number(number) => Some(*number),
            Cell::Text(text) => text.trim().parse().ok(),
            Cell::Null | Cell::List(_) | Cell::Record(_) => None,
        }
        .filter(|number| number.is_finite())
    }

    /// Returns a list of texts. Also reads a list that a release wrote as one text, such as `['a', 'b']` or `a,b`.
    pub(crate) fn texts(&self, column: &str) -> Vec<String> {
        match self.cell(column) {
            Cell::List(list) => list.iter().flat_map(|cell| split_list(&cell.text())).collect(),
            Cell::Text(text) => split_list(text),
            Cell::Null | Cell::Number(_) | Cell::Record(_) => Vec::new(),
        }
    }

    /// Returns a list of numbers; `None` if the cell is something else or empty.
    pub(crate) fn vector(&self, column: &str) -> Option<Vec<f32>> {
        let Cell::List(list) = self.cell(column) else { return None };
        let number = |cell: &Cell| match cell {
            Cell::Number(number) => Some(*number as f32),
            Cell::Null | Cell::Text(_) | Cell::List(_) | Cell::Record(_) => None,
        };
        let numbers: Option<Vec<f32>> = list.iter().map(number).collect();
        numbers.filter(|numbers| !numbers.is_empty())
    }

    /// Returns a list of records.
    pub(crate) fn records(&self, column: &str) -> Vec<Row> {
        let Cell::List(list) = self.cell(column) else { return Vec::new() };
        let record = |cell: &Cell| match cell {
            Cell::Record(row) => Some(row.clone()),
            Cell::Null | Cell::Text(_) | Cell::Number(_) | Cell::List(_) => None,
        };
        list.iter().filter_map(record).collect()
    }

    /// Returns the texts and numbers of a record or a JSON object, by name.
    pub(crate) fn pairs(&self, column: &str) -> BTreeMap<String, String> {
        match self.cell(column) {
            Cell::Record(row) => row
                .0
                .iter()
                .map(|(name, cell)| (name.clone(), cell.text()))
                .filter(|(_, text)| !text.is_empty())
                .collect(),
            Cell::Text(json) => {
                let object: BTreeMap<String, serde_json::Value> =
                    serde_json::from_str(json).unwrap_or_default();
                let text = |value: serde_json::Value| match value {
                    serde_json::Value::String(text) => Some(text),
                    serde_json::Value::Number(number) => Some(number.to_string()),
                    serde_json::Value::Bool(truth) => Some(truth.to_string()),
                    serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
                        None
                    }
                };
                object.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
            }
            Cell::Null | Cell::Number(_) | Cell::List(_) => BTreeMap::new(),
        }
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Null | Self::List(_) | Self::Record(_) => String::new(),
        }
    }

    fn of(field: Field) -> Self {
        match field {
            Field::Str(text) => Self::Text(text),
            Field::Bytes(bytes) => bytes.as_utf8().map_or(Self::Null, |text| Self::Text(text.to_owned())),
            Field::Bool(truth) => Self::Text(truth.to_string()),
            Field::Byte(number) => Self::Number(number.into()),
            Field::Short(number) => Self::Number(number.into()),
            Field::Int(number) => Self::Number(number.into()),
            Field::Long(number) => Self::Number(number as f64),
            Field::UByte(number) => Self::Number(number.into()),
            Field::UShort(number) => Self::Number(number.into()),
            Field::UInt(number) => Self::Number(number.into()),
            Field::ULong(number) => Self::Number(number as f64),
            Field::Float(number) => Self::Number(number.into()),
            Field::Double(number) => Self::Number(number),
            Field::Group(row) => Self::Record(Row::of(row)),
            Field::ListInternal(list) => Self::List(list.elements().iter().cloned().map(Self::of).collect()),
            Field::Null
            | Field::Float16(_)
            | Field::Decimal(_)
            | Field::Date(_)
            | Field::TimeMillis(_)
            | Field::TimeMicros(_)
            | Field::TimestampMillis(_)
            | Field::TimestampMicros(_)
            | Field::MapInternal(_) => Self::Null,
        }
    }
}

impl Row {
    fn of(row: ParquetRow) -> Self {
        Self(row.into_columns().into_iter().map(|(name, field)| (name, Cell::of(field))).collect())
    }
}

fn split_list(text: &str) -> Vec<String> {
    let is_mark = |c: char| matches!(c, '[' | ']' | '\'' | '"') || c.is_whitespace();
    let items = text.split([',', '\n']).map(|item| item.trim_matches(is_mark));
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Reads these columns of a table, as far as it has them.
pub(crate) fn read(path: &Path, columns: &[&str]) -> Result<Vec<Row>, MigrateError> {
    // The library panics on some damaged files, for example if a column has a negative length.
    catch_unwind(AssertUnwindSafe(|| read_columns(path, columns))).unwrap_or_else(|_| {
        let what = "its reader failed".to_owned();
        Err(MigrateError::Damaged { path: path.to_owned(), what })
    })
}

fn read_columns(path: &Path, columns: &[&str]) -> Result<Vec<Row>, MigrateError> {
    let damaged =
        |error: ParquetError| MigrateError::Damaged { path: path.to_owned(), what: error.to_string() };
    let file = File::open(path).map_err(|source| MigrateError::Read { path: path.to_owned(), source })?;
    let reader = SerializedFileReader::new(file).map_err(damaged)?;
    let mut chunks = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    if !chunks.all(|chunk| chunk.data_page_offset() >= 0 && chunk.compressed_size() >= 0) {
        let what = "a column lies outside the file".to_owned();
        return Err(MigrateError::Damaged { path: path.to_owned(), what });
    }
    let schema = reader.metadata().file_metadata().schema();
    let wanted =
        schema.get_fields().iter().filter(|field| columns.contains(&field.name()) && readable(field));
    let wanted: Vec<TypePtr> = wanted.cloned().collect();
    if wanted.is_empty() {
        let what = format!("it has none of the columns {}", columns.join(", "));
        return Err(MigrateError::Damaged { path: path.to_owned(), what });
    }
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted).build().map_err(damaged)?;
    let rows = reader.get_row_iter(Some(projection)).map_err(damaged)?;
    rows.map(|row| row.map(Row::of).map_err(damaged)).collect()
}

/// True if the library can convert every leaf to a value.
fn readable(field: &Type) -> bool {
    if field.is_group() {
        return field.get_fields().iter().all(|field| readable(field));
    }
    let converted = field.get_basic_info().converted_type();
    match field.get_physical_type() {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
        Physical::BYTE_ARRAY => {
            matches!(converted, ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::NONE)
        }
        Physical::INT32 => matches!(
            converted,
            ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::DATE
        ),
        Physical::INT64 => matches!(
            converted,
            ConvertedType::NONE
                | ConvertedType::INT_64
                | ConvertedType::UINT_64
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
        ),
        Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => false,
    }
}

/// A column to write.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// A value for each row.
    pub values: Values,
}

/// The values of a column.
pub enum Values {
    /// Texts.
    Texts(Vec<String>),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Lists of texts.
    TextLists(Vec<Vec<String>>),
    /// Lists of whole numbers.
    IntegerLists(Vec<Vec<i64>>),
    /// Lists of numbers; tests write vectors this way, as GraphRAG does.
    #[cfg(feature = "testing")]
    NumberLists(Vec<Vec<f64>>),
    /// Lists of records with these fields, all texts.
    RecordLists(&'static [&'static str], Vec<Vec<Vec<String>>>),
}

/// Writes a table, compressed with Snappy as pandas does.
pub fn write(path: &Path, columns: &[Column]) -> Result<(), MigrateError> {
    let failed = |error: ParquetError| MigrateError::Write {
        path: path.to_owned(),
        source: std::io::Error::other(error.to_string()),
    };
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(Column::field).collect();
    let schema = fields.and_then(|fields| Type::group_type_builder("schema").with_fields(fields).build());
    let schema = Arc::new(schema.map_err(failed)?);
    let file = File::create(path).map_err(|source| MigrateError::Write { path: path.to_owned(), source })?;
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let written = (|| {
        let mut writer = SerializedFileWriter::new(file, schema, properties)?;
        let mut group = writer.next_row_group()?;
        for column in columns {
            column.values.write(&mut group)?;
        }
        group.close()?;
        writer.close()
    })();
    written.map(drop).map_err(failed)
}

impl Column {
    fn field(&self) -> Result<TypePtr, ParquetError> {
        let text = |name| text_field(name);
        let number = |name, physical| {
            Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).build()
        };
        let name = self.name;
        let field = match &self.values {
            Values::Texts(_) => text(name)?,
            Values::Integers(_) => number(name, Physical::INT64)?,
            Values::Numbers(_) => number(name, Physical::DOUBLE)?,
            Values::TextLists(_) => list_of(name, text("element")?)?,
            Values::IntegerLists(_) => list_of(name, number("element", Physical::INT64)?)?,
            #[cfg(feature = "testing")]
            Values::NumberLists(_) => list_of(name, number("element", Physical::DOUBLE)?)?,
            Values::RecordLists(fields, _) => {
                let fields: Result<Vec<TypePtr>, ParquetError> =
                    fields.iter().map(|field| text(field).map(Arc::new)).collect();
                let record = Type::group_type_builder("element")
                    .with_repetition(Repetition::OPTIONAL)
                    .with_fields(fields?)
                    .build()?;
                list_of(name, record)?
            }
        };
        Ok(Arc::new(field))
    }
}

fn text_field(name: &str) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::String))
        .build()
}

/// Returns a list type with the three levels that the format requires: `name.list.element`.
fn list_of(name: &str, element: Type) -> Result<Type, ParquetError> {
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
}

/// Returns the definition and repetition levels of lists without null lists or elements; their lengths determine all levels.
///
/// - `full`: the definition level of an element's value.
fn levels(lengths: impl Iterator<Item = usize>, full: i16) -> (Vec<i16>, Vec<i16>) {
    /// The definition level of a list without elements.
    const EMPTY: i16 = 1;
    let (mut defined, mut repeated) = (Vec::new(), Vec::new());
    for length in lengths {
        defined.push(if length == 0 { EMPTY } else { full });
        repeated.push(0);
        for _ in 1..length {
            defined.push(full);
            repeated.push(1);
        }
    }
    (defined, repeated)
}

impl Values {
    fn write<W: std::io::Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let bytes = |text: &String| ByteArray::from(text.as_str());
        /// Definition levels of an element of a list, and of a field of an element.
        const ELEMENT: i16 = 3;
        const FIELD: i16 = 4;
        match self {
            Self::Texts(texts) => {
                let values: Vec<ByteArray> = texts.iter().map(bytes).collect();
                write_column::<ByteArrayType, W>(group, &values, &vec![1; values.len()], None)
            }
            Self::Integers(values) => {
                write_column::<Int64Type, W>(group, values, &vec![1; values.len()], None)
            }
            Self::Numbers(values) => {
                write_column::<DoubleType, W>(group, values, &vec![1; values.len()], None)
            }
            Self::TextLists(lists) => {
                let (defined, repeated) = levels(lists.iter().map(Vec::len), ELEMENT);
                let values: Vec<ByteArray> = lists.iter().flatten().map(bytes).collect();
                write_column::<ByteArrayType, W>(group, &values, &defined, Some(&repeated))
            }
            Self::IntegerLists(lists) => {
                let (defined, repeated) = levels(lists.iter().map(Vec::len), ELEMENT);
                let values: Vec<i64> = lists.iter().flatten().copied().collect();
                write_column::<Int64Type, W>(group, &values, &defined, Some(&repeated))
            }
            #[cfg(feature = "testing")]
            Self::NumberLists(lists) => {
                let (defined, repeated) = levels(lists.iter().map(Vec::len), ELEMENT);
                let values: Vec<f64> = lists.iter().flatten().copied().collect();
                write_column::<DoubleType, W>(group, &values, &defined, Some(&repeated))
            }
            Self::RecordLists(fields, lists) => {
                let (defined, repeated) = levels(lists.iter().map(Vec::len), FIELD);
                for number in 0..fields.len() {
                    let values = lists
                        .iter()
                        .flatten()
                        .map(|record| record.get(number).map_or_else(ByteArray::new, bytes));
                    let values: Vec<ByteArray> = values.collect();
                    write_column::<ByteArrayType, W>(group, &values, &defined, Some(&repeated))?;
                }
                Ok(())
            }
        }
    }
}

fn write_column<T: parquet::data_type::DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: &[i16],
    repeated: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns".to_owned()));
    };
    column.typed::<T>().write_batch(values, Some(defined), repeated)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("sample.parquet");
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let columns = [
            Column { name: "id", values: Values::Texts(texts(&["a", "b"])) },
            Column { name: "level", values: Values::Integers(vec![3, -1]) },
            Column { name: "rank", values: Values::Numbers(vec![8.5, 0.0]) },
            Column { name: "units", values: Values::TextLists(vec![texts(&["x", "y"]), Vec::new()]) },
            Column { name: "children", values: Values::IntegerLists(vec![Vec::new(), vec![7]]) },
            Column {
                name: "findings",
                values: Values::RecordLists(
                    &["explanation", "summary"],
                    vec![vec![texts(&["why", "what"])], Vec::new()],
                ),
            },
        ];
        write(&path, &columns).expect("written");
        path
    }

    const COLUMNS: [&str; 7] = ["id", "level", "rank", "units", "children", "findings", "absent"];

    #[test]
    fn written_tables_are_read_back_with_empty_lists_and_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = read(&sample(folder.path()), &COLUMNS).expect("a table");
        assert_eq!((rows[0].text("id"), rows[1].number("level")), ("a".to_owned(), Some(-1.0)));
        assert_eq!((rows[0].number("rank"), rows[0].text("absent")), (Some(8.5), String::new()));
        assert_eq!((rows[0].texts("units"), rows[1].texts("units").len()), (vec!["x".into(), "y".into()], 0));
        assert_eq!(rows[1].texts("children"), ["7"]);
        let findings = rows[0].records("findings");
        assert_eq!((findings[0].text("summary"), findings.len()), ("what".to_owned(), 1));
        assert_eq!(rows[1].records("findings"), []);
    }

    #[test]
    fn lists_written_as_text_are_read() {
        for text in ["['a', 'b']", "a,b", "['a'\n 'b']", "[\"a\",\"b\"]"] {
            assert_eq!(split_list(text), ["a", "b"], "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_damaged_file_gives_an_error_or_other_rows_but_never_a_panic(at in 0_usize..4000, byte in any::<u8>()) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = sample(folder.path());
            let mut bytes = std::fs::read(&path).expect("readable");
            let at = at % bytes.len();
            bytes[at] = byte;
            std::fs::write(&path, bytes).expect("written");
            let _ = read(&path, &COLUMNS);
        }
    }
}
