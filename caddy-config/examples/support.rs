//! Prints the table of what is supported, for the manual: `cargo run -p caddy-config --example support`.

#![allow(clippy::print_stdout, reason = "it is what this program is for")]

use caddy_config::{Area, support};

fn main() {
    let mut area = None;
    for row in support() {
        if area.replace(row.area) != Some(row.area) {
            heading(row.area);
        }
        println!(
            "| `{}` | {} | {} |",
            row.name,
            row.state.word(),
            escaped(row.note)
        );
    }
}

fn heading(area: Area) {
    println!(
        "\n### {}\n\n| name | state | note |\n| --- | --- | --- |",
        area.title()
    );
}

/// Text in a table: what Markdown would read something into is escaped.
fn escaped(note: &str) -> String {
    let mut out = String::new();
    for c in note.chars() {
        if matches!(c, '|' | '[' | ']' | '<') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
