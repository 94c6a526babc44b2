//! The log of the process: standard error, text or JSON.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::{config::LogFormat, fleet::rabbitmq::QUIET};

/// Starts logging. `level` has been checked by [`crate::config`].
pub fn start(format: LogFormat, level: &str) {
    // What comes later counts: `level` may ask for the client all the same.
    let filter = EnvFilter::new(format!("{QUIET},{level}"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Text => {
            builder.with_target(false).with_ansi(io::stderr().is_terminal()).init();
        }
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
