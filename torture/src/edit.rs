//! Edits of the graph: as commands, as requests, and replayed from the resulting decisions.
//!
//! Edits concern entities of the document that is never changed, and entities created by edits. So whether an edit
//! is valid depends only on earlier edits, and a plain build can replay them.

use serde_json::{Value, json};

use crate::history::Edit;
use crate::text::NAMES;

/// Keywords of edited relations.
const KEYWORDS: [&str; 2] = ["letters", "music"];

/// A shared name.
fn name(number: u32) -> &'static str {
    NAMES[number as usize % NAMES.len()]
}

/// The two entities of a relation in the document that is never changed.
fn pair(number: u32) -> (&'static str, &'static str) {
    let first = number as usize % (NAMES.len() - 1);
    (NAMES[first], NAMES[first + 1])
}

fn renamed(step: u32) -> String {
    format!("Renamed Person {step}")
}

fn made(step: u32) -> String {
    format!("Made Person {step}")
}

fn described(step: u32) -> String {
    format!("Described in step {step}.")
}

/// The weight used by a step.
fn weight(step: u32) -> f64 {
    f64::from(step % 7) + 0.5
}

/// The arguments of `graphloom` for an edit.
pub(crate) fn command(edit: Edit, step: u32) -> Vec<String> {
    let weight = weight(step).to_string();
    let (renamed, described) = (renamed(step), described(step));
    let keywords = KEYWORDS.join(",");
    let words: Vec<&str> = match edit {
        Edit::Rename { name: number } => vec!["rename", name(number), &renamed],
        Edit::Merge { from, into } => vec!["merge", name(from), "--into", name(into)],
        Edit::Describe { name: number } => {
            vec!["edit", name(number), "--type", "Sailor", "--description", &described]
        }
        Edit::Delete { name: number } => vec!["delete", name(number)],
        Edit::Create => return words(&["create", &made(step), "--description", &described]),
        Edit::Connect { name: number, made: of } => {
            let made = made(of);
            return words(&[
                "create",
                name(number),
                "--relation",
                &made,
                "--keywords",
                &keywords,
                "--description",
                &described,
                "--weight",
                &weight,
            ]);
        }
        Edit::Relate { pair: number } => {
            let (one, other) = pair(number);
            let relation = ["edit", one, "--relation", other, "--keywords", &keywords];
            [&relation[..], &["--description", &described, "--weight", &weight]].concat()
        }
        Edit::Part { pair: number } => {
            let (one, other) = pair(number);
            vec!["delete", one, "--relation", other]
        }
        Edit::Undo => vec!["undo"],
    };
    self::words(&words)
}

fn words(rest: &[&str]) -> Vec<String> {
    ["graph"].iter().chain(rest).map(|word| (*word).to_owned()).collect()
}

/// The request for an edit: method, path and body.
pub(crate) fn request(edit: Edit, step: u32) -> (&'static str, &'static str, Value) {
    let weight = weight(step);
    let (renamed, described, keywords) = (renamed(step), described(step), KEYWORDS.join(","));
    match edit {
        Edit::Rename { name: number } => {
            let data = json!({ "entity_name": renamed });
            let body = json!({ "entity_name": name(number), "updated_data": data, "allow_rename": true });
            ("POST", "/graph/entity/edit", body)
        }
        Edit::Merge { from, into } => {
            let body = json!({ "entities_to_change": [name(from)], "entity_to_change_into": name(into) });
            ("POST", "/graph/entities/merge", body)
        }
        Edit::Describe { name: number } => {
            let data = json!({ "entity_type": "Sailor", "description": described });
            ("POST", "/graph/entity/edit", json!({ "entity_name": name(number), "updated_data": data }))
        }
        Edit::Delete { name: number } => {
            ("DELETE", "/graph/entity/delete", json!({ "entity_name": name(number) }))
        }
        Edit::Create => {
            let data = json!({ "description": described });
            let body = json!({ "entity_name": made(step), "entity_data": data });
            ("POST", "/graph/entity/create", body)
        }
        Edit::Connect { name: number, made: of } => {
            let data = json!({ "description": described, "keywords": keywords, "weight": weight });
            let body =
                json!({ "source_entity": name(number), "target_entity": made(of), "relation_data": data });
            ("POST", "/graph/relation/create", body)
        }
        Edit::Relate { pair: number } => {
            let (one, other) = pair(number);
            let data = json!({ "description": described, "keywords": keywords, "weight": weight });
            let body = json!({ "source_id": one, "target_id": other, "updated_data": data });
            ("POST", "/graph/relation/edit", body)
        }
        Edit::Part { pair: number } => {
            let (one, other) = pair(number);
            let body = json!({ "source_entity": one, "target_entity": other });
            ("DELETE", "/graph/relation/delete", body)
        }
        Edit::Undo => ("POST", "/graph/decisions/undo", json!({ "latest": true })),
    }
}

/// The decisions in an answer of the command line with `--json` or of a server.
pub(crate) fn decisions(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let list = answer["decisions"].as_array().into_iter().flatten();
    let one = [&answer["decision"], &answer["decision"]["id"], &answer["after"]["id"]];
    list.chain(one).filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// The arguments of `graphloom` to replay a decision; `None` for decisions the suite does not make.
pub(crate) fn of_decision(decision: &Value) -> Option<Vec<String>> {
    let name = |key: &Value| key.as_str().map(|key| key.replace('_', " "));
    let text = |field: &str| decision[field].as_str().map(str::to_owned);
    let mut words = vec!["graph".to_owned()];
    // Omitted fields stay omitted.
    let option = |flag: &str, value: Option<String>| {
        value.into_iter().flat_map(|value| [format!("--{flag}"), value]).collect::<Vec<_>>()
    };
    let of_relation = || {
        let keywords = decision["keywords"]
            .as_array()
            .map(|keywords| keywords.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","));
        let keywords = keywords.filter(|keywords| !keywords.is_empty());
        let weight = decision["weight"].as_f64().map(|weight| weight.to_string());
        [option("keywords", keywords), option("description", text("description")), option("weight", weight)]
            .concat()
    };
    match decision["action"].as_str()? {
        "merge_entities" => {
            words.push("merge".to_owned());
            for key in decision["sources"].as_array()? {
                words.push(name(key)?);
            }
            words.extend(["--into".to_owned(), text("name")?]);
        }
        "rename_entity" => words.extend(["rename".to_owned(), name(&decision["key"])?, text("name")?]),
        "create_entity" => {
            words.extend(["create".to_owned(), text("name")?]);
            words.extend(option("description", text("description")));
        }
        "edit_entity" => {
            words.extend(["edit".to_owned(), name(&decision["key"])?]);
            words.extend(option("type", text("kind")));
            words.extend(option("description", text("description")));
        }
        "delete_entity" => words.extend(["delete".to_owned(), name(&decision["key"])?]),
        "create_relation" => {
            let (source, target) = (name(&decision["source"])?, name(&decision["target"])?);
            words.extend(["create".to_owned(), source, "--relation".to_owned(), target]);
            words.extend(of_relation());
        }
        "edit_relation" => {
            let (one, other) = (name(&decision["relation"]["a"])?, name(&decision["relation"]["b"])?);
            words.extend(["edit".to_owned(), one, "--relation".to_owned(), other]);
            words.extend(of_relation());
        }
        "delete_relation" => {
            let (one, other) = (name(&decision["relation"]["a"])?, name(&decision["relation"]["b"])?);
            words.extend(["delete".to_owned(), one, "--relation".to_owned(), other]);
        }
        "undo" => words.extend(["undo".to_owned(), text("decision")?]),
        _ => return None,
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_turned_back_into_commands() {
        for (decision, expected) in [
            (
                json!({"action": "merge_entities", "sources": ["ANNA_BERG"], "into": "X", "name": "Carl Hofer"}),
                "graph merge ANNA BERG --into Carl Hofer",
            ),
            (
                json!({"action": "edit_entity", "key": "ANNA_BERG", "name": null, "kind": "Sailor", "description": "D"}),
                "graph edit ANNA BERG --type Sailor --description D",
            ),
            (
                json!({"action": "edit_relation", "relation": {"a": "A", "b": "B"}, "keywords": ["k", "l"],
                       "description": null, "weight": 2.5}),
                "graph edit A --relation B --keywords k,l --weight 2.5",
            ),
            (
                json!({"action": "delete_relation", "relation": {"a": "A", "b": "B"}}),
                "graph delete A --relation B",
            ),
        ] {
            assert_eq!(of_decision(&decision).expect("known").join(" "), expected);
        }
        assert_eq!(of_decision(&json!({"action": "split_entity"})), None);
    }

    #[test]
    fn decisions_are_read_from_every_kind_of_response() {
        for (answer, expected) in [
            (json!({"preview": false, "decision": {"id": "dec-1"}}), &["dec-1"][..]),
            (json!({"status": "success", "decisions": ["dec-1", "dec-2"]}), &["dec-1", "dec-2"]),
            (json!({"undone": "dec-1", "decision": "dec-2"}), &["dec-2"]),
        ] {
            assert_eq!(decisions(&answer.to_string()), expected);
        }
        assert!(decisions("no JSON").is_empty());
    }
}
