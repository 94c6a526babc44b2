pub mod cli;
pub mod config;
pub mod engine;
pub mod store;
pub mod transport;
