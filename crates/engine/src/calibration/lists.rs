//! What a probe finds now, and what it would find with something new (CAL-14).

use super::domain::{Belongs, Domain};
use super::probes::{LISTED_MAX, Probe};
use tabellion_core::rank::dot;
use tabellion_core::trust::{Probing, distance};
use tabellion_core::vector::{Allowed, Effort, VectorView};
use tabellion_core::view::Row;

/// Results that are compared.
const COMPARED: usize = 5;

/// One result: a row, or something new (which has none), and what it counts.
type Listed = (Option<Row>, f64);

/// What a probe says of something new, given its vectors.
pub(super) fn probed(
    probe: &Probe,
    domain: &Domain,
    belongs: &Belongs<'_>,
    vectors: &VectorView,
    new: &[&[f32]],
    but: Option<Row>,
) -> Probing {
    let mut before = listed(probe, domain, belongs, vectors);
    before.retain(|(row, _)| row.is_none() || *row != but);
    let trust = domain.trust.sqrt();
    let mut after = before.clone();
    after.extend(new.iter().map(|vector| (None, trust * f64::from(dot(&probe.vector, vector)))));
    sort(&mut after);
    let informative = after.iter().take(LISTED_MAX).any(|(row, _)| row.is_none());
    let agreement = 1.0 - distance(&places(&before), &places(&after), COMPARED).value;
    Probing::Valid { agreement, informative }
}

/// What stands in a place of a list.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Known(Row),
    /// Something new, told apart by its place.
    New(usize),
    /// Nothing, of so many.
    Empty(usize),
}

/// The places that are compared. Where little is known, what follows counts as nothing: what is new pushes that down and no
/// more, so that the first words in an empty memory change as much as they would in a full one (CAL-37).
fn places(list: &[Listed]) -> Vec<Place> {
    let mut new = 0;
    let held = list.iter().take(COMPARED).map(|(row, _)| match row {
        Some(row) => Place::Known(*row),
        None => {
            new += 1;
            Place::New(new)
        }
    });
    let mut places: Vec<Place> = held.collect();
    places.extend((1..=COMPARED.saturating_sub(places.len())).map(Place::Empty));
    places
}

/// What the probe finds among what belongs, what counts most first.
fn listed(probe: &Probe, domain: &Domain, belongs: &Belongs<'_>, vectors: &VectorView) -> Vec<Listed> {
    let trust = &belongs.views.trust;
    let counted = |row: Row, cosine: f64| (Some(row), trust.rho(row).sqrt() * cosine);
    let kept = probe.near.iter().filter(|(row, _)| belongs.admits(*row));
    let mut list: Vec<Listed> = kept.map(|(row, cosine)| counted(*row, f64::from(*cosine))).collect();
    match domain.since(probe.lsn).filter(|_| list.len() >= COMPARED || !probe.cut) {
        Some(rows) => {
            let new = rows.into_iter().filter(|row| !list.iter().any(|(known, _)| *known == Some(*row)));
            let new: Vec<Listed> = new
                .filter(|row| belongs.admits(*row))
                .filter_map(|row| Some(counted(row, f64::from(dot(&probe.vector, vectors.vector(row)?)))))
                .collect();
            list.extend(new);
        }
        None => {
            let admits = |row: Row| belongs.admits(row);
            let allowed = Allowed { rows: None, admits: &admits, weights: trust.roots() };
            let near =
                vectors.search(&probe.vector, &allowed, LISTED_MAX, Effort::Planned).unwrap_or_default();
            list = near.iter().map(|near| counted(near.row, f64::from(near.cosine))).collect();
        }
    }
    sort(&mut list);
    list.truncate(LISTED_MAX);
    list
}

/// What counts most first, ties to the older; what is new is the newest.
fn sort(list: &mut [Listed]) {
    list.sort_by(|(a_row, a), (b_row, b)| {
        let age = |row: &Option<Row>| row.map_or(u64::MAX, u64::from);
        b.total_cmp(a).then_with(|| age(a_row).cmp(&age(b_row)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(known: u32, at: usize) -> f64 {
        let before: Vec<Listed> = (0..known).map(|row| (Some(row), 0.0)).collect();
        let mut after = before.clone();
        after.insert(at, (None, 0.0));
        distance(&places(&before), &places(&after), COMPARED).value
    }

    /// CAL-13, CAL-37: what is new changes a short list as much as a full one.
    #[test]
    fn a_short_list_is_filled_up_with_nothing() {
        for known in [0, 1, 4, 5, 9] {
            assert!((change(known, 0) - 0.4966).abs() < 1e-4, "{known}: {}", change(known, 0));
        }
        assert!((change(2, 1) - 0.2524).abs() < 1e-4);
        assert!(change(9, 5) < 1e-9, "beyond what is compared");
    }
}
