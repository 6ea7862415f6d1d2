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
    let rows = |list: &[Listed]| list.iter().take(COMPARED).map(|(row, _)| *row).collect::<Vec<_>>();
    let (first, second) = (rows(&before), numbered(&rows(&after)));
    let agreement = 1.0 - distance(&numbered(&first), &second, COMPARED).value;
    Probing::Valid { agreement, informative }
}

/// Rows as they are, and what is new told apart by its place.
fn numbered(rows: &[Option<Row>]) -> Vec<(Option<Row>, usize)> {
    let mut new = 0;
    rows.iter()
        .map(|row| {
            new += usize::from(row.is_none());
            (*row, if row.is_none() { new } else { 0 })
        })
        .collect()
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
