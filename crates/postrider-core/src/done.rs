//! How finished messages are written down: two bytes each.
//!
//! A bucket holds 4,096 sequence numbers; of each only the low 12 bits are stored, most significant
//! byte first. A row holds numbers of one run of 64 only, so that few rows are looked through for one
//! number, also where each message was recorded by itself.

use std::collections::BTreeMap;

use crate::id::MessageId;

const BUCKET_BITS: u32 = 12;
/// As many as belong to one shard in a row.
const RUN_BITS: u32 = 6;

/// One row of `postrider.done`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub bucket: i64,
    /// Which 64 numbers of the bucket.
    pub run: i16,
    pub offsets: Vec<u8>,
}

/// The bucket of a message.
pub fn bucket(id: MessageId) -> i64 {
    id.sequence_number() >> BUCKET_BITS
}

/// Sorts finished messages into rows, in order.
pub fn encode(ids: &[MessageId]) -> Vec<Row> {
    let mut runs: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    for id in ids {
        let offset = (id.sequence_number() & ((1 << BUCKET_BITS) - 1)) as u16;
        let run = id.sequence_number() >> RUN_BITS;
        runs.entry(run).or_default().extend(offset.to_be_bytes());
    }
    let row = |(run, offsets): (i64, Vec<u8>)| Row {
        bucket: run >> (BUCKET_BITS - RUN_BITS),
        run: (run & ((1 << (BUCKET_BITS - RUN_BITS)) - 1)) as i16,
        offsets,
    };
    runs.into_iter().map(row).collect()
}

/// The sequence numbers in one row of `postrider.done`.
pub fn decode(bucket: i64, offsets: &[u8]) -> impl Iterator<Item = i64> + '_ {
    offsets.chunks_exact(2).map(move |pair| {
        (bucket << BUCKET_BITS) | i64::from(u16::from_be_bytes([pair[0], pair[1]]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let sequence_numbers = [1, 63, 64, 4095, 4096, 4097, 8191, 1 << 40];
        let ids: Vec<_> =
            sequence_numbers.iter().map(|number| MessageId((number << 10) | 1023)).collect();
        let rows = encode(&ids);
        let places: Vec<_> = rows.iter().map(|row| (row.bucket, row.run)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (0, 63), (1, 0), (1, 63), (1 << 28, 0)]);
        let decoded: Vec<_> =
            rows.iter().flat_map(|row| decode(row.bucket, &row.offsets)).collect();
        assert_eq!(decoded, sequence_numbers);
    }
}
