//! `doorway stop`: a running proxy ends in an orderly way.

use hyper::Method;

use crate::api::{self, Places, Request};
use crate::args::StopArgs;
use crate::exit::{self, Outcome};
use crate::runtime;
use crate::settings::Environment;

/// Asks the proxy to stop; it finishes what is under way.
pub(crate) fn stop(args: &StopArgs, environment: &Environment) -> Outcome {
    let places = Places::find(args.address.as_deref(), None, environment)?;
    runtime::block_on(async {
        let request = Request::new(Method::POST, "/stop");
        let (answer, place) = api::ask(&places, request, |request, _| request).await?;
        answer.into_body(&place)?;
        exit::say(&format!("the proxy at {place} is stopping"));
        Ok(())
    })
}
