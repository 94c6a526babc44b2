//! Two sides measured in turn.

use anyhow::Result;

/// The outcome of several pairs of slices.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// The median of our side.
    pub ours: f64,
    /// The median of the other side.
    pub theirs: f64,
    /// The median of ours divided by theirs, pair by pair.
    pub ratio: f64,
}

/// Measures both sides `pairs` times; who begins a pair changes, so that a machine that becomes
/// slower favours nobody.
pub async fn alternate(
    pairs: usize,
    mut ours: impl AsyncFnMut() -> Result<f64>,
    mut theirs: impl AsyncFnMut() -> Result<f64>,
) -> Result<Comparison> {
    let mut measured: Vec<(f64, f64)> = Vec::new();
    for number in 0..pairs {
        let pair = if number % 2 == 0 {
            let own = ours().await?;
            (own, theirs().await?)
        } else {
            let other = theirs().await?;
            (ours().await?, other)
        };
        eprintln!("   {:.1} : {:.1} = {:.3}", pair.0, pair.1, pair.0 / pair.1);
        measured.push(pair);
    }
    Ok(Comparison {
        ours: median(measured.iter().map(|(own, _)| *own).collect()),
        theirs: median(measured.iter().map(|(_, other)| *other).collect()),
        ratio: median(measured.iter().map(|(own, other)| own / other).collect()),
    })
}

/// The middle of the values; the mean of the two middle ones when their number is even.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => values[middle],
        _ => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// The value that `share` of the values do not exceed.
pub fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(hundred.clone(), 0.99), 99.0);
        assert_eq!(percentile(hundred, 0.5), 50.0);
        assert_eq!(percentile(vec![7.0], 0.99), 7.0);
    }

    #[tokio::test]
    async fn the_ratio_is_the_median_of_the_pairs() {
        let (mut own, mut other) = ([2.0, 30.0, 2.0].into_iter(), [1.0, 10.0, 4.0].into_iter());
        let compared = alternate(
            3,
            async || Ok(own.next().expect("three")),
            async || Ok(other.next().expect("three")),
        )
        .await
        .unwrap();
        assert_eq!((compared.ours, compared.theirs, compared.ratio), (2.0, 4.0, 2.0));
    }
}
