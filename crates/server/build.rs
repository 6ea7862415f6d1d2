//! Turns `proto/` into Rust, without `protoc`, and keeps the description of what is served for reflection.

use protox::prost::Message;
use std::error::Error;
use std::path::Path;

const PROTO: &str = "../../proto";
/// What this server answers.
const SERVED: &str = "tabellion/v1/tabellion.proto";
/// What it asks of others.
const ASKED: &str = "tabellion/gate/v1/gate.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO}");
    let served = protox::compile([SERVED], [PROTO])?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo gives a build script OUT_DIR")?;
    std::fs::write(Path::new(&out).join("tabellion.v1.bin"), served.encode_to_vec())?;
    // The client serves tests and Rust programs; it brings its own transport.
    tonic_prost_build::configure().build_client(true).build_transport(false).compile_fds(served)?;
    let asked = protox::compile([ASKED], [PROTO])?;
    tonic_prost_build::configure().build_client(true).build_transport(false).compile_fds(asked)?;
    Ok(())
}
