//! Creates the configured models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use graphloom_core::{
    ContentHash, Embedder, EmbeddingSpec, Embeddings, LanguageModel, ModelError, Purpose, Reranker,
    SentenceScorer, Usage,
};
use graphloom_providers::anthropic::{ANTHROPIC_BASE_URL, AnthropicChat, AnthropicChatConfig};
use graphloom_providers::builtin::BuiltinEmbedder;
use graphloom_providers::gemini::{
    GEMINI_BASE_URL, GeminiChat, GeminiChatConfig, GeminiEmbedder, GeminiEmbedderConfig,
};
use graphloom_providers::http::{HttpClient, HttpConfig, OpenShared, ServiceListener};
#[cfg(feature = "local")]
use graphloom_providers::local::{LocalEmbedder, LocalScorer, StaticEmbedder};
use graphloom_providers::ollama::{
    DEFAULT_CONTEXT_TOKENS, OllamaChat, OllamaChatConfig, OllamaEmbedder, OllamaEmbedderConfig,
    base_url_from_host,
};
use graphloom_providers::openai::{
    OPENAI_BASE_URL, OpenAiChat, OpenAiChatConfig, OpenAiEmbedder, OpenAiEmbedderConfig,
};
use graphloom_providers::rerank::{
    COHERE_BASE_URL, HttpReranker, JINA_BASE_URL, RerankDialect, RerankerConfig,
};
use graphloom_providers::{Endpoint, Secret};

use crate::clock::SystemClock;
use crate::config::{
    Config, EmbedderChoice, ModelChoice, RerankerChoice, RoleModels, ScorerChoice, Service, keys,
};
use crate::error::{DescribeError, Fault, Result};
#[cfg(feature = "local")]
use crate::setup::model_store;
use crate::setup::of_space;
use crate::stores::workspaces;

/// The local model that scores sentences if the configuration names none and the embedder cannot: it reads many languages.
pub const DEFAULT_SCORER: &str = "multilingual-e5-small";

/// The chat model of each role.
#[derive(Default)]
pub struct ChatModels {
    /// Writes the context of chunks.
    pub context: Option<Arc<dyn LanguageModel>>,
    /// Extracts records from chunks.
    pub extract: Option<Arc<dyn LanguageModel>>,
    /// Finds the keywords of questions.
    pub keywords: Option<Arc<dyn LanguageModel>>,
    /// Merges several descriptions into one.
    pub summarize: Option<Arc<dyn LanguageModel>>,
    /// Answers.
    pub answer: Option<Arc<dyn LanguageModel>>,
}

/// Creates models. Models of the same service share a client and therefore its limits.
pub struct Providers<'a> {
    config: &'a Config,
    /// Notified when services go down or recover. If set, calls wait for such services.
    listener: Option<ServiceListener>,
    clients: Mutex<BTreeMap<(Service, Use), Arc<HttpClient>>>,
}

/// Uses of a service that can have separate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// All calls that do not have their own limits.
    Any,
    /// Embedding calls, if they have their own limits.
    Embed,
}

impl<'a> Providers<'a> {
    /// For interactive commands: a call fails after its last attempt. Does not connect yet.
    pub fn new(config: &'a Config) -> Self {
        Self { config, listener: None, clients: Mutex::default() }
    }

    /// For indexing: calls wait for a service that is down, and `listener` is notified.
    pub fn patient(config: &'a Config, listener: ServiceListener) -> Self {
        Self { listener: Some(listener), ..Self::new(config) }
    }

    /// Creates the chat models of these roles.
    pub fn chat_models(&self, roles: &RoleModels) -> Result<ChatModels> {
        let model =
            |choice: &Option<ModelChoice>| choice.as_ref().map(|choice| self.chat(choice)).transpose();
        Ok(ChatModels {
            context: model(&roles.context)?,
            extract: model(&roles.extract)?,
            keywords: model(&roles.keywords)?,
            summarize: model(&roles.summarize)?,
            answer: model(&roles.answer)?,
        })
    }

    /// Creates a chat model. Fails if its configuration is invalid.
    pub fn chat(&self, choice: &ModelChoice) -> Result<Arc<dyn LanguageModel>> {
        let setting_up = || format!("setting up model {choice}");
        let http = |service| self.client(service, Use::Any);
        Ok(match choice {
            ModelChoice::OpenAi(model) => {
                let config = OpenAiChatConfig {
                    endpoint: self.endpoint(Service::OpenAi, choice)?,
                    model: model.clone(),
                    temperature: None,
                    output_limit_field: Default::default(),
                };
                Arc::new(OpenAiChat::new(http(Service::OpenAi), config).doing(setting_up)?)
            }
            ModelChoice::Anthropic(model) => {
                let endpoint = self.endpoint(Service::Anthropic, choice)?;
                let config = AnthropicChatConfig { endpoint, model: model.clone(), temperature: None };
                Arc::new(AnthropicChat::new(http(Service::Anthropic), config).doing(setting_up)?)
            }
            ModelChoice::Gemini(model) => {
                let endpoint = self.endpoint(Service::Gemini, choice)?;
                let config = GeminiChatConfig { endpoint, model: model.clone(), temperature: None };
                Arc::new(GeminiChat::new(http(Service::Gemini), config).doing(setting_up)?)
            }
            ModelChoice::Ollama(model) => {
                let config = OllamaChatConfig {
                    endpoint: self.endpoint(Service::Ollama, choice)?,
                    model: model.clone(),
                    temperature: None,
                    context_tokens: DEFAULT_CONTEXT_TOKENS,
                    think: None,
                };
                Arc::new(OllamaChat::new(http(Service::Ollama), config).doing(setting_up)?)
            }
        })
    }

    /// Creates the workspace's embedder. A configured embedder must match the workspace's vectors. Without
    /// one, the workspace's own embedder is used, or the built-in one for a new workspace. If only the program that built
    /// the workspace has its embedder, an [`AbsentEmbedder`] stands in for it.
    pub fn embedder_of(&self, space: Option<&EmbeddingSpec>) -> Result<Arc<dyn Embedder>> {
        let choice = match (&self.config.embedder, space) {
            (Some(choice), _) => choice.clone(),
            (None, None) => EmbedderChoice::Builtin,
            (None, Some(space)) => match EmbedderChoice::of_space(&space.model) {
                Some(choice) => choice,
                None => return Ok(Arc::new(AbsentEmbedder(space.clone()))),
            },
        };
        of_space(self.embedder(&choice)?, space)
    }

    /// Creates an embedder. Fails if its configuration is invalid.
    pub fn embedder(&self, choice: &EmbedderChoice) -> Result<Arc<dyn Embedder>> {
        let setting_up = || format!("setting up embedder {choice}");
        let http = |service| self.client(service, Use::Embed);
        Ok(match choice {
            EmbedderChoice::Builtin => Arc::new(BuiltinEmbedder),
            #[cfg(feature = "local")]
            EmbedderChoice::Local(name) => {
                let model = model_store(self.config).open(name).doing(setting_up)?;
                Arc::new(LocalEmbedder::open(model.config()).doing(setting_up)?)
            }
            #[cfg(feature = "local")]
            EmbedderChoice::Static(name) => {
                let model = model_store(self.config).open(name).doing(setting_up)?;
                Arc::new(StaticEmbedder::open(model.config()).doing(setting_up)?)
            }
            #[cfg(not(feature = "local"))]
            EmbedderChoice::Local(_) | EmbedderChoice::Static(_) => {
                return Err(without_local_models(choice, "choose another embedder"));
            }
            EmbedderChoice::OpenAi(model) => {
                let config = OpenAiEmbedderConfig {
                    endpoint: self.endpoint(Service::OpenAi, choice)?,
                    model: model.clone(),
                    dimensions: None,
                    batching: Default::default(),
                };
                Arc::new(OpenAiEmbedder::new(http(Service::OpenAi), config).doing(setting_up)?)
            }
            EmbedderChoice::Gemini(model) => {
                let endpoint = self.endpoint(Service::Gemini, choice)?;
                let config =
                    GeminiEmbedderConfig { endpoint, model: model.clone(), batching: Default::default() };
                Arc::new(GeminiEmbedder::new(http(Service::Gemini), config).doing(setting_up)?)
            }
            EmbedderChoice::Ollama(model) => {
                let endpoint = self.endpoint(Service::Ollama, choice)?;
                let config =
                    OllamaEmbedderConfig { endpoint, model: model.clone(), batching: Default::default() };
                Arc::new(OllamaEmbedder::new(http(Service::Ollama), config).doing(setting_up)?)
            }
        })
    }

    /// Creates the model that scores sentences; `None` if there is none. Fails if the configured model is not in the model store or
    /// cannot score sentences.
    ///
    /// - `embedder`: the name of the workspace's embedder, if it is one of this crate. If the configuration names no model, the
    ///   embedder's own scores sentences, if it can, otherwise [`DEFAULT_SCORER`], if it is in the model store.
    pub fn sentence_scorer(&self, embedder: Option<&str>) -> Result<Option<Arc<dyn SentenceScorer>>> {
        match &self.config.sentence_scorer {
            Some(ScorerChoice::Local(name)) => self.local_scorer(name).map(Some),
            Some(ScorerChoice::Auto) => self.scorer_beside(embedder),
            None => Ok(None),
        }
    }

    /// Creates the model that scores sentences if the configuration names none.
    #[cfg(feature = "local")]
    fn scorer_beside(&self, embedder: Option<&str>) -> Result<Option<Arc<dyn SentenceScorer>>> {
        let of_embedder = match embedder.and_then(EmbedderChoice::of_space) {
            Some(EmbedderChoice::Local(name)) => Some(name),
            _ => None,
        };
        for name in of_embedder.as_deref().into_iter().chain([DEFAULT_SCORER]) {
            match self.local_scorer(name) {
                Err(error) if error.is_no_scorer() => {}
                Err(error) if error.is_unknown_model() && name == DEFAULT_SCORER => {}
                scorer => return scorer.map(Some),
            }
        }
        Ok(None)
    }

    #[cfg(not(feature = "local"))]
    fn scorer_beside(&self, _embedder: Option<&str>) -> Result<Option<Arc<dyn SentenceScorer>>> {
        Ok(None)
    }

    fn local_scorer(&self, name: &str) -> Result<Arc<dyn SentenceScorer>> {
        let choice = ScorerChoice::Local(name.to_owned());
        #[cfg(feature = "local")]
        {
            let setting_up = || format!("setting up sentence scorer {choice}");
            let model = model_store(self.config).open(name).doing(setting_up)?;
            Ok(Arc::new(LocalScorer::open(model.config()).doing(setting_up)?))
        }
        #[cfg(not(feature = "local"))]
        Err(without_local_models(&choice, "remove sentence_scorer from the configuration"))
    }

    /// Creates a reranker. Fails if its configuration is invalid.
    pub fn reranker(&self, choice: &RerankerChoice) -> Result<Arc<dyn Reranker>> {
        let (service, model, dialect) = match choice {
            RerankerChoice::Cohere(model) => (Service::Cohere, model, RerankDialect::Cohere),
            RerankerChoice::Jina(model) => (Service::Jina, model, RerankDialect::Jina),
        };
        let config =
            RerankerConfig { endpoint: self.endpoint(service, choice)?, model: model.clone(), dialect };
        let reranker = HttpReranker::new(self.client(service, Use::Any), config);
        Ok(Arc::new(reranker.doing(|| format!("setting up reranker {choice}"))?))
    }

    /// Returns the client of a service; embedding calls with their own limits get a separate client.
    fn client(&self, service: Service, used_for: Use) -> Arc<HttpClient> {
        let Config { requests_per_minute: requests, tokens_per_minute: tokens, .. } = self.config;
        let (embed_requests, embed_tokens) = (requests.of_embedder(), tokens.of_embedder());
        let apart = used_for == Use::Embed && (embed_requests.is_some() || embed_tokens.is_some());
        let (used_for, own_requests, own_tokens) =
            if apart { (Use::Embed, embed_requests, embed_tokens) } else { (Use::Any, None, None) };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let http = HttpConfig {
                first_byte_timeout: self.config.first_byte_timeout,
                idle_timeout: self.config.idle_timeout,
                max_concurrent: self.config.max_concurrent_calls,
                requests_per_minute: own_requests.or(requests.of(service)),
                tokens_per_minute: own_tokens.or(tokens.of(service)),
                max_pause: self.listener.as_ref().map_or(Duration::ZERO, |_| self.config.max_pause),
                ..HttpConfig::default()
            };
            let client = match &self.listener {
                Some(listener) => HttpClient::with_listener(http, listener.clone()),
                None => HttpClient::new(http),
            };
            let name = self.limits_name(service, used_for);
            Arc::new(client.sharing_limits(name, shared_limits(self.config)))
        };
        clients.entry((service, used_for)).or_insert_with(make).clone()
    }

    /// Returns the name of the limits that processes share: one for each address and API key, because a service limits each key
    /// apart. It contains only a hash of both, because both are secret: an address may contain a password.
    fn limits_name(&self, service: Service, used_for: Use) -> String {
        let uses = match used_for {
            Use::Any => "any",
            Use::Embed => "embed",
        };
        let key = self.config.api_key(service).map(|key| key.reveal()).unwrap_or_default();
        let account = ContentHash::of_parts(&[self.config.address(service), key]);
        format!("{}-{uses}-{}", service.name(), &account.as_str()[..16])
    }

    fn endpoint(&self, service: Service, model: &dyn std::fmt::Display) -> Result<Endpoint> {
        let address = self.config.address(service);
        let (base_url, official) = match service {
            Service::OpenAi => (address.to_owned(), Some(OPENAI_BASE_URL)),
            Service::Anthropic => (anthropic_base_url(address), Some(ANTHROPIC_BASE_URL)),
            Service::Gemini => (address.to_owned(), Some(GEMINI_BASE_URL)),
            Service::Ollama => (base_url_from_host(address), None),
            Service::Cohere => (address.to_owned(), Some(COHERE_BASE_URL)),
            Service::Jina => (address.to_owned(), Some(JINA_BASE_URL)),
        };
        let key = self.config.api_key(service);
        // Self-hosted servers often need no API key; the provider's own address always does.
        if key.is_none() && official.is_some_and(|official| is_same_host(&base_url, official)) {
            let variables = |name: Option<&str>| {
                let key = name.and_then(keys::find);
                key.map(|key| (key.foreign.first().copied(), key.variable())).unwrap_or_default()
            };
            let (theirs, ours) = variables(service.secret_key());
            let (_, address) = variables(Some(service.address_key()));
            let key = theirs.map_or(ours, str::to_owned);
            return Err(Fault::usage(format!("{model} needs an API key, but none is set"))
                .help(format!("set {key}, or set {address} to use another service"))
                .into());
        }
        let key = key.map(|key| Secret::new(key.reveal()));
        Ok(Endpoint::new(service.name(), base_url).with_key(key))
    }
}

/// Stands in for an embedder that only the program that built the workspace has. A question gets a vector that is similar to
/// nothing, so that passages are found by their words alone. Documents cannot be embedded.
struct AbsentEmbedder(EmbeddingSpec);

#[async_trait]
impl Embedder for AbsentEmbedder {
    fn name(&self) -> &str {
        &self.0.model
    }

    async fn dimensions(&self) -> Result<u32, ModelError> {
        Ok(self.0.dimensions)
    }

    async fn embed(&self, purpose: Purpose, texts: &[String]) -> Result<Embeddings, ModelError> {
        match purpose {
            Purpose::Query => {
                let vectors = vec![vec![0.0; self.0.dimensions as usize]; texts.len()];
                Ok(Embeddings { vectors, usage: Usage::default(), attempts: 0 })
            }
            Purpose::Document => {
                let what = "only the program that built the workspace has it".to_owned();
                Err(ModelError::Local { model: self.0.model.clone(), what })
            }
        }
    }
}

/// Returns where processes share their limits. Errors are reported when the workspaces in that place are opened.
fn shared_limits(config: &Config) -> OpenShared {
    let config = config.clone();
    Arc::new(move || match workspaces(&config) {
        Ok(place) => {
            let texts = place.limits();
            let clock = texts.clock().unwrap_or_else(|| Arc::new(SystemClock));
            Some((texts, clock))
        }
        Err(error) => {
            tracing::warn!(%error, "limits of model services apply to this process only");
            None
        }
    })
}

/// Returns Anthropic's address with the version, which users may omit as Anthropic's own libraries do.
fn anthropic_base_url(address: &str) -> String {
    let trimmed = address.trim().trim_end_matches('/');
    if trimmed.ends_with("/v1") { trimmed.to_owned() } else { format!("{trimmed}/v1") }
}

/// True if an address has the same host as `official`.
fn is_same_host(address: &str, official: &str) -> bool {
    let origin = official.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let rest = address.trim().strip_prefix(&origin);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '?']))
}

/// Returns the error for a local model in a program without local models.
#[cfg(not(feature = "local"))]
fn without_local_models(choice: impl std::fmt::Display, remedy: &str) -> crate::error::Error {
    let fault =
        Fault::usage(format!("{choice} is a local model, but this program was built without local models"));
    fault.help(format!("{remedy}, or build with the feature `local`")).into()
}

#[cfg(test)]
mod tests {
    use crate::config::{Surroundings, load};

    use super::*;

    /// True if OpenAI chat and embedding models share one client, and therefore its limits, with these keys set.
    fn check_shared(flags: &[(&str, &str)]) -> bool {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = flags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned(), format!("--{k}"))).collect();
        let around = Surroundings { flags, current_dir: folder.path().to_owned(), ..Surroundings::default() };
        let config = load(&around).expect("valid").0;
        let providers = Providers::new(&config);
        let client = |used_for| providers.client(Service::OpenAi, used_for);
        assert!(Arc::ptr_eq(&client(Use::Any), &client(Use::Any)));
        assert!(!Arc::ptr_eq(&client(Use::Any), &providers.client(Service::Gemini, Use::Any)));
        Arc::ptr_eq(&client(Use::Any), &client(Use::Embed))
    }

    #[test]
    fn the_models_of_a_service_share_its_limits_unless_the_embedder_has_its_own() {
        assert!(check_shared(&[]));
        assert!(check_shared(&[("requests_per_minute", "500,gemini=5")]));
        assert!(!check_shared(&[("requests_per_minute", "500,embed=3000")]));
        assert!(!check_shared(&[("tokens_per_minute", "embed=1000000")]));
    }

    #[test]
    fn each_api_key_has_limits_of_its_own_and_is_not_shown_in_their_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = |key: &str| {
            let environment = [("OPENAI_API_KEY".to_owned(), key.to_owned())].into();
            let current_dir = folder.path().to_owned();
            let around = Surroundings { environment, current_dir, ..Surroundings::default() };
            let config = load(&around).expect("valid").0;
            Providers::new(&config).limits_name(Service::OpenAi, Use::Any)
        };
        assert_eq!(name("sk-one"), name("sk-one"));
        assert_ne!(name("sk-one"), name("sk-two"));
        assert!(!name("sk-one").contains("sk-one"));
    }

    #[test]
    fn sentences_are_scored_by_the_configured_model_or_by_an_embedder_that_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let check = |scorer: &str| {
            let flag = |key: &str, value: &str| (key.to_owned(), value.to_owned(), format!("--{key}"));
            let models_dir = folder.path().display().to_string();
            let flags = vec![flag("sentence_scorer", scorer), flag("models_dir", &models_dir)];
            let around =
                Surroundings { flags, current_dir: folder.path().to_owned(), ..Surroundings::default() };
            let config = load(&around).expect("valid").0;
            [None, Some("builtin-3"), Some("local:absent@0a1b")].map(|embedder| {
                Providers::new(&config).sentence_scorer(embedder).map(|scorer| scorer.is_some())
            })
        };
        // A model that is not downloaded is an error only if it is chosen, or is the embedder.
        assert!(matches!(check("none"), [Ok(false), Ok(false), Ok(false)]));
        #[cfg(feature = "local")]
        assert!(matches!(check("auto"), [Ok(false), Ok(false), Err(_)]));
        assert!(matches!(check("local:absent"), [Err(_), Err(_), Err(_)]));
    }

    #[test]
    fn anthropics_address_can_omit_the_version() {
        for (address, url) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
            ("https://api.anthropic.com/", "https://api.anthropic.com/v1"),
            ("http://localhost:4000/anthropic/v1/", "http://localhost:4000/anthropic/v1"),
        ] {
            assert_eq!(anthropic_base_url(address), url);
        }
    }

    #[test]
    fn a_providers_own_host_is_distinguished_from_others() {
        let check = |address: &str| is_same_host(address, OPENAI_BASE_URL);
        assert!(check("https://api.openai.com/v1") && check("https://api.openai.com:443/v1"));
        assert!(check("https://api.openai.com"));
        assert!(!check("https://api.openai.com.elsewhere.example/v1") && !check("http://localhost/v1"));
    }
}
