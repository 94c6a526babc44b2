//! `postrider serve`

use super::{Context, Failure};
use crate::{config::ServeFlags, engine};

/// Deliver messages until told to stop
///
/// Run as many as you like: they share the work, and take over from each other. SIGTERM and Ctrl-C
/// stop it: what is in flight is finished first, within --shutdown-grace-seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider serve
  postrider serve --max-in-flight 256 --log-format json
  POSTRIDER_CONFIG=/etc/postrider.toml postrider serve")]
pub struct Serve {
    #[command(flatten)]
    pub flags: ServeFlags,
}

impl Serve {
    pub async fn run(&self, context: &Context) -> Result<(), Failure> {
        Ok(engine::serve(context.config.clone()).await?)
    }
}
