//! What of the storage refuses at present, so that `/readyz` can say it, and how often it did.
//!
//! Whoever writes a part reports its failures and clears them with the next success; each part that refused is tried again
//! by itself within a second or so, because a server that is not ready is sent no writes.

use parking_lot::Mutex;

/// A part of the storage that a tenant writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Log,
    DataKeys,
    KeptWrites,
    Witness,
}

impl Part {
    const ALL: [Self; 4] = [Self::Log, Self::DataKeys, Self::KeptWrites, Self::Witness];

    const fn label(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::DataKeys => "data_keys",
            Self::KeptWrites => "kept_writes",
            Self::Witness => "witness",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Log => "the log cannot be written",
            Self::DataKeys => "data keys cannot be made",
            Self::KeptWrites => "writes that wait cannot be kept",
            Self::Witness => "the witness cannot be written",
        }
    }
}

/// The parts of a tenant's storage that refused when they were last written.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<[Option<String>; Part::ALL.len()]>);

impl Troubles {
    /// Notes and counts that a part refused.
    pub(crate) fn report(&self, part: Part, error: &dyn std::fmt::Display) {
        metrics::counter!("tabellion_storage_failures_total", "part" => part.label()).increment(1);
        let error = error.to_string();
        let mut troubles = self.0.lock();
        let Some(place) = troubles.get_mut(part as usize) else { return };
        if place.as_ref() != Some(&error) {
            tracing::error!(part = part.label(), %error, "the storage refused");
        }
        *place = Some(error);
    }

    /// Notes that a part was written.
    pub(crate) fn clear(&self, part: Part) {
        let cleared = self.0.lock().get_mut(part as usize).and_then(Option::take);
        if cleared.is_some() {
            tracing::info!(part = part.label(), "the storage takes writes again");
        }
    }

    /// Whether a part refused when it was last written.
    pub(crate) fn is_in(&self, part: Part) -> bool {
        self.0.lock().get(part as usize).is_some_and(Option::is_some)
    }

    /// The first part that refuses, and what the system says.
    pub(crate) fn first(&self) -> Option<String> {
        let troubles = self.0.lock();
        let mut parts = Part::ALL.iter().zip(troubles.iter());
        parts.find_map(|(part, error)| Some(format!("{}: {}", part.words(), error.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_lasts_until_its_own_part_is_written() {
        let troubles = Troubles::default();
        assert_eq!(troubles.first(), None);
        troubles.report(Part::Witness, &"no space left");
        troubles.clear(Part::Log);
        assert_eq!(troubles.first().as_deref(), Some("the witness cannot be written: no space left"));
        assert!(troubles.is_in(Part::Witness) && !troubles.is_in(Part::Log));
        troubles.clear(Part::Witness);
        assert_eq!(troubles.first(), None);
    }
}
