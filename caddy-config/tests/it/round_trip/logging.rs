//! Loggers of every kind.

use std::path::PathBuf;

use caddy_config::{
    AppendEncoder, FileWriter, FilterAction, FilterEncoder, IpMask, LineFormat, Log, LogEncoder, LogFilter,
    LogLevel, LogSampling, LogSink, LogWriter, Logging, RegexpFilter, RollCompression, Value,
};
use proptest::{collection::vec, option, prelude::*};

use super::{duration, name, value};

pub(super) fn logging() -> impl Strategy<Value = Logging> {
    let sink = option::of(writer()).prop_map(|writer| LogSink { writer });
    let logs = prop::collection::btree_map(name(), log(), 0..3);
    (option::of(sink), logs).prop_map(|(sink, logs)| Logging { sink, logs })
}

fn log() -> impl Strategy<Value = Log> {
    let level = prop_oneof![
        Just(LogLevel::Debug),
        Just(LogLevel::Info),
        Just(LogLevel::Warn),
        Just(LogLevel::Error),
        Just(LogLevel::Panic),
        Just(LogLevel::Fatal),
    ]
    .prop_map(Into::into);
    let sampling =
        (duration(), option::of(1_u32..), option::of(1_u32..)).prop_map(|(interval, first, thereafter)| {
            LogSampling {
                interval,
                first,
                thereafter,
            }
        });
    let names = || vec(name(), 0..3);
    (
        option::of(writer()),
        option::of(encoder()),
        option::of(level),
        option::of(sampling),
        (names(), names()),
    )
        .prop_map(|(writer, encoder, level, sampling, (include, exclude))| Log {
            writer,
            encoder,
            level,
            sampling,
            include,
            exclude,
        })
}

fn writer() -> impl Strategy<Value = LogWriter> {
    prop_oneof![
        Just(LogWriter::Discard {}),
        Just(LogWriter::Stderr {}),
        Just(LogWriter::Stdout {}),
        file().prop_map(LogWriter::File),
    ]
}

fn file() -> impl Strategy<Value = FileWriter> {
    let modes = (
        option::of("0?[1-7][0-7]{2}".prop_map(|mode| mode.parse().unwrap())),
        option::of("inherit|from_file|0?[0-7]{3}".prop_map(|mode| mode.parse().unwrap())),
    );
    let times = (
        duration(),
        vec(0_u8..60, 0..3),
        vec(
            "(2[0-3]|[01]?[0-9]):[0-5]?[0-9]".prop_map(|time| time.parse().unwrap()),
            0..3,
        ),
    );
    let compression = prop_oneof![
        Just(RollCompression::None),
        Just(RollCompression::Gzip),
        Just(RollCompression::Zstd),
    ];
    let switches = (
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        option::of(compression),
        any::<bool>(),
    );
    let counts = (option::of(1_u32..), option::of(1_u32..), option::of(1_u32..));
    (name(), modes, times, switches, counts).prop_map(|(filename, modes, times, switches, counts)| {
        FileWriter {
            filename: PathBuf::from(filename),
            mode: modes.0,
            dir_mode: modes.1,
            roll: switches.0,
            roll_size_mb: counts.0,
            roll_interval: times.0,
            roll_minutes: times.1,
            roll_at: times.2,
            roll_gzip: switches.1,
            roll_compression: switches.2,
            roll_local_time: switches.3,
            roll_keep: counts.1,
            roll_keep_days: counts.2,
        }
    })
}

fn encoder() -> impl Strategy<Value = LogEncoder> {
    let plain = prop_oneof![
        line_format().prop_map(LogEncoder::Console),
        line_format().prop_map(LogEncoder::Json),
    ];
    plain.prop_recursive(2, 4, 1, |inner| {
        let wrap = || option::of(inner.clone().prop_map(Box::new));
        let added = prop::collection::btree_map(name(), field_value(), 0..3);
        let filters = prop::collection::btree_map(name(), filter(), 0..3);
        prop_oneof![
            (wrap(), added).prop_map(|(wrap, fields)| LogEncoder::Append(AppendEncoder { wrap, fields })),
            (wrap(), filters).prop_map(|(wrap, fields)| LogEncoder::Filter(FilterEncoder { wrap, fields })),
        ]
    })
}

fn field_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| Value::Number(number.into())),
        value().prop_map(Value::String),
    ]
}

fn line_format() -> impl Strategy<Value = LineFormat> {
    let key = || option::of(value());
    let keys = (key(), key(), key(), key(), key(), key(), key());
    let formats = (
        option::of(name()),
        any::<bool>(),
        option::of("s|nano|string"),
        option::of("lower|upper|color"),
    );
    (keys, formats).prop_map(|(keys, formats)| LineFormat {
        message_key: keys.0,
        level_key: keys.1,
        time_key: keys.2,
        name_key: keys.3,
        caller_key: keys.4,
        stacktrace_key: keys.5,
        line_ending: keys.6,
        time_format: formats.0,
        time_local: formats.1,
        duration_format: formats.2,
        level_format: formats.3,
    })
}

fn filter() -> impl Strategy<Value = LogFilter> {
    let regexp = || ("[a-z]{1,4}", value()).prop_map(|(regexp, value)| RegexpFilter { regexp, value });
    let action = || {
        prop_oneof![
            name().prop_map(|name| FilterAction::Delete { name }),
            name().prop_map(|name| FilterAction::Hash { name }),
            (name(), value()).prop_map(|(name, value)| FilterAction::Replace { name, value }),
        ]
    };
    let actions = || vec(action(), 0..3);
    prop_oneof![
        actions().prop_map(|actions| LogFilter::Cookie { actions }),
        actions().prop_map(|actions| LogFilter::SetCookie { actions }),
        actions().prop_map(|actions| LogFilter::Query { actions }),
        Just(LogFilter::Delete {}),
        Just(LogFilter::Hash {}),
        (option::of(1_u8..=32), option::of(1_u8..=128))
            .prop_map(|(ipv4_cidr, ipv6_cidr)| LogFilter::IpMask(IpMask { ipv4_cidr, ipv6_cidr })),
        vec(regexp(), 0..3).prop_map(|operations| LogFilter::MultiRegexp { operations }),
        regexp().prop_map(LogFilter::Regexp),
        name().prop_map(|name| LogFilter::Rename { name }),
        value().prop_map(|value| LogFilter::Replace { value }),
    ]
}
