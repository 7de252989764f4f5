//! How many frames of HTTP/2 a client makes the proxy work on for nothing: a look at the head of each frame, below the
//! implementation of the protocol, which answers or forgets each of them without a limit (RFC 9113, section 10.5).

use std::time::Duration;

use tokio::time::Instant;

/// What a client may send that neither its requests nor their answers give reason for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLimits {
    /// Frames in each second, on the average. Default 1,000.
    pub(crate) per_second: u32,
    /// Frames at once. Default 2,000.
    pub(crate) burst: u32,
    /// Streams that the proxy may have to reset for a fault of the client: each of them has begun work that is for nothing.
    /// Default 100.
    pub(crate) faults: u32,
}

/// What was written to a client allows it one frame more: a window is opened, or a round trip measured, because of what
/// came.
const BYTES_PER_FRAME: u64 = 512;

/// A request allows so many frames more: its end, its weight, its window.
const PER_REQUEST: u64 = 3;

/// The codes of such resets: an error of the protocol, of flow control or of a frame, and a frame behind the end (RFC
/// 9113, section 7).
const FAULTS: [u32; 4] = [1, 3, 5, 6];

/// The client connection preface (RFC 9113, section 3.4).
const PREFACE: u32 = 24;

/// The length of the head of a frame (RFC 9113, section 4.1).
const HEAD: usize = 9;

/// The length of the code of a reset.
const CODE: usize = 4;

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;

/// A flag of DATA.
const END_STREAM: u8 = 1;

/// Counts the frames of one client connection.
#[derive(Debug)]
pub(crate) struct FrameMeter {
    limits: FrameLimits,
    from_client: Heads,
    to_client: Heads,
    /// Streams that the proxy had to reset for a fault of the client.
    faults: u32,
    /// Frames that were earned by what the connection is for.
    earned: u64,
    written: u64,
    /// Frames that are left of the allowance.
    left: u32,
    refilled: Option<Instant>,
}

/// Finds the heads of frames in a byte stream.
#[derive(Debug, Default)]
struct Heads {
    /// Bytes until the next head.
    skip: u32,
    buffer: [u8; HEAD + CODE],
    /// How many bytes of the buffer are there.
    have: usize,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
struct Head {
    length: u32,
    kind: u8,
    flags: u8,
    /// The code of a reset.
    code: Option<u32>,
}

// === impl FrameLimits ===

impl Default for FrameLimits {
    fn default() -> Self {
        Self {
            per_second: 1_000,
            burst: 2_000,
            faults: 100,
        }
    }
}

// === impl Heads ===

impl Heads {
    /// The next head in `bytes`, of which only the rest stays; `None`: it is not there yet.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<Head> {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let skipped = bytes.len().min(self.skip as usize);
                self.skip -= u32::try_from(skipped).unwrap_or(self.skip);
                *bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            let wanted = if self.is_reset() { HEAD + CODE } else { HEAD };
            let (part, rest) = bytes.split_at((wanted - self.have).min(bytes.len()));
            if let Some(room) = self.buffer.get_mut(self.have..self.have + part.len()) {
                room.copy_from_slice(part);
            }
            self.have += part.len();
            *bytes = rest;
            if self.have == HEAD + CODE || self.have == HEAD && !self.is_reset() {
                return Some(self.head());
            }
        }
        None
    }

    /// Whether the buffer holds the head of a reset, whose code is looked at, too.
    fn is_reset(&self) -> bool {
        self.have >= HEAD && matches!(self.buffer, [0, 0, 4, RST_STREAM, ..])
    }

    fn head(&mut self) -> Head {
        let is_reset = self.is_reset();
        self.have = 0;
        let [high, middle, low, kind, flags, _, _, _, _, code @ ..] = self.buffer;
        let length = u32::from_be_bytes([0, high, middle, low]);
        self.skip = if is_reset { 0 } else { length };
        Head {
            length,
            kind,
            flags,
            code: is_reset.then_some(u32::from_be_bytes(code)),
        }
    }
}

// === impl FrameMeter ===

impl FrameMeter {
    /// Counts from the preface on.
    pub(crate) fn new(limits: FrameLimits) -> Self {
        Self {
            limits,
            from_client: Heads {
                skip: PREFACE,
                ..Heads::default()
            },
            to_client: Heads::default(),
            faults: 0,
            earned: 0,
            written: 0,
            left: limits.burst,
            refilled: None,
        }
    }

    /// Looks at bytes that were written to the client.
    pub(crate) fn wrote(&mut self, mut bytes: &[u8]) {
        self.written = self.written.saturating_add(bytes.len() as u64);
        self.earned = self.earned.saturating_add(self.written / BYTES_PER_FRAME);
        self.written %= BYTES_PER_FRAME;
        while let Some(head) = self.to_client.next(&mut bytes) {
            if head.code.is_some_and(|code| FAULTS.contains(&code)) {
                self.faults = self.faults.saturating_add(1);
            }
        }
    }

    /// Looks at bytes that the client sent; `false` if it has sent too many frames or made too many faults. `now` is
    /// asked for rarely.
    pub(crate) fn read(&mut self, mut bytes: &[u8], now: impl Fn() -> Instant) -> bool {
        while let Some(head) = self.from_client.next(&mut bytes) {
            if !self.pays(head, &now) {
                return false;
            }
        }
        self.faults <= self.limits.faults
    }

    /// Counts a frame of the client.
    fn pays(&mut self, head: Head, now: impl Fn() -> Instant) -> bool {
        match head.kind {
            DATA if head.length > 0 || head.flags & END_STREAM != 0 => true,
            HEADERS => {
                self.earned = self.earned.saturating_add(PER_REQUEST);
                true
            }
            _ => self.take(now),
        }
    }

    fn take(&mut self, now: impl Fn() -> Instant) -> bool {
        if let Some(earned) = self.earned.checked_sub(1) {
            self.earned = earned;
            return true;
        }
        if self.left == 0 {
            self.refill(now());
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Adds what the time since the last time allows. The time of the first allowance does not count.
    fn refill(&mut self, now: Instant) {
        let Some(before) = self.refilled else {
            self.refilled = Some(now);
            self.left = self.limits.per_second;
            return;
        };
        let passed = now.saturating_duration_since(before).min(Duration::from_secs(60));
        let more = passed
            .as_millis()
            .saturating_mul(u128::from(self.limits.per_second))
            / 1_000;
        if more > 0 {
            self.refilled = Some(now);
            self.left = u32::try_from(more)
                .unwrap_or(self.limits.burst)
                .min(self.limits.burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        frame.extend_from_slice(payload);
        frame
    }

    fn meter() -> FrameMeter {
        let mut meter = FrameMeter::new(FrameLimits::default());
        assert!(meter.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Instant::now));
        meter
    }

    /// How many of `frames` pass within a moment.
    fn passed(meter: &mut FrameMeter, frame: &[u8], frames: usize) -> usize {
        let now = Instant::now();
        (0..frames).take_while(|_| meter.read(frame, || now)).count()
    }

    #[test]
    fn a_flood_of_any_kind_ends_after_a_burst() {
        for frame in [
            frame(6, 0, &[0; 8]),
            frame(4, 0, &[]),
            frame(8, 0, &[0, 0, 0, 1]),
            frame(2, 0, &[0; 5]),
            frame(0, 0, &[]),
            frame(9, 0, b"x"),
            frame(3, 0, &[0; 4]),
            frame(0xee, 0, &[1; 16]),
        ] {
            assert_eq!(passed(&mut meter(), &frame, 100_000), 3_000, "{frame:?}");
        }
    }

    #[test]
    fn frames_may_be_cut_anywhere() {
        let flood = frame(6, 0, &[0; 8]).repeat(3_001);
        let now = Instant::now();
        for size in [1, 7, 4_096] {
            let mut meter = meter();
            let pieces = flood
                .chunks(size)
                .take_while(|piece| meter.read(piece, || now))
                .count();
            assert!(
                (3_000 * 17..=3_001 * 17).contains(&((pieces + 1) * size).min(3_001 * 17)),
                "{size}: {pieces}"
            );
        }
    }

    #[test]
    fn a_rate_within_the_limit_may_last() {
        let (mut meter, ping) = (meter(), frame(6, 0, &[0; 8]));
        let mut now = Instant::now();
        for _ in 0..100_000 {
            now += Duration::from_millis(1);
            assert!(meter.read(&ping, || now));
        }
        let now = now + Duration::from_secs(3_600);
        let burst = (0..10_000).take_while(|_| meter.read(&ping, || now)).count();
        assert!(
            burst <= FrameLimits::default().burst as usize + 1,
            "a pause saves up no more than a burst: {burst}"
        );
    }

    #[test]
    fn what_is_sent_and_asked_allows_more() {
        let (mut meter, window) = (meter(), frame(8, 0, &[0, 0, 0, 1]));
        meter.wrote(
            &[frame(0, 0, &[0; 119]), frame(0, 0, &[0; 119])]
                .concat()
                .repeat(4_096),
        );
        assert_eq!(passed(&mut meter, &window, 100_000), 3_000 + 2_048);

        let mut meter = self::meter();
        let request = [
            frame(1, 5, b"head"),
            frame(8, 0, &[0, 0, 0, 1]),
            frame(3, 0, &[0; 4]),
        ]
        .concat();
        assert_eq!(passed(&mut meter, &request, 100_000), 100_000);
    }

    #[test]
    fn streams_that_are_reset_for_a_fault_are_few() {
        let data = frame(0, 0, b"x");
        let mut meter = meter();
        for code in [7, 8, 0, 2, 11] {
            meter.wrote(&frame(3, 0, &[0, 0, 0, code]).repeat(1_000));
        }
        assert!(meter.read(&data, Instant::now), "not for a fault of the client");
        for piece in frame(3, 0, &[0, 0, 0, 1]).repeat(100).chunks(5) {
            meter.wrote(piece);
        }
        assert!(meter.read(&data, Instant::now));
        meter.wrote(&frame(3, 0, &[0, 0, 0, 5]));
        assert!(!meter.read(&data, Instant::now));
    }

    #[test]
    fn data_costs_nothing() {
        let (mut meter, data) = (meter(), frame(0, 0, b"some of a body"));
        assert_eq!(passed(&mut meter, &data, 100_000), 100_000);
    }
}
