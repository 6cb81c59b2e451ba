//! Routes that read and edit the graph.

mod decisions;
mod editing;
mod exploring;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 3] = [exploring::ROUTES, editing::ROUTES, decisions::ROUTES];
