//! The test kit of Postrider: private servers, our own process under fault, receivers, the ledger.
//!
//! The integration tests, the proofs, the demo and the benchmarks share it. It does not depend on
//! the `postrider` crate: what is tested is the binary, run as a process.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use postrider_testkit::postgres::{Options, PrivatePostgres};
//! use postrider_testkit::receiver::{Behaviour, Receiver};
//!
//! let postgres = PrivatePostgres::start(Options::default())?;
//! postgres.create_database("shop").await?;
//! let receiver = Receiver::start(Behaviour::Status(200))?;
//! println!("{} delivers to {}", postgres.url_for("shop"), receiver.url());
//! # Ok(())
//! # }
//! ```

pub mod child;
pub mod examples;
pub mod hostile;
pub mod ledger;
pub mod packages;
pub mod pgbouncer;
pub mod port;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod rabbitmq;
pub mod receiver;
pub mod sockets;
pub mod stillness;
pub mod verifiers;
