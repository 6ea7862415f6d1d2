//! The graph kept up is the graph folded anew, and a walk finds what trying every path finds.

use super::*;
use crate::item::{RELATION, Triple};
use proptest::prelude::*;

fn tie(subject: &str, kind: &str, object: &str) -> Tie {
    let [subject, predicate, object] = [subject, kind, object].map(str::to_owned);
    let triple = Some(Triple { subject, predicate, object });
    Tie::of(&Content { triple, ..Content::plain(RELATION, "x") }).unwrap()
}

fn view(ties: &[(&str, &str, &str)]) -> RelationsView {
    let mut view = RelationsView::default();
    for (row, (subject, kind, object)) in ties.iter().enumerate() {
        view.write(row as Row * 3, &tie(subject, kind, object));
    }
    view
}

fn again(view: &RelationsView) -> RelationsView {
    let bytes = minicbor::to_vec(view).unwrap();
    let mut again: RelationsView = minicbor::decode(&bytes).unwrap();
    again.index();
    again
}

fn rows(links: impl Iterator<Item = Link>) -> Vec<Row> {
    links.map(|link| link.row).collect()
}

/// CAL-16, CAL-17: nodes and types are one however they are written; what ended is found in the past alone.
#[test]
fn what_is_forgotten_is_past() {
    let mut view =
        view(&[("Ana", "worksAt", "Acme"), ("ana", "works_at", "Beta"), ("Beta", "part of", "ACME")]);
    let ana = view.node(" ANA ").unwrap();
    assert_eq!(view.kind("works at"), view.kind("worksAt"));
    assert_eq!(rows(view.masked(false, |_| true).leaving(ana)), [0, 3]);
    view.forget(0);
    view.forget(0);
    view.forget(7);
    assert_eq!(rows(view.masked(false, |_| true).leaving(ana)), [3]);
    assert_eq!(rows(view.masked(true, |_| true).leaving(ana)), [0, 3]);
    assert_eq!(rows(view.masked(true, |row| row != 3).leaving(ana)), [0]);
    let acme = view.node("acme").unwrap();
    assert_eq!(rows(view.masked(false, |_| true).entering(acme)), [6]);
    assert_eq!(view.ends(6), Some((view.node("beta").unwrap(), acme)));
    assert_eq!((view.ends(1), view.node("nobody")), (None, None));
    assert_eq!(again(&view), view);
}

/// CAL-16: nodes are found by the words of their names, items by none.
#[test]
fn nodes_are_found_by_their_words() {
    let item = ItemId::from_bytes([3; 16]);
    let view = view(&[("Billing Service", "calls", "mail service"), (&item.to_string(), "cites", "Ana")]);
    let mut found = view.named(&["servic".to_owned(), "bill".to_owned()]);
    found.sort_by_key(|(node, _)| *node);
    assert_eq!(found, [(0, 1.0), (1, 0.5)]);
    assert_eq!(view.item(view.node(&item.to_string()).unwrap()), Some(item));
    assert!(view.named(&["itm".to_owned()]).is_empty());
    assert_eq!(again(&view), view);
}

/// A small graph: relations with what they are trusted with, and which of them are hidden.
type Graph = Vec<(u8, u8, u8, u8, bool)>;

fn graphs() -> impl Strategy<Value = Graph> {
    prop::collection::vec((0u8..6, 0u8..3, 0u8..6, 1u8..8, prop::bool::weighted(0.2)), 0..14)
}

fn built(graph: &Graph) -> RelationsView {
    let name = |node: u8| format!("n{node}");
    let mut view = RelationsView::default();
    for (row, (subject, kind, object, ..)) in graph.iter().enumerate() {
        view.write(row as Row, &tie(&name(*subject), &format!("r{kind}"), &name(*object)));
    }
    view
}

fn trust(graph: &Graph, row: Row) -> f64 {
    f64::from(graph[row as usize].3) / 8.0
}

/// Every simple path, by trying all of them.
fn every_path(view: &RelationsView, graph: &Graph, asked: &Walk<'_>) -> Vec<(f64, Vec<Row>)> {
    let mut open: Vec<(f64, Vec<Row>, Vec<Node>)> = vec![(1.0, Vec::new(), vec![asked.from])];
    let mut found = Vec::new();
    while let Some((strength, rows, nodes)) = open.pop() {
        let end = *nodes.last().unwrap();
        if !rows.is_empty() && asked.to.is_none_or(|to| to == end) {
            found.push((strength, rows.clone()));
        }
        if rows.len() == asked.depth {
            continue;
        }
        for (row, relation) in graph.iter().enumerate().filter(|(_, relation)| !relation.4) {
            let row = row as Row;
            let (subject, object) = view.ends(row).unwrap();
            let kind = view.kind(&format!("r{}", relation.1)).unwrap();
            let ways = match asked.direction {
                Direction::Out => vec![(subject, object)],
                Direction::In => vec![(object, subject)],
                Direction::Both => vec![(subject, object), (object, subject)],
            };
            for (_, next) in ways.into_iter().filter(|(from, next)| *from == end && !nodes.contains(next)) {
                if asked.kinds.is_none_or(|kinds| kinds.contains(&kind)) {
                    let rows = [rows.as_slice(), &[row]].concat();
                    open.push((strength * trust(graph, row), rows, [nodes.as_slice(), &[next]].concat()));
                }
            }
        }
    }
    found.sort_by(|a, b| {
        let newest = |rows: &[Row]| rows.iter().max().copied();
        b.0.total_cmp(&a.0).then(newest(&b.1).cmp(&newest(&a.1))).then(b.1.cmp(&a.1))
    });
    found
}

fn of(walked: &Walked) -> Vec<(f64, Vec<Row>)> {
    let rows = |path: &Path| path.hops.iter().map(|hop| hop.row).collect();
    walked.paths.iter().map(|path| (path.strength, rows(path))).collect()
}

proptest! {
    /// CAL-36: the paths of a walk are the best of all paths, in order, by the product of their trust.
    #[test]
    fn a_walk_finds_the_best_paths(
        graph in graphs(),
        (from, to) in (0u8..6, prop::option::of(0u8..6)),
        kinds in prop::option::of(prop::collection::vec(0u8..3, 0..3)),
        direction in prop::sample::select(Direction::ALL),
        (depth, limit) in (1usize..=4, 1usize..=6),
    ) {
        let view = built(&graph);
        let Some(from) = view.node(&format!("n{from}")) else { return Ok(()) };
        let to = match to.map(|to| view.node(&format!("n{to}"))) {
            Some(None) => return Ok(()),
            found => found.flatten(),
        };
        let kinds: Option<Vec<Kind>> =
            kinds.map(|kinds| kinds.iter().filter_map(|kind| view.kind(&format!("r{kind}"))).collect());
        let asked = Walk { from, to, kinds: kinds.as_deref(), direction, depth, limit };
        let graph_seen = view.masked(false, |row| !graph[row as usize].4);
        let walked = walk(&graph_seen, &asked, |row| trust(&graph, row));
        let mut expected = every_path(&view, &graph, &asked);
        expected.truncate(limit);
        prop_assert!(!walked.truncated);
        prop_assert_eq!(of(&walked), expected);
    }

    /// SHARE-46: what is hidden changes nothing: the walk is the one of a graph without it.
    #[test]
    fn what_is_hidden_changes_no_walk(graph in graphs(), depth in 1usize..=4, limit in 1usize..=6) {
        let open: Graph = graph.iter().filter(|relation| !relation.4).copied().collect();
        let (all, seen) = (built(&graph), built(&open));
        let Some((from, known)) = all.node("n0").zip(seen.node("n0")) else { return Ok(()) };
        let asked = |from| Walk { from, to: None, kinds: None, direction: Direction::Both, depth, limit };
        let hidden = all.masked(false, |row| !graph[row as usize].4);
        let one = walk(&hidden, &asked(from), |row| trust(&graph, row));
        let other = walk(&seen.masked(false, |_| true), &asked(known), |row| trust(&open, row));
        let strengths = |walked: &Walked| walked.paths.iter().map(|path| path.strength).collect::<Vec<_>>();
        prop_assert_eq!(strengths(&one), strengths(&other));
    }

    /// Folding twice is folding once, and a checkpoint gives back the same view, byte for byte.
    #[test]
    fn a_rebuilt_view_is_the_same(graph in graphs(), ended in prop::collection::vec(0u32..14, 0..6)) {
        let mut view = built(&graph);
        ended.iter().for_each(|row| view.forget(*row));
        let again = again(&view);
        prop_assert_eq!(minicbor::to_vec(&again).unwrap(), minicbor::to_vec(&view).unwrap());
        prop_assert_eq!(again, view);
    }
}

/// CAL-36: a walk over a dense graph stops at its limits and says so; a cycle and a self loop do not keep it.
#[test]
fn a_walk_is_bounded() {
    let mut view = RelationsView::default();
    let mut row = 0;
    for subject in 0..40 {
        for object in 0..40 {
            view.write(row, &tie(&format!("n{subject}"), "r", &format!("n{object}")));
            row += 1;
        }
    }
    let node = |name: &str| view.node(name).unwrap();
    let mut asked = Walk {
        from: node("n0"),
        to: Some(node("n39")),
        kinds: None,
        direction: Direction::Both,
        depth: DEPTH_MAX,
        limit: PATHS_MAX,
    };
    let walked = walk(&view.masked(false, |_| true), &asked, |_| 0.5);
    assert_eq!(walked.paths.len(), PATHS_MAX);
    assert!(walked.paths.iter().take(2).all(|path| path.hops.len() == 1));
    asked.to = Some(asked.from);
    assert_eq!(walk(&view.masked(false, |_| true), &asked, |_| 0.5), Walked::default());
    asked.to = None;
    let none = walk(&view.masked(false, |_| false), &asked, |_| 0.5);
    assert_eq!(none, Walked::default());
    let sure = walk(&view.masked(false, |_| true), &asked, |_| f64::NAN);
    assert!(sure.paths.len() <= PATHS_MAX);
}
