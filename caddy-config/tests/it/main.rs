//! Tests of the public interface.

#[cfg(test)]
mod adapt;
#[cfg(test)]
mod breakers;
#[cfg(test)]
mod caddyfile;
#[cfg(test)]
mod consul;
#[cfg(test)]
mod directives;
#[cfg(test)]
mod eskip;
#[cfg(test)]
mod geo;
#[cfg(test)]
mod hostile;
mod hostile_json;
#[cfg(test)]
mod hostile_language;
#[cfg(test)]
mod json;
#[cfg(test)]
mod json_handlers;
#[cfg(test)]
mod language;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod listening;
#[cfg(test)]
mod logging;
#[cfg(test)]
mod matchers;
#[cfg(test)]
mod options;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod route_sources;
#[cfg(test)]
mod tls;
