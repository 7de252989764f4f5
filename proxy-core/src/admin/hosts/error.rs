//! Why a request for hosts fails.

use http::StatusCode;
use http::header::{self, HeaderValue};
use route_store::document::ReadError;
use route_store::{HostName, Problems, StoreError};
use serde_json::{Value, json};

use super::Refused;
use super::condition::etag;
use crate::admin::reply::Reply;

/// How long whoever was told that the store is away may wait, in seconds.
const RETRY: HeaderValue = HeaderValue::from_static("5");

/// There is no source of routes at all.
pub(super) fn no_sources() -> Refused {
    let error = "the configuration has no sources of routes; add the global option `route_sources`";
    Box::new(Reply::error(StatusCode::CONFLICT, error))
}

/// There is no store among the sources.
pub(super) fn no_store() -> Refused {
    let error =
        "the configuration has no store of routes, so none can be written; add `store` to `route_sources`";
    Box::new(Reply::error(StatusCode::CONFLICT, error))
}

/// The store has no document for a host.
pub(super) fn unknown(host: &HostName) -> Refused {
    let error = format!("the store has no document for {host}");
    Box::new(Reply::error(StatusCode::NOT_FOUND, &error))
}

/// What the store says.
pub(super) fn of_store(error: &StoreError) -> Refused {
    let text = error.to_string();
    Box::new(match error {
        StoreError::Unavailable { .. } => {
            Reply::error(StatusCode::SERVICE_UNAVAILABLE, &text).with(header::RETRY_AFTER, RETRY)
        }
        StoreError::Conflict { current } => return conflict(*current),
        StoreError::UnknownVersion { .. } => Reply::error(StatusCode::NOT_FOUND, &text),
        _ => Reply::error(StatusCode::INTERNAL_SERVER_ERROR, &text),
    })
}

/// What is stored is not what was expected; the version that is there, if there is one.
pub(super) fn conflict(current: Option<u64>) -> Refused {
    let error = match current {
        Some(version) => format!("the document was changed: its version is {version}"),
        None => "there is no document".to_owned(),
    };
    let reply = with_more(
        StatusCode::PRECONDITION_FAILED,
        &error,
        &json!({ "current": current }),
    );
    Box::new(match current {
        Some(version) => reply.with_text(header::ETAG, &etag(version)),
        None => reply,
    })
}

/// What is wrong with a document.
pub(super) fn invalid(error: &ReadError) -> Refused {
    let problems = match error {
        ReadError::Invalid { problems, .. } => return of_problems(problems),
        ReadError::Json {
            line,
            column,
            message,
        } => {
            json!([{ "place": format!("line {line}, column {column}"), "message": message }])
        }
        error => json!([{ "place": "", "message": error.to_string() }]),
    };
    unprocessable(&error.to_string(), &problems)
}

/// Everything that is wrong with a document, each with its place.
pub(super) fn of_problems(problems: &Problems) -> Refused {
    let one =
        |problem: &route_store::Problem| json!({ "place": problem.place(), "message": problem.message() });
    unprocessable(&problems.to_string(), &problems.iter().map(one).collect())
}

fn unprocessable(error: &str, problems: &Value) -> Refused {
    let error = format!("this is no document that can be served: {error}");
    Box::new(with_more(
        StatusCode::UNPROCESSABLE_ENTITY,
        &error,
        &json!({ "problems": problems }),
    ))
}

/// An error with more to say than its text.
pub(super) fn with_more(status: StatusCode, error: &str, more: &Value) -> Reply {
    let mut value = json!({ "error": error });
    if let (Some(value), Some(more)) = (value.as_object_mut(), more.as_object()) {
        value.extend(more.clone());
    }
    Reply {
        status,
        error: Some(error.to_owned()),
        ..Reply::value(&value)
    }
}
