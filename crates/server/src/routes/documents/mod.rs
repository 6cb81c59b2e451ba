//! Documents: adding, listing, and what works on them.

mod adding;
mod listing;
mod queue;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 3] = [adding::ROUTES, listing::ROUTES, queue::ROUTES];
