//! How finished messages are written down: two bytes each.
//!
//! A bucket holds 4,096 sequence numbers; of each only the low 12 bits are stored, most significant
//! byte first.

use std::collections::BTreeMap;

use crate::id::MessageId;

const BUCKET_BITS: u32 = 12;

/// The bucket of a message.
pub fn bucket(id: MessageId) -> i64 {
    id.sequence_number() >> BUCKET_BITS
}

/// Sorts finished messages into (bucket, offsets), one row of `postrider.done` each.
pub fn encode(ids: &[MessageId]) -> Vec<(i64, Vec<u8>)> {
    let mut buckets: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    for id in ids {
        let offset = (id.sequence_number() & ((1 << BUCKET_BITS) - 1)) as u16;
        buckets.entry(bucket(*id)).or_default().extend(offset.to_be_bytes());
    }
    buckets.into_iter().collect()
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
        let sequence_numbers = [1, 4095, 4096, 4097, 8191, 1 << 40];
        let ids: Vec<_> =
            sequence_numbers.iter().map(|number| MessageId((number << 10) | 1023)).collect();
        let rows = encode(&ids);
        assert_eq!(rows.len(), 3);
        let decoded: Vec<_> =
            rows.iter().flat_map(|(bucket, offsets)| decode(*bucket, offsets)).collect();
        assert_eq!(decoded, sequence_numbers);
    }
}
