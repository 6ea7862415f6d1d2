//! How far along is it? A bar on stderr, for terminals, and only once a second has passed.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// A bar that stays hidden while the work is quick.
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: bool,
}

impl Progress {
    /// A bar for counted things, such as entries.
    pub(crate) fn of(what: &'static str) -> Self {
        Self::with(what, "{msg} {wide_bar} {human_pos} of {human_len}, {eta} left")
    }

    /// A bar for bytes.
    pub(crate) fn of_bytes(what: &'static str) -> Self {
        Self::with(what, "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left")
    }

    fn with(what: &'static str, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, shown: false }
    }

    /// So much is done. A total of nothing is an unknown one.
    pub(crate) fn at(&mut self, done: u64, total: u64) {
        if total > 0 {
            self.bar.set_length(total);
        }
        if !self.shown && self.bar.elapsed() >= SHOWN_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
