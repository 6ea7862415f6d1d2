//! What the names of types of relations mean, so that two words for the same are recognised (CAL-18, CAL-39).

use crate::Call;
use crate::embedding::Vector;
use crate::tenant::Tenant;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tabellion_core::rank::dot;
use tabellion_core::trust::graph::Synonyms;

/// Names nearer than this mean the same.
const SAME: f32 = 0.6;
/// Names whose meaning is kept.
const KEPT_MAX: usize = 4_096;
/// Names that are looked up for one write; the others follow with the next.
const NEW_MAX: usize = 32;

/// What names mean.
#[derive(Default)]
pub(crate) struct Labels(Mutex<HashMap<String, Vector>>);

impl Labels {
    /// The types among those proposed and those known whose names mean the same.
    pub(super) fn synonyms(
        &self,
        (proposed, known): &(BTreeMap<u32, &str>, BTreeMap<u32, &str>),
    ) -> Synonyms {
        let labels = self.0.lock();
        let mut synonyms = Synonyms::default();
        let meaning = |name: &str| labels.get(name);
        for (one, vector) in proposed.iter().filter_map(|(one, name)| Some((*one, meaning(name)?))) {
            for (other, name) in known.iter().filter(|(other, _)| **other != one) {
                if meaning(name).is_some_and(|label| dot(vector, label) >= SAME) {
                    synonyms.add(one, *other);
                }
            }
        }
        synonyms
    }

    fn unknown<'a>(&self, names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
        let labels = self.0.lock();
        names.filter(|name| !labels.contains_key(*name)).take(NEW_MAX).collect()
    }

    fn keep(&self, name: &str, vector: Vector) {
        let mut labels = self.0.lock();
        if labels.len() >= KEPT_MAX {
            labels.clear();
        }
        labels.insert(name.to_owned(), vector);
    }
}

/// Looks up what names mean that are not known yet. Without a model, or where it does not answer, a name means itself alone.
pub(super) async fn learn(tenant: &Tenant, call: &Call, names: &BTreeMap<u32, String>) {
    let Some(vectors) = &tenant.shared.vectors else { return };
    let labels = &tenant.calibrator.labels;
    let owner = (tenant.shared.tenant, call.caller.user());
    let wait = Duration::from_millis(tenant.limits.embedding_wait_ms);
    for name in labels.unknown(names.values()) {
        match vectors.embedding().one(owner, &name.replace('_', " "), wait).await {
            Ok(vector) => labels.keep(name, vector),
            Err(error) => {
                tracing::warn!(%error, "the name of a type has no vector");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CAL-39: names that lie close mean the same; a type is no synonym of itself.
    #[test]
    fn close_names_mean_the_same() {
        let labels = Labels::default();
        for (name, vector) in [("inside", [1.0, 0.0]), ("located_in", [0.8, 0.6]), ("eats", [0.0, 1.0])] {
            labels.keep(name, Vector::from(vector.as_slice()));
        }
        let proposed = BTreeMap::from([(9, "inside")]);
        let known = BTreeMap::from([(1, "located_in"), (2, "eats"), (3, "unheard_of"), (9, "inside")]);
        let mut expected = Synonyms::default();
        expected.add(9, 1);
        assert_eq!(labels.synonyms(&(proposed, known)), expected);
    }
}
