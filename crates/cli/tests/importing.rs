//! Folders of GraphRAG and LightRAG become documents like any other, without a model call.

use std::path::Path;

use graphloom_migrate::testing::{Column, Values, write};
use graphloom_providers::testing::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::common::Graphloom;
use crate::common::model::ScriptedModel;

const BRIDGE: &str = "Clara Voss opened the Lind bridge in 1931. Otto Kern drew its plans.\n\nThe bridge crosses the Lind at Kelm.\n";
const SCHOOL: &str = "Clara Voss taught chemistry in Kelm. The school of Kelm burned down in 1940.\n";
const CLUB: &str = "Ada Lind met Bo Marsh in the club. Cy Dorn met Ada Lind and Bo Marsh there.\n";

fn texts(values: &[&str]) -> Values {
    Values::Texts(values.iter().map(|&value| value.to_owned()).collect())
}

fn lists(values: &[&[&str]]) -> Values {
    Values::TextLists(values.iter().map(|list| list.iter().map(|&it| it.to_owned()).collect()).collect())
}

fn numbers(count: i64) -> Column {
    Column { name: "human_readable_id", values: Values::Integers((0..count).collect()) }
}

fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}

/// Writes the tables of a project with three documents in the layout of releases from 3.0 on.
fn graphrag_project(graphloom: &Graphloom, folder: &str) {
    let output = graphloom.path(folder).join("output");
    std::fs::create_dir_all(&output).expect("a folder");
    let put = |name: &str, columns: &[Column]| {
        write(&output.join(format!("{name}.parquet")), columns).expect("written");
    };
    put(
        "documents",
        &[
            column("id", texts(&["d1", "d2", "d3"])),
            numbers(3),
            column("title", texts(&["bridge.txt", "school.txt", "club.txt"])),
            column("text", texts(&[&format!("\u{feff}{BRIDGE}"), SCHOOL, CLUB])),
            column("text_unit_ids", lists(&[&["u1", "u2"], &["u3"], &["u4"]])),
            column("creation_date", texts(&["2025-09-16 16:20:36 -0700", "", ""])),
        ],
    );
    let (first, second) = BRIDGE.split_once("\n\n").expect("two paragraphs");
    put(
        "text_units",
        &[
            column("id", texts(&["u1", "u2", "u3", "u4"])),
            numbers(4),
            column("text", texts(&[&format!("title: bridge.txt.\n\u{feff}{first}"), second, SCHOOL, CLUB])),
            column("document_id", texts(&["d1", "d1", "d2", "d3"])),
        ],
    );
    put(
        "entities",
        &[
            column("id", texts(&["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"])),
            numbers(8),
            column(
                "title",
                texts(&[
                    "CLARA VOSS",
                    "LIND BRIDGE",
                    "THE LIND BRIDGE",
                    "OTTO KERN",
                    "KELM",
                    "ADA LIND",
                    "BO MARSH",
                    "CY DORN",
                ]),
            ),
            column("type", texts(&["PERSON", "GEO", "GEO", "PERSON", "GEO", "PERSON", "PERSON", "PERSON"])),
            column(
                "description",
                texts(&[
                    "Clara Voss opened the Lind bridge in 1931. She taught chemistry in Kelm.",
                    "A bridge that Clara Voss opened.",
                    "",
                    "He drew the plans.",
                    "A town.",
                    "",
                    "",
                    "",
                ]),
            ),
            column(
                "text_unit_ids",
                lists(&[&["u1", "u3"], &["u1"], &["u2"], &["u1"], &["u2", "u3"], &["u4"], &["u4"], &["u4"]]),
            ),
        ],
    );
    put(
        "relationships",
        &[
            column("id", texts(&["r0", "r1", "r2", "r3", "r4", "r5"])),
            numbers(6),
            column(
                "source",
                texts(&["CLARA VOSS", "OTTO KERN", "LIND BRIDGE", "ADA LIND", "CY DORN", "CY DORN"]),
            ),
            column(
                "target",
                texts(&["LIND BRIDGE", "LIND BRIDGE", "RIVER LIND", "BO MARSH", "ADA LIND", "BO MARSH"]),
            ),
            column("description", texts(&["She opened it.", "He drew it.", "It crosses it.", "", "", ""])),
            column("weight", Values::Numbers(vec![9.0, 3.0, 2.0, 1.0, 1.0, 1.0])),
            column("text_unit_ids", lists(&[&["u1"], &["u1"], &["u2"], &["u4"], &["u4"], &["u4"]])),
        ],
    );
    put(
        "communities",
        &[
            column("community", Values::Integers(vec![0, 1])),
            column("entity_ids", lists(&[&["e5", "e6", "e7"], &["e0", "e4"]])),
        ],
    );
    put(
        "community_reports",
        &[
            column("community", Values::Integers(vec![0, 1])),
            column("title", texts(&["The club", "Kelm"])),
            column("summary", texts(&["Three people met.", "A town and its teacher."])),
            column("rank", Values::Numbers(vec![6.5, 2.0])),
            column("rating_explanation", texts(&["It is a club.", "It is a town."])),
            column(
                "findings",
                Values::RecordLists(
                    &["explanation", "summary"],
                    vec![
                        vec![vec![
                            "Cy Dorn met both [Data: Entities (7); Reports (9)].".to_owned(),
                            "They met.".to_owned(),
                        ]],
                        Vec::new(),
                    ],
                ),
            ),
        ],
    );
    put(
        "covariates",
        &[
            column("id", texts(&["c0", "c1", "c2", "c3"])),
            column("subject_id", texts(&["CLARA VOSS", "CLARA VOSS", "CLARA VOSS", "SCHOOL OF KELM"])),
            column("object_id", texts(&["LIND BRIDGE", "NONE", "KELM", "NONE"])),
            column("type", texts(&["OPENING", "TEACHING", "TEACHING", "FIRE"])),
            column("status", texts(&["TRUE", "TRUE", "TRUE", "TRUE"])),
            column("start_date", texts(&["1931-01-01T00:00:00", "NONE", "NONE", "1940"])),
            column("end_date", texts(&["1931-12-31T00:00:00", "NONE", "NONE", "NONE"])),
            column(
                "description",
                texts(&["She opened it.", "She taught.", "She taught in Kelm.", "It burned."]),
            ),
            column(
                "source_text",
                texts(&[
                    "Clara  Voss opened the Lind bridge in 1931.",
                    "Clara Voss taught Latin.",
                    "She was a teacher. \"Clara Voss taught chemistry in Kelm.\"",
                    "The school of Kelm burned down in 1940.",
                ]),
            ),
            column("text_unit_id", texts(&["u1", "u3", "u3", "u9"])),
        ],
    );
}

fn imported() -> Graphloom {
    let graphloom = Graphloom::new();
    graphrag_project(&graphloom, "rag");
    graphloom.ok(&["import", "graphrag", "rag"]);
    graphloom
}

#[test]
fn a_graphrag_project_is_imported_once_and_cited_at_its_passages() {
    let graphloom = Graphloom::new();
    graphrag_project(&graphloom, "rag");
    graphloom.run(&["import", "graphrag", "rag", "--dry-run"]).exits(0).says("nothing was stored");
    graphloom.run(&["status"]).exits(1);
    graphloom
        .run(&["import", "graphrag", "rag"])
        .exits(0)
        .says("3 documents, 4 chunks (4 verbatim in their documents, 4 extracted), 8 entities, 6 relations, 2 reports")
        .says("entity rows that are other spellings of an entity, merged with it: 1")
        .says("known by their relationships alone: 1")
        .says("4 claims (2 with a quote found in the text)")
        .says("claims (covariates) whose source text is not in their text unit, left out: 1")
        .says("claims (covariates) without an existing text unit, left out: 1")
        .says("3 documents imported")
        .says("2 communities with reports and levels from GraphRAG")
        .says("reuses 1 of 2 reports");
    let entity = graphloom.json(&["graph", "show", "Lind bridge"]);
    assert_eq!(entity["entity"]["description"], json!("A bridge that Clara Voss opened."), "{entity}");
    let answer = graphloom.json(&["ask", "Who opened the Lind bridge in 1931?"]);
    let citation = &answer["citations"][0];
    assert_eq!((&citation["source"], &citation["lines"][0]), (&json!("bridge.txt"), &json!(1)), "{answer}");
    let quote = citation["quote"].as_str().expect("a quote");
    assert!(BRIDGE.contains(quote), "{quote}");
    let claims = graphloom.json(&["claims", "Clara Voss"]);
    let lines: Vec<&Value> =
        claims["claims"].as_array().expect("claims").iter().map(|claim| &claim["line"]).collect();
    let quotes: Vec<&Value> = claims["claims"]
        .as_array()
        .expect("claims")
        .iter()
        .map(|claim| &claim["quoted"][0]["text"])
        .collect();
    assert_eq!(
        lines,
        ["CLARA VOSS, opening – LIND BRIDGE: 1931-01-01 to 1931-12-31", "CLARA VOSS, teaching – KELM"]
    );
    assert_eq!(
        quotes,
        ["Clara Voss opened the Lind bridge in 1931.", "Clara Voss taught chemistry in Kelm."],
        "{claims}"
    );
    graphloom.run(&["check"]).exits(0);

    let hash = graphloom.hash();
    graphloom.run(&["import", "graphrag", "rag"]).exits(0).says("3 already there");
    assert_eq!(graphloom.hash(), hash);
    // A file that has not changed since GraphRAG read it is not extracted again.
    graphloom.write("bridge.txt", BRIDGE);
    graphloom.run(&["add", "bridge.txt"]).exits(0).says("1 unchanged");
    assert_eq!(graphloom.hash(), hash);
}

#[test]
fn imported_documents_are_updated_and_deleted_without_a_trace() {
    let graphloom = imported();
    let clara = |graphloom: &Graphloom| {
        let entity = graphloom.json(&["graph", "show", "Clara Voss"]);
        entity["entity"]["description"].as_str().expect("a description").to_owned()
    };
    assert!(clara(&graphloom).contains("opened the Lind bridge"));
    graphloom.ok(&["rm", "bridge.txt"]);
    assert_eq!(
        clara(&graphloom),
        "She taught chemistry in Kelm.",
        "the other document's description is gone"
    );
    graphloom.run(&["graph", "show", "Otto Kern"]).exits(1);
    graphloom.write("school.txt", "Otto Kern built the school of Kelm.\n");
    graphloom.run(&["add", "school.txt"]).exits(0).says("1 as a new version");
    graphloom.run(&["graph", "show", "Clara Voss"]).exits(1);
    graphloom.ok(&["graph", "show", "Otto Kern"]);
    graphloom.ok(&["rm", "school.txt", "club.txt"]);
    let other = Graphloom::new();
    other.write("a.txt", "Ada.");
    other.ok(&["add", "a.txt"]);
    other.ok(&["rm", "a.txt"]);
    assert_eq!(graphloom.hash(), other.hash());
}

#[test]
fn a_report_is_reused_while_its_community_and_evidence_are_the_same() {
    let graphloom = imported();
    graphloom.ok(&["derive", "communities"]);
    let by = |graphloom: &Graphloom| {
        let listed = graphloom.json(&["communities"]);
        let rows = listed["communities"].as_array().expect("a list").clone();
        let club = |row: &&Value| row["title"] == json!("The club");
        rows.iter().find(club).map(|row| row["by"].clone())
    };
    assert_eq!(by(&graphloom), Some(json!("graphrag")));
    let listed = graphloom.json(&["communities"]);
    let rows = listed["communities"].as_array().expect("a list");
    let club = rows.iter().find(|row| row["title"] == json!("The club")).expect("the club");
    let report = graphloom.json(&["communities", club["id"].as_str().expect("an id")]);
    assert_eq!((&report["rating"], &report["dropped_references"]), (&json!(6.5), &json!(0)));
    let reference = &report["findings"][0]["references"][0];
    assert_eq!(reference["quote"], json!("Cy Dorn met Ada Lind and Bo Marsh there."), "{report}");
    graphloom.run(&["derive", "communities"]).exits(0).says("unchanged");
    // Another document mentions the members, so the report is written again from all evidence.
    graphloom.write("more.md", "Cy Dorn met Bo Marsh again in Paris.\n");
    graphloom.ok(&["add", "more.md"]);
    graphloom.ok(&["derive", "communities"]);
    assert_eq!(by(&graphloom), None);
    graphloom.ok(&["rm", "more.md"]);
    graphloom.ok(&["derive", "communities"]);
    assert_eq!(by(&graphloom), Some(json!("graphrag")));
}

#[test]
fn graphrags_communities_keep_their_reports_and_levels_until_others_are_derived() {
    let graphloom = Graphloom::new();
    graphrag_project(&graphloom, "rag");
    let output = graphloom.path("rag/output");
    let put = |name: &str, columns: &[Column]| {
        write(&output.join(format!("{name}.parquet")), columns).expect("written");
    };
    let names = ["All", "The club", "Kelm"];
    put(
        "communities",
        &[
            column("community", Values::Integers(vec![0, 1, 2])),
            // One entity is in no text unit of the folder.
            column(
                "entity_ids",
                lists(&[&["e0", "e4", "e5", "e6", "e7"], &["e5", "e6", "e7"], &["e0", "e4", "e99"]]),
            ),
        ],
    );
    put(
        "community_reports",
        &[
            column("community", Values::Integers(vec![0, 1, 2])),
            column("level", Values::Integers(vec![0, 1, 1])),
            column("title", texts(&names)),
            column("summary", texts(&["A town and a club.", "Three people met.", "A town and its teacher."])),
            column("rank", Values::Numbers(vec![8.0, 6.5, 2.0])),
            column(
                "findings",
                Values::RecordLists(
                    &["explanation", "summary"],
                    vec![
                        vec![vec![
                            "She taught there [Data: Entities (0)].".to_owned(),
                            "A teacher.".to_owned(),
                        ]],
                        Vec::new(),
                        Vec::new(),
                    ],
                ),
            ),
        ],
    );
    graphloom
        .run(&["import", "graphrag", "rag"])
        .exits(0)
        .says("3 communities with reports and levels from GraphRAG");
    let titles = |level: &str| -> Vec<String> {
        let listed = graphloom.json(&["communities", "--level", level]);
        let rows = listed["communities"].as_array().expect("a list");
        rows.iter().map(|row| row["title"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(
        (titles("0"), titles("1")),
        (vec!["All".to_owned()], vec!["The club".to_owned(), "Kelm".to_owned()])
    );
    let listed = graphloom.json(&["communities", "--level", "0"]);
    assert_eq!(listed["layer"]["current"], json!(true), "{listed}");
    let all = graphloom.json(&["communities", listed["communities"][0]["id"].as_str().expect("an id")]);
    let parts: Vec<&Value> =
        all["parts"].as_array().expect("parts").iter().map(|part| &part["title"]).collect();
    assert_eq!((parts.len(), &all["members"], &all["by"]), (2, &json!([]), &json!("graphrag")), "{all}");
    // The imported reports answer a question about all documents.
    let answer = graphloom.json(&["ask", "What are the main themes?", "--mode", "community_global"]);
    assert!(answer["answer"].as_str().is_some_and(|text| text.contains("All: A teacher.")), "{answer}");

    let hash = graphloom.hash();
    graphloom.run(&["import", "graphrag", "rag"]).exits(0).says("3 communities with reports");
    assert_eq!(graphloom.hash(), hash);
    // Imported communities stay, out of date, while documents change. An import does not restore them beside other communities.
    graphloom.write("more.md", "Dee Fox lives in Paris.\n");
    graphloom.ok(&["add", "more.md"]);
    assert_eq!((titles("0").len(), titles("1").len()), (1, 2));
    graphloom.ok(&["derive", "communities"]);
    assert!(!titles("0").contains(&"All".to_owned()));
    graphloom.ok(&["rm", "more.md"]);
    graphloom.run(&["import", "graphrag", "rag"]).exits(0).says("`graphloom derive communities` reuses");
    assert!(!titles("0").contains(&"All".to_owned()));
}

#[test]
fn graphrags_vectors_are_reused_if_the_model_is_the_same() {
    let numbers = |text: &str| ["bridge", "kelm", "club"].map(|word| 0.1 + text.matches(word).count() as f64);
    let server = ScriptedServer::start(move |_, request| {
        let texts = request.json()["input"].as_array().cloned().unwrap_or_default();
        let vector = |(index, text): (usize, &Value)| {
            let numbers = numbers(&text.as_str().unwrap_or_default().to_lowercase());
            json!({ "object": "embedding", "index": index, "embedding": numbers })
        };
        let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
        let usage = json!({ "prompt_tokens": 7, "total_tokens": 7 });
        Reply::json(
            200,
            json!({ "object": "list", "data": data, "model": "small", "usage": usage }).to_string(),
        )
    });
    let import = |table: Option<&str>, foreign: bool| -> Value {
        let graphloom = Graphloom::new()
            .with("OPENAI_API_KEY", "sk-0123456789")
            .with("OPENAI_BASE_URL", &format!("{}/v1", server.url()));
        graphrag_project(&graphloom, "rag");
        std::fs::create_dir_all(graphloom.path("rag/output/lancedb/text_unit_text.lance")).expect("a folder");
        let vector = |text: &str| {
            let [a, b, c] = numbers(&text.to_lowercase());
            if foreign { vec![c, -a, b] } else { vec![a, b, c] }
        };
        let (first, second) = BRIDGE.split_once("\n\n").expect("two paragraphs");
        let first = format!("title: bridge.txt.\n{first}");
        let columns = [
            column("id", texts(&["u1", "u2", "u3", "u4"])),
            column("embedding", Values::NumberLists([&first, second, SCHOOL, CLUB].map(vector).to_vec())),
        ];
        if let Some(table) = table {
            write(&graphloom.path(&format!("rag/output/{table}.parquet")), &columns).expect("written");
        }
        let printed = graphloom.ok(&["--json", "--embedder", "openai:small", "import", "graphrag", "rag"]);
        serde_json::from_str(printed.lines().last().unwrap_or_default()).expect("a summary")
    };
    let hint = |summary: &Value| summary["missing"].to_string().contains("lancedb.connect");
    for table in ["embeddings.text_unit_text", "embeddings.text_unit.text"] {
        let summary = import(Some(table), false);
        // The text of the first unit begins with metadata, which is not part of the chunk.
        assert_eq!((&summary["vectors_used"], hint(&summary)), (&json!(3), false), "{summary}");
    }
    assert_eq!(import(Some("embeddings.text_unit_text"), true)["vectors_used"], Value::Null);
    let without = import(None, false);
    assert!(without["vectors_used"].is_null() && hint(&without), "{without}");
}

#[test]
fn an_export_for_graphrag_can_be_imported_without_changes() {
    let graphloom = imported();
    graphloom.ok(&["derive", "communities"]);
    graphloom
        .run(&["export", "graphrag", "tables"])
        .exits(0)
        .says("3 documents, 4 text units, 8 entities, 6 relationships, 2 claims");
    graphloom.run(&["export", "graphrag", "tables"]).exits(1).says("--force replaces it");
    let other = Graphloom::new();
    let tables = graphloom.path("tables");
    other.ok(&["import", "graphrag", &tables.display().to_string()]);
    other.ok(&["derive", "communities"]);
    assert_eq!(other.ok(&["dump"]), graphloom.ok(&["dump"]));
}

/// Writes a working folder: two documents with three chunks, one of which has no answer.
fn lightrag_folder(graphloom: &Graphloom, folder: &str, cache: &Value) {
    let put = |name: &str, rows: &Value| graphloom.write(&format!("{folder}/{name}"), rows.to_string());
    let (first, second) = BRIDGE.trim_end().split_once("\n\n").expect("two paragraphs");
    put(
        "kv_store_full_docs.json",
        &json!({
            "doc-1": { "content": BRIDGE.trim_end(), "file_path": "bridge.txt" },
            "doc-2": { "content": SCHOOL.trim_end(), "file_path": "school.txt" },
        }),
    );
    let chunk = |text: &str, document: &str, order: u32| json!({ "content": text, "full_doc_id": document, "chunk_order_index": order, "tokens": 20 });
    put(
        "kv_store_text_chunks.json",
        &json!({
            "chunk-1": chunk(first, "doc-1", 0),
            "chunk-2": chunk(second, "doc-1", 1),
            "chunk-3": chunk(SCHOOL.trim_end(), "doc-2", 0),
        }),
    );
    put("kv_store_llm_response_cache.json", cache);
}

const ANSWER: &str = "entity<|#|>Clara Voss<|#|>Person<|#|>She opened the bridge.\n\
    entity<|#|>Lind Bridge<|#|>Artifact<|#|>A bridge.\n\
    relation<|#|>Clara Voss<|#|>Lind Bridge<|#|>opening<|#|>She opened it.\n<|COMPLETE|>";
const GLEANED: &str = "entity<|#|>Otto Kern<|#|>Person<|#|>He drew the plans.\n<|COMPLETE|>";
const SECOND: &str = "entity<|#|>Kelm<|#|>Location<|#|>A town.\n<|COMPLETE|>";

/// Returns the cache in the layout of releases from 1.4 on.
fn cache() -> Value {
    json!({
        "default:extract:b": { "return": GLEANED, "cache_type": "extract", "chunk_id": "chunk-1", "create_time": 2 },
        "default:extract:a": { "return": ANSWER, "cache_type": "extract", "chunk_id": "chunk-1", "create_time": 1 },
        "default:extract:c": { "return": SECOND, "cache_type": "extract", "chunk_id": "chunk-2", "create_time": 3 },
        "mix:query:d": { "return": "No.", "cache_type": "query" },
        "default:summary:e": { "return": "A summary.", "cache_type": "summary" },
    })
}

#[test]
fn answers_in_lightrags_cache_are_reused() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_GLEANING", "0");
    lightrag_folder(&graphloom, "rag", &cache());
    graphloom
        .run(&["import", "lightrag", "rag"])
        .exits(3)
        .says("2 documents, 3 chunks (3 verbatim in their documents, 2 extracted), 4 entities, 1 relation")
        .says("neither an answer nor a place in the graph, left for a model: 1")
        .says("no graph_chunk_entity_relation.graphml");
    assert_eq!(model.asked().values().sum::<usize>(), 0, "an import calls no model");
    graphloom.ok(&["graph", "show", "Otto Kern"]);
    let hash = graphloom.hash();
    graphloom.run(&["import", "lightrag", "rag"]).exits(0).says("2 already there");
    assert_eq!(graphloom.hash(), hash);
    graphloom.run(&["status"]).exits(0).says("school.txt: incomplete");
    graphloom.ok(&["retry"]);
    assert_eq!(model.asked().values().sum::<usize>(), 1, "only the missing chunk is read");
    graphloom.run(&["status"]).exits(0).says("school.txt: ready");
}

#[test]
fn a_lightrag_summary_is_reused_while_the_same_passages_describe_the_entity() {
    let model = ScriptedModel::start();
    let graphloom = Graphloom::new()
        .with("GRAPHLOOM_BASE_URL", &model.base_url())
        .with("GRAPHLOOM_LLM", "openai:scripted")
        .with("GRAPHLOOM_GLEANING", "0");
    let put = |name: &str, rows: &Value| graphloom.write(&format!("rag/{name}"), rows.to_string());
    let text = |number: u32| format!("Clara Voss opened bridge number {number}.");
    let (mut documents, mut chunks, mut answers) = (json!({}), json!({}), json!({}));
    for number in 0..9 {
        let (document, chunk) = (format!("doc-{number}"), format!("chunk-{number}"));
        documents[&document] = json!({ "content": text(number), "file_path": format!("{number}.txt") });
        chunks[&chunk] =
            json!({ "content": text(number), "full_doc_id": document, "chunk_order_index": 0, "tokens": 9 });
        let answer =
            format!("entity<|#|>Clara Voss<|#|>Person<|#|>She opened bridge {number}.\n<|COMPLETE|>");
        answers[format!("default:extract:{number}")] =
            json!({ "return": answer, "cache_type": "extract", "chunk_id": chunk, "create_time": 1 });
    }
    put("kv_store_full_docs.json", &documents);
    put("kv_store_text_chunks.json", &chunks);
    put("kv_store_llm_response_cache.json", &answers);
    let sources: Vec<String> = (0..9).map(|number| format!("chunk-{number}")).collect();
    let graph = format!(
        "<graphml><key id=\"d0\" for=\"node\" attr.name=\"description\"/><key id=\"d1\" for=\"node\" attr.name=\"source_id\"/>\
         <graph><node id=\"Clara Voss\"><data key=\"d0\">Clara Voss opened nine bridges.</data>\
         <data key=\"d1\">{}</data></node></graph></graphml>",
        sources.join("&lt;SEP&gt;")
    );
    graphloom.write("rag/graph_chunk_entity_relation.graphml", graph);
    graphloom
        .run(&["import", "lightrag", "rag"])
        .exits(0)
        .says("1 description from the folder used instead of summaries");
    graphloom.run(&["graph", "show", "Clara Voss"]).exits(0).says("Clara Voss opened nine bridges.");
    graphloom.ok(&["work"]);
    assert_eq!(model.asked().values().sum::<usize>(), 0, "nothing is left to pay for");
    // After one of the nine documents is removed, the imported summary is no longer used.
    graphloom.ok(&["rm", "8.txt"]);
    let shown = graphloom.ok(&["graph", "show", "Clara Voss"]);
    assert!(!shown.contains("nine bridges"), "{shown}");
}

#[test]
fn chunks_without_a_cached_answer_use_lightrags_graph_and_early_layouts_are_read() {
    let graphloom = Graphloom::new();
    // Entries are grouped by mode, and only the text in the prompt identifies their chunk.
    let (first, _) = BRIDGE.split_once("\n\n").expect("two paragraphs");
    let cache = json!({ "default": {
        "a": { "return": ANSWER, "original_prompt": format!("-Goal-\nText:\n{first}\n-Output-") },
        "z": { "return": GLEANED, "original_prompt": "no text of ours" },
    }, "local": { "q": { "return": ANSWER, "original_prompt": first } } });
    lightrag_folder(&graphloom, "rag/work", &cache);
    graphloom.write(
        "rag/work/graph_chunk_entity_relation.graphml",
        r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="entity_type" attr.type="string"/>
  <key id="d1" for="node" attr.name="description" attr.type="string"/>
  <key id="d2" for="node" attr.name="source_id" attr.type="string"/>
  <key id="d3" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d4" for="edge" attr.name="keywords" attr.type="string"/>
  <key id="d5" for="edge" attr.name="source_id" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="&quot;CLARA VOSS&quot;"><data key="d0">"PERSON"</data>
      <data key="d1">She opened the bridge.&lt;SEP&gt;She taught chemistry &amp; more in Kelm.</data>
      <data key="d2">chunk-1&lt;SEP&gt;chunk-3</data></node>
    <node id="Kelm"><data key="d0">geo</data><data key="d1">A town.</data><data key="d2">chunk-3</data></node>
    <node id="By Hand"><data key="d0">person</data><data key="d1">Made by hand.</data><data key="d2">manual</data></node>
    <edge source="&quot;CLARA VOSS&quot;" target="Kelm"><data key="d3">2.0</data><data key="d4">teaching, town</data>
      <data key="d5">chunk-3</data></edge>
  </graph>
</graphml>
"#,
    );
    graphloom
        .run(&["import", "lightrag", "rag"])
        .exits(3)
        .says("2 extracted")
        .says("which chunk they are about, left out: 1")
        .says("use the records of the graph file: 1")
        .says("in no answer and no existing chunk, left out: 1");
    let clara = graphloom.json(&["graph", "show", "Clara Voss"]);
    let description = clara["entity"]["description"].as_str().expect("a description");
    assert!(description.contains("She taught chemistry & more in Kelm."), "{clara}");
    assert_eq!(clara["entity"]["degree"], json!(2), "{clara}");
}

#[test]
fn a_foreign_or_damaged_folder_changes_nothing() {
    let graphloom = Graphloom::new();
    graphloom.write("docs/a.md", "Ada Lind met Bo Marsh.\n");
    graphloom.ok(&["add", "docs"]);
    let hash = graphloom.hash();
    for system in ["graphrag", "lightrag"] {
        graphloom.run(&["import", system, "docs"]).exits(1).says("help: name the");
        graphloom.run(&["import", system, "nowhere"]).exits(1).says("holds no");
    }
    graphrag_project(&graphloom, "rag");
    let table = Path::new("rag/output/entities.parquet");
    let bytes = std::fs::read(graphloom.path(&table.display().to_string())).expect("readable");
    graphloom.write(&table.display().to_string(), &bytes[..bytes.len() / 2]);
    graphloom.run(&["import", "graphrag", "rag"]).exits(1).says("entities.parquet is damaged");
    lightrag_folder(&graphloom, "light", &cache());
    graphloom.write("light/kv_store_text_chunks.json", "{\"chunk-1\": {\"conte");
    graphloom.run(&["import", "lightrag", "light"]).exits(1).says("kv_store_text_chunks.json is damaged");
    assert_eq!(graphloom.hash(), hash);
    graphloom.run(&["import", "docs"]).exits(2);
}
