//! Somebody who changes endpoints and settings and redrives dead letters while messages flow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_postgres::Client;

use crate::prove::writers::connect;

/// The time between two changes, in milliseconds.
const PAUSE: std::ops::Range<u64> = 300..1_500;

/// Changes something now and then until `is_over`.
pub async fn administrate(url: String, seed: u64, is_over: Arc<AtomicBool>) {
    let mut dice = fastrand::Rng::with_seed(seed ^ 0xad_317);
    let mut client: Option<Client> = None;
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(dice.u64(PAUSE))).await;
        let Some(open) = client.as_ref().filter(|client| !client.is_closed()) else {
            client = connect(&url).await.ok();
            continue;
        };
        // What is lost with the connection is tried again another time.
        let _ = open.batch_execute(&change(&mut dice)).await;
    }
}

fn change(dice: &mut fastrand::Rng) -> String {
    let alter = |name: &str, option: &str, value: String| {
        format!(
            "select postrider.alter_endpoint('{name}', e.config || '{{\"{option}\": {value}}}')
            from postrider.endpoints e where e.name = '{name}'"
        )
    };
    match dice.u8(..16) {
        0 | 1 => "select postrider.disable_endpoint('switched')".to_owned(),
        2 | 3 => "select postrider.enable_endpoint('switched')".to_owned(),
        4 => alter("steady", "concurrency", dice.u8(4..64).to_string()),
        5 => alter("flaky", "capture_response", dice.bool().to_string()),
        6 => {
            let seconds = dice.u8(1..3);
            format!(
                "update postrider.endpoints
                set retry_policy = jsonb_set(retry_policy, '{{base_delay_seconds}}', '{seconds}')
                where name = 'flaky'"
            )
        }
        7 => {
            let value = if dice.bool() { "all" } else { "failures" };
            format!("select postrider.set_setting('record_attempts', '{value}')")
        }
        8 => "select postrider.pause_endpoint('switched')".to_owned(),
        9 | 10 => "select postrider.resume_endpoint('switched')".to_owned(),
        11 => alter("switched", "rate_limit_per_second", dice.u8(10..).to_string()),
        12 => {
            "select postrider.reset_circuit_breaker(e.name) from postrider.endpoints e".to_owned()
        }
        _ => "select postrider.redrive_all()".to_owned(),
    }
}
