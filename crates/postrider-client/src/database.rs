//! Where a consumer or a worker finds its database, and what it connects with.

use std::time::Duration;

use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

use crate::Error;
use crate::consumer::trouble::describe;

/// What tokio-postgres has unless told otherwise: two hours, in which a connection whose other end has
/// vanished would keep what it holds in the database.
const UNSET_KEEPALIVES: Duration = Duration::from_secs(2 * 60 * 60);
const KEEPALIVES: Duration = Duration::from_secs(15);

/// What a connector for TLS has to be: any of the ones for tokio-postgres is.
pub trait Tls:
    MakeTlsConnect<Socket, Stream: Send, TlsConnect: TlsConnect<Socket, Future: Send> + Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<T> Tls for T where
    T: MakeTlsConnect<Socket, Stream: Send, TlsConnect: TlsConnect<Socket, Future: Send> + Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Where the database is.
#[derive(Debug, Clone)]
pub(crate) struct Address<T> {
    pub(crate) config: Config,
    pub(crate) tls: T,
}

/// What a builder has been told about the database so far.
#[derive(Clone)]
pub(crate) struct Database<T> {
    /// Who connects, for error texts and `pg_stat_activity`: `consumer`, `worker`.
    user: &'static str,
    config: Result<Config, String>,
    tls: T,
}

impl Database<NoTls> {
    pub(crate) fn unknown(user: &'static str) -> Self {
        let config = Err(format!("the {user} has no database: call url or config"));
        Self { user, config, tls: NoTls }
    }
}

impl<T> Database<T> {
    pub(crate) fn set_url(&mut self, url: &str) {
        let user = self.user;
        let wrong = |error| {
            let error = describe(&error);
            format!("the address of the {user}'s database is not valid: {error}")
        };
        self.config = url.parse().map_err(wrong);
    }

    pub(crate) fn set_config(&mut self, config: Config) {
        self.config = Ok(config);
    }

    pub(crate) fn with_tls<U>(self, tls: U) -> Database<U> {
        let Self { user, config, tls: _ } = self;
        Database { user, config, tls }
    }

    /// The address, for the consumer or worker of this name. A connection whose other end has vanished is
    /// given up after a minute, unless the address says otherwise.
    pub(crate) fn address(self, name: &str) -> Result<Address<T>, Error> {
        let Self { user, config, tls } = self;
        let mut config = config.map_err(Error::Misconfigured)?;
        if config.get_keepalives_idle() == UNSET_KEEPALIVES {
            config
                .keepalives_idle(KEEPALIVES)
                .keepalives_interval(KEEPALIVES)
                .keepalives_retries(3);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(KEEPALIVES * 4);
        }
        if config.get_application_name().is_none() {
            config.application_name(format!("{user} {name}"));
        }
        Ok(Address { config, tls })
    }
}
