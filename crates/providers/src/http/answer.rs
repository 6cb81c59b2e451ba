//! A successful response, read chunk by chunk.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphloom_core::{ModelError, Usage};
use reqwest::header::CONTENT_TYPE;
use tokio::sync::OwnedSemaphorePermit;

use super::Target;
use super::failure::Failure;
use super::limits::Admission;
use super::shared::SharedLimits;

/// A response with a success status. Dropping it closes the connection and releases its slot.
#[derive(Debug)]
pub struct HttpAnswer {
    pub(super) target: Target,
    pub(super) response: reqwest::Response,
    /// Data that was already read: the first chunk, or everything.
    pub(super) first: Option<Bytes>,
    pub(super) attempts: u32,
    pub(super) idle_timeout: Duration,
    pub(super) bytes_left: usize,
    pub(super) admission: Option<Admission>,
    /// The limits shared by several processes, and the number of tokens that this call counts as in them.
    pub(super) shared: Option<(Arc<SharedLimits>, u64)>,
    pub(super) _slot: Option<OwnedSemaphorePermit>,
}

impl HttpAnswer {
    /// Returns the number of attempts.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// True if the body is declared to be a single JSON document.
    pub fn is_json(&self) -> bool {
        let content_type = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type
            .is_some_and(|text| text.trim_start().to_ascii_lowercase().starts_with("application/json"))
    }

    /// Returns the next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let limit = self.bytes_left;
        let chunk = match self.first.take() {
            Some(first) => Some(first),
            None => Failure::with_timeout(self.idle_timeout, self.response.chunk())
                .await
                .map_err(|failure| failure.into_model_error(&self.target))?,
        };
        if let Some(chunk) = &chunk {
            self.bytes_left = limit
                .checked_sub(chunk.len())
                .ok_or_else(|| Failure::TooLarge { limit }.into_model_error(&self.target))?;
        }
        Ok(chunk)
    }

    /// Replaces the expected cost of this call by the usage that the provider reported, if any.
    pub fn settle(&mut self, usage: Usage) {
        if usage.prompt_tokens + usage.completion_tokens > 0
            && let Some(admission) = self.admission.take()
        {
            admission.settle(usage);
            if let Some((limits, counted)) = self.shared.take() {
                limits.settle(counted, usage);
            }
        }
    }
}
