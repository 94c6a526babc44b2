//! What a message can be sent through: the transactions and connections of the drivers.
//!
//! A driver does one thing: it runs a statement, without naming it on the server, and returns the
//! array of ids that every statement of ours answers with.

#[cfg(feature = "sqlx")]
mod sqlx;
#[cfg(feature = "tokio-postgres")]
pub(crate) mod tokio_postgres;

use crate::error::{Error, Failure, Unknown};

/// A transaction or connection of a driver that messages can be sent through.
///
/// With the feature `tokio-postgres`: its `Transaction` and `Client`. With the feature `sqlx`: its
/// `Transaction<'_, Postgres>` and `PgConnection`. What dereferences to one of these is passed as
/// `&mut *transaction`. Nothing outside this crate can implement it.
///
/// ```no_run
/// use postrider_client::{Connection, Error, Postrider};
///
/// /// Works with every driver.
/// async fn order_placed(transaction: &mut impl Connection, order: i64) -> Result<(), Error> {
///     Postrider::send(transaction, "warehouse", &order).await?;
///     Ok(())
/// }
/// ```
pub trait Connection: Execute {}

/// The part of [`Connection`] that is not public.
pub trait Execute: Send {
    /// Runs a statement whose one row has one column, an array of ids.
    fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[Parameter<'_>],
    ) -> impl Future<Output = Result<Vec<i64>, Failure>> + Send;
}

/// A parameter of a statement. Few types, known to PostgreSQL and all drivers without a look-up;
/// the statements cast them.
#[derive(Debug, Clone, Copy)]
pub enum Parameter<'a> {
    Text(Option<&'a str>),
    Texts(&'a [String]),
    Bytes(&'a [u8]),
    Smallint(i16),
    Bigint(Option<i64>),
    Bigints(&'a [Option<i64>]),
}

/// The most bytes that a statement may have; PostgreSQL refuses 1 GiB, and drivers may panic when a
/// length does not fit into their protocol.
const STATEMENT_BYTES: usize = 1_000_000_000;

/// Runs a statement, and says what its refusal means: `unknown` is what 42704 stands for.
pub(crate) async fn call<C>(
    connection: &mut C,
    sql: &'static str,
    parameters: &[Parameter<'_>],
    unknown: Unknown,
) -> Result<Vec<i64>, Error>
where
    C: Connection + ?Sized,
{
    let size = parameters.iter().map(Parameter::size).sum::<usize>();
    if size > STATEMENT_BYTES {
        return Err(Error::too_large(size, STATEMENT_BYTES));
    }
    connection.execute(sql, parameters).await.map_err(|failure| Error::new(failure, unknown))
}

impl Parameter<'_> {
    /// About how many bytes it has on the wire.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.map_or(0, str::len),
            Self::Texts(texts) => texts.iter().map(|text| text.len() + 4).sum(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Smallint(_) | Self::Bigint(_) => 8,
            Self::Bigints(numbers) => numbers.len() * 12,
        }
    }
}
