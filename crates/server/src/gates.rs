//! How are gates outside this process asked?
//!
//! Over gRPC, each through one HTTP/2 connection that is made when it is first needed and made again when it is gone. An ask
//! has a time limit that covers connecting, and an answer a size limit. What a gate answers is converted and decided on
//! elsewhere; no word of an error holds anything of a write.

mod channel;

use channel::Channel;
use std::time::Duration;
use tabellion_core::gate::{GateName, RemoteAnswer, RemoteFault};
use tabellion_core::item::Layer;
use tabellion_core::provenance::Evidence;
use tabellion_core::time::Period;
use tabellion_engine::ports::{GateError, GateQuestion, RemoteGate};
use tokio::runtime::Handle;
use tonic::codegen::http::Uri;

/// The messages and the service of `proto/tabellion/gate/v1`, as generated.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::needless_pass_by_value,
    reason = "generated"
)]
pub mod proto {
    tonic::include_proto!("tabellion.gate.v1");
}

use proto::gate_client::GateClient;
use proto::judge_reply::Answer;

const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Where a gate is, and when it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// `http://`, host and port.
    pub(crate) origin: Uri,
    pub(crate) at: GateName,
    pub(crate) layers: Vec<Layer>,
    pub(crate) time_max: Duration,
}

/// A gate behind an address.
pub(crate) struct Remote {
    place: Place,
    client: GateClient<Channel>,
    runtime: Handle,
}

impl Remote {
    /// The gate at this place. Contacts nobody; connections live on this runtime.
    pub(crate) fn new(place: Place, runtime: Handle) -> Self {
        let client = GateClient::with_origin(Channel::to(&place.origin), place.origin.clone())
            .max_decoding_message_size(ANSWER_BYTES_MAX);
        Self { place, client, runtime }
    }
}

impl RemoteGate for Remote {
    fn name(&self) -> &str {
        &self.place.name
    }

    fn at(&self) -> GateName {
        self.place.at
    }

    fn looks_at(&self, layer: Layer) -> bool {
        self.place.layers.contains(&layer)
    }

    fn ask(&self, question: &GateQuestion) -> Result<RemoteAnswer, GateError> {
        let (mut client, request) = (self.client.clone(), request(question));
        let time_max = self.place.time_max;
        let asking = async move { tokio::time::timeout(time_max, client.judge(request)).await };
        let failed = |words: &str| GateError(words.to_owned());
        match self.runtime.block_on(asking) {
            Err(_) => Err(failed("it took too long")),
            // A status may quote the write; its number says enough.
            Ok(Err(status)) => Err(failed(&format!("it answered with status {:?}", status.code()))),
            Ok(Ok(reply)) => {
                let answer = reply.into_inner().answer.map(answer);
                answer.ok_or_else(|| failed("its reply holds no answer"))
            }
        }
    }
}

fn request(question: &GateQuestion) -> proto::JudgeRequest {
    proto::JudgeRequest {
        request_id: question.request_id.clone(),
        namespace: question.namespace.clone(),
        layer: question.layer.as_str().to_owned(),
        agent: question.agent.clone(),
        user: question.user.clone(),
        content_json: question.content.clone(),
        evidence: question.evidence.iter().map(evidence).collect(),
        confidence: question.confidence,
    }
}

fn evidence(cited: &Evidence) -> proto::Evidence {
    let word = serde_json::to_value(cited.source_type).ok();
    proto::Evidence {
        source_type: word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default(),
        source_uri: cited.source_uri.clone(),
        accessed_at: cited.accessed_at.clone(),
        authority: cited.authority,
        excerpt: cited.excerpt.clone().unwrap_or_default(),
    }
}

fn answer(answer: Answer) -> RemoteAnswer {
    let fault =
        |one: proto::Fault| RemoteFault { path: one.path, expected: one.expected, actual: one.actual };
    match answer {
        Answer::Accept(proto::Accept {}) => RemoteAnswer::Accepts,
        Answer::Reject(proto::Reject { code, message, faults }) => {
            RemoteAnswer::Rejects { code, message, faults: faults.into_iter().map(fault).collect() }
        }
        Answer::Defer(proto::Defer { retry_after_ms, message }) => {
            RemoteAnswer::Defers { after: Period::from_millis(retry_after_ms), message }
        }
    }
}
