//! Finds damage in a store's files, whatever the rows say: in pages, indexes, checksums and projections.

use std::collections::BTreeMap;
use std::path::Path;

use graphloom_core::{Finding, StoreError};
use rusqlite::Connection;

use super::error::Context;
use super::{Shared, links, schema, sums, vector_tree};
use crate::check::MAX_FINDINGS;

/// Returns all damage in the files of a store, at most [`MAX_FINDINGS`] of each kind. Empty for sound files.
///
/// Reads every page of the file once or twice.
pub(super) fn verify(shared: &Shared) -> Result<Vec<Finding>, StoreError> {
    shared.require_unmoved()?;
    let reader = schema::open_reader(&shared.path)?;
    let conn = &reader.conn;
    conn.execute_batch("BEGIN").during("reading the file")?;
    let mut findings = Vec::new();
    let file = shared.path.display().to_string();
    // Each check may itself fail because of damage. Then the failure is the finding.
    let steps: [(&str, Step); 5] = [
        ("comparing pages and indexes", check_pages),
        ("comparing references", check_references),
        ("comparing the schema", check_schema),
        ("comparing checksums", check_sums),
        ("comparing vector trees", check_trees),
    ];
    for (name, step) in steps {
        match step(conn, &file) {
            Ok(found) => findings.extend(found.into_iter().take(MAX_FINDINGS)),
            Err(error) => findings.push(finding("file", &file, format!("{name}: {error}"))),
        }
    }
    findings.extend(check_projections(shared));
    Ok(findings)
}

type Step = fn(&Connection, &str) -> rusqlite::Result<Vec<Finding>>;

fn finding(kind: &'static str, id: &str, what: impl Into<String>) -> Finding {
    Finding { kind, id: id.to_owned(), what: what.into() }
}

fn check_pages(conn: &Connection, file: &str) -> rusqlite::Result<Vec<Finding>> {
    let mut check = conn.prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(|line| finding("file", file, line)).collect())
}

fn check_references(conn: &Connection, _: &str) -> rusqlite::Result<Vec<Finding>> {
    let mut check = conn.prepare("PRAGMA foreign_key_check")?;
    let mut found = check.query([])?;
    let mut findings = Vec::new();
    while let Some(row) = found.next()? {
        let (table, number, parent): (String, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let number = number.map_or(String::new(), |number| number.to_string());
        let what = format!("it names a row of {parent} that does not exist");
        findings.push(finding("row", format!("{table} {number}").trim_end(), what));
    }
    Ok(findings)
}

/// Checks that the tables and indexes of the file are those that the migrations create.
fn check_schema(conn: &Connection, file: &str) -> rusqlite::Result<Vec<Finding>> {
    let (expected, found) = (schema_of(&schema::new_in_memory()?)?, schema_of(conn)?);
    let mut findings = Vec::new();
    for (name, sql) in &expected {
        match found.get(name) {
            None => findings.push(finding("file", file, format!("{name} is missing"))),
            Some(other) if other != sql => {
                findings.push(finding(
                    "file",
                    file,
                    format!("{name} is not defined as this release defines it"),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(findings)
}

fn schema_of(conn: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut select = conn.prepare(
        "SELECT type || ' ' || name, type || tbl_name || sql FROM main.sqlite_schema WHERE sql IS NOT NULL",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        let sql: String = row.get(1)?;
        Ok((row.get(0)?, sql.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    select.query_map([], read)?.collect()
}

fn check_sums(conn: &Connection, _: &str) -> rusqlite::Result<Vec<Finding>> {
    let damaged = sums::damaged_rows(conn)?;
    let to_finding = |row: sums::DamagedRow| {
        finding("row", &format!("{} {}", row.table, row.id()), "its values do not match its checksum")
    };
    Ok(damaged.into_iter().map(to_finding).collect())
}

fn check_trees(conn: &Connection, _: &str) -> rusqlite::Result<Vec<Finding>> {
    Ok(vector_tree::contradictions(conn)?
        .into_iter()
        .map(|what| finding("file", "vector tree", what))
        .collect())
}

fn check_projections(shared: &Shared) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |path: &Path, what: &str| {
        let what = format!("{what}; the next search rebuilds it");
        findings.push(finding("projection", &path.display().to_string(), what));
    };
    match shared.full_text.damaged_files() {
        Ok(damaged) => damaged.iter().for_each(|path| add(path, "it does not match its checksum")),
        Err(error) => add(shared.full_text.folder(), &format!("it cannot be read: {error}")),
    }
    if links::is_damaged(shared.links.copy()) {
        add(shared.links.copy(), "it does not match its checksum");
    }
    findings
}
