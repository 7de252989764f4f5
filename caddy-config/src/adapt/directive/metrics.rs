//! `metrics [matcher] { disable_openmetrics }`: the metrics of the process.

use super::super::{args::Args, cx::Cx};
use crate::model::{Handler, Metrics};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    let mut metrics = Metrics::default();
    for line in args.block() {
        if line.name.text == "disable_openmetrics" {
            cx.nothing(line);
            metrics.disable_openmetrics = true;
        } else {
            cx.unknown(&line.name, "subdirective", &["disable_openmetrics"]);
        }
    }
    Some(Handler::Metrics(metrics))
}
