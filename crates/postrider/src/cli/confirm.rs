//! Asking before what cannot be undone.

use std::io::{self, BufRead, IsTerminal, Write};

use super::{Failure, grammar::Question};

/// Goes on if somebody says yes.
///
/// # Errors
///
/// Nobody can be asked, which is an error of the arguments, or the answer was another one.
pub fn ask(question: &Question) -> Result<(), Failure> {
    let Question { command, consequence } = question;
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::Usage(format!(
            "`postrider {command}` cannot be undone: {consequence}. There is no terminal on which to ask: \
             give --yes if it is meant"
        )));
    }
    let mut answer = String::new();
    // Without a reader there is no answer, and that is no yes.
    let _ = write!(io::stderr(), "This cannot be undone: {consequence}. Go on? [y/N] ");
    let _ = io::stdin().lock().read_line(&mut answer);
    if is_yes(&answer) {
        return Ok(());
    }
    Err(Failure::Failed("nothing was changed".to_owned()))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for answer in ["y\n", "Yes\n", " YES \n", "y"] {
            assert!(is_yes(answer), "{answer}");
        }
        for answer in ["", "\n", "n\n", "no\n", "yess\n", "ye\n", "j\n"] {
            assert!(!is_yes(answer), "{answer}");
        }
    }
}
