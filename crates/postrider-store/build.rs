//! Lists what stands in `sql/`, so that `migrate.rs` can hold all of it in the binary.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sql = manifest.join("../../sql").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");

    let mut code = String::new();
    for folder in ["migrations", "beforehand", "functions", "views"] {
        let name = folder.to_uppercase();
        code.push_str(&format!("const {name}: &[File] = &[\n"));
        let root = sql.join(folder);
        for (stem, path) in files(&root)? {
            let below = path.strip_prefix(&root).expect("it was found there");
            let file = format!("{folder}/{}", below.to_string_lossy().replace('\\', "/"));
            code.push_str(&format!(
                "    File {{ path: {file:?}, name: {stem:?}, text: include_str!({path:?}) }},\n"
            ));
        }
        code.push_str("];\n");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("sql.rs"), code)
}

/// The SQL files below a folder, sorted by name, wherever they stand. A folder that is not there is empty.
fn files(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            let stem = path.file_stem().expect("it has an extension").to_string_lossy();
            files.push((stem.into_owned(), path));
        }
    }
    files.sort();
    Ok(files)
}
