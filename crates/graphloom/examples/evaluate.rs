//! Measures how often each mode finds the document that answers a question.

use graphloom::{Graphloom, Mode};

/// Questions, each with the source that answers it.
const QUESTIONS: [(&str, &str); 3] = [
    ("Who designed the Lind bridge?", "bridge.txt"),
    ("When did the harbour get a crane?", "harbour.txt"),
    ("Where was the designer of the Lind bridge born?", "voss.txt"),
];

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let place = tempfile::tempdir()?;
    let graph = Graphloom::open(place.path().join("example.graphloom")).build().await?;
    for (name, text) in [
        ("bridge.txt", "The Lind bridge was designed by Clara Voss and opened in 1931."),
        ("harbour.txt", "The harbour of Ostmark got its first crane in 1950."),
        ("voss.txt", "Clara Voss was born in Kelm. She studied in Ostmark."),
        ("mill.txt", "The mill of Kelm burned down in 1820."),
    ] {
        graph.add_text(name, text).await?;
    }

    // No answers are generated here: the retrieved sources are compared with the expected ones.
    for mode in [Mode::Auto, Mode::Mix, Mode::Naive] {
        let mut found = 0;
        for (question, gold) in QUESTIONS {
            let retrieval =
                graph.ask(question).mode(mode).with(|question| question.chunk_top_k = 2).retrieve().await?;
            let sources = retrieval.references.iter().map(|reference| reference.source.as_str());
            found += usize::from(sources.into_iter().any(|source| source == gold));
        }
        println!("{mode:?}: {found} of {} questions find their document", QUESTIONS.len());
    }
    Ok(())
}
