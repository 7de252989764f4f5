//! `request_body [matcher] { max_size SIZE; set TEXT }`: limits or replaces the request's body.

use super::super::{args::Args, cx::Cx, values::Once};
use crate::{
    check,
    model::{Handler, RequestBody},
    units,
};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    let mut body = RequestBody::default();
    let mut once = Once::default();
    for line in args.block() {
        once.note(&line.name, cx);
        match line.name.text.as_str() {
            "max_size" => {
                body.max_size = cx
                    .one(line, "a size, such as 10MB")
                    .and_then(|arg| {
                        let size = units::size(&arg.text).filter(|size| i64::try_from(*size).is_ok());
                        cx.check(arg, size.ok_or("expected a size, such as 10MB or 512KiB"))
                    })
                    .filter(|size| *size != 0);
            }
            "set" => {
                let set = cx.one(line, "a text").map(|arg| {
                    cx.check_value(arg, check::template(&arg.text));
                    arg.text.clone()
                });
                body.set = set.filter(|set| !set.is_empty());
            }
            _ => cx.unknown(&line.name, "subdirective", &["max_size", "set"]),
        }
    }
    Some(Handler::RequestBody(body))
}
