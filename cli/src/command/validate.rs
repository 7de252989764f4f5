//! `doorway validate`: everything that starting would check, without binding a socket.

use proxy_core::Proxy;

use crate::args::ValidateArgs;
use crate::exit::{self, Outcome};
use crate::settings::Environment;
use crate::{output, source};

/// Says whether the configuration would run; if not, all that is wrong with it.
pub(crate) fn validate(args: &ValidateArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config, environment)?;
    loaded.say_warnings();
    exit::say_all(Proxy::check(&loaded.config, &environment.proxy_options(1))?);
    output::print_line("Valid configuration")
}
