//! Caddyfile tree -> the model, by Caddy's rules: the same file gives the same servers, routes and order.
//!
//! [`options`] reads the global options and [`site`] each site into values; [`server`] then shares the sites out to
//! servers by listener address, and [`tls`] gathers what they say about certificates.

mod address;
mod args;
mod block;
mod connection_policies;
mod cx;
mod directive;
mod logs;
mod matcher;
mod named_routes;
mod options;
mod order;
mod places;
mod routes;
mod server;
mod server_options;
mod shorthand;
mod site;
mod stable_sort;
mod tls;
mod values;

use std::collections::BTreeMap;

pub use self::places::Places;
use self::{cx::Cx, options::Options, site::Site};
use crate::{
    caddyfile::{
        self,
        parser::{Block, Kind},
    },
    diagnostic::{Diagnostic, Diagnostics},
    model::{Apps, Config, Route},
    source::{MAX_TEXT, Report, Sources, Span},
    surroundings::{Inputs, Surroundings, Variables},
};

/// A Caddyfile as a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapted {
    /// The configuration.
    pub config: Config,
    /// What works, but perhaps not as meant, in the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// What was read beside the Caddyfile itself.
    pub inputs: Inputs,
    /// Where it says what does not simply work.
    pub places: Places,
}

/// Reads a Caddyfile that imports no files. `file_name` is only for findings; `environment` looks up what `{$NAME}`
/// stands for.
///
/// # Errors
///
/// All that is wrong with it: broken structure, directives or options that Doorway does not know, arguments of
/// the wrong form or number, sites that contradict each other.
pub fn from_caddyfile(
    file_name: &str,
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Adapted, Diagnostics> {
    from_caddyfile_in(file_name, text, &Variables(environment))
}

/// Reads a Caddyfile, and the files that it imports, through `surroundings`. What it imports is looked for in the
/// directory of `file_name`.
///
/// ```
/// use std::path::Path;
///
/// use caddy_config::{FileError, Surroundings, from_caddyfile_in};
///
/// struct OneFile;
///
/// impl Surroundings for OneFile {
///     fn variable(&self, _: &str) -> Option<String> {
///         None
///     }
///
///     fn read(&self, path: &Path, _: usize) -> Result<Vec<u8>, FileError> {
///         match path.to_str() {
///             Some("etc/hello.conf") => Ok(b"respond hello".to_vec()),
///             _ => Err(FileError::NotFound),
///         }
///     }
/// }
///
/// let adapted = from_caddyfile_in("etc/Caddyfile", ":80 {\n\timport hello.conf\n}\n", &OneFile)?;
/// assert!(adapted.inputs.files.contains(Path::new("etc/hello.conf")));
/// # Ok::<(), caddy_config::Diagnostics>(())
/// ```
///
/// # Errors
///
/// As [`from_caddyfile`], and files that cannot be imported.
pub fn from_caddyfile_in(
    file_name: &str,
    text: &str,
    surroundings: &dyn Surroundings,
) -> Result<Adapted, Diagnostics> {
    let mut sources = Sources::new(file_name, text);
    let mut report = Report::default();
    let (config, places) = if text.len() > MAX_TEXT {
        report.error(
            Span::new(0, 1),
            format!("the text is longer than {MAX_TEXT} bytes"),
            None,
        );
        Default::default()
    } else {
        adapt(&mut sources, surroundings, &mut report)
    };
    let (config, warnings) = report.finish(config, &sources)?;
    Ok(Adapted {
        config,
        warnings,
        inputs: sources.inputs,
        places,
    })
}

fn adapt(
    sources: &mut Sources<'_>,
    surroundings: &dyn Surroundings,
    report: &mut Report,
) -> (Config, Places) {
    if sources.first().text().trim().is_empty() {
        report.error(
            Span::new(0, 0),
            "the file is empty",
            "a first site: `:8080 { respond hello }`, on three lines".to_owned(),
        );
    }
    let blocks = caddyfile::read(sources, surroundings, report);
    let places = Places::of(&blocks, sources);
    let mut cx = Cx::new(sources, report);
    let Read {
        options,
        named,
        sites,
    } = read_blocks(blocks, &mut cx);
    // Without sites, or with some missing, what follows would only report consequences.
    if cx.has_errors() {
        return Default::default();
    }
    if sites.is_empty() && options.route_sources.is_none() {
        let help = "add a site, such as `:8080 { respond hello }`, on three lines".to_owned();
        cx.warn(Span::new(0, 0), "no site is defined, so nothing is served", help);
    }
    let pairings = server::pair(&sites, &options, &mut cx);
    let http = server::app(&pairings, &options, &named, &mut cx);
    let tls = tls::app(&pairings, &options, &mut cx);
    let config = Config {
        admin: options.admin.clone(),
        logging: logs::logging(&pairings, &options, &mut cx),
        storage: options.storage.clone(),
        apps: Apps {
            http: Some(http).filter(|http| !http.servers.is_empty()),
            pki: options.pki.clone(),
            tls,
        },
    };
    (config, places)
}

/// The blocks of a file, read.
struct Read {
    options: Options,
    named: BTreeMap<String, Route>,
    sites: Vec<Site>,
}

/// Reads the blocks: options first, since they have a say in all others, then named routes, then sites.
fn read_blocks(blocks: Vec<Block>, cx: &mut Cx<'_>) -> Read {
    let mut options = Options::default();
    let (mut named, mut sites) = (Vec::new(), Vec::new());
    for (index, block) in blocks.into_iter().enumerate() {
        match block.kind {
            Kind::Options if index == 0 => options = options::read(&block.lines, cx),
            Kind::Options => {
                let help = "move the global options to the top, or put an address before the `{`".to_owned();
                cx.error(
                    block.span,
                    "a block without an address, and not the first of the file",
                    help,
                );
            }
            Kind::Site => sites.push(block),
            Kind::NamedRoute => named.push(block),
        }
    }
    let named = named_routes::read(named, cx);
    cx.end_named_routes();
    let sites = sites.into_iter().map(|block| site::read(block, cx)).collect();
    named_routes::check(&cx.take_invocations(), &named, cx);
    Read {
        options,
        named,
        sites,
    }
}
