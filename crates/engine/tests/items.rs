//! Items through the engine: writing, replaying, travelling in time, rolling back.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure is a panic")]

mod support;

use serde_json::json;
use support::{draft, open};
use tabellion_core::error::Code;
use tabellion_core::gate::WriteDraft;
use tabellion_core::item::Status;
use tabellion_core::time::Period;
use tabellion_engine::reply::{AuditQuery, ChangeStatus, ListQuery, SearchQuery, WriteStatus};

/// GOV-5.2, GOV-5.3, GOV-5.5, GOV-5.6: write A, update B, roll back: `as_of` gives A, B, A in four entries.
#[tokio::test]
async fn write_update_roll_back_is_four_entries() {
    let bench = open(None, 1);
    let ana = bench.member("ana").await;
    let before = bench.size().await;
    let mut moments = Vec::new();
    let first = bench.write(&ana, "A").await;
    moments.push((bench.now(), first.token.clone().unwrap()));
    bench.pass(Period::from_secs(10));
    let id = first.id.unwrap().to_string();
    let second = bench.update(&ana, &id, "B").await;
    moments.push((bench.now(), second.token.clone().unwrap()));
    bench.pass(Period::from_secs(10));
    let back = bench.engine.rollback(&ana, &id, None, Some("B was wrong".into())).await.unwrap();
    moments.push((bench.now(), back.token.clone()));
    assert_eq!(back.status, ChangeStatus::RolledBackWithReactivation);
    assert_eq!(bench.size().await - before, 4);
    for ((time, token), expected) in moments.iter().zip(["A", "B", "A"]) {
        for as_of in [time.to_string(), token.clone()] {
            let item = bench.engine.get(&ana, &id, Some(&as_of)).await.unwrap();
            assert_eq!(item.content.text, expected, "as of {as_of}");
        }
    }
    assert_eq!(bench.engine.get(&ana, &id, None).await.unwrap().content.text, "A");
    let versions = bench.engine.versions(&ana, &id).await.unwrap();
    let statuses: Vec<Status> = versions.iter().map(|version| version.status).collect();
    assert_eq!(statuses, [Status::Superseded, Status::Retracted, Status::Active]);
    let numbers: Vec<u64> = versions.iter().map(|version| version.layer_version).collect();
    assert_eq!(numbers, [1, 2, 3]);
    // A was the first version: rolling it back leaves nothing.
    let gone = bench.engine.rollback(&ana, &id, None, None).await.unwrap();
    assert_eq!(gone.status, ChangeStatus::RolledBackNoPredecessor);
    assert_eq!(bench.engine.get(&ana, &id, None).await.unwrap_err().code, Code::NotFound);
}

/// GOV-5.6: only the head can be rolled back; a refusal leaves no entry.
#[tokio::test]
async fn rolling_back_what_is_not_the_head_is_a_conflict() {
    let bench = open(None, 2);
    let ana = bench.member("ana").await;
    let first = bench.write(&ana, "A").await;
    let id = first.id.unwrap().to_string();
    bench.update(&ana, &id, "B").await;
    let before = bench.size().await;
    let refused =
        bench.engine.rollback(&ana, &id, Some(&first.version.unwrap().to_string()), None).await.unwrap_err();
    assert_eq!(refused.code, Code::NotTheHead);
    let other = bench.write(&ana, "C").await;
    let foreign =
        bench.engine.rollback(&ana, &id, Some(&other.version.unwrap().to_string()), None).await.unwrap_err();
    assert_eq!(foreign.code, Code::NotFound);
    assert_eq!(bench.size().await, before + 1);
}

/// GOV-1.7, GOV-1.8, D5: fifty identical writes at once are one entry and one id.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_identical_writes_are_one_entry() {
    let bench = std::sync::Arc::new(open(None, 3));
    let ana = bench.member("ana").await;
    let before = bench.size().await;
    let writes = (0..50).map(|_| {
        let (bench, ana) = (bench.clone(), ana.clone());
        tokio::spawn(async move { bench.write(&ana, "the same").await })
    });
    let mut written = Vec::new();
    for write in writes.collect::<Vec<_>>() {
        written.push(write.await.unwrap());
    }
    assert_eq!(bench.size().await - before, 1);
    assert!(written.iter().all(|one| one.id == written[0].id && one.version == written[0].version));
    assert_eq!(written.iter().filter(|one| one.status == WriteStatus::Committed).count(), 1);
}

/// D4, D5: a replay is the same caller's same content within a day; a reused request id is a conflict; retraction voids.
#[tokio::test]
async fn replays_conflicts_and_what_voids_them() {
    let bench = open(None, 4);
    let (ana, bob) = (bench.member("ana").await, bench.member("bob").await);
    let body = json!({"text": "a fact", "request_id": "00000000-0000-4000-8000-000000000001"});
    let first = bench.engine.write(&ana, draft(body.clone())).await.unwrap();
    assert_eq!(bench.engine.write(&ana, draft(body)).await.unwrap().status, WriteStatus::AlreadyCommitted);
    let other = json!({"text": "another", "request_id": "00000000-0000-4000-8000-000000000001"});
    assert_eq!(bench.engine.write(&ana, draft(other)).await.unwrap_err().code, Code::RequestIdReused);
    let wrong = json!({"text": "a fact", "idempotency_token": "00".repeat(32)});
    assert_eq!(bench.engine.write(&ana, draft(wrong)).await.unwrap_err().code, Code::TokenMismatch);
    // The same words of another user are another item: a writer learns nothing of what it cannot see.
    let bobs = bench.write(&bob, "a fact").await;
    assert_eq!(bobs.status, WriteStatus::Committed);
    assert_ne!(bobs.id, first.id);
    bench.pass(Period::from_days(1));
    let late = bench.engine.write(&ana, draft(json!({"text": "a fact"}))).await.unwrap_err();
    assert_eq!(late.code, Code::ExactDuplicate);
    assert_eq!(late.in_the_way.unwrap().existing, first.id);
    bench.engine.retract(&ana, &first.id.unwrap().to_string(), None).await.unwrap();
    assert_eq!(bench.write(&ana, "a fact").await.status, WriteStatus::Committed);
}

/// GOV-1.7: a write past its deadline leaves nothing.
#[tokio::test]
async fn past_the_deadline_nothing_is_written() {
    let bench = open(None, 5);
    let ana = bench.member("ana").await;
    let before = bench.size().await;
    let late = json!({"text": "too late", "deadline": "2026-11-14T23:59:59Z"});
    assert_eq!(bench.engine.write(&ana, draft(late)).await.unwrap_err().code, Code::DeadlineExceeded);
    assert_eq!(bench.size().await, before);
}

/// Optimistic updates: `expected_version` must be the head; `supersedes` takes an item or its head version.
#[tokio::test]
async fn updates_name_what_they_replace() {
    let bench = open(None, 6);
    let ana = bench.member("ana").await;
    let first = bench.write(&ana, "one").await;
    let id = first.id.unwrap().to_string();
    let second = bench.engine.write(&ana, draft(json!({"text": "two", "supersedes": id}))).await.unwrap();
    assert_eq!(second.id, first.id);
    let stale = json!({"text": "three", "expected_version": first.version.unwrap().to_string()});
    assert_eq!(bench.engine.write(&ana, draft(stale)).await.unwrap_err().code, Code::VersionConflict);
    let by_version = json!({"text": "three", "supersedes": second.version.unwrap().to_string(), "expected_version": second.version.unwrap().to_string()});
    assert_eq!(bench.engine.write(&ana, draft(by_version)).await.unwrap().id, first.id);
    // Putting back an older content is an update of its own.
    assert_eq!(bench.update(&ana, &id, "two").await.status, WriteStatus::Committed);
    assert_eq!(bench.update(&ana, &id, "three").await.status, WriteStatus::Committed);
    assert_eq!(bench.update(&ana, &id, "two").await.status, WriteStatus::Committed);
    let missing = WriteDraft { item: Some("itm_nothing".into()), ..draft(json!({"text": "x"})) };
    assert!(bench.engine.write(&ana, missing).await.is_err_and(|refusal| refusal.code == Code::NotFound));
}

/// Concurrent updates of one item without `expected_version` all land, one after another.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_updates_are_serial() {
    let bench = std::sync::Arc::new(open(None, 7));
    let ana = bench.member("ana").await;
    let id = bench.write(&ana, "start").await.id.unwrap().to_string();
    let updates = (0..8).map(|n| {
        let (bench, ana, id) = (bench.clone(), ana.clone(), id.clone());
        tokio::spawn(async move { bench.update(&ana, &id, &format!("text {n}")).await })
    });
    for update in updates.collect::<Vec<_>>() {
        update.await.unwrap();
    }
    let versions = bench.engine.versions(&ana, &id).await.unwrap();
    assert_eq!(versions.len(), 9);
    assert_eq!(versions.iter().filter(|version| version.status == Status::Active).count(), 1);
    assert!(versions.iter().skip(1).all(|version| version.parents.len() == 1));
}

/// GOV-1.4: working memory is never in the log and ends after 15 minutes; session items lapse after 8 hours.
#[tokio::test]
async fn lifetimes_by_layer() {
    let bench = open(None, 8);
    let ana = bench.member("ana").await;
    let before = bench.size().await;
    let scratch =
        bench.engine.write(&ana, draft(json!({"text": "scratch", "layer": "working"}))).await.unwrap();
    assert_eq!(bench.size().await, before);
    let session =
        bench.engine.write(&ana, draft(json!({"text": "noted", "layer": "session"}))).await.unwrap();
    let (scratch, session) = (scratch.id.unwrap().to_string(), session.id.unwrap().to_string());
    assert!(bench.engine.get(&ana, &scratch, None).await.is_ok());
    bench.pass(Period::from_secs(15 * 60));
    assert_eq!(bench.engine.get(&ana, &scratch, None).await.unwrap_err().code, Code::NotFound);
    assert!(bench.engine.get(&ana, &session, None).await.is_ok());
    bench.pass(Period::from_secs(8 * 3600));
    assert_eq!(bench.engine.get(&ana, &session, None).await.unwrap_err().code, Code::NotFound);
    assert_eq!(bench.engine.versions(&ana, &session).await.unwrap()[0].status, Status::Expired);
}

/// SHARE-41: what another owns, what another tenant owns and what does not exist get one answer, on every operation.
#[tokio::test]
async fn hidden_looks_like_missing() {
    let bench = open(None, 9);
    let (ana, bob) = (bench.member("ana").await, bench.member("bob").await);
    let anas = bench.write(&ana, "ana's secret plan").await;
    let tenant = bench.engine.create_tenant(&bench.admin, "other").await.unwrap();
    let foreign = support::call(&bench.engine, &tenant.admin_key);
    let random = "itm_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned();
    for who in [&bob, &bench.admin, &foreign] {
        let mut answers = Vec::new();
        for id in [anas.id.unwrap().to_string(), random.clone()] {
            answers.push(vec![
                bench.engine.get(who, &id, None).await.unwrap_err(),
                bench.engine.versions(who, &id).await.unwrap_err(),
                bench.engine.provenance(who, &id, None).await.unwrap_err(),
                bench.engine.retract(who, &id, None).await.unwrap_err(),
                bench
                    .engine
                    .rollback(who, &id, Some(&anas.version.unwrap().to_string()), None)
                    .await
                    .unwrap_err(),
                bench.engine.pin(who, &id, None).await.unwrap_err(),
                bench
                    .engine
                    .write(who, WriteDraft { item: Some(id.clone()), ..draft(json!({"text": "x"})) })
                    .await
                    .unwrap_err(),
                bench.engine.write(who, draft(json!({"text": "x", "supersedes": id}))).await.unwrap_err(),
            ]);
        }
        assert_eq!(answers[0], answers[1]);
        assert!(answers[0].iter().all(|refusal| refusal.code == Code::NotFound));
        let found = bench
            .engine
            .search(who, SearchQuery { query: Some("secret plan".into()), ..SearchQuery::default() })
            .await
            .unwrap();
        assert!(found.results.is_empty());
        assert!(bench.engine.list(who, ListQuery::default()).await.unwrap().rows.is_empty());
    }
}

/// SHARE-40: a token opens for the caller it was given to, and for nobody else.
#[tokio::test]
async fn tokens_are_bound_to_their_caller() {
    let bench = open(None, 10);
    let (ana, bob) = (bench.member("ana").await, bench.member("bob").await);
    let written = bench.write(&ana, "mine").await;
    let with = |token: &str| SearchQuery {
        query: Some("mine".into()),
        min_token: Some(token.to_owned()),
        ..SearchQuery::default()
    };
    assert_eq!(
        bench.engine.search(&ana, with(written.token.as_deref().unwrap())).await.unwrap().results.len(),
        1
    );
    assert_eq!(
        bench.engine.search(&bob, with(written.token.as_deref().unwrap())).await.unwrap_err().code,
        Code::TokenInvalid
    );
    assert_eq!(bench.engine.search(&ana, with("nonsense")).await.unwrap_err().code, Code::TokenInvalid);
    assert_eq!(
        bench.engine.get(&bob, "itm_x", Some(written.token.as_deref().unwrap())).await.unwrap_err().code,
        Code::NotFound
    );
}

/// SHARE-33: every operation leaves one row; users read their own, auditors all, with positions.
#[tokio::test]
async fn the_trail_has_a_row_for_every_operation() {
    let bench = open(None, 11);
    let ana = bench.member("ana").await;
    let written = bench.write(&ana, "noted").await;
    let id = written.id.unwrap().to_string();
    bench.engine.get(&ana, &id, None).await.unwrap();
    bench
        .engine
        .search(&ana, SearchQuery { query: Some("noted".into()), ..SearchQuery::default() })
        .await
        .unwrap();
    bench.engine.get(&ana, "itm_nothing", None).await.unwrap_err();
    bench.engine.create_user(&ana, "eve", None).await.unwrap_err();
    bench.engine.write(&ana, draft(json!({"text": ""}))).await.unwrap_err();
    bench.engine.retract(&ana, &id, None).await.unwrap();
    let rows = bench.engine.audit(&ana, AuditQuery::default()).await.unwrap().rows;
    let seen: Vec<(&str, &str)> =
        rows.iter().rev().map(|row| (row.action.as_str(), row.outcome.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("write", "committed"),
            ("get", "ok"),
            ("search", "ok"),
            ("get", "NOT_FOUND"),
            ("create_user", "FORBIDDEN"),
            ("write", "SCHEMA_INVALID"),
            ("retract", "retracted"),
        ]
    );
    assert!(rows.iter().all(|row| row.lsn.is_none() && row.user == Some(ana.caller.user())));
    let all = bench.engine.audit(&bench.admin, AuditQuery::default()).await.unwrap().rows;
    assert!(all.len() > rows.len() && all.iter().all(|row| row.lsn.is_some()));
    let mut paged = Vec::new();
    let mut cursor = None;
    loop {
        let page = bench
            .engine
            .audit(
                &ana,
                AuditQuery { limit: Some(3), cursor, action: Some("get".into()), ..AuditQuery::default() },
            )
            .await
            .unwrap();
        paged.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(paged.len(), 2);
}

/// GOV-4.1, GOV-4.2: every version has a complete record that bears our signature and names its content.
#[tokio::test]
async fn provenance_is_complete() {
    let bench = open(None, 12);
    let ana = bench.member("ana").await;
    let body = json!({"text": "Port 8080 serves the API", "confidence": 0.8, "session_id": "s", "task_id": "t", "agent_version": "1.2.3",
        "evidence": [{"source_type": "agent_reasoning", "source_uri": "thought://1", "accessed_at": "2026-11-15T00:00:00Z"},
                     {"source_type": "document", "source_uri": "doc://runbook", "accessed_at": "2026-11-15T00:00:00Z", "authority": 1.0}]});
    let written = bench.engine.write(&ana, draft(body)).await.unwrap();
    let record = bench.engine.provenance(&ana, &written.id.unwrap().to_string(), None).await.unwrap();
    assert_eq!(record.memory_item_id, written.id.unwrap().to_string());
    assert_eq!(
        (record.source_session_id.as_deref(), record.source_task_id.as_deref()),
        (Some("s"), Some("t"))
    );
    assert_eq!(record.agent_confidence, 0.8);
    // Highest authority first, and never above what the kind of source allows.
    let authority: Vec<f64> = record.evidence_refs.iter().map(|evidence| evidence.authority).collect();
    assert_eq!(authority, [0.85, 0.3]);
    let canonical = br#"{"kind":"note","text":"Port 8080 serves the API"}"#;
    assert_eq!(
        record.content_hash,
        tabellion_core::canonical::hex(&tabellion_core::canonical::sha256(canonical))
    );
    let bad = json!({"text": "x", "evidence": [{"source_type": "document", "source_uri": "d", "accessed_at": "2026-11-15T00:00:00Z",
        "excerpt": "words", "excerpt_hash": "00".repeat(32)}]});
    let before = bench.size().await;
    assert_eq!(bench.engine.write(&ana, draft(bad)).await.unwrap_err().code, Code::ExcerptHashMismatch);
    assert_eq!(bench.size().await, before);
}

/// SHARE-28: an unknown, a revoked and an expired key get the same answer; a service key names no pair.
#[tokio::test]
async fn keys_end() {
    let bench = open(None, 13);
    bench.engine.create_user(&bench.admin, "ana", None).await.unwrap();
    bench.engine.create_agent(&bench.admin, "market", None, false).await.unwrap();
    let end = bench.now().plus(Period::from_secs(60)).to_string();
    let revoked = bench.engine.create_key(&bench.admin, Some("ana"), Some("market"), None).await.unwrap();
    let expired = bench.engine.create_key(&bench.admin, Some("ana"), None, Some(&end)).await.unwrap();
    let service = bench.engine.create_key(&bench.admin, None, Some("market"), None).await.unwrap();
    assert!(
        bench.engine.authenticate(&revoked.secret).is_ok()
            && bench.engine.authenticate(&expired.secret).is_ok()
    );
    bench.engine.revoke_key(&bench.admin, &revoked.key.id.to_string()).await.unwrap();
    bench.pass(Period::from_secs(60));
    let unknown = bench.engine.authenticate("tab_guess").unwrap_err();
    assert_eq!(unknown.code, Code::Unauthenticated);
    assert_eq!(bench.engine.authenticate(&revoked.secret).unwrap_err(), unknown);
    assert_eq!(bench.engine.authenticate(&expired.secret).unwrap_err(), unknown);
    assert_eq!(bench.engine.authenticate(&service.secret).unwrap_err().code, Code::PairRequired);
    assert_eq!(revoked.secret.len(), 4 + 64);
}
