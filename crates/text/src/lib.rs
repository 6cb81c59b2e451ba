//! Text processing: tokens, names, sentences, and cleaning before storage.

mod around;
mod boilerplate;
mod front_matter;
mod key;
mod lines;
mod marked_names;
mod names;
mod raised;
mod sanitize;
mod sentences;
mod tokens;
mod turns;
mod wrapped;

pub use boilerplate::{behind_end_marks, is_about_rights, without_boilerplate};
pub use front_matter::front_matter;
pub use key::entity_key;
pub use lines::{is_clause, is_list_item};
pub use names::{MAX_NAME_BYTES, MAX_NAME_CHARS, clean_name};
pub use raised::raised_digit;
pub use sanitize::{sanitize, unescape};
pub use sentences::{is_prose, sentences, sentences_and_code};
pub use tokens::{MIN_WINDOW_TOKENS, TokenMap, Tokenizer};
pub use turns::{TurnLabel, turn_label};
pub use wrapped::{Joint, LineJoiner, joint, one_line, with_whole_words};
