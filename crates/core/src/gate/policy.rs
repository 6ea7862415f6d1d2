//! The policy gate: what policy allows of what the writer asked for.

use super::facts::GateFacts;
use super::risk::REPUTATION_MIN;
use super::{Assessment, Cause, Force, GateName, Hold, Replaces, Strictness, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::item::{Layer, Tier, TierWish};

/// The tier that a write goes to: that of what it replaces, else what the writer wishes, with policy as the ceiling (SHARE-19).
pub(super) fn tier(request: &WriteRequest, facts: &GateFacts) -> Result<Tier, Refusal> {
    let wish = request.tier;
    let refuse = |code, expected: &str, message: &str| {
        let fault = Fault::new("/tier", code, expected).found(wish.as_str());
        Err(Refusal::new(code, message).at(GateName::Policy).with(vec![fault]))
    };
    let tier = match wish {
        TierWish::Auto => facts.replaced.as_ref().map_or(Tier::Private, |version| version.tier),
        TierWish::Private | TierWish::Both => Tier::Private,
        TierWish::Shared => Tier::Shared,
    };
    if (tier == Tier::Shared || wish == TierWish::Both) && !facts.sharing {
        let message = "sharing is off: write with tier `auto` or `private`";
        return refuse(Code::SharingOff, "auto or private", message);
    }
    if facts.replaced.as_ref().is_some_and(|version| version.tier != tier) {
        let message = "an item stays in its tier; write another one into the other";
        return refuse(Code::ConstraintViolation, "auto, or the tier of the item", message);
    }
    Ok(tier)
}

/// Who has to look: the greatest of the risk's tier and every floor (D10). Adds to the causes why.
pub(super) fn hold(
    request: &WriteRequest,
    facts: &GateFacts,
    assessment: &Assessment,
    risk: Force,
    causes: &mut Vec<Cause>,
) -> Hold {
    let mut hold = if causes.is_empty() { Hold::Auto } else { Hold::Async };
    for (floor, why) in floors(request, facts, assessment, risk) {
        causes.push(because(why));
        hold = hold.max(floor);
    }
    if contradicts_binding(request, facts, assessment) && risk == Force::Stops {
        hold = Hold::Sync;
    }
    // Who names no deadline is not waiting for a person: a client would give up, and what it wrote be refused for silence.
    let waits = facts.strictness == Strictness::Strict || request.deadline.is_some();
    if hold == Hold::Sync && !waits {
        hold = Hold::Async;
    }
    if facts.moderated {
        let message =
            "a moderator took the same statement of this user out of the shared memory; tier private is free";
        causes.insert(0, Cause::new(GateName::Policy, Code::Moderated, message));
        hold = hold.max(Hold::Async);
    }
    if let Some(why) = &facts.anomaly {
        let message = format!("writes of this agent for this user are held for review: {why}");
        causes.insert(0, Cause::new(GateName::Policy, Code::Anomaly, message));
        // Whoever is held goes on; nobody waits on the line for it.
        hold = Hold::Async;
    }
    hold
}

/// Why the write of a pair is held of which too little proved correct.
fn low_reputation() -> String {
    format!("less than {REPUTATION_MIN} of what this agent wrote for this user proved correct")
}

/// Whether that is what a cause says.
#[must_use]
pub fn says_low_reputation(message: &str) -> bool {
    message == low_reputation()
}

fn because(why: impl Into<String>) -> Cause {
    Cause::new(GateName::Policy, Code::ApprovalRequired, why)
}

fn floors(
    request: &WriteRequest,
    facts: &GateFacts,
    assessment: &Assessment,
    force: Force,
) -> Vec<(Hold, String)> {
    let mut floors = Vec::new();
    if facts.proposes {
        let why =
            format!("this agent's roles let it propose {} memory, not write it", request.layer.as_str());
        floors.push((Hold::Async, why));
    }
    // A person's own write carries their own approval (AM-4).
    if force == Force::Off || facts.own_word {
        return floors;
    }
    let (score, tier) = (assessment.risk.score(), assessment.risk.hold());
    let counts = if force == Force::Stops { Hold::Async } else { Hold::Sync };
    if tier >= counts {
        floors.push((tier, format!("its risk is {score:.3}")));
    }
    if facts.reputation.is_some_and(|reputation| reputation < REPUTATION_MIN) {
        floors.push((Hold::Async, low_reputation()));
    }
    if force < Force::Stops {
        return floors;
    }
    if request.layer.is_canonical() {
        floors.push((
            Hold::Async,
            format!("{} memory is written with a person's consent", request.layer.as_str()),
        ));
    }
    if matches!(request.replaces, Some(Replaces::Superseded(_) | Replaces::SupersededVersion(_))) {
        floors.push((Hold::Async, "it supersedes what is known".to_owned()));
    }
    if facts.retracted {
        floors.push((Hold::Async, "this very content was retracted before".to_owned()));
    }
    floors
}

/// Whether it speaks against what others act on without asking: a procedure, or what a person approved.
fn contradicts_binding(request: &WriteRequest, facts: &GateFacts, assessment: &Assessment) -> bool {
    let approved =
        |known| facts.neighbours.iter().any(|neighbour| neighbour.known == known && neighbour.approved);
    !assessment.against.is_empty()
        && (request.layer == Layer::Procedural || assessment.against.iter().any(|one| approved(one.known)))
}
