//! One scenario through REST, gRPC and MCP: the three answers agree.

mod agree;
mod grpc;
mod mcp;
mod rest;
mod scenario;
mod server;
mod wire;
