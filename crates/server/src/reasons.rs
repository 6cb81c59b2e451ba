//! Hides reasons of failures from callers who may only read: messages of model services can name hosts and
//! accounts of the administrator.

use serde_json::{Value, json};

use crate::access::Right;
use crate::guard::Admission;

/// Replaces a reason.
const WITHHELD: &str = "a model service or the store failed; the reason is visible with the right to write";
/// Replaces the name of a model service.
const SOME_SERVICE: &str = "a model service";

/// Whether to show reasons; only callers who may write see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasons {
    InFull,
    Withheld,
}

impl Reasons {
    pub(crate) fn for_caller(admitted: &Admission) -> Self {
        if admitted.caller.grant.right >= Right::Write { Self::InFull } else { Self::Withheld }
    }

    /// The reason, or its replacement.
    pub(crate) fn tell(self, reason: String) -> String {
        match self {
            Self::InFull => reason,
            Self::Withheld => WITHHELD.to_owned(),
        }
    }

    /// Replaces the members `reason` and `service` of an event.
    pub(crate) fn hide_in_event(self, mut data: Value) -> Value {
        if self == Self::Withheld
            && let Some(fields) = data.as_object_mut()
        {
            for (name, instead) in [("reason", WITHHELD), ("service", SOME_SERVICE)] {
                if let Some(value) = fields.get_mut(name) {
                    *value = json!(instead);
                }
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_for_readers_omit_only_reasons_and_services() {
        let failed = json!({ "document": "doc-1", "ordinal": 3, "reason": "connecting to db7.corp.local" });
        assert_eq!(Reasons::InFull.hide_in_event(failed.clone()), failed);
        let told = Reasons::Withheld.hide_in_event(failed);
        assert_eq!(told, json!({ "document": "doc-1", "ordinal": 3, "reason": WITHHELD }));
        let resumed = Reasons::Withheld.hide_in_event(json!({ "service": "db7.corp.local" }));
        assert_eq!(resumed, json!({ "service": SOME_SERVICE }));
        assert_eq!(
            Reasons::Withheld.hide_in_event(json!({ "document": "doc-1" })),
            json!({ "document": "doc-1" })
        );
    }
}
