//! A client of the admin API of a running proxy.

mod client;
mod place;

pub(crate) use self::client::{Answer, Request};
pub(crate) use self::place::{Place, Places};

use anyhow::anyhow;
use hyper::{Method, StatusCode};

use crate::exit::Failure;

/// What to do where no proxy answers.
const WAY_OUT: &str =
    "  help: start one with `doorway run`, or say with --address where it is (its option `admin`)";

/// What only Doorway answers: Caddy's admin API, which may be at the same place, knows nothing of it.
const OWN: &str = "/doors/pods";

/// Sends `request` to the first of `places` where somebody listens. `adapted` changes the request for its place. Unless
/// the user has named the place, it must be Doorway who listens there.
pub(crate) async fn ask(
    places: &Places,
    request: Request,
    adapted: impl Fn(Request, Place<'_>) -> Request,
) -> Result<(Answer, String), Failure> {
    let mut silent = Vec::new();
    for place in places.iter() {
        let answer = async {
            if !place.is_given() {
                let probed = client::send(place.address(), Request::new(Method::GET, OWN)).await?;
                if probed.status == StatusCode::NOT_FOUND {
                    return Err(client::Failed::stranger(place.address()));
                }
            }
            client::send(place.address(), adapted(request.clone(), place)).await
        };
        match answer.await {
            Ok(answer) => return Ok((answer, place.address().to_string())),
            Err(failed) if failed.is_silence() => silent.push(failed.to_string()),
            Err(failed) => return Err(anyhow::Error::new(failed).into()),
        }
    }
    Err(Failure::Report(format!(
        "error: {}\n{WAY_OUT}",
        silent.join("\nerror: ")
    )))
}

// === impl Answer ===

impl Answer {
    /// The body, if the proxy did what was asked.
    pub(crate) fn into_body(self, place: &str) -> Result<String, Failure> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let said = serde_json::from_str::<serde_json::Value>(&self.body).ok();
        let said = said.as_ref().and_then(|body| body.get("error")?.as_str());
        let why = said.unwrap_or_else(|| self.body.trim());
        Err(anyhow!("the proxy at {place} answered {}: {why}", self.status.as_u16()).into())
    }
}
