//! The budget of a workspace: what its model calls may cost, whichever processes send them.

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetUnit {
    /// Tokens, sent and received together.
    Tokens,
    /// Millionths of a millionth of the currency of the prices.
    Money,
}

/// The budget of a workspace and what is spent of it. Not part of the canonical state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceBudget {
    /// What it counts.
    pub unit: BudgetUnit,
    /// What may be spent.
    pub amount: u64,
    /// What is spent since `since`, with the most that calls in flight may cost. A call whose process ended before it was settled
    /// stays counted with the most.
    pub spent: u64,
    /// When counting began. Tells one counting from the next.
    pub since: Timestamp,
}

/// A change of the budget of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChange {
    /// Replaces it as a whole, such as by that of the workspace which this one is a copy of; `None` removes it.
    Put(Option<WorkspaceBudget>),
    /// Sets what may be spent. What is spent stays, unless the unit changes or counting is to `restart`.
    Limit {
        /// What it counts.
        unit: BudgetUnit,
        /// What may be spent.
        amount: u64,
        /// Whether what is spent becomes 0.
        restart: bool,
        /// The time.
        now: Timestamp,
    },
    /// Settles calls that ended, and then holds back what another may cost, if the budget has that left.
    Book {
        /// The counting that both belong to. Nothing is changed if there is another by now.
        since: Timestamp,
        /// What was held back for the calls that ended.
        released: u64,
        /// What they did cost.
        cost: u64,
        /// The most that the new call may cost.
        hold: u64,
    },
}

/// What a change came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetOutcome {
    /// The budget after it.
    pub budget: Option<WorkspaceBudget>,
    /// Whether the call may be sent; `true` for other changes.
    pub held: bool,
}

impl BudgetChange {
    /// What the change makes of a budget. Stores apply it to the latest one, and to nothing else meanwhile.
    pub fn applied_to(self, budget: Option<WorkspaceBudget>) -> BudgetOutcome {
        match (self, budget) {
            (Self::Put(budget), _) => BudgetOutcome { budget, held: true },
            (Self::Limit { unit, amount, restart, now }, budget) => {
                let counted = budget.filter(|budget| budget.unit == unit && !restart);
                let (spent, since) = counted.map_or((0, now), |budget| (budget.spent, budget.since));
                // Another counting needs another time.
                let since = match budget {
                    Some(before) if counted.is_none() => Timestamp(since.0.max(before.since.0 + 1)),
                    Some(_) | None => since,
                };
                let budget = WorkspaceBudget { unit, amount, spent, since };
                BudgetOutcome { budget: Some(budget), held: true }
            }
            (Self::Book { since, released, cost, hold }, Some(mut budget)) if budget.since == since => {
                budget.spent = budget.spent.saturating_sub(released).saturating_add(cost);
                let after = budget.spent.saturating_add(hold);
                let held = hold == 0 || after <= budget.amount;
                if held {
                    budget.spent = after;
                }
                BudgetOutcome { budget: Some(budget), held }
            }
            (Self::Book { .. }, budget) => BudgetOutcome { budget, held: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(amount: u64, restart: bool, now: u64) -> BudgetChange {
        BudgetChange::Limit { unit: BudgetUnit::Tokens, amount, restart, now: Timestamp(now) }
    }

    fn book(since: u64, [released, cost, hold]: [u64; 3]) -> BudgetChange {
        BudgetChange::Book { since: Timestamp(since), released, cost, hold }
    }

    /// What is spent after each of these changes, and whether each was held.
    fn check(changes: &[BudgetChange]) -> Vec<(u64, bool)> {
        let mut budget = None;
        let mut outcomes = Vec::new();
        for change in changes {
            let outcome = change.applied_to(budget);
            budget = outcome.budget;
            outcomes.push((budget.map_or(0, |budget| budget.spent), outcome.held));
        }
        outcomes
    }

    #[test]
    fn a_call_is_held_while_it_surely_fits_and_settled_by_what_it_cost() {
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
    fn another_limit_keeps_what_is_spent_unless_counting_restarts_or_the_unit_changes() {
        let money =
            BudgetChange::Limit { unit: BudgetUnit::Money, amount: 5, restart: false, now: Timestamp(2) };
        let changes = [limit(100, false, 1), book(1, [0, 0, 60]), limit(50, false, 2), book(1, [0, 0, 1])];
        assert_eq!(check(&changes), [(0, true), (60, true), (60, true), (60, false)]);
        for restarted in [limit(100, true, 1), money] {
            // A call of the counting before is not settled in the new one, not even where the clock stood still.
            let changes = [limit(100, false, 1), book(1, [0, 0, 60]), restarted, book(1, [60, 20, 0])];
            assert_eq!(check(&changes), [(0, true), (60, true), (0, true), (0, false)]);
        }
    }

    #[test]
    fn without_a_budget_nothing_is_booked() {
        assert_eq!(check(&[book(1, [0, 0, 1]), BudgetChange::Put(None)]), [(0, false), (0, true)]);
    }
}
