//! Indexes a folder and asks a question: `cargo run --example ask_a_folder -- samples "Who was the first customer?"`.

use graphloom::Graphloom;

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "samples".to_owned());
    let question = arguments.next().unwrap_or_else(|| "Who was the first customer of Braidline?".to_owned());

    // One file holds everything. Here it is in a folder that is removed at the end.
    let place = tempfile::tempdir()?;
    let graph = Graphloom::open(place.path().join("example.graphloom")).build().await?;

    // The file name and the bytes determine the format. Files that cannot be read are refused; indexing
    // continues with the rest.
    let added = graph.add_path(folder).await?;
    println!("{} documents, {} refused", added.accepted.len(), added.refused.len());
    for refused in &added.refused {
        println!("  {}: {}", refused.source, refused.reason);
    }

    // Every number in the answer refers to a place in a document.
    let answer = graph.ask(question).await?;
    println!("{}", answer.text);
    for citation in &answer.citations {
        println!("[{}] {}:{}", citation.number, citation.source, citation.lines.0);
    }
    Ok(())
}
