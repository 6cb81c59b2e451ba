//! Turns: limits how many requests of one kind run and wait, and shares them fairly among holders.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

/// Waiting requests allowed per running one.
const WAITING_EACH: usize = 8;
/// A holder leaves one turn and one waiting place in this many to others, at least one if there are several.
const LEFT_TO_OTHERS: usize = 4;
/// Estimated duration of a turn before any has ended.
const FIRST_GUESS: Duration = Duration::from_secs(1);
/// Weight of earlier turns against the latest in the average duration.
const MEAN_OF: u32 = 8;
/// Maximum time after which a rejected caller is asked to retry.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How long after its last request a holder counts as present.
const PRESENT: Duration = Duration::from_secs(10);

/// The holder of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// A key or user.
    Credential(String),
    /// An address without valid credentials.
    Address(IpAddr),
    /// Programs on this machine, if no credentials distinguish them. They are the only holder, so they need no
    /// share.
    Machine,
}

/// The turns of one kind of request.
///
/// A free turn goes to the holder with the fewest turns, and among equals to the one that waited longest. No
/// holder can have all turns, so others always find some that are free or soon will be.
#[derive(Debug)]
pub(crate) struct Turns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    /// Maximum turns of one holder.
    share: usize,
    /// Maximum turns of one holder while another holder is present.
    share_beside_others: usize,
    /// Maximum waiting places of one holder.
    waiting_share: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    held: HashMap<Holder, usize>,
    /// Waiting requests, oldest first.
    waiting: VecDeque<Waiter>,
    /// Number of the next waiting request.
    next: u64,
    /// The two holders with the latest requests, the latest first, and when that was.
    latest: Vec<(Holder, Instant)>,
    /// Average duration of a turn.
    lasts: Duration,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    holder: Holder,
    gets: oneshot::Sender<Turn>,
}

/// A turn, released when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    shared: Arc<Shared>,
    holder: Holder,
    since: Instant,
}

/// A waiting place, released when dropped.
struct Place<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Turns {
    /// At most `most` turns at once, at least one; a quarter of them is out of reach of any single holder.
    pub(crate) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self::shared(most, most - (most / LEFT_TO_OTHERS).max(1))
    }

    /// Like [`new`](Self::new), with at most `share` turns per holder, at least one.
    pub(crate) fn shared(most: usize, share: usize) -> Self {
        Self::with(most, share, share)
    }

    /// Like [`new`](Self::new), but one holder may have all turns, or at most `beside_others` (at least one) while another holder is
    /// present. So the others immediately find a free turn and the resources behind it.
    pub(crate) fn reserved(most: usize, beside_others: usize) -> Self {
        Self::with(most, most, beside_others)
    }

    fn with(most: usize, share: usize, beside_others: usize) -> Self {
        let (most, share) = (most.max(1), share.max(1));
        let state = State {
            free: most,
            held: HashMap::new(),
            waiting: VecDeque::new(),
            next: 0,
            latest: Vec::new(),
            lasts: FIRST_GUESS,
        };
        let (share_beside_others, waiting_share) =
            (beside_others.clamp(1, share), share.saturating_mul(WAITING_EACH));
        Self(Arc::new(Shared { most, share, share_beside_others, waiting_share, state: Mutex::new(state) }))
    }

    /// Takes a turn, which lasts until the result is dropped. Fails if none becomes free in time, or immediately
    /// if too many requests wait; the error is the time after which to retry.
    pub(crate) async fn take(&self, holder: &Holder, patience: Duration) -> Result<Turn, Duration> {
        let shared = &self.0;
        let (place, turn) = {
            let mut state = shared.lock();
            state.note(holder);
            if state.free > 0 && shared.may_have_more(&state, holder) {
                return Ok(begin(shared, &mut state, holder.clone()));
            }
            let waiting_too = state.waiting.iter().filter(|waiter| waiter.holder == *holder).count();
            let is_full = state.waiting.len() >= shared.most.saturating_mul(WAITING_EACH);
            if is_full || (*holder != Holder::Machine && waiting_too >= shared.waiting_share) {
                return Err(shared.expected_wait(&state));
            }
            shared.line_up(&mut state, holder)
        };
        let turn = timeout(patience, turn).await;
        drop(place);
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(shared.expected_wait(&shared.lock())),
        }
    }
}

impl Turns {
    /// Takes a turn, however long that takes and however many requests wait.
    pub(crate) async fn take_when_free(&self, holder: &Holder) -> Turn {
        let shared = &self.0;
        loop {
            let (_place, turn) = {
                let mut state = shared.lock();
                state.note(holder);
                if state.free > 0 && shared.may_have_more(&state, holder) {
                    return begin(shared, &mut state, holder.clone());
                }
                shared.line_up(&mut state, holder)
            };
            // A waiting request keeps its place in the line until it gets its turn, so there always is a sender.
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }
}

fn begin(shared: &Arc<Shared>, state: &mut State, holder: Holder) -> Turn {
    state.free -= 1;
    *state.held.entry(holder.clone()).or_default() += 1;
    Turn { shared: Arc::clone(shared), holder, since: Instant::now() }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place at the end of the line.
    fn line_up(&self, state: &mut State, holder: &Holder) -> (Place<'_>, oneshot::Receiver<Turn>) {
        let (gets, turn) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(Waiter { number, holder: holder.clone(), gets });
        (Place { shared: self, number }, turn)
    }

    fn may_have_more(&self, state: &State, holder: &Holder) -> bool {
        let share = if state.has_others(holder) { self.share_beside_others } else { self.share };
        *holder == Holder::Machine || state.held_by(holder) < share
    }

    /// The waiting request that gets a free turn.
    fn next(self: &Arc<Self>, state: &mut State) -> Option<(oneshot::Sender<Turn>, Turn)> {
        if state.free == 0 {
            return None;
        }
        let waiting = state.waiting.iter().enumerate();
        let may_begin = waiting.filter(|(_, waiter)| self.may_have_more(state, &waiter.holder));
        let (at, _) = may_begin.min_by_key(|(_, waiter)| state.held_by(&waiter.holder))?;
        let Waiter { holder, gets, .. } = state.waiting.remove(at)?;
        Some((gets, begin(self, state, holder)))
    }

    /// The expected waiting time of a new request.
    fn expected_wait(&self, state: &State) -> Duration {
        let before = u32::try_from(state.waiting.len() + 1).unwrap_or(u32::MAX);
        let most = u32::try_from(self.most).unwrap_or(u32::MAX);
        (state.lasts.saturating_mul(before) / most).min(LONGEST_WAIT)
    }
}

impl State {
    fn held_by(&self, holder: &Holder) -> usize {
        self.held.get(holder).copied().unwrap_or(0)
    }

    /// Notes a request of `holder`.
    fn note(&mut self, holder: &Holder) {
        let earlier = std::mem::take(&mut self.latest).into_iter().find(|(other, _)| other != holder);
        self.latest = [(holder.clone(), Instant::now())].into_iter().chain(earlier).collect();
    }

    /// Whether another holder is present.
    fn has_others(&self, holder: &Holder) -> bool {
        self.latest.iter().any(|(other, at)| other != holder && at.elapsed() < PRESENT)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.shared.lock();
            state.free += 1;
            if let Some(held) = state.held.get_mut(&self.holder) {
                *held -= 1;
                if *held == 0 {
                    state.held.remove(&self.holder);
                }
            }
            state.lasts = (state.lasts * (MEAN_OF - 1) + self.since.elapsed().min(LONGEST_WAIT)) / MEAN_OF;
            // Several if a holder may now have more turns.
            std::iter::from_fn(|| self.shared.next(&mut state)).collect()
        };
        // A request that was cancelled in the meantime drops the turn, which passes it on; so no lock may be held here.
        for (gets, turn) in next {
            let _ = gets.send(turn);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shared.lock().waiting.retain(|waiter| waiter.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::{FutureExt, poll};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn key(name: &str) -> Holder {
        Holder::Credential(name.to_owned())
    }

    #[tokio::test]
    async fn callers_beyond_the_waiting_limit_are_refused_and_waiters_are_served_in_order() {
        let turns = Turns::new(1);
        let machine = Holder::Machine;
        let working = turns.take(&machine, LONG).await.expect("a free turn");
        let mut waiting: Vec<_> = (0..WAITING_EACH).map(|_| turns.take(&machine, LONG).boxed()).collect();
        for waiter in &mut waiting {
            assert!(poll!(waiter).is_pending());
        }
        assert!(turns.take(&machine, LONG).now_or_never().expect("an answer at once").is_err());
        drop(working);
        assert!(poll!(&mut waiting[1]).is_pending());
        let Poll::Ready(Ok(next)) = poll!(&mut waiting[0]) else { panic!("it is the first one's turn") };
        let mut last = turns.take(&machine, LONG).boxed();
        assert!(poll!(&mut last).is_pending(), "a caller with a turn no longer waits");
        waiting.clear();
        drop(next);
        assert!(matches!(poll!(&mut last), Poll::Ready(Ok(_))), "a caller that left no longer waits");
    }

    #[tokio::test]
    async fn a_caller_gives_up_when_its_waiting_time_is_over() {
        let turns = Turns::new(1);
        let _working = turns.take(&key("a"), LONG).await.expect("a free turn");
        assert!(turns.take(&key("b"), Duration::ZERO).await.is_err());
        assert!(turns.0.lock().waiting.is_empty());
    }

    #[tokio::test]
    async fn one_credential_leaves_turns_and_waiting_places_to_others() {
        let turns = Turns::new(4);
        let (a, b, c) = (key("a"), key("b"), key("c"));
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(turns.take(&a, LONG).await.expect("its share"));
        }
        let mut waiting = Vec::new();
        loop {
            let mut waiter = turns.take(&a, LONG).boxed();
            match poll!(&mut waiter) {
                Poll::Pending => waiting.push(waiter),
                Poll::Ready(turn) => break assert!(turn.is_err(), "the rest is reserved for others"),
            }
        }
        assert_eq!(waiting.len(), 3 * WAITING_EACH);
        let other = turns.take(&b, LONG).now_or_never().expect("an answer at once").expect("a turn");
        let mut second = turns.take(&b, LONG).boxed();
        let mut third = turns.take(&c, LONG).boxed();
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        held.pop();
        let Poll::Ready(Ok(_thirds)) = poll!(&mut third) else {
            panic!("a caller without a turn comes first")
        };
        drop(other);
        assert!(poll!(&mut waiting[0]).is_pending());
        assert!(matches!(poll!(&mut second), Poll::Ready(Ok(_))), "then the caller with fewer turns");
    }

    #[tokio::test]
    async fn a_busy_caller_leaves_a_turn_free_only_while_others_are_active() {
        let turns = Turns::reserved(3, 1);
        let (much, little) = (key("much"), key("little"));
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(turns.take_when_free(&much).now_or_never().expect("all turns, without other callers"));
        }
        let mut waiting = turns.take_when_free(&little).boxed();
        assert!(poll!(&mut waiting).is_pending());
        held.pop();
        let Poll::Ready(first) = poll!(&mut waiting) else { panic!("a caller without a turn comes first") };
        drop(first);
        held.clear();
        held.push(turns.take_when_free(&much).now_or_never().expect("one turn"));
        let mut second = turns.take_when_free(&much).boxed();
        let mut third = turns.take_when_free(&much).boxed();
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        drop(turns.take_when_free(&little).now_or_never().expect("a turn at once"));
        for (_, at) in &mut turns.0.lock().latest {
            *at = at.checked_sub(PRESENT).expect("the machine has been up for longer");
        }
        held.clear();
        assert!(poll!(&mut second).is_ready() && poll!(&mut third).is_ready(), "the other has left");
    }

    #[tokio::test]
    async fn the_retry_time_depends_on_the_length_of_turns_and_the_number_of_waiters() {
        let turns = Turns::new(2);
        turns.0.lock().lasts = Duration::from_secs(10);
        let _held = [turns.take(&Holder::Machine, LONG).await, turns.take(&Holder::Machine, LONG).await];
        let wait = turns.take(&Holder::Machine, Duration::ZERO).await.expect_err("full");
        assert_eq!(wait, Duration::from_secs(5));
        turns.0.lock().lasts = Duration::from_secs(1000);
        assert_eq!(turns.take(&Holder::Machine, Duration::ZERO).await.expect_err("full"), LONGEST_WAIT);
    }
}
