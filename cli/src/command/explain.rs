//! `doorway explain`: what a configuration would do with a request.

use proxy_core::explain::{ExplainError, Inquiry};
use proxy_core::{Options, Proxy};

use crate::args::ExplainArgs;
use crate::exit::{self, Failure, Outcome};
use crate::settings::Environment;
use crate::{output, runtime, source};

/// Explains one request.
pub(crate) fn explain(args: &ExplainArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config, environment)?;
    let http = loaded.config.apps.http.as_ref();
    if http.is_some_and(|http| http.route_sources.is_some()) {
        exit::say(
            "warning: hosts of `route_sources` come before what is told here, and are not known without the proxy",
        );
    }
    // Without a data directory, so that nothing is created on disk.
    let options = Options {
        data_dir: None,
        ..environment.proxy_options(1)
    };
    let inquiry = Inquiry {
        method: args.method.clone(),
        url: args.url.clone(),
        headers: args.headers.iter().cloned().collect(),
        from: args.from,
    };
    runtime::block_on(async {
        let explained = Proxy::explain(&loaded.config, &options, &inquiry).await;
        let explanation = explained.map_err(|error| match error {
            ExplainError::Config(errors) => Failure::from(errors),
            ExplainError::Url => Failure::Usage(format!("error: {error}")),
            other => Failure::Error(anyhow::Error::new(other)),
        })?;
        if args.json {
            let json = serde_json::to_string_pretty(&explanation).map_err(anyhow::Error::new)?;
            output::print_line(json)
        } else {
            output::print_line(explanation)
        }
    })
}
