//! Serves the world's vectors over OpenAI's protocol, so that a server can answer questions about the built store.

use std::convert::Infallible;
use std::io::Read;
use std::net::Ipv4Addr;
use std::sync::Arc;

use bytes::Bytes;
use graphloom_core::{Embedder, Purpose};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::world::{Dice, World};

/// Longest request, in bytes.
const MAX_BODY: usize = 1 << 20;

#[derive(Deserialize)]
struct Texts {
    input: Vec<String>,
}

/// Prints its address and the questions to ask as one line of JSON, and serves until standard input closes.
pub(crate) async fn serve(world: Arc<World>, questions: usize) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let numbers = (0..questions).map(|number| Dice::new(&("question", number)).below(world.chunks));
    let questions: Vec<String> = numbers.map(|chunk| world.question(chunk)).collect();
    let url = format!("http://{}/v1", listener.local_addr()?);
    println!("{}", json!({ "url": url, "questions": questions }));
    let (end, mut ended) = oneshot::channel();
    std::thread::spawn(move || {
        // Standard input closes when the parent process ends, for whatever reason.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = end.send(());
    });
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted?.0,
            _ = &mut ended => return Ok(()),
        };
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&world, request));
            if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
                eprintln!("a connection ended early: {error}");
            }
        });
    }
}

/// Returns the vectors of the texts as JSON numbers; refuses any other request.
async fn answer(world: &World, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = Limited::new(request.into_body(), MAX_BODY).collect().await.map(|body| body.to_bytes());
    let texts = body.ok().and_then(|body| serde_json::from_slice::<Texts>(&body).ok());
    let vectors = match &texts {
        Some(texts) => world.embed(Purpose::Query, &texts.input).await.ok(),
        None => None,
    };
    let (status, body) = match vectors {
        Some(embedded) => {
            let data = embedded.vectors.iter().enumerate();
            let data: Vec<_> =
                data.map(|(index, vector)| json!({ "index": index, "embedding": vector })).collect();
            (StatusCode::OK, json!({ "data": data, "usage": { "prompt_tokens": 0 } }))
        }
        None => (StatusCode::BAD_REQUEST, json!({ "error": { "message": "texts are embedded here" } })),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    Ok(response)
}
