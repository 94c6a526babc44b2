//! What went wrong where something was asked of the database: an error that nobody looks into who decides.

use std::{error::Error, fmt};

/// An error, and what is asked of it. It says what the error says, causes included.
#[derive(Debug)]
pub struct Failure {
    error: Box<dyn Error + Send + Sync>,
    is_passing: bool,
}

impl Failure {
    /// `is_passing`: what was asked for has certainly not been done, and may well succeed the next time.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>, is_passing: bool) -> Failure {
        Failure { error: error.into(), is_passing }
    }

    /// Whether what was asked for has certainly not been done, and may well succeed the next time.
    pub fn is_passing(&self) -> bool {
        self.is_passing
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_the_error_says_and_has_the_same_causes() {
        let error = "x".parse::<u8>().unwrap_err();
        let caused = std::io::Error::other(error.clone());
        let failure = Failure::new(caused, true);
        assert_eq!(failure.to_string(), error.to_string());
        assert_eq!(failure.source().is_some(), std::io::Error::other(error).source().is_some());
        assert!(failure.is_passing() && !Failure::new("a reason", false).is_passing());
    }
}
