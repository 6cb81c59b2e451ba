//! Merges claims that say the same into one, and finds what ends or contradicts it.

use std::collections::{BTreeMap, BTreeSet};

use graphloom_core::{ChunkId, Claim, ClaimStatus, Decisions, EntityKey, IsoDate, Period, Span};
use serde::Serialize;

use graphloom_offline::{has_one_holder, office_named};

/// A claim as stated by all of its quotes together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedClaim {
    /// The entity that it is about.
    pub subject: EntityKey,
    /// Its name, in the spelling of most quotes.
    pub subject_name: String,
    /// The other entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<EntityKey>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_name: Option<String>,
    /// What is claimed: the canonical name of an office, or else the words in lower case.
    pub kind: String,
    /// Whether the documents state, deny or suspect it.
    pub status: ClaimStatus,
    /// When it is true, as far as its quotes tell.
    pub period: Period,
    /// The words that state it, by chunk and span.
    pub quotes: Vec<ClaimQuote>,
    /// What ended or contradicts it; `None` if nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retirement>,
}

/// Words of a document that state a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClaimQuote {
    /// The chunk.
    pub chunk: ChunkId,
    /// The words, in the document.
    pub span: Span,
    /// The claim as a sentence, as extracted from the chunk.
    pub description: String,
}

/// Why a claim is no longer true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Retirement {
    /// The kind of sentence that ends it.
    pub by: RetiredBy,
    /// When it ended; `None` for a denial without a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<IsoDate>,
    /// Who holds the office from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<EntityKey>,
    /// The sentences that say so, by chunk and span; never empty.
    pub quotes: Vec<ClaimQuote>,
}

/// The kind of sentence that ends a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetiredBy {
    /// A sentence states when it ended.
    EndDate,
    /// A sentence names a later holder of an office that only one person holds at a time.
    Successor,
    /// A sentence denies it.
    Denial,
}

impl RetiredBy {
    /// Returns the name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndDate => "end_date",
            Self::Successor => "successor",
            Self::Denial => "denial",
        }
    }
}

impl MergedClaim {
    /// True if the claim held at some moment of `date`, as far as the documents tell. Denied and suspected claims never
    /// hold, and events hold from their date on.
    pub fn held_at(&self, date: &IsoDate) -> bool {
        if self.status != ClaimStatus::True {
            return false;
        }
        let point = self.period.start.is_some() && self.period.start == self.period.end;
        let mut period = self.period.clone();
        if point && office_named(&self.kind).is_none() {
            period.end = None;
        }
        match &self.retired {
            Some(Retirement { by: RetiredBy::Denial, at: None, .. }) => return false,
            Some(Retirement { by: RetiredBy::Denial | RetiredBy::Successor, at: Some(at), .. }) => {
                period.end = Some(at.clone());
            }
            Some(Retirement { by: RetiredBy::EndDate | RetiredBy::Successor, .. }) | None => {}
        }
        period.overlaps(date)
    }

    /// Returns the keys of its entities.
    pub fn entities(&self) -> impl Iterator<Item = &EntityKey> {
        std::iter::once(&self.subject).chain(&self.object)
    }

    /// Returns the claim on one line for people and LLMs: `Ada Kern, chief executive officer of Velora: 2012 to 2019`.
    pub fn line(&self) -> String {
        let object = self.object_name.as_ref().map_or(String::new(), |object| {
            if office_named(&self.kind).is_some() {
                format!(" of {object}")
            } else {
                format!(" – {object}")
            }
        });
        let period = self.period_text();
        let period = if period.is_empty() { period } else { format!(": {period}") };
        let status = match self.status {
            ClaimStatus::True => "",
            ClaimStatus::False => " (denied)",
            ClaimStatus::Suspected => " (suspected)",
        };
        format!("{}, {}{object}{period}{status}", self.subject_name, self.kind)
    }

    /// Returns its period for people: `2006 to 2012`, `since 2012`, `until 2012`, `1998` for an event; empty if unknown.
    pub fn period_text(&self) -> String {
        let end =
            self.period.end.clone().or_else(|| self.retired.as_ref().and_then(|retired| retired.at.clone()));
        match (&self.period.start, &end) {
            (Some(start), Some(end)) if start == end => start.to_string(),
            (Some(start), Some(end)) => format!("{start} to {end}"),
            (Some(start), None) if office_named(&self.kind).is_none() => start.to_string(),
            (Some(start), None) => format!("since {start}"),
            (None, Some(end)) => format!("until {end}"),
            (None, None) => String::new(),
        }
    }
}

/// A claim with its entities placed by decisions.
struct Placement<'a> {
    claim: &'a Claim,
    subject: EntityKey,
    object: Option<EntityKey>,
    kind: String,
}

/// Returns the merged claims, sorted by subject, kind, object and start; the order of `claims` has no effect.
///
/// - Claims with the same subject, kind and object are merged if their periods overlap or leave no gap.
/// - A claim is retired only by a sentence that contradicts it, and that sentence is kept with it: one that states its end,
///   one that names a later holder of the same office at the same place, or one that denies it.
/// - For complete results, `claims` must contain all claims about the organizations whose offices occur.
pub fn merge_claims(claims: &[Claim], decisions: &Decisions) -> Vec<MergedClaim> {
    let mut groups: BTreeMap<(EntityKey, String, Option<EntityKey>), Vec<Placement<'_>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for claim in claims {
        if !seen.insert((&claim.chunk, claim.ordinal)) {
            continue;
        }
        let place = |key: &EntityKey| decisions.place_mention(key, Some(&claim.chunk));
        let (subject, object) = (place(&claim.subject), claim.object.as_ref().map(place));
        if subject.set_aside || object.as_ref().is_some_and(|object| object.set_aside) {
            continue;
        }
        let kind = office_named(&claim.kind).unwrap_or_else(|| folded(&claim.kind));
        let (subject, object) = (subject.key, object.map(|object| object.key));
        let key = (subject.clone(), kind.clone(), object.clone());
        groups.entry(key).or_default().push(Placement { claim, subject, object, kind });
    }
    let mut merged: Vec<MergedClaim> = groups.into_values().flat_map(of_group).collect();
    retire_by_successors(&mut merged);
    let start = |claim: &MergedClaim| claim.period.start.as_ref().map_or(i64::MIN, IsoDate::start_ms);
    merged.sort_by(|one, other| {
        let key = |claim: &MergedClaim| (claim.subject.clone(), claim.kind.clone(), claim.object.clone());
        (key(one), start(one), one.status, &one.quotes).cmp(&(
            key(other),
            start(other),
            other.status,
            &other.quotes,
        ))
    });
    merged
}

fn folded(kind: &str) -> String {
    kind.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// One period of a group, with the claims that state its start and end.
#[derive(Default)]
struct Term<'a> {
    start: Option<IsoDate>,
    end: Option<IsoDate>,
    claims: Vec<&'a Claim>,
    /// The claims that state its end.
    ends: Vec<&'a Claim>,
}

impl<'a> Term<'a> {
    fn take_start(&mut self, date: &IsoDate) {
        self.start = Some(match self.start.take() {
            Some(known) if overlap(&known, date) => finer(known, date),
            Some(known) if known.start_ms() <= date.start_ms() => known,
            Some(_) | None => date.clone(),
        });
    }

    fn take_end(&mut self, date: &IsoDate, claim: &'a Claim) {
        self.end = Some(match self.end.take() {
            Some(known) if overlap(&known, date) => finer(known, date),
            Some(known) if known.end_ms() >= date.end_ms() => known,
            Some(_) | None => date.clone(),
        });
        self.ends.push(claim);
    }

    fn add(&mut self, claim: &'a Claim) {
        if let Some(start) = &claim.period.start {
            self.take_start(start);
        }
        if let Some(end) = &claim.period.end {
            self.take_end(end, claim);
        }
        self.claims.push(claim);
    }

    /// True if this period ended before `start`, so a period that begins then is another one.
    fn ended_before(&self, start: &IsoDate) -> bool {
        self.end.as_ref().is_some_and(|end| end.end_ms() < start.start_ms())
    }
}

fn overlap(one: &IsoDate, other: &IsoDate) -> bool {
    one.start_ms() < other.end_ms() && other.start_ms() < one.end_ms()
}

/// Returns the shorter of two dates that overlap, and the earlier of two that are equally short.
fn finer(one: IsoDate, other: &IsoDate) -> IsoDate {
    let key = |date: &IsoDate| (date.end_ms() - date.start_ms(), date.start_ms(), date.to_string());
    if key(&one) <= key(other) { one } else { other.clone() }
}

fn order(claim: &Claim) -> (i64, i64, &ChunkId, u32) {
    let start = claim.period.start.as_ref().map_or(i64::MIN, IsoDate::start_ms);
    let end = claim.period.end.as_ref().map_or(i64::MAX, IsoDate::end_ms);
    (start, end, &claim.chunk, claim.ordinal)
}

fn of_group(group: Vec<Placement<'_>>) -> Vec<MergedClaim> {
    let (denials, stated): (Vec<_>, Vec<_>) =
        group.iter().map(|placed| placed.claim).partition(|claim| claim.status == ClaimStatus::False);
    let first = &group[0];
    let names = Names::of(group.iter().map(|placed| placed.claim));
    let whole = |term: &Term<'_>, status: ClaimStatus| MergedClaim {
        subject: first.subject.clone(),
        subject_name: names.subject.clone(),
        object: first.object.clone(),
        object_name: names.object.clone(),
        kind: first.kind.clone(),
        status,
        period: Period { start: term.start.clone(), end: term.end.clone() },
        quotes: quotes(&term.claims),
        retired: None,
    };
    let denied = terms(denials);
    let mut merged: Vec<MergedClaim> = Vec::new();
    for term in terms(stated) {
        let is_true = term.claims.iter().any(|claim| claim.status == ClaimStatus::True);
        let mut claim = whole(&term, if is_true { ClaimStatus::True } else { ClaimStatus::Suspected });
        let point = claim.period.start.is_some() && claim.period.start == claim.period.end;
        if let Some(end) = claim.period.end.clone().filter(|_| !point) {
            let quotes = quotes(&term.ends);
            claim.retired =
                Some(Retirement { by: RetiredBy::EndDate, at: Some(end), successor: None, quotes });
        }
        if let Some(denial) = denied.iter().find(|denial| contradicts(denial, &claim.period)) {
            let at = denial.start.clone().or(denial.end.clone());
            let quotes = quotes(&denial.claims);
            claim.retired = Some(Retirement { by: RetiredBy::Denial, at, successor: None, quotes });
        }
        merged.push(claim);
    }
    merged.extend(denied.iter().map(|term| whole(term, ClaimStatus::False)));
    merged
}

/// True if a denial and a stated period overlap; unknown ends are open.
fn contradicts(denial: &Term<'_>, stated: &Period) -> bool {
    let start = |date: &Option<IsoDate>| date.as_ref().map_or(i64::MIN, IsoDate::start_ms);
    let end = |date: &Option<IsoDate>| date.as_ref().map_or(i64::MAX, IsoDate::end_ms);
    start(&denial.start) < end(&stated.end) && start(&stated.start) < end(&denial.end)
}

/// Returns the periods that claims with the same subject, kind and object form.
fn terms(mut claims: Vec<&Claim>) -> Vec<Term<'_>> {
    claims.sort_by_key(|claim| order(claim));
    let mut terms: Vec<Term<'_>> = Vec::new();
    let begins = |claim: &&&Claim| claim.period.start.is_some();
    let ends_only: Vec<&Claim> = claims
        .iter()
        .filter(|claim| claim.period.start.is_none() && claim.period.end.is_some())
        .copied()
        .collect();
    for claim in claims.iter().filter(begins) {
        let Some(start) = &claim.period.start else { continue };
        let known = terms.last_mut().filter(|term| {
            let ended_between = ends_only.iter().any(|end| {
                let end = end.period.end.as_ref().map_or(i64::MAX, IsoDate::end_ms);
                term.end.is_none()
                    && term.start.as_ref().is_some_and(|known| known.end_ms() <= end)
                    && end < start.start_ms()
            });
            !term.ended_before(start) && !ended_between
        });
        match known {
            Some(term) => term.add(claim),
            None => {
                let mut term = Term::default();
                term.add(claim);
                terms.push(term);
            }
        }
    }
    // An end belongs to the last period that began before it.
    let mut before_all = Term::default();
    for claim in ends_only {
        let Some(end) = &claim.period.end else { continue };
        let began = terms
            .iter_mut()
            .rev()
            .find(|term| term.start.as_ref().is_none_or(|start| start.start_ms() < end.end_ms()));
        match began {
            Some(term) => term.add(claim),
            None => before_all.add(claim),
        }
    }
    if !before_all.claims.is_empty() {
        terms.insert(0, before_all);
    }
    // Claims without dates add their quotes to the only period, if there is just one.
    let undated: Vec<&Claim> = claims.into_iter().filter(|claim| claim.period.is_unknown()).collect();
    if !undated.is_empty() {
        match terms.as_mut_slice() {
            [only] => undated.into_iter().for_each(|claim| only.add(claim)),
            _ => {
                let mut term = Term::default();
                undated.into_iter().for_each(|claim| term.add(claim));
                terms.push(term);
            }
        }
    }
    terms
}

fn quotes(claims: &[&Claim]) -> Vec<ClaimQuote> {
    let of = |claim: &&Claim| ClaimQuote {
        chunk: claim.chunk.clone(),
        span: claim.span,
        description: claim.description.clone(),
    };
    claims.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The most common spellings of a group's names; ties go to the smallest.
struct Names {
    subject: String,
    object: Option<String>,
}

impl Names {
    fn of<'a>(claims: impl Iterator<Item = &'a Claim>) -> Self {
        let (mut subjects, mut objects) = (BTreeMap::new(), BTreeMap::new());
        for claim in claims {
            *subjects.entry(claim.subject_name.clone()).or_insert(0u32) += 1;
            if let Some(object) = &claim.object_name {
                *objects.entry(object.clone()).or_insert(0u32) += 1;
            }
        }
        let commonest = |names: BTreeMap<String, u32>| {
            names
                .into_iter()
                .min_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()))
                .map(|(name, _)| name)
        };
        Self { subject: commonest(subjects).unwrap_or_default(), object: commonest(objects) }
    }
}

/// Ends open claims to an office that only one person holds at a time when another person begins to hold it.
fn retire_by_successors(merged: &mut [MergedClaim]) {
    let mut offices: BTreeMap<(String, EntityKey), Vec<usize>> = BTreeMap::new();
    for (at, claim) in merged.iter().enumerate() {
        if claim.status == ClaimStatus::True
            && claim.period.start.is_some()
            && let Some(object) = &claim.object
            && has_one_holder(&claim.kind)
        {
            offices.entry((claim.kind.clone(), object.clone())).or_default().push(at);
        }
    }
    for holders in offices.into_values() {
        for &at in &holders {
            let claim = &merged[at];
            let Some(start) =
                claim.period.start.clone().filter(|_| claim.period.end.is_none() && claim.retired.is_none())
            else {
                continue;
            };
            let next = holders
                .iter()
                .map(|other| &merged[*other])
                .filter(|other| other.subject != claim.subject)
                .filter_map(|other| other.period.start.clone().map(|begun| (begun, other)))
                .filter(|(begun, _)| begun.start_ms() >= start.end_ms())
                .min_by_key(|(begun, other)| (begun.start_ms(), begun.end_ms(), other.subject.clone()));
            if let Some((begun, successor)) = next {
                let (quotes, successor) = (successor.quotes.clone(), Some(successor.subject.clone()));
                merged[at].retired =
                    Some(Retirement { by: RetiredBy::Successor, at: Some(begun), successor, quotes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn date(text: &str) -> Option<IsoDate> {
        (!text.is_empty()).then(|| text.parse().expect("a date"))
    }

    /// Builds a claim from `subject kind start..end`, in a chunk of its own.
    fn claim(number: usize, text: &str) -> Claim {
        let (text, status) = match text.strip_suffix('!') {
            Some(text) => (text, ClaimStatus::False),
            None => (text, ClaimStatus::True),
        };
        let mut fields = text.split(' ');
        let (subject, kind) = (fields.next().expect("a subject"), fields.next().expect("a kind"));
        let (start, end) = fields.next().and_then(|period| period.split_once("..")).expect("a period");
        Claim {
            chunk: ChunkId::from_stored(format!("c{number}")),
            ordinal: 0,
            subject: EntityKey::from_stored(subject.to_uppercase()),
            subject_name: subject.to_owned(),
            object: Some(EntityKey::from_stored("VELORA")),
            object_name: Some("Velora".to_owned()),
            kind: kind.to_owned(),
            status,
            period: Period { start: date(start), end: date(end) },
            description: text.to_owned(),
            span: Span::new(0, 1),
        }
    }

    fn merged(texts: &[&str]) -> Vec<MergedClaim> {
        let claims: Vec<Claim> = texts.iter().enumerate().map(|(number, text)| claim(number, text)).collect();
        merge_claims(&claims, &Decisions::default())
    }

    #[track_caller]
    fn check_merged(texts: &[&str], expected: &[&str]) {
        let shown: Vec<String> = merged(texts)
            .iter()
            .map(|claim| {
                let date = |date: &Option<IsoDate>| date.as_ref().map_or(String::new(), ToString::to_string);
                let retired = claim.retired.as_ref().map_or(String::new(), |retired| {
                    format!(" {:?} {} by {}", retired.by, date(&retired.at), retired.quotes.len())
                });
                let quotes = claim.quotes.len();
                format!(
                    "{} {}..{} x{quotes}{retired}",
                    claim.subject_name,
                    date(&claim.period.start),
                    date(&claim.period.end)
                )
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn equal_claims_are_merged_with_their_quotes() {
        check_merged(
            &[
                "Ada CEO 2006..",
                "Ada CEO 2006-05..",
                "Ada CEO 2007..",
                "Ada CEO ..2012",
                "Ada CEO 2006..2012-03",
            ],
            &["Ada 2006-05..2012-03 x5 EndDate 2012-03 by 2"],
        );
    }

    #[test]
    fn a_returning_holder_has_two_periods() {
        check_merged(
            &["Ada CEO 1997..", "Ada CEO ..2000", "Ada CEO 2008.."],
            &["Ada 1997..2000 x2 EndDate 2000 by 1", "Ada 2008.. x1"],
        );
    }

    #[test]
    fn a_successor_ends_an_open_claim() {
        check_merged(
            &["Ada CEO 2012..", "Bo chief_executive 2006..", "Bo CEO 2006..", "Cy CEO 2019.."],
            &[
                "Ada 2012.. x1 Successor 2019 by 1",
                "Bo 2006.. x1 Successor 2012 by 1",
                "Bo 2006.. x1",
                "Cy 2019.. x1",
            ],
        );
    }

    #[test]
    fn an_office_with_several_holders_is_not_ended_by_a_successor() {
        check_merged(&["Ada director 2012..", "Bo director 2006.."], &["Ada 2012.. x1", "Bo 2006.. x1"]);
    }

    #[test]
    fn a_holder_with_the_same_start_is_no_successor() {
        check_merged(&["Ada CEO 2012..", "Bo CEO 2012-05.."], &["Ada 2012.. x1", "Bo 2012-05.. x1"]);
    }

    #[test]
    fn a_denial_retires_overlapping_claims() {
        check_merged(&["Ada CEO 2012..", "Ada CEO ..!"], &["Ada .. x1", "Ada 2012.. x1 Denial  by 1"]);
        let claims = merged(&["Ada CEO 2012..", "Ada CEO ..!"]);
        assert!(claims.iter().all(|claim| !claim.held_at(&date("2013").expect("a date"))));
    }

    #[test]
    fn a_claim_that_held_at_a_date_ends_with_its_successor() {
        let claims = merged(&["Bo CEO 2006..", "Ada CEO 2012..2019", "Ada birth 1970..1970"]);
        let held = |at: &str| -> Vec<&str> {
            let at = date(at).expect("a date");
            claims
                .iter()
                .filter(|claim| claim.held_at(&at))
                .map(|claim| claim.subject_name.as_str())
                .collect()
        };
        assert_eq!(held("1969"), [] as [&str; 0]);
        assert_eq!(held("2005"), ["Ada"]);
        assert_eq!(held("2008"), ["Ada", "Bo"]);
        assert_eq!(held("2013"), ["Ada", "Ada"]);
        assert_eq!(held("2020"), ["Ada"]);
    }

    prop_compose! {
        fn any_claim()(
            subject in 0..3usize,
            kind in 0..3usize,
            start in prop::option::of(2000..2008u32),
            length in prop::option::of(0..6u32),
            denied in prop::bool::weighted(0.1),
        ) -> String {
            let end = length.map(|length| start.unwrap_or(2002) + length);
            let date = |year: Option<u32>| year.map_or(String::new(), |year| year.to_string());
            let denied = if denied { "!" } else { "" };
            format!("{} {} {}..{}{denied}", ["Ada", "Bo", "Cy"][subject], ["CEO", "director", "founding"][kind], date(start), date(end))
        }
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter_and_only_a_contradicting_sentence_retires_a_claim(
            (texts, shuffled) in prop::collection::vec(any_claim(), 0..10).prop_flat_map(|texts| {
                let numbers: Vec<usize> = (0..texts.len()).collect();
                (Just(texts), Just(numbers).prop_shuffle())
            }),
        ) {
            let claims: Vec<Claim> = texts.iter().enumerate().map(|(number, text)| claim(number, text)).collect();
            let other: Vec<Claim> = shuffled.iter().chain(&shuffled).map(|at| claims[*at].clone()).collect();
            let merged = merge_claims(&claims, &Decisions::default());
            prop_assert_eq!(&merged, &merge_claims(&other, &Decisions::default()));
            let quoted: usize = merged.iter().map(|claim| claim.quotes.len()).sum();
            prop_assert_eq!(quoted, claims.len(), "every claim is a quote of one");
            for claim in &merged {
                let Some(retired) = &claim.retired else { continue };
                prop_assert!(!retired.quotes.is_empty());
                for quote in &retired.quotes {
                    let of = claims.iter().find(|claim| claim.chunk == quote.chunk).expect("a quote is of a claim");
                    let contradicts = match retired.by {
                        RetiredBy::EndDate => of.period.end.is_some() && of.subject == claim.subject,
                        RetiredBy::Successor => of.subject != claim.subject && of.status == ClaimStatus::True,
                        RetiredBy::Denial => of.status == ClaimStatus::False && of.subject == claim.subject,
                    };
                    prop_assert!(contradicts, "{:?} by {:?}", claim, of);
                }
            }
        }
    }
}
