//! The policy gate: what policy allows of what the writer asked for.

use super::facts::GateFacts;
use super::risk::REPUTATION_MIN;
use super::{Assessment, Cause, Force, GateName, Hold, Replaces, WriteRequest};
use crate::error::{Code, Fault, Refusal};
use crate::item::{Layer, Tier, TierWish};

/// The tier that a wish leads to. Sharing is off until a policy turns it on.
pub(super) fn tier(wish: TierWish) -> Result<Tier, Refusal> {
    match wish {
        TierWish::Auto | TierWish::Private => Ok(Tier::Private),
        TierWish::Shared | TierWish::Both => {
            let fault = Fault::new("/tier", Code::SharingOff, "auto or private").found(wish.as_str());
            Err(Refusal::new(Code::SharingOff, "sharing is off: write with tier `auto` or `private`")
                .at(GateName::Policy)
                .with(vec![fault]))
        }
    }
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
    hold
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
    if force == Force::Off {
        return floors;
    }
    let (score, tier) = (assessment.risk.score(), assessment.risk.hold());
    let counts = if force == Force::Stops { Hold::Async } else { Hold::Sync };
    if tier >= counts {
        floors.push((tier, format!("its risk is {score:.3}")));
    }
    if facts.reputation.is_some_and(|reputation| reputation < REPUTATION_MIN) {
        floors.push((
            Hold::Async,
            format!("less than {REPUTATION_MIN} of what this agent wrote proved correct"),
        ));
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
