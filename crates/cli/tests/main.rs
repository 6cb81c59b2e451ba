//! The behaviours of the program, one per file.

mod adding_a_folder;
mod asking_about_everything;
mod asking_as_lightrag_does;
mod asking_as_of_a_date;
mod asking_with_citations;
mod backing_up;
mod cancelling_documents;
mod changing_a_document;
mod changing_the_embedder;
mod choosing_a_provider;
mod chunk_contexts;
mod common;
mod configuration_origins;
mod copying_workspaces;
mod deleting_a_document;
mod deriving_communities;
mod deriving_trees;
mod editing_the_graph;
mod evaluating_answers;
mod evaluating_retrieval;
mod exporting;
mod filtering_documents;
mod finding_the_way;
mod first_answer_offline;
mod following_a_run;
mod going_on_with_the_same_models;
mod importing;
mod interrupting_add;
mod keeping_conversations;
mod keeping_originals;
mod keeping_workspaces_in_postgres;
mod killing_add;
mod limiting_costs;
mod limiting_workspaces;
mod losing_the_terminal;
mod machine_output;
mod models_of_a_program;
mod models_that_name_nothing;
mod moving_workspaces;
mod parsing_an_answer;
mod pausing_a_workspace;
mod re_extracting_documents;
mod reading_documents;
mod remembering_answers;
mod repairing_a_workspace;
mod reranking_passages;
mod retrying_failures;
mod serving;
mod sharing_a_database;
mod speaking_mcp;
mod watching_a_folder;
mod wording_prompts;
mod working_in_a_project;

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
