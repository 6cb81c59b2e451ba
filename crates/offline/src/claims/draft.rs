//! What one part of a sentence says about an office, and the claims that follow when its gaps are filled.

use graphloom_core::{ClaimStatus, IsoDate, Period};

use super::Statement;
use super::time::{Time, TimeRelation};
use super::verbs::Act;

/// What one part of a sentence says.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) act: Act,
    /// The person who takes office, or who held it.
    pub(super) holder: Option<String>,
    /// The previous holder.
    pub(super) former: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) offices: Vec<String>,
    pub(super) times: Vec<Time>,
    pub(super) status: ClaimStatus,
    /// True if offices and organisation may come from the previous sentence.
    pub(super) may_inherit: bool,
}

pub(super) fn is_state(act: Act) -> bool {
    matches!(act, Act::Be | Act::Hold | Act::Lead | Act::LedBy)
}

pub(super) fn is_lead(act: Act) -> bool {
    matches!(act, Act::Lead | Act::LedBy)
}

/// Returns the claims of a part whose gaps are filled.
pub(super) fn of_draft(draft: &Draft, uses_previous_sentence: bool) -> Vec<Statement> {
    let mut statements = Vec::new();
    let Some(organisation) = &draft.organisation else { return statements };
    let (of_holder, of_former) = periods(draft);
    let mut state = |name: &Option<String>, period: Option<Period>| {
        let Some((name, period)) = name.clone().zip(period) else { return };
        for office in &draft.offices {
            statements.push(Statement {
                subject: name.clone(),
                object: Some(organisation.clone()),
                kind: office.clone(),
                status: draft.status,
                period: period.clone(),
                uses_previous_sentence,
            });
        }
    };
    state(&draft.holder, of_holder);
    state(&draft.former, of_former);
    statements
}

/// Returns the periods of the holder and of the previous holder.
fn periods(draft: &Draft) -> (Option<Period>, Option<Period>) {
    let mut holder: Option<Period> = None;
    let (mut start, mut end): (Option<IsoDate>, Option<IsoDate>) = (None, None);
    let mut change = None;
    for time in &draft.times {
        match (time.relation, is_state(draft.act)) {
            (TimeRelation::Between, _) => holder = holder.or(Some(time.period.clone())),
            (TimeRelation::Since, _) => start = start.or(time.period.start.clone()),
            (TimeRelation::Until, _) => end = end.or(time.period.end.clone()),
            (TimeRelation::At, true) => {
                start = start.or(time.period.start.clone());
                end = end.or(time.period.start.clone());
            }
            (TimeRelation::At, false) => change = change.or(time.period.start.clone()),
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
