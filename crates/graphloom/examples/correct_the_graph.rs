//! Corrects the graph: renames an entity and reads it again.

use graphloom::{Edit, Graphloom};

#[tokio::main]
async fn main() -> graphloom::Result<()> {
    let place = tempfile::tempdir()?;
    let graph = Graphloom::open(place.path().join("example.graphloom")).build().await?;
    graph.add_text("a.txt", "Clara Voss designed the Lind bridge. Clara Voss lived in Ostmark.").await?;

    let before = graph.entity("Clara Voss").await?.expect("the text names her");
    println!("{} ({}): {}", before.name, before.kind, before.description);

    // An edit is stored as a decision: it also applies to documents added later, and can be undone.
    graph
        .edit(&Edit::EditEntity {
            name: "Clara Voss".to_owned(),
            kind: Some("Engineer".to_owned()),
            description: Some("Designed the Lind bridge.".to_owned()),
        })
        .await?;
    graph.add_text("b.txt", "Clara Voss met Nils Quant in Ostmark.").await?;

    let after = graph.entity("clara voss").await?.expect("she is still there");
    println!("{} ({}): {}", after.name, after.kind, after.description);

    // Deleting a document removes everything that came only from it.
    graph.delete("b.txt").await?;
    println!("Nils Quant: {}", if graph.entity("Nils Quant").await?.is_some() { "there" } else { "gone" });
    Ok(())
}
