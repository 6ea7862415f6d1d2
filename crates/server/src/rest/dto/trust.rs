//! Bodies of rounds and of trust.

use super::words::*;
use serde::{Deserialize, Serialize};
use tabellion_engine::reply::{
    AuditorTrust, ItemTrust, RoundDraft, RoundReply, SpaceTrust, StagedWriteTrust, TrustNumbers, TrustReply,
};
use utoipa::ToSchema;

/// A piece of work that several agents share. Only `goal` is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RoundDraft)]
pub(crate) struct RoundDraftBody {
    /// What it is about: not blank, at most 8,192 characters.
    #[schema(min_length = 1, max_length = 8192, pattern = r"\S")]
    pub(crate) goal: String,
    /// Who takes part, by name or id: agents that the caller's user may invoke. An agent that declares a round takes part anyway; a
    /// person names at least one.
    #[schema(value_type = Option<Vec<ReferenceText>>, max_items = 64)]
    pub(crate) agents: Option<Vec<String>>,
    /// Items that it is about and that the caller may see.
    #[schema(value_type = Option<Vec<ItemIdText>>, max_items = 64)]
    pub(crate) items: Option<Vec<String>>,
    /// Texts that it is about, each of 1 to 8,192 characters.
    #[schema(max_items = 16)]
    pub(crate) texts: Option<Vec<String>>,
    /// Where it works; `default` unless given.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$")]
    pub(crate) namespace: Option<String>,
    /// Who sees what is written in it. `all`, the default: it counts as the work of all who take part, so who may invoke each of them
    /// sees it. `own`: it counts as its writer's work alone.
    #[schema(pattern = "^(all|own)$")]
    pub(crate) visibility: Option<String>,
}

/// A round that was declared.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Round)]
pub(crate) struct RoundBody {
    /// Its id: what is searched and written with it as `trace_id` belongs to the round.
    #[schema(value_type = RoundIdText)]
    pub(crate) id: String,
    /// Who takes part.
    #[schema(value_type = Vec<AgentIdText>)]
    pub(crate) agents: Vec<String>,
    /// Where it works.
    pub(crate) namespace: String,
    /// Until when.
    #[schema(value_type = TimeText)]
    pub(crate) expires_at: String,
    /// Who sees what is written in it: `all` or `own`.
    #[schema(pattern = "^(all|own)$")]
    pub(crate) visibility: &'static str,
}

/// How far things can be trusted in a namespace, or one thing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TrustTold)]
pub(crate) struct TrustBody {
    /// Where.
    pub(crate) namespace: String,
    /// The item that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) item: Option<ItemTrustBody>,
    /// Writes that wait and that the caller may see; at most 500.
    pub(crate) staged: Vec<StagedTrustBody>,
    /// What was scored there, for those who audit; at most 100.
    pub(crate) spaces: Vec<SpaceTrustBody>,
}

/// How far an item can be trusted, and why.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ItemTrust)]
pub(crate) struct ItemTrustBody {
    /// The item, or the one that a waiting write will be.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// As everyone sees it.
    #[schema(value_type = TrustWord)]
    pub(crate) trust: &'static str,
    /// How it came to that.
    #[schema(value_type = TrustStatusWord)]
    pub(crate) status: &'static str,
    /// In words.
    pub(crate) reasons: Vec<String>,
    /// In numbers, for those who audit.
    #[serde(flatten)]
    pub(crate) numbers: TrustNumbersBody,
}

/// What a trust is made of; for those who audit, and nothing for others.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = TrustNumbers)]
pub(crate) struct TrustNumbersBody {
    /// How far it is trusted today.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) rho: Option<f64>,
    /// What spoke for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, nullable = false)]
    pub(crate) evidence: Option<f64>,
    /// What spoke at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, nullable = false)]
    pub(crate) count: Option<f64>,
    /// How it was scored first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) scored: Option<f64>,
    /// How little it crowds what is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) detect: Option<f64>,
    /// How little it changed what others found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) align: Option<f64>,
    /// What it had to reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) threshold: Option<f64>,
    /// While it waits, how alike those are answered, with it and without it, whom it comes near.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0, nullable = false)]
    pub(crate) agreed: Option<f64>,
}

/// A write that waits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StagedTrust)]
pub(crate) struct StagedTrustBody {
    /// Its review.
    #[schema(value_type = ReviewIdText)]
    pub(crate) review: String,
    /// The item that it will be.
    #[schema(value_type = ItemIdText)]
    pub(crate) id: String,
    /// As everyone who sees it sees it.
    #[schema(value_type = TrustWord)]
    pub(crate) trust: &'static str,
    /// In numbers, for those who audit.
    #[serde(flatten)]
    pub(crate) numbers: TrustNumbersBody,
}

/// What was scored among the same agents.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TrustSpace)]
pub(crate) struct SpaceTrustBody {
    /// `items` or `relations`.
    #[schema(value_type = String, pattern = "^(items|relations)$")]
    pub(crate) kind: &'static str,
    /// The agents whose work it is, by name.
    pub(crate) agents: Vec<String>,
    /// Writes that were scored.
    pub(crate) rounds: u64,
    /// What a write has to reach.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) threshold: f64,
    /// Whether too little is known to tell.
    pub(crate) cold: bool,
    /// Commits that the threshold is made of.
    pub(crate) window: u64,
    /// How credible auditors are.
    pub(crate) auditors: Vec<AuditorTrustBody>,
}

/// How credible an auditor is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditorTrust)]
pub(crate) struct AuditorTrustBody {
    /// The agent, by name.
    pub(crate) agent: String,
    /// From 0 to 1.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub(crate) credibility: f64,
}

/// What was scored again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Recalibrated)]
pub(crate) struct RecalibratedBody {
    /// How many moved.
    pub(crate) moved: u64,
}

impl From<RoundDraftBody> for RoundDraft {
    fn from(body: RoundDraftBody) -> Self {
        Self {
            goal: body.goal,
            agents: body.agents.unwrap_or_default(),
            items: body.items.unwrap_or_default(),
            texts: body.texts.unwrap_or_default(),
            namespace: body.namespace,
            visibility: body.visibility,
        }
    }
}

impl From<RoundReply> for RoundBody {
    fn from(round: RoundReply) -> Self {
        let RoundReply { id, agents, namespace, expires_at, visibility } = round;
        let (expires_at, visibility) = (expires_at.to_string(), visibility.as_str());
        Self { id, agents, namespace, expires_at, visibility }
    }
}

impl From<TrustReply> for TrustBody {
    fn from(told: TrustReply) -> Self {
        Self {
            namespace: told.namespace,
            item: told.item.map(Into::into),
            staged: told.staged.into_iter().map(Into::into).collect(),
            spaces: told.spaces.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ItemTrust> for ItemTrustBody {
    fn from(item: ItemTrust) -> Self {
        Self {
            id: item.id.to_string(),
            trust: item.trust.as_str(),
            status: item.status,
            reasons: item.reasons,
            numbers: item.numbers.map(Into::into).unwrap_or_default(),
        }
    }
}

impl From<TrustNumbers> for TrustNumbersBody {
    fn from(numbers: TrustNumbers) -> Self {
        let TrustNumbers { rho, evidence, count, scored, detect, align, threshold, agreed } = numbers;
        let [rho, evidence, count, scored, detect, align, threshold] =
            [rho, evidence, count, scored, detect, align, threshold].map(Some);
        Self { rho, evidence, count, scored, detect, align, threshold, agreed }
    }
}

impl From<StagedWriteTrust> for StagedTrustBody {
    fn from(staged: StagedWriteTrust) -> Self {
        Self {
            review: staged.review.to_string(),
            id: staged.id.to_string(),
            trust: staged.trust.as_str(),
            numbers: staged.numbers.map(Into::into).unwrap_or_default(),
        }
    }
}

impl From<SpaceTrust> for SpaceTrustBody {
    fn from(space: SpaceTrust) -> Self {
        Self {
            kind: space.kind,
            agents: space.agents,
            rounds: space.rounds,
            threshold: space.threshold,
            cold: space.cold,
            window: space.window as u64,
            auditors: space.auditors.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<AuditorTrust> for AuditorTrustBody {
    fn from(AuditorTrust { agent, credibility }: AuditorTrust) -> Self {
        Self { agent, credibility }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabellion_core::id::ItemId;
    use tabellion_engine::reply::TrustBand;

    fn told(numbers: Option<TrustNumbers>) -> serde_json::Value {
        let (id, reasons) = (ItemId::from_bytes([7; 16]), Vec::new());
        let item = ItemTrust { id, trust: TrustBand::Medium, status: "scored", reasons, numbers };
        serde_json::to_value(ItemTrustBody::from(item)).unwrap()
    }

    /// CAL-41: whoever does not audit gets a band and words, and not one number.
    #[test]
    fn numbers_are_left_out_where_there_are_none() {
        let plain = told(None);
        assert!(plain.as_object().unwrap().values().all(|value| !value.is_number()), "{plain}");
        let numbers = TrustNumbers {
            rho: 0.6,
            evidence: 1.0,
            count: 1.0,
            scored: 0.7,
            detect: 0.5,
            align: 0.9,
            threshold: 0.5,
            agreed: None,
        };
        let told = told(Some(numbers));
        assert!(told["rho"] == 0.6 && told.get("agreed").is_none(), "{told}");
    }
}
