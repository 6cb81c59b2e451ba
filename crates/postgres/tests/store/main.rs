//! The store on a real server: the suite of every store, its walls between workspaces, and what it survives.

mod conformance;
mod faults;
mod indexes;
mod memory;
mod network;
mod upgrading;
mod walls;
