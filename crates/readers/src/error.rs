//! Why bytes cannot be read, with remedies.

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
        /// The format with its article, such as `a PNG image`.
        kind: &'static str,
    },
    /// The name says one format and the bytes another.
    #[error("the source is named like {} but is {kind}", named.described())]
    Mislabelled {
        /// What the name says.
        named: Format,
        /// What the bytes are, with article.
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
    /// More pages, sheets or the like than the limit.
    #[error("the source has {found} {what}, the limit is {max}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// Compressed to a fraction of what it unpacks to.
    #[error("the source, {}, unpacks to more than {max_bytes} bytes", format.described())]
    Bomb {
        /// What it is.
        format: Format,
        /// The limit.
        max_bytes: usize,
    },
    /// Nested deeper than the limit.
    #[error("the source, {}, is nested more than {max_depth} levels deep", format.described())]
    TooDeep {
        /// What it is.
        format: Format,
        /// The limit.
        max_depth: usize,
    },
    /// Only a password opens it.
    #[error("the source, {}, is encrypted", format.described())]
    Encrypted {
        /// What it is.
        format: Format,
    },
    /// Not what its format requires.
    #[error("the source, {}, is damaged: {reason}", format.described())]
    Broken {
        /// What it is, or is named.
        format: Format,
        /// What is wrong with it.
        reason: String,
    },
    /// Pages of pictures.
    #[error("the PDF document has no text on any of its {pages} pages: they are scanned or drawn")]
    Scanned {
        /// How many pages.
        pages: usize,
    },
    /// Its reader gave up in an unforeseen way.
    #[error("the reader of {} failed on the source", format.described())]
    Panicked {
        /// What it was read as.
        format: Format,
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
                "convert it to a format that is read, such as PDF, DOCX, HTML or text, and add that file"
            }
            Self::Mislabelled { .. } => {
                "check that it is the file you meant, and give it the extension of what it is"
            }
            Self::TooLarge { .. } | Self::TooMany { .. } => {
                "split it into smaller files, or raise the size limit"
            }
            Self::Bomb { .. } => "do not trust it if you do not know where it is from; else split it",
            Self::TooDeep { .. } => {
                "do not trust it if you do not know where it is from; else save it in a simpler form"
            }
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
