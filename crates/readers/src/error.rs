//! Why a source cannot be read, with remedies.

use graphloom_core::Format;

/// Why a source cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The source has no bytes.
    #[error("the source is empty")]
    Empty,
    /// The source contains only white space.
    #[error("the source holds only white space")]
    Blank,
    /// The format is known but not supported.
    #[error("the source is {kind}, which is not supported")]
    Unsupported {
        /// The format with its article, such as `a PNG image`.
        kind: &'static str,
    },
    /// The name and the bytes indicate different formats.
    #[error("the source is named like {} but is {kind}", named.described())]
    Mislabelled {
        /// The format that the name indicates.
        named: Format,
        /// The format of the bytes, with its article.
        kind: &'static str,
    },
    /// The bytes are not text.
    #[error("the source is binary data, not text: {reason}")]
    Binary {
        /// The evidence.
        reason: &'static str,
    },
    /// The text exceeds the limit.
    #[error("the source has {bytes} bytes of text, the limit is {max_bytes}")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        max_bytes: usize,
    },
    /// There are more pages, sheets or other parts than the limit.
    #[error("the source has {found} {what}, the limit is {max}")]
    TooMany {
        /// The kind of part.
        what: &'static str,
        /// The number of parts.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// The source unpacks to more than the limit.
    #[error("the source, {}, unpacks to more than {max_bytes} bytes", format.described())]
    Bomb {
        /// The format.
        format: Format,
        /// The limit in bytes.
        max_bytes: usize,
    },
    /// The source is nested deeper than the limit.
    #[error("the source, {}, is nested more than {max_depth} levels deep", format.described())]
    TooDeep {
        /// The format.
        format: Format,
        /// The limit.
        max_depth: usize,
    },
    /// A password is needed to open the source.
    #[error("the source, {}, is encrypted", format.described())]
    Encrypted {
        /// The format.
        format: Format,
    },
    /// The source violates its format.
    #[error("the source, {}, is damaged: {reason}", format.described())]
    Broken {
        /// The format of the bytes or of the name.
        format: Format,
        /// What is wrong.
        reason: String,
    },
    /// The pages are images without text.
    #[error("the PDF document has no text on any of its {pages} pages: they are scanned or drawn")]
    Scanned {
        /// The number of pages.
        pages: usize,
    },
    /// The reader panicked.
    #[error("the reader of {} failed on the source", format.described())]
    Panicked {
        /// The format it was read as.
        format: Format,
    },
    /// The text cannot be decoded.
    #[error("the source is not valid {encoding}, the encoding it looks like")]
    Undecodable {
        /// The most likely encoding.
        encoding: &'static str,
    },
    /// The source contains markup but no text.
    #[error("the {} source has no text to read", format.name())]
    NoText {
        /// The format it was read as.
        format: Format,
    },
}

impl ParseError {
    /// Returns a remedy for people.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Empty | Self::Blank => "check that the file was written completely, or leave it out",
            Self::Unsupported { .. } | Self::Binary { .. } => {
                "convert it to a supported format, such as PDF, DOCX, HTML or text, and add that file"
            }
            Self::Mislabelled { .. } => {
                "check that it is the right file, and give it the extension of its format"
            }
            Self::TooLarge { .. } | Self::TooMany { .. } => {
                "split it into smaller files, or raise the size limit"
            }
            Self::Bomb { .. } => "split it into smaller files if you trust its origin, or leave it out",
            Self::TooDeep { .. } => "save it in a simpler form if you trust its origin, or leave it out",
            Self::Encrypted { .. } => "save it without a password and add that file",
            Self::Broken { .. } => {
                "check that it was copied completely and opens in its program; save it there again and add that file"
            }
            Self::Scanned { .. } => "let a text recognition program (OCR) add its text, and add that file",
            Self::Panicked { .. } => {
                "save it in another format and add that file; the other files are not affected"
            }
            Self::Undecodable { .. } => "save it as UTF-8 and add it again",
            Self::NoText { .. } => "save it as it is shown, or add its text",
        }
    }
}
