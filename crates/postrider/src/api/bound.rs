//! Values for the parameters of statements, bound by the type that the statement asks for.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    Null,
    Text(String),
    Whole(i64),
    Switch(bool),
    Texts(Vec<String>),
    Uuid(uuid::Uuid),
    Bytes(Vec<u8>),
}

impl ToSql for Bound {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Bound::Null => Ok(IsNull::Yes),
            Bound::Text(text) => text.to_sql(kind, out),
            Bound::Whole(number) if *kind == Type::INT4 => {
                i32::try_from(*number)?.to_sql(kind, out)
            }
            Bound::Whole(number) if *kind == Type::INT8 => number.to_sql(kind, out),
            Bound::Whole(number) => number.to_string().to_sql(kind, out),
            Bound::Switch(switch) => switch.to_sql(kind, out),
            Bound::Texts(texts) => texts.to_sql(kind, out),
            Bound::Uuid(uuid) => uuid.to_sql(kind, out),
            Bound::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    /// The statements are ours, and the types of their parameters are written there.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// JSON as PostgreSQL writes it: no digit of a number is lost.
#[derive(Debug)]
pub struct Written(pub String);

impl<'a> FromSql<'a> for Written {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let raw = if *kind == Type::JSONB { raw.get(1..).unwrap_or_default() } else { raw };
        Ok(Written(std::str::from_utf8(raw)?.to_owned()))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::JSON | Type::JSONB)
    }
}
