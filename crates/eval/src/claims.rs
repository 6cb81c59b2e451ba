//! The judge's part of RAGChecker: extracts claims from texts and checks claims against texts.

use graphloom_engine::prompt::{JUDGE_CHECK, JUDGE_CLAIMS};

use crate::judge::{Judge, JudgeError, json_in};
use crate::ragchecker::{CheckedAnswer, Claim, Label};

/// Maximum claims per call.
const CLAIMS_AT_ONCE: usize = 10;

/// Maximum claims of one text.
const MAX_CLAIMS: usize = 300;

/// Judges everything in `answer` that has no judgement yet. Keeps existing judgements, except labels without claims: they
/// cannot belong to the newly extracted claims.
pub async fn judge_answer(judge: &Judge, answer: &mut CheckedAnswer) -> Result<(), JudgeError> {
    let question = answer.query.clone();
    if answer.response_claims.is_none() {
        (answer.answer2response, answer.retrieved2response) = (None, None);
        answer.response_claims = Some(claims_of(judge, &question, &answer.response).await?);
    }
    if answer.gt_answer_claims.is_none() {
        (answer.response2answer, answer.retrieved2answer) = (None, None);
        answer.gt_answer_claims = Some(claims_of(judge, &question, &answer.gt_answer).await?);
    }
    let claims = answer.response_claims.clone().unwrap_or_default();
    let right = answer.gt_answer_claims.clone().unwrap_or_default();
    if answer.answer2response.is_none() {
        answer.answer2response = Some(check(judge, &question, &answer.gt_answer, &claims).await?);
    }
    if answer.response2answer.is_none() {
        answer.response2answer = Some(check(judge, &question, &answer.response, &right).await?);
    }
    if answer.retrieved2answer.is_none() {
        answer.retrieved2answer = Some(check_passages(judge, answer, &right).await?);
    }
    if answer.retrieved2response.is_none() {
        answer.retrieved2response = Some(check_passages(judge, answer, &claims).await?);
    }
    Ok(())
}

/// Returns the claims of a text; none if it is empty.
async fn claims_of(judge: &Judge, question: &str, text: &str) -> Result<Vec<Claim>, JudgeError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let read = |answer: &str| {
        let claims: Vec<String> = json_in(answer, '[')?;
        let claims: Vec<Claim> =
            claims.into_iter().filter(|claim| !claim.trim().is_empty()).map(Claim::Sentence).collect();
        match claims.len() {
            count if count > MAX_CLAIMS => {
                Err(format!("too many claims: {count}, the limit is {MAX_CLAIMS}"))
            }
            _ => Ok(claims),
        }
    };
    judge.ask(JUDGE_CLAIMS, &[("question", question), ("text", text)], read).await
}

/// Returns the label of each claim against a text, in order. An empty text makes all claims neutral.
async fn check(
    judge: &Judge,
    question: &str,
    text: &str,
    claims: &[Claim],
) -> Result<Vec<Label>, JudgeError> {
    if text.trim().is_empty() {
        return Ok(vec![Label::Neutral; claims.len()]);
    }
    let mut labels = Vec::with_capacity(claims.len());
    for claims in claims.chunks(CLAIMS_AT_ONCE) {
        let count = claims.len();
        let lines: Vec<String> = claims
            .iter()
            .enumerate()
            .map(|(at, claim)| {
                format!("{}. {}", at + 1, claim.words().split_whitespace().collect::<Vec<_>>().join(" "))
            })
            .collect();
        let read = |answer: &str| {
            let labels: Vec<String> = json_in(answer, '[')?;
            if labels.len() != count {
                return Err(format!("got {} labels for {count} claims", labels.len()));
            }
            labels.iter().map(|label| label_of(label)).collect::<Result<Vec<Label>, String>>()
        };
        let (claims, count) = (lines.join("\n"), count.to_string());
        let variables = [("question", question), ("text", text), ("claims", &claims), ("count", &count)];
        labels.extend(judge.ask(JUDGE_CHECK, &variables, read).await?);
    }
    Ok(labels)
}

/// Returns for each claim its label against each passage.
async fn check_passages(
    judge: &Judge,
    answer: &CheckedAnswer,
    claims: &[Claim],
) -> Result<Vec<Vec<Label>>, JudgeError> {
    let mut rows = vec![Vec::with_capacity(answer.retrieved_context.len()); claims.len()];
    for passage in &answer.retrieved_context {
        for (row, label) in rows.iter_mut().zip(check(judge, &answer.query, &passage.text, claims).await?) {
            row.push(label);
        }
    }
    Ok(rows)
}

/// Parses a label. The judge must not abstain.
fn label_of(text: &str) -> Result<Label, String> {
    match text.parse() {
        Ok(label @ (Label::Entailment | Label::Neutral | Label::Contradiction)) => Ok(label),
        Ok(Label::Abstain) | Err(_) => {
            Err(format!("{text:?} is not a label; use Entailment, Neutral or Contradiction"))
        }
    }
}

#[cfg(test)]
mod tests {
    use graphloom_engine::prompt::Prompts;

    use crate::judge::tests::{Script, judge, wait};
    use crate::ragchecker::RetrievedPassage;

    use super::*;

    fn answer() -> CheckedAnswer {
        CheckedAnswer {
            query_id: "q1".to_owned(),
            query: "Who?".to_owned(),
            gt_answer: "Ada.".to_owned(),
            response: "Ada and Bo.".to_owned(),
            retrieved_context: vec![RetrievedPassage {
                doc_id: "p1".to_owned(),
                text: "Ada did.".to_owned(),
            }],
            ..CheckedAnswer::default()
        }
    }

    #[test]
    fn an_answer_is_split_into_claims_and_checked_against_every_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let says = [
            r#"["Ada did it", "Bo did it"]"#,
            r#"```json
["Ada did it"]
```"#,
            r#"["entailment", "Neutral"]"#,
            r#"["Entailment"]"#,
            r#"["Entailment"]"#,
            r#"["Entailment", "Contradiction"]"#,
        ];
        let model = Script::of(&says);
        let mut answer = answer();
        wait(judge_answer(&judge(model.clone(), folder.path()), &mut answer)).expect("judged");
        let metrics = answer.metrics_of_labels().expect("whole");
        assert_eq!((metrics.precision, metrics.recall, metrics.hallucination), (0.5, 1.0, 0.5));
        assert_eq!(model.asked.lock().expect("not poisoned").len(), says.len());
    }

    #[test]
    fn existing_labels_and_empty_texts_need_no_calls() {
        let folder = tempfile::tempdir().expect("a folder");
        let model = Script::of(&[r#"["Ada did it"]"#]);
        let mut answer =
            CheckedAnswer { response: " ".to_owned(), retrieved_context: Vec::new(), ..answer() };
        wait(judge_answer(&judge(model.clone(), folder.path()), &mut answer)).expect("judged");
        assert_eq!(answer.response2answer, Some(vec![Label::Neutral]));
        assert_eq!(answer.retrieved2answer, Some(vec![vec![]]));
        let before = answer.clone();
        wait(judge_answer(&judge(Script::of(&[]), folder.path()), &mut answer)).expect("judged");
        assert_eq!((answer, model.asked.lock().expect("not poisoned").len()), (before, 1));
    }

    #[test]
    fn labels_without_claims_are_judged_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let model = Script::of(&[r#"["Ada did it"]"#, r#"["Ada did it"]"#, r#"["Neutral"]"#]);
        let mut answer = CheckedAnswer {
            retrieved_context: Vec::new(),
            answer2response: Some(vec![Label::Entailment; 2]),
            retrieved2answer: Some(vec![vec![]; 2]),
            ..answer()
        };
        let judge = judge(model, folder.path());
        wait(judge_answer(&judge, &mut answer)).expect_err("the last label is not said");
        assert_eq!(answer.answer2response, Some(vec![Label::Neutral]));
        assert_eq!(answer.retrieved2answer, None);
    }

    #[test]
    fn labels_must_fit_the_claims() {
        let folder = tempfile::tempdir().expect("a folder");
        let model = Script::of(&[r#"["a"]"#, r#"["a"]"#, "[]", r#"["Maybe"]"#]);
        let error = wait(judge_answer(&judge(model.clone(), folder.path()), &mut answer()));
        let error = error.expect_err("no label").to_string();
        assert!(error.contains("\"Maybe\" is not a label"), "{error}");
        let asked = model.asked.lock().expect("not poisoned").clone();
        assert!(asked[3].contains("got 0 labels for 1 claims"), "{asked:?}");
    }

    #[test]
    fn the_prompt_of_the_judge_renders_as_reviewed() {
        let prompts = Prompts::default();
        let claims = prompts.messages(JUDGE_CLAIMS, &[("question", "Who?"), ("text", "Ada did.")]);
        insta::assert_snapshot!(claims[1].content, @r"
        Question: Who?

        Text:
        Ada did.
        ");
        let variables =
            [("question", "Who?"), ("text", "Ada did."), ("claims", "1. Ada did it"), ("count", "1")];
        let check = prompts.messages(JUDGE_CHECK, &variables);
        insta::assert_snapshot!(check[1].content, @r"
        Question: Who?

        Text:
        Ada did.

        Claims:
        1. Ada did it

        Answer with 1 labels.
        ");
        for messages in [claims, check] {
            assert!(messages[0].content.starts_with("You ") && !messages[0].content.contains("{{"));
        }
    }
}
