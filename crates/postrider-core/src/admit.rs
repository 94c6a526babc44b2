//! How much of what is shared one endpoint may take.
//!
//! Places (in memory, in flight) are shared by all endpoints. Each may take at most as many as are
//! still free, within its own limit: one busy endpoint gets half of all, the next half of the rest,
//! and something is always left for an endpoint that shows up. (The dynamic threshold of shared
//! buffers in switches: Choudhury and Hahne, 1998, with alpha 1.)

/// How many places an endpoint may take now, on top of those it `holds` of the `taken` ones.
pub fn free_places(total: usize, taken: usize, holds: usize, limit: usize) -> usize {
    let free = total.saturating_sub(taken);
    // After taking n: holds + n <= free - n.
    let fair = free.saturating_sub(holds).div_ceil(2);
    fair.min(limit.saturating_sub(holds)).min(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_and_something_is_left_for_others() {
        assert_eq!(free_places(1024, 0, 0, 64), 64);
        assert_eq!(free_places(1024, 64, 64, 64), 0);
        assert_eq!(free_places(1024, 0, 0, 5000), 512);
        assert_eq!(free_places(1024, 512, 512, 5000), 0);
        assert_eq!(free_places(1024, 512, 0, 5000), 256);
        assert_eq!(free_places(1024, 1023, 0, 64), 1);
        assert_eq!(free_places(1024, 1024, 0, 64), 0);
    }

    #[test]
    fn any_number_of_greedy_endpoints_leaves_places() {
        let mut taken = 0;
        for _ in 0..9 {
            let mut holds = 0;
            while let more @ 1.. = free_places(1024, taken, holds, 1024) {
                holds += more;
                taken += more;
            }
        }
        assert!(taken < 1024, "{taken}");
    }
}
