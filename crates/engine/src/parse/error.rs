//! Why bytes could not be read, and what to do about it.

use graphloom_core::Format;

/// Why a source is not readable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No bytes.
    #[error("the source is empty")]
    Empty,
    /// Nothing to see.
    #[error("the source holds only white space")]
    Blank,
    /// A known format that is not read.
    #[error("the source is {kind}, which is not supported")]
    Unsupported {
        /// The format with its article, such as `a PDF document`.
        kind: &'static str,
    },
    /// Bytes that are no text.
    #[error("the source is binary data, not text: {reason}")]
    Binary {
        /// What gave it away.
        reason: &'static str,
    },
    /// More than the limit.
    #[error("the source has {bytes} bytes of text, the limit is {max_bytes}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// No encoding fits.
    #[error("the source is not valid {encoding}, the encoding it looks like")]
    Undecodable {
        /// The best guess.
        encoding: &'static str,
    },
    /// Markup around nothing.
    #[error("the {} source has no text to read", format.name())]
    NoText {
        /// What it was read as.
        format: Format,
    },
}

impl ParseError {
    /// What a person can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Empty | Self::Blank => "check that the file was written completely, or leave it out",
            Self::Unsupported { .. } | Self::Binary { .. } => {
                "convert it to text, Markdown, HTML, CSV or JSON and add that file"
            }
            Self::TooLarge { .. } => "split it into smaller files, or raise the size limit",
            Self::Undecodable { .. } => "save it as UTF-8 and add it again",
            Self::NoText { .. } => "save the page as it is shown, or add its text",
        }
    }
}
