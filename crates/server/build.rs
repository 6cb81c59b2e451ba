//! Embeds the web UI, if it is built, and the page and description of the API.

use std::fmt::Write;
use std::fs::File;
use std::io::{Cursor, Read, Write as _};
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// The built web UI: `index.html`, and `assets/` with each file as `.gz` and some also as `.br`.
const UI: &str = "ui/dist";
/// The description of the API, compared with the routes by a test.
const DESCRIPTION: &str = "openapi.json";
/// Files of the archive that the page of the API needs.
const API_PAGE: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

#[allow(clippy::disallowed_macros, reason = "cargo reads instructions from standard output")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The folder always exists; its content appears when the UI is built.
    println!("cargo::rerun-if-changed=ui");
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    let out = env::var_os("OUT_DIR").expect("cargo names a folder");
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo names a folder");
    let ui = table_of_ui(&Path::new(&manifest).join(UI));
    fs::write(Path::new(&out).join("ui.rs"), ui).expect("a folder that can be written");
    pack_api_page(Path::new(&out));
    let description = fs::read(Path::new(&manifest).join(DESCRIPTION)).expect("the description of the API");
    pack(Path::new(&out), DESCRIPTION, &description);
}

/// Returns the page and the table of assets as Rust code; without a built UI, no page and an empty table.
fn table_of_ui(folder: &Path) -> String {
    let page = folder.join("index.html");
    if !page.is_file() {
        return "const PAGE: Option<&str> = None;\nconst ASSETS: &[Asset] = &[];\n".to_owned();
    }
    let assets = fs::read_dir(folder.join("assets")).expect("a built UI has assets");
    let names = assets.map(|entry| entry.expect("a folder that can be read").file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| name.to_str().and_then(|name| name.strip_suffix(".gz")).map(str::to_owned))
        .collect();
    names.sort();
    let mut table =
        format!("const PAGE: Option<&str> = Some(include_str!({page:?}));\nconst ASSETS: &[Asset] = &[\n");
    for name in names {
        let [brotli, gzip] =
            ["br", "gz"].map(|ending| folder.join("assets").join(format!("{name}.{ending}")));
        let brotli = match brotli.is_file() {
            true => format!("Some(include_bytes!({brotli:?}))"),
            false => "None".to_owned(),
        };
        writeln!(table, "Asset {{ name: {name:?}, brotli: {brotli}, gzip: include_bytes!({gzip:?}) }},")
            .expect("text can be written");
    }
    table + "];\n"
}

/// Extracts the files of the API page from their archive, and compresses them for browsers.
fn pack_api_page(out: &Path) {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).expect("an archive");
    for name in API_PAGE {
        let ending = format!("/dist/{name}");
        let index = (0..archive.len())
            .find(|index| matches!(archive.name_for_index(*index), Some(Ok(name)) if name.ends_with(&ending)))
            .unwrap_or_else(|| panic!("the archive holds {name}"));
        let mut file = archive.by_index(index).expect("an entry");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("an entry that can be read");
        pack(out, name, &bytes);
    }
}

/// Writes a file in gzip form.
fn pack(out: &Path, name: &str, bytes: &[u8]) {
    let file = File::create(out.join(format!("{name}.gz"))).expect("a folder that can be written");
    let mut packer = GzEncoder::new(file, Compression::best());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("a file that can be written");
}
