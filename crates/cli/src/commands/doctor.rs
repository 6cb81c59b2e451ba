//! `graphloom doctor`: tests that the configuration, data folder and models work, with remedies.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use graphloom::config::{ModelChoice, RerankerChoice};
use graphloom_core::{ChatMessage, ChatRequest, ChatRole, EmbeddingSpec, Role, complete};
use graphloom_engine::index::EMBEDDER;
use serde::Serialize;

use super::App;
use crate::fault::{self, Exit};
use crate::output::render::{count, plain};
use crate::wire;
use graphloom::providers::Providers;
use graphloom::wording::Wording;

/// Maximum output tokens of the trial call; some services reject fewer.
const TRIAL_TOKENS: u32 = 16;

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    verdict: Verdict,
    message: String,
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

impl Finding {
    fn new(what: &'static str, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { what, verdict, message: message.into(), remedy: None }
    }

    fn of(what: &'static str, outcome: anyhow::Result<String>) -> Self {
        match outcome {
            Ok(message) => Self::new(what, Verdict::Ok, message),
            Err(error) => {
                Self { remedy: fault::remedy(&error), ..Self::new(what, Verdict::Fail, format!("{error:#}")) }
            }
        }
    }
}

/// Prints one line per test; exits with 1 if one fails.
pub(crate) async fn run(app: &App) -> anyhow::Result<Exit> {
    let mut findings = vec![configuration(app)];
    findings.extend(
        app.settings.address_warnings.iter().map(|warning| Finding::new("key", Verdict::Warn, warning)),
    );
    findings.extend(wording(app));
    findings.push(Finding::of("data folder", writable(&app.config.data_dir)));
    let (workspace, space) = workspace(app).await;
    findings.push(workspace);
    let providers = Providers::new(&app.config);
    findings.push(match app.settings.absent_model(EMBEDDER) {
        Some(model) => absent("embedder", model, "`graphloom re-embed EMBEDDER` replaces it"),
        None => Finding::of("embedder", embedder(&providers, space.as_ref()).await),
    });
    findings.extend(models(app, &providers).await);
    if let Some(works) = sentence_scorer(&providers, space.as_ref()).await.transpose() {
        findings.push(Finding::of("sentence scorer", works));
    }
    if let Some(choice) = &app.config.reranker {
        findings.push(Finding::of("reranker", reranker(&providers, choice).await));
    }
    for finding in &mut findings {
        finding.message = app.output.hint(&finding.message);
        finding.remedy = finding.remedy.take().map(|remedy| app.output.hint(remedy));
    }
    let failed = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    if app.output.json {
        app.output.json(&findings)?;
    } else {
        for Finding { what, verdict, message, remedy } in &findings {
            let verdict = match verdict {
                Verdict::Ok => "ok  ",
                Verdict::Warn => "warn",
                Verdict::Fail => "FAIL",
            };
            app.output.line(format_args!("{verdict}  {what}: {}", plain(message)))?;
            if let Some(remedy) = remedy {
                app.output.line(format_args!("      help: {}", plain(remedy)))?;
            }
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn configuration(app: &App) -> Finding {
    match app.settings.warnings.as_slice() {
        [] => Finding::new("configuration", Verdict::Ok, "every key is known and valid"),
        warnings => Finding::new("configuration", Verdict::Warn, warnings.join("; ")),
    }
}

/// Checks custom prompts and guidance, if configured.
fn wording(app: &App) -> Option<Finding> {
    let folder = app.config.prompts_dir.as_deref();
    if folder.is_none() && app.config.entity_guidance.is_none() {
        return None;
    }
    let outcome = Wording::read(&app.config);
    let message = folder
        .map_or("the guidance is readable".to_owned(), |folder| format!("{} is valid", folder.display()));
    Some(Finding::of("prompts", outcome.map(|_| message).map_err(Into::into)))
}

/// Writes a trial file into the folder, or into its nearest existing parent.
fn writable(folder: &Path) -> anyhow::Result<String> {
    let existing = folder.ancestors().find(|it| it.is_dir() || it.as_os_str().is_empty()).unwrap_or(folder);
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    let trial = existing.join(format!(".graphloom-doctor-{}", std::process::id()));
    std::fs::write(&trial, "trial").with_context(|| format!("writing into {}", existing.display()))?;
    std::fs::remove_file(&trial).with_context(|| format!("removing {}", trial.display()))?;
    Ok(match existing == folder {
        true => format!("{} is writable", folder.display()),
        false => format!("{} does not exist yet and can be created", folder.display()),
    })
}

async fn workspace(app: &App) -> (Finding, Option<EmbeddingSpec>) {
    match wire::exists(&app.config).await {
        Ok(true) => {}
        Ok(false) => {
            let message =
                format!("{} does not exist yet; `graphloom add PATH` creates it", app.config.workspace);
            return (Finding::new("workspace", Verdict::Ok, message), None);
        }
        Err(error) => return (Finding::of("workspace", Err(error.into())), None),
    }
    let read = async {
        let store = wire::open_store(&app.config).await?;
        let snapshot = store.snapshot().await?;
        let documents = count(snapshot.counts().await?.documents, "document");
        let message =
            format!("{} can be opened: {documents}, revision {}", app.config.workspace, snapshot.revision());
        anyhow::Ok((message, snapshot.embedding().await?))
    };
    match read.await {
        Ok((message, space)) => (Finding::new("workspace", Verdict::Ok, message), space),
        Err(error) => (Finding::of("workspace", Err(error)), None),
    }
}

async fn embedder(providers: &Providers<'_>, space: Option<&EmbeddingSpec>) -> anyhow::Result<String> {
    let embedder = providers.embedder_of(space)?;
    let dimensions = embedder.dimensions().await?;
    Ok(format!("{} works, {dimensions} dimensions", embedder.name()))
}

/// Returns the finding about a model that only the program that built the workspace has.
fn absent(what: &'static str, model: &str, remedy: &str) -> Finding {
    let message = format!("{model} is missing: only the program that built the workspace has it");
    Finding { remedy: Some(remedy.to_owned()), ..Finding::new(what, Verdict::Warn, message) }
}

/// Makes one small call to each configured model.
async fn models(app: &App, providers: &Providers<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tried: BTreeSet<String> = BTreeSet::new();
    for (_, choice) in app.config.models.by_role() {
        if let Some(choice) = choice
            && tried.insert(choice.to_string())
        {
            findings.push(Finding::of("model", trial(providers, choice).await));
        }
    }
    let switch = "`graphloom add PATH --switch` builds with other models from now on";
    findings.extend(app.settings.absent_llms().into_iter().map(|model| absent("model", model, switch)));
    let offline: Vec<&str> = app
        .config
        .models
        .by_role()
        .into_iter()
        // The judge has no offline default.
        .filter(|(role, it)| it.is_none() && *role != Role::Judge)
        .map(|(role, _)| role.name())
        .collect();
    if !offline.is_empty() {
        let message = format!("none for {}: using rules and verbatim sentences", offline.join(", "));
        let remedy = match app.config.unused_chat_key() {
            Some(service) => format!("an API key is set; --llm {}:MODEL uses it", service.name()),
            None => {
                "choose one with --llm openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL".to_owned()
            }
        };
        findings.push(Finding { remedy: Some(remedy), ..Finding::new("model", Verdict::Ok, message) });
    }
    findings
}

async fn trial(providers: &Providers<'_>, choice: &ModelChoice) -> anyhow::Result<String> {
    let model = providers.chat(choice)?;
    let request = ChatRequest {
        messages: vec![ChatMessage::new(ChatRole::User, "Answer with the word ok.")],
        max_output_tokens: Some(TRIAL_TOKENS),
        ..ChatRequest::default()
    };
    let (_, completion) = complete(model.as_ref(), request).await?;
    Ok(match completion.usage.prompt_tokens + completion.usage.completion_tokens {
        0 => format!("{choice} answers; it reports no tokens, so that costs stay unknown"),
        tokens => format!("{choice} answers (the test used {tokens} tokens)"),
    })
}

/// Scores two sentences: the one with the answer must score higher. Returns `None` if no model scores sentences.
async fn sentence_scorer(
    providers: &Providers<'_>,
    space: Option<&EmbeddingSpec>,
) -> anyhow::Result<Option<String>> {
    // An embedder that fails has a finding of its own.
    let embedder = providers.embedder_of(space).ok();
    let embedder = embedder.as_ref().map(|embedder| embedder.name());
    let Some(scorer) = providers.sentence_scorer(embedder)? else { return Ok(None) };
    let name = scorer.name();
    let sentences = ["Bread is baked from flour and water.", "Radium was discovered in 1898."];
    let scores =
        scorer.score("When was radium discovered?", &[sentences.map(str::to_owned).to_vec()]).await?;
    match scores.concat().as_slice() {
        [bread, radium] if radium > bread => Ok(Some(format!("{name} works"))),
        scores => anyhow::bail!("{name} does not score the sentence with the answer highest: {scores:?}"),
    }
}

/// Makes one small call: of two passages, the one with the answer must score higher.
async fn reranker(providers: &Providers<'_>, choice: &RerankerChoice) -> anyhow::Result<String> {
    let reranker = providers.reranker(choice)?;
    let passages = ["Bread is baked from flour and water.", "Radium was discovered in 1898."];
    let reranking = reranker.rerank("When was radium discovered?", &passages.map(str::to_owned)).await?;
    match reranking.scores.as_slice() {
        [bread, radium] if radium > bread => Ok(format!("{choice} works")),
        scores => anyhow::bail!("{choice} does not score the passage with the answer highest: {scores:?}"),
    }
}
