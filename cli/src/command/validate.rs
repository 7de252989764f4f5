//! `doorway validate`: everything that starting would check, without binding a socket.

use proxy_core::{Options, Proxy};

use crate::args::ValidateArgs;
use crate::exit::{self, Outcome};
use crate::settings::Environment;
use crate::{output, source};

/// Says whether the configuration would run; if not, all that is wrong with it.
pub(crate) fn validate(args: &ValidateArgs, environment: &Environment) -> Outcome {
    let loaded = source::load(&args.config.get(), environment)?;
    loaded.say_warnings();
    // Without a data directory, so that a check creates no certificate authority on disk.
    let options = Options {
        data_dir: None,
        ..environment.proxy_options(1)
    };
    let checked = Proxy::check(&loaded.config, &options);
    for warning in checked.map_err(|errors| loaded.refused(&errors))? {
        exit::say(&loaded.placed("warning", &warning));
    }
    output::print_line("Valid configuration")
}
