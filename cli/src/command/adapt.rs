//! `doorway adapt`: a configuration as Caddy JSON.

use crate::args::AdaptArgs;
use crate::exit::Outcome;
use crate::settings::Environment;
use crate::{output, source};

/// Prints the configuration as JSON to standard output, its warnings to standard error.
pub(crate) fn adapt(args: &AdaptArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config.get(), environment)?;
    loaded.say_warnings();
    if args.pretty {
        return output::print(&loaded.config.to_json_pretty());
    }
    output::print_line(loaded.config.to_json())
}
