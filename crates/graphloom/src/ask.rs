//! Asking and searching.

use std::future::IntoFuture;

use futures::future::BoxFuture;
use graphloom_core::DocumentFilter;
use graphloom_engine::query::{self, Answer, Mode, Question, Retrieval, SearchHits, Suggestions};

use crate::Graphloom;
use crate::error::Result;

/// A question. `.await` returns its answer.
#[must_use = "nothing is asked before `.await`"]
pub struct Ask<'a> {
    graph: &'a Graphloom,
    question: Question,
}

/// A search. `.await` runs it.
#[must_use = "nothing is searched before `.await`"]
pub struct Search<'a> {
    graph: &'a Graphloom,
    words: String,
    limit: usize,
    filter: Option<DocumentFilter>,
}

impl Graphloom {
    /// Asks a question. Without an LLM, the answer consists of verbatim sentences.
    pub fn ask(&self, question: impl Into<String>) -> Ask<'_> {
        let mut question = Question { text: question.into(), ..Question::default() };
        question.prefix_user_prompt(&self.config.user_prompt_prefix);
        Ask { graph: self, question }
    }

    /// Returns at most `count` questions that the documents answer, each with the sentence that answers it.
    ///
    /// - `about`: a name, or a text such as the last answer; the questions are then about the entities in it.
    pub async fn suggest(&self, about: Option<&str>, count: usize) -> Result<Suggestions> {
        Ok(query::suggest(self.engine(), about, count).await?)
    }

    /// Searches for passages, entities and relations. Makes no LLM calls.
    pub fn search(&self, words: impl Into<String>) -> Search<'_> {
        Search { graph: self, words: words.into(), limit: 10, filter: None }
    }
}

impl<'a> Ask<'a> {
    /// Sets how passages are found; the default is [`Mode::Auto`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.question.mode = mode;
        self
    }

    /// Restricts the documents that the answer may use.
    pub fn filter(mut self, filter: DocumentFilter) -> Self {
        self.question.filter = Some(filter);
        self
    }

    /// Changes any other field of the question, such as its token budgets or the conversation so far.
    pub fn with(mut self, change: impl FnOnce(&mut Question)) -> Self {
        change(&mut self.question);
        self
    }

    /// Returns the retrieved context without an answer.
    ///
    /// The modes `community_global` and `drift` then return the reports that they would read, without LLM calls for them.
    pub async fn retrieve(mut self) -> Result<Retrieval> {
        self.question.only_need_context |= !self.question.only_need_prompt;
        let engine = self.graph.engine();
        Ok(query::retrieve(engine, &self.question).await?)
    }

    /// Returns the answer. While it is generated, `on_delta` receives its text piece by piece.
    pub async fn stream(mut self, mut on_delta: impl FnMut(&str) + Send) -> Result<Answer> {
        self.question.stream = true;
        self.answer(&mut on_delta).await
    }

    async fn answer(self, on_delta: &mut (dyn FnMut(&str) + Send)) -> Result<Answer> {
        let engine = self.graph.engine();
        let retrieval = query::retrieve(engine, &self.question).await?;
        Ok(query::answer(engine, &self.question, &retrieval, on_delta).await?)
    }
}

impl<'a> IntoFuture for Ask<'a> {
    type Output = Result<Answer>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.answer(&mut |_| {}).await })
    }
}

impl Search<'_> {
    /// Sets the maximum number of passages, of entities and of relations; the default is 10 each.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Restricts the documents that are searched.
    pub fn filter(mut self, filter: DocumentFilter) -> Self {
        self.filter = Some(filter);
        self
    }
}

impl<'a> IntoFuture for Search<'a> {
    type Output = Result<SearchHits>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { graph, words, limit, filter } = self;
            Ok(query::search(graph.engine(), &words, limit, filter.as_ref()).await?)
        })
    }
}
