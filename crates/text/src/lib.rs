//! Text processing: tokens, names, sentences, and cleaning before storage.

mod around;
mod boilerplate;
mod key;
mod lines;
mod marked_names;
mod names;
mod sanitize;
mod sentences;
mod tokens;
mod wrapped;

pub use boilerplate::{behind_end_marks, without_boilerplate};
pub use key::entity_key;
pub use lines::{is_list_item, turn_label};
pub use names::{MAX_NAME_BYTES, MAX_NAME_CHARS, clean_name};
pub use sanitize::{sanitize, unescape};
pub use sentences::{is_prose, sentences, sentences_and_code};
pub use tokens::{MIN_WINDOW_TOKENS, TokenMap, Tokenizer};
pub use wrapped::{Joint, LineJoiner, joint, one_line, with_whole_words};
