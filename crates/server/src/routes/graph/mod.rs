//! Routes that read and edit the graph.

mod communities;
mod decisions;
mod editing;
mod exploring;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 4] =
    [communities::ROUTES, exploring::ROUTES, editing::ROUTES, decisions::ROUTES];
