//! `postrider completions`, `postrider man`: what shells and `man` know of the commands

use std::{fs, path::PathBuf};

use clap_complete::Shell;

use super::{Failure, Output, grammar, input::usage};

/// Print what a shell needs to complete commands and options
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider completions bash > ~/.local/share/bash-completion/completions/postrider
  postrider completions zsh > \"${fpath[1]}/_postrider\"
  postrider completions fish > ~/.config/fish/completions/postrider.fish
  postrider completions powershell >> $PROFILE")]
pub struct Completions {
    /// For which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Write manual pages, one a command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider man ~/.local/share/man/man1
  man postrider-endpoint-create")]
pub struct Man {
    /// The folder; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Completions {
    pub fn run(&self, output: Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar::command(), "postrider", &mut script);
        output.raw(&String::from_utf8_lossy(&script));
        Ok(())
    }
}

impl Man {
    pub fn run(&self, output: Output) -> Result<(), Failure> {
        let folder = self.folder.display().to_string();
        fs::create_dir_all(&self.folder).map_err(|error| usage(&folder, &error))?;
        clap_mangen::generate_to(grammar::command(), &self.folder)
            .map_err(|error| usage(&folder, &error))?;
        let count = fs::read_dir(&self.folder).map_or(0, Iterator::count);
        output.done(
            &serde_json::json!({ "folder": folder, "pages": count }),
            &format!("{count} pages are in {folder}."),
        );
        Ok(())
    }
}
