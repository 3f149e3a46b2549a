//! One list of facts, true of both stores.
// An unwrap here is a fact that does not hold.
#![allow(clippy::unwrap_used)]

mod approvals;
mod artefacts;
mod audit;
mod ground;
mod make;
mod memory;
mod people;
mod redis_only;
mod schedules;
mod sessions;
mod sqlite_only;
mod tools;
mod trees;
mod turns;

use ground::Ground;

macro_rules! facts {
    ($($file:ident: $($fact:ident)*;)*) => {
        mod sqlite {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                crate::$file::$fact(crate::Ground::sqlite()).await;
            })*)*
        }
        mod redis {
            $($(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $fact() {
                crate::$file::$fact(crate::Ground::redis().await).await;
            })*)*
        }
    };
}

facts! {
    approvals:
        an_approval_is_asked_once_and_found_as_it_was
        the_first_answer_wins
        an_answer_puts_a_parked_turn_at_the_front_of_its_lane
        a_call_starts_by_what_is_allowed_or_not_at_all
        what_waits_for_an_answer_is_listed_by_when_it_expires
        one_that_cannot_be_read_is_settled_once_and_wakes_its_turn
        who_is_forgotten_leaves_only_what_was_decided;
    turns:
        what_was_accepted_is_found_as_it_was
        the_same_event_makes_one_turn_however_many_bring_it
        an_acceptance_whose_answer_was_lost_may_be_repeated
        keys_of_other_accounts_are_other_keys
        a_lane_keeps_its_order_and_is_full_at_its_limit
        a_lane_holds_as_many_as_the_operator_says
        a_finish_takes_the_turn_out_of_its_lane
        another_owner_raises_the_fence_and_the_old_one_has_lost
        a_change_of_a_turn_that_is_not_there_is_refused
        lives_are_counted_once_per_owner
        the_journal_keeps_starts_and_ends
        a_parked_turn_leaves_its_lane_and_comes_back_to_the_front
        a_merged_turn_leaves_its_lane_and_is_not_forgotten
        deliveries_are_replaced_by_number
        when_all_is_delivered_bodies_go_and_receipts_stay
        a_wish_to_stop_reaches_turns_that_are_not_answered
        all_changes_are_made_or_none
        changes_in_any_order_mean_what_the_contract_says
        hostile_text_survives
        what_is_past_its_time_is_swept;
    sessions:
        a_session_gives_its_newest_items_oldest_first
        items_behind_a_turn_are_given_alone
        an_item_that_comes_twice_is_kept_once
        a_session_keeps_two_hundred_items
        a_finish_lets_the_session_remember
        a_place_and_a_person_in_it_have_memories_of_their_own
        a_new_session_is_current_from_its_turn_on
        a_turn_that_waited_long_finds_its_own_session
        a_session_is_resumed_by_its_owner_alone
        a_session_in_which_nothing_was_said_leaves_the_list
        sessions_are_listed_by_their_last_use
        a_place_keeps_a_hundred_sessions
        changes_of_a_session_are_kept_with_it
        an_older_summary_changes_nothing
        an_erased_session_begins_anew_in_its_place
        silent_sessions_go_by_their_tenant;
    people:
        facts_have_numbers_that_stay
        a_person_keeps_fifty_facts
        facts_are_told_in_the_space_where_they_were_said
        who_is_forgotten_leaves_nothing
        who_is_forgotten_leaves_shared_sessions_to_the_others
        a_summary_of_what_was_forgotten_meanwhile_is_not_written
        a_summary_of_an_erased_session_is_not_written_into_the_one_in_its_place;
    artefacts:
        a_result_is_read_where_it_was_kept_and_nowhere_else
        the_same_result_is_kept_once_and_larger_ones_than_allowed_not_at_all
        results_go_with_their_person;
    audit:
        an_event_is_kept_once_and_found_by_what_it_is_of;
    schedules:
        a_schedule_is_found_as_it_was_put
        of_two_who_change_a_schedule_one_is_late
        what_is_due_next_comes_first_and_what_rests_does_not
        schedules_are_listed_by_owner_and_tenant_oldest_first
        a_person_and_a_tenant_have_so_many_schedules
        who_is_forgotten_leaves_no_schedule;
    memory:
        cursors_are_kept_over_lives
        a_lease_has_one_holder
        a_lease_of_a_dead_process_is_free_at_once;
    tools:
        a_tool_is_found_as_it_was_put
        of_two_who_change_a_tool_one_is_late
        the_newest_changes_of_a_tool_are_kept
        every_process_hears_of_a_change;
    trees:
        a_tree_is_put_together_from_what_came_in_any_order
        a_start_that_comes_late_does_not_hide_the_end
        nodes_without_parents_are_kept
        every_field_of_a_node_is_kept
        turns_are_listed_newest_first
        turns_are_found_by_session_tool_failure_and_time
        turns_of_schedules_are_found_among_all_others
        a_batch_may_come_twice
        measures_of_two_lives_are_added
        measures_say_for_whom_they_were_counted;
}
