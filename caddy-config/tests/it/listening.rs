//! Mistakes in where a site listens.

use crate::caddyfile::in_a_site;

#[test]
fn what_cannot_be_listened_on_says_why() {
    in_a_site(&[
        ("bind fd/3", "2:7: inherited descriptors are not supported"),
        (
            "bind udp/127.0.0.1",
            "2:7: this is not a network that HTTP is served on",
        ),
        (
            "bind tcp4/0.0.0.0",
            "2:7: a network that follows from the address is written before it",
        ),
        ("bind unix/", "2:7: the path of the socket is missing"),
        (
            "bind unix//run/x.sock|rw",
            "2:7: the mode of the socket is not an octal number such as 0660",
        ),
        (
            "bind unix//run/x.sock|0444",
            "2:7: the mode of the socket lets its owner not write to it, so nobody could connect",
        ),
        (
            "bind ::1 {\n\t\tprotocols h1 h1\n\t}",
            "3:16: this protocol is repeated",
        ),
        (
            "bind ::1 {\n\t\tport 80\n\t}",
            "3:3: unknown or unsupported option `port`",
        ),
    ]);
}
