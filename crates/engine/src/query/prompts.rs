//! The prompts of questions: each is a file in `prompts/`, filled in by a strict template.

use graphloom_core::ChatMessage;

use crate::prompt::{
    ANSWER, ANSWER_NAIVE, ANSWER_POINTS, ANSWER_USER_PROMPT, DECOMPOSE, DRIFT_POINTS, FILTER_FACTS, KEYWORDS,
    KEYWORDS_FOLLOW_UP, MAP_POINTS, Prompt, Prompts, RATE_REPORTS, SUGGEST_QUESTIONS,
};

/// Returns the prompt for the keywords of `question`.
pub(super) fn keywords(prompts: &Prompts, question: &str) -> Vec<ChatMessage> {
    prompts.messages(KEYWORDS, &[("question", question)])
}

/// Returns the prompt for the standalone form of `question` and its keywords.
pub(super) fn keywords_of_follow_up(
    prompts: &Prompts,
    conversation: &str,
    question: &str,
) -> Vec<ChatMessage> {
    prompts.messages(KEYWORDS_FOLLOW_UP, &[("conversation", conversation), ("question", question)])
}

/// Returns the prompt for the parts of `question`, and for its standalone form if there is a conversation.
pub(super) fn decompose(prompts: &Prompts, conversation: &str, question: &str) -> Vec<ChatMessage> {
    let conversation = match conversation {
        "" => String::new(),
        messages => format!("Conversation before it:\n{messages}\n\n"),
    };
    prompts.messages(DECOMPOSE, &[("conversation", &conversation), ("question", question)])
}

/// Returns the prompt that asks which of the `facts`, numbered lines, help to answer `question`.
pub(super) fn filter_facts(prompts: &Prompts, question: &str, facts: &str) -> Vec<ChatMessage> {
    prompts.messages(FILTER_FACTS, &[("question", question), ("facts", facts)])
}

/// Returns the prompt for the points of `reports` that help to answer `question`.
pub(super) fn map_points(prompts: &Prompts, question: &str, reports: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the question", ", names as in the reports");
    let variables = [("question", question), ("context", reports), ("language", language.as_str())];
    prompts.messages(MAP_POINTS, &variables)
}

/// Returns the prompt for the points of `data` that help to answer `question`, and for follow-up questions.
///
/// - `step`: the purpose of this step.
pub(super) fn drift_points(prompts: &Prompts, question: &str, step: &str, data: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the question", ", names as in the data");
    let variables =
        [("question", question), ("step", step), ("context", data), ("language", language.as_str())];
    prompts.messages(DRIFT_POINTS, &variables)
}

/// Returns the prompt that asks how relevant the `reports`, numbered lines, are to `question`.
pub(super) fn rate_reports(prompts: &Prompts, question: &str, reports: &str) -> Vec<ChatMessage> {
    prompts.messages(RATE_REPORTS, &[("question", question), ("reports", reports)])
}

/// Returns the prompt for at most `count` questions that the `excerpts`, numbered lines, answer.
pub(super) fn suggest_questions(prompts: &Prompts, count: usize, excerpts: &str) -> Vec<ChatMessage> {
    let language = prompts.language("the language of the excerpts", ", names as in the excerpts");
    let count = count.to_string();
    let variables = [("count", count.as_str()), ("context", excerpts), ("language", language.as_str())];
    prompts.messages(SUGGEST_QUESTIONS, &variables)
}

/// Returns the instructions for an answer from points; they end with `context`.
pub(super) fn answer_points(
    prompts: &Prompts,
    response_type: &str,
    user_prompt: &str,
    context: &str,
) -> String {
    instructions(prompts, ANSWER_POINTS, response_type, user_prompt, context)
}

/// Returns the instructions for an answer from entities, relations and passages; they end with `context`.
pub(super) fn answer(prompts: &Prompts, response_type: &str, user_prompt: &str, context: &str) -> String {
    instructions(prompts, ANSWER, response_type, user_prompt, context)
}

/// Returns the instructions for an answer from passages alone; they end with `context`.
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

/// Returns the user's additional instructions as a paragraph; empty if there are none.
fn additions(prompts: &Prompts, user_prompt: &str) -> String {
    match user_prompt.trim() {
        "" => String::new(),
        instructions => prompts.render(ANSWER_USER_PROMPT, &[("user_prompt", instructions)]) + "\n\n",
    }
}
