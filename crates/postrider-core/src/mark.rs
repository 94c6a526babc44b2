//! What stands for a name or a key in a notification, which everybody may hear.

/// A number of 32 bits that stands for an ordering key or a queue: FNV-1a, as `postrider.key_mark`.
pub fn mark(name: &str) -> u32 {
    name.bytes().fold(2_166_136_261, |mark, byte| (mark ^ u32::from(byte)).wrapping_mul(16_777_619))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_what_the_database_makes() {
        // The same as in tests/cancelling.rs.
        assert_eq!(mark("s3cret-kéy"), 4_109_051_786);
    }
}
