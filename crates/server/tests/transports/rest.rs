//! The operations over REST.

use crate::agree::{Outcome, Transport};
use crate::server::Connection;
use axum::http::Method;
use serde_json::{Value, json};
use tabellion_core::error::Code;
use tabellion_server::status;

pub(crate) struct Rest(pub(crate) Connection);

impl Rest {
    pub(crate) async fn call(&self, method: Method, path: &str, key: &str, body: Value) -> Outcome {
        let answer = self.0.json(method, path, key, &body).await;
        if answer.status.is_success() {
            return Outcome::Done(answer.value());
        }
        let mut refusal = answer.value();
        let code = Code::ALL.iter().find(|code| refusal["code"] == code.as_str()).unwrap();
        assert_eq!(answer.status, status::http(*code), "{refusal}");
        // What REST has in its query, the others have in their body.
        for fault in refusal["errors"].as_array_mut().unwrap() {
            fault["path"] = json!(fault["path"].as_str().unwrap().replacen("/query/", "/", 1));
        }
        Outcome::Refused(refusal)
    }
}

impl Transport for Rest {
    async fn write(&self, key: &str, mut body: Value) -> Outcome {
        let id = body.as_object_mut().unwrap().remove("id");
        match id.as_ref().and_then(Value::as_str) {
            Some(id) => self.call(Method::PATCH, &format!("/v1/items/{id}"), key, body).await,
            None => self.call(Method::POST, "/v1/items", key, body).await,
        }
    }

    async fn get(&self, key: &str, id: &str, as_of: Option<&str>) -> Outcome {
        let query = as_of.map(|as_of| format!("?as_of={as_of}")).unwrap_or_default();
        self.call(Method::GET, &format!("/v1/items/{id}{query}"), key, Value::Null).await
    }

    async fn list(&self, key: &str, limit: u64) -> Outcome {
        self.call(Method::GET, &format!("/v1/items?limit={limit}"), key, Value::Null).await
    }

    async fn versions(&self, key: &str, id: &str) -> Outcome {
        self.call(Method::GET, &format!("/v1/items/{id}/versions"), key, Value::Null).await
    }

    async fn search(&self, key: &str, query: &str, k: u64) -> Outcome {
        self.call(Method::POST, "/v1/search", key, json!({"query": query, "k": k, "mode": "lexical"})).await
    }

    async fn retract(&self, key: &str, id: &str, reason: &str) -> Outcome {
        self.call(Method::DELETE, &format!("/v1/items/{id}?reason={reason}"), key, Value::Null).await
    }

    async fn rollback(&self, key: &str, id: &str, version: Option<&str>) -> Outcome {
        self.call(Method::POST, &format!("/v1/items/{id}:rollback"), key, json!({"version": version})).await
    }

    async fn pin(&self, key: &str, id: &str) -> Outcome {
        self.call(Method::POST, &format!("/v1/items/{id}:pin"), key, json!({})).await
    }

    async fn unpin(&self, key: &str, id: &str) -> Outcome {
        self.call(Method::POST, &format!("/v1/items/{id}:unpin"), key, json!({})).await
    }

    async fn whoami(&self, key: &str) -> Outcome {
        self.call(Method::GET, "/v1/whoami", key, Value::Null).await
    }
}
