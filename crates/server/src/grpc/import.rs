//! Many writes over one call: outcomes in the order of the requests, so many under way and no more.

use super::call::{Memory, caller};
use super::convert::draft;
use super::{proto, refusal};
use crate::app::{App, UnderWay};
use crate::guard::bearer;
use futures::{FutureExt, Stream, StreamExt};
use prost::Message;
use proto::import_reply::Outcome;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use tabellion_core::error::{Code, Refusal};
use tabellion_engine::{Call, Turn, Turns};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Status, Streaming};

/// Writes of one import that wait for the log together, so that they share its commits.
const UNDER_WAY_MAX: usize = 64;

type Replied = Result<proto::ImportReply, Status>;

/// What an import needs to know of its call, for as long as it runs.
struct Import {
    app: Arc<App>,
    secret: String,
    request_id: Option<String>,
    /// Its place among the requests under way.
    _place: Option<Arc<UnderWay>>,
}

/// Starts an import; outcomes come as the requests do.
pub(super) fn start(
    memory: &Memory,
    request: Request<Streaming<proto::WriteRequest>>,
) -> Result<impl Stream<Item = Replied> + Send + use<>, Status> {
    let (metadata, extensions, requests) = request.into_parts();
    let call = caller(&extensions)?;
    let import = Import {
        app: Arc::clone(memory.app()),
        secret: bearer(&metadata.into_headers()).unwrap_or_default().to_owned(),
        request_id: call.request_id,
        _place: extensions.get::<Arc<UnderWay>>().cloned(),
    };
    // Room for every outcome and the last word: a client that sends everything before it reads must not stop itself.
    let (outcomes, replies) = mpsc::channel(import.app.limits().batch_lines_max.saturating_add(1));
    tokio::spawn(async move {
        if let Err(refused) = import.run(requests, &outcomes).await {
            // A client that has gone does not need to hear it.
            let _gone = outcomes.send(Err(import.status(refused))).await;
        }
    });
    Ok(ReceiverStream::new(replies))
}

impl Import {
    /// Runs within its time; whatever breaks becomes the call's status instead of a silent end.
    async fn run(
        &self,
        requests: Streaming<proto::WriteRequest>,
        outcomes: &mpsc::Sender<Replied>,
    ) -> Result<(), Refusal> {
        let forwarded = AssertUnwindSafe(self.forward(requests, outcomes)).catch_unwind();
        match tokio::time::timeout(self.app.limits().batch_time_max(), forwarded).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_logged_by_the_hook)) => {
                Err(Refusal::new(Code::Internal, "something broke here; the log has more"))
            }
            Err(_) => Err(Refusal::new(Code::Timeout, "the import took longer than the server allows")),
        }
    }

    /// Hands on outcome after outcome, until one ends the call or nobody listens.
    async fn forward(&self, requests: Streaming<proto::WriteRequest>, outcomes: &mpsc::Sender<Replied>) {
        let mut turns = Turns::default();
        let written = requests.enumerate().map(|(place, asked)| self.write(place, asked, turns.give()));
        let mut written = pin!(written.buffered(UNDER_WAY_MAX));
        while let Some(outcome) = written.next().await {
            let last = outcome.is_err();
            if outcomes.send(outcome).await.is_err() || last {
                break;
            }
        }
    }

    async fn write(&self, place: usize, asked: Result<proto::WriteRequest, Status>, turn: Turn) -> Replied {
        let most = self.app.limits().batch_lines_max;
        if place >= most {
            let message = format!("an import takes at most {most} requests; start another for the rest");
            return Err(self.status(Refusal::new(Code::TooLarge, message)));
        }
        let asked = asked.map_err(|status| match refusal::unreadable(status.code()) {
            Some(refused) => self.status(refused),
            None => status,
        })?;
        let outcome = match self.write_one(asked, turn).await {
            Ok(written) => Outcome::Written(written),
            Err(refused) => Outcome::Refused(refusal::message(refused, self.request_id.clone())),
        };
        Ok(proto::ImportReply { outcome: Some(outcome) })
    }

    /// The credential is asked for again each time, so that a revoked one ends here and now.
    async fn write_one(&self, asked: proto::WriteRequest, turn: Turn) -> Result<proto::WriteReply, Refusal> {
        let caller = self.app.engine().recognise(&self.secret).await?;
        let most = self.app.limits().batch_line_bytes_max;
        if asked.encoded_len() > most {
            return Err(Refusal::new(
                Code::TooLarge,
                format!("a request of an import has at most {most} bytes"),
            ));
        }
        let call = Call { caller, request_id: self.request_id.clone(), trace: None };
        self.app.engine().import(&call, draft(asked)?, turn).await.map(Into::into)
    }

    fn status(&self, refused: Refusal) -> Status {
        refusal::status(refused, self.request_id.clone())
    }
}
