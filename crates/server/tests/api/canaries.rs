//! Ten workspaces with a canary and a key each, and calls of every kind with every key: no canary crosses.

use std::collections::BTreeMap;

use graphloom_server::Right;
use serde_json::{Value, json};

use crate::support::{Answer, Request, Running, description};

/// Words that occur only in the documents of one workspace each.
const CANARIES: [&str; 10] = [
    "Azurvane",
    "Brontwick",
    "Celdrith",
    "Dorvalen",
    "Eskarnow",
    "Fynmoor",
    "Garlough",
    "Hethrane",
    "Ilvermor",
    "Jorunsky",
];
/// Number of calls.
const CALLS: usize = 1000;

/// A random number generator with the same sequence in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % most as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The routes to call, and ids from every workspace to call them with.
struct World {
    routes: Vec<(String, String)>,
    keys: Vec<String>,
    documents: Vec<String>,
    tracks: Vec<String>,
}

fn name(number: usize) -> String {
    format!("place-{number}")
}

async fn world(server: &Running) -> World {
    let (mut documents, mut tracks) = (Vec::new(), Vec::new());
    for (number, canary) in CANARIES.iter().enumerate() {
        let prefix = format!("/w/{}", name(number));
        let text = format!(
            "# {canary}\n\n{canary} was born in Weirholm and directs Weir Station. {canary} works with Tobias Renn."
        );
        let added = json!({ "text": text, "file_source": format!("{canary}.md"), "replace": true });
        let added = server.post(&format!("{prefix}/documents/text"), added).await.ok();
        let track = added["track_id"].as_str().expect("a track");
        server.wait_for(&prefix, track).await;
        let listed = server.get(&format!("{prefix}/documents/track_status/{track}")).await.ok();
        documents.push(listed["documents"][0]["id"].as_str().expect("an id").to_owned());
        tracks.push(track.to_owned());
    }
    let keys = (0..CANARIES.len()).map(|number| server.key(Right::Write, &[&name(number)])).collect();
    let document = description();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    assert!(routes.len() > 40, "{}", routes.len());
    World { routes, keys, documents, tracks }
}

/// Returns a request of this route that could reveal the content of the workspace. It contains no canary itself.
fn request(world: &World, dice: &mut Dice, method: &str, path: &str, workspace: &str) -> Request {
    let question =
        *dice.one(&["Who was born in Weirholm?", "Who directs Weir Station?", "Tell me about Tobias Renn."]);
    let entity = *dice.one(&["Tobias Renn", "Weirholm", "Weir Station", "*"]);
    let mode = *dice.one(&["naive", "local", "global", "mix", "auto", "ppr"]);
    // Removals name items of other workspaces, so that every workspace keeps its content.
    let mut number = dice.below(CANARIES.len());
    if method == "DELETE" && name(number) == workspace {
        number = (number + 1) % CANARIES.len();
    }
    let (id, track) = (world.documents[number].clone(), world.tracks[number].clone());
    let messages = json!([{ "role": "user", "content": question }]);
    let model = format!("{workspace}:{mode}");
    let stream = dice.below(2) == 0;
    let tool = match dice.below(4) {
        0 => json!({ "name": "search", "arguments": { "query": question } }),
        1 => json!({ "name": "ask", "arguments": { "question": question, "mode": mode } }),
        2 => json!({ "name": "get_source", "arguments": { "document": id } }),
        _ => json!({ "name": "graph_neighbors", "arguments": { "entity": entity, "depth": 2 } }),
    };
    let text = format!("A note {} about the weather.", dice.below(1_000_000));
    // One body for all routes: each takes the fields that it knows.
    let body = json!({
        "query": question, "mode": mode, "include_chunk_content": true, "include_citations": true, "stream": stream,
        "only_need_context": dice.below(3) == 0,
        "text": text, "texts": [text], "doc_ids": [id], "documents": [id], "ids": [id],
        "model": model, "name": model, "messages": messages, "prompt": question, "input": question,
        "entity_name": entity, "entity_data": { "description": "A place." }, "updated_data": { "description": "A place." },
        "source_entity": entity, "target_entity": "Weirholm", "relation_data": { "description": "near" },
        "source_id": entity, "target_id": "Weirholm", "entities_to_change": [entity], "entity_to_change_into": "Weirholm",
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool,
    });
    let filled = path.replace("{track_id}", &track);
    let filled = match filled.split_once('{') {
        Some((before, rest)) => {
            let after = rest.split_once('}').map_or("", |(_, after)| after);
            format!("{before}{id}{after}")
        }
        None => filled,
    };
    let entity = entity.replace(' ', "%20");
    let filled =
        format!("{filled}?label={entity}&q=Weir&name={entity}&query=Weir&limit=50&document={id}&id={id}");
    let prefixed = format!("/w/{workspace}{filled}");
    let request = match dice.below(3) {
        0 => Request::new(method, &prefixed),
        1 => Request::new(method, &filled).header("lightrag-workspace", workspace),
        _ => Request::new(method, &prefixed).header("lightrag-workspace", workspace),
    };
    let accept = if path == "/mcp" { "application/json, text/event-stream" } else { "*/*" };
    match path {
        "/documents/upload" => request.file(&format!("note-{}.md", dice.below(1_000_000)), "A note."),
        _ => request.json(body),
    }
    .header("accept", accept)
}

/// Returns the numbers of the canaries that a response shows in its body or headers.
fn shown(answer: &Answer) -> Vec<usize> {
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let all = format!("{headers}\n{}", answer.body).to_lowercase();
    let seen = |canary: &&str| all.contains(&canary.to_lowercase());
    (0..CANARIES.len()).filter(|number| seen(&CANARIES[*number])).collect()
}

#[tokio::test]
async fn no_key_sees_the_canary_of_another_workspace() {
    let server = Running::start().await;
    let world = world(&server).await;
    let mut dice = Dice(20_260_728);
    let mut own: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused = 0;
    for call in 0..CALLS {
        // Each key calls its own workspace as often as all others together.
        let key = dice.below(CANARIES.len());
        let place = if dice.below(2) == 0 { key } else { dice.below(CANARIES.len()) };
        // Every route is called once, and then again at random.
        let route = if call < world.routes.len() { call } else { dice.below(world.routes.len()) };
        let (method, path) = &world.routes[route];
        let request = request(&world, &mut dice, method, path, &name(place));
        let answer = server.send_until_events(request.header("x-api-key", &world.keys[key])).await;
        let shown = shown(&answer);
        let what = format!("call {call}: {method} {path} of {place} with the key of {key}");
        assert!(answer.status < 500, "{what}: {answer:?}");
        assert!(shown.iter().all(|number| *number == key), "{what} shows {shown:?}: {answer:?}");
        if place != key {
            refused += usize::from(answer.status == 403);
            assert!(shown.is_empty(), "{what} shows another workspace: {answer:?}");
        }
        if !shown.is_empty() {
            *own.entry(path).or_default() += 1;
        }
    }
    // The calls reach the content, otherwise they could not reveal anything.
    assert!(own.len() >= 12, "{own:?}");
    assert!(refused > CALLS / 4, "{refused}");
    for (number, key) in world.keys.iter().enumerate() {
        let list = Request::get(&format!("/w/{}/graph/label/list", name(number))).header("x-api-key", key);
        let answer = server.send(list).await;
        assert_eq!(shown(&answer), [number], "no content was lost: {answer:?}");
        assert_eq!(Value::from(answer.status), json!(200));
    }
}
