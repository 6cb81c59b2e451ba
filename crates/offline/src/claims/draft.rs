//! What one part of a sentence says about an office, and the claims that follow when its gaps are filled.

use graphloom_core::{ClaimStatus, IsoDate, Period};

use super::Statement;
use super::verbs::Act;
use super::when::{How, When};

/// What one part of a sentence says.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) act: Act,
    /// Who holds the office from then on, or held it.
    pub(super) holder: Option<String>,
    /// Who held it before.
    pub(super) former: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) offices: Vec<String>,
    pub(super) whens: Vec<When>,
    pub(super) status: ClaimStatus,
    /// Whether offices and organisation may come from the sentence before.
    pub(super) may_lean: bool,
}

pub(super) fn is_state(act: Act) -> bool {
    matches!(act, Act::Be | Act::Hold | Act::Lead | Act::LedBy)
}

pub(super) fn is_lead(act: Act) -> bool {
    matches!(act, Act::Lead | Act::LedBy)
}

/// The claims of a part whose gaps are filled.
pub(super) fn of_draft(draft: &Draft, leans_on_before: bool) -> Vec<Statement> {
    let mut stated = Vec::new();
    let Some(organisation) = &draft.organisation else { return stated };
    let (of_holder, of_former) = periods(draft);
    let mut state = |name: &Option<String>, period: Option<Period>| {
        let Some((name, period)) = name.clone().zip(period) else { return };
        for office in &draft.offices {
            stated.push(Statement {
                subject: name.clone(),
                object: Some(organisation.clone()),
                kind: office.clone(),
                status: draft.status,
                period: period.clone(),
                leans_on_before,
            });
        }
    };
    state(&draft.holder, of_holder);
    state(&draft.former, of_former);
    stated
}

/// The periods of who holds the office then, and of who held it before.
fn periods(draft: &Draft) -> (Option<Period>, Option<Period>) {
    let mut holder: Option<Period> = None;
    let (mut start, mut end): (Option<IsoDate>, Option<IsoDate>) = (None, None);
    let mut change = None;
    for when in &draft.whens {
        match (when.how, is_state(draft.act)) {
            (How::Between, _) => holder = holder.or(Some(when.period.clone())),
            (How::Since, _) => start = start.or(when.period.start.clone()),
            (How::Until, _) => end = end.or(when.period.end.clone()),
            (How::At, true) => {
                start = start.or(when.period.start.clone());
                end = end.or(when.period.start.clone());
            }
            (How::At, false) => change = change.or(when.period.start.clone()),
        }
    }
    if draft.act == Act::End {
        let end = change.or(end).or(start.clone());
        let start = start.filter(|start| end.as_ref() != Some(start));
        let whole = holder.or_else(|| end.map(|end| Period { start, end: Some(end) }));
        return (whole, None);
    }
    let begun = start.or(change.clone());
    let whole = holder
        .clone()
        .or_else(|| (begun.is_some() || end.is_some()).then(|| Period { start: begun.clone(), end }));
    let since = whole.as_ref().and_then(|period| period.start.clone());
    let of_former = since.map(|end| Period { start: None, end: Some(end) });
    // `P, in office from 2006 to 2012, was succeeded by Q`: the period is that of the grammatical subject.
    if draft.act == Act::SucceededBy && holder.is_some() {
        let end = holder.as_ref().and_then(|period| period.end.clone());
        return (end.map(|start| Period { start: Some(start), end: None }), holder);
    }
    (whole, of_former)
}
