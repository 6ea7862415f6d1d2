//! One scenario through REST, gRPC and MCP: the three answers agree.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]

mod agree;
mod grpc;
mod mcp;
mod rest;
mod scenario;
mod server;
mod wire;
