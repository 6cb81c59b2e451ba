//! Foundings, acquisitions, mergers, births and deaths.

use graphloom_core::{ClaimStatus, Period};

use super::Statement;
use super::names::Reader;
use super::parts::Part;
use super::read::Memory;
use super::time::{Time, TimeRelation};
use super::verbs::Act;

impl Reader<'_, '_> {
    /// Returns what a part says about a founding, acquisition, merger, birth or death.
    pub(super) fn event(&self, part: &Part, memory: &Memory) -> Option<Statement> {
        let (left, right) = (part.range.start..part.verb.start, part.verb.end..part.range.end);
        let (kind, passive) = match part.verb.act {
            Act::Found => ("founding", false),
            Act::Founded => ("founding", true),
            Act::Acquire => ("acquisition", false),
            Act::AcquiredBy => ("acquisition", true),
            Act::Merge => ("merger", false),
            Act::Born => ("birth", false),
            Act::Die => ("death", false),
            Act::Begin
            | Act::Be
            | Act::Hold
            | Act::Lead
            | Act::LedBy
            | Act::Appoint
            | Act::Succeed
            | Act::SucceededBy
            | Act::End
            | Act::Pass => {
                return None;
            }
        };
        let times = self.times(part.range.clone());
        let date = times.iter().find(|time| time.relation == TimeRelation::At).and_then(Time::date)?.clone();
        let before = self.person(left.clone(), memory).or_else(|| self.organisation(left, memory));
        let by = right.clone().find(|at| matches!(self.items[*at].lower(), "by" | "von" | "durch"));
        let after = match (part.verb.act, by) {
            (Act::Founded, Some(by)) => self.name(by + 1, right.end),
            (Act::Founded, None) => None,
            (Act::Born | Act::Die, _) => right
                .clone()
                .find(|at| self.items[*at].lower() == "in")
                .and_then(|at| self.name(at + 1, right.end)),
            _ => self.name(right.start, right.end),
        };
        let after = after.map(|(name, _)| name);
        // The subject of a founding is the founded organisation; the subject of an acquisition is the buyer.
        let (subject, object) = match (part.verb.act, passive) {
            (Act::Found, _) | (Act::AcquiredBy, _) => (after?, before),
            (_, _) => (before?, after),
        };
        let needs_object = matches!(part.verb.act, Act::Acquire | Act::AcquiredBy | Act::Merge);
        if needs_object && object.is_none() {
            return None;
        }
        let status = match (part.verb.denied, part.verb.doubted) {
            (true, _) => ClaimStatus::False,
            (false, true) => ClaimStatus::Suspected,
            (false, false) => ClaimStatus::True,
        };
        let period = Period { start: Some(date), end: None };
        Some(Statement {
            subject,
            object,
            kind: kind.to_owned(),
            status,
            period,
            uses_previous_sentence: false,
        })
    }
}
