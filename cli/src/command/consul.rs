//! `doorway consul`: what Consul says of services, as the proxy would use it.

use std::fmt::Write as _;

use anyhow::Context as _;
use consul_upstreams::{ConsulUpstreams, Explanation, Instance, Locality, Settings};

use crate::args::{ConsulCommand, ResolveArgs};
use crate::exit::{Failure, Outcome};
use crate::output;
use crate::settings::Environment;

/// Carries out one of the consul commands.
pub(crate) fn consul(command: &ConsulCommand, environment: &Environment) -> Outcome {
    match command {
        ConsulCommand::Resolve(args) => resolve(args, environment),
    }
}

fn resolve(args: &ResolveArgs, environment: &Environment) -> Outcome {
    let settings = settings(args, environment)?;
    // No blocking query is sent, so that no seed is needed.
    let (consul, _driver) =
        ConsulUpstreams::try_new(&settings, 0).map_err(|error| Failure::Usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let explanation = runtime
        .block_on(consul.explain(&args.service))
        .with_context(|| format!("cannot look up {:?}", args.service))?;
    output::print(&lines(&args.service, &explanation))?;
    if !explanation.answer.is_empty() {
        return Ok(());
    }
    Err(Failure::Report(match explanation.registered {
        0 => "Consul knows no such service, or the token may not see it".to_owned(),
        count => format!("none of {count} registered instances can be used"),
    }))
}

fn settings(args: &ResolveArgs, environment: &Environment) -> Result<Settings, Failure> {
    let named = args.node_meta.as_ref().zip(args.local_value.as_ref());
    let locality = named.map(|(node_meta, local_value)| Locality {
        node_meta: node_meta.clone(),
        local_value: local_value.clone(),
        minimum: args.minimum.unwrap_or(Locality::MINIMUM),
    });
    let mut settings = Settings {
        address: args.address.clone(),
        locality,
        token_file: args.token_file.clone(),
        datacenter: args.datacenter.clone(),
        namespace: args.namespace.clone(),
        partition: args.partition.clone(),
        tag: args.tag.clone(),
        stale: args.stale,
        ..Settings::default()
    };
    settings.tls.ca.clone_from(&args.ca);
    let filled = settings.fill_in(&|name| environment.get(name).map(str::to_owned));
    filled.map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(settings)
}

/// The first line begins with `#`, so that programs can pass over it.
fn lines(service: &str, explanation: &Explanation) -> String {
    let Explanation {
        answer,
        skipped,
        registered,
    } = explanation;
    let mut text = format!(
        "# {}: tier {}, {} of {registered} registered instances\n",
        service.escape_debug(),
        answer.tier(),
        answer.instances().len(),
    );
    let mut line = |what: &str, who: &str, why: &str| {
        // Writing to a text cannot fail.
        let _written = writeln!(text, "{what}\t{}\t{}", who.escape_debug(), why);
    };
    for instance in answer.instances() {
        line("use", &instance.to_string(), &traits(instance));
    }
    for instance in answer.passed_over() {
        let why = format!("{}; enough others are local", traits(instance));
        line("pass", &instance.to_string(), &why);
    }
    for one in skipped {
        line("skip", &one.id, &one.reason.to_string());
    }
    text
}

fn traits(instance: &Instance) -> String {
    let mut text = format!("weight {}", instance.weight());
    if let Some(zone) = instance.zone() {
        let _written = write!(text, ", node {zone:?}");
    }
    if instance.is_local() {
        text.push_str(", local");
    }
    text
}
