//! The log of the process: standard error, text or JSON.

use std::io;

use postrider_fleet::rabbitmq::QUIET;
use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt,
};

use super::tone;
use crate::config::LogFormat;

/// Starts logging. `level` has been checked by [`crate::config`].
pub fn start(format: LogFormat, level: &str, colour: clap::ColorChoice) {
    // What comes later counts: `level` may ask for the client all the same.
    let filter = EnvFilter::new(format!("{QUIET},{level}"));
    // Below info, what we are built of tells of parameters, payloads and headers, whatever the level says.
    let is_ours = |metadata: &Metadata<'_>| {
        *metadata.level() <= Level::INFO || metadata.target().starts_with("postrider")
    };
    let log = tracing_subscriber::registry().with(filter).with(filter_fn(is_ours));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => {
            let is_coloured = tone::is_coloured(colour, &io::stderr());
            log.with(lines.with_target(false).with_ansi(is_coloured)).init();
        }
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
}
