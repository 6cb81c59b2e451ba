//! The case of originals, which are removed with their documents.

use graphloom_core::{Batch, ContentHash, DocumentId, OriginalStamp, SetOriginal, Store, write_dump};

use super::sample::{self, original};
use super::steps::{commit, get, invalid, view};

/// Returns bytes that are longer than the pieces in which stores keep originals, and that start like a compressed file.
fn long() -> Vec<u8> {
    let numbers = (0..70_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
    [0x28, 0xb5, 0x2f, 0xfd].into_iter().chain(numbers).collect()
}

async fn dumped(store: &dyn Store) -> String {
    let mut out = Vec::new();
    write_dump(view(store).await.as_ref(), &mut out).await.expect("memory does not fail").hash
}

/// A conformance case.
pub async fn originals_can_be_stored_and_replaced_and_are_removed_with_their_documents(store: &dyn Store) {
    let (first, second) =
        (sample::document("a.pdf", "Ada met Bob"), sample::document("b.pdf", "Bob met Cem"));
    let ids = [&first, &second].map(|new| new.document.id.clone());
    let [one, two] = &ids;
    let none = DocumentId::from_stored("none");
    invalid(store, Batch { set_originals: vec![original(&none, b"x")], ..Batch::default() }).await;
    let put = Batch {
        put_documents: vec![first.clone(), second],
        set_originals: vec![original(one, &long()), original(two, b"")],
        ..Batch::default()
    };
    commit(store, put).await;
    let full = view(store).await;
    let asked = [one.clone(), none.clone(), two.clone()];
    assert_eq!(get(full.originals(&asked).await), [Some(long()), None, Some(Vec::new())]);
    let stamp =
        |bytes: &[u8]| Some(OriginalStamp { hash: ContentHash::of(bytes), bytes: bytes.len() as u64 });
    assert_eq!(get(full.original_stamps(&asked).await), [stamp(&long()), None, stamp(b"")]);

    // A document that is put again keeps its original.
    let with_both = dumped(store).await;
    let again = Batch {
        put_documents: vec![first],
        set_originals: vec![original(two, b"other"), original(two, b"last")],
        ..Batch::default()
    };
    commit(store, again).await;
    assert_eq!(get(view(store).await.originals(&ids).await), [Some(long()), Some(b"last".to_vec())]);
    assert_ne!(dumped(store).await, with_both, "originals are part of the canonical state");
    let unset = SetOriginal { document: two.clone(), bytes: None };
    commit(store, Batch { set_originals: vec![unset.clone(), unset], ..Batch::default() }).await;
    assert_eq!(get(view(store).await.original_stamps(&ids).await), [stamp(&long()), None]);

    commit(store, Batch { remove_documents: vec![one.clone()], ..Batch::default() }).await;
    let after = view(store).await;
    assert_eq!(get(after.originals(&ids).await), [None, None]);
    assert_eq!(get(full.originals(&ids).await), [Some(long()), Some(Vec::new())]);
}
