//! Which API a request is for, for whoever counts their use: `apiUsageMonitoring`.

use eskip::Arg;
use eskip::filters::{Args, Filter, FilterContext, Filters, Flow, Wants};
use eskip::routing::{ArgsError, PathPattern, PathTree};
use serde::Deserialize;

use super::Means;

/// The APIs of a route.
#[derive(Debug)]
struct Usage {
    apis: Vec<Api>,
    /// The patterns of all of them; its numbers are places in `templates`.
    tree: PathTree,
    /// Each with the number of its API.
    templates: Vec<(usize, String)>,
}

/// What an argument says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Api {
    application_id: String,
    api_id: String,
    #[serde(default)]
    tag: Option<String>,
    path_templates: Vec<String>,
    /// Clients are not told apart here: a log has their address.
    #[serde(default)]
    #[expect(dead_code, reason = "configurations have it, and it must not be an error")]
    client_tracking_pattern: Option<String>,
}

pub(super) fn add(all: &mut Filters, _means: &Means) {
    all.add(
        "apiUsageMonitoring",
        (
            "names the API and the path template of a request in the access log, as `application_id`, `api_id`, `api_tag` and `path_template`, so that their use can be counted",
            r#"apiUsageMonitoring("{\"application_id\": \"shop\", \"api_id\": \"orders\", \"path_templates\": [\"orders/{id}\"]}")"#,
        ),
        Usage::create,
    );
}

// === impl Usage ===

impl Usage {
    fn create(args: &[Arg]) -> Result<Self, ArgsError> {
        let mut args = Args::new(args);
        let (mut apis, mut templates, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        while args.has_more() || apis.is_empty() {
            let text = args.text("the settings of an API in JSON")?;
            let api: Api = serde_json::from_str(text)
                .map_err(|error| ArgsError(format!("argument {}: {error}", apis.len() + 1)))?;
            for template in &api.path_templates {
                patterns.push(pattern(template)?);
                templates.push((apis.len(), template.clone()));
            }
            apis.push(api);
        }
        Ok(Self {
            tree: PathTree::new(patterns.iter(), true),
            apis,
            templates,
        })
    }
}

impl Filter for Usage {
    fn request(&self, cx: &mut FilterContext<'_>) -> Flow {
        let path = cx.request.uri.path();
        let found = self.tree.find(path, |numbers| {
            let number = usize::try_from(*numbers.first()?).ok()?;
            self.templates.get(number)
        });
        let mut tag = |name: &str, value: &str| cx.exchange.tags.push((name.to_owned(), value.to_owned()));
        match found {
            None => tag("path_template", "{no-match}"),
            Some((api, template)) => {
                if let Some(api) = self.apis.get(*api) {
                    tag("application_id", &api.application_id);
                    tag("api_id", &api.api_id);
                    api.tag.iter().for_each(|value| tag("api_tag", value));
                }
                tag("path_template", template);
            }
        }
        Flow::Next
    }

    fn wants(&self) -> Wants {
        Wants::REQUEST
    }
}

/// A template has `{name}` or `:name` for a segment, and needs no slash before it.
fn pattern(template: &str) -> Result<PathPattern, ArgsError> {
    let segments = template.trim_matches('/').split('/').map(|segment| {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        name.map_or_else(|| segment.to_owned(), |name| format!(":{name}"))
    });
    let path = format!("/{}", segments.collect::<Vec<_>>().join("/"));
    PathPattern::path(&path).map_err(|error| ArgsError(format!("path template {template:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use crate::filters::trial::{Trial, all, chain, mistake};

    const APIS: &str = r#"apiUsageMonitoring("{\"application_id\": \"shop\", \"api_id\": \"orders\", \"tag\": \"blue\", \"path_templates\": [\"orders/{id}\", \"/orders\"]}", "{\"application_id\": \"shop\", \"api_id\": \"users\", \"path_templates\": [\"/users/:id/name\"]}")"#;

    #[tokio::test]
    async fn a_request_is_tagged_with_its_api_and_its_template() {
        let chain = chain(&all(), APIS);
        for (path, tags) in [
            (
                "/orders/7",
                vec![
                    ("application_id", "shop"),
                    ("api_id", "orders"),
                    ("api_tag", "blue"),
                    ("path_template", "orders/{id}"),
                ],
            ),
            (
                "/orders/",
                vec![
                    ("application_id", "shop"),
                    ("api_id", "orders"),
                    ("api_tag", "blue"),
                    ("path_template", "/orders"),
                ],
            ),
            (
                "/users/7/name",
                vec![
                    ("application_id", "shop"),
                    ("api_id", "users"),
                    ("path_template", "/users/:id/name"),
                ],
            ),
            ("/other", vec![("path_template", "{no-match}")]),
        ] {
            let mut trial = Trial::get(path);
            trial.run(&chain).await;
            let found: Vec<_> = trial
                .exchange
                .tags
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(found, tags, "{path}");
        }
    }

    #[test]
    fn settings_that_say_nothing_are_refused() {
        for text in [
            "apiUsageMonitoring()",
            r#"apiUsageMonitoring("x")"#,
            r#"apiUsageMonitoring("{\"application_id\": \"a\"}")"#,
            r#"apiUsageMonitoring("{\"application_id\": \"a\", \"api_id\": \"b\", \"path_templates\": [\"a/*b/c\"]}")"#,
        ] {
            assert!(mistake(text).starts_with("invalid_filter_params"), "{text}");
        }
    }
}
