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
    /// Only documents with one of these statuses (an empty set selects none); `None` for all.
    pub status: Option<BTreeSet<StatusKind>>,
    /// Only documents whose source contains this, ignoring case; all documents if it is empty.
    pub name: String,
    /// Number of documents before the page.
    pub skip: usize,
    /// Maximum number of documents on the page.
    pub limit: usize,
}

/// An order of documents. Documents that compare equal are ordered by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentOrder {
    /// By id only.
    Id,
    /// By source, in the order of its bytes.
    Source,
    /// By the time of acceptance.
    Accepted,
    /// By the length of the text in bytes.
    Size,
    /// By status in the order of [`StatusKind::ALL`], which starts with those that need attention, then by source.
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
