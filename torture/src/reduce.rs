//! Shortens a failing history while it still fails in the same way.

use std::time::{Duration, Instant};

use crate::history::{History, Step};
use crate::report::Kind;

/// Attempts per history, since faults that depend on timing do not always occur.
const TRIES: u32 = 2;

/// The shortest failing history found in time, and whether any run after the first failed again.
pub(crate) fn reduce(
    history: &History,
    kind: Kind,
    limit: Duration,
    mut run: impl FnMut(&History) -> Vec<Kind>,
) -> (History, bool) {
    let until = Instant::now() + limit;
    let mut fails =
        |history: &History| (0..TRIES).any(|_| Instant::now() < until && run(history).contains(&kind));
    if !fails(history) {
        return (history.clone(), false);
    }
    let mut best = history.clone();
    let mut parts = 2;
    while Instant::now() < until && best.steps.len() > 1 {
        let size = best.steps.len().div_ceil(parts);
        let shorter = (0..parts).find_map(|part| {
            let range = part * size..((part + 1) * size).min(best.steps.len());
            let kept = |at: usize| !range.contains(&at);
            let steps: Vec<Step> = best
                .steps
                .iter()
                .enumerate()
                .filter(|(at, _)| kept(*at))
                .map(|(_, step)| step.clone())
                .collect();
            let candidate = History { steps, ..best.clone() };
            (candidate.steps.len() < best.steps.len() && fails(&candidate)).then_some(candidate)
        });
        match shorter {
            Some(shorter) => {
                best = shorter;
                parts = (parts - 1).max(2);
            }
            None if size <= 1 => break,
            None => parts = (parts * 2).min(best.steps.len()),
        }
    }
    (best, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn steps_that_the_failure_does_not_need_are_removed() {
        let history = generate::random(5, &generate::ALL_FAULTS);
        let needed = [history.steps[1].id, history.steps[history.steps.len() - 2].id];
        let (short, failed) = reduce(&history, Kind::Lost, Duration::from_secs(20), |history| {
            let has = |id: &u32| history.steps.iter().any(|step| step.id == *id);
            if needed.iter().all(has) { vec![Kind::Lost] } else { Vec::new() }
        });
        assert!(failed);
        assert_eq!(short.steps.iter().map(|step| step.id).collect::<Vec<_>>(), needed);
    }

    #[test]
    fn a_failure_that_does_not_recur_leaves_the_history_complete() {
        let history = generate::random(5, &generate::ALL_FAULTS);
        let (short, failed) = reduce(&history, Kind::Lost, Duration::from_secs(20), |_| Vec::new());
        assert!(!failed);
        assert_eq!(short.steps.len(), history.steps.len());
    }
}
