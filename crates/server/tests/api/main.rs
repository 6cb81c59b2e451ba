//! Tests the server over real sockets on this machine, with stores in memory and no model.

mod access;
mod attacks;
mod canaries;
mod chat;
mod clients;
mod compression;
mod conversations;
mod documents;
mod graph;
mod jobs;
mod login;
mod mcp;
mod proxies;
mod questions;
mod reading;
mod rights;
mod running;
mod stopping;
mod support;
mod ui;
mod workspace;
