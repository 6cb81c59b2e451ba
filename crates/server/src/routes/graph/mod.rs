//! Routes that read and edit the graph.

mod claims;
mod communities;
mod decisions;
mod editing;
mod exploring;
mod tree;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 6] = [
    claims::ROUTES,
    communities::ROUTES,
    tree::ROUTES,
    exploring::ROUTES,
    editing::ROUTES,
    decisions::ROUTES,
];
