-- Routes, their past, and what replicas share beside them. `{prefix}`, `{key}` (text compared byte by byte) and `{bytes}` are filled in.

CREATE TABLE {prefix}_meta (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    epoch TEXT NOT NULL,
    revision BIGINT NOT NULL,
    forgotten BIGINT NOT NULL,
    last_value BIGINT NOT NULL
);

CREATE TABLE {prefix}_routes (
    host {key} PRIMARY KEY,
    version BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    schema_version BIGINT NOT NULL,
    data TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX {prefix}_routes_by_revision ON {prefix}_routes (revision);

CREATE TABLE {prefix}_deleted (
    host {key} PRIMARY KEY,
    revision BIGINT NOT NULL
);
CREATE INDEX {prefix}_deleted_by_revision ON {prefix}_deleted (revision);

CREATE TABLE {prefix}_versions (
    host {key} NOT NULL,
    version BIGINT NOT NULL,
    schema_version BIGINT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (host, version)
);

CREATE TABLE {prefix}_changes (
    host {key} NOT NULL,
    revision BIGINT NOT NULL,
    kind TEXT NOT NULL,
    detail BIGINT NOT NULL,
    author TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (host, revision)
);

CREATE TABLE {prefix}_replicas (
    id {key} PRIMARY KEY,
    data TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE {prefix}_leases (
    name {key} PRIMARY KEY,
    holder TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE {prefix}_values (
    space {key} NOT NULL,
    name {key} NOT NULL,
    version BIGINT NOT NULL,
    data {bytes} NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (space, name)
);
CREATE INDEX {prefix}_values_by_end ON {prefix}_values (expires_at);
