//! Any bytes as an extraction answer: no panic, every place inside the text, and what stands before a cut stays.
//!
//! `cargo +nightly fuzz run parse_answer` in the repository's root.
#![no_main]

use graphloom_engine::extract::records::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for cut in [false, true] {
        let parsed = parse(&text, cut);
        for found in &parsed.found {
            assert!(text.get(found.span.clone()).is_some(), "{:?}", found.span);
        }
        for reject in parsed.rejects_of(0, &text) {
            assert!(text[reject.offset as usize..].starts_with(&reject.text), "{reject:?}");
        }
    }
});
