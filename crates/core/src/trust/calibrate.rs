//! From what is known of a write to its trust (CAL-1 to 3, 15, 24, 30, 32, 37, 38, 43).
//!
//! Items are gated one by one, so that a bad one does not pass among good ones. Relations are gated together, because they
//! support each other, but one that is odd in itself is staged alone. A delta of both kinds is asked for once for each kind,
//! with the facts of that kind; where one delta holds both they meet the same threshold, and neither counts for the other.
//!
//! Invariant: a `Calibrated` is made here and nowhere else.

use super::credibility::bounded;
use super::stored::at_commit;
use super::{
    ENOUGH, Evidence, Gate, LEAST, NEUTRAL, ODD, Parts, Past, Profile, Stored, clamp, detect, gate,
    is_magnet, mean, moved, rho, step,
};
use std::collections::BTreeMap;

/// The share of the auditors' weight above which one model family makes them one voice.
const CORRELATED: f64 = 0.8;
/// How far the paths of a relation count, at least and at most.
const PATH_SHARE: (f64, f64) = (0.25, 0.75);

/// What the server took of an auditor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Probing {
    /// There was no probe, and none was owed: nothing follows.
    Abstained,
    /// The probe was not one (CAL-28): it says nothing of the write, and something of the auditor.
    Invalid,
    /// The probe was valid and lies too far from the relation to say anything of it (CAL-25).
    Silent,
    /// The probe was valid.
    Valid {
        /// How alike the auditor is answered with the write and without it, from 0 to 1.
        agreement: f64,
        /// Whether the write came near enough to change anything.
        informative: bool,
    },
}

/// One party besides the contributor's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auditor {
    /// How far its probes count, from 0 to 1.
    pub weight: f64,
    /// Its model family, where that is known.
    pub family: Option<u32>,
    /// What was taken of it.
    pub probing: Probing,
}

/// What is proposed, as far as it lies in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// Vector items.
    pub items: Vec<ItemFacts>,
    /// Relations.
    pub relations: Vec<RelationFacts>,
}

/// One item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ItemFacts {
    /// How crowded its place is (`ratio`).
    pub ratio: f64,
    /// How much nearer it lies to everything than stored items do (`crowding`).
    pub crowding: f64,
}

/// One relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelationFacts {
    /// How it fits its ends (CAL-19).
    pub local: f64,
    /// How it fits the paths between them (CAL-23).
    pub path: f64,
    /// Both ends were there before.
    pub existed: bool,
}

/// What a score may keep out of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gating {
    /// Nothing: the score only weighs.
    Nothing,
    /// Magnets alone: outside of a declared round nobody promised to audit.
    Magnets,
    /// Whatever does not reach the threshold: the write is part of a declared round.
    Threshold,
}

/// Everything else that trust follows from. There is no field for a vote, a stated confidence or a comment (CAL-2).
#[derive(Debug, Clone, PartialEq)]
pub struct CalFacts {
    /// Which formulas.
    pub profile: Profile,
    /// Which parts of them.
    pub parts: Parts,
    /// How many memories of this kind there are.
    pub memory: u64,
    /// The auditors of this round.
    pub auditors: Vec<Auditor>,
    /// What may be staged for its score.
    pub gating: Gating,
    /// What became of writes of this kind, oldest first.
    pub past: Vec<Past>,
    /// How many parties there are.
    pub parties: usize,
}

/// What became of one item or relation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// How it lies in memory.
    pub detect: f64,
    /// Its trust.
    pub rho: f64,
    /// Whether it is committed; if not, it is staged.
    pub admitted: bool,
    /// The evidence that it starts with.
    pub stored: Stored,
}

/// A round's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    detect: f64,
    align: f64,
    rho: f64,
    informative: f64,
    agreement: Option<f64>,
    gate: Gate,
    correlated: bool,
    provisional: bool,
    advisory: bool,
    items: Vec<Scored>,
    relations: Vec<Scored>,
    weights: Vec<f64>,
}

impl Calibrated {
    /// How the whole delta lies in memory.
    #[must_use]
    pub const fn detect(&self) -> f64 {
        self.detect
    }

    /// How little it disturbs what auditors are answered.
    #[must_use]
    pub const fn align(&self) -> f64 {
        self.align
    }

    /// The trust of the whole delta.
    #[must_use]
    pub const fn rho(&self) -> f64 {
        self.rho
    }

    /// How many probes say something of it, by weight: the evidence that a commit starts with.
    #[must_use]
    pub const fn informative(&self) -> f64 {
        self.informative
    }

    /// How alike those were answered, with the items and without them, whom they come near; nothing if there are none.
    #[must_use]
    pub const fn agreement(&self) -> Option<f64> {
        self.agreement
    }

    /// What it had to reach.
    #[must_use]
    pub const fn gate(&self) -> Gate {
        self.gate
    }

    /// Too little was known to compare with: of what is committed, or, where no search says anything of it, of how others lie.
    #[must_use]
    pub const fn provisional(&self) -> bool {
        self.provisional
    }

    /// One model family holds nearly all of the auditors' weight, so their evidence counts half.
    #[must_use]
    pub const fn correlated(&self) -> bool {
        self.correlated
    }

    /// Nothing could be staged: there was nobody, or nothing, to compare with.
    #[must_use]
    pub const fn advisory(&self) -> bool {
        self.advisory
    }

    /// The items, as in the delta.
    #[must_use]
    pub fn items(&self) -> &[Scored] {
        &self.items
    }

    /// The relations, as in the delta.
    #[must_use]
    pub fn relations(&self) -> &[Scored] {
        &self.relations
    }

    /// The auditors' weights after this round, in their order.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// The trust of a delta, from the memory that it would enter and the probes of its auditors.
#[must_use]
pub fn calibrate(delta: &Delta, facts: &CalFacts) -> Calibrated {
    let panel = Panel::heard(facts);
    let gate = gate(facts.profile, &facts.past, facts.memory, facts.parties);
    // Where nothing is known and nobody can be heard, a text says too little of itself; relations say how they fit the graph.
    let nothing_to_go_by = gate.cold && panel.count == 0 && delta.relations.is_empty();
    let advisory = facts.gating != Gating::Threshold || facts.auditors.is_empty() || nothing_to_go_by;
    let correlated = panel.correlated();
    let informative = panel.evidence(facts, correlated);
    let bench = Bench { facts, gate, advisory, informative };

    let (item_detects, items_detect) = items_detect(&delta.items, facts);
    let (relation_detects, relations_detect) = relations_detect(&delta.relations, facts);
    // Outside of a round nobody owes a search: where there is none, what others find counts as for a usual write.
    let unasked = facts.gating != Gating::Threshold && panel.count == 0;
    let align = |asked: f64| if unasked { 1.0 } else { asked };
    let item_align = align(panel.align_items(facts));
    let relation_align = align(panel.align_relations(facts));

    let (detect, align) = if delta.items.is_empty() {
        (relations_detect, relation_align)
    } else {
        let both = [(items_detect, delta.items.len()), (relations_detect, delta.relations.len())];
        (joint(&both), item_align)
    };
    let lying = delta.items.iter().zip(&item_detects);
    let items = lying.map(|(item, detect)| bench.item(item, *detect, item_align)).collect();
    let relations = bench.relations(&relation_detects, relations_detect, relation_align);
    let rho = trust(facts.parts, detect, align);
    // Of a relation walks say whether it fits, not whether anything that was found would change.
    let agreement = if delta.items.is_empty() { None } else { panel.agreement() };
    let weights = new_weights(facts);
    let by_density_alone = facts.gating != Gating::Threshold && informative <= 0.0;
    let provisional = if by_density_alone { sparse(facts) || !facts.parts.detect } else { gate.cold };
    Calibrated {
        detect,
        align,
        rho,
        informative,
        agreement,
        gate,
        correlated,
        provisional,
        advisory,
        items,
        relations,
        weights,
    }
}

/// What admits and what does not.
struct Bench<'a> {
    facts: &'a CalFacts,
    gate: Gate,
    advisory: bool,
    informative: f64,
}

impl Bench<'_> {
    fn item(&self, item: &ItemFacts, detect: f64, align: f64) -> Scored {
        let parts = self.facts.parts;
        let rho = trust(parts, detect, align);
        let magnet = self.facts.gating == Gating::Magnets
            && parts.detect
            && !sparse(self.facts)
            && is_magnet(item.crowding);
        if magnet {
            let rho = trust(parts, LEAST, align);
            return Scored { detect: LEAST, rho, admitted: false, stored: self.stored(LEAST, rho) };
        }
        self.scored(detect, rho, self.passes(rho))
    }

    /// What it starts with. What no search or walk says anything of, outside of a round, is weighed by how it lies: what crowds others, or goes with nothing, is
    /// worth less; what stands alone is worth no more than what is usual, or nonsense would come first.
    fn stored(&self, detect: f64, rho: f64) -> Stored {
        let in_round = self.facts.gating == Gating::Threshold;
        let lies = !in_round && self.facts.parts.detect && !sparse(self.facts);
        if self.informative > 0.0 || !lies {
            return at_commit(rho, self.informative, self.gate.cold);
        }
        let (score, mass) = Evidence::Density { detect }.parts();
        Stored::default().with(score, mass)
    }

    fn relations(&self, detects: &[f64], together: f64, align: f64) -> Vec<Scored> {
        let parts = self.facts.parts;
        let all = self.passes(trust(parts, together, align));
        let odd = |detect: f64| parts.detect && detect < ODD && !self.accepts_all();
        let scored = |detect: &f64| self.scored(*detect, trust(parts, *detect, align), all && !odd(*detect));
        detects.iter().map(scored).collect()
    }

    fn passes(&self, rho: f64) -> bool {
        self.accepts_all() || rho >= self.gate.threshold
    }

    /// As published, a gate that knows nothing lets everything in.
    fn accepts_all(&self) -> bool {
        self.gate.cold && self.facts.profile == Profile::Ref
    }

    fn scored(&self, detect: f64, rho: f64, passes: bool) -> Scored {
        Scored { detect, rho, admitted: passes || self.advisory, stored: self.stored(detect, rho) }
    }
}

/// Trust; a part that is left out says of everything what it says of a usual write: it lies as densely as others do, and changes nothing
/// that others find. So scores stay where a fence is meant for them.
fn trust(parts: Parts, detect: f64, align: f64) -> f64 {
    rho(if parts.detect { detect } else { NEUTRAL }, if parts.align { align } else { 1.0 })
}

/// Whether there are too few memories for a score to say anything (CAL-37).
fn sparse(facts: &CalFacts) -> bool {
    facts.memory < ENOUGH as u64
}

/// How each item lies in memory, and how all of them do.
fn items_detect(items: &[ItemFacts], facts: &CalFacts) -> (Vec<f64>, f64) {
    if sparse(facts) {
        return (vec![NEUTRAL; items.len()], NEUTRAL);
    }
    let each: Vec<f64> = items.iter().map(|item| detect(facts.profile, item.ratio)).collect();
    let all = match facts.profile {
        Profile::Ref => mean(items.iter().map(|item| item.ratio)).map(|ratio| detect(Profile::Ref, ratio)),
        Profile::Ship => mean(each.iter().copied()).map(clamp),
    };
    (each, all.unwrap_or(NEUTRAL))
}

/// How each relation fits into memory, and how all of them do.
fn relations_detect(relations: &[RelationFacts], facts: &CalFacts) -> (Vec<f64>, f64) {
    if sparse(facts) {
        return (vec![NEUTRAL; relations.len()], NEUTRAL);
    }
    let share = path_share(relations, facts.profile);
    let each = relations.iter().map(|relation| clamp(mixed(relation, share, facts.parts)));
    let each: Vec<f64> = each.collect();
    let all = mean(each.iter().copied()).map_or(NEUTRAL, clamp);
    (each, all)
}

/// How far paths count. Shipped, the more the more relations join what was there before. As published, the less the more of
/// them have a path: one that supports them, as far as the facts go.
fn path_share(relations: &[RelationFacts], profile: Profile) -> f64 {
    let share = |holds: &dyn Fn(&RelationFacts) -> bool| {
        mean(relations.iter().map(|relation| if holds(relation) { 1.0 } else { 0.0 })).unwrap_or(NEUTRAL)
    };
    match profile {
        Profile::Ref => 1.0 - share(&|relation| relation.existed && relation.path > 0.0),
        Profile::Ship => share(&|relation| relation.existed).clamp(PATH_SHARE.0, PATH_SHARE.1),
    }
}

fn mixed(relation: &RelationFacts, path_share: f64, parts: Parts) -> f64 {
    match (parts.local, parts.path) {
        (true, true) => (1.0 - path_share) * relation.local + path_share * relation.path,
        (true, false) => relation.local,
        (false, true) => relation.path,
        (false, false) => NEUTRAL,
    }
}

/// The mean of means, by how many each is of.
fn joint(means: &[(f64, usize)]) -> f64 {
    let count: f64 = means.iter().map(|(_, count)| *count as f64).sum();
    let sum: f64 = means.iter().map(|(mean, count)| mean * *count as f64).sum();
    if count > 0.0 { clamp(sum / count) } else { NEUTRAL }
}

/// The weight that an auditor has in this round.
fn weight_of(auditor: &Auditor, parts: Parts) -> f64 {
    if parts.weights { bounded(auditor.weight) } else { 1.0 }
}

/// The auditors who were heard, added up.
#[derive(Default)]
struct Panel {
    count: usize,
    /// Weights of valid probes, and those times how alike they were answered.
    weight: f64,
    agreed: f64,
    /// The same of those that the write comes near.
    informative: f64,
    alike: f64,
    /// The weight of each known family, and of all.
    families: BTreeMap<u32, f64>,
    voices: f64,
}

impl Panel {
    fn heard(facts: &CalFacts) -> Self {
        facts.auditors.iter().fold(Self::default(), |mut panel, auditor| {
            if let Probing::Valid { agreement, informative } = auditor.probing {
                panel.add(weight_of(auditor, facts.parts), auditor.family, agreement, informative);
            }
            panel
        })
    }

    fn add(&mut self, weight: f64, family: Option<u32>, agreement: f64, informative: bool) {
        self.count += 1;
        self.weight += clamp(weight);
        self.agreed += clamp(weight) * bounded(agreement);
        if informative {
            self.informative += weight;
            self.alike += weight * bounded(agreement);
        }
        self.voices += weight;
        if let Some(family) = family {
            *self.families.entry(family).or_default() += weight;
        }
    }

    /// Whether one family is nearly all that was heard (CAL-38).
    fn correlated(&self) -> bool {
        self.families.values().any(|weight| *weight > CORRELATED * self.voices)
    }

    /// How many probes count as evidence, by weight.
    fn evidence(&self, facts: &CalFacts, correlated: bool) -> f64 {
        match (sparse(facts), correlated) {
            (true, _) => 0.0,
            (false, true) => self.informative / 2.0,
            (false, false) => self.informative,
        }
    }

    /// How alike those were answered whom the write comes near.
    fn agreement(&self) -> Option<f64> {
        (self.informative > 0.0).then(|| bounded(self.alike / self.informative))
    }

    /// Alike, with one neutral voice more. What is left out of it neither agrees nor disagrees.
    fn align(&self) -> f64 {
        clamp((self.agreed + NEUTRAL) / (self.weight + 1.0))
    }

    fn align_items(&self, facts: &CalFacts) -> f64 {
        match facts.profile {
            Profile::Ref => clamp(1.0 - (self.weight - self.agreed) / asked(facts)),
            Profile::Ship => self.align(),
        }
    }

    fn align_relations(&self, facts: &CalFacts) -> f64 {
        match facts.profile {
            Profile::Ref => clamp(self.agreed / asked(facts)),
            Profile::Ship => self.align(),
        }
    }
}

/// Everyone who could have been heard: what the published formulas divide by.
fn asked(facts: &CalFacts) -> f64 {
    facts.auditors.len().max(1) as f64
}

/// What the round makes of the auditors' weights (CAL-29).
fn new_weights(facts: &CalFacts) -> Vec<f64> {
    let invalid = facts.auditors.iter().filter(|auditor| auditor.probing == Probing::Invalid).count();
    let probed = facts.auditors.iter().filter(|auditor| auditor.probing != Probing::Abstained).count();
    let moved_by = |auditor: &Auditor| {
        let valid = match auditor.probing {
            Probing::Abstained => return bounded(auditor.weight),
            Probing::Invalid => false,
            Probing::Silent | Probing::Valid { .. } => true,
        };
        let share = match facts.profile {
            Profile::Ref => share(invalid, probed),
            Profile::Ship => share(invalid - usize::from(!valid), probed - 1),
        };
        moved(auditor.weight, valid, step(facts.profile, share))
    };
    if !facts.parts.weights {
        return facts.auditors.iter().map(|auditor| bounded(auditor.weight)).collect();
    }
    facts.auditors.iter().map(moved_by).collect()
}

fn share(of: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
