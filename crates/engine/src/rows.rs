//! The rows that callers see, kept while the log grows: gathering them is the dearest part of a search among what is shared
//! (SHARE-36, 37).

use crate::tenant::Tenant;
use crate::visibility::{Viewer, viewer};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tabellion_core::access::{Caller, Predicate};
use tabellion_core::view::{SeenRows, Views};

/// Callers whose rows are kept, at an eighth of a byte a row or less; beyond that, all are gathered anew.
const KEPT_MAX: usize = 256;

/// Rows by who sees them.
#[derive(Default)]
pub(crate) struct KeptRows(Mutex<HashMap<Viewer, Arc<SeenRows>>>);

/// The rows that a caller sees as of these views; none where nothing was ever shared, as they lie ready in the views then.
///
/// The views stay locked for reading meanwhile, so what is kept is never ahead of them.
pub(crate) fn kept_rows(
    tenant: &Tenant,
    caller: &Caller,
    predicate: &Predicate,
    views: &Views,
) -> Option<Arc<SeenRows>> {
    if !views.items.has_shared() {
        return None;
    }
    let key = viewer(caller);
    let kept = tenant.rows.0.lock().get(&key).cloned();
    let rows = match kept {
        Some(kept) if kept.is_current(&views.items, predicate) => return Some(kept),
        Some(mut kept) => {
            Arc::make_mut(&mut kept).follow(&views.items, predicate);
            kept
        }
        None => Arc::new(SeenRows::gather(&views.items, predicate)),
    };
    let mut kept = tenant.rows.0.lock();
    if kept.len() >= KEPT_MAX && !kept.contains_key(&key) {
        kept.clear();
    }
    kept.insert(key, Arc::clone(&rows));
    Some(rows)
}
