//! Takes the page of the API out of the archive that carries it. Entries of a ZIP archive are compressed as those of gzip are,
//! so they become gzip files as they are, which is how browsers take them.

use std::io::{Cursor, Read};
use std::path::Path;
use std::{env, fs};

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive};

/// What the page needs of the archive.
const FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

#[allow(clippy::disallowed_macros, reason = "this is how cargo is told")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).expect("an archive");
    for name in FILES {
        let ending = format!("/dist/{name}");
        let index = (0..archive.len())
            .find(|index| matches!(archive.name_for_index(*index), Some(Ok(name)) if name.ends_with(&ending)))
            .unwrap_or_else(|| panic!("the archive holds {name}"));
        let mut entry = archive.by_index_raw(index).expect("an entry");
        let (method, crc, size) = (entry.compression(), entry.crc32(), entry.size());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("an entry that can be read");
        assert_eq!(method, CompressionMethod::Deflated, "{name}");
        let file = Path::new(&folder).join(format!("{name}.gz"));
        fs::write(file, gzip(&bytes, crc, size)).expect("a folder that can be written");
    }
}

/// RFC 1952: a head without name and time, the compressed bytes, their checksum and length.
fn gzip(deflated: &[u8], crc: u32, size: u64) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    file.extend_from_slice(deflated);
    file.extend_from_slice(&crc.to_le_bytes());
    file.extend_from_slice(&(size as u32).to_le_bytes());
    file
}
