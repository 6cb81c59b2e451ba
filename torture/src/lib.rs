//! The torture suite: random histories of the built program under kills, stops and faults, compared with a model.
//!
//! It runs commands, servers and workers concurrently on one data folder, brings them to rest, and compares the
//! result with the model. It sends signals, so the library is empty on systems other than Unix. See
//! `docs/explanation/reliability.md`.
#![cfg(unix)]

mod act;
mod edit;
mod faults;
mod generate;
mod history;
mod http;
mod judge;
mod model;
mod provider;
mod random;
mod reduce;
mod report;
mod rest;
mod scenarios;
mod script;
mod stacks;
mod suite;
mod text;
mod watch;
mod weather;
mod world;

pub use suite::main;
