//! Turns `proto/` into Rust, without `protoc`, and keeps its description for reflection.

use protox::prost::Message;
use std::error::Error;
use std::path::Path;

const PROTO: &str = "../../proto";
const FILE: &str = "tabellion/v1/tabellion.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO}");
    let described = protox::compile([FILE], [PROTO])?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo gives a build script OUT_DIR")?;
    std::fs::write(Path::new(&out).join("tabellion.v1.bin"), described.encode_to_vec())?;
    // The client serves tests and Rust programs; it brings its own transport.
    tonic_prost_build::configure().build_client(true).build_transport(false).compile_fds(described)?;
    Ok(())
}
