//! Every rule of governed memory, as data and pure functions.
//!
//! Invariant: no IO, no async, no clock, no randomness. Time, chance and secrets are passed in as values; the same
//! input gives the same output on every machine.

pub mod access;
pub mod canonical;
pub mod claim;
pub mod error;
pub mod gate;
pub mod id;
pub mod item;
pub mod log;
pub mod orchestrate;
pub mod policy;
pub mod provenance;
pub mod rank;
pub mod schema;
pub mod seal;
pub mod text;
pub mod time;
pub mod trust;
pub mod vector;
pub mod view;
