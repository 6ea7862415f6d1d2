//! Relations written together: each is a write of its own, in order, through every gate. They are scored together (CAL-1).

use crate::reply::Written;
use crate::{Call, Engine, Turns, calibration, write};
use tabellion_core::error::{Code, Fault, Refusal};
use tabellion_core::gate::{RELATIONS_MAX, WriteDraft, relation_refused};

/// What became of each relation, in order.
pub type Related = Vec<Result<Written, Refusal>>;

impl Engine {
    /// Writes relations, one after the other; one that is refused does not stop the others. Each is a write like any other, with
    /// the same gates, rate and budget.
    ///
    /// # Errors
    /// When there is none, or there are too many: then nothing was written.
    pub async fn write_relations(
        &self,
        call: &Call,
        drafts: Vec<Result<WriteDraft, Refusal>>,
    ) -> Result<Related, Refusal> {
        if !(1..=RELATIONS_MAX).contains(&drafts.len()) {
            let expected = format!("1 to {RELATIONS_MAX} relations");
            let fault =
                Fault::new("/relations", Code::ConstraintViolation, expected).found(drafts.len().to_string());
            let message = format!("a call takes 1 to {RELATIONS_MAX} relations; send the rest in another");
            return Err(Refusal::new(Code::SchemaInvalid, message).with(vec![fault]));
        }
        let together = calibration::together(&*self.tenant(call)?, call, &drafts).await;
        let mut turns = Turns::default();
        let mut under_way = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let (engine, call, turn) = (self.clone(), call.clone(), turns.give());
            let together = together.clone();
            under_way.push(tokio::spawn(async move {
                write::relation(&*engine.tenant(&call)?, &call, draft?, turn, together).await
            }));
        }
        // Their turn is over when the last of them is through.
        drop(together);
        let mut related = Vec::with_capacity(under_way.len());
        for write in under_way {
            let stopped = |_| Err(Refusal::new(Code::Internal, "the write stopped; send it again"));
            related.push(write.await.unwrap_or_else(stopped).map_err(relation_refused));
        }
        Ok(related)
    }
}
