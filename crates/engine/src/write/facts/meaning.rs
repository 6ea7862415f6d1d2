//! Twins by meaning: the nearest vectors, and the words that have the last say (GOV-3.4).

use super::{Gathering, known, may_be_twin};
use crate::Call;
use crate::read::content;
use crate::rows::kept_rows;
use crate::tenant::Tenant;
use crate::write::Asked;
use std::time::Duration;
use tabellion_core::access::Predicate;
use tabellion_core::claim::may_be_paraphrase;
use tabellion_core::gate::{Force, Known, Likeness, SEMANTIC_MIN, Twin};
use tabellion_core::id::VersionId;
use tabellion_core::log::Lsn;
use tabellion_core::vector::{Allowed, Effort};
use tabellion_core::view::{Class, Moment, Row, Scope};

/// GOV-3.4: how many of the nearest are looked at.
const NEAREST_MAX: usize = 10;

/// Whether a write is compared by its meaning: one for good is, where there are vectors. Conversations keep to words, so that
/// their pace does not hang on a model.
pub(crate) fn goes_by_meaning(tenant: &Tenant, asked: &Asked) -> bool {
    let layer = asked.request.layer;
    let stops = asked.strictness.rules(layer).dedup == Force::Stops;
    layer.is_canonical() && stops && asked.vector.is_none() && tenant.shared.vectors.is_some()
}

/// Gives a write its vector; without a model that answers in time its words have to do.
pub(crate) async fn understand(tenant: &Tenant, call: &Call, asked: &mut Asked) {
    let Some(vectors) = &tenant.shared.vectors else { return };
    let text = asked.request.content.embedded_text();
    let owner = (tenant.shared.tenant, call.caller.user());
    let wait = Duration::from_millis(tenant.limits.embedding_wait_ms);
    match vectors.embedding().one(owner, &text, wait).await {
        Ok(vector) => {
            vectors.answers();
            asked.vector = Some(vector);
        }
        Err(error) => tracing::warn!(%error, "a write has no vector; it is compared by its words alone"),
    }
}

impl Gathering<'_> {
    /// The nearest version that says the same in other words, but for the one that the write replaces anyway.
    pub(super) fn paraphrased(
        &self,
        predicate: &Predicate,
        class: &Class,
        replaced: Option<VersionId>,
    ) -> Option<Twin> {
        let near = self.near(predicate, class).into_iter();
        near.filter(|(known, _)| Some(known.version) != replaced).find_map(|(known, lsn)| {
            // What cannot be read any more is no twin.
            let (existing, _) = content(self.tenant, lsn).ok()?;
            let same = may_be_paraphrase(&existing, &self.asked.request.content);
            same.then(|| self.twin((known, Likeness::Semantic, lsn), class).ok())?
        })
    }

    /// The nearest versions that could stand for the write, nearest first and of equals the newest.
    fn near(&self, predicate: &Predicate, class: &Class) -> Vec<(Known, Lsn)> {
        let (Some(vector), Some(vectors)) = (&self.asked.vector, &self.tenant.shared.vectors) else {
            return Vec::new();
        };
        let request = &self.asked.request;
        let views = self.tenant.shared.views.read();
        let kept = kept_rows(self.tenant, &self.call.caller, predicate, &views);
        let index = self.tenant.shared.index.read();
        let vectors = vectors.read();
        let at = Moment { lsn: views.lsn(), time: self.now };
        let (layers, namespace) = ([request.layer], Some(request.namespace.as_str()));
        let (tier, redacted) = (Some(self.asked.tier), self.redacted);
        let scope = Scope { predicate, at, tier, layers: &layers, namespace, redacted };
        let items = &views.items;
        let rows = kept.as_ref().map_or_else(|| items.visible_rows(predicate, at), |seen| seen.at(items, at));
        let admits = |row: Row| {
            let may = |version| self.is_own(version) && may_be_twin(&views, version, class);
            scope.admits_row(items, row)
                && !index.redacts(row, redacted)
                && items.version(row).is_some_and(may)
                && !index.claims.get(row).is_some_and(|known| known.tells_another_event(&self.asked.claim))
        };
        let allowed = Allowed { rows: Some(&rows), admits: &admits, weights: &[] };
        // A vector of another length is near to nothing.
        let near = vectors.search(vector, &allowed, NEAREST_MAX, Effort::Planned).unwrap_or_default();
        let close = near.into_iter().take_while(|near| f64::from(near.cosine) > SEMANTIC_MIN);
        let version = |row: Row| {
            let version = items.version(row)?;
            Some((known(&views, version)?, version.lsn))
        };
        close.filter_map(|near| version(near.row)).collect()
    }
}
