//! `doorway routes`: the hosts that a running proxy serves for its sources of routes, and the documents of its store.

mod answer;
mod bulk;
mod input;
mod proxy;
mod table;
mod tell;

use hyper::Method;
use serde_json::json;

use self::proxy::Proxy;
use crate::api::Request;
use crate::args::{ChangeArgs, ProxyArgs, RoutesCommand};
use crate::exit::{self, Outcome};
use crate::settings::Environment;
use crate::{output, runtime};

/// Carries out one of the commands.
pub(crate) fn routes(command: &RoutesCommand, environment: &Environment) -> Outcome {
    let proxy = |args: &ProxyArgs| Proxy::of(args, environment);
    match command {
        RoutesCommand::List { json, proxy: args } => tell::list(&proxy(args)?, *json),
        RoutesCommand::Get {
            host,
            version,
            proxy: args,
        } => get(&proxy(args)?, host, *version),
        RoutesCommand::Put {
            host,
            file,
            create,
            change,
            proxy: args,
        } => {
            input::only_once(file.as_deref(), args)?;
            let text = input::text(file.as_deref())?;
            let request = Request::new(Method::PUT, path(host, change, "")).with_json(text);
            let request = if *create {
                request.with("if-none-match", "*".to_owned())
            } else {
                request
            };
            change_one(&proxy(args)?, request, change, "written")
        }
        RoutesCommand::Delete {
            host,
            change,
            proxy: args,
        } => {
            let request = Request::new(Method::DELETE, path(host, change, ""));
            change_one(&proxy(args)?, request, change, "removed")
        }
        RoutesCommand::History {
            host,
            json,
            proxy: args,
        } => tell::history(&proxy(args)?, host, *json),
        RoutesCommand::Rollback {
            host,
            version,
            change,
            proxy: args,
        } => {
            let request = Request::new(Method::POST, path(host, change, "/rollback"));
            let request = request.with_json(json!({ "version": version }).to_string());
            change_one(&proxy(args)?, request, change, "rolled back")
        }
        RoutesCommand::Status { json, proxy: args } => tell::status(&proxy(args)?, *json),
        RoutesCommand::Export { lines, proxy: args } => bulk::export(&proxy(args)?, *lines),
        RoutesCommand::Import {
            file,
            dry_run,
            replace,
            wait,
            proxy: args,
        } => {
            input::only_once(file.as_deref(), args)?;
            let plan = bulk::Plan {
                dry_run: *dry_run,
                replace: *replace,
                wait: wait.wait.clone(),
            };
            bulk::import(&proxy(args)?, file.as_deref(), &plan)
        }
        RoutesCommand::Validate { file } => input::validate(file.as_deref()),
        RoutesCommand::Forget { host, proxy: args } => {
            let request = Request::new(Method::POST, format!("/routes/forget/{}", proxy::encoded(host)));
            say_done(&proxy(args)?, request, "forgotten")
        }
        RoutesCommand::AcceptLoss { proxy: args } => {
            let request = Request::new(Method::POST, "/routes/accept-loss");
            say_done(&proxy(args)?, request, "what the store has now is served")
        }
        RoutesCommand::Schema => output::print_line(format!("{:#}", route_store::document::schema())),
    }
}

/// The document as it is; nothing is added to it, so that it can be written again.
fn get(proxy: &Proxy, host: &str, version: Option<u64>) -> Outcome {
    let host = proxy::encoded(host);
    let path = match version {
        Some(version) => format!("/routes/{host}/history/{version}"),
        None => format!("/routes/{host}"),
    };
    runtime::block_on(async {
        let answer = proxy.ask(Request::new(Method::GET, path)).await?;
        let etag = answer.etag().map(str::to_owned);
        let text = answer::done(answer, proxy)?;
        if let Some(version) = etag
            .as_deref()
            .and_then(|etag| etag.strip_prefix('"')?.strip_suffix('"'))
        {
            exit::say(&format!("version {version}"));
        }
        output::print_line(text.trim_end())
    })
}

fn change_one(proxy: &Proxy, request: Request, change: &ChangeArgs, what: &str) -> Outcome {
    let request = match change.if_match {
        Some(version) => request.with("if-match", format!("\"{version}\"")),
        None => request,
    };
    runtime::block_on(async {
        let request = proxy::patient(request, change.wait.wait.as_deref());
        let said = answer::value(proxy.ask(request).await?, proxy)?;
        exit::say(&tell::change(&said, what));
        Ok(())
    })
}

fn say_done(proxy: &Proxy, request: Request, what: &str) -> Outcome {
    runtime::block_on(async {
        answer::done(proxy.ask(request).await?, proxy)?;
        exit::say(what);
        Ok(())
    })
}

/// The path of a host, with how long to wait.
fn path(host: &str, change: &ChangeArgs, rest: &str) -> String {
    let host = proxy::encoded(host);
    let wait = change.wait.wait.as_ref().map(|wait| format!("?wait={wait}"));
    format!("/routes/{host}{rest}{}", wait.unwrap_or_default())
}
