//! The laws of the pipelines over real stores, one subject per file.

mod chunk_contexts;
mod contending_for_the_graph;
mod deriving_communities;
mod deriving_trees;
mod documents_over_time;
mod ending_a_run;
mod estimating_costs;
mod filtered_questions;
mod interleavings;
mod keeping_settings;
mod racing_processes;
mod re_embedding;
mod sharing_a_queue;
mod sharing_a_service;
mod slow_embedders;
mod support;
mod views_converge;
