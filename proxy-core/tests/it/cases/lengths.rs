//! Lengths: one, of digits only, and what is forwarded is the plain number.

use super::request::{BAD, Case, check, forwarded, refused};

fn counted(lengths: impl AsRef<[u8]>) -> Vec<u8> {
    let head = b"POST / HTTP/1.1\r\n<H>Content-Length:";
    [head, lengths.as_ref(), b"\r\n\r\nhello"].concat()
}

#[tokio::test]
async fn several_lengths_are_refused() {
    let several = [
        ("FR-17 two that differ", " 5\r\nContent-Length: 10"),
        ("FR-17 two far apart", " 5\r\nA: b\r\nContent-Length: 10"),
        ("FR-17 in another case", " 5\r\ncontent-length: 6"),
        ("FR-17 a list", " 5, 6"),
        ("FR-17 a list of zero", " 0, 5"),
        ("FR-17 the third", " 5\r\nContent-Length: 5\r\nContent-Length: 6"),
        ("FR-17 zero and a number", " 0\r\nContent-Length: 5"),
        ("FR-18 two equal", " 5\r\nContent-Length: 5"),
        ("FR-18 two equal numbers", " 5\r\nContent-Length: 05"),
        (
            "FR-18 three equal",
            " 5\r\nContent-Length: 5\r\nContent-Length: 5",
        ),
        ("FR-18 an equal list", " 5, 5"),
        ("FR-18 an equal list without blanks", " 5,5"),
        ("FR-19 empty first", " \r\nContent-Length: 5"),
        ("FR-19 empty last", " 5\r\nContent-Length:"),
        ("FR-19 empty", ""),
        ("FR-19 blank", " \t "),
    ];
    let mut cases: Vec<Case> = several
        .iter()
        .map(|(id, lengths)| refused(*id, BAD, counted(lengths)))
        .collect();
    let zeros = "POST / HTTP/1.1\r\n<H>Content-Length: 0\r\nContent-Length: 0\r\n\r\n";
    cases.push(refused("FR-18 two zeros", BAD, zeros));
    check(cases).await;
}

#[tokio::test]
async fn lengths_that_are_no_plain_number_are_refused() {
    let spellings: [&[u8]; 43] = [
        b"+5",
        b"-0",
        b"-5",
        b"+0",
        b"0x5",
        b"0X5",
        b"x5",
        b"5h",
        b"05h",
        b"0b101",
        b"0o5",
        b"1_0",
        b"1 0",
        b"5 5",
        b"0 0",
        b"5;",
        b"5; a=b",
        b"5,",
        b",5",
        b"5.0",
        b"5.",
        b".5",
        b"1e1",
        b"5e0",
        b"\"5\"",
        b"'5'",
        b"(5)",
        b"five",
        b"-",
        b"+",
        b"NaN",
        b"inf",
        b"5\x0b",
        b"\x0b5",
        b"5\x0c",
        b"5\x00",
        b"\x005",
        b"5\x01",
        b"5\x7f",
        b"5\xa0",
        b"\xa05",
        b"5%",
        b"\xd9\xa5",
    ];
    let mut cases: Vec<Case> = spellings
        .iter()
        .map(|length| refused("FR-20", BAD, counted([b" ", *length].concat())))
        .collect();
    cases.push(refused("FR-20 full width", BAD, counted(b" \xef\xbc\x95")));
    for over in [
        "18446744073709551616",
        "18446744073709551621",
        "99999999999999999999999999999999",
    ] {
        cases.push(refused(
            "FR-20 overflow",
            &[400, 413],
            counted(format!(" {over}")),
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn a_length_is_forwarded_as_the_plain_number() {
    let mut cases = Vec::new();
    for length in ["5", " 5", "  5  ", "\t5\t"] {
        cases.push(
            forwarded("FR-20 blanks", counted(length))
                .body("hello")
                .with("content-length", [b"5"]),
        );
    }
    for length in [" 005", " 0000000000000000000000005"] {
        let case = forwarded("FR-20 zeros", counted(length)).body("hello");
        cases.push(case.with("content-length", [b"5"]).or(BAD));
    }
    for length in ["0", "00"] {
        let bytes = format!("POST / HTTP/1.1\r\n<H>Content-Length: {length}\r\n\r\n");
        cases.push(forwarded("FR-20 nothing", bytes).or(BAD));
    }
    cases.push(forwarded("FR-20 no framing", "POST / HTTP/1.1\r\n<H>\r\n"));
    check(cases).await;
}
