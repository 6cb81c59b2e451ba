//! The graph: looking around in it, and editing it.

mod editing;
mod exploring;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 2] = [exploring::ROUTES, editing::ROUTES];
