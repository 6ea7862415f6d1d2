//! What the knowledge base says of a write: a source like any other, with its words and edition (GOV-2.3).

use super::borne_out;
use crate::tenant::Tenant;
use tabellion_core::canonical::{hex, sha256};
use tabellion_core::claim::{Claim, Testimony};
use tabellion_core::gate::{KnowledgeWord, Weighed, WriteRequest};
use tabellion_core::item::{Content, Triple};
use tabellion_core::provenance::{Evidence, SourceType};
use tabellion_core::text::{Analyser, words};
use tabellion_core::time::Timestamp;

/// What it says of a write with a triple, and how much that counts; nothing if it does not know.
///
/// A triple that is confirmed bears the text out only as far as its words do: the text may say more.
pub(super) fn ask(
    tenant: &Tenant,
    request: &WriteRequest,
    now: Timestamp,
) -> Option<(KnowledgeWord, Weighed)> {
    let base = tenant.governance.knowledge.as_ref()?;
    let (fact, denies) = match base.says(request.content.triple.as_ref()?) {
        Testimony::Confirms(fact) => (fact, false),
        Testimony::Denies(fact) => (fact, true),
        Testimony::Nothing => return None,
    };
    let excerpt = sentence(fact);
    let claim = Claim::of(&request.content, &mut Analyser::default());
    let support = if denies { 0.0 } else { borne_out(&claim, &words(&request.content.text), &excerpt) };
    let authority = SourceType::ApiResponse.authority_max();
    let evidence = Evidence {
        source_type: SourceType::ApiResponse,
        source_uri: format!("knowledge:{}", base.name()),
        source_version: Some(base.edition().to_owned()),
        accessed_at: now.to_string(),
        authority,
        excerpt_hash: Some(hex(&sha256(excerpt.as_bytes()))),
        excerpt: Some(excerpt),
        source_item_id: None,
    };
    let weighed = Weighed { authority, support, freshness: 1.0, own: false, circular: false, missing: false };
    Some((KnowledgeWord { evidence, denies }, weighed))
}

fn sentence(fact: &Triple) -> String {
    format!("{} {} {}", fact.subject, fact.predicate, fact.object)
}

/// Whether it knows something else than a content says.
pub(crate) fn denies(tenant: &Tenant, content: &Content) -> bool {
    let base = tenant.governance.knowledge.as_ref();
    let word = base.zip(content.triple.as_ref()).map(|(base, triple)| base.says(triple));
    matches!(word, Some(Testimony::Denies(_)))
}
