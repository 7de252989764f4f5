//! `doorway reload`: a running proxy loads the configuration again.

use hyper::Method;

use crate::api::{self, Place, Places, Request};
use crate::args::ReloadArgs;
use crate::exit::{self, Outcome};
use crate::settings::Environment;
use crate::{runtime, source};

/// Reads the configuration here, where its mistakes have places, and sends it to the proxy.
pub(crate) fn reload(args: &ReloadArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config.get(), environment)?;
    loaded.say_warnings();
    let places = Places::find(args.address.as_deref(), Some(&loaded.config), environment)?;
    // Only a file tells the proxy that it is for.
    let places = if loaded.origin.is_some() {
        places
    } else {
        places.certain()?
    };
    let mut request = Request::new(Method::POST, "/load").with_json(loaded.document);
    if args.force {
        request = request.with("cache-control", "must-revalidate".to_owned());
    }
    if let Some(origin) = &loaded.origin {
        request = request
            .with("caddy-config-source-file", origin.file.clone())
            .with("caddy-config-source-adapter", origin.adapter.clone());
    }
    // Where a proxy is only guessed to be, it must be the one that runs this file.
    let only_its_own = |request: Request, place: Place<'_>| match &loaded.origin {
        Some(origin) if place.is_guessed() => request.with("doorway-if-source", origin.file.clone()),
        _ => request,
    };
    runtime::block_on(async {
        let (answer, place) = api::ask(&places, request, only_its_own).await?;
        answer.into_body(&place)?;
        exit::say(&format!("loaded by the proxy at {place}"));
        Ok(())
    })
}
