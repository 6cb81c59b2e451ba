//! Documents: adding, listing, and what works on them.

mod adding;
mod estimating;
mod listing;
mod queue;
mod reading;

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 5] =
    [adding::ROUTES, estimating::ROUTES, listing::ROUTES, queue::ROUTES, reading::ROUTES];
