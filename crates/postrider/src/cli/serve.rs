//! `postrider serve`

use std::sync::Arc;

use postrider_engine::{telemetry::Telemetry, vitals::Vitals};

use super::{Context, Failure};
use crate::{api, config::ServeFlags, serve::serve};

/// Deliver messages until told to stop
///
/// Run as many as you like: they share the work, and take over from each other. SIGTERM and Ctrl-C
/// stop it: what is in flight is finished first, within --shutdown-grace-seconds. It answers at --listen: the API,
/// /metrics, /health/live and /health/ready.
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
        let (vitals, telemetry) = (Arc::<Vitals>::default(), Arc::<Telemetry>::default());
        let config = &context.config;
        let listener = api::start(config, Arc::clone(&vitals), Arc::clone(&telemetry))?;
        let ended = serve(config.clone(), vitals, telemetry).await;
        if let Some(listener) = listener {
            tokio::task::block_in_place(|| listener.stop());
        }
        Ok(ended?)
    }
}
