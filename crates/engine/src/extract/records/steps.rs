//! Counts the parser's work in tests, to show that it is linear without using a clock.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Records that `bytes` more bytes were read.
#[cfg(test)]
pub(super) fn tally(bytes: usize) {
    STEPS.with(|steps| steps.set(steps.get() + bytes));
}

/// Does nothing outside tests.
#[cfg(not(test))]
pub(super) fn tally(_bytes: usize) {}

/// Returns the number of bytes read by `work`.
#[cfg(test)]
pub(super) fn steps_of(work: impl FnOnce()) -> usize {
    let before = STEPS.with(std::cell::Cell::get);
    work();
    STEPS.with(std::cell::Cell::get) - before
}
