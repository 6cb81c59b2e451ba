//! Pages of documents in a chosen order.

use std::collections::BTreeSet;

use crate::{DocumentId, StatusKind};

/// Selects a page of the documents, staged ones included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPage {
    /// The order.
    pub order: DocumentOrder,
    /// Whether the order is reversed.
    pub descending: bool,
    /// Only documents with one of these statuses, so none if it is empty; `None` for all.
    pub status: Option<BTreeSet<StatusKind>>,
    /// Only documents whose source contains this, in any case; all documents if it is empty.
    pub name: String,
    /// Number of documents before the page.
    pub skip: usize,
    /// Maximum number of documents on the page.
    pub limit: usize,
}

/// An order of documents. Documents that are equal in it are ordered by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentOrder {
    /// By id alone.
    Id,
    /// By source, in the order of its bytes.
    Source,
    /// By the time when they were accepted.
    Accepted,
    /// By the length of their text in bytes.
    Size,
    /// By status in the order of [`StatusKind::ALL`], those that need attention first, then by source.
    Status,
}

/// A page of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentsFound {
    /// The documents of the page, in order.
    pub ids: Vec<DocumentId>,
    /// Number of documents on all pages.
    pub total: u64,
}
