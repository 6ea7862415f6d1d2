//! What a round promises.

use super::*;
use crate::trust::Draw;
use proptest::prelude::*;

const SOMEWHERE: RelationFacts = RelationFacts { local: 1.0, path: 0.5, existed: false };

fn auditor(probing: Probing) -> Auditor {
    Auditor { weight: 1.0, family: None, probing }
}

fn answered(agreement: f64) -> Auditor {
    auditor(Probing::Valid { agreement, informative: true })
}

/// A memory of 1,000, a warm gate at .61, five auditors of whom each is answered as before.
fn facts() -> CalFacts {
    CalFacts {
        profile: Profile::Ship,
        parts: Parts::default(),
        memory: 1_000,
        auditors: vec![answered(1.0); 5],
        gating: Gating::Threshold,
        past: (0..60).map(|at| Past { party: at % 6, rho: Some(0.65) }).collect(),
        parties: 6,
    }
}

fn items(ratios: &[f64]) -> Delta {
    let item = |ratio: &f64| ItemFacts { ratio: *ratio, crowding: 0.0 };
    Delta { items: ratios.iter().map(item).collect(), relations: Vec::new() }
}

fn relations(relations: &[RelationFacts]) -> Delta {
    Delta { items: Vec::new(), relations: relations.to_vec() }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
}

/// CAL-3, 11, 15: a typical item that disturbs nobody.
#[test]
fn a_typical_item_is_committed() {
    let found = calibrate(&items(&[1.0]), &facts());
    close(found.detect(), 0.5);
    close(found.align(), 5.5 / 6.0);
    close(found.rho(), (0.5_f64 * 5.5 / 6.0).sqrt());
    close(found.gate().threshold, 0.61);
    close(found.informative(), 5.0);
    assert!(found.items()[0].admitted && !found.advisory() && !found.provisional() && !found.correlated());
    close(found.items()[0].stored.mean().unwrap(), found.rho());
    assert_eq!(found.items()[0].stored.count, 5.0);
}

/// CAL-15, CAL-34: how alike they are answered whom a write comes near, by their weight; the others have no say in it.
#[test]
fn only_those_whom_it_comes_near_say_whether_it_takes_their_place() {
    let agreement =
        |auditors: Vec<Auditor>| calibrate(&items(&[1.0]), &CalFacts { auditors, ..facts() }).agreement();
    let far = auditor(Probing::Valid { agreement: 1.0, informative: false });
    let doubted = Auditor { weight: 0.5, ..answered(0.4) };
    assert_eq!(agreement(vec![far; 5]), None);
    assert_eq!(agreement(vec![auditor(Probing::Invalid), auditor(Probing::Abstained)]), None);
    close(agreement(vec![far, far, answered(0.5), answered(1.0)]).unwrap(), 0.75);
    close(agreement(vec![answered(1.0), doubted]).unwrap(), 0.8);
}

/// CAL-30: a magnet among honest items is staged alone.
#[test]
fn dilution_does_not_pay() {
    let found = calibrate(&items(&[0.8, 0.9, 2.5, 0.7, 0.8]), &facts());
    let admitted: Vec<bool> = found.items().iter().map(|item| item.admitted).collect();
    assert_eq!(admitted, [true, true, false, true, true]);
}

/// CAL-15: what displaces what everybody is answered is staged, however lonely it lies.
#[test]
fn disturbing_everyone_is_staged() {
    let facts = CalFacts { auditors: vec![answered(0.2); 5], ..facts() };
    assert!(!calibrate(&items(&[0.5]), &facts).items()[0].admitted);
}

/// CAL-45 (c): a muted auditor counts as nothing, not as agreeing.
#[test]
fn a_muted_auditor_does_not_agree() {
    let mut auditors = vec![answered(0.2); 2];
    auditors.extend([Auditor { weight: 0.0, ..answered(1.0) }; 3]);
    let found = calibrate(&items(&[1.0]), &CalFacts { auditors: auditors.clone(), ..facts() });
    close(found.align(), 0.9 / 3.0);
    let published = calibrate(&items(&[1.0]), &CalFacts { auditors, profile: Profile::Ref, ..facts() });
    close(published.align(), 1.0 - 1.6 / 5.0);
}

/// CAL-28: an invalid probe leaves the score and moves the weight; a silent or abstaining one leaves the score too.
#[test]
fn who_is_not_heard_does_not_count() {
    let others = [Probing::Invalid, Probing::Silent, Probing::Abstained].map(auditor);
    let mut auditors = vec![answered(0.8)];
    auditors.extend(others.map(|one| Auditor { weight: 0.5, ..one }));
    let found = calibrate(&items(&[1.0]), &CalFacts { auditors, ..facts() });
    close(found.align(), 1.3 / 2.0);
    close(found.informative(), 1.0);
    // Half of those who were probed besides the valid ones are invalid; besides the invalid one, none.
    let expected = [1.0, 0.5 * 0.7, 0.75, 0.5];
    for (weight, expected) in found.weights().iter().zip(expected) {
        close(*weight, expected);
    }
}

/// CAL-29: as published one share moves all, and in a clean round nobody moves.
#[test]
fn the_published_share_is_that_of_the_round() {
    let auditors = [Probing::Invalid, Probing::Invalid, Probing::Silent, Probing::Silent, Probing::Abstained];
    let auditors: Vec<Auditor> =
        auditors.iter().map(|probing| Auditor { weight: 0.5, ..auditor(*probing) }).collect();
    let found = calibrate(&items(&[1.0]), &CalFacts { auditors, profile: Profile::Ref, ..facts() });
    assert_eq!(found.weights(), [0.25, 0.25, 0.75, 0.75, 0.5]);
}

/// CAL-24, 30: a new node has one side and no path; two new nodes have nothing.
#[test]
fn new_nodes_are_neither_good_nor_bad() {
    let found = calibrate(&relations(&[SOMEWHERE]), &facts());
    close(found.relations()[0].detect, 0.875);
    let found = calibrate(&relations(&[RelationFacts { local: 0.5, ..SOMEWHERE }]), &facts());
    close(found.relations()[0].detect, 0.5);
}

/// CAL-24: paths count the more the more ends were there, between a quarter and three quarters.
#[test]
fn paths_count_where_both_ends_were() {
    let known = RelationFacts { local: 1.0, path: 0.0, existed: true };
    close(calibrate(&relations(&[known]), &facts()).detect(), 0.25);
    close(calibrate(&relations(&[known, RelationFacts { existed: false, ..known }]), &facts()).detect(), 0.5);
    let published = CalFacts { profile: Profile::Ref, ..facts() };
    close(calibrate(&relations(&[known]), &published).detect(), 1e-6);
    let supported = RelationFacts { path: 0.4, ..known };
    close(calibrate(&relations(&[supported]), &published).detect(), 1.0);
}

/// CAL-30: relations pass together, but an odd one is staged alone; a bad delta is staged whole.
#[test]
fn an_odd_relation_is_staged_alone() {
    let odd = RelationFacts { local: 0.2, path: 0.1, existed: true };
    let good = RelationFacts { local: 0.9, path: 0.9, existed: true };
    let admitted = |list: &[RelationFacts]| -> Vec<bool> {
        calibrate(&relations(list), &facts()).relations().iter().map(|one| one.admitted).collect()
    };
    assert_eq!(admitted(&[good, odd, good, good]), [true, false, true, true]);
    assert_eq!(admitted(&[odd, odd, good]), [false, false, false]);
}

/// CAL-30, 37: an empty namespace takes its first write provisionally, at a half.
#[test]
fn the_first_write_is_provisional() {
    let facts = CalFacts { memory: 0, past: Vec::new(), parties: 0, auditors: Vec::new(), ..facts() };
    for (ratio, profile) in [(0.0, Profile::Ship), (1e9, Profile::Ship), (1e9, Profile::Ref)] {
        let found = calibrate(&items(&[ratio]), &CalFacts { profile, ..facts.clone() });
        let item = found.items()[0];
        assert!(item.admitted && found.provisional() && found.advisory());
        assert_eq!((item.detect, item.stored.rho(), found.informative()), (0.5, 0.5, 0.0));
    }
}

/// CAL-30: under 30 memories probes are no evidence, and while the gate is cold trust stays at a half.
#[test]
fn little_memory_gives_little_trust() {
    let sparse = calibrate(&items(&[0.0]), &CalFacts { memory: 29, ..facts() });
    assert_eq!((sparse.detect(), sparse.informative()), (0.5, 0.0));
    let cold = calibrate(&items(&[0.0]), &CalFacts { past: Vec::new(), ..facts() });
    assert!(cold.provisional() && cold.items()[0].admitted && !cold.advisory());
    assert_eq!(cold.items()[0].stored.rho(), 0.5);
    assert!(!calibrate(&items(&[2.5]), &CalFacts { past: Vec::new(), ..facts() }).items()[0].admitted);
}

/// CAL-43: where nobody audits nothing is staged, however it scores.
#[test]
fn one_user_alone_is_never_staged() {
    let mut facts =
        CalFacts { gating: Gating::Nothing, auditors: Vec::new(), past: Vec::new(), parties: 1, ..facts() };
    for round in 0..1_000_u64 {
        facts.memory = round;
        let found = calibrate(&items(&[(round % 7) as f64]), &facts);
        assert!(found.advisory() && found.items()[0].admitted);
        facts.past.push(Past { party: 1, rho: Some(found.rho()) });
    }
}

/// AM-11: outside of a round a score weighs: what crowds others is worth less, what stands alone no more than what is usual, and
/// nothing is kept out but a magnet.
#[test]
fn outside_of_a_round_only_a_magnet_is_kept_out() {
    let facts = CalFacts { gating: Gating::Magnets, auditors: Vec::new(), past: Vec::new(), ..facts() };
    let of = |ratio: f64, crowding: f64, facts: &CalFacts| {
        let delta = Delta { items: vec![ItemFacts { ratio, crowding }], relations: Vec::new() };
        calibrate(&delta, facts).items()[0]
    };
    let trust = |ratio| of(ratio, 0.0, &facts).stored.rho();
    close(of(1.0, 0.0, &facts).rho, 0.5_f64.sqrt());
    close(trust(1.0), 0.5);
    close(trust(0.0), 0.5);
    close(trust(1.6), 0.4);
    close(trust(3.0), 1.0 / 3.0);
    assert!(of(3.0, 0.0, &facts).admitted);
    let magnet = of(1.5, 50.0, &facts);
    assert!(!magnet.admitted && magnet.detect < ODD && magnet.rho < 0.01);
    for spared in [
        CalFacts { gating: Gating::Nothing, ..facts.clone() },
        CalFacts { memory: 29, ..facts.clone() },
        CalFacts { parts: Parts { detect: false, ..Parts::default() }, ..facts.clone() },
    ] {
        assert!(of(1.5, 50.0, &spared).admitted);
    }
    // Without a vector, or with too little to compare with, nothing is said of it.
    assert_eq!(of(1.5, 0.0, &CalFacts { memory: 29, ..facts.clone() }).stored, Stored::default());
    // Searches weigh: what changes what others find is worth less.
    let heard =
        |agreement| of(1.0, 0.0, &CalFacts { auditors: vec![answered(agreement); 5], ..facts.clone() });
    assert!(heard(0.1).admitted && heard(0.1).stored.rho() < heard(1.0).stored.rho());
}

/// CAL-43: auditors without a valid probe between them stage nothing while the gate is cold, and do once it is warm.
#[test]
fn nothing_to_compare_with_stages_nothing() {
    let auditors = [Probing::Abstained, Probing::Invalid, Probing::Silent].map(auditor).to_vec();
    let cold = CalFacts { auditors: auditors.clone(), past: Vec::new(), ..facts() };
    let found = calibrate(&items(&[3.0]), &cold);
    assert!(found.advisory() && found.items()[0].admitted);
    let found = calibrate(&items(&[3.0]), &CalFacts { auditors, ..facts() });
    assert!(!found.advisory() && !found.items()[0].admitted);
}

/// CAL-38: one family above four fifths of the weight halves the evidence; an unknown family is like no other.
#[test]
fn one_family_is_one_voice() {
    let family = |family, count: usize| vec![Auditor { family, ..answered(1.0) }; count];
    let check = |auditors: Vec<Auditor>, correlated, informative: f64| {
        let found = calibrate(&items(&[1.0]), &CalFacts { auditors, ..facts() });
        assert_eq!(found.correlated(), correlated);
        close(found.informative(), informative);
    };
    check(family(Some(1), 5), true, 2.5);
    check([family(Some(1), 4), family(Some(2), 1)].concat(), false, 5.0);
    check([family(Some(1), 5), family(Some(2), 1)].concat(), true, 3.0);
    check(family(None, 5), false, 5.0);
}

/// CAL-38: the published failure: a shared error looks like agreement, and passes.
#[test]
fn a_shared_error_passes() {
    assert!(rho(0.72, 0.68) >= 0.55);
}

/// What is left out of the product takes everything for usual; of the graph's parts the other one speaks alone.
#[test]
fn parts_can_be_left_out() {
    let check = |parts: Parts, detect: f64, rho: f64| {
        let mut facts = facts();
        facts.parts = parts;
        let delta = relations(&[RelationFacts { local: 0.9, path: 0.5, existed: true }]);
        let found = calibrate(&delta, &facts);
        close(found.detect(), detect);
        close(found.rho(), rho);
    };
    let all = Parts::default();
    let align: f64 = 5.5 / 6.0;
    check(all, 0.6, (0.6 * align).sqrt());
    check(Parts { detect: false, ..all }, 0.6, (0.5 * align).sqrt());
    check(Parts { align: false, ..all }, 0.6, 0.6_f64.sqrt());
    check(Parts { align: false, detect: false, ..all }, 0.6, (0.5 * (1.0 - 1e-6_f64)).sqrt());
    check(Parts { local: false, ..all }, 0.5, (0.5 * align).sqrt());
    check(Parts { path: false, ..all }, 0.9, (0.9 * align).sqrt());
    check(Parts { path: false, local: false, ..all }, 0.5, (0.5 * align).sqrt());

    let mut facts = facts();
    facts.parts.weights = false;
    facts.auditors =
        vec![Auditor { weight: 0.3, ..answered(0.5) }, Auditor { weight: 0.3, ..auditor(Probing::Invalid) }];
    let found = calibrate(&items(&[1.0]), &facts);
    assert_eq!(found.weights(), [0.3, 0.3]);
    close(found.informative(), 1.0);
}

/// CAL-30: one delta with both kinds: neither counts for the other.
#[test]
fn kinds_are_gated_apart() {
    let good = RelationFacts { local: 0.9, path: 0.9, existed: true };
    let both = Delta { items: vec![ItemFacts { ratio: 3.0, crowding: 0.0 }], relations: vec![good] };
    let found = calibrate(&both, &facts());
    assert!(!found.items()[0].admitted && found.relations()[0].admitted);
    close(found.detect(), 0.45);
}

/// The weights of six agents after each of 240 rounds that they contribute to in turn, the first few being adversaries. One
/// honest probe in fifty is invalid, and an adversary's where `lies` says so of contributor and auditor.
fn game(adversaries: usize, lies: impl Fn(usize, usize) -> bool) -> Vec<[f64; 6]> {
    let mut draw = Draw::new(&[2; 32], 1, &[0; 32]);
    let mut weights = [1.0; 6];
    let mut rounds = Vec::new();
    for contributor in (0..6).cycle().take(240) {
        let others: Vec<usize> = (0..6).filter(|agent| *agent != contributor).collect();
        let auditors = others.iter().map(|agent| {
            let slips = draw.below(50) == 0;
            let invalid = if *agent < adversaries { lies(contributor, *agent) } else { slips };
            let probing = if invalid { Probing::Invalid } else { answered(1.0).probing };
            Auditor { weight: weights[*agent], ..auditor(probing) }
        });
        let facts = CalFacts { auditors: auditors.collect(), ..facts() };
        let found = calibrate(&items(&[1.0]), &facts);
        for (agent, weight) in others.iter().zip(found.weights()) {
            weights[*agent] = *weight;
        }
        rounds.push(weights);
    }
    rounds
}

fn mean_of(rounds: &[[f64; 6]], agents: std::ops::Range<usize>) -> f64 {
    mean(rounds.iter().flat_map(|weights| weights[agents.clone()].iter().copied())).unwrap()
}

/// CAL-29: adversaries whose probes are always invalid are muted soon, one alone by the ninth round and three by the sixth;
/// honest auditors are not.
#[test]
fn colluders_are_muted() {
    for (adversaries, by) in [(1, 9), (3, 6)] {
        let rounds = game(adversaries, |_, _| true);
        let muted = |weights: &[f64; 6]| weights[..adversaries].iter().all(|weight| *weight < 0.1);
        assert!(rounds[by - 1..].iter().all(muted), "{adversaries}");
        assert!(mean_of(&rounds, adversaries..6) >= 0.95);
    }
}

/// CAL-29: those who cheat only for each other keep the share in which they do not.
#[test]
fn selective_colluders_keep_their_share() {
    let rounds = game(3, |contributor, _| contributor < 3);
    let weight = mean_of(&rounds[120..], 0..3);
    assert!((weight - 0.6).abs() < 0.05, "{weight}");
}

fn probing() -> impl Strategy<Value = Probing> {
    prop_oneof![
        Just(Probing::Abstained),
        Just(Probing::Invalid),
        Just(Probing::Silent),
        (prop::num::f64::ANY, any::<bool>())
            .prop_map(|(agreement, informative)| Probing::Valid { agreement, informative }),
    ]
}

fn any_auditor() -> impl Strategy<Value = Auditor> {
    (prop::num::f64::ANY, prop::option::of(0..3_u32), probing())
        .prop_map(|(weight, family, probing)| Auditor { weight, family, probing })
}

fn gating() -> impl Strategy<Value = Gating> {
    prop::sample::select(vec![Gating::Nothing, Gating::Magnets, Gating::Threshold])
}

prop_compose! {
    fn any_facts()(
        profile in prop::sample::select(Profile::ALL), memory in 0..200_u64, gating in gating(), parties in 0..5_usize,
        auditors in prop::collection::vec(any_auditor(), 0..6),
        past in prop::collection::vec((0..4_u64, prop::num::f64::ANY), 0..60),
        flags in prop::array::uniform5(any::<bool>()),
    ) -> CalFacts {
        let [detect, align, weights, local, path] = flags;
        let past = past.into_iter().map(|(party, rho)| Past { party, rho: Some(rho) }).collect();
        let parts = Parts { detect, align, weights, local, path };
        CalFacts { profile, parts, memory, auditors, gating, past, parties }
    }
}

proptest! {
    /// CAL-2, 3: the same facts give the same bits, and every number is a score, whatever the facts are.
    #[test]
    fn a_round_is_a_function(
        facts in any_facts(), ratios in prop::collection::vec(prop::num::f64::ANY, 0..4),
        pairs in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY, any::<bool>()), 0..4),
    ) {
        let relations = pairs.into_iter().map(|(local, path, existed)| RelationFacts { local, path, existed }).collect();
        let delta = Delta { relations, ..items(&ratios) };
        let found = calibrate(&delta, &facts);
        let again = calibrate(&delta, &facts);
        prop_assert_eq!((found.rho().to_bits(), found.items().len()), (again.rho().to_bits(), ratios.len()));
        let all = found.items().iter().chain(found.relations());
        let scores = all.clone().flat_map(|one| [one.detect, one.rho, one.stored.rho()]);
        for score in scores.chain([found.detect(), found.rho()]) {
            prop_assert!(score > 0.0 && score < 1.0);
        }
        // Outside of a round, where nobody searched, what others find counts as for a usual write: in full.
        prop_assert!(found.align() > 0.0 && found.align() <= 1.0);
        prop_assert!(!found.advisory() || all.clone().all(|one| one.admitted));
        prop_assert!(!found.provisional() || all.clone().all(|one| one.stored.rho() <= 0.5 + 1e-12));
        prop_assert_eq!(found.weights().len(), facts.auditors.len());
    }

    /// CAL-15: more agreement never lowers trust.
    #[test]
    fn agreement_never_hurts(low in 0.0_f64..1.0, more in 0.0..1.0, weight in 0.0..1.0) {
        let trust = |agreement: f64| {
            let auditors = vec![answered(0.5), Auditor { weight, ..answered(agreement) }];
            calibrate(&items(&[1.0]), &CalFacts { auditors, ..facts() }).rho()
        };
        prop_assert!(trust(low) <= trust(f64::min(low + more, 1.0)));
    }
}
