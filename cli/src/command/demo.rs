//! `doorway demo`: pods, DNS server and proxy in one process.

use std::net::{Ipv4Addr, SocketAddr};

use caddy_config::Config;
use proxy_core::Proxy;
use tokio_util::sync::CancellationToken;

use crate::args::DemoArgs;
use crate::demo::{self, Demo};
use crate::exit::{self, Failure, Outcome};
use crate::settings::Environment;
use crate::signals::Signals;
use crate::{logging, output, runtime};

/// The DNS port that `--show-config` shows; a running demo takes any free one.
const SHOWN_DNS_PORT: u16 = 5353;

/// Runs the demo until it is told to stop.
pub(crate) fn demo(args: &DemoArgs, environment: &Environment) -> Outcome {
    if args.show_config {
        let resolver = SocketAddr::from((Ipv4Addr::LOCALHOST, SHOWN_DNS_PORT));
        return output::print(&demo::caddyfile(args.port, resolver));
    }
    let workers = environment.workers(args.workers.workers)?;
    logging::start_quiet(environment.coloured_stderr())?;
    runtime::block_on(async {
        let mut signals = Signals::listen()?;
        let demo = Demo::start(args.port).await?;
        let config = configuration(&demo)?;
        let proxy = Proxy::build(&config, &environment.proxy_options(workers))?;
        output::print(&greeting(demo.address()))?;
        let stop = CancellationToken::new();
        let running = async {
            let proxy_ends = async {
                let report = proxy.run(stop.clone()).await;
                stop.cancel();
                report
            };
            tokio::join!(proxy_ends, demo.run(stop.clone())).0
        };
        runtime::conclude(runtime::until_stopped(running, &stop, &mut signals).await?)?;
        exit::say("The demo has ended.");
        Ok(())
    })
}

/// The proxy's configuration, read from the text that the page shows.
fn configuration(demo: &Demo) -> Result<Config, Failure> {
    let secret = |name: &str| (name == demo::SECRET_VARIABLE).then(|| demo.secret().to_owned());
    let adapted = caddy_config::from_caddyfile(demo::CADDYFILE_NAME, demo.caddyfile(), &secret)?;
    Ok(adapted.config)
}

fn greeting(address: SocketAddr) -> String {
    format!(
        "Doorway demo: open http://{address}/ in a browser.\n\
         Two pods are running; roll out the second one from the page. Ctrl-C ends the demo.\n"
    )
}
