//! The store on a real server: the suite of every store, the separation of workspaces, and the failures that it survives.

mod conformance;
mod faults;
mod indexes;
mod memory;
mod network;
mod upgrading;
mod walls;
