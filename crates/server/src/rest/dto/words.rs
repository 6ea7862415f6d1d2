//! Texts with a form of their own: ids, words, times, tokens.
//!
//! The words come from the lists in `core`, so that the description cannot fall behind them.

use std::borrow::Cow;
use tabellion_core::access::{Power, Role};
use tabellion_core::gate::{GateName, Hold, OnConflict, Strictness};
use tabellion_core::item::{Classification, Layer, Operation, Status, Tier, TierWish};
use tabellion_core::log::{AgentStatus, Decision, LogName, Recheck, ResourceStatus, UserStatus};
use tabellion_core::orchestrate::History;
use tabellion_core::policy::{Class, Day, PrivateParents, Scalar, Share};
use tabellion_core::provenance::SourceType;
use tabellion_core::rank::Knob;
use tabellion_core::view::{Direction, ReviewState};
use tabellion_engine::reply::QUARANTINED;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! text_type {
    ($($name:ident, $shown:literal, $schema:expr;)*) => {
        $(
            #[doc = concat!("The schema `", $shown, "`; never made, only described.")]
            pub(crate) enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    $schema.schema_type(Type::String).into()
                }
            }

            impl ToSchema for $name {
                fn name() -> Cow<'static, str> {
                    $shown.into()
                }
            }
        )*
    };
}

text_type! {
    TenantIdText, "TenantId", id("^tnt_");
    UserIdText, "UserId", id("^usr_");
    AgentIdText, "AgentId", id("^agt_");
    ResourceIdText, "ResourceId", id("^res_");
    KeyIdText, "KeyId", id("^key_");
    RoleIdText, "RoleId", id("^rol_");
    ItemIdText, "ItemId", id("^itm_");
    SearchIdText, "SearchId", id("^sch_");
    ReviewIdText, "ReviewId", id("^rev_");
    RoundIdText, "RoundId", id("^rnd_");
    RefusalIdText, "RefusalId", id("^ref_");
    KeptIdText, "KeptWriteId", id("^(def|ref)_");
    PendingIdText, "PendingId", id("^(rev|def)_");
    VersionIdText, "VersionId", id("^ver_");
    HeadIdText, "ItemOrVersionId", id("^(itm|ver)_");
    NameText, "Name", text().min_length(Some(1)).max_length(Some(256)).pattern(Some(r"^\S(.*\S)?$")).description(Some("printable text in normal form NFC, at most 256 bytes, that looks like no other name"));
    ReferenceText, "Reference", text().min_length(Some(1)).max_length(Some(256)).pattern(Some(r"\S"));
    TagText, "Tag", text().min_length(Some(1)).max_length(Some(64)).pattern(Some(r"\S"));
    NodeText, "Node", text().min_length(Some(1)).max_length(Some(256)).pattern(Some(r"\S"));
    ReasonText, "Reason", text().max_length(Some(1024));
    TimeText, "Time", text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    TimeGivenText, "TimeGiven", text()
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .pattern(Some("^(19[7-9][0-9]|[2-9][0-9]{3})-"))
        .description(Some("RFC 3339, of the years 1970 to 9999"));
    TokenText, "Token", text().pattern(Some("^[A-Za-z0-9_-]{48}$")).description(Some("a position in the log, sealed for its caller"));
    HashText, "Hash", text().pattern(Some("^[0-9a-f]{64}$"));
    SignatureText, "Signature", text().pattern(Some("^[0-9a-f]{128}$"));
    SecretText, "Secret", text().pattern(Some("^tab_")).description(Some("a credential; shown this once"));
    RecheckWord, "Finding", one_of(Recheck::ALL.iter().map(|word| word.as_str()));
    LayerWord, "Layer", one_of(Layer::ALL.iter().map(|word| word.as_str()));
    ClassificationWord, "Classification", one_of(Classification::ALL.iter().map(|word| word.as_str()));
    TierWord, "Tier", one_of(Tier::ALL.iter().map(|word| word.as_str()));
    TierWishWord, "TierWish", one_of(TierWish::ALL.iter().map(|word| word.as_str()));
    OperationWord, "Operation", one_of(Operation::ALL.iter().map(|word| word.as_str()));
    StatusWord, "Status", one_of(Status::ALL.iter().map(|word| word.as_str()));
    VersionStatusWord, "VersionStatus", one_of(Status::ALL.iter().map(|word| word.as_str()).chain([QUARANTINED]));
    RoleWord, "Role", one_of(Role::ALL.iter().map(|word| word.as_str()));
    AgentStatusWord, "AgentStatus", one_of(AgentStatus::ALL.iter().map(|word| word.as_str()));
    UserStatusWord, "UserStatus", one_of(UserStatus::ALL.iter().map(|word| word.as_str()));
    ResourceStatusWord, "ResourceStatus", one_of(ResourceStatus::ALL.iter().map(|word| word.as_str()));
    GraphWord, "Graph", one_of(["ua", "ar"].into_iter())
        .description(Some("`ua`: which user may invoke which agent; `ar`: which agent may use which resource"));
    HindranceWord, "HindranceReason", one_of(["private", "agent_revoked", "resource_revoked", "role", "clearance", "policy"].into_iter());
    PowerWord, "AdminAction", one_of(Power::ALL.iter().map(|word| word.as_str()));
    LogWord, "Log", one_of(LogName::ALL.iter().map(|word| word.as_str()));
    SourceTypeWord, "SourceType", one_of(SourceType::WORDS.split(", "));
    WriteStatusWord, "WriteStatus", one_of(["committed", "merged", "already_committed", "quarantined"].into_iter());
    GateWord, "Gate", one_of(GateName::ALL.iter().map(|word| word.as_str()));
    StrictnessWord, "WritePolicy", one_of(Strictness::ALL.iter().map(|word| word.as_str()));
    OnConflictWord, "OnConflict", one_of(OnConflict::ALL.iter().map(|word| word.as_str()))
        .description(Some("`supersede`: it takes the place of what it contradicts, where the caller may replace that; `keep_both`: both stay; `review`: a person decides; `reject`: it is refused"));
    CodeText, "Code", text().pattern(Some("^[A-Z_]+$")).description(Some("a row of the registry of refusals"));
    KeptStateWord, "KeptState", one_of(["deferred", "refused"].into_iter());
    ReviewStateWord, "ReviewState", one_of(ReviewState::ALL.iter().map(|word| word.as_str()));
    ReviewFilterWord, "ReviewFilter", one_of(ReviewState::ALL.iter().map(|word| word.as_str()).chain(["archived", "all"]))
        .description(Some("how reviews stand; `archived`: what is kept apart for 90 days or more, which no other list has; `all`: however they stand, as without it"));
    HoldWord, "Hold", one_of(Hold::ALL.iter().map(|word| word.as_str()));
    DecisionWord, "Decision", one_of(Decision::ALL.iter().map(|word| word.as_str()));
    PolicyNameText, "PolicyName", text().pattern(Some("^[a-z0-9_.-]{1,64}$"));
    WaitText, "Wait", text().pattern(Some("^PT[1-9][0-9]*S$")).description(Some("a duration in whole seconds"));
    ShareWord, "Share", one_of(Share::ALL.iter().map(|word| word.as_str()));
    PrivateParentsWord, "PrivateParents", one_of(PrivateParents::ALL.iter().map(|word| word.as_str()));
    ScalarWord, "PolicyScalar", one_of(Scalar::ALL.iter().map(|word| word.as_str()));
    DetectorWord, "Detector", one_of(Class::ALL.iter().map(|word| word.as_str()));
    DayWord, "Day", one_of(Day::ALL.iter().map(|word| word.as_str()));
    AgeText, "Age", text().pattern(Some("^P[1-9][0-9]{0,4}D$")).description(Some("an ISO 8601 duration"));
    TrustWord, "Trust", one_of(["low", "medium", "high"].into_iter());
    TrustStatusWord, "TrustStatus", one_of(["unscored", "provisional", "scored", "demoted", "staged"].into_iter());
    ModeWord, "Mode", one_of(["hybrid", "dense", "lexical", "graph"].into_iter());
    DirectionWord, "Direction", one_of(Direction::ALL.iter().map(|word| word.as_str()));
    HistoryWord, "AskHistory", one_of(History::WORDS.split(", "));
    StoppedWord, "AskStopped", one_of(["complete", "rounds", "invalid", "no_agents", "time"].into_iter());
    KnobWord, "Knob", one_of(Knob::ALL.iter().map(|word| word.as_str()));
}

/// A moment to look back at: a time or a token.
pub(crate) enum AsOfText {}

impl PartialSchema for AsOfText {
    fn schema() -> RefOr<Schema> {
        let either = OneOfBuilder::new().item(TimeGivenText::schema()).item(TokenText::schema());
        either.description(Some("a time, or a token")).into()
    }
}

impl ToSchema for AsOfText {
    fn name() -> Cow<'static, str> {
        "AsOf".into()
    }
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new()
}

/// 16 bytes in base32: the last of 26 digits carries three bits.
fn id(beginning: &str) -> ObjectBuilder {
    text().pattern(Some(format!("{beginning}[a-z2-7]{{25}}[aeimquy4]$")))
}

fn one_of(words: impl Iterator<Item = &'static str>) -> ObjectBuilder {
    text().enum_values(Some(words.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use tabellion_core::id::ItemId;

    #[test]
    fn ids_end_in_a_digit_of_three_bits() {
        for byte in 0..=u8::MAX {
            let id = ItemId::from_bytes([byte; 16]).to_string();
            assert!(id.ends_with(['a', 'e', 'i', 'm', 'q', 'u', 'y', '4']), "{id}");
        }
    }
}
