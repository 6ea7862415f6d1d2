//! REST, gRPC and MCP over one engine, on one port.
//!
//! Invariant: handlers convert and delegate; they decide nothing.

pub mod app;
pub mod config;
mod console;
pub mod dossier;
pub mod gates;
pub mod grpc;
mod guard;
mod intake;
mod issuer;
mod jwks;
mod logs;
pub mod mcp;
mod metrics;
pub mod models;
mod rate;
pub mod readable;
mod refusal;
mod resources;
mod rest;
mod serve;
pub mod status;
mod webhook;

pub use config::{Config, ConfigError, Flags, Secrets};
pub use issuer::Trusted;
pub use serve::{Ready, ServeError, check_tls, router, serve, serve_until};
