//! Reads the members of a ZIP archive within limits.

use std::io::{Cursor, Read};

use graphloom_core::Format;
use zip::ZipArchive;
use zip::result::ZipError;

use super::{ParseError, ParseLimits, encoding};

/// Maximum members of an archive. An office document has tens of members, a large book thousands.
const MAX_MEMBERS: usize = 100_000;

/// A ZIP archive. Everything read from it counts towards one limit.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    format: Format,
    left: u64,
    max: u64,
}

impl<'a> Archive<'a> {
    /// Opens the archive of a document with this format.
    pub(super) fn open(bytes: &'a [u8], format: Format, limits: &ParseLimits) -> Result<Self, ParseError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(format, &error))?;
        if zip.len() > MAX_MEMBERS {
            return Err(ParseError::TooMany { what: "archive members", found: zip.len(), max: MAX_MEMBERS });
        }
        let max = limits.max_unpacked_bytes as u64;
        Ok(Self { zip, format, left: max, max })
    }

    /// Returns the names of all members.
    pub(super) fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(|name| name.into_owned()).collect()
    }

    /// Returns a member's bytes; `None` if there is no member with this name.
    pub(super) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, ParseError> {
        let member = match self.zip.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(ParseError::Encrypted { format: self.format });
            }
            Err(error) => return Err(broken(self.format, &error)),
        };
        let bomb = ParseError::Bomb { format: self.format, max_bytes: self.max as usize };
        let claimed = member.size();
        if claimed > self.left {
            return Err(bomb);
        }
        let mut content = Vec::with_capacity(claimed as usize);
        // A member may contain more than it declares. Reading one byte more than allowed detects that.
        let read = member.take(self.left + 1).read_to_end(&mut content);
        if content.len() as u64 > self.left {
            return Err(bomb);
        }
        read.map_err(|error| broken(self.format, &error))?;
        self.left -= content.len() as u64;
        Ok(Some(content))
    }

    /// Returns a member's text.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ParseError> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        match encoding::decode(&bytes) {
            Ok((text, _)) => Ok(Some(text.into_owned())),
            Err(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        }
    }

    /// Returns the text of a member, or an error if the member is missing.
    pub(super) fn required(&mut self, name: &str) -> Result<String, ParseError> {
        let format = self.format;
        let missing = || ParseError::Broken { format, reason: format!("its part {name} is missing") };
        self.text(name)?.ok_or_else(missing)
    }
}

fn broken(format: Format, error: &impl ToString) -> ParseError {
    ParseError::Broken { format, reason: format!("its archive cannot be read: {}", error.to_string()) }
}

/// Resolves `path` relative to the folder of the member `base`, without `.` and `..`.
pub(super) fn relative(base: &str, path: &str) -> String {
    let path = path.split(['#', '?']).next().unwrap_or(path);
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { base.split('/').collect() };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Builds an archive for tests.
#[cfg(test)]
pub(super) fn pack(members: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).expect("memory does not fail");
        writer.write_all(content.as_bytes()).expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail").into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unpacked_size_of_all_members_together_is_bounded() {
        let bytes = pack(&[("a", &"x".repeat(60_000)), ("b", &"y".repeat(60_000))]);
        assert!(bytes.len() < 2000);
        let limits = ParseLimits { max_unpacked_bytes: 100_000, ..ParseLimits::default() };
        let mut archive = Archive::open(&bytes, Format::Docx, &limits).expect("an archive");
        assert_eq!(archive.text("a").map(|text| text.map(|text| text.len())), Ok(Some(60_000)));
        assert_eq!(archive.text("b"), Err(ParseError::Bomb { format: Format::Docx, max_bytes: 100_000 }));
        assert_eq!(archive.text("c"), Ok(None));
    }

    #[test]
    fn paths_are_resolved_against_their_member() {
        assert_eq!(relative("OEBPS/content.opf", "text/ch1.xhtml#top"), "OEBPS/text/ch1.xhtml");
        assert_eq!(relative("ppt/slides/slide1.xml", "../notesSlides/n1.xml"), "ppt/notesSlides/n1.xml");
        assert_eq!(relative("a/b.xml", "/ppt/x.xml"), "ppt/x.xml");
        assert_eq!(relative("a.xml", "../../x.xml"), "x.xml");
    }
}
