//! The budget of a workspace: what the model calls of all its processes together may cost.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The unit of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetUnit {
    /// Tokens, sent and received together.
    Tokens,
    /// Millionths of a millionth of the currency that the prices use.
    Money,
}

/// The budget of a workspace and how much of it is spent. Not part of the canonical state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceBudget {
    /// The unit of all amounts.
    pub unit: BudgetUnit,
    /// The most that may be spent.
    pub amount: u64,
    /// The amount spent since `since`, including the maximum cost of calls in flight.
    pub spent: u64,
    /// When counting began. It also identifies the counting: a restart changes it.
    pub since: Timestamp,
    /// The maximum cost of the latest call, if it was refused. Work continues once this much is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// The amounts reserved for calls in flight, by process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<CallsInFlight>,
}

/// The unsettled calls of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsInFlight {
    /// The name of the process.
    pub of: String,
    /// What the calls may cost together.
    pub bounds: CostBounds,
    /// When the calls count as cut off, unless the process books again before.
    pub until: Timestamp,
}

/// The range of what calls may cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostBounds {
    /// The cost with the longest possible answers.
    pub most: u64,
    /// The cost if the calls are cut off before an answer.
    pub least: u64,
}

impl CostBounds {
    /// Adds two ranges.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { most: self.most.saturating_add(other.most), least: self.least.saturating_add(other.least) }
    }

    fn minus(self, other: Self) -> Self {
        Self { most: self.most.saturating_sub(other.most), least: self.least.saturating_sub(other.least) }
    }
}

/// A change of the budget of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetChange {
    /// Replaces the whole budget, for example when a workspace is copied; `None` removes it.
    Put(Option<WorkspaceBudget>),
    /// Sets the limit. The amount spent stays, unless the unit changes or `restart` is set.
    Limit {
        /// The unit of `amount`.
        unit: BudgetUnit,
        /// The most that may be spent.
        amount: u64,
        /// Whether to reset the amount spent to 0.
        restart: bool,
        /// The current time.
        now: Timestamp,
    },
    /// Settles calls that ended, then reserves the cost of another call if enough of the budget is left.
    Book {
        /// The counting that both amounts belong to. If counting was restarted since, nothing changes.
        since: Timestamp,
        /// The name of the process that books.
        of: String,
        /// The amount reserved for the calls that ended.
        ended: CostBounds,
        /// The actual cost of those calls.
        cost: u64,
        /// What the new call may cost; zero if there is no new call.
        begins: CostBounds,
        /// The current time.
        now: Timestamp,
        /// When the calls of the process count as cut off, unless it books again before.
        until: Timestamp,
    },
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetOutcome {
    /// The budget after the change.
    pub budget: Option<WorkspaceBudget>,
    /// Whether the call may be sent; always `true` for other changes.
    pub held: bool,
}

impl BudgetChange {
    /// Returns the budget after the change. Stores apply the change to the latest budget, one change at a time.
    pub fn applied_to(self, budget: Option<WorkspaceBudget>) -> BudgetOutcome {
        match (self, budget) {
            (Self::Put(budget), _) => BudgetOutcome { budget, held: true },
            (Self::Limit { unit, amount, restart, now }, budget) => {
                // A restarted counting needs a different `since`.
                let begun = budget.as_ref().map_or(now, |before| Timestamp(now.0.max(before.since.0 + 1)));
                let budget = match budget.filter(|budget| budget.unit == unit && !restart) {
                    Some(counted) => WorkspaceBudget { amount, refused: None, ..counted },
                    None => {
                        let (spent, since, refused, held) = (0, begun, None, Vec::new());
                        WorkspaceBudget { unit, amount, spent, since, refused, held }
                    }
                };
                BudgetOutcome { budget: Some(budget), held: true }
            }
            (Self::Book { since, of, ended, cost, begins, now, until }, Some(mut budget))
                if budget.since == since =>
            {
                budget.cut_off(now);
                budget.settle(&of, ended, cost, until);
                let held = begins.most == 0 || budget.spent.saturating_add(begins.most) <= budget.amount;
                match held {
                    true => budget.hold(of, begins, until),
                    false => budget.refused = Some(begins.most),
                }
                BudgetOutcome { budget: Some(budget), held }
            }
            (Self::Book { .. }, budget) => BudgetOutcome { budget, held: false },
        }
    }
}

impl WorkspaceBudget {
    /// Settles the calls of processes that have not booked for too long at their minimum cost, and releases
    /// the rest of what was reserved for them.
    fn cut_off(&mut self, now: Timestamp) {
        let (cut, held): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held).into_iter().partition(|calls| calls.until < now);
        self.held = held;
        for CostBounds { most, least } in cut.into_iter().map(|calls| calls.bounds) {
            self.spent = self.spent.saturating_sub(most).saturating_add(least);
        }
    }

    /// Replaces the amount reserved for calls by their cost. The process is alive, so its other calls stay reserved.
    fn settle(&mut self, of: &str, ended: CostBounds, cost: u64, until: Timestamp) {
        // Calls that were cut off already count with their minimum cost.
        let released = match self.held.iter_mut().find(|calls| calls.of == of) {
            Some(calls) => {
                let held = calls.bounds.most;
                (calls.bounds, calls.until) = (calls.bounds.minus(ended), until);
                held.min(ended.most)
            }
            None => ended.least,
        };
        self.spent = self.spent.saturating_sub(released).saturating_add(cost);
        self.held.retain(|calls| calls.bounds.most > 0);
    }

    fn hold(&mut self, of: String, begins: CostBounds, until: Timestamp) {
        if begins.most > 0 {
            self.refused = None;
            self.spent = self.spent.saturating_add(begins.most);
        }
        match self.held.iter_mut().find(|calls| calls.of == of) {
            Some(calls) => calls.bounds = calls.bounds.plus(begins),
            None if begins.most > 0 => self.held.push(CallsInFlight { of, bounds: begins, until }),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(amount: u64, restart: bool, now: u64) -> BudgetChange {
        BudgetChange::Limit { unit: BudgetUnit::Tokens, amount, restart, now: Timestamp(now) }
    }

    fn book(since: u64, changes: [u64; 3]) -> BudgetChange {
        book_at(0, "one", since, changes)
    }

    /// Books at `now` for a process whose calls count as cut off 10 later. A call costs at least 2.
    fn book_at(now: u64, of: &str, since: u64, [released, cost, hold]: [u64; 3]) -> BudgetChange {
        let bounds = |most: u64| CostBounds { most, least: most.min(2) };
        BudgetChange::Book {
            since: Timestamp(since),
            of: of.to_owned(),
            ended: bounds(released),
            cost,
            begins: bounds(hold),
            now: Timestamp(now),
            until: Timestamp(now + 10),
        }
    }

    /// Returns the amount spent after each of these changes, and whether each was held.
    fn check(changes: &[BudgetChange]) -> Vec<(u64, bool)> {
        let mut budget = None;
        let mut outcomes = Vec::new();
        for change in changes {
            let outcome = change.clone().applied_to(budget);
            budget = outcome.budget;
            outcomes.push((budget.as_ref().map_or(0, |budget| budget.spent), outcome.held));
        }
        outcomes
    }

    #[test]
    fn a_call_is_reserved_if_it_fits_in_the_worst_case_and_settled_at_its_cost() {
        let changes = [
            limit(100, false, 1),
            book(1, [0, 0, 60]),
            book(1, [0, 0, 60]),
            book(1, [60, 20, 60]),
            book(1, [60, 90, 0]),
        ];
        assert_eq!(check(&changes), [(0, true), (60, true), (60, false), (80, true), (110, true)]);
    }

    #[test]
    fn a_new_limit_keeps_the_spending_unless_counting_restarts_or_the_unit_changes() {
        let money =
            BudgetChange::Limit { unit: BudgetUnit::Money, amount: 5, restart: false, now: Timestamp(2) };
        let changes = [limit(100, false, 1), book(1, [0, 0, 60]), limit(50, false, 2), book(1, [0, 0, 1])];
        assert_eq!(check(&changes), [(0, true), (60, true), (60, true), (60, false)]);
        for restarted in [limit(100, true, 1), money] {
            // A call of the previous counting is not settled in the new one, even if the clock did not advance.
            let changes = [limit(100, false, 1), book(1, [0, 0, 60]), restarted, book(1, [60, 20, 0])];
            assert_eq!(check(&changes), [(0, true), (60, true), (0, true), (0, false)]);
        }
    }

    #[test]
    fn a_call_of_a_silent_process_counts_with_its_lowest_cost() {
        let changes = [
            limit(100, false, 1),
            book_at(0, "killed", 1, [0, 0, 60]),
            book_at(5, "one", 1, [0, 0, 60]),
            book_at(10, "one", 1, [0, 0, 60]),
            book_at(11, "one", 1, [0, 0, 60]),
            // The process was only slow, and now reports what the call cost.
            book_at(12, "killed", 1, [60, 30, 0]),
            book_at(13, "one", 1, [60, 20, 0]),
        ];
        let expected = [(0, true), (60, true), (60, false), (60, false), (62, true), (90, true), (50, true)];
        assert_eq!(check(&changes), expected);
    }

    #[test]
    fn a_process_that_keeps_booking_keeps_its_reservations() {
        let changes = [
            limit(100, false, 1),
            book_at(0, "one", 1, [0, 0, 60]),
            book_at(8, "one", 1, [0, 0, 10]),
            book_at(16, "other", 1, [0, 0, 60]),
        ];
        assert_eq!(check(&changes), [(0, true), (60, true), (70, true), (70, false)]);
    }

    #[test]
    fn a_refusal_is_remembered_until_a_call_fits_or_the_limit_changes() {
        let refused = |changes: &[BudgetChange]| {
            let apply = |budget, change: &BudgetChange| change.clone().applied_to(budget).budget;
            changes.iter().fold(None, apply).and_then(|budget| budget.refused)
        };
        let short = [limit(100, false, 1), book(1, [0, 0, 101])];
        assert_eq!(refused(&short), Some(101));
        assert_eq!(refused(&[&short[..], &[book(1, [0, 0, 1])]].concat()), None);
        assert_eq!(refused(&[&short[..], &[limit(200, false, 2)]].concat()), None);
    }

    #[test]
    fn without_a_budget_nothing_is_booked() {
        assert_eq!(check(&[book(1, [0, 0, 1]), BudgetChange::Put(None)]), [(0, false), (0, true)]);
    }
}
