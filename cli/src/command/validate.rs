//! `doorway validate`: everything that starting would check, without binding a socket.

use proxy_core::Proxy;

use crate::args::ValidateArgs;
use crate::exit::{self, Failure, Outcome};
use crate::settings::Environment;
use crate::{output, source};

/// Says whether the configuration would run; if not, all that is wrong with it.
pub(crate) fn validate(args: &ValidateArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config, environment)?;
    loaded.say_warnings();
    let options = environment.proxy_options(1);
    let checked = Proxy::check(&loaded.config, &options);
    let warnings = checked.map_err(|errors| Failure::Report(errors.to_string()))?;
    exit::say_all(warnings);
    output::print_line("Valid configuration")
}
