//! Help for people: commands in groups, hints for words that are not commands, and results of `search` and `graph` that fit a
//! screen.

use crate::common::Graphloom;

#[test]
fn the_help_groups_commands_and_lists_global_options_once() {
    let graphloom = Graphloom::new();
    let help = graphloom.ok(&["--help"]);
    let at =
        |heading: &str| help.find(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("{heading}: {help}"));
    let headings = ["Documents", "Ask", "Graph", "Serve", "Evaluate", "Operate", "Global options"];
    let places = headings.map(at);
    assert!(places.is_sorted(), "{help}");
    assert!(help.contains("--data-dir") && help.contains("--embedder"), "{help}");
    let of_add = graphloom.ok(&["add", "--help"]);
    assert!(of_add.contains("--estimate") && of_add.contains("graphloom --help"), "{of_add}");
    assert!(!of_add.contains("--data-dir"), "{of_add}");
    let of_graph = graphloom.ok(&["graph", "--help"]);
    assert!(of_graph.contains("labels") && !of_graph.contains("--data-dir"), "{of_graph}");
    let of_edit = graphloom.ok(&["graph", "edit", "--help"]);
    assert!(of_edit.contains("--description") && !of_edit.contains("--data-dir"), "{of_edit}");
}

#[test]
fn global_options_can_come_before_or_after_the_command() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.ok(&["add", "a.md", "--workspace", "notes"]);
    graphloom.run(&["--workspace", "notes", "status"]).exits(0).says("1 document,");
    graphloom.run(&["graph", "show", "Ada Lovelace", "--workspace", "notes"]).exits(0).says("Ada Lovelace");
    graphloom.run(&["status"]).exits(1);
}

#[test]
fn common_synonyms_of_commands_work_or_get_a_hint() {
    let graphloom = Graphloom::new();
    graphloom.write("a.md", "Ada Lovelace wrote the first program in London.\n");
    graphloom.run(&["index", "a.md"]).exits(0).says("1 document accepted");
    graphloom.run(&["ingest", "a.md"]).exits(0).says("1 unchanged");
    graphloom.run(&["query", "Who wrote the first program?"]).exits(0).says("Ada Lovelace");
    graphloom.run(&["find", "program"]).exits(0).says("a.md:1");
    graphloom.run(&["ls"]).exits(0).says("a.md: ready");
    graphloom.run(&["list"]).exits(0).says("a.md: ready");
    graphloom.run(&["chat"]).exits(2).says("unknown command \"chat\"").says("help: `graphloom ask");
    graphloom.run(&["init"]).exits(2).says("graphloom add PATH");
    graphloom.run(&["watch"]).exits(2).says("graphloom add PATH --watch");
    graphloom.run(&["aks"]).exits(2).says("help: did you mean `graphloom ask`?");
    graphloom.run(&["docs"]).exits(2).says("`graphloom status` lists the documents");
    graphloom.run(&["entities"]).exits(2).says("`graphloom graph labels`");
    graphloom.run(&["search", ""]).exits(2).says("the question is empty");
    graphloom.run(&["ask", ""]).exits(2).says("the question is empty");
    graphloom.run(&["graph", "lables"]).exits(1).says("did you mean `graphloom graph labels`");
    graphloom.run(&["ui"]).exits(2).says("serves the web UI");
    graphloom
        .run(&["add", "-r", "."])
        .exits(2)
        .says("help: leave it out: folders are read with everything below");
    let missing = graphloom.run(&["--json", "config"]).exits(2);
    missing.says("\"error\":\"a subcommand is missing\"").says("Usage: graphloom config");
    graphloom.run(&["delete", "a.md"]).exits(0).says("removed a.md");
}

#[test]
fn search_shows_and_highlights_the_matching_place() {
    let graphloom = Graphloom::new();
    let filler = "The weir is inspected in spring.\n".repeat(20);
    graphloom.write("log.md", format!("{filler}The turbine bearing was replaced by Ines Marlow.\n{filler}"));
    graphloom.ok(&["add", "log.md"]);
    let found = graphloom.ok(&["search", "turbine bearing"]);
    assert!(found.contains("log.md:21  \"…The turbine bearing was replaced"), "{found}");
    let colored = graphloom.ok(&["--color", "always", "search", "turbine bearing"]);
    assert!(colored.contains("\u{1b}[1;33mturbine\u{1b}[0m"), "{colored}");
}

#[test]
fn an_entity_fits_on_one_screen_and_an_option_shows_all_its_details() {
    let graphloom = Graphloom::new();
    for name in [
        "Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Iris", "Juniper", "Kale",
        "Larch",
    ] {
        let text = format!(
            "Ines Marlow directed the {name} Institute in Lisbon. Ines Marlow founded the {name} Prize.\n"
        );
        graphloom.write(&format!("docs/{name}.md"), text);
    }
    graphloom.ok(&["add", "docs"]);
    let mut command = graphloom.command(&["graph", "Ines Marlow"]);
    let output = command.env("COLUMNS", "80").env("LINES", "24").output().expect("runs");
    let short = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(short.lines().count() < 24 && short.lines().all(|line| line.chars().count() <= 80), "{short}");
    assert!(
        short.contains("more: `graphloom graph show --all \"Ines Marlow\"`")
            || short.contains("passages: `graphloom"),
        "{short}"
    );
    let whole = graphloom.ok(&["graph", "show", "--all", "Ines Marlow"]);
    assert!(whole.len() > short.len() && !whole.contains("--all"), "{whole}");
    assert_eq!(graphloom.ok(&["graph", "--all", "Ines Marlow"]), whole);
}

#[test]
fn pulling_a_model_says_how_much_it_downloads() {
    // An empty PATH has no Python to download with.
    let graphloom = Graphloom::new().with("PATH", "");
    graphloom
        .run(&["model", "pull", "all-minilm-l6-v2"])
        .exits(1)
        .says("downloading all-minilm-l6-v2 (79.6 MiB)");
}

#[test]
fn search_shows_a_place_once_if_passages_overlap() {
    let graphloom = Graphloom::new();
    let line = |at: u32| format!("The keeper wrote mark{at:04} beside the lamp and went to bed.\n");
    graphloom.write("log.txt", (1..400).map(line).collect::<String>());
    graphloom.ok(&["add", "log.txt"]);
    let found = graphloom.json(&["search", "keeper lamp", "--top-k", "40"]);
    let starts =
        found["passages"].as_array().expect("a list").iter().map(|passage| passage["lines"][0].as_u64());
    let start = starts.flatten().max().expect("a passage");
    // The first complete line of the last passage is also at the end of the passage before it.
    let start = start + 1;
    let word = format!("mark{start:04}");
    let hits = graphloom.json(&["search", &word]);
    let holds =
        |passage: &&serde_json::Value| passage["chunk"]["text"].as_str().is_some_and(|it| it.contains(&word));
    assert_eq!(hits["passages"].as_array().expect("a list").iter().filter(holds).count(), 2, "{hits}");
    let shown = graphloom.ok(&["search", &word]);
    assert_eq!(shown.matches(&format!("log.txt:{start} ")).count(), 1, "{shown}");
}
