//! Errors of JSON-RPC for messages that the protocol's library does not answer.

use serde_json::{Value, json};

/// Codes of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Code for errors of a server.
const SERVER_ERROR: i32 = -32000;

/// The error for bytes that are not a message, with its id if it has one.
pub(crate) fn misread(bytes: &[u8]) -> Value {
    match serde_json::from_slice::<Value>(bytes) {
        Err(error) => rpc_error(PARSE_ERROR, Value::Null, &format!("the message is not valid JSON: {error}")),
        Ok(message) => {
            let what = "the message is not a request, notification or response of JSON-RPC 2.0";
            rpc_error(INVALID_REQUEST, id_of(&message), what)
        }
    }
}

/// The error for a message that is refused as a whole.
pub(crate) fn refused(what: &str) -> Value {
    rpc_error(INVALID_REQUEST, Value::Null, what)
}

/// The error for a message that the server cannot answer any more.
pub(crate) fn unanswered(bytes: &[u8], why: &str) -> Value {
    let id = serde_json::from_slice(bytes).map_or(Value::Null, |message| id_of(&message));
    rpc_error(SERVER_ERROR, id, why)
}

/// The id of a message; `null` if it has none that the protocol allows.
fn id_of(message: &Value) -> Value {
    Some(&message["id"]).filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or_default()
}

fn rpc_error(code: i32, id: Value, what: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": what } })
}
