//! The text that Prometheus reads: its own format, or OpenMetrics.

use std::fmt::Write as _;

use super::histogram::Histogram;
use super::names::{Family, Kind};

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' own, version 0.0.4.
    Plain,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// A whole text, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

/// Takes figures, family by family.
#[derive(Debug)]
pub(crate) struct Exposition {
    format: Format,
    out: String,
}

/// One family, which takes samples.
#[derive(Debug)]
pub(crate) struct Samples<'p> {
    page: &'p mut Exposition,
    family: Family,
}

/// A name and what it is for this sample.
pub(crate) type Label<'l> = (&'static str, &'l str);

// === impl Format ===

impl Format {
    /// What a client likes that sends this `Accept`. Without a wish for OpenMetrics it is Prometheus' own.
    pub(crate) fn accepted(accept: Option<&str>) -> Self {
        let mut plain = 0_f32;
        let mut open = 0_f32;
        for item in accept.unwrap_or_default().split(',') {
            let mut parts = item.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
            let quality = quality.unwrap_or(1.0_f32);
            match kind {
                "application/openmetrics-text" => open = open.max(quality),
                "text/plain" | "text/*" | "*/*" => plain = plain.max(quality),
                _ => {}
            }
        }
        if open > 0.0 && open >= plain {
            Self::OpenMetrics
        } else {
            Self::Plain
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

// === impl Exposition ===

impl Exposition {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            out: String::with_capacity(16 * 1024),
        }
    }

    /// Begins a family. Each comes once.
    pub(crate) fn family(&mut self, family: &Family) -> Samples<'_> {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // In OpenMetrics the ending belongs to the sample.
        let name = match (self.format, family.kind) {
            (Format::OpenMetrics, Kind::Counter) => family.name.strip_suffix("_total").unwrap_or(family.name),
            _ => family.name,
        };
        self.write(format_args!(
            "# HELP {name} {}\n# TYPE {name} {kind}\n",
            family.help
        ));
        Samples {
            page: self,
            family: *family,
        }
    }

    pub(crate) fn finish(mut self) -> Page {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        Page {
            content_type: self.format.content_type(),
            text: self.out,
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let written = self.out.write_fmt(text);
        debug_assert!(written.is_ok(), "a String takes all text");
    }

    fn labels(&mut self, labels: &[Label<'_>], bound: Option<&str>) {
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        for (index, (name, value)) in all.enumerate() {
            self.out.push(if index == 0 { '{' } else { ',' });
            self.out.push_str(name);
            self.out.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    c => self.out.push(c),
                }
            }
            self.out.push('"');
        }
        if !labels.is_empty() || bound.is_some() {
            self.out.push('}');
        }
    }
}

// === impl Samples ===

impl Samples<'_> {
    /// One figure.
    pub(crate) fn sample(&mut self, labels: &[Label<'_>], value: u64) {
        self.line("", labels, None, format_args!("{value}"));
    }

    /// One figure in parts of `scale` to a whole, such as milliseconds where seconds are told: 1000.
    pub(crate) fn fraction(&mut self, labels: &[Label<'_>], value: u64, scale: u64) {
        self.line("", labels, None, format_args!("{}", Decimal { value, scale }));
    }

    /// A whole histogram. Its bounds are in parts of `scale` to a whole.
    pub(super) fn histogram<const N: usize>(
        &mut self,
        labels: &[Label<'_>],
        histogram: &Histogram<N>,
        bounds: &[u64; N],
        scale: u64,
    ) {
        let mut count = 0;
        for (bound, below) in bounds.iter().zip(histogram.buckets()) {
            count += below;
            let bound = Decimal { value: *bound, scale }.to_string();
            let is_whole = !bound.contains('.') && self.page.format == Format::OpenMetrics;
            let bound = if is_whole { bound + ".0" } else { bound };
            self.line("_bucket", labels, Some(&bound), format_args!("{count}"));
        }
        let count = histogram.count();
        self.line("_bucket", labels, Some("+Inf"), format_args!("{count}"));
        let sum = Decimal {
            value: histogram.sum(),
            scale,
        };
        self.line("_sum", labels, None, format_args!("{sum}"));
        self.line("_count", labels, None, format_args!("{count}"));
    }

    fn line(&mut self, end: &str, labels: &[Label<'_>], bound: Option<&str>, value: std::fmt::Arguments<'_>) {
        self.page.out.push_str(self.family.name);
        self.page.out.push_str(end);
        self.page.labels(labels, bound);
        self.page.write(format_args!(" {value}\n"));
    }
}

/// `value / scale`, where `scale` is a power of ten, without zeros at the end.
struct Decimal {
    value: u64,
    scale: u64,
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.value / self.scale, self.value % self.scale);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let width = self.scale.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_like_it_no_less() {
        for (accept, format) in [
            (None, Format::Plain),
            (Some(""), Format::Plain),
            (Some("*/*"), Format::Plain),
            (
                Some("application/openmetrics-text;version=1.0.0"),
                Format::OpenMetrics,
            ),
            (
                Some(
                    "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ),
                Format::OpenMetrics,
            ),
            (
                Some("text/plain, application/openmetrics-text;q=0.5"),
                Format::Plain,
            ),
            (Some("application/openmetrics-text;q=0"), Format::Plain),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept:?}");
        }
    }

    #[test]
    fn both_formats_are_written_as_they_are_read() {
        let page = |format| {
            let mut page = Exposition::new(format);
            page.family(&names::REQUESTS)
                .sample(&[("a", "x\"\\\n"), ("b", "")], 7);
            let mut histogram = Histogram::<2>::default();
            for value in [1, 500, 2000] {
                histogram.add(value, &[1, 1000]);
            }
            page.family(&names::HTTP_REQUEST_DURATION)
                .histogram(&[], &histogram, &[1, 1000], 1000);
            page.finish()
        };
        let histogram = |whole: &str| {
            format!(
                "# HELP caddy_http_request_duration_seconds {}
# TYPE caddy_http_request_duration_seconds histogram
caddy_http_request_duration_seconds_bucket{{le=\"0.001\"}} 1
caddy_http_request_duration_seconds_bucket{{le=\"{whole}\"}} 2
caddy_http_request_duration_seconds_bucket{{le=\"+Inf\"}} 3
caddy_http_request_duration_seconds_sum 2.501
caddy_http_request_duration_seconds_count 3
",
                names::HTTP_REQUEST_DURATION.help
            )
        };
        assert_eq!(
            page(Format::Plain).text,
            "# HELP doorway_requests_total Requests received.\n# TYPE doorway_requests_total counter\n"
                .to_owned()
                + "doorway_requests_total{a=\"x\\\"\\\\\\n\",b=\"\"} 7\n"
                + &histogram("1")
        );
        assert_eq!(
            page(Format::OpenMetrics).text,
            "# HELP doorway_requests Requests received.\n# TYPE doorway_requests counter\n".to_owned()
                + "doorway_requests_total{a=\"x\\\"\\\\\\n\",b=\"\"} 7\n"
                + &histogram("1.0")
                + "# EOF\n"
        );
    }
}
