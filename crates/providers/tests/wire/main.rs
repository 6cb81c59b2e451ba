//! Tests of providers against scripted servers on loopback, with valid and with broken responses.

#![allow(clippy::unwrap_used)]

mod chatting_with_anthropic;
mod chatting_with_gemini;
mod chatting_with_ollama;
mod chatting_with_openai;
mod common;
mod embedding_with_openai;
mod keeping_keys_secret;
mod pausing_a_service;
mod reranking;
mod shaping_answers;
