//! The findings collected on the way.

use std::collections::BTreeSet;

use super::{ImportId, Sources, Span};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Errors beyond this many are only counted, and so are warnings.
const MAX_FINDINGS: usize = 100;

/// Collects findings, then gives them their places.
#[derive(Debug, Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
    left_out: usize,
    errors: usize,
    warnings: usize,
    secrets: Vec<Span>,
}

#[derive(Debug)]
struct Finding {
    severity: Severity,
    span: Span,
    path: Option<String>,
    message: String,
    help: Option<String>,
}

// === impl Report ===

impl Report {
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.push(Severity::Error, span, None, message.into(), help.into());
    }

    pub(crate) fn error_at(&mut self, span: Span, path: String, message: String, help: Option<String>) {
        self.push(Severity::Error, span, Some(path), message, help);
    }

    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>, help: impl Into<Option<String>>) {
        self.push(Severity::Warning, span, None, message.into(), help.into());
    }

    /// What stands at `span` is not shown in any source line.
    pub(crate) fn mask(&mut self, span: Span) {
        self.secrets.push(span);
    }

    /// Only what is to be masked.
    pub(crate) fn without_findings(self) -> Self {
        Self {
            secrets: self.secrets,
            ..Self::default()
        }
    }

    /// Whether further errors are only counted, so that their words need not be chosen.
    pub(crate) const fn is_full(&self) -> bool {
        self.errors >= MAX_FINDINGS
    }

    /// [`Report::is_full`] of warnings.
    pub(crate) const fn is_full_of_warnings(&self) -> bool {
        self.warnings >= MAX_FINDINGS
    }

    pub(crate) const fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The value with its warnings, or all that is wrong (warnings too).
    pub(crate) fn finish<T>(
        self,
        value: T,
        sources: &Sources<'_>,
    ) -> Result<(T, Vec<Diagnostic>), Diagnostics> {
        let (errors, left_out) = (self.has_errors(), self.left_out);
        let items = self.into_diagnostics(sources);
        if errors {
            let inputs = sources.inputs.clone();
            Err(Diagnostics {
                items,
                left_out,
                inputs,
            })
        } else {
            Ok((value, items))
        }
    }

    fn into_diagnostics(mut self, sources: &Sources<'_>) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.span);
        self.shorten();
        let secrets = with_arguments(self.secrets, sources);
        let placed = self.findings.into_iter().map(|finding| Diagnostic {
            severity: finding.severity,
            place: sources.place(finding.span, &secrets),
            imports: sources.imports(finding.span, &secrets),
            path: finding.path,
            message: finding.message,
            help: finding.help,
        });
        placed.collect()
    }

    /// What is supported is said once, at the first place that needs it.
    fn shorten(&mut self) {
        let mut said = BTreeSet::new();
        for finding in &mut self.findings {
            let list = finding
                .help
                .as_ref()
                .and_then(|help| help.strip_prefix("supported")?.split_once(": "));
            if list.is_some_and(|(_, names)| !said.insert(names.to_owned())) {
                finding.help = None;
            }
        }
    }

    fn push(
        &mut self,
        severity: Severity,
        span: Span,
        path: Option<String>,
        message: String,
        help: Option<String>,
    ) {
        let known = |finding: &Finding| finding.span.is_same_place(span) && finding.message == message;
        if span.import != ImportId::default() && self.findings.iter().any(known) {
            return;
        }
        let count = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count = count.saturating_add(1);
        if *count <= MAX_FINDINGS {
            self.findings.push(Finding {
                severity,
                span,
                path,
                message,
                help,
            });
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// The secrets with the arguments of imports that they were made of.
fn with_arguments(secrets: Vec<Span>, sources: &Sources<'_>) -> Vec<Span> {
    let mut all: BTreeSet<Span> = BTreeSet::new();
    let mut open = secrets;
    while let Some(span) = open.pop() {
        if all.insert(span) {
            open.extend(sources.arguments_in(span));
        }
    }
    all.into_iter().collect()
}
