//! The tables of requests, each on a proxy of its own.

use super::request::check;
use super::table::read;

#[tokio::test]
async fn a_body_stays_a_body_whatever_the_method() {
    check(read(include_str!(
        "../../requests/a_body_stays_a_body_whatever_the_method.txt"
    )))
    .await;
}

#[tokio::test]
async fn a_length_beside_a_coding_is_refused() {
    check(read(include_str!(
        "../../requests/a_length_beside_a_coding_is_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn a_length_is_forwarded_as_the_plain_number() {
    check(read(include_str!(
        "../../requests/a_length_is_forwarded_as_the_plain_number.txt"
    )))
    .await;
}

#[tokio::test]
async fn absolute_targets_name_the_host() {
    check(read(include_str!(
        "../../requests/absolute_targets_name_the_host.txt"
    )))
    .await;
}

#[tokio::test]
async fn an_expectation_is_100_continue_or_refused() {
    check(read(include_str!(
        "../../requests/an_expectation_is_100_continue_or_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn any_other_list_of_codings_is_refused() {
    check(read(include_str!(
        "../../requests/any_other_list_of_codings_is_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn bad_hosts_are_refused() {
    check(read(include_str!("../../requests/bad_hosts_are_refused.txt"))).await;
}

#[tokio::test]
async fn chunks_pass_without_their_extensions() {
    check(read(include_str!(
        "../../requests/chunks_pass_without_their_extensions.txt"
    )))
    .await;
}

#[tokio::test]
async fn connect_opens_no_tunnel() {
    check(read(include_str!("../../requests/connect_opens_no_tunnel.txt"))).await;
}

#[tokio::test]
async fn control_bytes_in_values_and_all_but_letters_in_names_are_refused() {
    check(read(include_str!(
        "../../requests/control_bytes_in_values_and_all_but_letters_in_names_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn empty_lines_before_a_request_are_skipped_up_to_two() {
    check(read(include_str!(
        "../../requests/empty_lines_before_a_request_are_skipped_up_to_two.txt"
    )))
    .await;
}

#[tokio::test]
async fn equal_hosts_lead_to_the_same_site() {
    check(read(include_str!(
        "../../requests/equal_hosts_lead_to_the_same_site.txt"
    )))
    .await;
}

#[tokio::test]
async fn fields_of_the_hop_and_those_it_nominates_stay_behind() {
    check(read(include_str!(
        "../../requests/fields_of_the_hop_and_those_it_nominates_stay_behind.txt"
    )))
    .await;
}

#[tokio::test]
async fn framing_fields_that_are_folded_spaced_or_misspelt_frame_nothing() {
    check(read(include_str!(
        "../../requests/framing_fields_that_are_folded_spaced_or_misspelt_frame_nothing.txt"
    )))
    .await;
}

#[tokio::test]
async fn http10_is_served_and_closed() {
    check(read(include_str!(
        "../../requests/http10_is_served_and_closed.txt"
    )))
    .await;
}

#[tokio::test]
async fn lengths_that_are_no_plain_number_are_refused() {
    check(read(include_str!(
        "../../requests/lengths_that_are_no_plain_number_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn lines_end_with_cr_and_lf() {
    check(read(include_str!("../../requests/lines_end_with_cr_and_lf.txt"))).await;
}

#[tokio::test]
async fn malformed_chunk_sizes_are_refused_and_never_look_whole() {
    check(read(include_str!(
        "../../requests/malformed_chunk_sizes_are_refused_and_never_look_whole.txt"
    )))
    .await;
}

#[tokio::test]
async fn malformed_field_lines_are_refused() {
    check(read(include_str!(
        "../../requests/malformed_field_lines_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn malformed_line_ends_in_chunks_are_refused_and_never_look_whole() {
    check(read(include_str!(
        "../../requests/malformed_line_ends_in_chunks_are_refused_and_never_look_whole.txt"
    )))
    .await;
}

#[tokio::test]
async fn malformed_request_lines_are_refused() {
    check(read(include_str!(
        "../../requests/malformed_request_lines_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn no_nomination_takes_what_the_message_needs() {
    check(read(include_str!(
        "../../requests/no_nomination_takes_what_the_message_needs.txt"
    )))
    .await;
}

#[tokio::test]
async fn odd_bytes_around_chunked_are_refused_and_blanks_are_not() {
    check(read(include_str!(
        "../../requests/odd_bytes_around_chunked_are_refused_and_blanks_are_not.txt"
    )))
    .await;
}

#[tokio::test]
async fn other_versions_are_refused() {
    check(read(include_str!(
        "../../requests/other_versions_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn paths_are_forwarded_as_they_were_matched() {
    check(read(include_str!(
        "../../requests/paths_are_forwarded_as_they_were_matched.txt"
    )))
    .await;
}

#[tokio::test]
async fn pipelined_requests_run_in_order_up_to_the_first_bad_one() {
    check(read(include_str!(
        "../../requests/pipelined_requests_run_in_order_up_to_the_first_bad_one.txt"
    )))
    .await;
}

#[tokio::test]
async fn plain_requests_pass() {
    check(read(include_str!("../../requests/plain_requests_pass.txt"))).await;
}

#[tokio::test]
async fn several_lengths_are_refused() {
    check(read(include_str!(
        "../../requests/several_lengths_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn targets_that_name_no_path_are_refused() {
    check(read(include_str!(
        "../../requests/targets_that_name_no_path_are_refused.txt"
    )))
    .await;
}

#[tokio::test]
async fn te_passes_as_trailers_or_not_at_all() {
    check(read(include_str!(
        "../../requests/te_passes_as_trailers_or_not_at_all.txt"
    )))
    .await;
}

#[tokio::test]
async fn there_is_exactly_one_host() {
    check(read(include_str!("../../requests/there_is_exactly_one_host.txt"))).await;
}

#[tokio::test]
async fn trailers_never_change_what_a_request_means() {
    check(read(include_str!(
        "../../requests/trailers_never_change_what_a_request_means.txt"
    )))
    .await;
}

#[tokio::test]
async fn values_pass_byte_for_byte() {
    check(read(include_str!("../../requests/values_pass_byte_for_byte.txt"))).await;
}

#[tokio::test]
async fn what_a_client_claims_of_itself_is_replaced() {
    check(read(include_str!(
        "../../requests/what_a_client_claims_of_itself_is_replaced.txt"
    )))
    .await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    check(read(include_str!(
        "../../requests/what_is_no_http_is_refused.txt"
    )))
    .await;
}

#[test]
fn every_table_is_run() {
    let tests = include_str!("tables.rs");
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/requests");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name();
        let name = name.to_str().unwrap();
        assert!(
            name == "README.md" || tests.contains(&format!("/requests/{name}\"")),
            "{name}"
        );
    }
}
