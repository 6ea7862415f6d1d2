//! What a caller for whom something is redacted can learn of it: nothing.

use super::{Caller, Chain, Classes, Tenant, Views};
use std::cell::Cell;

thread_local! {
    static REDACTED: Cell<Classes> = const { Cell::new(Classes::NONE) };
}

/// What policies redact, and what the test that runs on this thread says beside them.
pub(crate) fn redacted_classes(tenant: &Tenant, caller: &Caller, views: &Views) -> Classes {
    let held = Chain::of_reading(tenant, caller, views).redacted();
    held.iter().chain(REDACTED.get().iter()).collect()
}

mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

    use super::REDACTED;
    use crate::ports::{Advisers, Clock, EmbedError, Embedder, ManualClock, SeededEntropy};
    use crate::reply::{SearchQuery, WriteStatus, Written};
    use crate::{AuditReads, Call, Engine, EngineLimits, Governance, Options};
    use serde_json::{Value, json};
    use std::sync::Arc;
    use tabellion_core::error::{Code, Refusal};
    use tabellion_core::gate::{Strictness, WriteDraft, read_write};
    use tabellion_core::policy::{Class, Classes};

    const STORED: &str = "4111 1111 1111 1111";
    const OTHERS: [&str; 3] = ["4012 8888 8888 1881", "5500 0000 0000 0004", "4929 2023 2024 0007"];

    /// A text means the digits in it, so that a vector of a number tells the number.
    struct Digits;

    impl Embedder for Digits {
        fn model(&self) -> &str {
            "digits"
        }

        fn dimensions(&self) -> usize {
            10
        }

        fn batch_texts_max(&self) -> usize {
            16
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(texts.iter().map(|text| meaning(text)).collect())
        }
    }

    fn meaning(text: &str) -> Vec<f32> {
        let mut vector = [0.01; 10];
        text.chars().filter_map(|c| c.to_digit(10)).for_each(|digit| vector[digit as usize] += 1.0);
        let length = vector.iter().map(|x: &f32| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / length).collect()
    }

    struct Bench {
        engine: Engine,
        admin: Call,
    }

    fn open(strictness: Strictness) -> Bench {
        REDACTED.set(Classes::NONE);
        let clock = ManualClock::at("2026-11-15T00:00:00Z".parse().unwrap());
        let secret = "tab_admin_of_the_tests_0123456789abcdef";
        let (engine, _) = Engine::open(Options {
            data: None,
            master_key: None,
            admin_key: Some(secret.into()),
            accept_loss: false,
            clock: Arc::new(clock) as Arc<dyn Clock>,
            entropy: Arc::new(SeededEntropy::new(5)),
            limits: EngineLimits::default(),
            embedder: Some(Arc::new(Digits)),
            audit_reads: AuditReads::Sync,
            governance: Governance { strictness, ..Governance::default() },
            advisers: Advisers::default(),
        })
        .unwrap();
        let admin = Call { caller: engine.authenticate(secret).unwrap(), request_id: None, trace: None };
        Bench { engine, admin }
    }

    impl Bench {
        /// A user's agent with a key.
        async fn agent(&self, user: &str, name: &str) -> Call {
            self.engine.create_agent(&self.admin, name, None, false).await.unwrap();
            let key = self.engine.create_key(&self.admin, Some(user), Some(name), None).await.unwrap();
            Call { caller: self.engine.authenticate(&key.secret).unwrap(), request_id: None, trace: None }
        }

        async fn write(&self, who: &Call, body: Value) -> Result<Written, Refusal> {
            self.engine.write(who, read_write(body).unwrap()).await
        }

        /// An update of another item: no replay of what its writer has said before.
        async fn says_elsewhere(&self, who: &Call, note: &str, body: Value) -> Result<Written, Refusal> {
            let note = self.write(who, json!({"text": note})).await.unwrap();
            let item = note.id.map(|id| id.to_string());
            self.engine.write(who, WriteDraft { item, ..read_write(body).unwrap() }).await
        }

        /// Everything that a search answers but its own name.
        async fn found(&self, query: &str, mode: &str) -> Vec<(String, f64, f64)> {
            let asked = SearchQuery {
                query: Some(query.to_owned()),
                mode: Some(mode.to_owned()),
                exact: true,
                ..SearchQuery::default()
            };
            let reply = self.engine.search(&self.admin, asked).await.unwrap();
            let found = reply.results.into_iter();
            found.map(|one| (one.item.content.text, one.score, one.relevance)).collect()
        }
    }

    /// SHARE-21, acceptance 10: who is bound finds with a stored card number what a random one finds, in every mode, in the log
    /// and in working memory, whole, in part and quoted; who is not finds the text first.
    #[tokio::test]
    async fn a_stored_number_ranks_as_a_random_one() {
        let bench = open(Strictness::Open);
        let text = format!("Ana's card is {STORED}");
        let noted = format!("for now: {STORED}");
        bench.write(&bench.admin, json!({"text": "the drawer holds the invoice"})).await.unwrap();
        let said = json!({"text": text, "fields": {"time": "2023-05-08T13:56:00Z"}});
        let token = bench.write(&bench.admin, said).await.unwrap().token;
        bench.write(&bench.admin, json!({"text": "Ben's card is lost"})).await.unwrap();
        let last = bench.write(&bench.admin, json!({"text": noted, "layer": "working"})).await.unwrap().token;
        assert!(token.is_some() && last.is_some());
        let settled = SearchQuery { query: Some("card".into()), min_token: last, ..SearchQuery::default() };
        bench.engine.search(&bench.admin, settled).await.unwrap();
        for mode in ["lexical", "hybrid"] {
            let found = bench.found(STORED, mode).await;
            assert!(found.iter().take(2).any(|one| one.0 == text), "{mode}: {found:?}");
        }
        REDACTED.set(Classes::from(Class::Card));
        for mode in ["lexical", "dense", "hybrid"] {
            for (before, after) in [("", ""), ("Ana's card ", ""), ("\"", "\"")] {
                let stored = bench.found(&format!("{before}{STORED}{after}"), mode).await;
                for other in OTHERS {
                    let random = bench.found(&format!("{before}{other}{after}"), mode).await;
                    assert_eq!(stored, random, "{mode}: {before}{other}");
                }
            }
        }
        assert!(bench.found("1111", "lexical").await.is_empty());
        REDACTED.set(Classes::from(Class::Email));
        assert_eq!(bench.found("1111", "lexical").await.len(), 2);
        bench.engine.close();
    }

    /// SHARE-21, SHARE-42: a write is no duplicate of what is redacted for its writer; for others it is.
    #[tokio::test]
    async fn a_duplicate_is_not_told_to_whom_it_would_confirm() {
        for strictness in [Strictness::Open, Strictness::Standard] {
            let bench = open(strictness);
            bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
            let (first, second) = (bench.agent("ana", "first").await, bench.agent("ana", "second").await);
            let card = |number: &str| json!({"text": format!("Ana's card is {number}")});
            bench.write(&first, card(STORED)).await.unwrap();
            REDACTED.set(Classes::from(Class::Email));
            let told = bench.says_elsewhere(&first, "the drawer is open", card(STORED)).await;
            assert_eq!(told.unwrap_err().code, Code::ExactDuplicate, "{strictness:?}");
            REDACTED.set(Classes::from(Class::Card));
            let guesses =
                [("a lamp", OTHERS[0], &first), ("a rug", STORED, &first), ("a vase", STORED, &second)];
            for (note, text, who) in guesses {
                let guess = bench.says_elsewhere(who, note, card(text)).await;
                assert_eq!(guess.unwrap().status, WriteStatus::Committed, "{strictness:?}: {text}");
            }
            bench.engine.close();
        }
    }

    /// SHARE-21, SHARE-43: neither a gate nor a read says that a number differs from one that is redacted.
    #[tokio::test]
    async fn a_contradiction_is_not_told_to_whom_it_would_confirm() {
        let bench = open(Strictness::Standard);
        bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
        let (first, second) = (bench.agent("ana", "first").await, bench.agent("ana", "second").await);
        let listens = |on: &str| json!({"text": format!("The gateway listens on {on}")});
        let known = bench.write(&first, listens("10.1.2.3")).await.unwrap();
        let mut other = listens("10.1.2.4");
        other["on_conflict"] = json!("reject");
        let told = bench.write(&second, other).await;
        assert_eq!(told.unwrap_err().code, Code::Contradiction);
        REDACTED.set(Classes::from(Class::Ip));
        for guess in ["10.1.2.4", "10.1.2.3", "10.9.8.7"] {
            let written = bench.write(&second, listens(guess)).await.unwrap();
            assert_eq!((written.status, written.against.len()), (WriteStatus::Committed, 0), "{guess}");
        }
        let id = known.id.unwrap().to_string();
        let against = async || bench.engine.get(&first, &id, None).await.unwrap().against.len();
        assert_eq!(against().await, 0);
        REDACTED.set(Classes::NONE);
        assert!(against().await > 0);
        bench.engine.close();
    }

    /// SHARE-21: an item that is cited bears a statement out as far as it is shown.
    #[tokio::test]
    async fn evidence_is_weighed_as_it_is_shown() {
        let bench = open(Strictness::Open);
        bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
        let (first, second) = (bench.agent("ana", "first").await, bench.agent("ana", "second").await);
        let known = bench.write(&first, json!({"text": "jo@example.org"})).await.unwrap();
        let item = known.id.unwrap().to_string();
        let cites = json!({
            "source_type": "memory_item", "source_uri": item, "source_item_id": item,
            "accessed_at": "2026-11-15T00:00:00Z",
        });
        let mut facts = Vec::new();
        for (bound, text) in [
            (Classes::NONE, "mail jo@example.org"),
            (Class::Email.into(), "mail xu@example.com"),
            (Class::Email.into(), "write jo@example.org"),
        ] {
            REDACTED.set(bound);
            let written = bench.write(&second, json!({"text": text, "evidence": [cites]})).await.unwrap();
            let id = written.id.unwrap().to_string();
            facts.push(bench.engine.provenance(&second, &id, None).await.unwrap().fact_score);
        }
        assert!(facts[0] > facts[1] && facts[1] == facts[2], "{facts:?}");
        bench.engine.close();
    }
}
