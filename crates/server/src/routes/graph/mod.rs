//! Routes that read and edit the graph.

mod claims;
mod communities;
mod decisions;
mod editing;
mod exploring;
mod picture;
mod tree;

pub(crate) use picture::Pictures;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 7] = [
    claims::ROUTES,
    communities::ROUTES,
    tree::ROUTES,
    exploring::ROUTES,
    picture::ROUTES,
    editing::ROUTES,
    decisions::ROUTES,
];
