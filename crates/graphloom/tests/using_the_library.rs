//! Uses the library as a program does.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use graphloom::model::{
    ChatEvent, ChatRequest, ChatStream, Completion, Embeddings, FinishReason, LanguageModel, ModelError,
    Purpose, Usage, async_trait, stream_of,
};
use graphloom::{
    Builder, DocumentFilter, Edit, EditError, Embedder, Error, Graphloom, IndexError, Progress, QueryError,
};

fn open(folder: &Path) -> Builder {
    Graphloom::open(folder.join("notes.graphloom"))
}

/// An LLM that gives the same answer to everything.
struct Parrot;

#[async_trait]
impl LanguageModel for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    async fn chat(&self, _: ChatRequest) -> Result<ChatStream, ModelError> {
        let done = Completion { finish: FinishReason::Stop, usage: Usage::default(), attempts: 1 };
        Ok(stream_of([ChatEvent::Delta("Pretty bird.".to_owned()), ChatEvent::Done(done)]))
    }
}

#[tokio::test]
async fn a_text_can_be_asked_about_and_is_deleted_without_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = open(folder.path()).build().await.expect("opened");
    let added = graph.add_text("bridge.txt", "Clara Voss designed the Lind bridge.").await.expect("added");
    assert_eq!((added.accepted.len(), added.run.finished), (1, 1));
    let answer = graph.ask("Who designed the Lind bridge?").await.expect("answered");
    assert_eq!(answer.citations[0].source, "bridge.txt");
    assert_eq!(answer.citations[0].quote, "Clara Voss designed the Lind bridge.");
    assert!(graph.entity("clara voss").await.expect("read").is_some());
    assert_eq!(graph.search("bridge").limit(1).await.expect("found").passages.len(), 1);

    assert!(graph.delete("bridge.txt").await.expect("deleted").is_some());
    assert!(graph.delete("bridge.txt").await.expect("nothing to do").is_none());
    assert!(graph.entity("clara voss").await.expect("read").is_none());
    assert_eq!(graph.status().await.expect("read").entities, 0);
}

#[tokio::test]
async fn a_folder_is_added_with_progress_and_unreadable_files_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).expect("made");
    std::fs::write(papers.join("a.txt"), "Nils Quant leads the harbour of Ostmark.").expect("written");
    std::fs::write(papers.join("b.pdf"), "%PDF-1.7 and nothing else").expect("written");
    let finished = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&finished);
    let graph = open(folder.path())
        .on_progress(move |progress| {
            if let Progress::Finished { .. } = progress {
                *counter.lock().expect("no test panicked") += 1;
            }
        })
        .build()
        .await
        .expect("opened");
    let added = graph.add_path(&papers).await.expect("added");
    assert_eq!((added.accepted.len(), added.refused.len()), (1, 1), "{added:?}");
    assert!(added.refused[0].source.ends_with("b.pdf") && !added.refused[0].reason.is_empty());
    assert_eq!(*finished.lock().expect("no test panicked"), 1);
    let again = graph.add_path(&papers).await.expect("added");
    assert_eq!((again.accepted.len(), again.unchanged.len()), (0, 1));
}

#[tokio::test]
async fn a_custom_model_streams_its_answer_and_the_answer_is_cached() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = open(folder.path())
        .setting("extract_llm", "none")
        .setting("summarize_llm", "none")
        .setting("keywords_llm", "none")
        .llm(Arc::new(Parrot))
        .build()
        .await
        .expect("opened");
    graph.add_text("a.txt", "Clara Voss designed the Lind bridge.").await.expect("added");
    let mut streamed = String::new();
    let answer =
        graph.ask("Who designed it?").stream(|piece| streamed.push_str(piece)).await.expect("answered");
    assert_eq!((answer.text.as_str(), answer.model.as_deref()), ("Pretty bird.", Some("parrot")));
    assert_eq!(streamed, "Pretty bird.");
}

#[tokio::test]
async fn a_workspace_built_with_a_custom_model_cannot_be_extended_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = open(folder.path()).llm(Arc::new(Parrot)).build().await.expect("opened");
    graph.add_text("a.txt", "Clara Voss designed the Lind bridge.").await.expect("added");
    drop(graph);
    let error = match open(folder.path()).setting("llm", "none").build().await {
        Ok(graph) => graph.add_text("b.txt", "More.").await.expect_err("built with another model"),
        Err(error) => error,
    };
    assert!(error.to_string().contains("parrot"), "{error}");
    assert!(error.remedy().is_some());
}

#[tokio::test]
async fn a_filter_is_applied_before_the_search() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = open(folder.path()).build().await.expect("opened");
    graph.add_text("2024/a.txt", "Mira Oster led the harbour.").await.expect("added");
    graph.add_text("2025/a.txt", "Nils Quant leads the harbour.").await.expect("added");
    let mut filter = DocumentFilter::default();
    filter.sources.push("2025/*".parse().expect("a pattern"));
    let hits = graph.search("harbour").filter(filter.clone()).await.expect("found");
    assert!(hits.passages.iter().all(|hit| hit.source == "2025/a.txt") && !hits.passages.is_empty());
    assert_eq!(graph.documents(&filter).await.expect("read").len(), 1);
}

#[tokio::test]
async fn metadata_of_added_documents_decides_what_a_filter_allows() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("c.txt"), "The harbour has a crane.").expect("written");
    let graph = open(folder.path()).build().await.expect("opened");
    let added =
        graph.add_text("a.txt", "Mira Oster led the harbour.").meta("year", "1999").meta("year", "2023");
    added.await.expect("added");
    graph.add_bytes("b.txt", b"Nils Quant leads it.".to_vec()).meta("year", "2025").await.expect("added");
    graph.add_path(folder.path().join("c.txt")).meta("year", "2026").await.expect("added");
    let since = |condition: &str| {
        let meta = vec![condition.parse().expect("a condition")];
        DocumentFilter { meta, ..DocumentFilter::default() }
    };
    assert_eq!(graph.documents(&since("year>=2025")).await.expect("read").len(), 2);
    assert_eq!(graph.documents(&since("year=2023")).await.expect("read")[0].source, "a.txt");
    graph.add_text("a.txt", "Mira Oster led the harbour.").meta("year", "2024").await.expect("added");
    assert_eq!(graph.documents(&since("year=2024")).await.expect("read")[0].source, "a.txt");
}

#[tokio::test]
async fn a_workspace_that_must_exist_is_not_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = open(folder.path()).must_exist().build().await.err().expect("nothing is there");
    assert!(matches!(&error, Error::NoWorkspace { .. }), "{error:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    drop(open(folder.path()).build().await.expect("created"));
    open(folder.path()).must_exist().build().await.expect("opened");
}

#[tokio::test]
async fn errors_can_be_matched_by_the_types_of_this_crate() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = open(folder.path()).build().await.expect("opened");
    let edit =
        Edit::EditEntity { name: "Nobody".to_owned(), kind: None, description: Some("None.".to_owned()) };
    let error = graph.edit(&edit).await.expect_err("there is no such entity");
    assert!(matches!(error, Error::Edit(EditError::UnknownEntity { .. })), "{error:?}");
    let error = graph.ask(" ").await.expect_err("no question");
    assert!(matches!(error, Error::Query(QueryError::Empty)), "{error:?}");
    graph.add_text("a.txt", "Clara Voss designed the Lind bridge.").await.expect("added");
    let graph = open(folder.path()).setting("chunk_tokens", "600").build().await.expect("opened");
    let error = graph.add_text("b.txt", "More.").await.expect_err("built with another setting");
    let Error::Index(IndexError::OtherSettings(differing)) = error else { panic!("{error:?}") };
    assert_eq!(differing[0].name, "chunk_tokens");
}

#[tokio::test]
async fn a_wrong_setting_is_an_error_with_a_remedy_and_creates_no_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = open(folder.path()).setting("chunk_token", "600").build().await.err().expect("no such key");
    assert!(matches!(&error, Error::UnknownKey { .. }) && error.is_usage(), "{error:?}");
    assert_eq!(error.remedy().as_deref(), Some("did you mean \"chunk_tokens\"?"));
    let error = open(folder.path()).llm("openai").build().await.err().expect("no model");
    assert!(error.to_string().contains("openai:MODEL"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let error = open(folder.path()).embedder("local:nosuch").build().await.err().expect("no such model");
    assert!(error.to_string().contains("local:nosuch"), "{error}");
    assert!(!folder.path().join("notes.graphloom").exists());
}

#[test]
fn variables_for_the_command_line_do_not_change_a_program() {
    let programs = std::env::current_exe().expect("this test");
    let example = programs.ancestors().nth(2).expect("the folder of programs").join("examples/first_answer");
    let ran =
        Command::new(example).env("GRAPHLOOM_LLM", "nonsense").env("GRAPHLOOM_CHUNK_TOKENS", "0").output();
    let ran = ran.expect("built with the tests");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn every_example_runs() {
    let programs = std::env::current_exe().expect("this test");
    let programs = programs.ancestors().nth(2).expect("the folder of programs").join("examples");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, says) in [
        ("first_answer", "bridge.txt:1"),
        ("ask_a_folder", "samples/lab/braidline-product-sheet.md:"),
        ("bring_your_own_model", "words."),
        ("filtered_search", "Nils Quant leads it. [1]"),
        ("correct_the_graph", "Nils Quant: gone"),
        ("evaluate", "of 3 questions find their document"),
    ] {
        let ran =
            Command::new(programs.join(name)).current_dir(&root).output().expect("built with the tests");
        let (said, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success() && said.contains(says), "{name}: {said}{wrong}");
    }
}

/// Runs a future as a task, which can move between threads.
async fn spawned<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> T {
    tokio::spawn(task).await.expect("neither panicked nor cancelled")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_can_run_in_its_own_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("harbour.txt");
    std::fs::write(&file, "Nils Quant leads the harbour of Ostmark.").expect("written");
    let graph = Arc::new(spawned(open(folder.path()).build()).await.expect("opened"));
    let own = || Arc::clone(&graph);

    let (one, two, three) = (own(), own(), own());
    let text =
        spawned(async move { one.add_text("bridge.txt", "Clara Voss designed the Lind bridge.").await });
    let path = spawned(async move { two.add_path(file).await });
    let (text, path) = tokio::join!(text, path);
    assert_eq!(text.expect("added").accepted.len() + path.expect("added").accepted.len(), 2);
    spawned(async move { three.resume().await }).await.expect("nothing is left");

    let (one, two, three) = (own(), own(), own());
    let answer = spawned(async move { one.ask("Who designed the Lind bridge?").await });
    let streamed = spawned(async move { two.ask("Who designed the Lind bridge?").stream(|_| ()).await });
    let hits = spawned(async move { three.search("harbour").await });
    let (answer, streamed, hits) = tokio::join!(answer, streamed, hits);
    assert_eq!(answer.expect("answered").text, streamed.expect("answered").text);
    assert!(!hits.expect("found").passages.is_empty());

    let (one, two) = (own(), own());
    let edit = Edit::DeleteEntity { name: "Lind Bridge".to_owned() };
    spawned(async move { one.edit(&edit).await }).await.expect("deleted");
    assert!(spawned(async move { two.delete("bridge.txt").await }).await.expect("deleted").is_some());
}

/// Embeds a text as counts of its letters.
struct Letters;

#[async_trait]
impl Embedder for Letters {
    fn name(&self) -> &str {
        "letters"
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(26)
    }

    async fn embed(&self, _: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        let count =
            |text: &String, letter: u8| 0.1 + text.bytes().filter(|byte| *byte == letter).count() as f32;
        let vectors = texts.iter().map(|text| (b'a'..=b'z').map(|letter| count(text, letter)).collect());
        Ok(Embeddings { vectors: vectors.collect(), usage: Usage::default(), attempts: 0 })
    }
}

#[tokio::test]
async fn the_embedder_of_a_workspace_can_be_changed_and_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut graph = open(folder.path()).own_embedder(Arc::new(Letters)).build().await.expect("opened");
    graph.add_text("bridge.txt", "Clara Voss designed the Lind bridge.").await.expect("added");
    let report = graph.re_embed("builtin").await.expect("embedded");
    assert_eq!(report.from.map(|space| space.model).as_deref(), Some("letters"));
    assert!(report.embedded > 0);
    graph.add_text("tower.txt", "Nils Quant built the tower.").await.expect("added");
    drop(graph);
    let mut graph = open(folder.path()).build().await.expect("opened with the new embedder");
    let answer = graph.ask("Who built the tower?").await.expect("answered");
    assert_eq!(answer.citations[0].source, "tower.txt");
    let unknown = graph.re_embed("words").await.expect_err("there is no such embedder");
    assert!(unknown.remedy().is_some_and(|remedy| remedy.contains("static:NAME")), "{unknown}");
}
