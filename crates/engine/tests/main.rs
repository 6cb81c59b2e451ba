//! The laws of the pipelines over real stores, one subject per file.

mod chunk_contexts;
mod contending_for_the_graph;
mod deriving_communities;
mod deriving_trees;
mod documents_over_time;
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

#[test]
fn every_file_of_this_folder_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("Unicode");
        if let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") {
            assert!(
                include_str!("main.rs").contains(&format!("\nmod {module};\n")),
                "{name} is not in main.rs"
            );
        }
    }
}
