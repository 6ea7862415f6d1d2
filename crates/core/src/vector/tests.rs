//! What the view promises, held against a plain sort.

use super::*;
use proptest::prelude::*;

const ALL: Allowed<'static> = Allowed { rows: None, admits: &|_| true, weights: &[] };

fn gauss(chance: &mut Chance) -> f32 {
    (0..4).map(|_| chance.below(1 << 16) as f32 / 65_536.0 - 0.5).sum()
}

/// Vectors around a few centers, so wide that the clusters run into each other.
fn clustered(count: usize, dimensions: usize, centers: usize) -> Vec<Vec<f32>> {
    let mut chance = Chance::new(7);
    let centers: Vec<Vec<f32>> =
        (0..centers).map(|_| (0..dimensions).map(|_| gauss(&mut chance)).collect()).collect();
    let mut near = |_| {
        let center = &centers[chance.below(centers.len())];
        center.iter().map(|x| x + 1.2 * gauss(&mut chance)).collect()
    };
    (0..count).map(&mut near).collect()
}

fn view_of(vectors: &[Vec<f32>]) -> VectorView {
    let mut view = VectorView::new(vectors.first().map_or(1, Vec::len));
    for (row, vector) in vectors.iter().enumerate() {
        view.insert(row as Row, vector).unwrap();
    }
    view
}

/// Makes lists for a view however small, and has it answer from them.
fn with_lists(mut view: VectorView) -> VectorView {
    view.exact_rows_max = 0;
    let lists = made(&view, 1);
    view.adopt(lists);
    view
}

fn made(view: &VectorView, seed: u64) -> Lists {
    let centroids = Centroids::train(&view.sample(seed), view.lists_wanted(), seed).unwrap();
    let mut lists = Lists::new(centroids);
    view.assign(&mut lists, 0..view.rows().max().map_or(0, |last| last + 1));
    lists
}

/// What `search` has to answer, by measuring everything and sorting.
fn by_sorting(view: &VectorView, query: &[f32], scope: &Allowed<'_>, k: usize) -> Vec<Near> {
    let query = kernel::unit(query, view.dimensions()).unwrap();
    let seen = |row: &Row| scope.rows.is_none_or(|rows| rows.contains(*row)) && (scope.admits)(*row);
    let near = |row| {
        let cosine = kernel::dot(&query, view.vector(row).unwrap()).clamp(-1.0, 1.0);
        let weight = scope.weights.get(row as usize).copied().unwrap_or(UNWEIGHED);
        Near { row, cosine, counted: weight * cosine }
    };
    let mut all: Vec<Near> = view.rows().iter().filter(seen).map(near).collect();
    all.sort_by(|a, b| b.counted.total_cmp(&a.counted).then(b.row.cmp(&a.row)));
    all.truncate(k);
    all
}

fn recall(view: &VectorView, queries: &[Vec<f32>], scope: &Allowed<'_>) -> f64 {
    let (mut found, mut due) = (0, 0);
    for query in queries {
        let planned = view.search(query, scope, 10, Effort::Planned).unwrap();
        let exact = view.search(query, scope, 10, Effort::Exact).unwrap();
        due += exact.len();
        found += exact.iter().filter(|near| planned.contains(near)).count();
    }
    found as f64 / due as f64
}

/// Numbers from a few steps, so that equal vectors and equal cosines are common.
fn coarse_vector(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec((-3_i8..=3).prop_map(f32::from), dimensions)
        .prop_filter("a length", |vector| vector.iter().any(|x| *x != 0.0))
}

fn fine_vector(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.0_f32..1.0, dimensions)
        .prop_filter("a length", |vector| vector.iter().any(|x| *x != 0.0))
}

fn vectors() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<f32>)> {
    (1_usize..70, any::<bool>()).prop_flat_map(|(dimensions, coarse)| {
        let vector = move || {
            if coarse { coarse_vector(dimensions).boxed() } else { fine_vector(dimensions).boxed() }
        };
        (prop::collection::vec(vector(), 0..300), vector())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// SHARE-22, CAL-35: what counts most under the filter, exactly min(k, qualifying) of them, ties to the newer; by cosine and by
    /// how far each is trusted.
    #[test]
    fn an_exact_search_equals_a_sort(
        (vectors, query) in vectors(),
        k in 0_usize..320,
        rows in prop::option::of(prop::collection::btree_set(0_u32..320, 0..300)),
        every in 1_u32..5,
        weights in prop::collection::vec(0.05_f32..1.0, 0..320),
    ) {
        let mut view = VectorView::new(query.len());
        for (row, vector) in vectors.iter().enumerate() {
            view.insert(row as Row, vector).unwrap();
        }
        let rows: Option<RoaringBitmap> = rows.map(|rows| rows.into_iter().collect());
        let scope = Allowed { rows: rows.as_ref(), admits: &|row| row.is_multiple_of(every), weights: &weights };
        let found = view.search(&query, &scope, k, Effort::Exact).unwrap();
        prop_assert_eq!(found, by_sorting(&view, &query, &scope, k));
    }

    /// SHARE-37: with lists too, however rare the filter, exactly min(k, qualifying) rows, all of which qualify.
    #[test]
    fn lists_never_leave_an_answer_short(
        (vectors, query) in vectors(),
        k in 0_usize..320,
        rows in prop::option::of(prop::collection::btree_set(0_u32..320, 0..300)),
        every in 1_u32..90,
        removed in prop::collection::vec(0_u32..320, 0..60),
        weights in prop::collection::vec(0.05_f32..1.0, 0..320),
    ) {
        prop_assume!(!vectors.is_empty());
        let mut view = with_lists(view_of(&vectors));
        removed.iter().for_each(|row| view.remove(*row));
        let rows: Option<RoaringBitmap> = rows.map(|rows| rows.into_iter().collect());
        let scope = Allowed { rows: rows.as_ref(), admits: &|row| row.is_multiple_of(every), weights: &weights };
        let found = view.search(&query, &scope, k, Effort::Planned).unwrap();
        // So few rows that every list is looked through: the answer is the exact one.
        prop_assert_eq!(found, by_sorting(&view, &query, &scope, k));
    }
}

/// SHARE-37: answers from lists miss little, with and without a filter, be it random or a few clusters.
#[test]
fn lists_find_what_a_sort_finds() {
    let data = clustered(20_200, 48, 60);
    let (vectors, queries) = data.split_at(20_000);
    let view = with_lists(view_of(vectors));
    let query = &queries[0];
    let half: RoaringBitmap = (0..20_000).filter(|row| row % 2 == 0).collect();
    let tenth: RoaringBitmap = (0..20_000).filter(|row| row % 10 == 3).collect();
    let near = view.search(query, &ALL, 5_000, Effort::Exact).unwrap();
    let far: RoaringBitmap = view.rows() - near.iter().map(|near| near.row).collect::<RoaringBitmap>();
    for rows in [None, Some(&half), Some(&tenth), Some(&far)] {
        let recall = recall(&view, queries, &Allowed { rows, admits: &|_| true, weights: &[] });
        assert!(recall >= 0.95, "{recall} under {:?} rows", rows.map(RoaringBitmap::len));
    }
    let recall = recall(&view, queries, &Allowed { rows: None, admits: &|row| row % 50 == 1, weights: &[] });
    assert!(recall >= 0.95, "{recall} where one in fifty is admitted");
}

/// SHARE-37: lists are for speed. Without a filter, most rows of a large view are not even asked about.
#[test]
fn lists_are_not_looked_through_to_the_end() {
    let view = with_lists(view_of(&clustered(40_000, 16, 40)));
    let query = view.vector(17).unwrap();
    let mut shortlist = Shortlist::new(10, &|_| true, &[]);
    let lists = view.lists.as_ref().unwrap();
    let query = &Query::new(query.to_vec());
    let offered = kernel::run(Probe { lists, query, visible: &Visible::All, shortlist: &mut shortlist });
    assert!(offered < 20_000, "{offered} of 40,000 rows compared");
}

/// SHARE-37: what may not be seen is never asked about, so it cannot take a visible row's place.
#[test]
fn hidden_rows_are_not_considered() {
    let view = with_lists(view_of(&clustered(500, 8, 5)));
    let rows: RoaringBitmap = (0..500).filter(|row| row % 7 == 0).collect();
    for effort in [Effort::Exact, Effort::Planned] {
        let admits = |row: Row| {
            assert!(row.is_multiple_of(7), "row {row} is hidden");
            true
        };
        let scope = Allowed { rows: Some(&rows), admits: &admits, weights: &[] };
        assert_eq!(view.search(&[1.0; 8], &scope, 10, effort).unwrap().len(), 10);
    }
}

/// SHARE-22: of equal vectors the newer comes first, also from lists.
#[test]
fn ties_go_to_the_newer() {
    let view = with_lists(view_of(&vec![vec![0.3, -0.2, 0.9]; 100]));
    for effort in [Effort::Exact, Effort::Planned] {
        let found = view.search(&[1.0, 2.0, 3.0], &ALL, 3, effort).unwrap();
        assert_eq!(found.iter().map(|near| near.row).collect::<Vec<_>>(), [99, 98, 97]);
    }
}

#[test]
fn only_vectors_of_the_view_enter() {
    let mut view = VectorView::new(2);
    let mut check = |vector: &[f32], expected| {
        assert_eq!(view.insert(0, vector), Err(expected));
        assert_eq!(view.search(vector, &ALL, 1, Effort::Exact), Err(expected));
        assert!(view.is_empty());
    };
    check(&[1.0], NotAVector::Dimensions { expected: 2, found: 1 });
    check(&[1.0, f32::NAN], NotAVector::NotFinite);
    check(&[1.0, f32::INFINITY], NotAVector::NotFinite);
    check(&[0.0, -0.0], NotAVector::NoLength);
}

#[test]
fn vectors_are_kept_at_unit_length() {
    let mut view = VectorView::new(2);
    view.insert(9_000, &[3e30, 4e30]).unwrap();
    view.insert(1, &[3e-30, -4e-30]).unwrap();
    let check = |row, expected: [f32; 2]| {
        let kept = view.vector(row).unwrap();
        assert!(kept.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-6), "{kept:?}");
    };
    check(9_000, [0.6, 0.8]);
    check(1, [0.6, -0.8]);
    assert_eq!((view.vector(0), view.vector(u32::MAX), view.len()), (None, None, 2));
}

#[test]
fn what_is_removed_never_comes_back() {
    let mut view = with_lists(view_of(&clustered(600, 8, 5)));
    let late = made(&view, 2);
    let gone: Vec<Row> = (0..600).filter(|row| row % 3 == 0).collect();
    gone.iter().for_each(|row| view.remove(*row));
    let check = |view: &VectorView| {
        for effort in [Effort::Exact, Effort::Planned] {
            let found = view.search(&[0.5; 8], &ALL, 600, effort).unwrap();
            assert_eq!(found.len(), 400);
            assert!(found.iter().all(|near| near.row % 3 != 0));
        }
    };
    check(&view);
    assert_eq!(view.vector(3), None);
    // These were made while the rows were still there.
    view.adopt(late);
    check(&view);
}

#[test]
fn removing_zeroes_the_memory() {
    let mut view = with_lists(view_of(&clustered(50, 8, 2)));
    view.remove(49);
    let (number, place) = place_of(49);
    let segment = view.segment(number).unwrap();
    assert_eq!(segment.vector(place).unwrap(), [0.0; 8]);
    assert_eq!(segment.codes.get(place).unwrap().0, [0; 8]);
    assert!(!view.lists.as_ref().unwrap().rows().contains(49));
}

#[test]
fn rows_that_come_or_change_are_found_in_lists() {
    let mut view = with_lists(view_of(&clustered(600, 8, 5)));
    let late = made(&view, 2);
    let check = |view: &VectorView, row, vector: &[f32]| {
        let found = view.search(vector, &ALL, 1, Effort::Planned).unwrap();
        assert_eq!(found.first().map(|near| near.row), Some(row));
        assert_eq!(view.lists.as_ref().unwrap().rows(), view.rows());
    };
    let (new, other) =
        ([9.0, -9.0, 9.0, -9.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0, -9.0, 9.0, 0.0, 0.0]);
    view.insert(700, &new).unwrap();
    view.insert(5, &other).unwrap();
    check(&view, 700, &new);
    check(&view, 5, &other);
    // These were made before.
    assert!(view.adopt(late).is_some());
    check(&view, 700, &new);
    check(&view, 5, &other);
}

#[test]
fn lists_are_wanted_when_there_are_many_rows() {
    let mut view = view_of(&clustered(100, 4, 3));
    assert!(!view.wants_lists());
    view.exact_rows_max = 99;
    assert!(view.wants_lists());
    view = with_lists(view);
    assert!(!view.wants_lists());
    (100..199).for_each(|row| view.insert(row, &[1.0; 4]).unwrap());
    assert!(!view.wants_lists());
    view.insert(199, &[1.0; 4]).unwrap();
    assert!(view.wants_lists());
}

#[test]
fn the_same_seed_makes_the_same_lists() {
    let view = view_of(&clustered(3_000, 8, 20));
    let bytes = |seed| {
        let mut view = view_of(&clustered(3_000, 8, 20));
        view.adopt(made(&view, seed));
        view.export_lists().unwrap()
    };
    assert_eq!(view.sample(1), view.sample(1));
    assert!(bytes(1) == bytes(1));
    assert!(bytes(1) != bytes(2));
}

/// CAL-12, CAL-35, acceptance 11: at trust .25 a cosine of .8 counts .40, at .81 one of .5 counts .45; the vectors stay as they are.
#[test]
fn what_is_trusted_more_ranks_higher() {
    let at = |cosine: f32| [cosine, (1.0 - cosine * cosine).sqrt()];
    let mut view = VectorView::new(2);
    view.insert(0, &at(0.8)).unwrap();
    view.insert(1, &at(0.5)).unwrap();
    let scope = Allowed { weights: &[0.25_f32.sqrt(), 0.81_f32.sqrt()], ..ALL };
    let found = view.search(&[1.0, 0.0], &scope, 2, Effort::Exact).unwrap();
    assert_eq!(found.iter().map(|near| near.row).collect::<Vec<_>>(), [1, 0]);
    assert!((found[0].counted - 0.45).abs() < 1e-6 && (found[1].counted - 0.40).abs() < 1e-6);
    assert!((found[1].cosine - 0.8).abs() < 1e-6);
    assert!((view.vector(0).unwrap()[0] - 0.8).abs() < 1e-6, "trust scales no vector");
}
