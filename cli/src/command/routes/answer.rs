//! What the proxy answers, and why not.

use anyhow::anyhow;
use serde_json::Value;

use super::proxy::Proxy;
use crate::api::Answer;
use crate::exit::Failure;

/// The body, if the proxy did what was asked.
pub(super) fn done(answer: Answer, proxy: &Proxy) -> Result<String, Failure> {
    if answer.status.is_success() {
        return Ok(answer.body);
    }
    Err(failure(&answer, &proxy.place()))
}

/// The body as JSON, if the proxy did what was asked.
pub(super) fn value(answer: Answer, proxy: &Proxy) -> Result<Value, Failure> {
    let text = done(answer, proxy)?;
    let parsed = serde_json::from_str(&text);
    parsed.map_err(|error| anyhow!("what the proxy at {} answers is no JSON: {error}", proxy.place()).into())
}

/// Why the proxy did not do it, with everything that it has to say about that.
fn failure(answer: &Answer, place: &str) -> Failure {
    let said: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let why = said
        .get("error")
        .and_then(Value::as_str)
        .unwrap_or_else(|| answer.body.trim());
    let status = answer.status.as_u16();
    let problems = said.get("problems").and_then(Value::as_array);
    if let Some(problems) = problems.filter(|problems| !problems.is_empty()) {
        let lines: Vec<String> = problems
            .iter()
            .map(|problem| format!("error: {}", of_problem(problem)))
            .collect();
        return Failure::Report(lines.join("\n"));
    }
    let mut text = format!("error: the proxy at {place} answered {status}: {why}");
    for replica in said
        .get("lagging")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let field = |name: &str| replica.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = replica.pointer("/revision/number").and_then(Value::as_u64);
        let at = at.map(|at| format!(", at revision {at}")).unwrap_or_default();
        text.push_str(&format!(
            "\n  lagging: {} on {}{at}",
            field("id"),
            field("hostname")
        ));
    }
    if said.get("lagging_here") == Some(&Value::Bool(true)) {
        text.push_str("\n  lagging: the proxy that was asked");
    }
    if let Some(error) = said.get("store_error").and_then(Value::as_str) {
        text.push_str(&format!("\n  {error}"));
    }
    if status == 401 {
        text.push_str("\n  help: give a token with --token-file or --token-env, or in DOORWAY_TOKEN");
    }
    Failure::Report(text)
}

fn of_problem(problem: &Value) -> String {
    let field = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("place") {
        "" => field("message").to_owned(),
        place => format!("{place}: {}", field("message")),
    }
}
