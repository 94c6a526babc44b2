//! PostgreSQL types as they travel, for those that `tokio-postgres` does not know.

use std::error::Error;

use bytes::{BufMut, Bytes, BytesMut};
use postrider_core::{
    id::Target,
    message::Targets,
    snapshot::{Snapshot, Xid},
    timestamp::Timestamp,
};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type BoxedError = Box<dyn Error + Sync + Send>;

/// `xid8`.
#[derive(Debug, Clone, Copy)]
pub struct Xid8(pub Xid);

/// `pg_snapshot`.
#[derive(Debug, Clone)]
pub struct PgSnapshot(pub Snapshot);

/// `timestamptz`.
#[derive(Debug, Clone, Copy)]
pub struct Timestamptz(pub Timestamp);

/// `integer[]`, of targets.
#[derive(Debug)]
pub struct TargetArray(pub Targets);

/// `jsonb`, as the text that PostgreSQL makes of it, or that text itself.
#[derive(Debug, Clone)]
pub struct JsonText(pub Bytes);

fn number(raw: &[u8], at: usize) -> Result<i64, BoxedError> {
    let bytes = raw.get(at..at + 8).ok_or("a value is too short")?;
    Ok(i64::from_be_bytes(bytes.try_into()?))
}

fn small_number(raw: &[u8], at: usize) -> Result<i32, BoxedError> {
    let bytes = raw.get(at..at + 4).ok_or("a value is too short")?;
    Ok(i32::from_be_bytes(bytes.try_into()?))
}

impl<'a> FromSql<'a> for Xid8 {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(Xid8(number(raw, 0)? as u64))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::XID8
    }
}

impl ToSql for Xid8 {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        out.put_u64(self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::XID8
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for PgSnapshot {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        let count = usize::try_from(small_number(raw, 0)?)?;
        let xid = |index: usize| number(raw, 4 + index * 8).map(|xid| xid as u64);
        let in_progress = (0..count).map(|index| xid(index + 2)).collect::<Result<_, _>>()?;
        Snapshot::new(xid(0)?, xid(1)?, in_progress)
            .map(PgSnapshot)
            .ok_or_else(|| "a snapshot contradicts itself".into())
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::PG_SNAPSHOT
    }
}

impl ToSql for PgSnapshot {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        out.put_i32(i32::try_from(self.0.in_progress().len())?);
        out.put_u64(self.0.xmin());
        out.put_u64(self.0.xmax());
        for xid in self.0.in_progress() {
            out.put_u64(*xid);
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::PG_SNAPSHOT
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Timestamptz {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(Timestamptz(Timestamp(number(raw, 0)?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

impl ToSql for Timestamptz {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        out.put_i64(self.0.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for JsonText {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        if *ty == Type::TEXT {
            return Ok(JsonText(Bytes::copy_from_slice(raw)));
        }
        match raw.split_first() {
            Some((1, text)) => Ok(JsonText(Bytes::copy_from_slice(text))),
            _ => Err("jsonb of an unknown version".into()),
        }
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB || *ty == Type::TEXT
    }
}

impl<'a> FromSql<'a> for TargetArray {
    /// An array: dimensions, flags, element type, then length and lower bound, then the elements.
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        if small_number(raw, 0)? == 0 {
            return Ok(TargetArray(Targets::Many(Box::new([]))));
        }
        let count = usize::try_from(small_number(raw, 12)?)?;
        let target = |index: usize| small_number(raw, 24 + index * 8).map(Target);
        let targets = match count {
            1 => Targets::One(target(0)?),
            _ => Targets::Many((0..count).map(target).collect::<Result<_, _>>()?),
        };
        Ok(TargetArray(targets))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::INT4_ARRAY
    }
}
