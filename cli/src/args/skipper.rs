//! The flags of Skipper, by which `doorway run` runs its routes without a configuration file.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use caddy_config::{
    CertificateFile, Config, Eskip, EskipBreaker, EskipPassiveHealth, EskipTextError, HttpApp, HttpMetrics,
    ListenAddress, ListenError, ServerLogs,
};
use clap::builder::RangedI64ValueParser;
use clap::{Args, value_parser};

/// What Skipper is told by flags. Its own have one dash.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Skipper's routes")]
#[group(
    id = "skipper",
    conflicts_with_all = ["config", "file", "adapter", "resume", "watch"]
)]
pub(crate) struct SkipperArgs {
    /// Run the routes of these files, with commas between; they are read again when they change
    #[arg(long, value_name = "FILES", value_delimiter = ',', value_parser = checked(Eskip::check_file))]
    routes_file: Vec<String>,
    /// Run these routes. May be repeated
    #[arg(long, value_name = "ROUTES", allow_hyphen_values = true)]
    inline_routes: Vec<String>,
    /// Run the routes at these URLs, with commas between; they are asked again and again
    #[arg(long, value_name = "URLS", value_delimiter = ',', value_parser = checked(Eskip::check_url))]
    routes_urls: Vec<String>,
    /// Where to listen: host:port, :port for all addresses, or unix//path [default: :9090]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    address: Option<ListenAddress>,
    /// The time between two looks at files and URLs: milliseconds, or a duration such as 10s [default: 3000]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    source_poll_timeout: Option<Duration>,
    /// Filters that each route gets before its own. May be repeated
    #[arg(long, value_name = "FILTERS")]
    default_filters_prepend: Vec<String>,
    /// Filters that each route gets behind its own. May be repeated
    #[arg(long, value_name = "FILTERS")]
    default_filters_append: Vec<String>,
    /// Change predicates and filters: /regular expression/replacement/. May be repeated
    #[arg(long, value_name = "CHANGE", value_parser = checked(Eskip::check_edit))]
    edit_route: Vec<String>,
    /// Add changed routes to those that there are: /regular expression/replacement/. May be repeated
    #[arg(long, value_name = "CHANGE", value_parser = checked(Eskip::check_edit))]
    clone_route: Vec<String>,
    /// Send backends the host that the client asked for, not their own
    #[arg(long)]
    proxy_preserve_host: bool,
    /// A slash at the end of a path means nothing
    #[arg(long)]
    ignore_trailing_slash: bool,
    /// Let predicates see the host in lower case, without its port and a dot at the end
    #[arg(long)]
    normalize_host: bool,
    /// Do not verify the certificates of backends
    #[arg(long)]
    insecure: bool,
    /// How often a request may go back to the routes; 0 is the default, -1 is never [default: 9]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = loopbacks())]
    max_loopbacks: Option<i32>,
    /// The status for requests that no route is for [default: 404]
    #[arg(long, value_name = "STATUS", value_parser = value_parser!(u16).range(100..=511))]
    default_http_status: Option<u16>,
    /// A circuit breaker for all backends, or for one host, such as
    /// type=rate,host=www.example.org,window=300,failures=30,timeout=4m,half-open-requests=45,idle-ttl=5m. May be
    /// repeated
    #[arg(long, value_name = "SETTINGS", value_parser = settings::<EskipBreaker>)]
    breaker: Vec<EskipBreaker>,
    /// Send fewer requests to endpoints that fail, such as period=1s,min-requests=10,max-drop-probability=0.9
    #[arg(long, value_name = "SETTINGS", value_parser = settings::<EskipPassiveHealth>)]
    passive_health_check: Option<EskipPassiveHealth>,
    /// Filters that no route may have, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = checked(Eskip::check_filter_name))]
    disabled_filters: Vec<String>,
    /// Where routes to `<forward>` go, such as http://10.0.0.1:9090
    #[arg(long, value_name = "ADDRESS", value_parser = checked(Eskip::check_forward_backend))]
    forward_backend: Option<String>,
    /// Write no access log
    #[arg(long)]
    access_log_disabled: bool,
    /// After SIGTERM, go on for this time while `Shutdown()` is true: milliseconds, or a duration such as 45s
    /// [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait_for_healthcheck_interval: Option<Duration>,
    /// Where the oauthTokeninfo filters ask about tokens, such as http://10.0.0.1/tokeninfo
    #[arg(long, value_name = "URL", value_parser = checked(Eskip::check_url))]
    oauth2_tokeninfo_url: Option<String>,
    /// Serve TLS with the certificates of these files, with commas between
    #[arg(long, value_name = "FILES", value_delimiter = ',', requires = "tls_key", value_parser = checked(Eskip::check_file))]
    tls_cert: Vec<String>,
    /// The keys of the certificates, in their order
    #[arg(long, value_name = "FILES", value_delimiter = ',', requires = "tls_cert", value_parser = checked(Eskip::check_file))]
    tls_key: Vec<String>,
}

/// What Skipper listens on if it is not told.
const DEFAULT_ADDRESS: &str = ":9090";

// === impl SkipperArgs ===

impl SkipperArgs {
    /// The configuration that the flags make; `None` if there are none of them.
    ///
    /// # Errors
    ///
    /// Flags that do not go together.
    pub(crate) fn config(&self) -> Result<Option<Config>, String> {
        if *self == Self::default() {
            return Ok(None);
        }
        if self.routes_file.is_empty() && self.inline_routes.is_empty() && self.routes_urls.is_empty() {
            return Err(
                "there are no routes to run: add --routes-file, --inline-routes or --routes-urls".to_owned(),
            );
        }
        let certificates = self.certificates()?;
        let address = match &self.address {
            Some(address) => address.clone(),
            None => parse_address(DEFAULT_ADDRESS)?,
        };
        let mut config = self.eskip().into_config(address, certificates);
        if let Some(http) = &mut config.apps.http {
            self.watch_over(http);
        }
        Ok(Some(config))
    }

    /// What Skipper has unless it is told otherwise: metrics and an access log. The time in which a balancer can see
    /// that the process stops is only there if it is asked for: whoever tries routes out ends it often.
    fn watch_over(&self, http: &mut HttpApp) {
        http.metrics = Some(HttpMetrics::default());
        http.shutdown_delay = self.wait_for_healthcheck_interval;
        for server in http.servers.values_mut() {
            server.logs = (!self.access_log_disabled).then(ServerLogs::default);
        }
    }

    fn eskip(&self) -> Eskip {
        Eskip {
            files: self.routes_file.clone(),
            inline: self.inline_routes.clone(),
            urls: self.routes_urls.clone(),
            // Only another program that the proxy is part of has some.
            sources: Vec::new(),
            poll: self.source_poll_timeout,
            default_filters_prepend: self.default_filters_prepend.clone(),
            default_filters_append: self.default_filters_append.clone(),
            edit_routes: self.edit_route.clone(),
            clone_routes: self.clone_route.clone(),
            preserve_host: self.proxy_preserve_host,
            ignore_trailing_slash: self.ignore_trailing_slash,
            normalize_host: self.normalize_host,
            insecure: self.insecure,
            max_loopbacks: self.max_loopbacks.filter(|most| *most != 0),
            default_status: self.default_http_status,
            forward_backend: self.forward_backend.clone(),
            tokeninfo_url: self.oauth2_tokeninfo_url.clone(),
            disabled_filters: self.disabled_filters.clone(),
            breakers: self.breaker.clone(),
            passive_health: self.passive_health_check.clone(),
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateFile>, String> {
        let (certificates, keys) = (self.tls_cert.len(), self.tls_key.len());
        if certificates != keys {
            return Err(format!(
                "--tls-cert names {certificates} files and --tls-key {keys}: each certificate needs its key"
            ));
        }
        let pairs = self.tls_cert.iter().zip(&self.tls_key);
        let file = |(certificate, key)| CertificateFile {
            certificate: PathBuf::from(certificate),
            key: PathBuf::from(key),
            tags: Vec::new(),
        };
        Ok(pairs.map(file).collect())
    }
}

/// Keeps a text that passes a check.
fn checked<E>(
    check: fn(&str) -> Result<(), E>,
) -> impl Fn(&str) -> Result<String, E> + Clone + Send + Sync + 'static
where
    E: 'static,
{
    move |text| check(text).map(|()| text.to_owned())
}

fn loopbacks() -> RangedI64ValueParser<i32> {
    value_parser!(i32).range(-1..)
}

fn parse_address(text: &str) -> Result<ListenAddress, String> {
    text.parse()
        .map_err(|error: ListenError| format!("{error}; {}", error.help()))
}

/// A number is one of milliseconds, as for Skipper.
fn parse_time(text: &str) -> Result<Duration, &'static str> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let poll = if is_number {
        caddy_config::duration(&format!("{text}ms"))
    } else {
        caddy_config::duration(text)
    };
    poll.filter(|poll| !poll.is_zero())
        .ok_or("expected milliseconds, or a duration such as 10s, above zero")
}

fn settings<T: FromStr<Err = EskipTextError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: EskipTextError| match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests;
