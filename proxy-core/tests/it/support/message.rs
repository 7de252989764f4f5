//! HTTP/1 heads as a test sees them: the exact bytes, and a lenient reading of them.

/// The head of a request or a response, without its empty line.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    start: String,
    fields: Vec<(String, Vec<u8>)>,
}

/// How the body behind a head is delimited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Framing {
    Chunked,
    Length(usize),
    None,
    ToEnd,
}

// === impl Head ===

impl Head {
    /// Reads a head that ends with an empty line; panics on what no HTTP/1 sender may send.
    pub(crate) fn parse(raw: &[u8]) -> Self {
        let lines = raw
            .strip_suffix(b"\r\n\r\n")
            .expect("a head ends with an empty line");
        let mut lines = lines
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let start = String::from_utf8_lossy(lines.next().expect("a head has a first line")).into_owned();
        let fields = lines.map(parse_field).collect();
        Self { start, fields }
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> u16 {
        let status = self
            .start
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no status in {:?}", self.start))
    }

    /// The first line.
    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    /// The method of a request.
    pub(crate) fn method(&self) -> &str {
        self.start.split(' ').next().unwrap_or_default()
    }

    /// The target of a request, byte for byte.
    pub(crate) fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// Every field line in order, names in lower case.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (String, String)> {
        let pair = |(name, value): &(String, Vec<u8>)| {
            (
                name.to_ascii_lowercase(),
                String::from_utf8_lossy(value).into_owned(),
            )
        };
        self.fields.iter().map(pair)
    }

    /// The first value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        self.all(name).into_iter().next()
    }

    /// All values of a field, one per line that carried it.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let values = self
            .fields
            .iter()
            .filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect()
    }

    /// All values of a field as bytes.
    pub(crate) fn all_bytes(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let lines = self.fields.iter();
        let named = lines.filter(move |(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_slice())
    }

    /// The first value of a field as bytes.
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        let found = self
            .fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    /// Whether the field is there at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.bytes(name).is_some()
    }

    /// The members of a comma-separated field, lower case.
    pub(crate) fn members(&self, name: &str) -> Vec<String> {
        let values = self.all(name).join(",");
        let members = values.split(',').map(|member| member.trim().to_ascii_lowercase());
        members.filter(|member| !member.is_empty()).collect()
    }

    /// The framing of the body behind this request.
    pub(crate) fn request_framing(&self) -> Framing {
        self.declared().unwrap_or(Framing::None)
    }

    /// The framing of the body behind this response to a `method` request.
    pub(crate) fn response_framing(&self, method: &str) -> Framing {
        let status = self.status();
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            return Framing::None;
        }
        self.declared().unwrap_or(Framing::ToEnd)
    }

    fn declared(&self) -> Option<Framing> {
        if self.has("transfer-encoding") {
            assert_eq!(
                self.members("transfer-encoding"),
                ["chunked"],
                "the proxy sends no other coding"
            );
            assert!(
                !self.has("content-length"),
                "both framings at once: {}",
                self.start
            );
            return Some(Framing::Chunked);
        }
        let lengths = self.all("content-length");
        assert!(lengths.len() <= 1, "several lengths: {lengths:?}");
        let length = lengths.first()?;
        Some(Framing::Length(
            length
                .parse()
                .unwrap_or_else(|_| panic!("a bad length: {length:?}")),
        ))
    }
}

fn parse_field(line: &[u8]) -> (String, Vec<u8>) {
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .expect("a field line has a colon");
    let name = String::from_utf8_lossy(&line[..colon]).into_owned();
    (name, line[colon + 1..].trim_ascii().to_vec())
}
