//! Documents: adding, listing, reading and the queue.

mod adding;
mod estimating;
mod listing;
mod queue;
mod reading;

pub(crate) use adding::{InsertResponse, add_texts, source_of};
pub(super) use estimating::{StepItem, TotalItem};

use crate::route::Route;

pub(super) const TABLES: [&[Route]; 5] =
    [adding::ROUTES, estimating::ROUTES, listing::ROUTES, queue::ROUTES, reading::ROUTES];
