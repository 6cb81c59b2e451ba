//! The prompts of querying: one file each under `prompts/`, filled by a strict template.

use graphloom_core::ChatMessage;

use crate::prompt::{
    ANSWER, ANSWER_NAIVE, ANSWER_POINTS, ANSWER_USER_PROMPT, DECOMPOSE, DRIFT_POINTS, FILTER_FACTS, KEYWORDS,
    KEYWORDS_FOLLOW_UP, MAP_POINTS, Prompt, Prompts, RATE_REPORTS, SUGGEST_QUESTIONS,
};

/// Asks for the keywords of `question`.
pub(super) fn keywords(prompts: &Prompts, question: &str) -> Vec<ChatMessage> {
    prompts.messages(KEYWORDS, &[("question", question)])
}

/// Asks for `question` as it would be asked without the conversation before it, and for the keywords of that.
pub(super) fn keywords_of_follow_up(
    prompts: &Prompts,
    conversation: &str,
    question: &str,
) -> Vec<ChatMessage> {
    prompts.messages(KEYWORDS_FOLLOW_UP, &[("conversation", conversation), ("question", question)])
}

/// Asks for the parts of `question`, and for it as it would be asked without the conversation before it, if there is one.
pub(super) fn decompose(prompts: &Prompts, conversation: &str, question: &str) -> Vec<ChatMessage> {
    let conversation = match conversation {
        "" => String::new(),
        said => format!("Conversation before it:\n{said}\n\n"),
    };
    prompts.messages(DECOMPOSE, &[("conversation", &conversation), ("question", question)])
}

/// Asks which of the `facts`, numbered lines, help to answer `question`.
pub(super) fn filter_facts(prompts: &Prompts, question: &str, facts: &str) -> Vec<ChatMessage> {
    prompts.messages(FILTER_FACTS, &[("question", question), ("facts", facts)])
}

/// Asks for the points of `reports` that help to answer `question`.
pub(super) fn map_points(prompts: &Prompts, question: &str, reports: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the question", ", names as in the reports");
    let variables = [("question", question), ("context", reports), ("language", language.as_str())];
    prompts.messages(MAP_POINTS, &variables)
}

/// Asks for the points of `data` that help to answer `question`, and for questions to look up next.
///
/// - `step`: what this step looks for.
pub(super) fn drift_points(prompts: &Prompts, question: &str, step: &str, data: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the question", ", names as in the data");
    let variables =
        [("question", question), ("step", step), ("context", data), ("language", language.as_str())];
    prompts.messages(DRIFT_POINTS, &variables)
}

/// Asks how relevant the `reports`, numbered lines, are to `question`.
pub(super) fn rate_reports(prompts: &Prompts, question: &str, reports: &str) -> Vec<ChatMessage> {
    prompts.messages(RATE_REPORTS, &[("question", question), ("reports", reports)])
}

/// Asks for at most `count` questions that the `excerpts`, numbered lines, answer.
pub(super) fn suggest_questions(prompts: &Prompts, count: usize, excerpts: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the excerpts", ", names as in the excerpts");
    let count = count.to_string();
    let variables = [("count", count.as_str()), ("context", excerpts), ("language", language.as_str())];
    prompts.messages(SUGGEST_QUESTIONS, &variables)
}

/// The instructions for an answer from points; ends with `context`.
pub(super) fn answer_points(
    prompts: &Prompts,
    response_type: &str,
    user_prompt: &str,
    context: &str,
) -> String {
    instructions(prompts, ANSWER_POINTS, response_type, user_prompt, context)
}

/// The instructions for an answer from entities, relations and passages; ends with `context`.
pub(super) fn answer(prompts: &Prompts, response_type: &str, user_prompt: &str, context: &str) -> String {
    instructions(prompts, ANSWER, response_type, user_prompt, context)
}

/// The instructions for an answer from passages alone; ends with `context`.
pub(super) fn answer_naive(
    prompts: &Prompts,
    response_type: &str,
    user_prompt: &str,
    context: &str,
) -> String {
    instructions(prompts, ANSWER_NAIVE, response_type, user_prompt, context)
}

fn instructions(
    prompts: &Prompts,
    prompt: Prompt,
    response_type: &str,
    user_prompt: &str,
    context: &str,
) -> String {
    let language = prompts.language("the language of the question", ", names as in the context");
    let additions = additions(prompts, user_prompt);
    let variables = [
        ("response_type", response_type),
        ("language", language.as_str()),
        ("additions", additions.as_str()),
        ("context", context),
    ];
    prompts.render(prompt, &variables)
}

/// What the user asks besides, as a paragraph of its own; empty where that is nothing.
fn additions(prompts: &Prompts, user_prompt: &str) -> String {
    match user_prompt.trim() {
        "" => String::new(),
        asked => prompts.render(ANSWER_USER_PROMPT, &[("user_prompt", asked)]) + "\n\n",
    }
}
