//! The variables of the process's environment, as whoever has read them hands them in.
//!
//! Guarantees: a variable that counts and is not text is refused by its name, and is not taken for one that is
//! not set.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
};

/// The variables that are set; an empty one is how many tools write one that is not.
#[derive(Debug, Default)]
pub struct Environment {
    variables: HashMap<String, String>,
    /// Names of those whose values are not UTF-8.
    unreadable: BTreeSet<String>,
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in variables {
            // None of those that count has such a name.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) if value.is_empty() => {}
                Ok(value) => drop(environment.variables.insert(name, value)),
                Err(_) => drop(environment.unreadable.insert(name)),
            }
        }
        environment
    }
}

impl Environment {
    /// What a variable says that [was checked](Environment::check).
    pub fn get(&self, name: &str) -> Option<&String> {
        self.variables.get(name)
    }

    /// Whether the variable is text or not set.
    ///
    /// # Errors
    ///
    /// A sentence for people, without the value: it may be a password.
    pub fn check(&self, name: &str) -> Result<(), String> {
        if self.unreadable.contains(name) {
            return Err(format!(
                "{name} is set to something that is not UTF-8: write it as such, or unset it"
            ));
        }
        Ok(())
    }
}
