//! `cargo xtask ci`: everything a change must pass, cheap checks first, the tests last.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::codegen;
use crate::metadata::{Metadata, Package};
use crate::process::{Cargo, spoken};
use crate::tidy;

/// One step: a name and what it runs.
#[derive(Debug)]
struct Step {
    name: &'static str,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Cargo(Vec<Cargo>),
    Tidy,
    Codegen,
}

/// Runs all steps. The first failure ends it, with the step's name as the last line.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let steps = plan(metadata.members());
    let mut done: Vec<(&str, Duration)> = Vec::new();
    for step in &steps {
        println!("\n== ci: {}", step.name);
        let start = Instant::now();
        let outcome = step.run(&metadata);
        done.push((step.name, start.elapsed()));
        if let Err(error) = outcome {
            eprintln!(
                "\nci: FAILED in step `{}` after {}: {error:#}",
                step.name,
                spoken(start.elapsed())
            );
            return Ok(ExitCode::FAILURE);
        }
    }
    println!("\n{}", summary(&done));
    Ok(ExitCode::SUCCESS)
}

// === impl Step ===

impl Step {
    fn run(&self, metadata: &Metadata) -> Result<()> {
        match &self.work {
            Work::Tidy => tidy::check(metadata),
            Work::Codegen => codegen::check(metadata),
            Work::Cargo(commands) => commands.iter().try_for_each(|command| {
                println!("$ {command}");
                command.run(&metadata.workspace_root)
            }),
        }
    }
}

/// The steps, tests last: whoever reads the end of the output finds the test results there. Fuzz corpora
/// are replayed by ordinary tests of the crates that own them.
fn plan<'a>(members: impl Iterator<Item = &'a Package>) -> Vec<Step> {
    let step = |name, command| Step {
        name,
        work: Work::Cargo(vec![command]),
    };
    vec![
        step("format", Cargo::new("fmt --all --check")),
        Step {
            name: "tidy",
            work: Work::Tidy,
        },
        step(
            "clippy",
            Cargo::new("clippy --workspace --all-targets --locked -- -D warnings"),
        ),
        Step {
            name: "each crate and feature alone",
            work: Work::Cargo(members.flat_map(alone).collect()),
        },
        step(
            "documentation",
            Cargo::new("doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"),
        ),
        Step {
            name: "generated documents",
            work: Work::Codegen,
        },
        step("tests", Cargo::new("test --workspace --locked")),
    ]
}

/// A crate that builds only beside the others is broken for whoever uses it: features of the neighbours hide it.
fn alone(member: &Package) -> Vec<Cargo> {
    let base = format!("check --quiet --locked -p {} --no-default-features", member.name);
    let features = member.features.keys().filter(|name| *name != "default");
    let each = features.map(|feature| Cargo::new(&format!("{base} --features {feature}")));
    std::iter::once(Cargo::new(&base)).chain(each).collect()
}

fn summary(done: &[(&str, Duration)]) -> String {
    let total = done.iter().map(|(_, time)| *time).sum();
    let mut text = String::from("ci: all steps passed\n");
    for (name, time) in done.iter().chain([&("total", total)]) {
        text.push_str(&format!("  {name:<30} {:>14}\n", spoken(*time)));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn member(features: &[&str]) -> Package {
        Package {
            id: "x".to_owned(),
            name: "x".to_owned(),
            version: "0.1.0".to_owned(),
            license: None,
            source: None,
            manifest_path: "x/Cargo.toml".into(),
            features: features
                .iter()
                .map(|name| ((*name).to_owned(), Vec::new()))
                .collect::<BTreeMap<_, _>>(),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn each_feature_is_checked_alone() {
        let lines: Vec<_> = alone(&member(&["default", "sync"]))
            .iter()
            .map(ToString::to_string)
            .collect();
        let base = "cargo check --quiet --locked -p x --no-default-features";
        assert_eq!(lines, [base.to_owned(), format!("{base} --features sync")]);
    }

    #[test]
    fn the_tests_come_last_and_run_everything() {
        let steps = plan([member(&[])].iter());
        let last = steps.last().unwrap();
        assert_eq!(last.name, "tests");
        assert!(matches!(&last.work, Work::Cargo(c) if c == &[Cargo::new("test --workspace --locked")]));
    }

    #[test]
    fn the_summary_adds_up() {
        let text = summary(&[
            ("format", Duration::from_secs(1)),
            ("tests", Duration::from_secs(2)),
        ]);
        assert!(text.contains("total") && text.contains("3.0 s"), "{text}");
    }
}
