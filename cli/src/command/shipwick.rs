//! `doorway shipwick`: desired routes as Caddy's JSON, pushed to a proxy and kept there.

mod desired;
mod diff;
mod watch;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use shipwick_routes::sync::{Settings, Synced, Syncer};
use shipwick_routes::{AdminAddress, Rendered, render};

use crate::api::{self, Places, Request};
use crate::args::{DesiredFrom, RenderArgs, ShipwickCommand};
use crate::exit::{self, Failure, Outcome};
use crate::settings::Environment;
use crate::{output, runtime};

/// The routes in a configuration.
const ROUTES: &str = "/apps/http/servers/shipwick/routes";

/// What to do where no proxy answers.
const WAY_OUT: &str = "  help: start the proxy, or say with --admin where its admin API is";

/// Carries out one of the shipwick commands.
pub(crate) fn shipwick(command: &ShipwickCommand, environment: &Environment) -> Outcome {
    match command {
        ShipwickCommand::Render {
            from,
            render,
            fingerprint,
        } => print(from, render, *fingerprint, environment),
        ShipwickCommand::Diff { from, render } => differences(from, render, environment),
        ShipwickCommand::Apply { from, render } => apply(from, render, environment),
        ShipwickCommand::Watch { from, render } => watch::watch(from, render, environment),
        ShipwickCommand::Status { admin, json } => status(admin.as_deref(), *json, environment),
        ShipwickCommand::Schema => schema(),
    }
}

// === render ===

fn print(from: &DesiredFrom, args: &RenderArgs, fingerprint: bool, environment: &Environment) -> Outcome {
    let rendered = render(&desired::read(from, environment)?, &args.options());
    if fingerprint {
        return output::print_line(rendered.fingerprint());
    }
    output::print(&text(&rendered))
}

fn text(rendered: &Rendered) -> String {
    String::from_utf8_lossy(rendered.bytes()).into_owned()
}

// === diff ===

fn differences(from: &DesiredFrom, args: &RenderArgs, environment: &Environment) -> Outcome {
    let desired = desired::read(from, environment)?;
    let wanted = text(&render(&desired, &args.options()));
    runtime::block_on(async {
        let (answer, place) = ask(&desired.admin, "/config/", environment).await?;
        let running = parsed(&answer.into_body(&place)?, &place)?;
        let lines = diff::lines(&running, &parsed(&wanted, "this command")?);
        if lines.is_empty() {
            return Ok(());
        }
        output::print(&lines)?;
        Err(Failure::Report(format!("the proxy at {place} has other routes")))
    })
}

/// Whoever listens at an address may answer anything.
fn parsed(text: &str, place: &str) -> Result<Value, Failure> {
    let parsed = serde_json::from_str(text);
    parsed.map_err(|error| anyhow::anyhow!("what {place} answers is no JSON: {error}").into())
}

async fn ask(
    admin: &AdminAddress,
    path: &str,
    environment: &Environment,
) -> Result<(api::Answer, String), Failure> {
    let places = Places::find(Some(admin.listen()), None, environment)?;
    let asked = api::ask(&places, Request::new(Method::GET, path), |request, _| request).await;
    asked.map_err(|failure| match failure {
        // Its own way out is another command's.
        Failure::Report(text) => {
            let said = text.lines().next().unwrap_or_default();
            Failure::Report(format!("{said}\n{WAY_OUT}"))
        }
        failure => failure,
    })
}

// === apply ===

fn apply(from: &DesiredFrom, args: &RenderArgs, environment: &Environment) -> Outcome {
    let desired = desired::read(from, environment)?;
    let rendered = render(&desired, &args.options());
    let settings = Settings {
        render: args.options(),
        ..Settings::default()
    };
    let admin = desired.admin.clone();
    let syncer = Syncer::new(
        admin,
        move || Ok::<_, std::convert::Infallible>(desired.clone()),
        settings,
    );
    let synced = runtime::block_on(async {
        let synced = syncer.sync().await.map_err(anyhow::Error::new)?;
        debug_assert_eq!(synced, Synced::Loaded, "nothing is known of a proxy at first");
        Ok(())
    });
    synced?;
    let (routes, fingerprint) = (rendered.routes(), rendered.fingerprint());
    let plural = if routes == 1 { "" } else { "s" };
    output::print_line(format!("{routes} route{plural}, fingerprint {fingerprint}"))
}

// === status ===

fn status(admin: Option<&str>, as_json: bool, environment: &Environment) -> Outcome {
    let Some(admin) = desired::admin(admin, environment)? else {
        exit::say("no proxy is named: say with --admin or in SHIPWICK_CADDY_ADMIN where its admin API is");
        return print_status(
            &json!({"enabled": false, "reachable": false, "error": "", "routes": 0}),
            as_json,
        );
    };
    runtime::block_on(async {
        let path = format!("/config{ROUTES}");
        let asked = match ask(&admin, &path, environment).await {
            // There is nothing at that path.
            Ok((answer, _)) if matches!(answer.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) => {
                Ok(Value::Null)
            }
            Ok((answer, place)) => answer.into_body(&place).and_then(|body| parsed(&body, &place)),
            Err(failure) => Err(failure),
        };
        let (routes, error) = match &asked {
            Ok(routes) => (routes.as_array().map_or(&[][..], Vec::as_slice), String::new()),
            Err(failure) => (&[][..], failure.to_string()),
        };
        let marker = routes.last().and_then(|route| route.get("@id")?.as_str());
        let fingerprint = marker.and_then(|marker| marker.strip_prefix("shipwick-config-"));
        let status = json!({
            "enabled": true,
            "reachable": asked.is_ok(),
            "error": error.lines().next().unwrap_or_default().trim_start_matches("error: "),
            "routes": routes.len().saturating_sub(usize::from(marker.is_some())),
            "fingerprint": fingerprint,
        });
        print_status(&status, as_json)?;
        asked.map(drop)
    })
}

fn print_status(status: &Value, as_json: bool) -> Outcome {
    if as_json {
        return output::print_line(status);
    }
    let mut text = String::new();
    for name in ["enabled", "reachable", "error", "routes", "fingerprint"] {
        let shown = match status.get(name) {
            Some(Value::Bool(true)) => "yes".to_owned(),
            Some(Value::Bool(false)) => "no".to_owned(),
            Some(Value::String(shown)) => shown.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        if !shown.is_empty() {
            text.push_str(&format!("{name:<12} {shown}\n"));
        }
    }
    output::print(&text)
}

// === schema ===

fn schema() -> Outcome {
    output::print_line(format!("{:#}", shipwick_routes::schema()))
}
