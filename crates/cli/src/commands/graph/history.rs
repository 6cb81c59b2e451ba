//! `graphloom graph history`: the decisions, latest first.

use graphloom_core::{Action, Decision, DecisionId, Decisions, Timestamp};
use serde::Serialize;

use crate::commands::App;
use crate::fault::Exit;
use crate::output::render::{count, one_line};
use crate::wire;

#[derive(Serialize)]
struct DecisionRow<'a> {
    #[serde(flatten)]
    decision: &'a Decision,
    /// The decision that reverted it.
    undone_by: Option<&'a DecisionId>,
}

/// Prints the latest decisions.
pub(super) async fn run(app: &App, limit: usize) -> anyhow::Result<Exit> {
    let store = wire::open_store(&app.config).await?;
    let snapshot = store.snapshot().await?;
    let decisions = Decisions::read(snapshot.as_ref()).await?;
    let latest = decisions.all().iter().rev().take(limit);
    let listed: Vec<DecisionRow<'_>> = latest
        .map(|decision| DecisionRow { decision, undone_by: decisions.undone_by(&decision.id) })
        .collect();
    if app.output.json {
        app.output.json(&listed)?;
        return Ok(Exit::Done);
    }
    for DecisionRow { decision, undone_by } in &listed {
        let undone = undone_by.map(|by| format!("  (undone by {by})")).unwrap_or_default();
        app.output.line(format_args!(
            "{}  {}  {}{}",
            decision.id,
            app.output.faint(&utc(decision.made_at)),
            one_line(&sentence(&decision.action), 200),
            app.output.faint(&undone)
        ))?;
    }
    let more = decisions.all().len() - listed.len();
    if more > 0 {
        app.output.line(format_args!("and {more} earlier; see --limit"))?;
    }
    Ok(Exit::Done)
}

/// Describes a decision.
pub(super) fn sentence(action: &Action) -> String {
    match action {
        Action::CreateEntity { name, .. } => format!("create {name:?}"),
        Action::EditEntity { key, name, kind, description } => {
            let name = name.as_ref().map(|name| format!("name {name:?}"));
            let kind = kind.as_ref().map(|kind| format!("type {kind:?}"));
            let description = description.as_ref().map(|text| format!("description {text:?}"));
            let fields: Vec<String> = [name, kind, description].into_iter().flatten().collect();
            format!("edit {key}: {}", fields.join(", "))
        }
        Action::RenameEntity { key, name, .. } => format!("rename {key} to {name:?}"),
        Action::DeleteEntity { key } => format!("delete {key}"),
        Action::MergeEntities { sources, name, .. } => {
            let sources: Vec<&str> = sources.iter().map(|source| source.as_str()).collect();
            format!("merge {} into {name:?}", sources.join(", "))
        }
        Action::SplitEntity { key, chunks, name, .. } => {
            format!("split {name:?} from {key} in {}", count(chunks.len() as u64, "passage"))
        }
        Action::NotSame { pair } => format!("keep {} and {} apart", pair.a(), pair.b()),
        Action::CreateRelation { source_name, target_name, .. } => {
            format!("create relation {source_name:?} - {target_name:?}")
        }
        Action::EditRelation { relation, .. } => format!("edit relation {} - {}", relation.a(), relation.b()),
        Action::DeleteRelation { relation } => format!("delete relation {} - {}", relation.a(), relation.b()),
        Action::Undo { decision } => format!("undo {decision}"),
    }
}

/// Date and time in UTC.
///
/// Source of the calendar: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days to civil.
fn utc(time: Timestamp) -> String {
    let seconds = time.0 / 1000;
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3600, of_day / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_calendar_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00Z"),
            (951_782_399, "2000-02-28 23:59Z"),
            (951_868_800, "2000-03-01 00:00Z"),
            (1_709_210_096, "2024-02-29 12:34Z"),
        ] {
            assert_eq!(utc(Timestamp(seconds * 1000)), expected);
        }
    }
}
