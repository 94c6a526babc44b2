//! Workers with an empty handler, each on a thread of its own as it would be a process of its own.

use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result};
use postrider_client::Worker;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::POOL;

/// How many executions a worker runs at a time.
pub const CAPACITY: u16 = 50;

/// Where executions come from.
#[derive(Clone)]
pub struct Order {
    pub database_url: String,
    /// RabbitMQ is the carrier.
    pub amqp_url: Option<String>,
}

/// An execution's id and when its handler began.
pub type Starts = mpsc::UnboundedSender<(i64, Instant)>;

/// Workers at work. They leave when this is dropped.
pub struct Workers {
    is_over: watch::Sender<bool>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Workers {
    /// Starts them; they register, and get their queues, by and by.
    pub fn start(order: &Order, worker_count: usize, starts: Option<Starts>) -> Result<Self> {
        let (is_over, over) = watch::channel(false);
        let mut threads = Vec::new();
        for number in 0..worker_count {
            let (order, starts, over) = (order.clone(), starts.clone(), over.clone());
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            threads.push(thread.spawn(move || work(&order, number, starts, over))?);
        }
        Ok(Self { is_over, threads })
    }

    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// They finish what they have, and leave.
    pub fn stop(self) -> Result<()> {
        self.is_over.send_replace(true);
        for thread in self.threads {
            thread.join().ok().context("a worker panicked")??;
        }
        Ok(())
    }
}

fn work(
    order: &Order,
    number: usize,
    starts: Option<Starts>,
    mut over: watch::Receiver<bool>,
) -> Result<()> {
    let mut builder = Worker::builder()
        .url(&order.database_url)
        .name(format!("bench-{number}"))
        .pool(POOL)
        .capacity(CAPACITY.into())
        .on_trouble(|trouble| eprintln!("   worker: {trouble}"));
    if let Some(url) = &order.amqp_url {
        builder = builder.rabbitmq(url);
    }
    let worker = builder.handle_any(move |execution| {
        if let Some(starts) = &starts {
            // Nobody listens any more once the measurement is over.
            let _ = starts.send((execution.id(), Instant::now()));
        }
        async { Ok(Value::Null) }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shutdown = async move {
        // An error says that whoever would tell us is gone.
        let _ = over.wait_for(|is_over| *is_over).await;
    };
    runtime.block_on(worker.build()?.run_until(shutdown))?;
    Ok(())
}
