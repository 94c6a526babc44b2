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

/// An error with its causes.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it says, and its cause.
    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_ref().map(|cause| cause.as_ref() as &dyn Error)
        }
    }

    #[test]
    fn it_says_what_the_error_says_and_has_the_same_causes() {
        let failure =
            Failure::new(Layer("asking", Some(Box::new(Layer("connecting", None)))), true);
        assert_eq!(chain(&failure), "asking: connecting");
        assert!(failure.is_passing() && !Failure::new("a reason", false).is_passing());
    }
}
