//! The smallest program: a text, a question and an answer with citations.

use graphloom::Graphloom;

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let place = tempfile::tempdir()?;
    let graph = Graphloom::open(place.path().join("notes.graphloom")).build().await?;
    graph.add_text("bridge.txt", "Clara Voss designed the Lind bridge. It was opened in 1931.").await?;
    let answer = graph.ask("Who designed the Lind bridge?").await?;
    println!("{}", answer.text);
    println!("{}:{}", answer.citations[0].source, answer.citations[0].lines.0);
    Ok(())
}
