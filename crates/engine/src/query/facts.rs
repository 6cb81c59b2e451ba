//! Asks a model which of the facts nearest to a question help to answer it: the recognition memory of HippoRAG 2.
//!
//! Source: Gutiérrez et al., "From RAG to Memory", ICML 2025.

use graphloom_core::{ChatRequest, LanguageModel, Relation, RelationKey};

use super::calls::QueryCost;
use super::embed::QueryVectors;
use super::keywords::{object_in, respond};
use super::plan::{Plan, Prior};
use super::search::near_facts;
use super::selection::FilterView;
use super::{QueryError, QueryNote, Question, prompts};
use crate::Engine;
use crate::filtered::FilteredSnapshot;

/// Returns the facts that PageRank starts at, with their weights, if the question asks for a model to choose them and one is
/// configured. Otherwise returns `None`, and the search finds them. The list is empty if no fact helps.
pub(super) async fn chosen(
    engine: &Engine,
    question: &Question,
    plan: Plan,
    vectors: &QueryVectors,
    selection: &mut FilterView<'_>,
    cost: &mut QueryCost,
    notes: &mut Vec<QueryNote>,
) -> Result<Option<Vec<(RelationKey, f64)>>, QueryError> {
    let wanted = question.pagerank.filter_facts && plan.page_rank() == Some(Prior::Vector);
    let (Some(model), Some(vector)) =
        (engine.models.keywords.as_deref().filter(|_| wanted), &vectors.question)
    else {
        return Ok(None);
    };
    let snapshot = engine.store.snapshot().await?;
    selection.renew(snapshot.as_ref()).await?;
    let scope = FilteredSnapshot::new(snapshot.as_ref(), selection.allowed.clone(), engine.tokenizer).await?;
    let near = near_facts(&scope, question, vector).await?;
    let keys: Vec<RelationKey> = near.iter().map(|(key, _)| key.clone()).collect();
    let relations = scope.relations(&keys).await?;
    drop(snapshot);
    let mut facts: Vec<(RelationKey, f64)> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for (fact, relation) in near.into_iter().zip(relations) {
        if let Some(relation) = relation {
            facts.push(fact);
            lines.push(line(facts.len(), &relation));
        }
    }
    if facts.is_empty() {
        return Ok(Some(facts));
    }
    match ask(engine, model, question, &lines.join("\n"), facts.len(), cost).await? {
        Some(relevant) => {
            let mut place = 0;
            facts.retain(|_| {
                place += 1;
                relevant.contains(&place)
            });
        }
        None => notes.push(QueryNote::FactsNotFiltered { model: model.name().to_owned() }),
    }
    Ok(Some(facts))
}

/// Returns a fact as one line for the model.
fn line(number: usize, relation: &Relation) -> String {
    let words = relation.description.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{number}. {}, {}: {words}", relation.key.a().as_str(), relation.key.b().as_str())
}

/// Returns the numbers of the facts that help, from 1 to `count`; `None` if the model's response is invalid.
async fn ask(
    engine: &Engine,
    model: &dyn LanguageModel,
    question: &Question,
    facts: &str,
    count: usize,
    cost: &mut QueryCost,
) -> Result<Option<Vec<usize>>, QueryError> {
    let messages = prompts::filter_facts(&engine.prompts, question.text.trim(), facts);
    let request = ChatRequest { messages, json_object: true, ..ChatRequest::default() };
    let is_usable = |response: &str| read(response, count).is_some();
    let response = respond(engine, model, request, is_usable, question.cache, cost).await?;
    Ok(read(&response, count))
}

fn read(response: &str, count: usize) -> Option<Vec<usize>> {
    let value = object_in(response)?;
    let numbers = value["relevant"].as_array()?.iter();
    let numbers = numbers.map(|number| usize::try_from(number.as_u64()?).ok());
    numbers.collect::<Option<Vec<usize>>>().filter(|numbers| numbers.iter().all(|n| (1..=count).contains(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_contain_only_numbers_of_the_list() {
        assert_eq!(read(r#"Here: {"relevant": [2, 1]}"#, 2), Some(vec![2, 1]));
        assert_eq!(read(r#"{"relevant": []}"#, 2), Some(Vec::new()));
        for other in [r#"{"relevant": [3]}"#, r#"{"relevant": [0]}"#, r#"{"relevant": ["1"]}"#, "{}", "1"] {
            assert_eq!(read(other, 2), None, "{other}");
        }
    }
}
