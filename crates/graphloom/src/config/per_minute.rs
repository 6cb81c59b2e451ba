//! Limits per minute: one number for all services, with exceptions for some.

use std::collections::BTreeMap;

use super::choice::Service;

/// Name of the separate limit of the embedder.
const EMBED: &str = "embed";

/// A limit per minute for each service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerMinute {
    every_service: Option<u32>,
    of: BTreeMap<Service, u32>,
    embed: Option<u32>,
}

impl PerMinute {
    /// The accepted forms, for error messages.
    pub const EXPECTED: &str = "a number from 1 up, or one per service and for the embedder, \
                                       such as 500,anthropic=50,embed=3000";

    /// Parses forms such as `500`, `anthropic=50` and `500,anthropic=50,embed=3000`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut limits = Self::default();
        for part in text.split(',').map(str::trim) {
            let (name, number) = match part.split_once('=') {
                Some((name, number)) => (Some(name.trim()), number.trim()),
                None => (None, part),
            };
            let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
            let before = match name {
                None => limits.every_service.replace(number),
                Some(EMBED) => limits.embed.replace(number),
                Some(name) => {
                    let service = Service::ALL.into_iter().find(|service| service.name() == name)?;
                    limits.of.insert(service, number)
                }
            };
            if before.is_some() {
                return None;
            }
        }
        Some(limits)
    }

    /// Returns the limit of a service.
    pub fn of(&self, service: Service) -> Option<u32> {
        self.of.get(&service).copied().or(self.every_service)
    }

    /// Returns the separate limit of the embedder, if it has one.
    pub fn of_embedder(&self) -> Option<u32> {
        self.embed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_limits(text: &str) -> Option<[Option<u32>; 3]> {
        let limits = PerMinute::parse(text)?;
        Some([limits.of(Service::OpenAi), limits.of(Service::Anthropic), limits.of_embedder()])
    }

    #[test]
    fn a_service_has_its_own_limit_or_the_general_one() {
        assert_eq!(check_limits("500"), Some([Some(500), Some(500), None]));
        assert_eq!(check_limits("anthropic=50"), Some([None, Some(50), None]));
        assert_eq!(check_limits("500, anthropic = 50, embed=3000"), Some([Some(500), Some(50), Some(3000)]));
    }

    #[test]
    fn an_invalid_limit_is_refused() {
        for text in ["", "0", "-1", "many", "500,600", "embed=1,embed=2", "nobody=5", "openai=", "500,"] {
            assert_eq!(check_limits(text), None, "{text:?}");
        }
    }
}
