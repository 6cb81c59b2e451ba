//! Claims of Chinese sentences, which have no spaces: who took, held or left which office, and when.

use graphloom_core::{ClaimStatus, IsoDate, Period};

use super::Statement;

/// Chinese names of offices and their canonical names, longer ones first.
const OFFICES: &[(&str, &str)] = &[
    ("首席执行官", "chief executive officer"),
    ("首席執行官", "chief executive officer"),
    ("首席财务官", "chief financial officer"),
    ("首席运营官", "chief operating officer"),
    ("首席技术官", "chief technology officer"),
    ("行政总裁", "chief executive officer"),
    ("董事长", "chairman"),
    ("董事長", "chairman"),
    ("总经理", "general manager"),
    ("總經理", "general manager"),
    ("总裁", "president"),
    ("總裁", "president"),
    ("总统", "president"),
    ("總統", "president"),
    ("总理", "prime minister"),
    ("總理", "prime minister"),
    ("首相", "prime minister"),
    ("市长", "mayor"),
    ("市長", "mayor"),
    ("校长", "president"),
    ("校長", "president"),
    ("主席", "chairman"),
    ("CEO", "chief executive officer"),
];
const TAKES: [&str; 16] = [
    "被任命为",
    "被任命為",
    "被聘为",
    "当选为",
    "當選為",
    "当选",
    "出任",
    "就任",
    "接任",
    "升任",
    "成为",
    "成為",
    "开始担任",
    "開始擔任",
    "担任",
    "擔任",
];
const LEAVES: [&str; 8] = ["辞去", "辭去", "卸任", "不再担任", "离任", "離任", "卸下", "辞任"];
const APPOINTS: [&str; 4] = ["任命", "聘请", "聘任", "委任"];
const REPLACES: [&str; 5] = ["接替", "取代", "代替", "接任", "继任"];

/// Returns the offices that a question names.
pub(super) fn offices_of(text: &str) -> Vec<String> {
    let found = OFFICES.iter().filter(|(word, _)| !word.is_ascii() && text.contains(word));
    let mut names: Vec<String> = Vec::new();
    for (_, name) in found {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    names
}

/// Returns the claims of one sentence.
pub(super) fn read(sentence: &str) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut person: Option<String> = None;
    let mut place: Option<(String, &'static str)> = None;
    for clause in clauses(sentence) {
        statements.extend(clause_claims(&clause, &mut person, &mut place));
    }
    statements
}

/// Splits a sentence into clauses; a date before a comma belongs to the following clause.
fn clauses(sentence: &str) -> Vec<String> {
    let mut clauses: Vec<String> = Vec::new();
    let mut open = String::new();
    for piece in sentence.split(['，', '；', '。', ',', ';']) {
        open.push_str(piece.trim());
        let (_, _, rest) = period_of(&open);
        if rest.trim_matches(['在', '于', '，']).is_empty() {
            continue;
        }
        clauses.push(std::mem::take(&mut open));
    }
    clauses
}

fn clause_claims(
    clause: &str,
    person: &mut Option<String>,
    place: &mut Option<(String, &'static str)>,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    let (period, only_date, rest) = period_of(clause);
    let mut state = |subject: &str, (object, kind): &(String, &'static str), period: Period| {
        let (subject, object) = (name(subject), name(object));
        if subject.chars().count() >= 2 && !object.is_empty() && !period.is_unknown() {
            statements.push(Statement {
                subject: subject.to_owned(),
                object: Some(object.to_owned()),
                kind: (*kind).to_owned(),
                status: ClaimStatus::True,
                period,
                uses_previous_sentence: false,
            });
        }
    };
    let starts = |period: &Period| match only_date {
        true => Period { start: period.start.clone(), end: None },
        false => period.clone(),
    };
    let ends = |period: &Period| Period {
        start: None,
        end: period.start.clone().filter(|_| only_date).or(period.end.clone()),
    };
    let first = |words: &[&'static str]| {
        let found = words.iter().filter_map(|word| rest.find(word).map(|at| (at, word.len())));
        found.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)))
    };
    // `O任命P为首席执行官`
    if let Some((at, length)) = first(&APPOINTS).filter(|(at, _)| !rest[..*at].ends_with('被'))
        && let Some((who, office)) = rest[at + length..].split_once(['为', '為'])
        && let Some((_, kind)) = office_in(office)
    {
        let object = (rest[..at].to_owned(), kind);
        state(who, &object, starts(&period));
        *person = Some(who.to_owned());
        *place = Some(object);
        return statements;
    }
    if let Some((at, length)) = first(&LEAVES) {
        let who = own_or(&rest[..at], person);
        let object = office_place(&rest[at + length..]).or(place.clone());
        if let (Some(who), Some(object)) = (who, object) {
            state(&who, &object, ends(&period));
            (*person, *place) = (Some(who), Some(object));
        }
        return statements;
    }
    let replaces = first(&REPLACES).filter(|(at, length)| {
        let behind = &rest[at + length..];
        TAKES.iter().any(|take| behind.contains(take)) || office_in(behind).is_none()
    });
    if let Some((at, length)) = replaces {
        let who = own_or(&rest[..at], person);
        let behind = &rest[at + length..];
        let take = TAKES.iter().filter_map(|take| behind.find(take).map(|at| (at, take.len()))).min();
        let (former, object) = match take {
            Some((take, size)) => (&behind[..take], office_place(&behind[take + size..])),
            None => (behind, None),
        };
        if let (Some(who), Some(object)) = (who, object.or(place.clone())) {
            state(&who, &object, starts(&period));
            state(former, &object, ends(&period));
            (*person, *place) = (Some(who), Some(object));
        }
        return statements;
    }
    let takes = first(&TAKES).or_else(|| rest.find('任').map(|at| (at, '任'.len_utf8())));
    if let Some((at, length)) = takes {
        let who = own_or(&rest[..at], person);
        if let (Some(who), Some(object)) = (who, office_place(&rest[at + length..])) {
            state(&who, &object, period);
            (*person, *place) = (Some(who), Some(object));
        }
    }
    statements
}

/// Returns the person before a verb, or the person of the previous clause.
fn own_or(before: &str, person: &Option<String>) -> Option<String> {
    let own = name(before);
    if own.chars().count() >= 2 && !matches!(own, "他" | "她") {
        Some(own.to_owned())
    } else {
        person.clone()
    }
}

/// Returns a name without the function words around it.
fn name(text: &str) -> &str {
    let mut text = text.trim_matches(|c: char| c.is_whitespace() || "，。、（）()：:".contains(c));
    loop {
        let before = text;
        for word in
            ["在", "于", "由", "被", "随后", "后来", "起", "的", "了", "并", "而", "，", "一职", "职务"]
        {
            text = text
                .strip_prefix(word)
                .unwrap_or(text)
                .strip_suffix(word)
                .unwrap_or(text.strip_prefix(word).unwrap_or(text));
        }
        if text == before {
            return text;
        }
    }
}

/// Returns the first office in `text` and its offset.
fn office_in(text: &str) -> Option<(usize, &'static str)> {
    let found = OFFICES.iter().filter_map(|(word, name)| text.find(word).map(|at| (at, word.len(), *name)));
    found.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length))).map(|(at, _, name)| (at, name))
}

/// Returns the place and the office of `O的首席执行官`.
fn office_place(text: &str) -> Option<(String, &'static str)> {
    let (at, kind) = office_in(text)?;
    let place = name(&text[..at]);
    (!place.is_empty()).then(|| (place.to_owned(), kind))
}

/// Returns the period of a clause, whether it is a single date, and the clause without it.
fn period_of(clause: &str) -> (Period, bool, String) {
    let mut dates: Vec<(usize, usize, IsoDate)> = Vec::new();
    let mut at = 0;
    while let Some((start, end, date)) = next_date(clause, at) {
        at = end;
        dates.push((start, end, date));
    }
    let Some((start, end, first)) = dates.first().cloned() else {
        return (Period::default(), false, clause.to_owned());
    };
    let without = |from: usize, to: usize| format!("{}{}", &clause[..from], &clause[to..]);
    let trimmed_start = |start: usize| {
        let before = &clause[..start];
        ["自", "从", "從", "于", "在", "直到", "至", "到"]
            .iter()
            .find(|word| before.ends_with(**word))
            .map_or(start, |word| start - word.len())
    };
    if let Some((next_start, next_end, second)) = dates.get(1).cloned() {
        let between = clause[end..next_start].trim();
        if matches!(between, "至" | "到" | "–" | "-" | "—" | "~" | "－") {
            let behind =
                clause[next_end..].strip_prefix("期间").map_or(next_end, |_| next_end + "期间".len());
            return (
                Period { start: Some(first), end: Some(second) },
                false,
                without(trimmed_start(start), behind),
            );
        }
    }
    let from = trimmed_start(start);
    let behind = ["起", "以来", "以來", "开始", "開始"].iter().find(|word| clause[end..].starts_with(**word));
    let until = ["直到", "至", "到"].iter().any(|word| clause[..start].ends_with(word));
    let to = behind.map_or(end, |word| end + word.len());
    let rest = without(from, to);
    if until {
        return (Period { start: None, end: Some(first) }, false, rest);
    }
    (Period { start: Some(first), end: None }, behind.is_none(), rest)
}

/// Returns the next `2014年`, `2014年3月` or `2014年3月5日` at or after byte `from`.
fn next_date(text: &str, from: usize) -> Option<(usize, usize, IsoDate)> {
    let bytes = text.as_bytes();
    let digits = |at: usize| bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = from;
    while at < bytes.len() {
        let count = digits(at);
        if count != 4 {
            at += count.max(1);
            continue;
        }
        let (year, mut end) = (&text[at..at + 4], at + 4);
        let mut date = year.to_owned();
        for (unit, width) in [("年", 0), ("月", 2), ("日", 2)] {
            let count = if width == 0 { 0 } else { digits(end) };
            let number = &text[end..end + count];
            let Some(rest) = text[end + count..].strip_prefix(unit) else { break };
            if width > 0 {
                if !(1..=2).contains(&count) {
                    break;
                }
                date.push_str(&format!("-{number:0>2}"));
            }
            end = text.len() - rest.len();
        }
        if let Ok(date) = date.parse() {
            return Some((at, end, date));
        }
        at += 4;
    }
    None
}
