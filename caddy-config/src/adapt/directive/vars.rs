//! `vars [matcher] [NAME VALUE] { NAME VALUE }`: sets variables. `log_skip [matcher]` and
//! `log_name [matcher] NAME...` set those that the access log looks at.

use super::super::{args::Args, cx::Cx, values::scalar};
use crate::{
    caddyfile::token::Token,
    check,
    model::{Handler, Value, Vars},
};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let mut vars = Vars::default();
    if let Some((name, values)) = args.rest().split_first() {
        variable(name, values, &mut vars, cx);
    }
    for line in args.block() {
        cx.no_block(line);
        variable(&line.name, &line.args, &mut vars, cx);
    }
    if args.rest().is_empty() && args.block().is_empty() {
        let help = "write a name and a value behind it, or a block of them".to_owned();
        cx.warn(args.name().span, "no variable to set", help);
    }
    Some(Handler::Vars(vars))
}

fn variable(name: &Token, values: &[Token], vars: &mut Vars, cx: &mut Cx<'_>) {
    cx.check_value(name, check::template(&name.text));
    let [value] = values else {
        let text = cx.quote(name);
        return cx.error(name.span, format!("the variable `{text}` needs one value"), None);
    };
    cx.check_value(value, check::template(&value.text));
    if name.text == "handler" {
        let help = "in JSON this name says what kind of handler it is; choose another".to_owned();
        return cx.error(name.span, "no variable can be called `handler`", help);
    }
    let Some(value) = scalar(value, cx) else { return };
    if vars.values.insert(name.text.clone(), value).is_some() {
        cx.error(name.span, "this variable is set twice", None);
    }
}

pub(super) fn log_skip(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    if args.name().text == "skip_log" {
        let help = "write `log_skip`".to_owned();
        cx.warn(
            args.name().span,
            "`skip_log` is the old name of this directive",
            help,
        );
    }
    args.finish(cx);
    cx.no_block(args.line());
    Some(one("log_skip", Value::Bool(true)))
}

pub(super) fn log_name(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    cx.no_block(args.line());
    if args.rest().is_empty() {
        let help = "the name of a `log`, or several".to_owned();
        cx.error(args.name().span, "`log_name` needs a name", help);
    }
    let names = args.rest().iter().map(|arg| {
        cx.check_value(arg, check::template(&arg.text));
        arg.text.clone()
    });
    Some(one("access_logger_names", Value::List(names.collect())))
}

fn one(name: &str, value: Value) -> Handler {
    Handler::Vars(Vars {
        values: std::iter::once((name.to_owned(), value)).collect(),
    })
}
