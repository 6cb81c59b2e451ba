//! Searches only some documents: those in a folder, or with a certain date or other metadata.

use graphloom::{DocumentFilter, Graphloom};

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let place = tempfile::tempdir()?;
    let graph = Graphloom::open(place.path().join("example.graphloom")).build().await?;
    graph
        .add_text("2024/harbour.txt", "The harbour of Ostmark was closed in winter. Mira Oster led it.")
        .meta("status", "final")
        .await?;
    graph
        .add_text("2025/harbour.txt", "The harbour of Ostmark has a new crane. Nils Quant leads it.")
        .meta("status", "draft")
        .await?;

    // Without a filter, documents of both years are searched.
    let hits = graph.search("harbour").await?;
    println!("all: {} passages", hits.passages.len());

    // The filter applies before ranking, so the results contain nothing from other documents.
    let mut filter = DocumentFilter::default();
    filter.sources.push("2025/*".parse()?);
    let hits = graph.search("harbour").filter(filter.clone()).limit(5).await?;
    for hit in &hits.passages {
        println!("{:.3} {}", hit.score, hit.source);
    }

    let answer = graph.ask("Who leads the harbour of Ostmark?").filter(filter).await?;
    println!("{}", answer.text);

    // Metadata selects documents wherever they are.
    let mut finals = DocumentFilter::default();
    finals.meta.push("status=final".parse()?);
    for document in graph.documents(&finals).await? {
        println!("final: {}", document.source);
    }
    Ok(())
}
