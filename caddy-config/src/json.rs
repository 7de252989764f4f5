//! Caddy JSON -> the model.
//!
//! Hand-written decoding instead of a derived one, so that every finding has its line and column, all of them are
//! reported at once, and fields that Doorway does not know are never passed over.

mod admin;
mod decode;
mod handler;
mod headers;
mod http;
mod listener_wrapper;
mod logging;
mod matcher;
mod reader;
mod route;
mod route_sources;
mod scalar;
mod tls;
mod upstream;

use self::{
    decode::{Cx, Object},
    reader::Node,
};
use crate::{
    diagnostic::Diagnostics,
    model::{Apps, Config, Handler},
    source::{MAX_TEXT, Report, Sources, Span},
};

/// Reads a document of Caddy JSON. `file_name` is only for findings.
///
/// # Errors
///
/// All that is wrong with it: no JSON, a key that occurs twice, a field that Doorway does not know, a value of the
/// wrong type or out of range, a `doors_handler` that lacks something.
pub fn from_json(file_name: &str, text: &str) -> Result<Config, Diagnostics> {
    let source = Sources::new(file_name, text);
    let mut report = Report::default();
    let config = if text.len() > MAX_TEXT {
        report.error(
            Span::new(0, 1),
            format!("the text is longer than {MAX_TEXT} bytes"),
            None,
        );
        Config::default()
    } else {
        let node = reader::read(text, &mut report);
        node.and_then(|node| document(&node, &mut Cx::new(&mut report)))
            .unwrap_or_default()
    };
    report.finish(config, &source).map(|(config, _)| config)
}

/// Reads a list of handlers in the form of a route's `handle`, for who has routes elsewhere than in a configuration. `file_name` is
/// only used to say where mistakes are.
///
/// # Errors
///
/// All mistakes, each with its line and column.
pub fn handlers_from_json(file_name: &str, text: &str) -> Result<Vec<Handler>, Diagnostics> {
    let source = Sources::new(file_name, text);
    let mut report = Report::default();
    let handlers = if text.len() > MAX_TEXT {
        let too_long = format!("the text is longer than {MAX_TEXT} bytes");
        report.error(Span::new(0, 1), too_long, None);
        Vec::new()
    } else {
        let node = reader::read(text, &mut report);
        let mut cx = Cx::new(&mut report);
        let list = node.as_ref().and_then(|node| cx.list(node, handler::handler));
        list.unwrap_or_default()
    };
    report.finish(handlers, &source).map(|(handlers, _)| handlers)
}

fn document<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Config> {
    let mut object = Object::open(node, cx)?;
    let config = Config {
        admin: object.get("admin", cx, admin::admin),
        logging: object.get("logging", cx, logging::logging),
        storage: object.get("storage", cx, admin::storage),
        apps: object.get("apps", cx, apps).unwrap_or_default(),
    };
    object.finish(cx);
    Some(config)
}

fn apps<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Apps> {
    let mut object = Object::open(node, cx)?;
    let apps = Apps {
        http: object.get("http", cx, http::app),
        pki: object.get("pki", cx, admin::pki),
        tls: object.get("tls", cx, tls::app),
    };
    object.finish(cx);
    Some(apps)
}
